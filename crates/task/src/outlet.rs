//! The end of a chain that leads into an exchange.
//!
//! Batches fill up only while their receiver has work waiting: at the end of each step, rows for receivers with
//! nothing to do go out at once, and all rows go out when the task has no more input at hand. There is no timer.
//! What finds no credit waits here, in order, and makes the outlet `Full`; the chain's operators then stop.

use crate::chain::{Stage, Visitor};
use crate::channel::Channel;
use crate::route::Route;
use flugs_batch::{Control, Exchanged, Flow, Push, StreamElement};
use flugs_types::Result;
use std::collections::VecDeque;
use std::sync::Arc;

/// How many bytes may wait in a channel, where nobody says otherwise.
pub const CHANNEL_BYTES: usize = 512 * 1024;

/// From how many bytes on a piece goes out even if its receiver is busy.
const PIECE_BYTES: usize = 64 * 1024;

struct Lane<B> {
    channel: Arc<Channel<B>>,
    waiting: VecDeque<StreamElement<B>>,
}

impl<B: Exchanged> Lane<B> {
    fn send(&mut self, element: StreamElement<B>) {
        let free = self.waiting.is_empty()
            && (matches!(element, StreamElement::Control(_)) || self.channel.has_credit());
        if free {
            self.channel.send(element);
        } else {
            self.waiting.push_back(element);
        }
    }

    fn drain(&mut self) -> Flow {
        while let Some(element) = self.waiting.front() {
            if matches!(element, StreamElement::Batch(_)) && !self.channel.has_credit() {
                return Flow::Full;
            }
            if let Some(element) = self.waiting.pop_front() {
                self.channel.send(element);
            }
        }
        Flow::Ready
    }
}

/// See the module.
pub struct Outlet<B> {
    route: Box<dyn Route<B>>,
    /// Rows that have not gone out, by lane. Apart from the lanes, so that the route sees a slice.
    buffers: Vec<B>,
    lanes: Vec<Lane<B>>,
    buffered: bool,
    /// Nothing follows the end: receivers do not look behind it, so what is sent would only pile up.
    ended: bool,
}

impl<B: Exchanged> Outlet<B> {
    /// An outlet into these channels, in order of the receivers.
    pub fn new(route: Box<dyn Route<B>>, channels: Vec<Arc<Channel<B>>>) -> Self {
        let buffers = channels.iter().map(|_| B::default()).collect();
        let lanes = channels.into_iter().map(|channel| Lane { channel, waiting: VecDeque::new() }).collect();
        Outlet { route, buffers, lanes, buffered: false, ended: false }
    }

    /// Sends the buffers for which `due` holds.
    fn send_buffers(&mut self, due: impl Fn(&B, &Lane<B>) -> bool) {
        let mut left = false;
        for (buffer, lane) in self.buffers.iter_mut().zip(&mut self.lanes) {
            if buffer.is_empty() {
                continue;
            }
            if due(buffer, lane) {
                lane.send(StreamElement::Batch(std::mem::take(buffer)));
            } else {
                left = true;
            }
        }
        self.buffered = left;
    }

    fn flow(&self) -> Flow {
        if self.lanes.iter().all(|l| l.waiting.is_empty()) { Flow::Ready } else { Flow::Full }
    }
}

impl<B: Exchanged> Push<B> for Outlet<B> {
    fn push(&mut self, batch: B) -> Result<Flow> {
        if batch.is_empty() {
            return Ok(self.flow());
        }
        match &mut self.buffers[..] {
            [only] => only.append(batch),
            buffers => self.route.split(batch, buffers)?,
        }
        self.send_buffers(|buffer, _| buffer.bytes() >= PIECE_BYTES);
        Ok(self.flow())
    }

    fn control(&mut self, control: Control) -> Result<Flow> {
        if self.ended {
            return Ok(self.flow());
        }
        self.ended = control == Control::End;
        self.send_buffers(|_, _| true);
        self.lanes.iter_mut().for_each(|lane| lane.send(StreamElement::Control(control)));
        Ok(self.flow())
    }

    fn resume(&mut self) -> Result<Flow> {
        Ok(self.lanes.iter_mut().fold(Flow::Ready, |flow, lane| flow.and(lane.drain())))
    }
}

impl<B: Exchanged> Stage<B> for Outlet<B> {
    fn hand_on(&mut self, idle: bool) -> Result<Flow> {
        if self.buffered {
            self.send_buffers(|_, lane| idle || (lane.waiting.is_empty() && lane.channel.is_empty()));
        }
        Ok(self.flow())
    }

    fn visit(&mut self, _: &mut dyn Visitor) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;

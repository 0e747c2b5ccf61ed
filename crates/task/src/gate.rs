//! The input of a task: takes its channels fairly, combines their watermarks, aligns their barriers.
//!
//! A channel that has delivered the barrier of a checkpoint is not read again until every other channel has
//! delivered it too or has ended; then the barrier goes on. A newer barrier, or an abort, gives up an alignment.

use crate::channel::Channel;
use crate::valve::Valve;
use flugs_batch::{Barrier, Batch, Control, Exchanged, StreamElement};
use flugs_types::CheckpointId;
use std::collections::VecDeque;
use std::sync::Arc;

/// One input channel, whose batches are brought to the type of the chain's head.
pub trait Inlet<H>: Send {
    /// Takes what has waited longest.
    fn receive(&mut self) -> Option<StreamElement<H>>;
    /// Whether nothing waits.
    fn is_empty(&self) -> bool;
    /// Nothing will be received any more.
    fn close(&mut self);
}

/// A channel of `B` as an inlet of `H`.
pub(crate) struct ChannelInlet<B, F> {
    channel: Arc<Channel<B>>,
    wrap: F,
}

impl<B, F> ChannelInlet<B, F> {
    pub(crate) fn new(channel: Arc<Channel<B>>, wrap: F) -> Self {
        ChannelInlet { channel, wrap }
    }
}

impl<B: Exchanged, H, F: Fn(B) -> H + Send> Inlet<H> for ChannelInlet<B, F> {
    fn receive(&mut self) -> Option<StreamElement<H>> {
        Some(match self.channel.receive()? {
            StreamElement::Batch(b) => StreamElement::Batch((self.wrap)(b)),
            StreamElement::Control(c) => StreamElement::Control(c),
        })
    }

    fn is_empty(&self) -> bool {
        self.channel.is_empty()
    }

    fn close(&mut self) {
        self.channel.close();
    }
}

/// See the module.
pub struct Gate<H> {
    inlets: Vec<Box<dyn Inlet<H>>>,
    turn: usize,
    control: GateControl,
}

impl<H: Batch> Gate<H> {
    /// A gate over these inlets.
    pub fn new(inlets: Vec<Box<dyn Inlet<H>>>) -> Self {
        let control = GateControl::new(inlets.len());
        Gate { inlets, turn: 0, control }
    }

    /// The next batch or control item, if one is at hand.
    pub fn take(&mut self) -> Option<StreamElement<H>> {
        loop {
            if let Some(control) = self.control.ready.pop_front() {
                return Some(StreamElement::Control(control));
            }
            let i = self.find()?;
            self.turn = i + 1;
            match self.inlets[i].receive()? {
                StreamElement::Batch(batch) => return Some(StreamElement::Batch(batch)),
                StreamElement::Control(control) => self.control.take(i, control),
            }
        }
    }

    /// Whether nothing is at hand.
    pub fn is_empty(&self) -> bool {
        self.control.ready.is_empty() && self.find().is_none()
    }

    /// Gives up the alignment for this checkpoint.
    pub fn abort(&mut self, checkpoint: CheckpointId) {
        self.control.abort(checkpoint);
    }

    fn find(&self) -> Option<usize> {
        let n = self.inlets.len();
        (0..n).map(|k| (self.turn + k) % n).find(|&i| !self.control.closed(i) && !self.inlets[i].is_empty())
    }
}

impl<H> Gate<H> {
    /// Nothing will be read any more.
    pub(crate) fn close_all(&mut self) {
        self.inlets.iter_mut().for_each(|i| i.close());
    }
}

/// What a gate knows of its channels; free of the batch type.
struct GateControl {
    valve: Valve,
    ended: Vec<bool>,
    /// Channels that are not read while a checkpoint is aligned.
    blocked: Vec<bool>,
    aligning: Option<Barrier>,
    aborted: CheckpointId,
    ready: VecDeque<Control>,
}

impl GateControl {
    fn new(channels: usize) -> Self {
        GateControl {
            valve: Valve::new(channels),
            ended: vec![false; channels],
            blocked: vec![false; channels],
            aligning: None,
            aborted: CheckpointId(0),
            ready: VecDeque::new(),
        }
    }

    fn closed(&self, i: usize) -> bool {
        self.blocked[i] || self.ended[i]
    }

    fn take(&mut self, i: usize, control: Control) {
        let ready = &mut self.ready;
        match control {
            Control::Watermark(t) => self.valve.watermark_of(i, t, |c| ready.push_back(c)),
            Control::Idle => self.valve.idleness_of(i, true, |c| ready.push_back(c)),
            Control::Active => self.valve.idleness_of(i, false, |c| ready.push_back(c)),
            Control::Barrier(barrier) => self.barrier(i, barrier),
            Control::End => {
                self.ended[i] = true;
                self.valve.ended(i, |c| ready.push_back(c));
                self.align();
                if self.valve.all_ended() {
                    self.ready.push_back(Control::End);
                }
            }
        }
    }

    fn barrier(&mut self, i: usize, barrier: Barrier) {
        if barrier.checkpoint <= self.aborted {
            return;
        }
        match self.aligning {
            Some(current) if current.checkpoint > barrier.checkpoint => return,
            Some(current) if current.checkpoint == barrier.checkpoint => {}
            _ => {
                self.blocked.fill(false);
                self.aligning = Some(barrier);
            }
        }
        self.blocked[i] = true;
        self.align();
    }

    fn align(&mut self) {
        let Some(barrier) = self.aligning else { return };
        if (0..self.ended.len()).all(|i| self.closed(i)) {
            self.aligning = None;
            self.blocked.fill(false);
            self.ready.push_back(Control::Barrier(barrier));
        }
    }

    fn abort(&mut self, checkpoint: CheckpointId) {
        self.aborted = self.aborted.max(checkpoint);
        if self.aligning.is_some_and(|b| b.checkpoint <= checkpoint) {
            self.aligning = None;
            self.blocked.fill(false);
        }
    }
}

#[cfg(test)]
mod tests;

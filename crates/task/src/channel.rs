//! A channel from one subtask to another in the same process: ordered, bounded in bytes, by credit.
//!
//! The sender may send while fewer bytes than the channel's capacity wait in it; it then looks again when it is
//! woken, which happens once the receiver has drained the channel to half. Control items need no credit, so a
//! watermark or barrier never waits for room. Both ends wake the other's task; neither ever blocks.

use flugs_batch::{Exchanged, StreamElement};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

/// Whom to wake at either end.
#[derive(Debug, Clone)]
pub struct ChannelEnds {
    /// The sending task.
    pub sender: Waker,
    /// The receiving task.
    pub receiver: Waker,
}

/// See the module.
pub struct Channel<B> {
    queue: Mutex<VecDeque<(StreamElement<B>, usize)>>,
    elements: AtomicUsize,
    bytes: AtomicUsize,
    capacity: usize,
    sender_waits: AtomicBool,
    closed: AtomicBool,
    ends: ChannelEnds,
}

impl<B: Exchanged> Channel<B> {
    /// A channel in which about `capacity` bytes may wait.
    pub fn new(capacity: usize, ends: ChannelEnds) -> Arc<Self> {
        Arc::new(Channel {
            queue: Mutex::new(VecDeque::new()),
            elements: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            capacity,
            sender_waits: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            ends,
        })
    }

    /// Whether a batch may be sent. When not, the sender will be woken once it may.
    pub fn has_credit(&self) -> bool {
        if self.bytes.load(Ordering::Acquire) < self.capacity || self.closed.load(Ordering::Acquire) {
            return true;
        }
        self.sender_waits.store(true, Ordering::SeqCst);
        // The receiver may have drained the channel between the two lines above, without seeing the flag.
        if self.bytes.load(Ordering::SeqCst) < self.capacity || self.closed.load(Ordering::SeqCst) {
            self.sender_waits.store(false, Ordering::SeqCst);
            return true;
        }
        false
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.elements.load(Ordering::Acquire) == 0
    }

    /// Sends, whatever the credit. After [`close`](Self::close) it is dropped.
    pub fn send(&self, element: StreamElement<B>) {
        let bytes = match &element {
            StreamElement::Batch(b) => b.bytes(),
            StreamElement::Control(_) => 0,
        };
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        // Looked at under the lock, so that nothing gets in behind the clearing of a close.
        if self.closed.load(Ordering::Acquire) {
            return;
        }
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
        queue.push_back((element, bytes));
        self.elements.store(queue.len(), Ordering::Release);
        drop(queue);
        self.ends.receiver.wake_by_ref();
    }

    /// Takes what has waited longest.
    pub fn receive(&self) -> Option<StreamElement<B>> {
        if self.is_empty() {
            return None;
        }
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let (element, bytes) = queue.pop_front()?;
        self.elements.store(queue.len(), Ordering::Release);
        drop(queue);
        let left = self.bytes.fetch_sub(bytes, Ordering::SeqCst) - bytes;
        if left <= self.capacity / 2
            && self.sender_waits.load(Ordering::SeqCst)
            && self.sender_waits.swap(false, Ordering::SeqCst)
        {
            self.ends.sender.wake_by_ref();
        }
        Some(element)
    }

    /// The receiver is gone: what waits and what comes is dropped, and the sender never waits again.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.ends.sender.wake_by_ref();
    }
}

#[cfg(test)]
mod tests;

//! The recording end of a harness.

use flugs_batch::{Batch, Control, Flow, Push};
use flugs_task::{Stage, Visitor};
use flugs_types::{Result, Timestamp};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

struct Record<B> {
    batches: Vec<B>,
    watermarks: Vec<Timestamp>,
    largest: usize,
}

/// What a probe has seen. Clones share it.
pub(super) struct Recorded<B>(Arc<Mutex<Record<B>>>);

impl<B> Default for Recorded<B> {
    fn default() -> Self {
        let record = Record { batches: Vec::new(), watermarks: Vec::new(), largest: 0 };
        Recorded(Arc::new(Mutex::new(record)))
    }
}

impl<B> Clone for Recorded<B> {
    fn clone(&self) -> Self {
        Recorded(self.0.clone())
    }
}

impl<B> Recorded<B> {
    fn lock(&self) -> MutexGuard<'_, Record<B>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take_batches(&self) -> Vec<B> {
        std::mem::take(&mut self.lock().batches)
    }

    pub(super) fn watermarks(&self) -> Vec<Timestamp> {
        self.lock().watermarks.clone()
    }

    pub(super) fn largest(&self) -> usize {
        self.lock().largest
    }
}

/// How a probe answers. Clones share where it stands.
#[derive(Clone, Default)]
pub(super) struct Offers(Arc<State>);

#[derive(Default)]
struct State {
    refuses: bool,
    pushes: AtomicUsize,
    full: AtomicBool,
}

impl Offers {
    /// Takes each push, but says "full" to every other one.
    pub(super) fn refusing() -> Self {
        Offers(Arc::new(State { refuses: true, ..State::default() }))
    }

    /// Whether the last answer was "full".
    pub(super) fn is_full(&self) -> bool {
        self.0.full.load(Ordering::Relaxed)
    }

    fn answer(&self) -> Flow {
        let full = self.0.refuses && self.0.pushes.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        self.0.full.store(full || self.is_full(), Ordering::Relaxed);
        if self.is_full() { Flow::Full } else { Flow::Ready }
    }

    fn reopen(&self) {
        self.0.full.store(false, Ordering::Relaxed);
    }
}

/// Records what it is given.
pub(super) struct Probe<B> {
    recorded: Recorded<B>,
    offers: Offers,
}

impl<B> Probe<B> {
    pub(super) fn new(recorded: Recorded<B>, offers: Offers) -> Self {
        Probe { recorded, offers }
    }
}

impl<B: Batch> Push<B> for Probe<B> {
    fn push(&mut self, batch: B) -> Result<Flow> {
        let mut record = self.recorded.lock();
        record.largest = record.largest.max(batch.len());
        record.batches.push(batch);
        Ok(self.offers.answer())
    }

    fn control(&mut self, control: Control) -> Result<Flow> {
        if let Control::Watermark(watermark) = control {
            self.recorded.lock().watermarks.push(watermark);
        }
        Ok(if self.offers.is_full() { Flow::Full } else { Flow::Ready })
    }

    fn resume(&mut self) -> Result<Flow> {
        self.offers.reopen();
        Ok(Flow::Ready)
    }
}

impl<B: Batch> Stage<B> for Probe<B> {
    fn hand_on(&mut self, _: bool) -> Result<Flow> {
        Ok(Flow::Ready)
    }

    fn visit(&mut self, _: &mut dyn Visitor) -> Result<()> {
        Ok(())
    }
}

//! Counters and gauges: written by tasks once a batch, read by whoever shows them.

use crate::context::OperatorIdent;
use flugs_types::{OperatorUid, Timestamp};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// One number, shared between its writer and its readers.
#[derive(Debug, Clone)]
pub struct Counter(Arc<AtomicI64>);

impl Counter {
    fn new(value: i64) -> Self {
        Counter(Arc::new(AtomicI64::new(value)))
    }

    /// Adds to it.
    pub fn add(&self, n: usize) {
        self.0.fetch_add(i64::try_from(n).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// Sets it, as a gauge.
    pub fn set(&self, value: i64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Reads it.
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct Entry {
    uid: OperatorUid,
    operator: String,
    subtask: u32,
    name: String,
    value: Counter,
}

/// The counters of one job, by operator, subtask and name. They count over restarts of the job.
#[derive(Default)]
pub struct Metrics {
    entries: Mutex<Vec<Entry>>,
}

/// Name of the gauge that holds a source's output watermark in microseconds.
pub(crate) const OUTPUT_WATERMARK: &str = "currentOutputWatermark";

impl Metrics {
    /// The counter with this name of this subtask; it is made at the first call.
    pub fn counter(&self, ident: &OperatorIdent, name: &str) -> Counter {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let found =
            entries.iter().find(|e| e.uid == ident.uid && e.subtask == ident.subtask.index && e.name == name);
        if let Some(entry) = found {
            return entry.value.clone();
        }
        let value = Counter::new(if name == OUTPUT_WATERMARK { i64::MIN } else { 0 });
        entries.push(Entry {
            uid: ident.uid.clone(),
            operator: ident.name.clone(),
            subtask: ident.subtask.index,
            name: name.to_owned(),
            value: value.clone(),
        });
        value
    }

    /// The sum over all subtasks of the counters with this name, of the operator with this name or uid, or of all.
    pub fn sum(&self, operator: Option<&str>, name: &str) -> i64 {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let of =
            |e: &&Entry| e.name == name && operator.is_none_or(|o| e.operator == o || e.uid.as_str() == o);
        entries.iter().filter(of).map(|e| e.value.get()).sum()
    }

    /// The smallest output watermark of all sources; `None` before the first row.
    pub fn source_watermark(&self) -> Option<Timestamp> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let min = entries.iter().filter(|e| e.name == OUTPUT_WATERMARK).map(|e| e.value.get()).min()?;
        (min != i64::MIN).then_some(Timestamp(min))
    }

    /// All counters: operator, subtask counted from 0, name, value.
    pub fn list(&self) -> Vec<(String, u32, String, i64)> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().map(|e| (e.operator.clone(), e.subtask, e.name.clone(), e.value.get())).collect()
    }
}

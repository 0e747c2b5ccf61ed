//! Watermark strategies: where event times come from, and how far event time has come.
//!
//! A generator sees each split's rows batch by batch and says what the split's watermark is. As in Flink, a
//! bounded out-of-orderness watermark is the highest time seen, less the bound, less one unit (here a microsecond).

use flugs_batch::{Record, Records};
use flugs_types::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// Follows the event times of one split.
pub trait WatermarkGenerator<T>: Send {
    /// The watermark after these rows. A value at or before an earlier one changes nothing.
    fn observe(&mut self, rows: &Records<T>) -> Timestamp;
}

type Assign<T> = Arc<dyn Fn(&mut Records<T>) + Send + Sync>;
type NewGenerator<T> = Arc<dyn Fn() -> Box<dyn WatermarkGenerator<T>> + Send + Sync>;

/// How a source's rows get their event times and watermarks.
pub struct WatermarkStrategy<T> {
    assign: Option<Assign<T>>,
    generator: Option<NewGenerator<T>>,
    alignment: Option<Alignment>,
}

/// Which sources are kept together in event time, and how far the fastest may run ahead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alignment {
    pub(crate) group: String,
    pub(crate) drift_max: Duration,
}

impl<T> Clone for WatermarkStrategy<T> {
    fn clone(&self) -> Self {
        WatermarkStrategy {
            assign: self.assign.clone(),
            generator: self.generator.clone(),
            alignment: self.alignment.clone(),
        }
    }
}

impl<T: Record> WatermarkStrategy<T> {
    /// No watermarks but the one at the end of a bounded input: for jobs without event time.
    pub fn none() -> Self {
        WatermarkStrategy { assign: None, generator: None, alignment: None }
    }

    /// Event times never decrease within a split.
    pub fn monotonous() -> Self {
        Self::bounded_out_of_orderness(Duration::ZERO)
    }

    /// Within a split, a row is at most this much older than the newest before it.
    ///
    /// A row that is older still may be late. Whether it is depends on where the batches of its reader end, which differs
    /// from run to run.
    pub fn bounded_out_of_orderness(bound: Duration) -> Self {
        Self::generator(move || BoundedOutOfOrderness::new(bound))
    }

    /// Some rows say how far event time has come: `mark` returns the watermark that a row carries.
    pub fn punctuated(
        mark: impl Fn(&T, Timestamp) -> Option<Timestamp> + Clone + Send + Sync + 'static,
    ) -> Self {
        Self::generator(move || Punctuated { mark: mark.clone(), watermark: Timestamp::MIN })
    }

    /// A generator of one's own, made anew for each split.
    pub fn generator<G: WatermarkGenerator<T> + 'static>(
        new: impl Fn() -> G + Send + Sync + 'static,
    ) -> Self {
        WatermarkStrategy { generator: Some(Arc::new(move || Box::new(new()))), ..Self::none() }
    }

    /// Takes the event time out of each row.
    #[must_use]
    pub fn with_timestamps(mut self, time: impl Fn(&T) -> Timestamp + Send + Sync + 'static) -> Self {
        self.assign = Some(Arc::new(move |rows| {
            rows.times.clear();
            rows.times.extend(rows.values.iter().map(&time));
        }));
        self
    }

    /// Keeps the sources of `group` together: a reader whose watermark is more than `drift_max` ahead of the group's
    /// slowest pauses.
    #[must_use]
    pub fn with_alignment(mut self, group: impl Into<String>, drift_max: Duration) -> Self {
        self.alignment = Some(Alignment { group: group.into(), drift_max });
        self
    }

    /// Gives the rows their event times, where the strategy has a say in them.
    pub fn assign(&self, rows: &mut Records<T>) {
        if let Some(assign) = &self.assign {
            assign(rows);
        }
    }

    /// A generator for one split or subtask; `None` where the strategy has no watermarks.
    pub fn new_generator(&self) -> Option<Box<dyn WatermarkGenerator<T>>> {
        self.generator.as_ref().map(|new| new())
    }

    /// Nothing without watermarks: such a reader would hold up the others for ever.
    pub(crate) fn alignment(&self) -> Option<&Alignment> {
        self.alignment.as_ref().filter(|_| self.generator.is_some())
    }
}

/// See [`WatermarkStrategy::bounded_out_of_orderness`].
#[derive(Debug, Clone)]
pub struct BoundedOutOfOrderness {
    bound: Duration,
    max: Timestamp,
}

impl BoundedOutOfOrderness {
    /// A generator with this bound.
    pub fn new(bound: Duration) -> Self {
        BoundedOutOfOrderness { bound, max: Timestamp::MIN }
    }
}

impl<T> WatermarkGenerator<T> for BoundedOutOfOrderness {
    fn observe(&mut self, rows: &Records<T>) -> Timestamp {
        self.max = rows.times.iter().fold(self.max, |max, t| max.max(*t));
        if self.max == Timestamp::MIN {
            return Timestamp::MIN;
        }
        Timestamp(self.max.saturating_sub(self.bound).0.saturating_sub(1))
    }
}

/// See [`WatermarkStrategy::punctuated`].
pub struct Punctuated<F> {
    mark: F,
    watermark: Timestamp,
}

impl<T, F: Fn(&T, Timestamp) -> Option<Timestamp> + Send> WatermarkGenerator<T> for Punctuated<F> {
    fn observe(&mut self, rows: &Records<T>) -> Timestamp {
        for mark in rows.iter().filter_map(|(row, time)| (self.mark)(row, time)) {
            self.watermark = self.watermark.max(mark);
        }
        self.watermark
    }
}

//! Which rows of a window are left out of its result, or thrown away after it.
//!
//! A window with an evictor keeps all its rows and their times. The names, and what each evictor does, are Flink's.

use super::time_window::TimeWindow;
use flugs_types::Timestamp;
use std::time::Duration;

/// Removes rows of a window when it fires. What is removed is gone from the window for good.
pub trait Evictor<T>: Send + 'static {
    /// Before the window function sees the rows.
    fn evict_before(&self, rows: &mut WindowRows<'_, T>, window: TimeWindow) {
        let _ = (rows, window);
    }

    /// After it has seen them.
    fn evict_after(&self, rows: &mut WindowRows<'_, T>, window: TimeWindow) {
        let _ = (rows, window);
    }
}

/// The rows of a window with their times, in the order in which they came.
pub struct WindowRows<'a, T> {
    pub(crate) values: &'a mut Vec<T>,
    pub(crate) times: &'a mut Vec<Timestamp>,
}

impl<T> WindowRows<'_, T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The rows.
    pub fn values(&self) -> &[T] {
        self.values
    }

    /// Their event times.
    pub fn times(&self) -> &[Timestamp] {
        self.times
    }

    /// Removes all but the last `n`.
    pub fn keep_last(&mut self, n: usize) {
        let excess = self.len().saturating_sub(n);
        self.values.drain(..excess);
        self.times.drain(..excess);
    }

    /// Removes the rows for which `keep` does not hold.
    pub fn retain(&mut self, mut keep: impl FnMut(&T, Timestamp) -> bool) {
        let kept: Vec<bool> = self.values.iter().zip(&*self.times).map(|(v, &t)| keep(v, t)).collect();
        let mut marks = kept.iter();
        self.values.retain(|_| marks.next().is_none_or(|&keep| keep));
        let mut marks = kept.iter();
        self.times.retain(|_| marks.next().is_none_or(|&keep| keep));
    }
}

/// When an evictor works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Before,
    After,
}

macro_rules! moments {
    ($t:ident) => {
        fn evict_before(&self, rows: &mut WindowRows<'_, $t>, _: TimeWindow) {
            if self.moment == Moment::Before {
                self.evict(rows);
            }
        }

        fn evict_after(&self, rows: &mut WindowRows<'_, $t>, _: TimeWindow) {
            if self.moment == Moment::After {
                self.evict(rows);
            }
        }
    };
}

/// Keeps the last rows, up to a number of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountEvictor {
    max_count: usize,
    moment: Moment,
}

impl CountEvictor {
    /// Keeps the last `max_count` rows.
    pub fn of(max_count: usize) -> Self {
        CountEvictor { max_count, moment: Moment::Before }
    }

    /// Removes rows after the function has seen them all.
    #[must_use]
    pub fn after(mut self) -> Self {
        self.moment = Moment::After;
        self
    }

    fn evict<T>(&self, rows: &mut WindowRows<'_, T>) {
        rows.keep_last(self.max_count);
    }
}

impl<T> Evictor<T> for CountEvictor {
    moments!(T);
}

/// Keeps the rows that are younger than a time before the window's latest row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeEvictor {
    keep: Duration,
    moment: Moment,
}

impl TimeEvictor {
    /// Keeps the rows whose time is after that of the latest row less `keep`. Rows without event times stay.
    pub fn of(keep: Duration) -> Self {
        TimeEvictor { keep, moment: Moment::Before }
    }

    /// Removes rows after the function has seen them all.
    #[must_use]
    pub fn after(mut self) -> Self {
        self.moment = Moment::After;
        self
    }

    fn evict<T>(&self, rows: &mut WindowRows<'_, T>) {
        let latest = rows.times.iter().copied().max().unwrap_or(Timestamp::MIN);
        let cut = latest.saturating_sub(self.keep);
        rows.retain(|_, time| time == Timestamp::MIN || time > cut);
    }
}

impl<T> Evictor<T> for TimeEvictor {
    moments!(T);
}

/// Keeps the rows that differ from the last one by less than a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeltaEvictor<D> {
    threshold: f64,
    delta: D,
    moment: Moment,
}

impl<D> DeltaEvictor<D> {
    /// `delta` says how much the last row, its second argument, differs from another.
    pub fn of<T>(threshold: f64, delta: D) -> Self
    where
        D: Fn(&T, &T) -> f64 + Send + 'static,
    {
        DeltaEvictor { threshold, delta, moment: Moment::Before }
    }

    /// Removes rows after the function has seen them all.
    #[must_use]
    pub fn after(mut self) -> Self {
        self.moment = Moment::After;
        self
    }

    fn evict<T>(&self, rows: &mut WindowRows<'_, T>)
    where
        D: Fn(&T, &T) -> f64,
    {
        let Some(last) = rows.values.last() else { return };
        let kept: Vec<bool> =
            rows.values.iter().map(|row| (self.delta)(row, last) < self.threshold).collect();
        let mut marks = kept.into_iter();
        rows.retain(|_, _| marks.next().unwrap_or(true));
    }
}

impl<T, D: Fn(&T, &T) -> f64 + Send + 'static> Evictor<T> for DeltaEvictor<D> {
    moments!(T);
}

//! The window: a span of time that rows are grouped by.

use flugs_batch::Data;
use flugs_batch::data::{DecodeError, Field, Nesting, Reader, Schema};
use flugs_types::Timestamp;
use std::fmt;
use std::time::Duration;

/// The instants `start <= t < end`.
///
/// [`TimeWindow::GLOBAL`] is all of time; windows by count are that one, cut by a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TimeWindow {
    /// The first instant within.
    pub start: Timestamp,
    /// The first instant after it.
    pub end: Timestamp,
}

impl TimeWindow {
    /// All of time.
    pub const GLOBAL: Self = TimeWindow { start: Timestamp::MIN, end: Timestamp::MAX };

    /// The window `start..end`.
    pub fn new(start: Timestamp, end: Timestamp) -> Self {
        TimeWindow { start, end }
    }

    /// The last instant within: `end` less a microsecond. It is the event time of the window's results. A window
    /// that ends at the end of time holds that instant too, as Flink's global window does.
    #[inline]
    pub fn max_timestamp(&self) -> Timestamp {
        last_before(self.end)
    }

    /// Whether the two overlap or touch, which is when sessions merge.
    pub fn intersects(&self, other: &TimeWindow) -> bool {
        self.start <= other.end && self.end >= other.start
    }

    /// The smallest window that holds both.
    #[must_use]
    pub fn cover(&self, other: &TimeWindow) -> Self {
        TimeWindow { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// How long it is.
    pub fn size(&self) -> Duration {
        self.end.since(self.start)
    }
}

impl fmt::Display for TimeWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.start, self.end)
    }
}

impl Data for TimeWindow {
    const BYTES_MIN: usize = 16;

    fn schema() -> Schema {
        Self::describe(&mut Nesting::default())
    }

    fn describe(nesting: &mut Nesting) -> Schema {
        nesting.enter::<Self>(|nesting| Schema::Struct {
            name: "TimeWindow".to_owned(),
            fields: vec![Field::of::<Timestamp>("start", nesting), Field::of::<Timestamp>("end", nesting)],
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.start.encode(out);
        self.end.encode(out);
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(TimeWindow { start: Timestamp::decode(input)?, end: Timestamp::decode(input)? })
    }
}

/// The last instant of what ends at `end`.
#[inline]
pub(crate) fn last_before(end: Timestamp) -> Timestamp {
    if end == Timestamp::MAX { end } else { Timestamp(end.0.saturating_sub(1)) }
}

/// The grid of instants `offset + n * step`, for whole numbers `n` of either sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grid {
    /// Positive.
    step: i64,
    /// `0 <= offset < step`.
    offset: i64,
}

impl Grid {
    pub(crate) fn new(step: i64, offset: i64) -> Self {
        let step = step.max(1);
        Grid { step, offset: offset.rem_euclid(step) }
    }

    pub(crate) fn step(self) -> i64 {
        self.step
    }

    /// How far `time` is behind the grid's last point at or before it.
    #[inline]
    fn behind(self, time: Timestamp) -> i64 {
        let rest = time.0.rem_euclid(self.step) - self.offset;
        if rest < 0 { rest + self.step } else { rest }
    }

    /// The last point at or before `time`.
    #[inline]
    pub(crate) fn floor(self, time: Timestamp) -> Timestamp {
        Timestamp(time.0.saturating_sub(self.behind(time)))
    }

    /// The first point after `time`.
    #[inline]
    pub(crate) fn after(self, time: Timestamp) -> Timestamp {
        Timestamp(time.0.saturating_add(self.step - self.behind(time)))
    }
}

/// Whole microseconds of a duration that a window is made of; at least one.
pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_goes_on_below_zero() {
        let grid = Grid::new(10, 3);
        let floors: Vec<_> = [-18, -17, -8, -7, 0, 2, 3, 12, 13].map(|t| grid.floor(Timestamp(t)).0).into();
        assert_eq!(floors, [-27, -17, -17, -7, -7, -7, 3, 3, 13]);
        assert_eq!(grid.after(Timestamp(-7)), Timestamp(3));
        assert_eq!(grid.after(Timestamp(2)), Timestamp(3));
        assert_eq!(Grid::new(10, -7), grid);
    }

    #[test]
    fn the_grid_ends_with_time() {
        let grid = Grid::new(10, 0);
        assert_eq!(grid.after(Timestamp::MAX), Timestamp::MAX);
        assert_eq!(grid.floor(Timestamp::MIN), Timestamp::MIN);
        assert_eq!(TimeWindow::GLOBAL.max_timestamp(), Timestamp::MAX);
    }

    #[test]
    fn a_window_is_stored_as_its_two_ends() {
        let window = TimeWindow::new(Timestamp(-5), Timestamp(7));
        assert_eq!(TimeWindow::from_bytes(&window.to_bytes()).unwrap(), window);
        assert_eq!(window.max_timestamp(), Timestamp(6));
        assert!(window.intersects(&TimeWindow::new(Timestamp(7), Timestamp(8))));
        assert!(!window.intersects(&TimeWindow::new(Timestamp(8), Timestamp(9))));
    }
}

//! Windows as spans of slices.
//!
//! A slice is the largest piece of time that no window cuts. All rows of a slice belong to the same windows, so that
//! a row is counted once, in its slice, however many windows overlap there; a window is the slices that it spans.

use super::time_window::{Grid, TimeWindow};
use flugs_types::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// A window begins at each point of the grid and is this long. Slices begin where windows begin or end.
    Sliding { starts: Grid, size: i64 },
    /// Windows begin at each point of the grid and end at each slice's end until the next point.
    Cumulative { starts: Grid },
}

/// The slices of windows of one kind and how windows consist of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slices {
    slices: Grid,
    layout: Layout,
}

impl Slices {
    pub(crate) fn tumbling(size: i64, offset: i64) -> Self {
        let starts = Grid::new(size, offset);
        Slices { slices: starts, layout: Layout::Sliding { starts, size } }
    }

    pub(crate) fn sliding(size: i64, slide: i64, offset: i64) -> Self {
        let starts = Grid::new(slide, offset);
        let slices = Grid::new(greatest_common_divisor(size, slide), offset);
        Slices { slices, layout: Layout::Sliding { starts, size } }
    }

    pub(crate) fn cumulative(max_size: i64, step: i64, offset: i64) -> Self {
        let slices = Grid::new(step, offset);
        Slices { slices, layout: Layout::Cumulative { starts: Grid::new(max_size, offset) } }
    }

    /// Appends the windows of a row of this time, as they end.
    pub(crate) fn assign(&self, time: Timestamp, windows: &mut Vec<TimeWindow>) {
        windows.extend(self.windows(self.slice(time).start));
    }

    /// The slice that the time is in.
    #[inline]
    pub(crate) fn slice(&self, time: Timestamp) -> TimeWindow {
        TimeWindow { start: self.slices.floor(time), end: self.slices.after(time) }
    }

    /// Whether every window is one slice.
    pub(crate) fn is_tumbling(&self) -> bool {
        matches!(self.layout, Layout::Sliding { starts, size } if starts == self.slices && size == starts.step())
    }

    /// Of the windows over the slice, the first to end whose last instant is after `after`.
    pub(crate) fn first_window(&self, slice: Timestamp, after: Timestamp) -> Option<TimeWindow> {
        let not_before = Timestamp(after.0.saturating_add(1));
        let window = match self.layout {
            Layout::Sliding { starts, size } => {
                let over_slice = Timestamp(slice.0.saturating_sub(size));
                let open = Timestamp(not_before.0.saturating_sub(size));
                let start = starts.after(over_slice).max(starts.after(open));
                if start > slice {
                    return None;
                }
                TimeWindow { start, end: Timestamp(start.0.saturating_add(size)) }
            }
            Layout::Cumulative { starts } => {
                let end = self.slices.after(slice).max(self.slices.after(not_before));
                if end > starts.after(slice) {
                    return None;
                }
                TimeWindow { start: starts.floor(slice), end }
            }
        };
        (window.max_timestamp() > after).then_some(window)
    }

    /// All windows over the slice, as they end.
    pub(crate) fn windows(&self, slice: Timestamp) -> impl Iterator<Item = TimeWindow> + '_ {
        std::iter::successors(self.first_window(slice, Timestamp::MIN), move |last| {
            self.first_window(slice, last.max_timestamp())
        })
    }

    /// The last instant of the last window over the slice; `None` where no window is over it.
    pub(crate) fn last_instant(&self, slice: Timestamp) -> Option<Timestamp> {
        let end = match self.layout {
            Layout::Sliding { starts, size } => Timestamp(starts.floor(slice).0.saturating_add(size)),
            Layout::Cumulative { starts } => starts.after(slice),
        };
        (end > slice).then(|| TimeWindow { start: slice, end }.max_timestamp())
    }

    /// The slices of a window, in order.
    pub(crate) fn slices_of(&self, window: TimeWindow) -> impl Iterator<Item = TimeWindow> + use<> {
        let layout = *self;
        let first = (window.start < window.end).then(|| layout.slice(window.start));
        std::iter::successors(first, move |slice| {
            let goes_on = slice.end > slice.start && slice.end < window.end;
            goes_on.then(|| layout.slice(slice.end))
        })
    }

    /// How many slices a window has at most.
    pub(crate) fn per_window(&self) -> usize {
        let size = match self.layout {
            Layout::Sliding { size, .. } => size,
            Layout::Cumulative { starts } => starts.step(),
        };
        usize::try_from(size / self.slices.step()).unwrap_or(usize::MAX)
    }
}

fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.max(1), b.max(1));
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn windows(slices: &Slices, time: i64) -> Vec<(i64, i64)> {
        let mut windows = Vec::new();
        slices.assign(Timestamp(time), &mut windows);
        windows.iter().map(|w| (w.start.0, w.end.0)).collect()
    }

    #[test]
    fn windows_of_a_row_below_zero() {
        assert_eq!(windows(&Slices::tumbling(10, 0), -1), [(-10, 0)]);
        assert_eq!(windows(&Slices::tumbling(10, 4), -7), [(-16, -6)]);
        assert_eq!(windows(&Slices::sliding(10, 5, 0), -1), [(-10, 0), (-5, 5)]);
        assert_eq!(windows(&Slices::cumulative(9, 3, 0), -5), [(-9, -3), (-9, 0)]);
    }

    #[test]
    fn a_slide_longer_than_the_size_leaves_gaps() {
        let slices = Slices::sliding(2, 5, 0);
        assert_eq!(windows(&slices, 6), [(5, 7)]);
        assert_eq!(windows(&slices, 7), []);
        assert_eq!(slices.last_instant(slices.slice(Timestamp(7)).start), None);
    }

    #[test]
    fn the_ends_of_time_have_windows() {
        for slices in [Slices::tumbling(10, 3), Slices::sliding(10, 4, 1), Slices::cumulative(12, 3, 2)] {
            assert!((1..=5).contains(&windows(&slices, i64::MAX).len()));
            assert!(windows(&slices, i64::MIN + 1).len() <= 5);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Against the definition: all windows of all starts, filtered.
        #[test]
        fn windows_are_those_of_the_definition(
            size in 1i64..30, slide in 1i64..30, offset in 0i64..30, time in -90i64..90, after in -90i64..90,
        ) {
            let slices = Slices::sliding(size, slide, offset);
            let naive: Vec<_> = (-200..200)
                .map(|n| n * slide + offset)
                .filter(|&start| start <= time && time < start + size)
                .map(|start| (start, start + size))
                .collect();
            prop_assert_eq!(&windows(&slices, time), &naive);
            let whole = slices.slice(Timestamp(time));
            let slice = whole.start;
            let next = naive.iter().find(|w| w.1 - 1 > after).map(|w| w.1);
            prop_assert_eq!(slices.first_window(slice, Timestamp(after)).map(|w| w.end.0), next);
            prop_assert_eq!(slices.last_instant(slice).map(|t| t.0 + 1), naive.last().map(|w| w.1));
            for (start, end) in naive {
                let window = TimeWindow::new(Timestamp(start), Timestamp(end));
                prop_assert!(slices.slices_of(window).any(|s| s == whole));
                prop_assert_eq!(slices.slices_of(window).count(), slices.per_window());
            }
        }

        #[test]
        fn cumulative_windows_are_those_of_the_definition(
            step in 1i64..10, steps in 1i64..6, offset in 0i64..30, time in -90i64..90,
        ) {
            let max = step * steps;
            let slices = Slices::cumulative(max, step, offset);
            let naive: Vec<_> = (-200..200)
                .map(|n| n * max + offset)
                .flat_map(|start| (1..=steps).map(move |k| (start, start + k * step)))
                .filter(|&(start, end)| start <= time && time < end)
                .collect();
            prop_assert_eq!(&windows(&slices, time), &naive);
            let slice = slices.slice(Timestamp(time)).start;
            prop_assert_eq!(slices.last_instant(slice).map(|t| t.0 + 1), naive.last().map(|w| w.1));
        }
    }
}

//! Which windows there are, and how they consist of slices.

use flugs_batch::Data;
use flugs_batch::data::{DecodeError, Reader, Schema};
use flugs_types::{Error, Result};

/// Windows that are the same for all keys. All numbers are milliseconds; sizes are positive, offsets may be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowShape {
    /// `TUMBLE`: one after the other.
    Tumble {
        /// How long a window is.
        size_ms: i64,
        /// Windows begin at this, and whole sizes before and after it.
        offset_ms: i64,
    },
    /// `HOP`: a window begins with each slide. Flink asks for a size that is a multiple of the slide; here it need not be.
    Hop {
        /// How long a window is.
        size_ms: i64,
        /// From the start of a window to that of the next.
        slide_ms: i64,
        /// A window begins at this.
        offset_ms: i64,
    },
    /// `CUMULATE`: windows with one start that are longer by a step each, up to a size from which on it begins anew.
    Cumulate {
        /// How long the last of them is; a multiple of the step.
        max_size_ms: i64,
        /// From the end of a window to that of the next.
        step_ms: i64,
        /// The windows begin anew at this.
        offset_ms: i64,
    },
}

/// The longest window, and the furthest time from the epoch that a row may have, in milliseconds: some 250 000 years. Sums of a few of
/// them stay within 64 bits.
pub(super) const TIME_MAX_MS: i64 = 8_000_000_000_000_000;

impl WindowShape {
    /// An error where a length is not positive, too long, or no multiple of its step.
    pub fn check(&self) -> Result<()> {
        let (name, size, step, offset) = match *self {
            WindowShape::Tumble { size_ms, offset_ms } => ("TUMBLE", size_ms, size_ms, offset_ms),
            WindowShape::Hop { size_ms, slide_ms, offset_ms } => ("HOP", size_ms, slide_ms, offset_ms),
            WindowShape::Cumulate { max_size_ms, step_ms, offset_ms } => {
                ("CUMULATE", max_size_ms, step_ms, offset_ms)
            }
        };
        for length in [size, step] {
            check_length(name, length)?;
        }
        if offset.unsigned_abs() > TIME_MAX_MS.unsigned_abs() {
            return Err(Error::job(format!("{name} has windows shifted by {offset} ms"))
                .mend("give an offset within the size of the windows"));
        }
        if matches!(self, WindowShape::Cumulate { .. }) && size % step != 0 {
            return Err(Error::job(format!("CUMULATE goes up to {size} ms by steps of {step} ms"))
                .mend("give a maximal size that is a multiple of the step"));
        }
        Ok(())
    }
}

/// An error where a window's length is not positive or too long.
pub(super) fn check_length(name: &str, length_ms: i64) -> Result<()> {
    if (1..=TIME_MAX_MS).contains(&length_ms) {
        return Ok(());
    }
    Err(Error::job(format!("{name} has windows of {length_ms} ms"))
        .mend("give lengths of at least a millisecond, and of fewer than 250 000 years"))
}

/// The milliseconds `start <= t < end`. Ordered by the end, then by the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) end: i64,
    pub(super) start: i64,
}

impl Span {
    pub(super) fn new(start: i64, end: i64) -> Self {
        Span { end, start }
    }

    /// Whether the time is within.
    #[inline(always)]
    pub(super) fn contains(self, time: i64) -> bool {
        self.start <= time && time < self.end
    }

    /// Whether it is over at `reached`.
    #[inline(always)]
    pub(super) fn is_over(self, reached: i64) -> bool {
        self.end - 1 <= reached
    }
}

impl Data for Span {
    const BYTES_MIN: usize = 16;

    fn schema() -> Schema {
        <(i64, i64)>::schema()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        (self.end, self.start).encode(out);
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (end, start) = Data::decode(input)?;
        Ok(Span { end, start })
    }
}

/// The points `offset + n * step`, for whole numbers `n` of either sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Grid {
    step: i64,
    offset: i64,
}

impl Grid {
    fn new(step: i64, offset: i64) -> Self {
        Grid { step, offset: offset.rem_euclid(step) }
    }

    /// The last point at or before `time`.
    #[inline(always)]
    fn floor(self, time: i64) -> i64 {
        time - (time - self.offset).rem_euclid(self.step)
    }

    /// The first point after `time`.
    #[inline(always)]
    fn after(self, time: i64) -> i64 {
        self.floor(time) + self.step
    }
}

/// How windows consist of slices: the longest spans of time that no window cuts. All rows of a slice belong to the same
/// windows, so that a row is counted once, however many windows overlap there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slices {
    slices: Grid,
    /// Where windows begin.
    starts: Grid,
    /// The length of the longest window.
    size: i64,
    /// Whether windows of each number of slices begin at each start, instead of one of the whole size.
    cumulative: bool,
}

impl Slices {
    /// Of a shape that was checked.
    pub(super) fn new(shape: WindowShape) -> Self {
        match shape {
            WindowShape::Tumble { size_ms, offset_ms } => {
                let grid = Grid::new(size_ms, offset_ms);
                Slices { slices: grid, starts: grid, size: size_ms, cumulative: false }
            }
            WindowShape::Hop { size_ms, slide_ms, offset_ms } => Slices {
                slices: Grid::new(greatest_common_divisor(size_ms, slide_ms), offset_ms),
                starts: Grid::new(slide_ms, offset_ms),
                size: size_ms,
                cumulative: false,
            },
            WindowShape::Cumulate { max_size_ms, step_ms, offset_ms } => Slices {
                slices: Grid::new(step_ms, offset_ms),
                starts: Grid::new(max_size_ms, offset_ms),
                size: max_size_ms,
                cumulative: true,
            },
        }
    }

    /// The slice that the time is in.
    #[inline(always)]
    pub(super) fn slice(&self, time: i64) -> Span {
        let start = self.slices.floor(time);
        Span { start, end: start + self.slices.step }
    }

    /// Whether every window is one slice.
    pub(super) fn is_tumbling(&self) -> bool {
        self.starts == self.slices && self.size == self.slices.step
    }

    /// Whether windows that begin together share results: those of each are the ones of the shorter and a slice more.
    pub(super) fn is_cumulative(&self) -> bool {
        self.cumulative
    }

    /// The first slice of the windows that begin together over the slice.
    pub(super) fn first_slice(&self, slice: Span) -> Span {
        self.slice(self.starts.floor(slice.start))
    }

    /// Of the windows over the slice, the first to end that is not over at `reached`.
    pub(super) fn first_window(&self, slice: Span, reached: i64) -> Option<Span> {
        // Ends from this on are not over; no time is so late that this overflows.
        let end_min = reached.saturating_add(1).saturating_add(1);
        if self.cumulative {
            let start = self.starts.floor(slice.start);
            if end_min > start + self.size {
                return None;
            }
            let end = if end_min <= slice.end { slice.end } else { self.slices.after(end_min - 1) };
            return Some(Span { start, end });
        }
        // The first start whose window reaches beyond the slice's start, and ends late enough.
        let over_slice = self.starts.after(slice.start - self.size);
        let start = match end_min.saturating_sub(self.size) {
            late if late > over_slice => {
                if late > slice.start {
                    return None;
                }
                self.starts.after(late - 1)
            }
            _ => over_slice,
        };
        (start <= slice.start).then_some(Span { start, end: start + self.size })
    }

    /// The end of the last window over the slice; `None` where no window is over it.
    pub(super) fn last_end(&self, slice: Span) -> Option<i64> {
        let end = self.starts.floor(slice.start) + self.size;
        (end > slice.start).then_some(end)
    }

    /// How many slices a window has at most.
    pub(super) fn per_window(&self) -> usize {
        usize::try_from(self.size / self.slices.step).unwrap_or(usize::MAX)
    }
}

fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn windows(shape: WindowShape, time: i64) -> Vec<(i64, i64)> {
        shape.check().unwrap();
        let slices = Slices::new(shape);
        let slice = slices.slice(time);
        let next = |last: &Span| slices.first_window(slice, last.end - 1);
        std::iter::successors(slices.first_window(slice, i64::MIN), next).map(|w| (w.start, w.end)).collect()
    }

    #[test]
    fn windows_go_on_below_zero() {
        assert_eq!(windows(WindowShape::Tumble { size_ms: 10, offset_ms: 0 }, -1), [(-10, 0)]);
        assert_eq!(windows(WindowShape::Tumble { size_ms: 10, offset_ms: 4 }, -7), [(-16, -6)]);
        assert_eq!(windows(WindowShape::Tumble { size_ms: 10, offset_ms: -6 }, -7), [(-16, -6)]);
        let hop = WindowShape::Hop { size_ms: 10, slide_ms: 5, offset_ms: 0 };
        assert_eq!(windows(hop, -1), [(-10, 0), (-5, 5)]);
        let cumulate = WindowShape::Cumulate { max_size_ms: 9, step_ms: 3, offset_ms: 0 };
        assert_eq!(windows(cumulate, -5), [(-9, -3), (-9, 0)]);
    }

    #[test]
    fn wrong_lengths_are_refused() {
        for shape in [
            WindowShape::Tumble { size_ms: 0, offset_ms: 0 },
            WindowShape::Tumble { size_ms: i64::MAX, offset_ms: 0 },
            WindowShape::Tumble { size_ms: 5, offset_ms: i64::MIN },
            WindowShape::Hop { size_ms: 5, slide_ms: -1, offset_ms: 0 },
            WindowShape::Cumulate { max_size_ms: 10, step_ms: 3, offset_ms: 0 },
        ] {
            assert!(shape.check().is_err(), "{shape:?}");
        }
    }

    #[test]
    fn the_ends_of_time_have_windows() {
        for time in [TIME_MAX_MS, -TIME_MAX_MS] {
            let longest =
                WindowShape::Hop { size_ms: TIME_MAX_MS, slide_ms: TIME_MAX_MS - 1, offset_ms: TIME_MAX_MS };
            assert!(!windows(longest, time).is_empty());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Against the definition: all windows of all starts, filtered.
        #[test]
        fn windows_are_those_of_the_definition(
            size in 1i64..30, slide in 1i64..30, offset in -30i64..30, time in -90i64..90, reached in -90i64..90,
        ) {
            let shape = WindowShape::Hop { size_ms: size, slide_ms: slide, offset_ms: offset };
            let slices = Slices::new(shape);
            let naive: Vec<_> = (-200..200)
                .map(|n| n * slide + offset)
                .filter(|&start| start <= time && time < start + size)
                .map(|start| (start, start + size))
                .collect();
            prop_assert_eq!(&windows(shape, time), &naive);
            let slice = slices.slice(time);
            prop_assert!(slice.contains(time));
            let next = naive.iter().find(|w| w.1 - 1 > reached).copied();
            prop_assert_eq!(slices.first_window(slice, reached).map(|w| (w.start, w.end)), next);
            prop_assert_eq!(slices.last_end(slice), naive.last().map(|w| w.1));
            for (start, end) in naive {
                let window = Span::new(start, end);
                prop_assert!(window.start <= slice.start && slice.end <= window.end);
                let times = window.start..window.end;
                let cut: std::collections::BTreeSet<_> = times.map(|time| slices.slice(time)).collect();
                prop_assert_eq!(cut.len(), slices.per_window());
            }
        }

        #[test]
        fn cumulative_windows_are_those_of_the_definition(
            step in 1i64..10, steps in 1i64..6, offset in 0i64..30, time in -90i64..90, reached in -90i64..90,
        ) {
            let max = step * steps;
            let shape = WindowShape::Cumulate { max_size_ms: max, step_ms: step, offset_ms: offset };
            let slices = Slices::new(shape);
            let naive: Vec<_> = (-200..200)
                .map(|n| n * max + offset)
                .flat_map(|start| (1..=steps).map(move |k| (start, start + k * step)))
                .filter(|&(start, end)| start <= time && time < end)
                .collect();
            prop_assert_eq!(&windows(shape, time), &naive);
            let slice = slices.slice(time);
            let next = naive.iter().find(|w| w.1 - 1 > reached).copied();
            prop_assert_eq!(slices.first_window(slice, reached).map(|w| (w.start, w.end)), next);
            prop_assert_eq!(slices.last_end(slice), naive.last().map(|w| w.1));
        }
    }
}

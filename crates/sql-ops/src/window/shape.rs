//! Which windows there are.

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

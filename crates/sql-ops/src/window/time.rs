//! The time of rows and windows.

use arrow::datatypes::{DataType, TimeUnit};

/// By which time rows are put into windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowTime {
    /// The row's own: a column of timestamps of any unit, with zone (`TIMESTAMP_LTZ`) or without. NULL is an error, as in Flink.
    Event {
        /// Its index in the input.
        column: usize,
    },
    /// The machine's clock when the row comes. Windows fire by the clock, and all of them at the end of the input.
    Processing,
}

/// The columns of an input whose rows carry their windows already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AttachedWindow {
    /// The index of `window_start`, a `TIMESTAMP(3)`, not NULL.
    pub start: usize,
    /// The index of `window_end`, likewise.
    pub end: usize,
}

/// A column that says of a result which window it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowColumn {
    /// `window_start`: `TIMESTAMP(3) NOT NULL`.
    Start,
    /// `window_end`: `TIMESTAMP(3) NOT NULL`.
    End,
    /// `window_time`: the last millisecond, `NOT NULL`; a `TIMESTAMP(3)` over a `TIMESTAMP`, else a `TIMESTAMP_LTZ(3)`.
    Time,
}

impl WindowColumn {
    /// The type of the column. `local` says that windows are spans of local time: over a `TIMESTAMP_LTZ` or the machine's clock.
    pub fn data_type(self, local: bool) -> DataType {
        let zone = (self == WindowColumn::Time && local).then(|| "+00:00".into());
        DataType::Timestamp(TimeUnit::Millisecond, zone)
    }
}

//! The time of rows and windows.

use super::shape::{Span, TIME_MAX_MS};
use super::zone::LocalTime;
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::datatypes::{
    DataType, Schema, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use flugs_batch::{Batch, ChangeBatch};
use flugs_types::{Error, Result, RowKind};
use std::sync::Arc;

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

impl WindowTime {
    pub(super) fn is_processing(self) -> bool {
        self == WindowTime::Processing
    }

    /// The zone of local time of which windows by this time are spans, and whether they are: over a `TIMESTAMP` they are not.
    pub(super) fn zone(self, input: &Schema, zone: Option<&str>) -> Result<(LocalTime, bool)> {
        let local = match self {
            WindowTime::Processing => true,
            WindowTime::Event { column } => match input.fields().get(column).map(|f| f.data_type()) {
                Some(DataType::Timestamp(_, zone)) => zone.is_some(),
                other => return Err(Error::bug(format!("column {column} is no time: {other:?}"))),
            },
        };
        Ok((LocalTime::new(zone.filter(|_| local))?, local))
    }
}

/// Puts the milliseconds of a column of timestamps into `times`, rounded down. `name` is the column's, for errors.
pub(super) fn read_times(column: &ArrayRef, name: &str, times: &mut Vec<i64>) -> Result<()> {
    if column.null_count() > 0 {
        return Err(Error::data(format!("the time column '{name}' is NULL in a row"))
            .mend("filter such rows out, or give the column a value with COALESCE"));
    }
    times.clear();
    match column.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => {
            times.extend(values::<TimestampSecondType>(column).iter().map(|t| t.saturating_mul(1000)));
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            times.extend_from_slice(values::<TimestampMillisecondType>(column));
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            times.extend(values::<TimestampMicrosecondType>(column).iter().map(|t| t.div_euclid(1000)));
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            times.extend(values::<TimestampNanosecondType>(column).iter().map(|t| t.div_euclid(1_000_000)));
        }
        other => return Err(Error::bug(format!("column '{name}' of {other} is no time"))),
    }
    let (min, max) = times.iter().fold((0, 0), |(min, max), t| ((*t).min(min), (*t).max(max)));
    if min < -TIME_MAX_MS || max > TIME_MAX_MS {
        let wrong = if min < -TIME_MAX_MS { min } else { max };
        return Err(Error::data(format!(
            "the time column '{name}' has {wrong} ms in a row, which is no date"
        ))
        .mend("look at the unit of the source's times, or filter such rows out"));
    }
    Ok(())
}

fn values<T: ArrowPrimitiveType<Native = i64>>(column: &ArrayRef) -> &[i64] {
    column.as_primitive::<T>().values()
}

/// Puts the local times of the rows into `times`: of a column, or all of them `now`.
pub(super) fn local_times(
    time: WindowTime,
    batch: &ChangeBatch,
    zone: &mut LocalTime,
    now: i64,
    times: &mut Vec<i64>,
) -> Result<()> {
    match time {
        WindowTime::Processing => {
            times.clear();
            times.resize(batch.len(), now);
        }
        WindowTime::Event { column } => {
            read_times(batch.column(column), batch.schema().field(column).name(), times)?;
            if !zone.is_utc() {
                times.iter_mut().for_each(|time| *time = zone.local(*time));
            }
        }
    }
    Ok(())
}

/// Puts the windows that the rows carry into `windows`.
pub(super) fn attached_windows(
    attached: AttachedWindow,
    batch: &ChangeBatch,
    windows: &mut Vec<Span>,
) -> Result<()> {
    let schema = batch.schema();
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    read_times(batch.column(attached.start), schema.field(attached.start).name(), &mut starts)?;
    read_times(batch.column(attached.end), schema.field(attached.end).name(), &mut ends)?;
    windows.clear();
    windows.extend(starts.iter().zip(&ends).map(|(start, end)| Span::new(*start, *end)));
    Ok(())
}

/// The columns of these windows.
pub(super) fn window_columns(
    columns: &[WindowColumn],
    windows: &[Span],
    zone: &LocalTime,
    local: bool,
) -> Vec<ArrayRef> {
    let column = |column: &WindowColumn| {
        // Neighbours are mostly of one window.
        let mut last = (None, 0);
        let values = windows.iter().map(|window| match column {
            WindowColumn::Start => window.start,
            WindowColumn::End => window.end,
            WindowColumn::Time => {
                if last.0 != Some(window.end) {
                    last = (Some(window.end), zone.instant(window.end - 1));
                }
                last.1
            }
        });
        timestamps(values.collect(), *column, local)
    };
    columns.iter().map(column).collect()
}

/// A column of these milliseconds.
pub(super) fn timestamps(values: Vec<i64>, column: WindowColumn, local: bool) -> ArrayRef {
    let values = PrimitiveArray::<TimestampMillisecondType>::new(values.into(), None);
    Arc::new(values.with_data_type(column.data_type(local)))
}

/// Rows that stand in turn and are of one span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) span: Span,
    pub(super) from: usize,
    pub(super) to: usize,
}

impl Run {
    pub(super) fn rows(&self) -> std::ops::Range<usize> {
        self.from..self.to
    }
}

/// Splits rows by their windows.
pub(super) fn runs_of_windows(windows: &[Span], runs: &mut Vec<Run>) {
    runs.clear();
    let mut from = 0;
    for of_one in windows.chunk_by(|a, b| a == b) {
        runs.push(Run { span: of_one[0], from, to: from + of_one.len() });
        from += of_one.len();
    }
}

/// An error where a row does not insert: `what` takes nothing else.
pub(super) fn inserts_only(batch: &ChangeBatch, what: &str) -> Result<()> {
    let Some(kinds) = batch.kind_numbers() else { return Ok(()) };
    let Some(row) = kinds.iter().position(|kind| *kind != RowKind::Insert as u8) else { return Ok(()) };
    Err(Error::bug(format!("{what} takes inserts only, and got {}", batch.kind(row))))
}

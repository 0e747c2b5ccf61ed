//! Aggregates of windows that are the same for all keys.
//!
//! A row is added to the one slice that it is in ([`Slices`]), and a window merges its slices when it is over. Where windows begin
//! together (`CUMULATE`), the merged slices stay in the place of the first, so that each window adds one slice. Where windows follow each
//! other and have many slices, they are not read for each of them ([`sliding`]). A slice is dropped when its last window has fired.

mod early;
mod firing;
mod local;
mod operator;
mod sliding;
mod windows;

pub use local::LocalWindowAggregate;
pub use operator::WindowAggregate;

use super::shape::{Slices, WindowShape};
use super::time::{AttachedWindow, WindowColumn, WindowTime};
use super::zone::LocalTime;
use crate::aggregate::{AggregateCall, Aggregator, AggregatorOptions};
use crate::phases::between;
use crate::row::RowCodec;
use arrow::datatypes::{DataType, Field, FieldRef, SchemaRef};
use flugs_types::{Error, Result};
use std::sync::Arc;
use std::time::Duration;
use windows::Windows;

/// Where the windows of rows come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowInput {
    /// From the rows' times.
    Assigned {
        /// Which windows.
        shape: WindowShape,
        /// By which time.
        time: WindowTime,
    },
    /// The rows carry them: an aggregate of an aggregate, or of a windowed table that was changed in between. Event time only.
    Attached(AttachedWindow),
}

/// When results come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Emit {
    /// Once, when the window is over.
    OnWatermark,
    /// Also before that, as updates of what came before: after so much time by the machine's clock, for windows that have changed.
    Every(Duration),
    /// Also before that, as updates, after each batch of rows.
    OnChange,
}

/// Aggregates rows by window and keys over slices which windows share.
///
/// The input may retract (see `retract`). Without early results the output is inserts only; a window of which nothing is
/// left gives nothing. Rows must be partitioned by the keys. In two phases both operators
/// ([`LocalWindowAggregate`], [`WindowAggregate::merging`]) are made from the same spec.
#[derive(Debug, Clone)]
pub struct WindowAggregateSpec {
    /// The columns of the input; in two phases of the first one's.
    pub input: SchemaRef,
    /// Where windows come from; in two phases by event time.
    pub windows: WindowInput,
    /// The session's zone, such as `Europe/Berlin` or `+02:00`; `None` is UTC. Says nothing over a `TIMESTAMP`; of attached windows
    /// it is given only where they are spans of local time (over a `TIMESTAMP_LTZ`).
    pub zone: Option<String>,
    /// The key columns; none: one group a window.
    pub keys: Vec<usize>,
    /// The aggregates.
    pub calls: Vec<AggregateCall>,
    /// Whether the input has other rows than inserts.
    pub retract: bool,
    /// The window's columns behind the aggregates.
    pub window_columns: Vec<WindowColumn>,
    /// Keys, aggregates, and the window's columns.
    pub output: SchemaRef,
    /// When results come.
    pub emit: Emit,
    /// Whether updates come with the row they replace (`-U`). Says nothing without early results.
    pub emit_update_before: bool,
    /// Whether late rows are handed to side output 0; not in the second of two phases.
    pub late_output: bool,
}

impl WindowAggregateSpec {
    /// An error where an aggregate is not supported, or not over these windows: for the planner, before the job runs.
    pub fn check(&self, two_phases: bool) -> Result<()> {
        let windows = self.windows()?;
        self.local_time()?;
        self.key_codec()?;
        if !self.aggregator()?.can_merge() && (two_phases || !windows.is_single()) {
            return Err(Error::job(
                "an aggregate that keeps rows in order cannot take rows back where windows share rows",
            )
            .mend("use TUMBLE in one phase, or an aggregate that does not depend on the order"));
        }
        if two_phases && !self.aggregator()?.can_sum_up() {
            return Err(Error::bug("a variance of rows that are taken back is computed in one phase"));
        }
        match self.windows {
            WindowInput::Assigned { time: WindowTime::Processing, .. } if two_phases => {
                Err(Error::bug("windows by the machine's clock are aggregated in one phase"))
            }
            _ => Ok(()),
        }
    }

    /// What a [`LocalWindowAggregate`] gives: the input's columns, the slice's bounds, and partial states; the keys stand where
    /// they were.
    pub fn partial_schema(&self) -> SchemaRef {
        let bound = |name| -> FieldRef { Arc::new(Field::new(name, DataType::Int64, true)) };
        between(&self.input, [bound("$slice_start"), bound("$slice_end")])
    }

    fn windows(&self) -> Result<Windows> {
        match self.windows {
            WindowInput::Assigned { shape, .. } => {
                shape.check()?;
                Ok(Windows::Sliced(Slices::new(shape)))
            }
            WindowInput::Attached(_) => Ok(Windows::Attached),
        }
    }

    /// Of which zone windows are spans of local time, and whether they are.
    fn local_time(&self) -> Result<(LocalTime, bool)> {
        match self.windows {
            WindowInput::Assigned { time, .. } => time.zone(&self.input, self.zone.as_deref()),
            WindowInput::Attached(_) => Ok((LocalTime::new(self.zone.as_deref())?, self.zone.is_some())),
        }
    }

    fn is_processing(&self) -> bool {
        matches!(self.windows, WindowInput::Assigned { time: WindowTime::Processing, .. })
    }

    fn aggregator(&self) -> Result<Aggregator> {
        // The reserved word counts rows.
        let options = AggregatorOptions { retract: self.retract, reserved: usize::from(self.retract) };
        Aggregator::new(&self.calls, self.input.fields(), options)
    }

    fn key_codec(&self) -> Result<RowCodec> {
        let fields = self.input.fields();
        let type_of = |key: &usize| {
            let field =
                fields.get(*key).ok_or_else(|| Error::bug(format!("there is no key column {key}")))?;
            Ok(field.data_type().clone())
        };
        RowCodec::new(&self.keys.iter().map(type_of).collect::<Result<Vec<_>>>()?)
    }
}

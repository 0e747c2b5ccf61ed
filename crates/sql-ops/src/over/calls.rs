//! The functions of an [`OverSpec`]: aggregates, which share the accumulators of their frame, and functions of places.

use super::spec::{Frame, FrameBound, FrameUnit, OverMode, OverSpec};
use crate::aggregate::{AggregateCall, Aggregator, AggregatorOptions};
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use flugs_sql_types::WindowKind;
use flugs_types::{Error, Result};
use std::sync::Arc;

/// The aggregates of one frame.
pub(super) struct FrameSet {
    pub(super) frame: Frame,
    pub(super) aggregator: Aggregator,
    /// Which of the calls these are.
    pub(super) calls: Vec<usize>,
}

/// A function that takes rows by their places.
pub(super) struct Placed {
    pub(super) function: WindowKind,
    pub(super) arguments: Vec<usize>,
    pub(super) frame: Frame,
    /// Which of the calls it is.
    pub(super) call: usize,
}

/// See the module.
pub(super) struct Calls {
    pub(super) sets: Vec<FrameSet>,
    pub(super) placed: Vec<Placed>,
    /// The columns of the input that aggregates need, and their schema.
    columns: Vec<usize>,
    schema: SchemaRef,
    pub(super) len: usize,
}

impl Calls {
    pub(super) fn new(spec: &OverSpec) -> Result<Self> {
        let width = spec.input.fields().len();
        if spec.output.fields().len() != width + spec.calls.len() {
            return Err(Error::bug(format!(
                "{} columns for {width} and {} results",
                spec.output.fields().len(),
                spec.calls.len()
            )));
        }
        let is_aggregate = |function: &WindowKind| matches!(function, WindowKind::Aggregate(_));
        let aggregates = spec.calls.iter().filter(|call| is_aggregate(&call.function));
        let mut columns: Vec<usize> =
            aggregates.flat_map(|call| call.arguments.iter().copied().chain(call.filter)).collect();
        columns.sort_unstable();
        columns.dedup();
        let schema =
            spec.input.project(&columns).map_err(|e| Error::bug("there is no such column").caused_by(e))?;
        let place =
            |column: &usize| columns.binary_search(column).expect("the columns of all calls are there");
        let mut frames: Vec<(Frame, Vec<usize>, Vec<AggregateCall>)> = Vec::new();
        let mut placed = Vec::new();
        for (at, call) in spec.calls.iter().enumerate() {
            check(spec, at)?;
            let WindowKind::Aggregate(kind) = &call.function else {
                let (function, arguments) = (call.function.clone(), call.arguments.clone());
                placed.push(Placed { function, arguments, frame: call.frame, call: at });
                continue;
            };
            let aggregate = AggregateCall {
                kind: kind.clone(),
                args: call.arguments.iter().map(place).collect(),
                distinct: call.distinct,
                filter: call.filter.as_ref().map(place),
                order_by: Vec::new(),
                result: spec.output.fields()[width + at].clone(),
                place: at,
            };
            match frames.iter_mut().find(|(frame, ..)| *frame == call.frame) {
                Some((_, calls, aggregates)) => {
                    calls.push(at);
                    aggregates.push(aggregate);
                }
                None => frames.push((call.frame, vec![at], vec![aggregate])),
            }
        }
        let set = |(frame, calls, aggregates): (Frame, Vec<usize>, Vec<AggregateCall>)| {
            let retract = frame.start != FrameBound::UnboundedPreceding;
            let options = AggregatorOptions { retract, reserved: 0 };
            let aggregator = Aggregator::new(&aggregates, schema.fields(), options)?;
            Ok(FrameSet { frame, aggregator, calls })
        };
        let sets = frames.into_iter().map(set).collect::<Result<_>>()?;
        Ok(Calls { sets, placed, columns, schema: Arc::new(schema.clone()), len: spec.calls.len() })
    }

    /// Whether no result depends on rows that are behind its own row and not equal to it in order.
    pub(super) fn look_back(&self) -> bool {
        let ends_here = |frame: Frame| matches!(frame.end, FrameBound::CurrentRow | FrameBound::Preceding(_));
        let looks_back = |placed: &Placed| match placed.function {
            WindowKind::RowNumber | WindowKind::Rank | WindowKind::DenseRank => true,
            WindowKind::Lag { offset } => offset >= 0,
            WindowKind::Lead { offset } => offset <= 0,
            WindowKind::NthValue { .. } => ends_here(placed.frame),
            _ => false,
        };
        self.sets.iter().all(|set| ends_here(set.frame)) && self.placed.iter().all(looks_back)
    }

    /// What aggregates need of these rows.
    pub(super) fn arguments(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.columns.iter().map(|column| rows.column(*column).clone()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(|e| Error::bug("rows are not of the types that were planned").caused_by(e))
    }
}

/// An error where a call cannot be carried out in this mode.
fn check(spec: &OverSpec, at: usize) -> Result<()> {
    let call = &spec.calls[at];
    let by_time = matches!(spec.mode, OverMode::EventTime { .. } | OverMode::ProcessingTime);
    let name = call.function.name();
    let placed = matches!(
        call.function,
        WindowKind::RowNumber | WindowKind::Rank | WindowKind::DenseRank | WindowKind::Lag { offset: 0.. }
    );
    if by_time && !placed && !matches!(call.function, WindowKind::Aggregate(_)) {
        return Err(Error::job(format!("{name} looks at rows that have not come yet"))
            .mend("order by something that is no time attribute, or run the query in batch mode"));
    }
    let following = |bound| matches!(bound, FrameBound::Following(_) | FrameBound::UnboundedFollowing);
    let Frame { unit, start, end } = call.frame;
    let unframed = placed || matches!(call.function, WindowKind::Lag { .. });
    if by_time && !unframed && (following(start) || following(end)) {
        return Err(Error::job(format!("the frame of {name} has rows that have not come yet"))
            .mend("end the frame at CURRENT ROW, or order by something that is no time attribute"));
    }
    if start == FrameBound::UnboundedFollowing || end == FrameBound::UnboundedPreceding {
        return Err(Error::bug(format!("the frame of {name} is upside down")));
    }
    let distance = |bound| matches!(bound, FrameBound::Following(_) | FrameBound::Preceding(_));
    if !by_time && unit == FrameUnit::Range && (distance(start) || distance(end)) && spec.order.len() != 1 {
        return Err(Error::job(format!(
            "the frame of {name} is a RANGE with a distance over {} columns",
            spec.order.len()
        ))
        .mend("order by one column, or count the frame in ROWS"));
    }
    Ok(())
}

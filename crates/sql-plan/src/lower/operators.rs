//! Operators with one input.

use crate::bind::nodes::WindowKind;
use crate::lower::aggregates::is_local;
use crate::lower::exchange::Exchange;
use crate::lower::{Lowering, Origin, wants_late};
use crate::plan::{Node, Op, OverCall, PlanField, RankFunction, SortKey, WindowSpec};
use arrow::datatypes::SchemaRef;
use datafusion_expr::{WindowFrame, WindowFrameBound, WindowFrameUnits};
use flugs_batch::ChangeBatch;
use flugs_graph::NodeKind;
use flugs_sql_ops::aggregate::{Expand, ExpandSpec};
use flugs_sql_ops::calc::{Calc, CalcSpec};
use flugs_sql_ops::changelog::{
    ChangelogNormalize, ChangelogNormalizeSpec, DropUpdateBefore, Settle, SettleSpec, SinkMaterialize,
    SinkMaterializeSpec,
};
use flugs_sql_ops::over::{
    Frame, FrameBound, FrameUnit, OverAggregate, OverCall as OpsOver, OverMode, OverSpec,
};
use flugs_sql_ops::rank::{
    Deduplicate, DeduplicateSpec, DeduplicateTime, Keep, RankInput, RankKind, TopN, TopNSpec,
};
use flugs_sql_ops::row::SortOptions;
use flugs_sql_ops::sort::{
    Limit, LimitSpec, SortLimit, SortLimitSpec, SortTime, StreamSort, StreamSortSpec, TemporalSort,
    TemporalSortSpec,
};
use flugs_sql_ops::window::{
    AttachedWindow, SessionAssign, SessionAssignSpec, WindowAssign, WindowAssignSpec, WindowRank,
    WindowRankKind, WindowRankSpec, WindowShape, WindowTime,
};
use flugs_sql_types::TimeKind;
use flugs_task::{NodeFactory, OneInput, Operator};
use flugs_types::{Error, Result};
use std::sync::Arc;
use std::time::Duration;

/// An operator to be added.
pub(super) struct Made {
    factory: Arc<dyn NodeFactory>,
    exchange: Exchange,
    stateful: bool,
    /// What stands before the node's name.
    prefix: &'static str,
    before: Vec<Before>,
}

/// An operator that does a part of a node's work before its exchange.
struct Before {
    made: Made,
    /// Tells it apart from the node's other operators.
    uid: &'static str,
    /// The columns that it gives.
    fields: Vec<PlanField>,
}

impl Made {
    /// The same, with this before its node's name.
    pub(super) fn called(self, prefix: &'static str) -> Made {
        Made { prefix, ..self }
    }

    /// The same behind another, which gives these columns and stands behind those that were added before.
    pub(super) fn behind(mut self, made: Made, uid: &'static str, schema: &SchemaRef) -> Made {
        let fields = schema.fields().iter().map(|f| PlanField::new(f.clone())).collect();
        self.before.push(Before { made, uid, fields });
        self
    }
}

pub(super) fn made<O: Operator<In = ChangeBatch, Out = ChangeBatch>>(
    exchange: Exchange,
    stateful: bool,
    make: impl Fn() -> O + Send + Sync + 'static,
) -> Made {
    Made { factory: Arc::new(OneInput::new(make)), exchange, stateful, prefix: "", before: Vec::new() }
}

pub(super) fn sort_options(keys: &[SortKey]) -> Vec<(usize, SortOptions)> {
    let options =
        |o: arrow::compute::SortOptions| SortOptions { descending: o.descending, nulls_first: o.nulls_first };
    keys.iter().map(|key| (key.column, options(key.options))).collect()
}

impl Lowering<'_> {
    pub(super) fn operator(&mut self, node: &Node) -> Result<Vec<Origin>> {
        let made = match self.plan.batch {
            true => self.bounded(node)?,
            false => None,
        };
        let mut made = match made {
            Some(made) => made,
            None => self.made(node)?,
        };
        let (mut input, mut origins) = (self.input(node, 0).clone(), self.origins_of(node, 0));
        for Before { made, uid, fields } in std::mem::take(&mut made.before) {
            let uid = format!("{}:{uid}", node.digest);
            origins = vec![self.add_made(node, made, &uid, &input, &origins)?];
            input.fields = fields;
        }
        Ok(vec![self.add_made(node, made, &node.digest, &input, &origins)?])
    }

    fn add_made(
        &mut self,
        node: &Node,
        made: Made,
        uid: &str,
        input: &Node,
        origins: &[Origin],
    ) -> Result<Origin> {
        let parallelism = match &made.exchange {
            Exchange::Direct => origins.iter().map(|o| o.parallelism).max().unwrap_or(1),
            Exchange::Single => 1,
            Exchange::Key(keys) => self.keyed_parallelism(keys),
        };
        let name = format!("{}{}", made.prefix, node.op.name());
        let added = self.graph_node(&name, NodeKind::Operator, uid, parallelism, made.stateful);
        let id = self.builder.node(added, made.factory);
        self.connect(input, origins, id, 0, parallelism, &made.exchange)?;
        Ok(Origin { node: id, output: 0, parallelism })
    }

    fn made(&self, node: &Node) -> Result<Made> {
        let input = self.input(node, 0);
        let schema = input.schema();
        let output = node.schema();
        let retract = !input.changes.is_append();
        let ttl = self.config.state_ttl;
        let retract_on_expiry = self.config.retract_on_expiry;
        let emit_update_before = node.update_before;
        Ok(match &node.op {
            Op::Calc { filter, exprs } => {
                let spec = CalcSpec {
                    filter: self.condition(filter, &input.fields)?,
                    projections: exprs.iter().map(|e| self.expr(e, &input.fields)).collect::<Result<_>>()?,
                    schema: output,
                };
                made(Exchange::Direct, false, move || Calc::new(spec.clone()))
            }
            Op::Expand { nulls, ids } => {
                let id_name = output.fields().last().map_or_else(String::new, |f| f.name().clone());
                let spec = ExpandSpec { input: schema, nulls: nulls.clone(), ids: ids.clone(), id_name };
                made(Exchange::Direct, false, move || Expand::new(spec.clone()))
            }
            Op::Aggregate { .. } => self.group_aggregate(node)?,
            Op::WindowAssign { window, partition } => self.assign(node, window, partition)?,
            Op::WindowAggregate { .. } => self.window_aggregate(node)?,
            Op::Rank { function, partition, order, range, output_rank } => {
                let range = range.unwrap_or((1, u64::MAX));
                let spec = TopNSpec {
                    input: schema,
                    mode: if retract { RankInput::Retract } else { RankInput::Append },
                    keys: partition.clone(),
                    order: sort_options(order),
                    kind: rank_kind(*function),
                    rank_start: range.0,
                    rank_end: range.1,
                    rank_column: *output_rank,
                    output,
                    emit_update_before,
                    ttl,
                    retract_on_expiry,
                };
                made(Exchange::Key(partition.clone()), true, move || TopN::new(spec.clone()))
            }
            Op::Deduplicate { partition, time, time_kind, last } => {
                let spec = DeduplicateSpec {
                    input: schema,
                    keys: partition.clone(),
                    keep: if *last { Keep::Last } else { Keep::First },
                    time: match time_kind {
                        TimeKind::Rowtime => DeduplicateTime::Event { column: *time },
                        TimeKind::Proctime => DeduplicateTime::Processing,
                    },
                    emit_update_before,
                    ttl,
                    retract_on_expiry,
                    late_output: false,
                };
                made(Exchange::Key(partition.clone()), true, move || Deduplicate::new(spec.clone()))
            }
            Op::WindowRank { function, window, partition, order, range, output_rank } => {
                let spec = WindowRankSpec {
                    input: schema,
                    window: AttachedWindow { start: window.0, end: window.1 },
                    keys: partition.clone(),
                    order: sort_options(order),
                    kind: match function {
                        RankFunction::RowNumber => WindowRankKind::RowNumber,
                        RankFunction::Rank => WindowRankKind::Rank,
                        RankFunction::DenseRank => WindowRankKind::DenseRank,
                    },
                    rank_start: range.0,
                    rank_end: range.1,
                    rank_column: *output_rank,
                    zone: self.local_zone(input),
                    output,
                    late_output: wants_late(self.plan, node),
                };
                made(Exchange::Key(partition.clone()), true, move || WindowRank::new(spec.clone()))
            }
            Op::Over { partition, order, calls } => self.over(node, partition, order, calls)?,
            Op::Sort { order, offset, fetch } => self.sort(node, order, *offset, *fetch),
            Op::Normalize { keys } => {
                let spec = ChangelogNormalizeSpec {
                    schema,
                    keys: keys.clone(),
                    emit_update_before,
                    ttl,
                    retract_on_expiry,
                };
                made(Exchange::Key(keys.clone()), true, move || ChangelogNormalize::new(spec.clone()))
            }
            Op::Materialize { keys } => {
                let upsert_key = input.keys.first().cloned();
                let spec = SinkMaterializeSpec { schema, keys: keys.clone(), upsert_key, ttl };
                made(Exchange::Key(keys.clone()), true, move || SinkMaterialize::new(spec.clone()))
            }
            Op::Settle { keys, time, hold } => {
                let hold = Duration::from_millis(hold.unsigned_abs());
                let spec = SettleSpec { schema, keys: keys.clone(), time: *time, hold };
                made(Exchange::Key(keys.clone()), true, move || Settle::new(spec.clone()))
            }
            Op::DropUpdateBefore => made(Exchange::Direct, false, DropUpdateBefore::default),
            other => return Err(Error::bug(format!("{} is no operator with one input", other.name()))),
        })
    }

    /// The session's zone where the windows of a node's rows are spans of local time.
    pub(super) fn local_zone(&self, node: &Node) -> Option<String> {
        self.config.zone().filter(|_| is_local(node))
    }

    fn assign(&self, node: &Node, window: &WindowSpec, partition: &[usize]) -> Result<Made> {
        let input = self.input(node, 0).schema();
        let output = node.schema();
        let (time, zone) = (window_time(window), self.config.zone());
        Ok(match shape(window.kind) {
            Some(shape) => {
                let spec = WindowAssignSpec { input, shape, time, zone, output };
                made(Exchange::Direct, false, move || WindowAssign::new(spec.clone()))
            }
            None => {
                let (keys, gap_ms) = (partition.to_vec(), gap(window.kind));
                let spec = SessionAssignSpec {
                    input,
                    keys,
                    gap_ms,
                    time,
                    zone,
                    output,
                    late_output: wants_late(self.plan, node),
                };
                made(Exchange::Key(partition.to_vec()), true, move || SessionAssign::new(spec.clone()))
            }
        })
    }

    fn over(&self, node: &Node, partition: &[usize], order: &[SortKey], calls: &[OverCall]) -> Result<Made> {
        let from = self.input(node, 0);
        let by_time = order.first().filter(|key| !key.options.descending && order.len() == 1);
        let time = by_time.and_then(|key| from.fields[key.column].time.map(|kind| (key.column, kind)));
        let mode = match time {
            Some((column, TimeKind::Rowtime)) if from.changes.is_append() => OverMode::EventTime { column },
            Some((_, TimeKind::Proctime)) if from.changes.is_append() => OverMode::ProcessingTime,
            _ => OverMode::Changing,
        };
        let timed = mode != OverMode::Changing;
        let spec = OverSpec {
            input: from.schema(),
            keys: partition.to_vec(),
            mode,
            order: if timed { Vec::new() } else { sort_options(order) },
            calls: calls.iter().map(over_call).collect::<Result<_>>()?,
            output: node.schema(),
            emit_update_before: node.update_before,
            ttl: self.config.state_ttl,
            retract_on_expiry: self.config.retract_on_expiry,
            late_output: false,
        };
        Ok(made(Exchange::Key(partition.to_vec()), true, move || OverAggregate::new(spec.clone())))
    }

    fn sort(&self, node: &Node, order: &[SortKey], offset: u64, fetch: Option<u64>) -> Made {
        let from = self.input(node, 0);
        let (input, retract) = (from.schema(), !from.changes.is_append());
        let emit_update_before = node.update_before;
        if order.is_empty() {
            let spec = LimitSpec { input, retract, offset, fetch, emit_update_before };
            return made(Exchange::Single, true, move || Limit::new(spec.clone()));
        }
        let time = order.first().filter(|key| !key.options.descending && !retract);
        let time = time.and_then(|key| from.fields[key.column].time.map(|kind| (key.column, kind)));
        if offset == 0 && fetch.is_none() {
            if let Some((column, kind)) = time {
                let time = match kind {
                    TimeKind::Rowtime => SortTime::Event { column },
                    TimeKind::Proctime => SortTime::Processing,
                };
                let order = sort_options(&order[1..]);
                let spec = TemporalSortSpec { input, time, order, late_output: false };
                return made(Exchange::Single, true, move || TemporalSort::new(spec.clone()));
            }
            let spec = StreamSortSpec { input, order: sort_options(order), offset, fetch };
            return made(Exchange::Single, true, move || StreamSort::new(spec.clone()));
        }
        let order = sort_options(order);
        let spec = SortLimitSpec { input, retract, order, offset, fetch, emit_update_before };
        made(Exchange::Single, true, move || SortLimit::new(spec.clone()))
    }
}

pub(super) fn rank_kind(function: RankFunction) -> RankKind {
    match function {
        RankFunction::RowNumber => RankKind::RowNumber,
        RankFunction::Rank => RankKind::Rank,
        RankFunction::DenseRank => RankKind::DenseRank,
    }
}

pub(super) fn window_time(window: &WindowSpec) -> WindowTime {
    match window.time_kind {
        TimeKind::Rowtime => WindowTime::Event { column: window.time },
        TimeKind::Proctime => WindowTime::Processing,
    }
}

pub(super) fn shape(kind: WindowKind) -> Option<WindowShape> {
    match kind {
        WindowKind::Tumble { size, offset } => Some(WindowShape::Tumble { size_ms: size, offset_ms: offset }),
        WindowKind::Hop { size, slide, offset } => {
            Some(WindowShape::Hop { size_ms: size, slide_ms: slide, offset_ms: offset })
        }
        WindowKind::Cumulate { size, step, offset } => {
            Some(WindowShape::Cumulate { max_size_ms: size, step_ms: step, offset_ms: offset })
        }
        WindowKind::Session { .. } => None,
    }
}

pub(super) fn gap(kind: WindowKind) -> i64 {
    match kind {
        WindowKind::Session { gap } => gap,
        _ => 0,
    }
}

pub(super) fn over_call(call: &OverCall) -> Result<OpsOver> {
    Ok(OpsOver {
        function: call.kind.clone(),
        arguments: call.args.clone(),
        distinct: call.distinct,
        filter: call.filter,
        frame: frame(&call.frame)?,
    })
}

fn frame(frame: &WindowFrame) -> Result<Frame> {
    let unit = match frame.units {
        WindowFrameUnits::Rows => FrameUnit::Rows,
        WindowFrameUnits::Range => FrameUnit::Range,
        WindowFrameUnits::Groups => {
            return Err(Error::job("frames of GROUPS are not supported").mend("write ROWS or RANGE"));
        }
    };
    Ok(Frame { unit, start: bound(&frame.start_bound)?, end: bound(&frame.end_bound)? })
}

fn bound(bound: &WindowFrameBound) -> Result<FrameBound> {
    Ok(match bound {
        WindowFrameBound::Preceding(value) if value.is_null() => FrameBound::UnboundedPreceding,
        WindowFrameBound::Following(value) if value.is_null() => FrameBound::UnboundedFollowing,
        WindowFrameBound::Preceding(value) => FrameBound::Preceding(distance(value)?),
        WindowFrameBound::Following(value) => FrameBound::Following(distance(value)?),
        WindowFrameBound::CurrentRow => FrameBound::CurrentRow,
    })
}

/// Rows, or units of the column's values.
fn distance(value: &datafusion_common::ScalarValue) -> Result<u64> {
    use datafusion_common::ScalarValue;
    let wrong =
        || Error::job(format!("{value} is no distance of a frame")).mend("write a number or an interval");
    let n = match value {
        ScalarValue::IntervalMonthDayNano(Some(i)) if i.months == 0 => {
            i64::from(i.days) * 86_400_000_000 + i.nanoseconds / 1_000
        }
        ScalarValue::IntervalDayTime(Some(i)) => {
            i64::from(i.days) * 86_400_000_000 + i64::from(i.milliseconds) * 1_000
        }
        other => match other.cast_to(&arrow::datatypes::DataType::Int64).map_err(|_| wrong())? {
            ScalarValue::Int64(Some(n)) => n,
            _ => return Err(wrong()),
        },
    };
    u64::try_from(n).map_err(|_| wrong())
}

//! Operators of batch mode: they see all of their inputs, give results once, and spill what does not fit into memory.

use crate::config::AggregatePhases;
use crate::lower::Lowering;
use crate::lower::aggregates::{calls, is_two_phase};
use crate::lower::exchange::Exchange;
use crate::lower::operators::{Made, gap, made, over_call, rank_kind, sort_options, window_time};
use crate::plan::{Node, Op};
use flugs_sql_ops::bounded::{
    AggregatePhase, BoundedDeduplicate, BoundedDeduplicateSpec, BoundedOver, BoundedOverSpec, BoundedRank,
    BoundedRankSpec, BoundedSession, BoundedSessionSpec, ExternalSort, ExternalSortSpec, HashAggregate,
    HashAggregateSpec, SessionResult, SpillSpec,
};
use flugs_sql_ops::rank::{DeduplicateTime, Keep};
use flugs_sql_ops::sort::{StreamSort, StreamSortSpec};
use flugs_sql_ops::window::{SessionAggregateSpec, SessionAssignSpec, WindowColumn};
use flugs_sql_types::TimeKind;
use flugs_types::{Error, Result};

/// So many bytes of memory, and the system's folder for what is beyond.
pub(super) fn spill(bytes: u64) -> SpillSpec {
    SpillSpec { memory_bytes: usize::try_from(bytes).unwrap_or(usize::MAX), ..SpillSpec::default() }
}

impl Lowering<'_> {
    fn bounded_aggregate(&self, node: &Node) -> Result<Made> {
        let Op::Aggregate { keys, calls: of, .. } = &node.op else {
            return Err(Error::bug("an aggregate was expected"));
        };
        let from = self.input(node, 0);
        let spec = HashAggregateSpec {
            input: from.schema(),
            keys: keys.clone(),
            calls: calls(of, from),
            phase: AggregatePhase::Complete,
            row_over_nothing: keys.is_empty(),
            spill: spill(self.config.memory.aggregate),
        };
        let exchange = Exchange::Key(keys.clone());
        if !is_two_phase(self.plan, node, self.config) {
            return Ok(made(exchange, false, move || HashAggregate::new(spec.clone())));
        }
        let first = HashAggregateSpec { phase: AggregatePhase::Partial, ..spec.clone() };
        let last = HashAggregateSpec { phase: AggregatePhase::Final, ..spec };
        let (schema, adapts) = (first.output_schema(), self.config.aggregate_phases == AggregatePhases::Auto);
        let local = made(Exchange::Direct, false, move || match adapts {
            true => HashAggregate::adapting(first.clone()),
            false => HashAggregate::new(first.clone()),
        });
        let global = made(exchange, false, move || HashAggregate::new(last.clone()));
        Ok(global.called("Global").behind(local.called("Local"), "local", &schema))
    }

    /// The operator of batch mode in place of one that works as rows come, where there is one.
    pub(super) fn bounded(&self, node: &Node) -> Result<Option<Made>> {
        let from = self.input(node, 0);
        let (input, output) = (from.schema(), node.schema());
        let spill = spill(self.config.memory.sort);
        Ok(Some(match &node.op {
            Op::Aggregate { .. } => self.bounded_aggregate(node)?,
            Op::Rank { function, partition, order, range, output_rank } => {
                let range = range.unwrap_or((1, u64::MAX));
                let spec = BoundedRankSpec {
                    input,
                    keys: partition.clone(),
                    order: sort_options(order),
                    kind: rank_kind(*function),
                    rank_start: range.0,
                    rank_end: range.1,
                    rank_column: *output_rank,
                    output,
                    spill,
                };
                made(Exchange::Key(partition.clone()), false, move || BoundedRank::new(spec.clone()))
            }
            Op::Deduplicate { partition, time, time_kind, last } => {
                let spec = BoundedDeduplicateSpec {
                    input,
                    keys: partition.clone(),
                    keep: if *last { Keep::Last } else { Keep::First },
                    time: match time_kind {
                        TimeKind::Rowtime => DeduplicateTime::Event { column: *time },
                        TimeKind::Proctime => DeduplicateTime::Processing,
                    },
                    spill,
                };
                made(Exchange::Key(partition.clone()), false, move || BoundedDeduplicate::new(spec.clone()))
            }
            Op::Over { partition, order, calls } => {
                let spec = BoundedOverSpec {
                    input,
                    keys: partition.clone(),
                    order: sort_options(order),
                    calls: calls.iter().map(over_call).collect::<Result<_>>()?,
                    output,
                    spill,
                };
                made(Exchange::Key(partition.clone()), false, move || BoundedOver::new(spec.clone()))
            }
            Op::Sort { order, offset, fetch } if !order.is_empty() => {
                let spec = ExternalSortSpec {
                    input,
                    order: sort_options(order),
                    offset: *offset,
                    fetch: *fetch,
                    spill,
                };
                made(Exchange::Single, false, move || ExternalSort::new(spec.clone()))
            }
            Op::WindowAggregate { window: Some(window), keys, calls: of, .. }
                if window.time_kind == TimeKind::Rowtime && gap(window.kind) > 0 =>
            {
                let result = SessionResult::Aggregate(SessionAggregateSpec {
                    input,
                    gap_ms: gap(window.kind),
                    time: window_time(window),
                    zone: self.config.zone(),
                    keys: keys.clone(),
                    calls: calls(of, from),
                    window_columns: vec![WindowColumn::Start, WindowColumn::End, WindowColumn::Time],
                    output,
                    late_output: false,
                });
                let spec = BoundedSessionSpec { result, spill };
                made(Exchange::Key(keys.clone()), false, move || BoundedSession::new(spec.clone()))
            }
            Op::WindowAssign { window, partition }
                if window.time_kind == TimeKind::Rowtime && gap(window.kind) > 0 =>
            {
                let result = SessionResult::Rows(SessionAssignSpec {
                    input,
                    keys: partition.clone(),
                    gap_ms: gap(window.kind),
                    time: window_time(window),
                    zone: self.config.zone(),
                    output,
                    late_output: false,
                });
                let spec = BoundedSessionSpec { result, spill };
                made(Exchange::Key(partition.clone()), false, move || BoundedSession::new(spec.clone()))
            }
            Op::Fold => {
                let spec = StreamSortSpec { input, order: Vec::new(), offset: 0, fetch: None };
                made(Exchange::Single, true, move || StreamSort::new(spec.clone()))
            }
            _ => return Ok(None),
        }))
    }
}

//! Aggregates in one phase or two, or spread over buckets.
//!
//! In two phases rows are summed up by key where they are, and what goes over the exchange is a state for each key and batch. The state
//! that is kept is the same either way, so a job may change from one to the other. Where distinct values are spread over buckets, sets
//! of values are kept by key and bucket, and accumulators by key: that is other state, of a node of its own meaning.

use crate::config::{AggregatePhases, PlanConfig};
use crate::explain::is_bounded;
use crate::lower::Lowering;
use crate::lower::exchange::Exchange;
use crate::lower::operators::{Made, gap, made, shape, sort_options, window_time};
use crate::lower::wants_late;
use crate::plan::{AggregateCall, Emit, Node, Op, Plan, WindowRole, call_digest};
use arrow::datatypes::DataType;
use flugs_sql_ops::aggregate::{
    AggregateCall as OpsCall, BundleSpec, GroupAggregate, GroupAggregateSpec, LocalAggregate, SplitAggregate,
};
use flugs_sql_ops::window::{
    AttachedWindow, Emit as OpsEmit, LocalWindowAggregate, SessionAggregate, SessionAggregateSpec,
    WindowAggregate, WindowAggregateSpec, WindowColumn, WindowInput,
};
use flugs_types::{Error, Result};
use std::num::NonZeroU32;

/// The calls over a node's rows. What is kept of them has the order of their meanings.
pub(super) fn calls(calls: &[AggregateCall], input: &Node) -> Vec<OpsCall> {
    let digests: Vec<String> = calls.iter().map(|call| call_digest(call, input)).collect();
    calls
        .iter()
        .zip(&digests)
        .map(|(call, digest)| OpsCall {
            kind: call.kind.clone(),
            args: call.args.clone(),
            distinct: call.distinct,
            filter: call.filter,
            order_by: sort_options(&call.order_by),
            result: call.field.clone(),
            place: digests.iter().filter(|other| *other < digest).count(),
        })
        .collect()
}

const WINDOW_COLUMNS: [WindowColumn; 3] = [WindowColumn::Start, WindowColumn::End, WindowColumn::Time];

/// Whether an aggregate sums rows up before their exchange.
pub(crate) fn is_two_phase(plan: &Plan, node: &Node, config: &PlanConfig) -> bool {
    let (Op::Aggregate { calls, .. } | Op::WindowAggregate { calls, .. }) = &node.op else { return false };
    // Sets of distinct values stand in a table of their own, where rows come as they are.
    let wanted = config.aggregate_phases != AggregatePhases::One && !calls.iter().any(|call| call.distinct);
    if !wanted || config.parallelism == 1 {
        return false;
    }
    match &node.op {
        // Whatever is spilled is merged as well.
        Op::Aggregate { .. } if plan.batch => true,
        _ if plan.batch => false,
        Op::Aggregate { .. } => {
            let bundles = config.mini_batch.is_some() || config.aggregate_phases == AggregatePhases::Two;
            bundles && LocalAggregate::check(&group_spec(plan, node, config)).is_ok()
        }
        _ => {
            let on_close = matches!(node.op, Op::WindowAggregate { emit: Emit::OnClose, .. });
            let spec = window_spec(plan, node, config).ok().flatten();
            on_close && !wants_late(plan, node) && spec.is_some_and(|spec| spec.check(true).is_ok())
        }
    }
}

/// Why the distinct values of an aggregate over these rows are not spread over buckets, although that is wanted.
pub(crate) fn unsplit(plan: &Plan, input: &Node, op: &Op, config: &PlanConfig) -> Option<String> {
    let Op::Aggregate { keys, calls: of, ttl, .. } = op else { return None };
    if plan.batch {
        return Some("batch mode spills what does not fit into memory".to_owned());
    }
    let spec = GroupAggregateSpec {
        retract: !input.changes.is_append(),
        ttl: config.time_to_live(*ttl),
        ..GroupAggregateSpec::new(input.schema(), keys.clone(), calls(of, input))
    };
    SplitAggregate::check(&spec).err().map(|e| e.message().to_owned())
}

fn group_spec(plan: &Plan, node: &Node, config: &PlanConfig) -> GroupAggregateSpec {
    let (keys, of, hinted) = match &node.op {
        Op::Aggregate { keys, calls, ttl, .. } => (keys.clone(), calls.as_slice(), *ttl),
        _ => (Vec::new(), [].as_slice(), None),
    };
    let input = plan.node(node.inputs[0]);
    GroupAggregateSpec {
        input: input.schema(),
        row_over_nothing: keys.is_empty() && is_bounded(plan, node.inputs[0]),
        keys,
        calls: calls(of, input),
        retract: !input.changes.is_append(),
        emit_update_before: node.update_before,
        at_end: false,
        ttl: config.time_to_live(hinted),
        retract_on_expiry: config.retract_on_expiry,
        bundle: config.mini_batch.map(|(rows, latency)| BundleSpec { rows: rows as usize, latency }),
    }
}

/// The aggregate of windows that are the same for all keys; none of sessions.
fn window_spec(plan: &Plan, node: &Node, config: &PlanConfig) -> Result<Option<WindowAggregateSpec>> {
    let Op::WindowAggregate { window, attached, keys, calls: of, emit } = &node.op else {
        return Err(Error::bug("a windowed aggregate was expected"));
    };
    let from = plan.node(node.inputs[0]);
    let (windows, zone) = match (window, attached) {
        (Some(window), _) => {
            let Some(shape) = shape(window.kind) else { return Ok(None) };
            (WindowInput::Assigned { shape, time: window_time(window) }, config.zone())
        }
        (None, Some((start, end))) => {
            let zone = config.zone().filter(|_| is_local(from));
            (WindowInput::Attached(AttachedWindow { start: *start, end: *end }), zone)
        }
        (None, None) => return Err(Error::bug("a windowed aggregate without a window")),
    };
    Ok(Some(WindowAggregateSpec {
        input: from.schema(),
        windows,
        zone,
        keys: keys.clone(),
        calls: calls(of, from),
        retract: !from.changes.is_append(),
        window_columns: WINDOW_COLUMNS.to_vec(),
        output: node.schema(),
        emit: match emit {
            Emit::OnClose => OpsEmit::OnWatermark,
            Emit::Early(delay) if delay.is_zero() => OpsEmit::OnChange,
            Emit::Early(delay) => OpsEmit::Every(*delay),
        },
        emit_update_before: node.update_before,
        late_output: wants_late(plan, node),
    }))
}

/// Whether the windows of a node's rows are spans of local time.
pub(super) fn is_local(node: &Node) -> bool {
    let local = |data_type: &DataType| matches!(data_type, DataType::Timestamp(_, Some(_)));
    node.fields.iter().any(|f| f.window == Some(WindowRole::Time) && local(f.field.data_type()))
}

fn split_aggregate(mut spec: GroupAggregateSpec, buckets: NonZeroU32) -> Result<Made> {
    // Rows wait twice.
    spec.bundle = spec.bundle.map(|bundle| BundleSpec { latency: bundle.latency / 2, ..bundle });
    let exchange = Exchange::Key(spec.keys.clone());
    let split = SplitAggregate::new(spec, buckets)?;
    let (first, second) = (split.spread_schema(), split.buckets_schema());
    let (of_spread, of_buckets) = (split.clone(), split.clone());
    let by_bucket = Exchange::Key(split.bucket_keys());
    let spread = made(Exchange::Direct, false, move || of_spread.spread()).called("Spread");
    let buckets = made(by_bucket, true, move || of_buckets.buckets()).called("Partial");
    let total = made(exchange, true, move || split.total()).called("Final");
    Ok(total.behind(spread, "spread", &first).behind(buckets, "buckets", &second))
}

impl Lowering<'_> {
    pub(super) fn group_aggregate(&self, node: &Node) -> Result<Made> {
        let mut spec = group_spec(self.plan, node, self.config);
        let exchange = Exchange::Key(spec.keys.clone());
        if let Op::Aggregate { buckets: Some(buckets), .. } = node.op {
            return split_aggregate(spec, buckets);
        }
        if !is_two_phase(self.plan, node, self.config) {
            return Ok(made(exchange, true, move || GroupAggregate::new(spec.clone())));
        }
        // Rows wait in either phase.
        spec.bundle = spec.bundle.map(|bundle| BundleSpec { latency: bundle.latency / 2, ..bundle });
        let (first, adapts) = (spec.clone(), self.config.aggregate_phases == AggregatePhases::Auto);
        let schema = LocalAggregate::output_schema(&first);
        let global = made(exchange, true, move || GroupAggregate::merging(spec.clone()));
        let local = made(Exchange::Direct, false, move || {
            let local = LocalAggregate::new(first.clone());
            if adapts { local.adapting() } else { local }
        });
        Ok(global.called("Global").behind(local.called("Local"), "local", &schema))
    }

    pub(super) fn window_aggregate(&self, node: &Node) -> Result<Made> {
        let Op::WindowAggregate { window, keys, calls: of, .. } = &node.op else {
            return Err(Error::bug("a windowed aggregate was expected"));
        };
        let exchange = Exchange::Key(keys.clone());
        let Some(spec) = window_spec(self.plan, node, self.config)? else {
            let from = self.input(node, 0);
            let window = window.as_ref().ok_or_else(|| Error::bug("a session was expected"))?;
            let spec = SessionAggregateSpec {
                input: from.schema(),
                gap_ms: gap(window.kind),
                time: window_time(window),
                zone: self.config.zone(),
                keys: keys.clone(),
                calls: calls(of, from),
                window_columns: WINDOW_COLUMNS.to_vec(),
                output: node.schema(),
                late_output: wants_late(self.plan, node),
            };
            return Ok(made(exchange, true, move || SessionAggregate::new(spec.clone())));
        };
        if !is_two_phase(self.plan, node, self.config) {
            return Ok(made(exchange, true, move || WindowAggregate::new(spec.clone())));
        }
        let (first, adapts) = (spec.clone(), self.config.aggregate_phases == AggregatePhases::Auto);
        let schema = first.partial_schema();
        let global = made(exchange, true, move || WindowAggregate::merging(spec.clone()));
        let local = made(Exchange::Direct, false, move || {
            let local = LocalWindowAggregate::new(first.clone());
            if adapts { local.adapting() } else { local }
        });
        Ok(global.called("Global").behind(local.called("Local"), "local", &schema))
    }
}

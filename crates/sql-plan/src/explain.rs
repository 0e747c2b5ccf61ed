//! Plans as people and programs read them: the operators, the changes of every edge, what each keeps and for how long.

use crate::bind::nodes::WindowKind;
use crate::config::PlanConfig;
use crate::lower::{is_two_phase, unsplit};
use crate::plan::{
    AggregateCall, AsyncCall, Changes, JoinKind, LateRoute, Malformed, Node, NodeId, Op, Plan, PlanField,
    RankFunction, SortKey, WindowSpec, pretty,
};
use flugs_connector::Boundedness;
use flugs_sql_parser::ExplainDetail;
use std::collections::HashMap;
use std::fmt::Write;
use std::time::Duration;

/// What an operator keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateNote {
    /// What is kept.
    pub what: String,
    /// Until when, in words; `None` where there is no bound.
    pub bound: Option<String>,
}

/// What an operator keeps; `None` where it keeps nothing.
pub fn state_of(plan: &Plan, id: NodeId, config: &PlanConfig) -> Option<StateNote> {
    let node = plan.node(id);
    if plan.batch {
        return None;
    }
    let ended = is_bounded(plan, id);
    let lasting = |hint: Option<Duration>| match (hint, config.state_ttl) {
        (Some(ttl), _) if !ttl.is_zero() => Some(format!("{} after the last change (STATE_TTL)", shown(ttl))),
        (None, Some(ttl)) => Some(format!("{} after the last change (table.exec.state.ttl)", shown(ttl))),
        _ if ended => Some("the input ends".to_owned()),
        _ => None,
    };
    let kept = |what: &str, bound: Option<String>| StateNote { what: what.to_owned(), bound };
    let for_ever = |what: &str| kept(what, lasting(None));
    let until = |what: &str, bound: String| StateNote { what: what.to_owned(), bound: Some(bound) };
    Some(match &node.op {
        Op::Aggregate { keys, buckets: None, .. } if keys.is_empty() => {
            until("one row of accumulators", "one row".to_owned())
        }
        Op::Aggregate { ttl, buckets: Some(_), .. } => {
            kept("accumulators of each group, distinct values of each bucket", lasting(*ttl))
        }
        Op::Aggregate { ttl, .. } => kept("accumulators of each group", lasting(*ttl)),
        Op::WindowAssign { window, .. } => match window.kind {
            WindowKind::Session { .. } => {
                until("rows of open sessions", "the watermark closes a session".to_owned())
            }
            _ => return None,
        },
        Op::WindowAggregate { .. } => {
            until("accumulators of open windows", "the watermark closes a window".to_owned())
        }
        Op::Join { ttl: [left, right], .. } if left == right => {
            kept("all rows of both inputs", lasting(*left))
        }
        Op::Join { ttl: [left, right], .. } => {
            let sides = lasting(*left).zip(lasting(*right));
            kept("all rows of both inputs", sides.map(|(l, r)| format!("left: {l}, right: {r}")))
        }
        Op::IntervalJoin { bounds, .. } => until(
            "rows of both inputs",
            format!("{} of event time", shown(Duration::from_millis((bounds.1 - bounds.0).unsigned_abs()))),
        ),
        Op::WindowJoin { .. } => until("rows of open windows", "the watermark closes a window".to_owned()),
        Op::TemporalJoin { times: Some(_), .. } => {
            for_ever("versions of the right, rows of the left until the watermark")
        }
        Op::TemporalJoin { times: None, .. } => for_ever("the newest version of each row of the right"),
        Op::Rank { range: Some((_, last)), .. } if plan.node(node.inputs[0]).changes.is_append() => {
            for_ever(&format!("the first {last} rows of each partition"))
        }
        Op::Rank { .. } => for_ever("all rows of each partition"),
        Op::Deduplicate { .. } => for_ever("one row of each key"),
        Op::WindowRank { .. } => {
            until("the first rows of open windows", "the watermark closes a window".to_owned())
        }
        Op::Over { .. } => for_ever("rows that frames can still reach"),
        Op::Sort { order, fetch, .. } => match (order.is_empty(), fetch) {
            (true, _) if plan.node(node.inputs[0]).changes.is_append() => return None,
            (_, Some(n)) if plan.node(node.inputs[0]).changes.is_append() => {
                until("rows", format!("{n} rows"))
            }
            _ => for_ever("all rows"),
        },
        Op::AsyncCalc { .. } => {
            until("rows whose calls wait", format!("{} rows", config.async_scalar.capacity))
        }
        Op::Normalize { .. } => for_ever("the newest row of each key"),
        Op::Settle { .. } => until("rows that may be taken back", "the watermark passes them".to_owned()),
        Op::Materialize { .. } => for_ever("the rows of each key of the sink"),
        _ => return None,
    })
}

/// Whether all that a node reads ends.
pub fn is_bounded(plan: &Plan, id: NodeId) -> bool {
    let node = plan.node(id);
    match &node.op {
        Op::Scan(scan) => scan.source.boundedness() == Boundedness::Bounded,
        _ => node.inputs.iter().all(|i| is_bounded(plan, *i)),
    }
}

/// What a user should know before the plan runs: state without a bound.
pub fn warnings(plan: &Plan, config: &PlanConfig) -> Vec<String> {
    let mut warnings = Vec::new();
    for id in plan.reachable() {
        if let Some(StateNote { what, bound: None }) = state_of(plan, id, config) {
            warnings.push(format!(
                "{} keeps {what} for ever, since its input does not end: set 'table.exec.state.ttl' to let unused state expire",
                plan.node(id).op.name()
            ));
        }
    }
    warnings
}

fn shown(duration: Duration) -> String {
    let ms = duration.as_millis();
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    match units.into_iter().find(|(length, _)| ms > 0 && ms.is_multiple_of(*length)) {
        Some((length, unit)) => format!("{} {unit}", ms / length),
        None => format!("{ms} ms"),
    }
}

/// A plan as `EXPLAIN` shows it.
pub fn explain(plan: &Plan, config: &PlanConfig, details: &[ExplainDetail]) -> String {
    let mut text = String::from("== Optimized Execution Plan ==\n");
    let mut seen = HashMap::new();
    let mut shared = 0;
    for sink in &plan.sinks {
        tree(plan, config, details, *sink, 0, &mut seen, &mut shared, &mut text);
        text.push('\n');
    }
    let warnings = warnings(plan, config);
    if !warnings.is_empty() {
        text.push_str("== Advice ==\n");
        warnings.iter().for_each(|w| {
            let _ = writeln!(text, "{w}");
        });
    }
    if details.contains(&ExplainDetail::JsonExecutionPlan) {
        let _ = writeln!(text, "== Physical Execution Plan ==\n{}", explain_json(plan, config));
    }
    text
}

#[expect(clippy::too_many_arguments, reason = "the walk's place and what it has seen")]
fn tree(
    plan: &Plan,
    config: &PlanConfig,
    details: &[ExplainDetail],
    id: NodeId,
    depth: usize,
    seen: &mut HashMap<NodeId, usize>,
    shared: &mut usize,
    text: &mut String,
) {
    let node = plan.node(id);
    let indent = if depth == 0 { String::new() } else { format!("{}+- ", "   ".repeat(depth - 1)) };
    if let Some(number) = seen.get(&id) {
        let _ = writeln!(text, "{indent}Reused(reference_id=[{number}])");
        return;
    }
    let first = first_phase(plan, node, config);
    let _ = write!(text, "{indent}{}{}", first.map_or("", |(_, last)| last), line(plan, id));
    if let Some(why) = not_split(plan, node, config) {
        let _ = write!(text, ", notSplit=[{why}]");
    }
    if details.contains(&ExplainDetail::ChangelogMode) {
        let _ = write!(text, ", changelogMode=[{}]", mode(node));
    }
    if let Some(state) = state_of(plan, id, config) {
        let bound = state.bound.unwrap_or_else(|| "UNBOUNDED".to_owned());
        let _ = write!(text, ", state=[{}; until: {bound}]", state.what);
    }
    if details.contains(&ExplainDetail::EstimatedCost) {
        let _ = write!(text, ", parallelism=[{}]", if needs_one(&node.op) { 1 } else { config.parallelism });
    }
    let used = plan.reachable().iter().filter(|n| plan.node(**n).inputs.contains(&id)).count();
    if used > 1 {
        *shared += 1;
        seen.insert(id, *shared);
        let _ = write!(text, "(reuse_id=[{shared}])");
    }
    text.push('\n');
    let mut depth = depth + 1;
    if let Some((first, _)) = first {
        let _ = writeln!(text, "{}+- {first}{}", "   ".repeat(depth - 1), line(plan, id));
        depth += 1;
    }
    for input in &node.inputs {
        tree(plan, config, details, *input, depth, seen, shared, text);
    }
}

/// What stands before the names of the operators of a node that is more than one: of the first, and of the last.
fn first_phase(plan: &Plan, node: &Node, config: &PlanConfig) -> Option<(&'static str, &'static str)> {
    match node.op {
        Op::Aggregate { buckets: Some(_), .. } => Some(("Partial", "Final")),
        _ => is_two_phase(plan, node, config).then_some(("Local", "Global")),
    }
}

/// Why the distinct values of an aggregate are not spread over buckets, where that is wanted.
fn not_split(plan: &Plan, node: &Node, config: &PlanConfig) -> Option<String> {
    let Op::Aggregate { calls, buckets: None, .. } = &node.op else { return None };
    if config.distinct_buckets.is_none() || !calls.iter().any(|call| call.distinct) {
        return None;
    }
    unsplit(plan, plan.node(node.inputs[0]), &node.op, config)
}

fn needs_one(op: &Op) -> bool {
    match op {
        Op::Aggregate { keys, .. } | Op::WindowAggregate { keys, .. } => keys.is_empty(),
        Op::Rank { partition, .. } | Op::Over { partition, .. } => partition.is_empty(),
        Op::Join { keys, .. } => keys.is_empty(),
        Op::Sort { .. } | Op::Values(_) => true,
        _ => false,
    }
}

/// The changes of a node's output, as Flink names them.
fn mode(node: &Node) -> String {
    if matches!(node.op, Op::Sink(_)) {
        return "NONE".to_owned();
    }
    let Changes { updates, deletes } = node.changes;
    let mut kinds = vec!["I"];
    if updates {
        if node.update_before {
            kinds.push("UB");
        }
        kinds.push("UA");
    }
    if deletes {
        kinds.push("D");
    }
    kinds.join(",")
}

fn named(columns: &[usize], fields: &[PlanField]) -> String {
    columns.iter().map(|c| fields[*c].name()).collect::<Vec<_>>().join(", ")
}

fn all(fields: &[PlanField]) -> String {
    fields.iter().map(PlanField::name).collect::<Vec<_>>().join(", ")
}

fn sorted(keys: &[SortKey], fields: &[PlanField]) -> String {
    let key = |k: &SortKey| {
        format!("{} {}", fields[k.column].name(), if k.options.descending { "DESC" } else { "ASC" })
    };
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}

fn call(call: &AggregateCall, fields: &[PlanField]) -> String {
    let distinct = if call.distinct { "DISTINCT " } else { "" };
    let args = if call.args.is_empty() && call.kind.name() == "COUNT" {
        "*".to_owned()
    } else {
        named(&call.args, fields)
    };
    let filter = call.filter.map(|f| format!(" FILTER {}", fields[f].name())).unwrap_or_default();
    format!("{}({distinct}{args}){filter} AS {}", call.kind.name(), call.field.name())
}

fn windowed(window: &WindowSpec, fields: &[PlanField]) -> String {
    let time = fields[window.time].name();
    let ms = |n: i64| shown(Duration::from_millis(n.unsigned_abs()));
    match window.kind {
        WindowKind::Tumble { size, .. } => format!("TUMBLE(time=[{time}], size=[{}])", ms(size)),
        WindowKind::Hop { size, slide, .. } => {
            format!("HOP(time=[{time}], size=[{}], slide=[{}])", ms(size), ms(slide))
        }
        WindowKind::Cumulate { size, step, .. } => {
            format!("CUMULATE(time=[{time}], max_size=[{}], step=[{}])", ms(size), ms(step))
        }
        WindowKind::Session { gap } => format!("SESSION(time=[{time}], gap=[{}])", ms(gap)),
    }
}

fn joined(
    kind: JoinKind,
    keys: &[(usize, usize, bool)],
    residual: &Option<datafusion_expr::Expr>,
    l: &[PlanField],
    r: &[PlanField],
) -> String {
    let mut on: Vec<String> = keys
        .iter()
        .map(|(a, b, safe)| {
            let op = if *safe { "IS NOT DISTINCT FROM" } else { "=" };
            format!("{} {op} {}", l[*a].name(), r[*b].name())
        })
        .collect();
    on.extend(residual.iter().map(pretty));
    format!("joinType=[{kind:?}], where=[{}]", on.join(" AND "))
}

fn rank(function: RankFunction) -> &'static str {
    match function {
        RankFunction::RowNumber => "ROW_NUMBER",
        RankFunction::Rank => "RANK",
        RankFunction::DenseRank => "DENSE_RANK",
    }
}

/// A node in one line.
fn line(plan: &Plan, id: NodeId) -> String {
    let node = plan.node(id);
    let name = node.op.name();
    let input = |at: usize| &plan.node(node.inputs[at]).fields[..];
    match &node.op {
        Op::Scan(scan) => {
            let paths = scan.columns.iter().map(|p| p.0.join(".")).chain(scan.metadata.iter().cloned());
            let columns = paths.collect::<Vec<_>>().join(", ");
            let mut text = format!("{name}(table=[{}], fields=[{columns}]", scan.table);
            if !scan.predicates.is_empty() {
                let shown = scan
                    .predicates
                    .iter()
                    .map(|p| format!("{} {:?} {:?}", p.path.0.join("."), p.op, p.literals));
                let _ = write!(text, ", filter=[{}]", shown.collect::<Vec<_>>().join(" AND "));
            }
            if let Some(watermark) = &scan.watermark {
                let _ = write!(text, ", watermark=[{}]", pretty(watermark));
            }
            let order = if scan.watermark.is_some() || !node.changes.is_append() {
                "ordered within splits"
            } else {
                "unordered"
            };
            let _ = write!(text, ", read=[{order}]");
            match &scan.late {
                Some(LateRoute { to: Some(table), .. }) => {
                    let _ = write!(text, ", late=[route: {table}]");
                }
                Some(LateRoute { to: None, .. }) => text.push_str(", late=[drop]"),
                None => {}
            }
            match &scan.malformed {
                Malformed::Route(table) => {
                    let _ = write!(text, ", malformed=[route: {table}]");
                }
                Malformed::Skip => text.push_str(", malformed=[skip]"),
                Malformed::Fail => {}
            }
            text.push(')');
            text
        }
        Op::Values(rows) => format!("{name}(rows=[{}], fields=[{}])", rows.num_rows(), all(&node.fields)),
        Op::Calc { filter, exprs } => {
            let select = exprs.iter().zip(&node.fields).map(|(e, f)| {
                let text = pretty(e);
                if text == f.name() { text } else { format!("{text} AS {}", f.name()) }
            });
            let select = select.collect::<Vec<_>>().join(", ");
            let filter = filter.as_ref().map(|f| format!(", where=[{}]", pretty(f))).unwrap_or_default();
            format!("{name}(select=[{select}]{filter})")
        }
        Op::Union => format!("{name}(all=[true], union=[{}])", all(&node.fields)),
        Op::Expand { nulls, .. } => {
            let sets =
                nulls.iter().map(|s| format!("({})", named(s, input(0)))).collect::<Vec<_>>().join(", ");
            format!("{name}(without=[{sets}])")
        }
        Op::Aggregate { keys, calls, buckets, .. } => {
            let select = calls.iter().map(|c| call(c, input(0))).collect::<Vec<_>>().join(", ");
            let buckets = buckets.map(|n| format!(", buckets=[{n}]")).unwrap_or_default();
            format!("{name}(groupBy=[{}], select=[{select}]{buckets})", named(keys, input(0)))
        }
        Op::WindowAssign { window, .. } => format!("{name}(window=[{}])", windowed(window, input(0))),
        Op::WindowAggregate { window, attached, keys, calls, emit } => {
            let select = calls.iter().map(|c| call(c, input(0))).collect::<Vec<_>>().join(", ");
            let window = match (window, attached) {
                (Some(window), _) => windowed(window, input(0)),
                (None, Some((start, end))) => {
                    format!("attached: {}, {}", input(0)[*start].name(), input(0)[*end].name())
                }
                (None, None) => String::new(),
            };
            format!(
                "{name}(groupBy=[{}], window=[{window}], select=[{select}], emit=[{emit:?}])",
                named(keys, input(0))
            )
        }
        Op::Join { kind, keys, residual, .. } | Op::TemporalJoin { kind, keys, residual, .. } => {
            format!(
                "{name}({}, select=[{}])",
                joined(*kind, keys, residual, input(0), input(1)),
                all(&node.fields)
            )
        }
        Op::IntervalJoin { kind, keys, bounds, residual, times, .. } => format!(
            "{name}({}, interval=[{} ms <= {} - {} <= {} ms])",
            joined(*kind, keys, residual, input(0), input(1)),
            bounds.0,
            input(0)[times.0].name(),
            input(1)[times.1].name(),
            bounds.1
        ),
        Op::WindowJoin { kind, keys, residual, windows } => format!(
            "{name}({}, window=[{} = {}])",
            joined(*kind, keys, residual, input(0), input(1)),
            input(0)[windows.0.1].name(),
            input(1)[windows.1.1].name()
        ),
        Op::LookupJoin { kind, lookup, keys, residual, shuffle, retry } => {
            let on = keys
                .iter()
                .map(|(l, r)| format!("{} = {}", lookup.schema.field(*r).name(), input(0)[*l].name()));
            let on = on.chain(residual.iter().map(pretty)).collect::<Vec<_>>().join(" AND ");
            let shuffle = if *shuffle { ", shuffle=[true]" } else { "" };
            let retry = retry.map_or(String::new(), |retry| {
                format!(", retry=[lookup_miss, FIXED_DELAY, {:?}, {}]", retry.delay, retry.attempts)
            });
            format!("{name}(table=[{}], joinType=[{kind:?}], lookup=[{on}]{shuffle}{retry})", lookup.table)
        }
        Op::Correlate { function, args, left } => {
            let kind = if *left { "Left" } else { "Inner" };
            format!("{name}(invocation=[{}({})], joinType=[{kind}])", function.name(), named(args, input(0)))
        }
        Op::Rank { function, partition, order, range, output_rank } => {
            let range = range.map_or("all".to_owned(), |(a, b)| format!("rankStart={a}, rankEnd={b}"));
            format!(
                "{name}(strategy=[{}], rankRange=[{range}], partitionBy=[{}], orderBy=[{}], outputRank=[{output_rank}])",
                rank(*function),
                named(partition, input(0)),
                sorted(order, input(0))
            )
        }
        Op::Deduplicate { partition, time, last, .. } => format!(
            "{name}(keep=[{}Row], key=[{}], order=[{}])",
            if *last { "Last" } else { "First" },
            named(partition, input(0)),
            input(0)[*time].name()
        ),
        Op::WindowRank { function, window, partition, order, range, .. } => format!(
            "{name}(window=[{}], strategy=[{}], rankRange=[{}-{}], partitionBy=[{}], orderBy=[{}])",
            input(0)[window.1].name(),
            rank(*function),
            range.0,
            range.1,
            named(partition, input(0)),
            sorted(order, input(0))
        ),
        Op::Over { partition, order, calls } => {
            let select =
                calls.iter().map(|c| format!("{}({}) {}", c.kind.name(), named(&c.args, input(0)), c.frame));
            let select = select.collect::<Vec<_>>().join(", ");
            format!(
                "{name}(partitionBy=[{}], orderBy=[{}], select=[{select}])",
                named(partition, input(0)),
                sorted(order, input(0))
            )
        }
        Op::Sort { order, offset, fetch } => {
            let fetch = fetch.map_or("unlimited".to_owned(), |n| n.to_string());
            format!("{name}(orderBy=[{}], offset=[{offset}], fetch=[{fetch}])", sorted(order, input(0)))
        }
        Op::Normalize { keys } | Op::Materialize { keys } => {
            format!("{name}(key=[{}])", named(keys, &node.fields))
        }
        Op::Settle { keys, time, hold } => format!(
            "{name}(partition=[{}], time=[{}], hold=[{hold} ms])",
            named(keys, &node.fields),
            node.fields[*time].name()
        ),
        Op::AsyncCalc { calls } => {
            let call = |call: &AsyncCall| {
                let args: Vec<&str> = call.args.iter().map(|arg| input(0)[*arg].name()).collect();
                format!("{}({})", call.function.get().name(), args.join(", "))
            };
            format!("{name}(calls=[{}])", calls.iter().map(call).collect::<Vec<_>>().join(", "))
        }
        Op::DropUpdateBefore | Op::Fold | Op::LateRows | Op::Malformed => name.to_owned(),
        Op::Sink(sink) => {
            format!("{name}(table=[{}], fields=[{}], takes=[{:?}])", sink.table, all(&node.fields), sink.mode)
        }
    }
}

/// A plan as JSON: `{"nodes": [{"id", "type", "contents", "changelog", "state", "bounded", "uid", "predecessors"}]}`.
pub fn explain_json(plan: &Plan, config: &PlanConfig) -> String {
    let quoted = |text: &str| {
        let mut out = String::from("\"");
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                c if c.is_control() => {
                    let _ = write!(out, "\\u{:04x}", u32::from(c));
                }
                c => out.push(c),
            }
        }
        out.push('"');
        out
    };
    let mut nodes = Vec::new();
    for id in plan.reachable() {
        let node = plan.node(id);
        let state = match state_of(plan, id, config) {
            None => "null".to_owned(),
            Some(state) => format!(
                "{{\"keeps\":{},\"until\":{}}}",
                quoted(&state.what),
                state.bound.map_or("null".to_owned(), |b| quoted(&b))
            ),
        };
        let inputs = node.inputs.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        nodes.push(format!(
            "    {{\"id\":{id},\"type\":{},\"contents\":{},\"changelog\":{},\"state\":{state},\"uid\":{},\"predecessors\":[{inputs}]}}",
            quoted(node.op.name()),
            quoted(&line(plan, id)),
            quoted(&mode(node)),
            quoted(&node.digest)
        ));
    }
    format!("{{\n  \"nodes\": [\n{}\n  ]\n}}", nodes.join(",\n"))
}

//! A node of a plan in one line.

use super::names::Names;
use super::state::shown;
use crate::bind::nodes::WindowKind;
use crate::plan::{
    AggregateCall, AsyncCall, JoinKind, LateRoute, Malformed, Node, NodeId, Op, Plan, PlanField,
    RankFunction, ScanOp, SortKey, WindowSpec,
};
use datafusion_common::ScalarValue;
use datafusion_expr::Expr;
use flugs_table::{Literal, Predicate, PredicateOp};
use std::fmt::Write;
use std::time::Duration;

impl Names {
    /// A node in one line.
    pub(super) fn line(&self, plan: &Plan, id: NodeId) -> String {
        let node = plan.node(id);
        let name = node.op.name();
        let input = |at: usize| &plan.node(node.inputs[at]).fields[..];
        match &node.op {
            Op::Scan(scan) => {
                let paths = scan.columns.iter().map(|p| p.0.join(".")).chain(scan.metadata.iter().cloned());
                let columns = paths.collect::<Vec<_>>().join(", ");
                let mut text = format!("{name}(table=[{}], fields=[{columns}]", scan.table);
                if !scan.predicates.is_empty() {
                    let shown: Vec<String> = scan.predicates.iter().map(predicate).collect();
                    let _ = write!(text, ", filter=[{}]", shown.join(" AND "));
                }
                if let Some(watermark) = &scan.watermark {
                    let _ = write!(text, ", watermark=[{}]", self.expr(watermark));
                }
                let _ = write!(text, ", read=[{}]", read(scan, node));
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
            Op::Values(rows) => {
                format!("{name}(rows=[{}], fields=[{}])", rows.num_rows(), self.all(&node.fields))
            }
            Op::Calc { filter, exprs } => {
                let select = exprs.iter().zip(&node.fields).map(|(e, f)| {
                    let text = self.expr(e);
                    match self.of(f) {
                        name if name == text => text,
                        name => format!("{text} AS {name}"),
                    }
                });
                let select = select.collect::<Vec<_>>().join(", ");
                let filter =
                    filter.as_ref().map(|f| format!(", where=[{}]", self.expr(f))).unwrap_or_default();
                format!("{name}(select=[{select}]{filter})")
            }
            Op::Union => format!("{name}(all=[true], union=[{}])", self.all(&node.fields)),
            Op::Expand { nulls, .. } => {
                let sets = nulls
                    .iter()
                    .map(|s| format!("({})", self.named(s, input(0))))
                    .collect::<Vec<_>>()
                    .join(", ");
                format!("{name}(without=[{sets}])")
            }
            Op::Aggregate { keys, calls, buckets, .. } => {
                let select = calls.iter().map(|c| self.call(c, input(0))).collect::<Vec<_>>().join(", ");
                let buckets = buckets.map(|n| format!(", buckets=[{n}]")).unwrap_or_default();
                format!("{name}(groupBy=[{}], select=[{select}]{buckets})", self.named(keys, input(0)))
            }
            Op::WindowAssign { window, .. } => {
                format!("{name}(window=[{}])", self.windowed(window, input(0)))
            }
            Op::WindowAggregate { window, attached, keys, calls, emit } => {
                let select = calls.iter().map(|c| self.call(c, input(0))).collect::<Vec<_>>().join(", ");
                let window = match (window, attached) {
                    (Some(window), _) => self.windowed(window, input(0)),
                    (None, Some((start, end))) => {
                        format!("attached: {}, {}", self.of(&input(0)[*start]), self.of(&input(0)[*end]))
                    }
                    (None, None) => String::new(),
                };
                format!(
                    "{name}(groupBy=[{}], window=[{window}], select=[{select}], emit=[{emit:?}])",
                    self.named(keys, input(0))
                )
            }
            Op::Join { kind, keys, residual, .. } | Op::TemporalJoin { kind, keys, residual, .. } => {
                format!(
                    "{name}({}, select=[{}])",
                    self.joined(*kind, keys, residual, input(0), input(1)),
                    self.all(&node.fields)
                )
            }
            Op::IntervalJoin { kind, keys, bounds, residual, times, .. } => format!(
                "{name}({}, interval=[{} ms <= {} - {} <= {} ms])",
                self.joined(*kind, keys, residual, input(0), input(1)),
                bounds.0,
                self.of(&input(0)[times.0]),
                self.of(&input(1)[times.1]),
                bounds.1
            ),
            Op::WindowJoin { kind, keys, residual, windows } => format!(
                "{name}({}, window=[{} = {}])",
                self.joined(*kind, keys, residual, input(0), input(1)),
                self.of(&input(0)[windows.0.1]),
                self.of(&input(1)[windows.1.1])
            ),
            Op::LookupJoin { kind, lookup, keys, residual, shuffle, retry } => {
                let on = keys
                    .iter()
                    .map(|(l, r)| format!("{} = {}", lookup.schema.field(*r).name(), self.of(&input(0)[*l])));
                let on =
                    on.chain(residual.iter().map(|e| self.condition(e))).collect::<Vec<_>>().join(" AND ");
                let shuffle = if *shuffle { ", shuffle=[true]" } else { "" };
                let retry = retry.map_or(String::new(), |retry| {
                    format!(", retry=[lookup_miss, FIXED_DELAY, {:?}, {}]", retry.delay, retry.attempts)
                });
                format!(
                    "{name}(table=[{}], joinType=[{kind:?}], lookup=[{on}]{shuffle}{retry})",
                    lookup.table
                )
            }
            Op::Correlate { function, args, left } => {
                let kind = if *left { "Left" } else { "Inner" };
                format!(
                    "{name}(invocation=[{}({})], joinType=[{kind}])",
                    function.name(),
                    self.named(args, input(0))
                )
            }
            Op::Rank { function, partition, order, range, output_rank } => {
                let range = range.map_or("all".to_owned(), |(a, b)| format!("rankStart={a}, rankEnd={b}"));
                format!(
                    "{name}(strategy=[{}], rankRange=[{range}], partitionBy=[{}], orderBy=[{}], outputRank=[{output_rank}])",
                    rank(*function),
                    self.named(partition, input(0)),
                    self.sorted(order, input(0))
                )
            }
            Op::Deduplicate { partition, time, last, .. } => format!(
                "{name}(keep=[{}Row], key=[{}], order=[{}])",
                if *last { "Last" } else { "First" },
                self.named(partition, input(0)),
                self.of(&input(0)[*time])
            ),
            Op::WindowRank { function, window, partition, order, range, .. } => format!(
                "{name}(window=[{}], strategy=[{}], rankRange=[{}-{}], partitionBy=[{}], orderBy=[{}])",
                self.of(&input(0)[window.1]),
                rank(*function),
                range.0,
                range.1,
                self.named(partition, input(0)),
                self.sorted(order, input(0))
            ),
            Op::Over { partition, order, calls } => {
                let select = calls
                    .iter()
                    .map(|c| format!("{}({}) {}", c.kind.name(), self.named(&c.args, input(0)), c.frame));
                let select = select.collect::<Vec<_>>().join(", ");
                format!(
                    "{name}(partitionBy=[{}], orderBy=[{}], select=[{select}])",
                    self.named(partition, input(0)),
                    self.sorted(order, input(0))
                )
            }
            Op::Sort { order, offset, fetch } => {
                let fetch = fetch.map_or("unlimited".to_owned(), |n| n.to_string());
                format!(
                    "{name}(orderBy=[{}], offset=[{offset}], fetch=[{fetch}])",
                    self.sorted(order, input(0))
                )
            }
            Op::Normalize { keys } | Op::Materialize { keys } => {
                format!("{name}(key=[{}])", self.named(keys, &node.fields))
            }
            Op::Settle { keys, time, hold } => format!(
                "{name}(partition=[{}], time=[{}], hold=[{hold} ms])",
                self.named(keys, &node.fields),
                self.of(&node.fields[*time])
            ),
            Op::AsyncCalc { calls } => {
                let call = |call: &AsyncCall| {
                    let args: Vec<&str> = call.args.iter().map(|arg| self.of(&input(0)[*arg])).collect();
                    format!("{}({})", call.function.get().name(), args.join(", "))
                };
                format!("{name}(calls=[{}])", calls.iter().map(call).collect::<Vec<_>>().join(", "))
            }
            Op::DropUpdateBefore | Op::Fold | Op::LateRows | Op::Malformed => name.to_owned(),
            Op::Sink(sink) => {
                format!(
                    "{name}(table=[{}], fields=[{}], takes=[{:?}])",
                    sink.table,
                    self.all(&node.fields),
                    sink.mode
                )
            }
        }
    }

    fn named(&self, columns: &[usize], fields: &[PlanField]) -> String {
        columns.iter().map(|c| self.of(&fields[*c])).collect::<Vec<_>>().join(", ")
    }

    fn all(&self, fields: &[PlanField]) -> String {
        fields.iter().map(|f| self.of(f)).collect::<Vec<_>>().join(", ")
    }

    fn sorted(&self, keys: &[SortKey], fields: &[PlanField]) -> String {
        let key = |k: &SortKey| {
            format!("{} {}", self.of(&fields[k.column]), if k.options.descending { "DESC" } else { "ASC" })
        };
        keys.iter().map(key).collect::<Vec<_>>().join(", ")
    }

    fn call(&self, call: &AggregateCall, fields: &[PlanField]) -> String {
        let distinct = if call.distinct { "DISTINCT " } else { "" };
        let args = if call.args.is_empty() && call.kind.name() == "COUNT" {
            "*".to_owned()
        } else {
            self.named(&call.args, fields)
        };
        let filter = call.filter.map(|f| format!(" FILTER {}", self.of(&fields[f]))).unwrap_or_default();
        format!("{}({distinct}{args}){filter} AS {}", call.kind.name(), self.shown(call.field.name()))
    }

    fn windowed(&self, window: &WindowSpec, fields: &[PlanField]) -> String {
        let time = self.of(&fields[window.time]);
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
        &self,
        kind: JoinKind,
        keys: &[(usize, usize, bool)],
        residual: &Option<Expr>,
        l: &[PlanField],
        r: &[PlanField],
    ) -> String {
        let mut on: Vec<String> = keys
            .iter()
            .map(|(a, b, safe)| {
                let op = if *safe { "IS NOT DISTINCT FROM" } else { "=" };
                format!("{} {op} {}", self.of(&l[*a]), self.of(&r[*b]))
            })
            .collect();
        on.extend(residual.iter().map(|e| self.condition(e)));
        format!("joinType=[{kind:?}], where=[{}]", on.join(" AND "))
    }
}

fn rank(function: RankFunction) -> &'static str {
    match function {
        RankFunction::RowNumber => "ROW_NUMBER",
        RankFunction::Rank => "RANK",
        RankFunction::DenseRank => "DENSE_RANK",
    }
}

/// In which order a table is read, and why: nobody can tell the order of rows that have no time and do not change each other.
fn read(scan: &ScanOp, node: &Node) -> &'static str {
    match (scan.watermark.is_some(), node.changes.is_append()) {
        (true, true) => "ordered within splits: watermark",
        (true, false) => "ordered within splits: watermark, changes",
        (false, false) => "ordered within splits: changes",
        (false, true) => "unordered: neither watermark nor changes",
    }
}

/// What is offered to a source, as a condition.
fn predicate(predicate: &Predicate) -> String {
    let path = predicate.path.0.join(".");
    let literals: Vec<String> = predicate.literals.iter().map(literal).collect();
    let op = match (predicate.op, literals.len()) {
        (PredicateOp::Eq, 1) => "=",
        (PredicateOp::Eq, _) => return format!("{path} IN ({})", literals.join(", ")),
        (PredicateOp::Lt, _) => "<",
        (PredicateOp::LtEq, _) => "<=",
        (PredicateOp::Gt, _) => ">",
        (PredicateOp::GtEq, _) => ">=",
    };
    format!("{path} {op} {}", literals.join(", "))
}

fn literal(literal: &Literal) -> String {
    let value = match literal {
        Literal::Int(value) => ScalarValue::from(*value),
        Literal::Double(value) => ScalarValue::from(*value),
        Literal::String(value) => ScalarValue::from(value.as_str()),
        Literal::Boolean(value) => ScalarValue::from(*value),
        Literal::Timestamp(micros) => ScalarValue::TimestampMicrosecond(Some(*micros), None),
    };
    flugs_sql_ops::failure::literal(&value)
}

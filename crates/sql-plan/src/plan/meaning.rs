//! What a node computes, whatever its columns are called and whoever reads them: the address of its state.
//!
//! Rows and columns have a meaning of their own. That of the rows says where they come from and which conditions they have
//! passed; that of a column is an expression over what stands in the sources, put together over all projections on the way. So
//! neither an alias, nor a further column, nor the place of a condition changes the address of an operator that keeps
//! accumulators. An operator that keeps whole rows has an address of two parts: what it computes, and which columns it keeps.
//! What comes out of an operator with state has its address in it: whoever keeps something made of it begins anew with it. What depends
//! on the session's time zone means something else in another.

use crate::convert::{concatenated, df_schema, equalities, simplified, with_known};
use crate::plan::{
    AggregateCall, AsyncCall, JoinKind, LookupSpec, Node, Op, OverCall, PlanField, ScanOp, SortKey,
    WindowSpec, canonical, joined, substitute,
};
use arrow::datatypes::DataType;
use datafusion_common::Column;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_expr::utils::split_conjunction_owned;
use datafusion_expr::{Expr, ExprSchemable, lit};
use flugs_sql_functions::temporal::depends_on_zone;
use flugs_types::hash_bytes;
use std::collections::HashMap;
use std::fmt::Write;

/// An expression over sources with more parts than this is told by its digest from there on.
const PARTS_MAX: usize = 200;

/// What rows and columns mean. See the module.
#[derive(Debug, Clone)]
pub struct Meaning {
    /// Where the rows come from.
    base: String,
    /// What holds for them, over the columns' leaves.
    filters: Vec<Expr>,
    /// The columns: expressions over leaves, which are columns named by a digest.
    columns: Vec<Expr>,
}

/// What a node means, and the address of what it keeps.
pub(super) struct Described {
    pub(super) meaning: Meaning,
    pub(super) digest: String,
}

pub(super) fn hashed(text: &str) -> String {
    format!("{:016x}", hash_bytes(text.as_bytes()))
}

fn leaf(text: &str) -> Expr {
    Expr::Column(Column::new_unqualified(format!("#{}", hashed(text))))
}

/// The digest of an expression: of its parts, so that a part means the same inside and standing alone.
fn expr_digest(expr: &Expr) -> String {
    let folded = expr.clone().transform_up(|e| {
        Ok(match e {
            Expr::Alias(alias) => Transformed::yes(*alias.expr),
            e @ (Expr::Column(_) | Expr::Literal(..)) => Transformed::no(e),
            other => Transformed::yes(leaf(&canonical::expr(&other))),
        })
    });
    hashed(&canonical::expr(folded.as_ref().map_or(expr, |folded| &folded.data)))
}

fn parts(expr: &Expr) -> usize {
    let mut n = 0;
    let _ = expr.apply(|_| {
        n += 1;
        Ok(TreeNodeRecursion::Continue)
    });
    n
}

impl Meaning {
    fn of(base: String, columns: Vec<Expr>) -> Self {
        Meaning { base, filters: Vec::new(), columns }
    }

    /// What the conditions make equal to constants, where an expression may then be simpler.
    fn settled(&self, expr: &Expr) -> Expr {
        let known: Vec<_> = self.filters.iter().flat_map(equalities).collect();
        let simple = simplified(expr.clone()).and_then(|e| with_known(e, &known));
        simple.unwrap_or_else(|_| expr.clone())
    }

    /// Says which rows these are.
    pub fn rows(&self) -> String {
        let mut filters: Vec<String> = self.filters.iter().map(|f| expr_digest(&self.settled(f))).collect();
        filters.sort_unstable();
        filters.dedup();
        hashed(&format!("{} if {filters:?}", self.base))
    }

    /// Says what a column of these rows holds.
    pub fn column(&self, at: usize) -> String {
        expr_digest(&self.settled(&self.columns[at]))
    }

    /// An expression over a node's columns as one over leaves, in this zone.
    fn expanded(&self, expr: &Expr, fields: &[PlanField], zone: Zone<'_>) -> Expr {
        let expr = zone.said_in(expr, fields);
        let with: HashMap<&str, &Expr> = fields.iter().map(PlanField::name).zip(&self.columns).collect();
        let expanded = substitute(expr.clone(), &with).unwrap_or(expr);
        if parts(&expanded) > PARTS_MAX { leaf(&expr_digest(&self.settled(&expanded))) } else { expanded }
    }
}

/// The session's time zone, where it is another than UTC: calls that depend on it have it as a further argument.
#[derive(Clone, Copy)]
struct Zone<'z>(Option<&'z str>);

impl Zone<'_> {
    fn said_in(self, expr: &Expr, fields: &[PlanField]) -> Expr {
        let Some(zone) = self.0 else { return expr.clone() };
        let Ok(schema) = df_schema(fields) else { return expr.clone() };
        // From the top, since what is below has then one argument less.
        let said = expr.clone().transform_down(|e| {
            let Expr::ScalarFunction(mut call) = e else { return Ok(Transformed::no(e)) };
            let arguments = call.args.iter().map(|arg| arg.get_type(&schema));
            let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
            let result = Expr::ScalarFunction(call.clone()).get_type(&schema)?;
            let depends = depends_on_zone(call.name(), &arguments, &result);
            if depends {
                call.args.push(lit(zone));
            }
            Ok(Transformed::new_transformed(Expr::ScalarFunction(call), depends))
        });
        said.map_or_else(|_| expr.clone(), |said| said.data)
    }

    /// The zone of windows over a column.
    fn of_windows(self, time: &PlanField) -> Option<String> {
        let is_instant = matches!(time.field.data_type(), DataType::Timestamp(_, Some(_)));
        self.0.filter(|_| is_instant).map(str::to_owned)
    }
}

/// The text of an address as it grows.
struct Address<'a> {
    inputs: &'a [&'a Node],
    zone: Zone<'a>,
    name: &'static str,
    text: String,
}

impl<'a> Address<'a> {
    /// What is computed over these rows; whether they are ever taken back decides what is kept.
    fn new(op: &Op, inputs: &'a [&'a Node], zone: Zone<'a>) -> Self {
        let mut text = op.name().to_owned();
        for input in inputs {
            let _ = write!(text, " {} {}", input.meaning.rows(), input.changes.is_append());
        }
        Address { inputs, zone, name: op.name(), text }
    }

    fn with(mut self, what: impl std::fmt::Debug) -> Self {
        let _ = write!(self.text, " {what:?}");
        self
    }

    fn column(&self, input: usize, at: usize) -> String {
        typed(self.inputs[input], at)
    }

    fn columns(self, input: usize, columns: &[usize]) -> Self {
        let columns: Vec<String> = columns.iter().map(|c| self.column(input, *c)).collect();
        self.with(columns)
    }

    fn window(self, window: &WindowSpec) -> Self {
        let zone = self.zone.of_windows(&self.inputs[0].fields[window.time]);
        let address = self.with((window.kind, window.time_kind)).columns(0, &[window.time]);
        match zone {
            Some(zone) => address.with(zone),
            None => address,
        }
    }

    fn order(self, order: &[SortKey]) -> Self {
        let order: Vec<_> = order.iter().map(|key| (self.column(0, key.column), key.options)).collect();
        self.with(order)
    }

    fn join(self, kind: JoinKind, keys: &[(usize, usize, bool)], residual: &Option<Expr>) -> Self {
        let pairs: Vec<_> =
            keys.iter().map(|(l, r, safe)| (self.column(0, *l), self.column(1, *r), *safe)).collect();
        let mut residual: Vec<String> = match kind {
            // It only says which pairs are given out.
            JoinKind::Inner => Vec::new(),
            _ => of_pairs(residual, self.inputs, self.zone).iter().map(expr_digest).collect(),
        };
        residual.sort_unstable();
        self.with((kind, pairs, residual))
    }

    /// An operator whose state does not have the input's other columns in it.
    fn computing(self) -> String {
        format!("{}:{}", self.name, hashed(&self.text))
    }

    /// An operator that keeps whole rows of its inputs.
    fn keeping(self) -> String {
        let mut kept = String::new();
        for input in self.inputs {
            for at in 0..input.fields.len() {
                let _ = write!(kept, "{},", typed(input, at));
            }
            // A join keeps rows by their key where they have one.
            let _ = write!(kept, "{:?};", input.keys);
        }
        format!("{}/{}", self.computing(), hashed(&kept))
    }
}

/// What a column holds, and in which type.
fn typed(node: &Node, at: usize) -> String {
    format!("{}:{}", node.meaning.column(at), node.fields[at].field.data_type())
}

/// The columns of both sides of a join.
fn sides(left: &Node, right: &Node) -> Vec<Expr> {
    let of = |node: &Node, side: &str| -> Vec<Expr> {
        (0..node.fields.len()).map(|at| leaf(&format!("{side} {}", node.meaning.column(at)))).collect()
    };
    of(left, "left").into_iter().chain(of(right, "right")).collect()
}

/// The parts of a condition, over leaves: the columns are those of `fields`.
fn conditions(
    residual: &Option<Expr>,
    fields: &[PlanField],
    columns: Vec<Expr>,
    zone: Zone<'_>,
) -> Vec<Expr> {
    let meaning = Meaning::of(String::new(), columns);
    let conjuncts = residual.clone().map(split_conjunction_owned).unwrap_or_default();
    conjuncts.iter().map(|e| meaning.expanded(e, fields, zone)).collect()
}

/// What must hold for pairs of a join's rows.
fn of_pairs(residual: &Option<Expr>, inputs: &[&Node], zone: Zone<'_>) -> Vec<Expr> {
    let both = concatenated(&inputs[0].fields, &inputs[1].fields);
    conditions(residual, &both, sides(inputs[0], inputs[1]), zone)
}

/// What an aggregate call computes, over the columns of a node.
pub(crate) fn call_digest(call: &AggregateCall, input: &Node) -> String {
    // A count of what is never NULL is one of rows, and keeps less.
    let arg = |a: &usize| (typed(input, *a), input.fields[*a].field.is_nullable());
    let args: Vec<_> = call.args.iter().map(arg).collect();
    let filter = call.filter.map(|f| input.meaning.column(f));
    let order: Vec<_> = call.order_by.iter().map(|key| (typed(input, key.column), key.options)).collect();
    hashed(&format!("{:?} {} {args:?} {filter:?} {order:?}", call.kind, call.distinct))
}

fn over_digest(call: &OverCall, input: &Node) -> String {
    let args: Vec<String> = call.args.iter().map(|a| typed(input, *a)).collect();
    let filter = call.filter.map(|f| input.meaning.column(f));
    hashed(&format!("{:?} {} {args:?} {filter:?} {}", call.kind, call.distinct, call.frame))
}

/// What a node means, in a session of this time zone; none is UTC.
pub(super) fn describe(op: &Op, inputs: &[&Node], fields: &[PlanField], zone: Option<&str>) -> Described {
    let zone = Zone(zone);
    let address = || Address::new(op, inputs, zone);
    let of = |at: usize| inputs[at];
    let named = |text: &str| leaf(text);
    // The input's columns, and others behind.
    let behind = |digest: &str| -> Vec<Expr> {
        let first = of(0).meaning.columns.clone();
        let more = (first.len()..fields.len()).map(|at| named(&format!("{digest} {}", at - first.len())));
        first.iter().cloned().chain(more).collect()
    };
    // Of joins: what must hold for pairs, and which columns are given out.
    let (mut joined, mut columns) = (None, None);
    let digest = match op {
        Op::Scan(scan) => return scanned(scan, fields),
        Op::Values(_) => {
            let base = hashed(&op.meaning());
            let columns = (0..fields.len()).map(|at| named(&at.to_string())).collect();
            return Described { digest: base.clone(), meaning: Meaning::of(base, columns) };
        }
        Op::Calc { filter, exprs } => return calc(of(0), filter.as_ref(), exprs, zone),
        Op::Union => return union(inputs, fields.len()),
        Op::LateRows | Op::Malformed => {
            let rows = of(0).digest.clone();
            let which = if matches!(op, Op::LateRows) { "late" } else { "malformed" };
            let columns = (0..fields.len()).map(|at| named(&at.to_string())).collect();
            return Described {
                digest: rows.clone(),
                meaning: Meaning::of(format!("{which} {rows}"), columns),
            };
        }
        Op::DropUpdateBefore | Op::Fold => {
            let meaning = of(0).meaning.clone();
            return Described { digest: address().computing(), meaning };
        }
        Op::Expand { nulls, ids } => {
            let sets: Vec<Vec<String>> =
                nulls.iter().map(|set| set.iter().map(|c| of(0).meaning.column(*c)).collect()).collect();
            address().with((sets, ids)).computing()
        }
        Op::Aggregate { keys, calls, buckets, .. } => {
            let mut address = address().columns(0, keys);
            if let Some(buckets) = buckets {
                address = address.with(("buckets", buckets));
            }
            return aggregated(address, keys, calls, of(0), fields.len());
        }
        Op::WindowAggregate { window, attached, keys, calls, .. } => {
            let mut address = address();
            if let Some(window) = window {
                address = address.window(window);
            }
            if let Some((start, end)) = attached {
                address = address.columns(0, &[*start, *end]);
            }
            return aggregated(address.columns(0, keys), keys, calls, of(0), fields.len());
        }
        Op::WindowAssign { window, partition } => {
            let address = address().window(window).columns(0, partition);
            if crate::convert::is_session(window.kind) { address.keeping() } else { address.computing() }
        }
        Op::Join { kind, keys, residual, output, .. } => {
            joined = Some((*kind, residual));
            columns = Some(output.clone());
            address().join(*kind, keys, residual).keeping()
        }
        Op::IntervalJoin { kind, keys, times, time_kind, bounds, residual } => {
            joined = Some((*kind, residual));
            let address = address().join(*kind, keys, residual).with((time_kind, bounds));
            address.columns(0, &[times.0]).columns(1, &[times.1]).keeping()
        }
        Op::WindowJoin { kind, keys, windows: (left, right), residual } => {
            joined = Some((*kind, residual));
            let address = address().join(*kind, keys, residual);
            address.columns(0, &[left.0, left.1]).columns(1, &[right.0, right.1]).keeping()
        }
        Op::TemporalJoin { kind, keys, times, residual } => {
            joined = Some((*kind, residual));
            let address = address().join(*kind, keys, residual);
            match times {
                Some((left, right)) => address.columns(0, &[*left]).columns(1, &[*right]).keeping(),
                None => address.keeping(),
            }
        }
        Op::LookupJoin { kind, lookup, keys, residual, .. } => {
            return looked_up(address(), *kind, lookup, keys, residual, fields.len());
        }
        Op::Correlate { function, args, left } => {
            address().with((function.name(), left)).columns(0, args).computing()
        }
        Op::AsyncCalc { calls } => {
            // Rows wait as a whole.
            let args = |call: &AsyncCall| call.args.iter().map(|arg| typed(of(0), *arg)).collect::<Vec<_>>();
            let of_calls: Vec<_> =
                calls.iter().map(|call| (call.function.get().name(), args(call))).collect();
            address().with(of_calls).keeping()
        }
        Op::Rank { function, partition, order, range, .. } => {
            address().with((function, range)).columns(0, partition).order(order).keeping()
        }
        Op::WindowRank { function, window, partition, order, range, .. } => {
            let address = address().with((function, range)).columns(0, &[window.0, window.1]);
            address.columns(0, partition).order(order).keeping()
        }
        Op::Deduplicate { partition, time, time_kind, last } => {
            address().with((time_kind, last)).columns(0, partition).columns(0, &[*time]).keeping()
        }
        Op::Over { partition, order, calls } => {
            let of_calls: Vec<String> = calls.iter().map(|call| over_digest(call, of(0))).collect();
            address().columns(0, partition).order(order).with(of_calls).keeping()
        }
        Op::Sort { order, offset, fetch } => address().order(order).with((offset, fetch)).keeping(),
        Op::Normalize { keys } | Op::Materialize { keys } => address().columns(0, keys).keeping(),
        Op::Settle { keys, time, hold } => {
            address().with(hold).columns(0, keys).columns(0, &[*time]).keeping()
        }
        Op::Sink(sink) => address().with((&sink.table, &sink.identity)).computing(),
    };
    if let Some((kind, residual)) = joined {
        let all = sides(of(0), of(1));
        let given = columns.unwrap_or_else(|| (0..fields.len()).collect());
        let mut meaning = Meaning::of(digest.clone(), given.iter().map(|at| all[*at].clone()).collect());
        if kind == JoinKind::Inner {
            meaning.filters = of_pairs(residual, inputs, zone);
        }
        return Described { meaning, digest };
    }
    let columns = match op {
        Op::Expand { nulls, .. } => {
            let mut columns = behind("set");
            for column in nulls.iter().flatten() {
                columns[*column] = leaf(&format!("perhaps {}", of(0).meaning.column(*column)));
            }
            columns
        }
        Op::Sink(_) => Vec::new(),
        other => behind(other.name()),
    };
    Described { meaning: Meaning::of(digest.clone(), columns), digest }
}

fn scanned(scan: &ScanOp, fields: &[PlanField]) -> Described {
    let base = hashed(&format!("{} {} {:?}", scan.table, scan.identity, scan.limit));
    let paths = scan.columns.iter().map(|path| joined(&path.0));
    let names = paths.chain(scan.metadata.iter().map(|key| format!("metadata {key}")));
    // What is read of a row says its own type.
    let typed = |(name, field): (String, &PlanField)| match field.field.data_type() {
        DataType::Struct(_) => leaf(&name),
        other => leaf(&format!("{name} {other}")),
    };
    let columns = names.zip(fields).map(typed).collect();
    Described { digest: base.clone(), meaning: Meaning::of(base, columns) }
}

fn calc(input: &Node, filter: Option<&Expr>, exprs: &[Expr], zone: Zone<'_>) -> Described {
    let below = &input.meaning;
    let expanded = |e: &Expr| below.expanded(e, &input.fields, zone);
    let conjuncts = filter.cloned().map(split_conjunction_owned).unwrap_or_default();
    let mut filters = below.filters.clone();
    filters.extend(conjuncts.iter().map(expanded));
    let columns = exprs.iter().map(expanded).collect();
    let meaning = Meaning { base: below.base.clone(), filters, columns };
    let digest = calc_digest(&meaning);
    Described { meaning, digest }
}

/// The address of projections and filters, which keep nothing.
pub(super) fn calc_digest(meaning: &Meaning) -> String {
    let columns: Vec<String> = (0..meaning.columns.len()).map(|at| meaning.column(at)).collect();
    format!("Calc:{}", hashed(&format!("{} {columns:?}", meaning.rows())))
}

/// The inputs in an order that does not depend on the text, but among equal ones.
fn union(inputs: &[&Node], width: usize) -> Described {
    let mut sorted: Vec<(String, &Node)> = inputs.iter().map(|i| (i.meaning.rows(), *i)).collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    let rows: Vec<&str> = sorted.iter().map(|(rows, _)| rows.as_str()).collect();
    let base = format!("Union:{}", hashed(&format!("{rows:?}")));
    let column = |at: usize| {
        let of_inputs: Vec<String> = sorted.iter().map(|(_, node)| node.meaning.column(at)).collect();
        leaf(&format!("{of_inputs:?}"))
    };
    Described { digest: base.clone(), meaning: Meaning::of(base, (0..width).map(column).collect()) }
}

/// Keys, calls, and perhaps bounds of windows. The order of the calls says nothing.
fn aggregated(
    address: Address<'_>,
    keys: &[usize],
    calls: &[AggregateCall],
    input: &Node,
    width: usize,
) -> Described {
    let mut digests: Vec<String> = calls.iter().map(|call| call_digest(call, input)).collect();
    let of_calls = digests.clone();
    digests.sort_unstable();
    let digest = address.with(digests).computing();
    let of_keys = keys.iter().map(|key| leaf(&format!("key {}", input.meaning.column(*key))));
    let of_calls = of_calls.iter().map(|call| leaf(&format!("call {call}")));
    let bounds = (keys.len() + calls.len()..width)
        .map(|at| leaf(&format!("window {}", at - keys.len() - calls.len())));
    let columns = of_keys.chain(of_calls).chain(bounds).collect();
    Described { meaning: Meaning::of(digest.clone(), columns), digest }
}

fn looked_up(
    address: Address<'_>,
    kind: JoinKind,
    lookup: &LookupSpec,
    keys: &[(usize, usize)],
    residual: &Option<Expr>,
    width: usize,
) -> Described {
    let left = address.inputs[0];
    let right: Vec<PlanField> = lookup.schema.fields().iter().map(|f| PlanField::new(f.clone())).collect();
    let of_right =
        right.iter().map(|f| leaf(&format!("{:?} {:?} {:?}", lookup.table, lookup.identity, f.name())));
    let columns: Vec<Expr> = left.meaning.columns.iter().cloned().chain(of_right).collect();
    let both = concatenated(&left.fields, &right);
    let names: Vec<(String, &str)> =
        keys.iter().map(|(l, r)| (address.column(0, *l), right[*r].name())).collect();
    let residual: Vec<String> =
        conditions(residual, &both, columns.clone(), address.zone).iter().map(expr_digest).collect();
    let digest = address.with((kind, &lookup.table, &lookup.identity, names, residual)).computing();
    Described { meaning: Meaning::of(digest.clone(), columns[..width].to_vec()), digest }
}

//! Filters and projections: merged with each other, and pushed into the operators below where these can use them.

use crate::bind::nodes::time_of_call;
use crate::convert::{Converter, Made, df_schema, field_of_expr, read_by, unaliased, unique};
use crate::error::{PlanResult, lower, planning};
use crate::plan::{NodeId, Op, PlanField, RankFunction, WindowRole, column_index, is_column, substitute};
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema};
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, ScalarValue};
use datafusion_expr::utils::{conjunction, split_conjunction, split_conjunction_owned};
use datafusion_expr::{BinaryExpr, Expr, Operator};
use flugs_sql_types::TimeKind;
use std::collections::HashMap;
use std::sync::Arc;

/// What a column says about time and windows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tag {
    time: Option<TimeKind>,
    window: Option<WindowRole>,
}

impl Tag {
    pub(super) fn of(field: &PlanField) -> Self {
        Tag { time: field.time, window: field.window }
    }
}

impl Converter<'_> {
    /// Columns made of the rows of the input for which a condition holds.
    pub(crate) fn calc(
        &mut self,
        input: NodeId,
        filter: Option<Expr>,
        made: Vec<Made>,
    ) -> PlanResult<NodeId> {
        let fields = self.fields(input);
        let tags = made.iter().map(|(e, _)| match column_index(e, fields) {
            Some(index) => Tag::of(&fields[index]),
            None => Tag { time: time_of_call(unaliased(e)), window: None },
        });
        let tags = tags.collect::<Vec<_>>();
        self.calc_tagged(input, filter, made, &tags)
    }

    /// The same, where the columns say this about time, whatever their expressions have become.
    pub(super) fn calc_tagged(
        &mut self,
        input: NodeId,
        filter: Option<Expr>,
        made: Vec<Made>,
        tags: &[Tag],
    ) -> PlanResult<NodeId> {
        let node = self.plan.node(input);
        if let Op::Calc { filter: below, exprs } = &node.op
            && mergeable(&node.fields, exprs, filter.as_ref(), &made)?
        {
            let with: HashMap<&str, &Expr> = node.fields.iter().map(PlanField::name).zip(exprs).collect();
            let over = filter.map(|f| substitute(f, &with)).transpose().map_err(lower)?;
            let merged = match (below.clone(), over) {
                (Some(below), Some(over)) => Some(below.and(over)),
                (below, over) => below.or(over),
            };
            let made = made.into_iter().map(|(e, name)| Ok((substitute(e, &with).map_err(lower)?, name)));
            let made = made.collect::<PlanResult<Vec<_>>>()?;
            let input = node.inputs[0];
            return self.calc_tagged(input, merged, made, tags);
        }
        let filter = filter.map(simplified).transpose()?;
        let mut tags = tags.to_vec();
        let mut simple = Vec::with_capacity(made.len());
        for ((e, name), tag) in made.into_iter().zip(&mut tags) {
            let was_column = is_column(&e).is_some();
            let e = simplified(e)?;
            if let (false, Some(index)) = (was_column, column_index(&e, &node.fields)) {
                // The time of a group window, out of the row of its bounds.
                tag.time = node.fields[index].time;
            }
            simple.push((e, name));
        }
        let (made, tags) = (simple, &tags[..]);
        let (filter, made) = known_values(filter, made)?;
        if let Some(ranked) = self.limit_rank(input, filter.as_ref(), &made, tags)? {
            return Ok(ranked);
        }
        if let Some(pruned) = self.prune(input, filter.as_ref(), &made, tags)? {
            return Ok(pruned);
        }
        self.add_calc(input, filter, made, tags)
    }

    /// Adds the operator itself, unless it would change nothing but names.
    fn add_calc(
        &mut self,
        input: NodeId,
        filter: Option<Expr>,
        made: Vec<Made>,
        tags: &[Tag],
    ) -> PlanResult<NodeId> {
        if let Some(answered) = self.without_waiting(input, filter.as_ref(), &made)? {
            return self.calc_tagged(answered.node, answered.filter, answered.made, tags);
        }
        let fields = self.fields(input);
        let same = made.len() == fields.len()
            && made.iter().zip(fields).all(|((e, _), f)| is_column(e) == Some(f.name()))
            && tags.iter().zip(fields).all(|(tag, f)| tag.time == f.time);
        if filter.is_none() && same {
            return Ok(input);
        }
        let schema = df_schema(fields)?;
        let mut outputs = Vec::with_capacity(made.len());
        for ((expr, name), tag) in made.iter().zip(tags) {
            let field = match column_index(expr, fields) {
                Some(index) => fields[index].renamed(name).field,
                None => Arc::new(field_of_expr(expr, &schema)?.as_ref().clone().with_name(name)),
            };
            outputs.push(PlanField { field, time: tag.time, window: tag.window });
        }
        let exprs = made.into_iter().map(|(e, _)| unaliased(&e).clone()).collect();
        Ok(self.plan.add(Op::Calc { filter, exprs }, vec![input], unique(outputs)))
    }

    /// A rank of which only the first rows are kept.
    fn limit_rank(
        &mut self,
        input: NodeId,
        filter: Option<&Expr>,
        made: &[Made],
        tags: &[Tag],
    ) -> PlanResult<Option<NodeId>> {
        let node = self.plan.node(input);
        let Op::Rank { function, partition, order, range: None, output_rank: true } = &node.op else {
            return Ok(None);
        };
        let Some(rank) = node.fields.last().map(|f| f.name().to_owned()) else { return Ok(None) };
        let (mut first, mut last, mut rest) = (1, None::<u64>, Vec::new());
        for conjunct in filter.cloned().map(split_conjunction_owned).unwrap_or_default() {
            match rank_bound(&conjunct, &rank) {
                Some((low, high)) => {
                    first = first.max(low.unwrap_or(1));
                    last = match (last, high) {
                        (Some(a), Some(b)) => Some(a.min(b)),
                        (a, b) => a.or(b),
                    };
                }
                None => rest.push(conjunct),
            }
        }
        let Some(last) = last else { return Ok(None) };
        let rest = conjunction(rest);
        let used = read_by(made.iter().map(|(e, _)| e).chain(&rest), &node.fields)?;
        let output_rank = used.contains(&(node.fields.len() - 1));
        let mut fields = node.fields.clone();
        if !output_rank {
            fields.pop();
        }
        if first > last {
            let fields = fields.into_iter().map(|f| f.field).collect::<Vec<_>>();
            let nothing = self.rows(RecordBatch::new_empty(Arc::new(Schema::new(fields))));
            return self.calc_tagged(nothing, rest, made.to_vec(), tags).map(Some);
        }
        let (function, partition, order) = (*function, partition.clone(), order.clone());
        let below = node.inputs[0];
        let limited = self.ranked(below, function, partition, order, (first, last), output_rank, fields)?;
        self.calc_tagged(limited, rest, made.to_vec(), tags).map(Some)
    }

    /// Has the operator below make only what is read.
    fn prune(
        &mut self,
        input: NodeId,
        filter: Option<&Expr>,
        made: &[Made],
        tags: &[Tag],
    ) -> PlanResult<Option<NodeId>> {
        let node = self.plan.node(input);
        let used = read_by(made.iter().map(|(e, _)| e).chain(filter), &node.fields)?;
        let pruned = match &node.op {
            Op::Join { kind, keys, residual, output, ttl } if used.len() < output.len() => Op::Join {
                kind: *kind,
                keys: keys.clone(),
                residual: residual.clone(),
                output: used.iter().map(|i| output[*i]).collect(),
                ttl: *ttl,
            },
            Op::Rank { function, partition, order, range: Some(range), output_rank: true }
                if *function == RankFunction::RowNumber && !used.contains(&(node.fields.len() - 1)) =>
            {
                let fields = node.fields[..node.fields.len() - 1].to_vec();
                let (partition, order) = (partition.clone(), order.clone());
                let (function, range, below) = (*function, *range, node.inputs[0]);
                let limited = self.ranked(below, function, partition, order, range, false, fields)?;
                return self.calc_tagged(limited, filter.cloned(), made.to_vec(), tags).map(Some);
            }
            _ => return Ok(None),
        };
        let kept = used.iter().map(|i| node.fields[*i].clone()).collect();
        let inputs = node.inputs.clone();
        let pruned = self.plan.add(pruned, inputs, kept);
        self.calc_tagged(pruned, filter.cloned(), made.to_vec(), tags).map(Some)
    }
}

pub(super) fn column(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// Whether an expression costs nothing to compute twice.
fn is_cheap(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) | Expr::Literal(..) => true,
        Expr::Alias(alias) => is_cheap(&alias.expr),
        Expr::ScalarFunction(call) if matches!(call.name(), "get_field" | "PROCTIME") => {
            call.args.iter().all(is_cheap)
        }
        // A row put together for the sake of its fields, which are taken out again.
        Expr::ScalarFunction(call) if call.name() == "named_struct" => call.args.iter().all(is_cheap),
        _ => false,
    }
}

/// Whether the expressions of the lower operator may be put into those of the upper: none that costs is computed twice.
pub(super) fn mergeable(
    fields: &[PlanField],
    below: &[Expr],
    filter: Option<&Expr>,
    made: &[Made],
) -> PlanResult<bool> {
    let costly = fields.iter().zip(below).filter(|(_, expr)| !is_cheap(expr));
    let mut uses: HashMap<&str, usize> = costly.map(|(field, _)| (field.name(), 0)).collect();
    if uses.is_empty() {
        return Ok(true);
    }
    for expr in made.iter().map(|(e, _)| e).chain(filter) {
        let walked = expr.apply(|e| {
            if let Expr::Column(column) = e
                && let Some(uses) = uses.get_mut(column.name.as_str())
            {
                *uses += 1;
            }
            Ok(TreeNodeRecursion::Continue)
        });
        walked.map_err(planning)?;
    }
    Ok(uses.values().all(|uses| *uses <= 1))
}

/// Fields taken out of a row that is put together on the spot are its parts.
pub(crate) fn simplified(expr: Expr) -> PlanResult<Expr> {
    let simple = expr.transform_up(|e| {
        let Expr::ScalarFunction(call) = &e else { return Ok(Transformed::no(e)) };
        if call.name() != "get_field" || call.args.len() != 2 {
            return Ok(Transformed::no(e));
        }
        let (Expr::ScalarFunction(row), Expr::Literal(name, _)) = (unaliased(&call.args[0]), &call.args[1])
        else {
            return Ok(Transformed::no(e));
        };
        if row.name() != "named_struct" {
            return Ok(Transformed::no(e));
        }
        let parts = row.args.chunks_exact(2);
        let part = parts.into_iter().find_map(|pair| match &pair[0] {
            Expr::Literal(field, _) if field.try_as_str() == name.try_as_str() => Some(pair[1].clone()),
            _ => None,
        });
        Ok(part.map_or(Transformed::no(e), Transformed::yes))
    });
    Ok(simple.map_err(planning)?.data)
}

/// Where the filter says that a column equals a constant, the columns that are made are simpler.
fn known_values(filter: Option<Expr>, made: Vec<Made>) -> PlanResult<(Option<Expr>, Vec<Made>)> {
    let known = filter.as_ref().map(equalities).unwrap_or_default();
    if known.is_empty() {
        return Ok((filter, made));
    }
    let made = made.into_iter().map(|(e, name)| Ok((with_known(e, &known)?, name)));
    Ok((filter, made.collect::<PlanResult<_>>()?))
}

/// The columns that a condition makes equal to constants.
pub(crate) fn equalities(filter: &Expr) -> Vec<(String, ScalarValue)> {
    let equality = |conjunct: &Expr| match conjunct {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
            match (left.as_ref(), right.as_ref()) {
                (Expr::Column(c), Expr::Literal(v, _)) | (Expr::Literal(v, _), Expr::Column(c))
                    if !v.is_null() =>
                {
                    Some((c.name.clone(), v.clone()))
                }
                _ => None,
            }
        }
        _ => None,
    };
    split_conjunction(filter).into_iter().filter_map(equality).collect()
}

/// Only choices are decided: values stay the columns that they are.
pub(crate) fn with_known(expr: Expr, known: &[(String, ScalarValue)]) -> PlanResult<Expr> {
    let decided = expr.transform_up(|e| {
        let Expr::Case(case) = e else { return Ok(Transformed::no(e)) };
        let mut left = Vec::new();
        for (when, then) in &case.when_then_expr {
            let holds = match &case.expr {
                Some(value) => decide(value, when, known),
                None => match when.as_ref() {
                    Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
                        decide(left, right, known)
                    }
                    _ => None,
                },
            };
            match holds {
                Some(true) if left.is_empty() => return Ok(Transformed::yes(then.as_ref().clone())),
                Some(false) => {}
                _ => left.push((when.clone(), then.clone())),
            }
        }
        if left.len() == case.when_then_expr.len() {
            return Ok(Transformed::no(Expr::Case(case)));
        }
        Ok(Transformed::yes(match (left.is_empty(), &case.else_expr) {
            (true, Some(other)) => other.as_ref().clone(),
            _ => Expr::Case(datafusion_expr::Case::new(case.expr.clone(), left, case.else_expr.clone())),
        }))
    });
    Ok(decided.map_err(planning)?.data)
}

fn decide(left: &Expr, right: &Expr, known: &[(String, ScalarValue)]) -> Option<bool> {
    let (Expr::Column(column), Expr::Literal(value, _)) = (left, right) else { return None };
    let (_, is) = known.iter().find(|(name, _)| *name == column.name)?;
    (is.data_type() == value.data_type()).then(|| is == value)
}

/// The lowest and highest rank for which a condition on it alone holds.
fn rank_bound(expr: &Expr, rank: &str) -> Option<(Option<u64>, Option<u64>)> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (op, number) = match (number(left), number(right)) {
                (None, Some(n)) if is_rank(left, rank) => (*op, n),
                (Some(n), None) if is_rank(right, rank) => (op.swap()?, n),
                _ => return None,
            };
            let (at_most, at_least) = (number.at_most(), number.at_least());
            match op {
                Operator::Eq => Some((Some(at_least), Some(at_most))),
                Operator::LtEq => Some((None, Some(at_most))),
                Operator::Lt => Some((None, Some(at_least.saturating_sub(1)))),
                Operator::GtEq => Some((Some(at_least), None)),
                Operator::Gt => Some((Some(at_most.saturating_add(1)), None)),
                _ => None,
            }
        }
        Expr::Between(between) if !between.negated && is_rank(&between.expr, rank) => {
            Some((Some(number(&between.low)?.at_least()), Some(number(&between.high)?.at_most())))
        }
        _ => None,
    }
}

fn is_rank(expr: &Expr, rank: &str) -> bool {
    match expr {
        Expr::Cast(cast) => is_rank(&cast.expr, rank),
        other => is_column(other) == Some(rank),
    }
}

/// A number that a rank is compared with, between the two ranks next to it.
struct Bound {
    whole: i64,
    /// Whether it lies above `whole`.
    above: bool,
}

impl Bound {
    /// The highest rank that is not above it; 0 where there is none.
    fn at_most(&self) -> u64 {
        self.whole.max(0).unsigned_abs()
    }

    /// The lowest rank that is not below it, or a number below all ranks.
    fn at_least(&self) -> u64 {
        self.whole.saturating_add(i64::from(self.above)).max(0).unsigned_abs()
    }
}

fn number(expr: &Expr) -> Option<Bound> {
    match expr {
        Expr::Literal(value, _) if value.data_type().is_numeric() => {
            let ScalarValue::Int64(Some(cut)) = value.cast_to(&DataType::Int64).ok()? else { return None };
            // A fraction is cut off towards zero.
            let back = ScalarValue::Int64(Some(cut)).cast_to(&value.data_type()).ok()?;
            let order = back.partial_cmp(value)?;
            Some(Bound { whole: cut - i64::from(order.is_gt()), above: order.is_ne() })
        }
        Expr::Cast(cast) => number(&cast.expr),
        _ => None,
    }
}

//! Flink's common type of what is compared, chosen from, or put below each other.
//!
//! DataFusion computes with DECIMAL where a DOUBLE meets one, and takes lengths and precisions of the first of several rows. So
//! both are settled here, as casts, before DataFusion looks for common types of its own: it finds none left to be settled.

use crate::bind::intervals;
use crate::bind::typing::{explicit_cast, external};
use arrow::datatypes::DataType;
use datafusion_common::tree_node::Transformed;
use datafusion_common::{Column, DFSchema, Result};
use datafusion_expr::expr::{InList, InSubquery, SetComparison};
use datafusion_expr::logical_plan::{Join, Subquery, Union};
use datafusion_expr::{
    Between, BinaryExpr, Case, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, cast,
};
use flugs_sql_functions::common_type;
use flugs_sql_types::{LogicalType, SqlType, from_arrow, from_field, to_field};
use std::sync::Arc;

/// Gives the operands of an expression that compares or chooses the type that they have in common.
pub(super) fn operands(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let changed = match &mut expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(*op) => {
            approximate([left.as_mut(), right.as_mut()], schema)?
        }
        Expr::InList(InList { expr, list, .. }) => {
            approximate(std::iter::once(expr.as_mut()).chain(list), schema)?
        }
        Expr::Between(Between { expr, low, high, .. }) => {
            approximate([expr.as_mut(), low.as_mut(), high.as_mut()], schema)?
        }
        Expr::Case(Case { expr, when_then_expr, else_expr }) => {
            let (whens, thens): (Vec<_>, Vec<_>) =
                when_then_expr.iter_mut().map(|(when, then)| (when.as_mut(), then.as_mut())).unzip();
            let compared = match expr {
                Some(expr) => approximate(std::iter::once(expr.as_mut()).chain(whens), schema)?,
                None => false,
            };
            let chosen = thens.into_iter().chain(else_expr.as_deref_mut());
            approximate(chosen, schema)? || compared
        }
        Expr::InSubquery(InSubquery { expr, subquery, .. })
        | Expr::SetComparison(SetComparison { expr, subquery, .. }) => with_subquery(expr, subquery, schema)?,
        _ => false,
    };
    Ok(Transformed::new_transformed(expr, changed))
}

fn compares(op: Operator) -> bool {
    op.supports_propagation() || matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom)
}

fn is_approximate(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

fn is_exact(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal128(..))
}

/// Where approximate numbers meet decimals all of them become `DOUBLE`.
fn approximate<'e>(exprs: impl IntoIterator<Item = &'e mut Expr>, schema: &DFSchema) -> Result<bool> {
    let exprs: Vec<&mut Expr> = exprs.into_iter().collect();
    let types = exprs.iter().map(|e| e.get_type(schema)).collect::<Result<Vec<_>>>()?;
    intervals::of_one_kind(&types)?;
    if !types.iter().any(is_approximate) || !types.iter().any(is_exact) {
        return Ok(false);
    }
    for (expr, data_type) in exprs.into_iter().zip(types) {
        if data_type != DataType::Float64 && data_type.is_numeric() {
            *expr = to_double(std::mem::take(expr), schema)?;
        }
    }
    Ok(true)
}

fn to_double(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let nullable = expr.nullable(schema)?;
    explicit_cast(expr, SqlType { kind: LogicalType::Double, nullable }, false, schema).map(|cast| cast.data)
}

fn with_subquery(expr: &mut Expr, subquery: &mut Subquery, schema: &DFSchema) -> Result<bool> {
    let (outside, inside) = (expr.get_type(schema)?, subquery.subquery.schema().field(0).data_type().clone());
    if is_exact(&outside) && is_approximate(&inside) {
        *expr = to_double(std::mem::take(expr), schema)?;
        return Ok(true);
    }
    if !is_approximate(&outside) || !is_exact(&inside) {
        return Ok(false);
    }
    let plan = subquery.subquery.as_ref().clone();
    let column = plan.schema().columns().swap_remove(0);
    let name = column.name.clone();
    let double = to_double(Expr::Column(column), plan.schema())?.alias(name);
    subquery.subquery = Arc::new(LogicalPlanBuilder::from(plan).project([double])?.build()?);
    Ok(true)
}

/// Gives the keys of joins the type that both sides have in common. Runs when all is bound, since names in `USING` are looked up by
/// bare columns until then.
pub(crate) fn join_keys(plan: LogicalPlan) -> Result<LogicalPlan> {
    let keys = |plan| {
        let LogicalPlan::Join(mut join) = plan else { return Ok(Transformed::no(plan)) };
        let mut changed = false;
        for (left, right) in &mut join.on {
            let types = [left.get_type(join.left.schema())?, right.get_type(join.right.schema())?];
            if types.iter().any(is_approximate) && types.iter().any(is_exact) {
                for (key, data_type) in [left, right].into_iter().zip(types) {
                    if data_type != DataType::Float64 {
                        *key = cast(std::mem::take(key), DataType::Float64);
                    }
                }
                changed = true;
            }
        }
        let join: Join = join;
        Ok(Transformed::new_transformed(LogicalPlan::Join(join), changed))
    };
    Ok(plan.transform_up_with_subqueries(keys)?.data)
}

/// The type of rows below each other; none where that is DataFusion's matter.
fn of_rows(left: &LogicalType, right: &LogicalType) -> Option<LogicalType> {
    use LogicalType::{Binary, Char, Null, Time, Timestamp, TimestampLtz, VarBinary, VarChar};
    if left == right {
        return Some(left.clone());
    }
    Some(match (left, right) {
        (Null, other) | (other, Null) => other.clone(),
        // Of different lengths, so nothing says that they are padded to one.
        (Char(a) | VarChar(a), Char(b) | VarChar(b)) => VarChar(*a.max(b)),
        (Binary(a) | VarBinary(a), Binary(b) | VarBinary(b)) => VarBinary(*a.max(b)),
        (Time(a), Time(b)) => Time(*a.max(b)),
        (Timestamp(a), Timestamp(b)) => Timestamp(*a.max(b)),
        (TimestampLtz(a), TimestampLtz(b)) => TimestampLtz(*a.max(b)),
        (a, b) if a.is_numeric() && b.is_numeric() => {
            from_arrow(&common_type(&a.to_arrow(), &b.to_arrow())?).ok()?
        }
        _ => return None,
    })
}

/// The type of each column of relations below each other, given the types of each of them.
fn columns(rows: &[Vec<SqlType>]) -> Result<Vec<Option<SqlType>>> {
    let width = rows.iter().map(Vec::len).min().unwrap_or(0);
    let column = |at: usize| {
        let mut kinds = rows.iter().map(|row| &row[at].kind);
        let first = kinds.next().cloned();
        let common = first.and_then(|first| kinds.try_fold(first, |common, kind| of_rows(&common, kind)));
        let Some(kind) = common else {
            intervals::of_one_kind(&rows.iter().map(|row| row[at].kind.to_arrow()).collect::<Vec<_>>())?;
            return Ok(None);
        };
        Ok(Some(SqlType { kind, nullable: rows.iter().any(|row| row[at].nullable) }))
    };
    (0..width).map(column).collect()
}

/// The same value in this type. An untyped NULL stays one.
fn in_type(expr: Expr, from: &SqlType, to: Option<&SqlType>, schema: &DFSchema) -> Result<Expr> {
    match to {
        Some(to) if from.kind != to.kind && from.kind != LogicalType::Null => {
            let to = SqlType { kind: to.kind.clone(), nullable: from.nullable };
            explicit_cast(expr, to, false, schema).map(|cast| cast.data)
        }
        _ => Ok(expr),
    }
}

/// Gives the rows of `VALUES` their common types.
pub(super) fn values(rows: Vec<Vec<Expr>>) -> Result<Vec<Vec<Expr>>> {
    let empty = DFSchema::empty();
    let of = |e: &Expr| from_field(&e.to_field(&empty)?.1).map_err(external);
    let types = rows.iter().map(|row| row.iter().map(of).collect()).collect::<Result<Vec<Vec<_>>>>()?;
    let common = columns(&types)?;
    let row = |(row, types): (Vec<Expr>, Vec<SqlType>)| {
        let cells = row.into_iter().zip(types).enumerate();
        cells
            .map(|(at, (e, from))| in_type(e, &from, common.get(at).and_then(Option::as_ref), &empty))
            .collect()
    };
    rows.into_iter().zip(types).map(row).collect()
}

/// Gives the inputs of a union their common types.
pub(super) fn union(union: Union) -> Result<LogicalPlan> {
    let of = |plan: &Arc<LogicalPlan>| {
        let fields = plan.schema().fields().iter();
        fields.map(|f| from_field(f).map_err(external)).collect::<Result<Vec<_>>>()
    };
    let types = union.inputs.iter().map(of).collect::<Result<Vec<_>>>()?;
    let common = columns(&types)?;
    let input = |(plan, types): (&Arc<LogicalPlan>, &Vec<SqlType>)| -> Result<Arc<LogicalPlan>> {
        let is_kept = |(from, to): (&SqlType, &Option<SqlType>)| {
            to.as_ref().is_none_or(|to| to.kind == from.kind || from.kind == LogicalType::Null)
        };
        if types.iter().zip(&common).all(is_kept) {
            return Ok(plan.clone());
        }
        let cells = plan.schema().columns().into_iter().zip(types).zip(&common);
        let cells = cells.map(|((column, from), to)| {
            let Column { relation, name, .. } = column.clone();
            let cell = in_type(Expr::Column(column), from, to.as_ref(), plan.schema())?;
            Ok(cell.alias_qualified(relation, name))
        });
        let cells = cells.collect::<Result<Vec<_>>>()?;
        LogicalPlanBuilder::from(plan.as_ref().clone()).project(cells)?.build().map(Arc::new)
    };
    let inputs = union.inputs.iter().zip(&types).map(input).collect::<Result<Vec<_>>>()?;
    let fields = union.schema.iter().enumerate().map(|(at, (qualifier, field))| {
        let field = match common.get(at) {
            Some(Some(common)) => Arc::new(to_field(field.name(), common)),
            _ => field.clone(),
        };
        (qualifier.cloned(), field)
    });
    let schema = DFSchema::new_with_metadata(fields.collect(), union.schema.metadata().clone())?;
    Ok(LogicalPlan::Union(Union { inputs, schema: Arc::new(schema) }))
}

//! Flink's types in place of DataFusion's: integer literals, casts, exact arithmetic, untyped NULLs.
//!
//! Runs on the bound plan before DataFusion coerces types, so every cast that is there was written by the user.

use crate::bind::context::UNIT_KEY;
use crate::bind::{casts, common, inside, intervals};
use arrow::datatypes::DataType;
use datafusion_common::metadata::FieldMetadata;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion_expr::expr::{InSubquery, ScalarFunction};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::logical_plan::Values;
use datafusion_expr::utils::merge_schema;
use datafusion_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator};
use flugs_sql_functions::arithmetic::decimal_binary;
use flugs_sql_functions::cast::cast_function;
use flugs_sql_parser::{SqlError, SqlErrorKind};
use flugs_sql_types::{LogicalType, SqlType, from_field, to_field};
use flugs_types::Error;
use std::sync::Arc;

/// Types every expression of a plan.
pub(crate) fn apply(plan: LogicalPlan) -> Result<LogicalPlan> {
    Ok(plan.transform_up_with_subqueries(node)?.data)
}

pub(super) fn external(e: Error) -> DataFusionError {
    DataFusionError::External(Box::new(e))
}

fn node(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if let LogicalPlan::Values(values) = plan {
        return rows(values).map(Transformed::yes);
    }
    if let LogicalPlan::Union(union) = plan {
        return common::union(union).map(Transformed::yes);
    }
    // A limit's numbers are DataFusion's own.
    if matches!(plan, LogicalPlan::Limit(_)) {
        return Ok(Transformed::no(plan));
    }
    let schema = merge_schema(&plan.inputs());
    let names = NamePreserver::new(&plan);
    plan.map_expressions(|e| {
        let name = names.save(&e);
        Ok(Transformed::yes(name.restore(typed(e, &schema)?)))
    })?
    .map_data(LogicalPlan::recompute_schema)
}

fn rows(values: Values) -> Result<LogicalPlan> {
    let empty = DFSchema::empty();
    let rows = values.values.into_iter();
    let rows: Vec<Vec<Expr>> = rows
        .map(|row| row.into_iter().map(|e| typed(casts::value_in(e), &empty)).collect::<Result<_>>())
        .collect::<Result<_>>()?;
    LogicalPlanBuilder::values(common::values(rows)?)?.build()
}

/// Types an expression over columns of `schema`.
pub(crate) fn typed(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    Ok(expr.transform_up(|e| typed_one(e, schema))?.data)
}

fn typed_one(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::Literal(ScalarValue::Utf8(text), metadata) => {
            Ok(Transformed::yes(Expr::Literal(ScalarValue::Utf8View(text), metadata)))
        }
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(i)), metadata) => {
            Ok(Transformed::yes(Expr::Literal(intervals::canonical(i), metadata)))
        }
        Expr::Cast(cast) => {
            let unit = cast.field.metadata().get(UNIT_KEY).map(String::as_str);
            if let Some(interval) = intervals::of_number(&cast, unit, schema)? {
                return Ok(Transformed::yes(interval));
            }
            let target = from_field(&cast.field).map_err(external)?;
            explicit_cast(*cast.expr, target, false, schema)
        }
        Expr::TryCast(cast) => {
            let target = from_field(&cast.field).map_err(external)?;
            explicit_cast(*cast.expr, target, true, schema)
        }
        Expr::BinaryExpr(binary) => arithmetic(binary, schema),
        Expr::InSubquery(called) => {
            in_comparable(&called, schema)?;
            common::operands(Expr::InSubquery(called), schema)
        }
        Expr::AggregateFunction(call)
            if has_star(&call.params.args) && !call.func.name().eq_ignore_ascii_case("count") =>
        {
            Err(no_star(call.func.name()))
        }
        Expr::ScalarFunction(call) if has_star(&call.args) => Err(no_star(call.func.name())),
        Expr::ScalarFunction(call) => Ok(match casts::cast_in(&call) {
            Some(cast) => Transformed::yes(cast.clone()),
            None => Transformed::no(Expr::ScalarFunction(call)),
        }),
        other => common::operands(other, schema),
    }
}

fn has_star(args: &[Expr]) -> bool {
    #[expect(deprecated, reason = "the planner of DataFusion still makes it of f(*)")]
    args.iter().any(|arg| matches!(arg, Expr::Wildcard { .. }))
}

fn no_star(function: &str) -> DataFusionError {
    let name = function.to_uppercase();
    let error = SqlError::new(SqlErrorKind::Type, format!("'{name}' does not take '*': COUNT alone does"));
    inside(error.help(format!("name a column: {name}(...)")))
}

/// A text is compared with texts: read as a number, the first that is none would fail the job. A constant is read at once.
fn in_comparable(called: &InSubquery, schema: &DFSchema) -> Result<()> {
    let (_, operand) = called.expr.to_field(schema)?;
    let column = called.subquery.subquery.schema().field(0);
    let is_text = |t: &DataType| matches!(t, DataType::Utf8View | DataType::Utf8 | DataType::LargeUtf8);
    let (left, right) = (operand.data_type(), column.data_type());
    if is_text(left) == is_text(right)
        || left.is_null()
        || right.is_null()
        || matches!(called.expr.as_ref(), Expr::Literal(..))
    {
        return Ok(());
    }
    let (left, right) = (from_field(&operand).map_err(external)?, from_field(column).map_err(external)?);
    let message = format!("{} IN a subquery of {}: these types cannot be compared", left.kind, right.kind);
    let error = SqlError::new(SqlErrorKind::Type, message);
    Err(inside(error.help("CAST one side to the type of the other")))
}

pub(super) fn explicit_cast(
    expr: Expr,
    target: SqlType,
    try_cast: bool,
    schema: &DFSchema,
) -> Result<Transformed<Expr>> {
    if let Expr::Literal(ScalarValue::Int64(Some(n)), metadata) = &expr
        && let Ok(small) = i32::try_from(*n)
        && target.kind == LogicalType::Int
    {
        return Ok(Transformed::yes(Expr::Literal(ScalarValue::Int32(Some(small)), metadata.clone())));
    }
    // An untyped NULL becomes one of the type.
    if matches!(&expr, Expr::Literal(ScalarValue::Null, _)) {
        let null = ScalarValue::try_from(&target.kind.to_arrow())?;
        let metadata = FieldMetadata::from(to_field("null", &target).metadata());
        let metadata = Some(metadata).filter(|metadata| !metadata.is_empty());
        return Ok(Transformed::yes(Expr::Literal(null, metadata)));
    }
    let (_, field) = expr.to_field(schema)?;
    let from = from_field(&field).map_err(external)?;
    if from.kind == target.kind {
        return Ok(Transformed::yes(expr));
    }
    let function = Arc::new(cast_function(target, try_cast));
    Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![expr]))))
}

fn arithmetic(binary: BinaryExpr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_arithmetic = matches!(
        binary.op,
        Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo
    );
    if is_arithmetic {
        let (_, left) = binary.left.to_field(schema)?;
        let (_, right) = binary.right.to_field(schema)?;
        let decimal = |t: &DataType| matches!(t, DataType::Decimal128(..));
        if decimal(left.data_type()) || decimal(right.data_type()) {
            let (l, r) = (from_field(&left).map_err(external)?, from_field(&right).map_err(external)?);
            if let Some((function, _)) = decimal_binary(binary.op, &l, &r) {
                let call = ScalarFunction::new_udf(Arc::new(function), vec![*binary.left, *binary.right]);
                return Ok(Transformed::yes(Expr::ScalarFunction(call)));
            }
        }
    }
    if let Some(call) = intervals::arithmetic(&binary, schema)? {
        return Ok(Transformed::yes(call));
    }
    common::operands(Expr::BinaryExpr(binary), schema)
}

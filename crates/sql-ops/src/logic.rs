//! `AND` and `OR` that look at their right side only for the rows that the left side leaves open.
//!
//! Flink evaluates conditions row by row from left to right, and a condition guards what stands behind it: `n <> 0 AND 100 / n > 5`
//! does not fail. DataFusion evaluates both sides for all rows of most batches. Only conditions that may fail are evaluated in
//! this way; those that cannot fail come before them and stay what they are.

use crate::binary::{Binary, Evaluation};
use crate::division::Division;
use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::compute::kernels::boolean::{and_kleene, or_kleene};
use arrow::datatypes::{DataType, Schema};
use datafusion_common::Result;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use std::sync::Arc;

/// Functions that give a value for all arguments of their types.
const TOTAL: &[&str] = &[
    "ABS",
    "BTRIM",
    "CEIL",
    "CHAR_LENGTH",
    "COALESCE",
    "CONCAT",
    "CONCAT_WS",
    "ENDSWITH",
    "FLOOR",
    "GET_FIELD",
    "GREATEST",
    "IFNULL",
    "IS_ALPHA",
    "IS_DECIMAL",
    "IS_DIGIT",
    "LEAST",
    "LOWER",
    "LTRIM",
    "NAMED_STRUCT",
    "NULLIF",
    "PROCTIME",
    "RTRIM",
    "STARTSWITH",
    "TRY_CAST",
    "UPPER",
];

/// Whether a function gives a value for all arguments of its types, in whatever case its name is written.
pub fn is_total(function: &str) -> bool {
    TOTAL.contains(&function.to_ascii_uppercase().as_str())
}

/// A condition, `AND` or `OR`, whose right side is evaluated where the left side does not decide.
pub(crate) type Logic = Binary<Guarding>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Guarding;

impl Evaluation for Guarding {
    fn evaluate(&self, expr: &BinaryExpr, rows: &RecordBatch) -> Result<ColumnarValue> {
        let values = expr.left().evaluate(rows)?.into_array(rows.num_rows())?;
        let left = values.as_boolean();
        let open = open(left, *expr.op());
        if !open.has_true() {
            return Ok(ColumnarValue::Array(values));
        }
        // NULL for the rows that are decided, which changes nothing about them.
        let right = match open.has_false() {
            true => expr.right().evaluate_selection(rows, &open)?,
            false => expr.right().evaluate(rows)?,
        };
        let right = right.into_array(rows.num_rows())?;
        let both = match expr.op() {
            Operator::And => and_kleene(left, right.as_boolean())?,
            _ => or_kleene(left, right.as_boolean())?,
        };
        Ok(ColumnarValue::Array(Arc::new(both)))
    }
}

/// The rows that the left side does not decide about: NULL leaves both open.
fn open(left: &BooleanArray, connective: Operator) -> BooleanArray {
    let undecided = match connective {
        Operator::And => left.values().clone(),
        _ => !left.values(),
    };
    BooleanArray::from(match left.nulls() {
        Some(valid) => &undecided | &!valid.inner(),
        None => undecided,
    })
}

/// The expression with conditions that guard what may fail.
pub fn guarding(expr: Arc<dyn PhysicalExpr>, input: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
    let guarded = expr.transform_up(|part| {
        let connective = match part.downcast_ref::<BinaryExpr>().map(BinaryExpr::op) {
            Some(op @ (Operator::And | Operator::Or)) => *op,
            _ => return Ok(Transformed::no(part)),
        };
        let mut operands = Vec::new();
        collect(&part, connective, &mut operands);
        let (fallible, total): (Vec<_>, Vec<_>) = operands.into_iter().partition(|o| may_fail(o, input));
        if fallible.is_empty() {
            return Ok(Transformed::no(part));
        }
        let both = |left, right| BinaryExpr::new(left, connective, right);
        let guarded = total
            .into_iter()
            .reduce(|left, right| Arc::new(both(left, right)))
            .into_iter()
            .chain(fallible)
            .reduce(|left, right| Arc::new(Logic::new(both(left, right), Guarding)));
        Ok(guarded.map_or(Transformed::no(part), Transformed::yes))
    });
    Ok(guarded?.data)
}

/// The operands of a chain of one connective, from left to right.
fn collect(part: &Arc<dyn PhysicalExpr>, connective: Operator, into: &mut Vec<Arc<dyn PhysicalExpr>>) {
    let is_chain = operator_of(part) == Some(connective);
    match (is_chain, &part.children()[..]) {
        (true, [left, right]) => {
            collect(left, connective, into);
            collect(right, connective, into);
        }
        _ => into.push(part.clone()),
    }
}

fn operator_of(part: &Arc<dyn PhysicalExpr>) -> Option<Operator> {
    let binary = part.downcast_ref::<BinaryExpr>().map(|binary| *binary.op());
    binary.or_else(|| part.downcast_ref::<Logic>().map(Logic::operator))
}

/// Whether there are rows for which an expression is an error. Of what is not known it is assumed.
fn may_fail(expr: &Arc<dyn PhysicalExpr>, input: &Schema) -> bool {
    fails_itself(expr, input) || expr.children().into_iter().any(|part| may_fail(part, input))
}

fn fails_itself(expr: &Arc<dyn PhysicalExpr>, input: &Schema) -> bool {
    let of = |part: &Arc<dyn PhysicalExpr>| part.data_type(input).unwrap_or(DataType::Null);
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        return match binary.op() {
            Operator::Plus | Operator::Minus | Operator::Multiply => !wraps(&of(expr)),
            Operator::Divide | Operator::Modulo => !of(expr).is_floating() && !is_divisor(binary.right()),
            op => !(op.is_logic_operator() || op.supports_propagation()),
        };
    }
    if expr.downcast_ref::<Division>().is_some() {
        return !expr.children().last().is_some_and(|divisor| is_divisor(divisor));
    }
    if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        return !(wraps(&of(cast.expr())) && widens(&of(cast.expr()), cast.cast_type()));
    }
    if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
        let name = call.name().to_ascii_uppercase();
        return match (name.as_str(), call.args()) {
            ("CAST", [value]) => !(of(value).is_numeric() && is_plain(call.return_type())),
            // Another pattern for every row may be none.
            ("LIKE", [_, pattern]) => pattern.downcast_ref::<Literal>().is_none(),
            (name, _) => !is_total(name),
        };
    }
    !(expr.downcast_ref::<Column>().is_some()
        || expr.downcast_ref::<Literal>().is_some()
        || expr.downcast_ref::<IsNullExpr>().is_some()
        || expr.downcast_ref::<IsNotNullExpr>().is_some()
        || expr.downcast_ref::<NotExpr>().is_some()
        || expr.downcast_ref::<InListExpr>().is_some()
        || expr.downcast_ref::<CaseExpr>().is_some()
        || expr.downcast_ref::<Logic>().is_some())
}

/// Numbers whose sums never fail: those that are too large wrap or are infinite.
fn wraps(of: &DataType) -> bool {
    of.is_integer() || of.is_floating()
}

fn widens(from: &DataType, to: &DataType) -> bool {
    to.is_floating()
        || (to.is_integer() && from.is_integer() && to.primitive_width() >= from.primitive_width())
}

fn is_plain(to: &DataType) -> bool {
    to.is_numeric() || matches!(to, DataType::Utf8View | DataType::Utf8)
}

/// A constant that is not zero.
fn is_divisor(divisor: &Arc<dyn PhysicalExpr>) -> bool {
    let Some(literal) = divisor.downcast_ref::<Literal>() else { return false };
    let zero = datafusion_common::ScalarValue::new_zero(&literal.value().data_type());
    zero.is_ok_and(|zero| *literal.value() != zero)
}

#[cfg(test)]
mod tests;

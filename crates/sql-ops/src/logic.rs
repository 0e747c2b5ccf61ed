//! `AND` and `OR` that look at their right side only for the rows that the left side leaves open.
//!
//! Flink evaluates conditions row by row from left to right, and a condition guards what stands behind it: `n <> 0 AND 100 / n > 5`
//! does not fail. DataFusion evaluates both sides for all rows of most batches. Only conditions that may fail are evaluated in
//! this way; those that cannot fail come before them and stay what they are.

use crate::division::Division;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::compute::kernels::boolean::{and_kleene, or_kleene};
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use std::fmt;
use std::hash::{Hash, Hasher};
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

/// What connects two conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Connective {
    And,
    Or,
}

impl Connective {
    fn operator(self) -> Operator {
        match self {
            Connective::And => Operator::And,
            Connective::Or => Operator::Or,
        }
    }
}

/// A condition whose right side is evaluated where the left side does not decide.
#[derive(Debug, Clone)]
pub(crate) struct Logic {
    left: Arc<dyn PhysicalExpr>,
    connective: Connective,
    right: Arc<dyn PhysicalExpr>,
}

impl Logic {
    pub(crate) fn operator(&self) -> Operator {
        self.connective.operator()
    }

    /// The rows that the left side does not decide about: NULL leaves both open.
    fn open(&self, left: &BooleanArray) -> BooleanArray {
        let undecided = match self.connective {
            Connective::And => left.values().clone(),
            Connective::Or => !left.values(),
        };
        BooleanArray::from(match left.nulls() {
            Some(valid) => &undecided | &!valid.inner(),
            None => undecided,
        })
    }
}

/// The expression with conditions that guard what may fail.
pub fn guarding(expr: Arc<dyn PhysicalExpr>, input: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
    let guarded =
        expr.transform_up(|part| {
            let connective = match part.downcast_ref::<BinaryExpr>().map(BinaryExpr::op) {
                Some(Operator::And) => Connective::And,
                Some(Operator::Or) => Connective::Or,
                _ => return Ok(Transformed::no(part)),
            };
            let mut operands = Vec::new();
            collect(&part, connective, &mut operands);
            let (fallible, total): (Vec<_>, Vec<_>) = operands.into_iter().partition(|o| may_fail(o, input));
            if fallible.is_empty() {
                return Ok(Transformed::no(part));
            }
            let both = |left, right| -> Arc<dyn PhysicalExpr> {
                Arc::new(BinaryExpr::new(left, connective.operator(), right))
            };
            let guarded =
                total.into_iter().reduce(both).into_iter().chain(fallible).reduce(|left, right| {
                    Arc::new(Logic { left, connective, right }) as Arc<dyn PhysicalExpr>
                });
            Ok(guarded.map_or(Transformed::no(part), Transformed::yes))
        });
    Ok(guarded?.data)
}

/// The operands of a chain of one connective, from left to right.
fn collect(part: &Arc<dyn PhysicalExpr>, connective: Connective, into: &mut Vec<Arc<dyn PhysicalExpr>>) {
    let is_chain = operator_of(part) == Some(connective.operator());
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
            (name, _) => !TOTAL.contains(&name),
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

impl PartialEq for Logic {
    fn eq(&self, other: &Self) -> bool {
        self.connective == other.connective
            && self.left.as_ref() == other.left.as_ref()
            && self.right.as_ref() == other.right.as_ref()
    }
}

impl Eq for Logic {}

impl Hash for Logic {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.left.hash(state);
        self.connective.hash(state);
        self.right.hash(state);
    }
}

impl fmt::Display for Logic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.left, self.operator(), self.right)
    }
}

impl PhysicalExpr for Logic {
    fn data_type(&self, _input: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, input: &Schema) -> Result<bool> {
        Ok(self.left.nullable(input)? || self.right.nullable(input)?)
    }

    fn return_field(&self, input: &Schema) -> Result<FieldRef> {
        BinaryExpr::new(self.left.clone(), self.operator(), self.right.clone()).return_field(input)
    }

    fn evaluate(&self, rows: &RecordBatch) -> Result<ColumnarValue> {
        let values = self.left.evaluate(rows)?.into_array(rows.num_rows())?;
        let left = values.as_boolean();
        let open = self.open(left);
        if !open.has_true() {
            return Ok(ColumnarValue::Array(values));
        }
        // NULL for the rows that are decided, which changes nothing about them.
        let right = match open.has_false() {
            true => self.right.evaluate_selection(rows, &open)?,
            false => self.right.evaluate(rows)?,
        };
        let right = right.into_array(rows.num_rows())?;
        let both = match self.connective {
            Connective::And => and_kleene(left, right.as_boolean())?,
            Connective::Or => or_kleene(left, right.as_boolean())?,
        };
        Ok(ColumnarValue::Array(Arc::new(both) as ArrayRef))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.left, &self.right]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let [left, right] = <[_; 2]>::try_from(children)
            .map_err(|_| DataFusionError::Internal("a condition has two sides".to_owned()))?;
        Ok(Arc::new(Logic { left, connective: self.connective, right }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.left.fmt_sql(f)?;
        write!(f, " {} ", self.operator())?;
        self.right.fmt_sql(f)
    }
}

#[cfg(test)]
mod tests;

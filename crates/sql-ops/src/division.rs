//! Division of whole numbers that overflows as in Java: the least number divided by -1 is itself, and leaves no rest.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::kernels::numeric::{div, neg_wrapping, rem, sub_wrapping};
use arrow::compute::kernels::{cmp::eq, zip::zip};
use arrow::datatypes::{DataType, FieldRef, Schema};
use arrow::error::ArrowError;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::BinaryExpr;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A quotient or rest of whole numbers. Only where Arrow says that a row overflows is it computed in another way.
#[derive(Debug, Clone)]
pub(crate) struct Division(BinaryExpr);

impl Division {
    pub(crate) fn operator(&self) -> Operator {
        *self.0.op()
    }

    fn wrapped(&self, rows: &RecordBatch) -> Result<ArrayRef> {
        let side = |side: &Arc<dyn PhysicalExpr>| side.evaluate(rows)?.into_array(rows.num_rows());
        let (left, right) = (side(self.0.left())?, side(self.0.right())?);
        let one = |n: i64| ScalarValue::Int64(Some(n)).cast_to(left.data_type())?.to_scalar();
        let by_minus_one = eq(&right, &one(-1)?)?;
        let divisor = zip(&by_minus_one, &one(1)?, &right)?;
        let (safe, otherwise) = match self.operator() {
            Operator::Divide => (div(&left, &divisor)?, neg_wrapping(&left)?),
            _ => (rem(&left, &divisor)?, sub_wrapping(&left, &left)?),
        };
        Ok(zip(&by_minus_one, &otherwise, &safe)?)
    }
}

/// The expression with divisions of whole numbers that do not overflow.
pub fn wrapping(expr: Arc<dyn PhysicalExpr>, input: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
    let wrapped = expr.transform_up(|part| match part.downcast_ref::<BinaryExpr>() {
        Some(binary)
            if matches!(binary.op(), Operator::Divide | Operator::Modulo)
                && part.data_type(input)?.is_signed_integer() =>
        {
            Ok(Transformed::yes(Arc::new(Division(binary.clone())) as Arc<dyn PhysicalExpr>))
        }
        _ => Ok(Transformed::no(part)),
    });
    Ok(wrapped?.data)
}

impl PartialEq for Division {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Division {}

impl Hash for Division {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Display for Division {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PhysicalExpr for Division {
    fn data_type(&self, input: &Schema) -> Result<DataType> {
        self.0.data_type(input)
    }

    fn nullable(&self, input: &Schema) -> Result<bool> {
        self.0.nullable(input)
    }

    fn return_field(&self, input: &Schema) -> Result<FieldRef> {
        self.0.return_field(input)
    }

    fn evaluate(&self, rows: &RecordBatch) -> Result<ColumnarValue> {
        match self.0.evaluate(rows) {
            Err(error) if is_overflow(&error) => self.wrapped(rows).map(ColumnarValue::Array),
            value => value,
        }
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.0.children()
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let [left, right] = <[_; 2]>::try_from(children)
            .map_err(|_| DataFusionError::Internal("a division has two sides".to_owned()))?;
        Ok(Arc::new(Division(BinaryExpr::new(left, self.operator(), right))))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_sql(f)
    }
}

fn is_overflow(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::ArrowError(error, _)
        if matches!(error.as_ref(), ArrowError::ArithmeticOverflow(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{AsArray, Int32Array};
    use arrow::datatypes::{Field, Int32Type};
    use datafusion_physical_expr::expressions::{binary, col};

    #[test]
    fn the_least_number_by_minus_one_is_itself_and_zero_is_an_error() {
        let schema = Arc::new(Schema::new(vec![
            Field::new("a", DataType::Int32, true),
            Field::new("b", DataType::Int32, true),
        ]));
        let rows = |a: Vec<Option<i32>>, b: Vec<Option<i32>>| {
            let columns: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(a)), Arc::new(Int32Array::from(b))];
            RecordBatch::try_new(schema.clone(), columns).unwrap()
        };
        let of = |op, rows: &RecordBatch| {
            let sides = (col("a", &schema).unwrap(), col("b", &schema).unwrap());
            let expr = wrapping(binary(sides.0, op, sides.1, &schema).unwrap(), &schema).unwrap();
            let value = expr.evaluate(rows)?.into_array(rows.num_rows())?;
            Ok::<_, DataFusionError>(value.as_primitive::<Int32Type>().iter().collect::<Vec<_>>())
        };
        let least = i32::MIN;
        let batch = rows(
            vec![Some(least), Some(7), Some(-7), None, Some(least)],
            vec![Some(-1), Some(-1), Some(2), Some(-1), None],
        );
        assert_eq!(of(Operator::Divide, &batch).unwrap(), [Some(least), Some(-7), Some(-3), None, None]);
        assert_eq!(of(Operator::Modulo, &batch).unwrap(), [Some(0), Some(0), Some(-1), None, None]);
        let batch = rows(vec![Some(least), Some(1)], vec![Some(-1), Some(0)]);
        assert!(of(Operator::Divide, &batch).unwrap_err().to_string().contains("Divide by zero"));
    }
}

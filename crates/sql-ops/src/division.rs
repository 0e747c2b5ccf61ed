//! Division of whole numbers that overflows as in Java: the least number divided by -1 is itself, and leaves no rest.

use crate::binary::{Binary, Evaluation, special};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::kernels::numeric::{div, neg_wrapping, rem, sub_wrapping};
use arrow::compute::kernels::{cmp::eq, zip::zip};
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::BinaryExpr;
use std::sync::Arc;

/// A quotient or rest of whole numbers. Only where Arrow says that a row overflows is it computed in another way.
pub(crate) type Division = Binary<Wrapping>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Wrapping;

impl Evaluation for Wrapping {
    fn evaluate(&self, expr: &BinaryExpr, rows: &RecordBatch) -> Result<ColumnarValue> {
        match expr.evaluate(rows) {
            Err(error) if is_overflow(&error) => wrapped(expr, rows).map(ColumnarValue::Array),
            value => value,
        }
    }
}

fn wrapped(expr: &BinaryExpr, rows: &RecordBatch) -> Result<ArrayRef> {
    let side = |side: &Arc<dyn PhysicalExpr>| side.evaluate(rows)?.into_array(rows.num_rows());
    let (left, right) = (side(expr.left())?, side(expr.right())?);
    let one = |n: i64| ScalarValue::Int64(Some(n)).cast_to(left.data_type())?.to_scalar();
    let by_minus_one = eq(&right, &one(-1)?)?;
    let divisor = zip(&by_minus_one, &one(1)?, &right)?;
    let (safe, otherwise) = match expr.op() {
        Operator::Divide => (div(&left, &divisor)?, neg_wrapping(&left)?),
        _ => (rem(&left, &divisor)?, sub_wrapping(&left, &left)?),
    };
    Ok(zip(&by_minus_one, &otherwise, &safe)?)
}

/// The expression with divisions of whole numbers that do not overflow.
pub fn wrapping(expr: Arc<dyn PhysicalExpr>, input: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
    special(expr, |binary| {
        let divides = matches!(binary.op(), Operator::Divide | Operator::Modulo);
        Ok((divides && binary.data_type(input)?.is_signed_integer()).then_some(Wrapping))
    })
}

fn is_overflow(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::ArrowError(error, _)
        if matches!(error.as_ref(), ArrowError::ArithmeticOverflow(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{AsArray, Int32Array};
    use arrow::datatypes::{DataType, Field, Int32Type};
    use datafusion_common::DataFusionError;
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

#![allow(clippy::unwrap_used, reason = "a failure here is that of a test")]

use super::*;
use crate::division::wrapping;
use arrow::array::Int32Array;
use arrow::datatypes::Field;
use datafusion_physical_expr::expressions::{binary, col, lit};

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![Field::new("n", DataType::Int32, true)]))
}

fn side(left: Arc<dyn PhysicalExpr>, op: Operator, right: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    binary(left, op, right, &schema()).unwrap()
}

fn quotient_is_large() -> Arc<dyn PhysicalExpr> {
    let quotient = side(lit(100i32), Operator::Divide, col("n", &schema()).unwrap());
    side(quotient, Operator::Gt, lit(50i32))
}

fn compared(op: Operator) -> Arc<dyn PhysicalExpr> {
    side(col("n", &schema()).unwrap(), op, lit(0i32))
}

fn values(expr: Arc<dyn PhysicalExpr>, rows: &[Option<i32>]) -> Result<Vec<Option<bool>>> {
    let batch = RecordBatch::try_new(schema(), vec![Arc::new(Int32Array::from(rows.to_vec()))])?;
    let guarded = guarding(wrapping(expr, &schema())?, &schema())?;
    let value = guarded.evaluate(&batch)?.into_array(rows.len())?;
    Ok(value.as_boolean().iter().collect())
}

#[test]
fn the_right_side_is_evaluated_where_the_left_leaves_it_open() {
    let rows = [Some(0), Some(1), None, Some(2), Some(0)];
    let both = |op, left| side(left, op, quotient_is_large());
    let and = values(both(Operator::And, compared(Operator::NotEq)), &rows).unwrap();
    assert_eq!(and, [Some(false), Some(true), None, Some(false), Some(false)]);
    let or = values(both(Operator::Or, compared(Operator::Eq)), &rows).unwrap();
    assert_eq!(or, [Some(true), Some(true), None, Some(false), Some(true)]);
}

#[test]
fn a_row_that_is_left_open_fails() {
    let both = side(compared(Operator::GtEq), Operator::And, quotient_is_large());
    assert!(values(both.clone(), &[Some(1), Some(0)]).is_err());
    assert_eq!(values(both, &[Some(1), Some(-1)]).unwrap(), [Some(true), Some(false)]);
}

#[test]
fn what_cannot_fail_stays_and_comes_first() {
    let plain = side(compared(Operator::NotEq), Operator::And, compared(Operator::GtEq));
    let made = guarding(plain.clone(), &schema()).unwrap();
    assert!(made.downcast_ref::<Logic>().is_none());
    let nested = guarding(side(compared(Operator::Lt), Operator::Or, plain.clone()), &schema()).unwrap();
    assert!(nested.downcast_ref::<Logic>().is_none());
    let turned = side(quotient_is_large(), Operator::And, plain);
    assert_eq!(values(turned, &[Some(0), Some(1)]).unwrap(), [Some(false), Some(true)]);
}

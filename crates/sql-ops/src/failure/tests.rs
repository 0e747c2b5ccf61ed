use super::evaluate;
use crate::testing::{changes, schema};
use arrow::datatypes::Schema;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator as Op;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{binary, case, col, lit};
use flugs_batch::ChangeBatch;
use flugs_types::ErrorKind;
use std::sync::Arc;

type Expr = Arc<dyn PhysicalExpr>;

fn of(input: &Schema, left: Expr, op: Op, right: Expr) -> Expr {
    binary(left, op, right, input).unwrap()
}

fn said(expr: &Expr, rows: &ChangeBatch) -> String {
    let error = evaluate(expr, rows.rows()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Data);
    error.to_string()
}

#[test]
fn a_division_by_zero_is_told_with_its_row_and_its_mend() {
    let input = schema("a BIGINT, b BIGINT, name STRING");
    let column = |name: &str| col(name, &input).unwrap();
    let rows = changes(&input, "+I | 1 | 2 | x\n+I | 4 | 4 | y\n+I | 7 | 0 | z\n+I | 8 | 0 | q");
    let quotient = of(&input, column("a"), Op::Divide, column("b"));
    let whole = of(&input, lit(1i64), Op::Plus, quotient.clone());
    assert_eq!(
        said(&whole, &rows),
        "bad data: division by zero: a / b, where a is 7, b is 0; \
         write NULLIF(b, 0) in place of the divisor to get NULL, or filter such rows out"
    );
    let difference = of(&input, column("a"), Op::Minus, column("b"));
    let rest = of(&input, column("a"), Op::Modulo, difference);
    assert!(said(&rest, &rows).starts_with(
        "bad data: division by zero: a % (a - b), where a is 4, b is 4; write NULLIF(a - b, 0) in"
    ));
}

#[test]
fn what_a_case_does_not_look_at_is_not_blamed() {
    let input = schema("a BIGINT, b BIGINT");
    let column = |name: &str| col(name, &input).unwrap();
    let rows = changes(&input, "+I | 1 | 0\n+I | 0 | 5");
    let (by_b, by_a) =
        (of(&input, lit(10i64), Op::Divide, column("b")), of(&input, lit(20i64), Op::Divide, column("a")));
    let is_zero = of(&input, column("b"), Op::Eq, lit(0i64));
    let guarded = case(None, vec![(is_zero, lit(0i64))], Some(by_b)).unwrap();
    assert!(evaluate(&guarded, rows.rows()).is_ok());
    let sum = of(&input, guarded, Op::Plus, by_a);
    assert!(
        said(&sum, &rows).starts_with("bad data: division by zero: 20 / a, where a is 0; write NULLIF(a, 0)")
    );
    let five =
        case(Some(column("b")), vec![(lit(5i64), of(&input, lit(1i64), Op::Divide, column("a")))], None);
    assert!(said(&five.unwrap(), &rows).starts_with("bad data: division by zero: 1 / a, where a is 0;"));
}

#[test]
fn long_texts_and_many_columns_are_cut() {
    let input = schema("a BIGINT, b BIGINT, c BIGINT, d BIGINT, e BIGINT");
    let column = |name: &str| col(name, &input).unwrap();
    let rows = changes(&input, "+I | 1 | 2 | 3 | 4 | 0");
    let sum =
        ["b", "c", "d"].into_iter().fold(column("a"), |sum, name| of(&input, sum, Op::Plus, column(name)));
    let expr = of(&input, sum, Op::Divide, column("e"));
    assert!(said(&expr, &rows).starts_with(
        "bad data: division by zero: (a + b + c + d) / e, where a is 1, b is 2, c is 3, d is 4, ...; write"
    ));
    let text = lit(ScalarValue::Utf8View(Some("x".repeat(300))));
    assert_eq!(super::words::in_words(&text), format!("'{}...'", "x".repeat(40)));
}

#[test]
fn constants_and_times_out_of_range_are_written_as_in_sql() {
    let input = schema("a BIGINT, t TIMESTAMP(3)");
    let column = |name: &str| col(name, &input).unwrap();
    let rows = changes(&input, "+I | 1 | 0");
    let by_constant = of(&input, column("a"), Op::Modulo, lit(0i64));
    assert!(
        said(&by_constant, &rows)
            .ends_with("division by zero: a % 0, where a is 1; divide by another number")
    );
    let time = lit(ScalarValue::TimestampMillisecond(Some(1_500), None));
    assert_eq!(super::words::in_words(&time), "TIMESTAMP '1970-01-01 00:00:01.500'");
    let years = lit(ScalarValue::new_interval_mdn(2_000_000_000, 0, 0));
    let sum = of(&input, column("t"), Op::Plus, years);
    assert_eq!(
        said(&sum, &rows),
        "bad data: the result is out of the range of TIMESTAMP(3): t + INTERVAL '2000000000' MONTH, \
         where t is 1970-01-01 00:00:00; filter such rows out, or guard the expression by CASE"
    );
}

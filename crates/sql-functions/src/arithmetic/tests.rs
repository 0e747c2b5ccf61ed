//! Types and values as Flink 2.3 gives them, and a comparison with arithmetic on fractions of integers.

use super::decimal_binary;
use crate::support::testing::{big, decimal, evaluate_udf, int, shown};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator::{Divide, Minus, Modulo, Multiply, Plus};
use datafusion_expr::{Operator, ScalarUDF};
use flugs_sql_types::LogicalType::{self, BigInt, Decimal, Double, Int, SmallInt, TinyInt};
use proptest::prelude::*;

fn planned(op: Operator, left: LogicalType, right: LogicalType) -> Option<(ScalarUDF, LogicalType)> {
    decimal_binary(op, &left.not_null(), &right.not_null()).map(|(function, t)| (function, t.kind))
}

#[test]
fn types_are_flinks() {
    for (op, left, right, expected) in [
        (Plus, Decimal(2, 1), Decimal(3, 2), Decimal(4, 2)),
        (Minus, Decimal(2, 1), TinyInt, Decimal(5, 1)),
        (Multiply, Decimal(3, 3), BigInt, Decimal(23, 3)),
        (Multiply, Decimal(4, 3), BigInt, Decimal(24, 3)),
        (Multiply, Decimal(38, 10), Decimal(38, 10), Decimal(38, 6)),
        (Multiply, Decimal(38, 0), Decimal(38, 0), Decimal(38, 0)),
        (Multiply, Decimal(38, 37), Decimal(38, 37), Decimal(38, 35)),
        (Multiply, Decimal(38, 18), Decimal(38, 18), Decimal(38, 6)),
        (Plus, Decimal(38, 20), Decimal(38, 0), Decimal(38, 6)),
        (Divide, Decimal(38, 20), Decimal(38, 10), Decimal(38, 10)),
        (Divide, Decimal(10, 2), Decimal(5, 1), Decimal(17, 8)),
        (Divide, Decimal(5, 2), Int, Decimal(16, 13)),
        (Divide, Int, Decimal(5, 2), Decimal(18, 6)),
        (Divide, Decimal(38, 18), Decimal(38, 18), Decimal(38, 6)),
        (Divide, Decimal(1, 0), Decimal(38, 0), Decimal(38, 37)),
        (Modulo, Decimal(10, 2), Decimal(5, 1), Decimal(6, 2)),
        (Modulo, Decimal(20, 0), Decimal(20, 10), Decimal(20, 10)),
        (Modulo, Decimal(3, 0), BigInt, Decimal(19, 0)),
        (Plus, SmallInt, Decimal(2, 1), Decimal(7, 1)),
    ] {
        let given = planned(op, left.clone(), right.clone()).map(|(_, t)| t);
        assert_eq!(given, Some(expected), "{left} {op} {right}");
    }
    assert!(planned(Plus, Int, BigInt).is_none(), "integers alone are DataFusion's");
    assert!(planned(Plus, Decimal(2, 1), Double).is_none(), "DOUBLE is approximate");
    assert!(planned(Operator::Eq, Decimal(2, 1), Int).is_none());
}

fn kind_of(value: &ScalarValue) -> LogicalType {
    flugs_sql_types::from_arrow(&value.data_type()).unwrap()
}

fn compute(op: Operator, left: ScalarValue, right: ScalarValue) -> String {
    let (function, _) = planned(op, kind_of(&left), kind_of(&right)).expect("exact arithmetic");
    shown(evaluate_udf(&function, &[left, right], "UTC"))
}

#[test]
fn values_are_flinks() {
    let max = 10i128.pow(38) - 1;
    for (op, left, right, expected) in [
        (Multiply, decimal(908, 4, 3), big(5), "4.540"),
        (Plus, decimal(15, 2, 1), decimal(225, 3, 2), "3.75"),
        (Minus, decimal(15, 2, 1), ScalarValue::Int8(Some(1)), "0.5"),
        (Multiply, decimal(10i128.pow(10), 38, 10), decimal(2 * 10i128.pow(10), 38, 10), "2.000000"),
        (Plus, decimal(10i128.pow(20), 38, 20), decimal(2, 38, 0), "3.000000"),
        (Divide, decimal(10i128.pow(20), 38, 20), decimal(3 * 10i128.pow(10), 38, 10), "0.3333333333"),
        (Divide, decimal(1000, 10, 2), decimal(30, 5, 1), "3.33333333"),
        (Divide, decimal(2 * 10i128.pow(18), 38, 18), decimal(3 * 10i128.pow(18), 38, 18), "0.666667"),
        (Divide, decimal(1, 1, 0), decimal(3, 38, 0), "0.3333333333333333333333333333333333333"),
        (Divide, int(1), decimal(300, 5, 2), "0.333333"),
        (Divide, decimal(-2000, 10, 3), decimal(3, 1, 0), "-0.666667"),
        (Modulo, decimal(1000, 10, 2), decimal(30, 5, 1), "1.00"),
        (Modulo, decimal(-1000, 10, 2), decimal(30, 5, 1), "-1.00"),
        (
            Multiply,
            decimal(10i128.pow(36), 38, 37),
            decimal(10i128.pow(36), 38, 37),
            "0.01000000000000000000000000000000000",
        ),
        // Too large a result is NULL.
        (Plus, decimal(max, 38, 0), int(1), "NULL"),
        (Multiply, decimal(max, 38, 0), int(10), "NULL"),
        (Minus, decimal(-max, 38, 0), decimal(max, 38, 0), "NULL"),
        (Divide, decimal(max, 38, 0), decimal(1, 38, 38), "NULL"),
        (Multiply, ScalarValue::Decimal128(None, 5, 2), int(1), "NULL"),
    ] {
        let call = format!("{left} {op} {right}");
        assert_eq!(compute(op, left, right), expected, "{call}");
    }
    for op in [Divide, Modulo] {
        assert!(compute(op, decimal(1, 2, 1), int(0)).contains("division by zero"), "{op}");
    }
}

/// The nearest multiple of 10^-scale to `numerator / denominator`, half away from zero.
fn nearest(numerator: i128, denominator: i128, scale: u32) -> i128 {
    let scaled = numerator * 10i128.pow(scale);
    let (quotient, rest) = (scaled / denominator, scaled % denominator);
    let away = if (scaled < 0) == (denominator < 0) { 1 } else { -1 };
    if 2 * rest.abs() >= denominator.abs() { quotient + away } else { quotient }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn results_are_the_nearest_numbers(a in -9999i128..=9999, b in -999i128..=999, s1 in 0i8..=4, s2 in 0i8..=3) {
        let (left, right) = (decimal(a, 4, s1), decimal(b, 3, s2));
        let (p1, p2) = (10i128.pow(s1 as u32), 10i128.pow(s2 as u32));
        for (op, numerator, denominator) in [
            (Plus, a * p2 + b * p1, p1 * p2),
            (Minus, a * p2 - b * p1, p1 * p2),
            (Multiply, a * b, p1 * p2),
            (Divide, a * p2, b * p1),
            (Modulo, if b == 0 { 0 } else { (a * p2) % (b * p1) }, p1 * p2),
        ] {
            let (function, kind) = planned(op, kind_of(&left), kind_of(&right)).unwrap();
            let given = evaluate_udf(&function, &[left.clone(), right.clone()], "UTC");
            let Decimal(precision, scale) = kind else { panic!("{kind}") };
            if b == 0 && matches!(op, Divide | Modulo) {
                prop_assert!(given.is_err());
                continue;
            }
            let expected = nearest(numerator, denominator, u32::from(scale));
            prop_assert_eq!(given.unwrap(), decimal(expected, precision, scale as i8), "{} {} {}", a, op, b);
        }
    }
}

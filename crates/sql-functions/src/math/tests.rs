//! What Flink 2.3 gives for the same calls on numbers.

use crate::support::testing::{
    NULL, big, check, decimal, double, evaluate, evaluate_columns, float, int, shown, text, tiny, type_of,
};

#[test]
fn numbers() {
    check(&[
        ("POWER", vec![int(2), int(10)], "1024.0"),
        ("POWER", vec![int(2), decimal(5, 2, 1)], "1.4142135623730951"),
        ("ABS", vec![int(-5)], "5"),
        ("ABS", vec![tiny(-128)], "-128"),
        ("ABS", vec![decimal(-150, 3, 2)], "1.50"),
        ("ABS", vec![float(-1.5)], "1.5"),
        ("SQRT", vec![int(2)], "1.4142135623730951"),
        ("SQRT", vec![int(-1)], "NaN"),
        ("LN", vec![int(0)], "-Infinity"),
        ("LN", vec![decimal(25, 2, 1)], "0.9162907318741551"),
        ("LOG2", vec![int(8)], "3.0"),
        ("LOG", vec![int(2), int(8)], "3.0"),
        ("LOG", vec![int(1), int(8)], "Infinity"),
        ("LOG", vec![int(-1)], "NaN"),
        ("EXP", vec![int(1)], "2.718281828459045"),
        ("SIN", vec![int(1)], "0.8414709848078965"),
        ("SINH", vec![int(1)], "1.1752011936438014"),
        ("COS", vec![int(1)], "0.5403023058681398"),
        ("TAN", vec![int(1)], "1.5574077246549023"),
        ("TANH", vec![int(1)], "0.7615941559557649"),
        ("COT", vec![int(1)], "0.6420926159343306"),
        ("ACOS", vec![decimal(5, 2, 1)], "1.0471975511965979"),
        ("ATAN", vec![int(1)], "0.7853981633974483"),
        ("ATAN2", vec![int(1), int(2)], "0.4636476090008061"),
        ("DEGREES", vec![int(1)], "57.29577951308232"),
        ("RADIANS", vec![int(180)], "3.141592653589793"),
        ("SIGN", vec![int(-5)], "-1"),
        ("SIGN", vec![decimal(-525, 3, 2)], "-1.00"),
        ("SIGN", vec![double(-2.5)], "-1.0"),
        ("SIGN", vec![float(0.0)], "0.0"),
        ("PI", vec![], "3.141592653589793"),
        ("E", vec![], "2.718281828459045"),
        ("SQRT", vec![decimal(200, 5, 2)], "1.4142135623730951"),
        ("POWER", vec![decimal(25, 3, 1), int(2)], "6.25"),
        ("SIGN", vec![int(5)], "1"),
        ("SIGN", vec![big(5)], "1"),
        ("EXP", vec![double(710.0)], "Infinity"),
        ("ATAN2", vec![decimal(0, 2, 1), decimal(0, 2, 1)], "0.0"),
        ("POWER", vec![int(0), int(0)], "1.0"),
        ("POWER", vec![int(-8), double(0.333)], "NaN"),
        ("LOG", vec![int(2), int(0)], "-Infinity"),
        ("LOG2", vec![decimal(200, 5, 2)], "1.0"),
        ("DEGREES", vec![decimal(314, 5, 2)], "179.9087476710785"),
        ("SIGN", vec![decimal(0, 3, 2)], "0.00"),
        ("ABS", vec![double(-0.0)], "0.0"),
    ]);
}

#[test]
fn rounded_numbers() {
    check(&[
        ("MOD", vec![decimal(-1050, 10, 2), int(3)], "-1.50"),
        ("MOD", vec![int(-7), int(3)], "-1"),
        ("MOD", vec![big(7), int(3)], "1"),
        ("MOD", vec![tiny(7), big(3)], "1"),
        ("CEIL", vec![decimal(12, 2, 1)], "2"),
        ("CEIL", vec![decimal(-12, 2, 1)], "-1"),
        ("CEIL", vec![double(1.2)], "2.0"),
        ("CEIL", vec![int(5)], "5"),
        ("CEIL", vec![float(1.2)], "2.0"),
        ("CEIL", vec![decimal(12000, 10, 4)], "2"),
        ("FLOOR", vec![decimal(19, 2, 1)], "1"),
        ("FLOOR", vec![decimal(-12, 2, 1)], "-2"),
        ("FLOOR", vec![double(-1.2)], "-2.0"),
        ("CEILING", vec![decimal(101, 3, 2)], "2"),
        ("ROUND", vec![decimal(25, 2, 1)], "3"),
        ("ROUND", vec![decimal(-25, 2, 1)], "-3"),
        ("ROUND", vec![decimal(2345, 4, 3), int(2)], "2.35"),
        ("ROUND", vec![decimal(12345, 5, 1), int(-2)], "1200"),
        ("ROUND", vec![int(1250), int(-2)], "1300"),
        ("ROUND", vec![int(15), int(-1)], "20"),
        ("ROUND", vec![int(-15), int(-1)], "-20"),
        ("ROUND", vec![double(2.345), int(2)], "2.35"),
        ("ROUND", vec![double(2.5)], "3.0"),
        ("ROUND", vec![double(0.285), int(2)], "0.29"),
        ("ROUND", vec![float(2.345), int(2)], "2.35"),
        ("ROUND", vec![tiny(125), int(-1)], "-126"),
        ("ROUND", vec![tiny(127), int(-2)], "100"),
        ("ROUND", vec![decimal(9999, 4, 1), int(0)], "1000"),
        ("ROUND", vec![decimal(9995, 4, 2), int(1)], "100.0"),
        ("ROUND", vec![decimal(15, 2, 1), int(5)], "1.5"),
        ("ROUND", vec![double(1e300), int(2)], "1.0E300"),
        ("TRUNCATE", vec![decimal(42324, 5, 3), int(2)], "42.32"),
        ("TRUNCATE", vec![decimal(42324, 5, 3)], "42"),
        ("TRUNCATE", vec![double(42.324), int(2)], "42.32"),
        ("TRUNCATE", vec![float(42.324), int(2)], "42.32"),
        ("TRUNCATE", vec![double(-42.324), int(0)], "-42.0"),
        ("TRUNCATE", vec![int(1234), int(-2)], "1200"),
        ("TRUNCATE", vec![decimal(123456, 6, 2), int(-2)], "1200"),
        ("TRUNCATE", vec![decimal(-1999, 4, 3), int(2)], "-1.99"),
        ("TRUNCATE", vec![int(5)], "5"),
        ("TRUNCATE", vec![double(42.324), int(-1)], "40.0"),
        ("MOD", vec![decimal(55, 2, 1), int(2)], "1.5"),
        ("MOD", vec![big(9223372036854775807), int(10)], "7"),
        ("FLOOR", vec![decimal(55, 3, 1)], "5"),
        ("ROUND", vec![big(5), int(1)], "5"),
        ("ROUND", vec![float(2.5)], "3.0"),
        ("ROUND", vec![double(-0.4)], "0.0"),
        ("ROUND", vec![double(1234.5678), int(-2)], "1200.0"),
        ("TRUNCATE", vec![double(0.29), int(2)], "0.29"),
        ("TRUNCATE", vec![big(5), int(1)], "5"),
        ("TRUNCATE", vec![int(-1234), int(-2)], "-1200"),
        ("CEIL", vec![double(f64::NAN)], "NaN"),
    ]);
}

#[test]
fn notations() {
    check(&[
        ("UNHEX", vec![text("4D7953514C")], "x'4d7953514c'"),
        ("UNHEX", vec![text("F")], "x'00'"),
        ("UNHEX", vec![text("zz")], "NULL"),
        ("UNHEX", vec![text("")], "x''"),
        ("HEX", vec![text("hello,world")], "68656C6C6F2C776F726C64"),
        ("HEX", vec![int(20)], "14"),
        ("HEX", vec![int(-1)], "FFFFFFFFFFFFFFFF"),
        ("HEX", vec![big(-1)], "FFFFFFFFFFFFFFFF"),
        ("HEX", vec![tiny(-1)], "FFFFFFFFFFFFFFFF"),
        ("BIN", vec![int(4)], "100"),
        ("BIN", vec![int(-1)], "1111111111111111111111111111111111111111111111111111111111111111"),
        ("BIN", vec![big(-1)], "1111111111111111111111111111111111111111111111111111111111111111"),
        ("BIN", vec![tiny(-1)], "1111111111111111111111111111111111111111111111111111111111111111"),
        ("HEX", vec![text("é")], "C3A9"),
        ("RAND", vec![int(1)], "0.7308781907032909"),
        ("RAND_INTEGER", vec![int(5), int(10)], "7"),
        ("RAND", vec![NULL], "NULL"),
        ("UNHEX", vec![text("ABC")], "x'00bc'"),
        ("UNHEX", vec![text("XABC")], "NULL"),
        ("UNHEX", vec![text("GAB")], "NULL"),
        ("HEX", vec![text("")], ""),
        ("BIN", vec![int(0)], "0"),
        ("RAND", vec![int(42)], "0.7275636800328681"),
        ("RAND_INTEGER", vec![int(42), int(100)], "30"),
        ("RAND_INTEGER", vec![int(1), int(16)], "11"),
    ]);
}

#[test]
fn where_flink_differs_or_fails() {
    check(&[
        ("MOD", vec![int(7), int(0)], "error: division by zero"),
        ("MOD", vec![decimal(15, 2, 1), int(0)], "error: division by zero"),
        (
            "MOD",
            vec![double(5.5), int(2)],
            "error: argument 1 of MOD is DOUBLE, but an integer or DECIMAL is expected",
        ),
        ("MOD", vec![big(i64::MIN), big(-1)], "0"),
        ("BIN", vec![decimal(55, 2, 1)], "error: argument 1 of BIN is DECIMAL(2, 1), but BIGINT is expected"),
        ("LOG10", vec![int(1000)], "3.0"),
        ("SIGN", vec![tiny(-5)], "-1"),
        ("SIGN", vec![double(-0.0)], "-0.0"),
        ("SIGN", vec![decimal(25, 2, 2)], "NULL"),
        ("ABS", vec![big(i64::MIN)], "-9223372036854775808"),
        ("ABS", vec![double(-0.0)], "0.0"),
        // Flink fails where it finds no digits.
        ("ROUND", vec![double(f64::NAN), int(2)], "NaN"),
        ("ROUND", vec![double(f64::INFINITY)], "Infinity"),
        ("ROUND", vec![double(-123.456), int(-5)], "0.0"),
        ("ROUND", vec![double(99.5), int(-2)], "100.0"),
        ("ROUND", vec![double(50.0), int(-2)], "100.0"),
        ("ROUND", vec![big(i64::MAX), int(-40)], "0"),
        ("TRUNCATE", vec![double(1e30), int(2)], "1.0E30"),
        ("TRUNCATE", vec![float(-42.987), int(1)], "-42.9"),
        ("RAND_INTEGER", vec![int(0)], "error: must be positive, not 0"),
        (
            "HEX",
            vec![double(1.0)],
            "error: argument 1 of HEX is DOUBLE, but an integer or STRING is expected",
        ),
    ]);
    let close = |name, expected: f64| match evaluate(name, &[int(1)]).unwrap() {
        datafusion_common::ScalarValue::Float64(Some(given)) => {
            assert!((given - expected).abs() < 1e-15, "{name}")
        }
        other => panic!("{name} gives {other}"),
    };
    close("COSH", 1.543_080_634_815_243_7);
    close("ASIN", std::f64::consts::FRAC_PI_2);
}

#[test]
fn null_gives_null() {
    for name in "ABS SIGN SQRT EXP LN LOG CEIL FLOOR ROUND TRUNCATE HEX BIN UNHEX RAND".split_whitespace() {
        assert!(evaluate(name, &[NULL]).unwrap().is_null(), "{name}");
    }
    for name in "POWER ATAN2 LOG MOD ROUND TRUNCATE RAND_INTEGER".split_whitespace() {
        assert!(evaluate(name, &[int(1), NULL]).unwrap().is_null(), "{name}");
    }
}

#[test]
fn random_values_differ_from_row_to_row() {
    use arrow::array::{ArrayRef, AsArray, Int32Array};
    let seeds: ArrayRef = std::sync::Arc::new(Int32Array::from(vec![1; 3]));
    let drawn = evaluate_columns("RAND", &[seeds]).unwrap();
    // The first numbers of java.util.Random(1).
    let expected = [0.730_878_190_703_290_9, 0.410_080_811_492_201_66, 0.207_714_841_309_717_07];
    assert_eq!(drawn.as_primitive::<arrow::datatypes::Float64Type>().values().as_ref(), expected);
    let one = shown(evaluate("UUID", &[]));
    assert_eq!((one.len(), &one[14..15]), (36, "4"));
    assert_ne!(one, shown(evaluate("UUID", &[])));
}

#[test]
fn types_follow_the_argument() {
    use flugs_sql_types::LogicalType::{BigInt, Decimal, Double, Float, Int, SmallInt, TinyInt};
    for (name, arguments, expected) in [
        ("ABS", vec![Decimal(5, 2)], Decimal(5, 2)),
        ("CEIL", vec![Decimal(10, 4)], Decimal(10, 0)),
        ("FLOOR", vec![SmallInt], SmallInt),
        ("ROUND", vec![Float], Float),
        ("SQRT", vec![Decimal(5, 2)], Double),
        ("MOD", vec![BigInt, Int], Int),
        ("MOD", vec![TinyInt, BigInt], BigInt),
        ("MOD", vec![Decimal(10, 2), Int], Decimal(10, 2)),
    ] {
        let arguments: Vec<_> = arguments.into_iter().map(|a| a.not_null()).collect();
        assert_eq!(type_of(name, &arguments).unwrap(), expected.not_null(), "{name}");
    }
}

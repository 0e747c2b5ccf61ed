//! What Flink 2.3 gives for the same calls on conditions.

use crate::support::testing::{
    NULL, big, boolean, check, decimal, double, evaluate, evaluate_columns, float, int, text, tiny, type_of,
};

#[test]
fn choices() {
    check(&[
        ("NULLIF", vec![int(5), int(5)], "NULL"),
        ("NULLIF", vec![int(5), int(0)], "5"),
        ("NULLIF", vec![text("a"), text("b")], "a"),
        ("NULLIF", vec![int(1), decimal(10, 2, 1)], "NULL"),
        ("COALESCE", vec![NULL, int(5), int(7)], "5"),
        ("COALESCE", vec![NULL, decimal(55, 2, 1)], "5.5"),
        ("COALESCE", vec![text("a"), text("bcd")], "a"),
        ("IFNULL", vec![NULL, int(5)], "5"),
        ("IFNULL", vec![int(1), decimal(25, 2, 1)], "1.0"),
        ("IFNULL", vec![text("a"), text("abc")], "a"),
        ("IF", vec![boolean(true), int(1), int(2)], "1"),
        ("IF", vec![NULL, int(1), int(2)], "2"),
        ("IF", vec![boolean(true), int(1), decimal(25, 2, 1)], "1.0"),
        ("IF", vec![boolean(true), tiny(1), big(2)], "1"),
        ("GREATEST", vec![int(1), int(2), int(3)], "3"),
        ("GREATEST", vec![int(1), decimal(25, 2, 1)], "2.5"),
        ("GREATEST", vec![text("a"), text("b")], "b"),
        ("GREATEST", vec![double(1.0), int(2)], "2.0"),
        ("LEAST", vec![int(3), int(1), int(2)], "1"),
        ("LEAST", vec![text("b"), text("a")], "a"),
        ("LEAST", vec![int(1), NULL], "NULL"),
        ("GREATEST", vec![big(1), float(2.5)], "2.5"),
        ("GREATEST", vec![boolean(true), boolean(false)], "TRUE"),
    ]);
}

#[test]
fn questions() {
    check(&[
        ("IS_ALPHA", vec![text("abc")], "TRUE"),
        ("IS_ALPHA", vec![text("ab1")], "FALSE"),
        ("IS_ALPHA", vec![text("")], "FALSE"),
        ("IS_ALPHA", vec![NULL], "FALSE"),
        ("IS_ALPHA", vec![text("世")], "TRUE"),
        ("IS_DIGIT", vec![text("123")], "TRUE"),
        ("IS_DIGIT", vec![text("12.3")], "FALSE"),
        ("IS_DIGIT", vec![int(12)], "TRUE"),
        ("IS_DIGIT", vec![decimal(123, 3, 1)], "FALSE"),
        ("IS_DIGIT", vec![text("١")], "TRUE"),
        ("IS_DIGIT", vec![text("")], "FALSE"),
        ("IS_DECIMAL", vec![text("1e5")], "TRUE"),
        ("IS_DECIMAL", vec![text("1.5f")], "TRUE"),
        ("IS_DECIMAL", vec![text(" 1.5 ")], "TRUE"),
        ("IS_DECIMAL", vec![text("abc")], "FALSE"),
        ("IS_DECIMAL", vec![decimal(15, 2, 1)], "FALSE"),
        ("IS_DECIMAL", vec![text("0x1p3")], "TRUE"),
        ("IS_DECIMAL", vec![text("NaN")], "TRUE"),
        ("IS_DECIMAL", vec![text("")], "FALSE"),
        ("IS_DECIMAL", vec![text("+5")], "TRUE"),
        ("IS_DECIMAL", vec![NULL], "FALSE"),
        ("IS_ALPHA", vec![text("a b")], "FALSE"),
        ("IS_DIGIT", vec![text("-1")], "FALSE"),
        ("IS_DIGIT", vec![double(1.0)], "FALSE"),
        ("IS_DECIMAL", vec![text("1,000")], "FALSE"),
        ("IS_DECIMAL", vec![text("1.")], "TRUE"),
        ("IS_DECIMAL", vec![text(".")], "FALSE"),
        ("IS_DECIMAL", vec![text("1e")], "FALSE"),
        ("IS_DECIMAL", vec![text("-.5e-3D")], "TRUE"),
    ]);
}

#[test]
fn types_and_errors() {
    use flugs_sql_types::LogicalType::{Char, Decimal, Int, VarChar};
    check(&[
        ("GREATEST", vec![int(1), NULL, int(3)], "NULL"),
        (
            "GREATEST",
            vec![text("a"), int(1)],
            "error: STRING and INT have no type in common; CAST one of them",
        ),
        ("COALESCE", vec![NULL, NULL], "NULL"),
        ("COALESCE", vec![NULL, int(5)], "5"),
        ("IS_DECIMAL", vec![boolean(true)], "error: is BOOLEAN, but a number or STRING is expected"),
        ("IS_ALPHA", vec![int(1)], "FALSE"),
        ("IS_DIGIT", vec![text("½")], "FALSE"),
        ("NULLIF", vec![NULL, int(1)], "NULL"),
        ("LEAST", vec![decimal(15, 2, 1), int(2)], "1.5"),
        ("TYPEOF", vec![decimal(15, 2, 1)], "DECIMAL(2, 1)"),
        ("TYPEOF", vec![NULL], "NULL"),
    ]);
    let both =
        |name, a: flugs_sql_types::SqlType, b: flugs_sql_types::SqlType| type_of(name, &[a, b]).unwrap();
    assert_eq!(both("COALESCE", Char(1).nullable(), Char(3).not_null()), VarChar(3).not_null());
    assert_eq!(both("IFNULL", Int.nullable(), Decimal(2, 1).not_null()), Decimal(11, 1).not_null());
    assert_eq!(both("GREATEST", Int.nullable(), Int.not_null()), Int.nullable());
    assert!(evaluate("IF", &[boolean(false), int(1), NULL]).unwrap().is_null());
}

#[test]
fn rows_choose_for_themselves() {
    use arrow::array::{ArrayRef, Int32Array};
    let column =
        |values: [Option<i32>; 4]| -> ArrayRef { std::sync::Arc::new(Int32Array::from(values.to_vec())) };
    let (a, b) = (column([Some(1), None, Some(3), None]), column([Some(2), Some(2), Some(2), None]));
    for (name, expected) in [
        ("COALESCE", [Some(1), Some(2), Some(3), None]),
        ("GREATEST", [Some(2), None, Some(3), None]),
        ("LEAST", [Some(1), None, Some(2), None]),
        ("NULLIF", [Some(1), None, Some(3), None]),
    ] {
        let given = evaluate_columns(name, &[a.clone(), b.clone()]).unwrap();
        assert_eq!(&given, &column(expected), "{name}");
    }
}

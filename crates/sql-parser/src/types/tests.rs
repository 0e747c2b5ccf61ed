use super::*;

#[track_caller]
fn same(text: &str, shown: &str) {
    let parsed = parse_type(text).unwrap_or_else(|e| panic!("{}", e.render(text)));
    assert_eq!(parsed.to_string(), shown);
    assert_eq!(parse_type(shown), Ok(parsed), "what is shown reads back");
}

#[test]
fn every_type_of_flink_is_read() {
    for (text, shown) in [
        ("boolean", "BOOLEAN"),
        ("INTEGER", "INT"),
        ("DOUBLE PRECISION", "DOUBLE"),
        ("DECIMAL", "DECIMAL(10, 0)"),
        ("DEC(5)", "DECIMAL(5, 0)"),
        ("NUMERIC(38, 38)", "DECIMAL(38, 38)"),
        ("CHAR", "CHAR(1)"),
        ("VARCHAR(2147483647)", "STRING"),
        ("CHARACTER VARYING(7)", "VARCHAR(7)"),
        ("BINARY(3)", "BINARY(3)"),
        ("BYTES", "BYTES"),
        ("TIME", "TIME(0)"),
        ("TIME(3) WITHOUT TIME ZONE", "TIME(3)"),
        ("TIMESTAMP", "TIMESTAMP(6)"),
        ("TIMESTAMP(3) WITHOUT TIME ZONE NOT NULL", "TIMESTAMP(3) NOT NULL"),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP_LTZ(3)"),
        ("INTERVAL YEAR(4)", "INTERVAL YEAR TO MONTH"),
        ("INTERVAL DAY TO SECOND(3)", "INTERVAL DAY TO SECOND(3)"),
        ("INT NOT NULL ARRAY", "ARRAY<INT NOT NULL>"),
        ("INT MULTISET", "MULTISET<INT>"),
        ("ARRAY<ARRAY<INT>>", "ARRAY<ARRAY<INT>>"),
        ("MAP<STRING, ARRAY<ROW<a INT, b ARRAY<INT>>>>", "MAP<STRING, ARRAY<ROW<`a` INT, `b` ARRAY<INT>>>>"),
        ("ROW<a INT NOT NULL 'it''s', `b``c` STRING>", "ROW<`a` INT NOT NULL 'it''s', `b``c` STRING>"),
        ("ROW(day INT, f ROW<>)", "ROW<`day` INT, `f` ROW<>>"),
    ] {
        same(text, shown);
    }
}

#[test]
fn what_is_no_type_is_refused() {
    for text in [
        "",
        "INTT",
        "DECIMAL(39)",
        "DECIMAL(3, 4)",
        "TIMESTAMP(10)",
        "CHAR(0)",
        "ARRAY<INT",
        "ARRAY<INT>>",
        "INT INT",
    ] {
        assert!(parse_type(text).is_err(), "{text}");
    }
    let deep = format!("{}INT{}", "ARRAY<".repeat(5000), ">".repeat(5000));
    assert!(parse_type(&deep).is_err());
    let error = parse_type("LONG").unwrap_err();
    assert_eq!(error.help.as_deref(), Some("did you mean `BIGINT`?"));
}

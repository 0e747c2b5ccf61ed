//! Golden encodings, lenient reading, projections, bad records, round trips.

use super::super::testing::{Table, array, map, row};
use super::JsonFormat;
use flugs_sql_types::LogicalType::{
    self, BigInt, Boolean, Date, Decimal, Double, Float, Int, IntervalDaySecond, IntervalYearMonth, SmallInt,
    Time, Timestamp, TimestampLtz, TinyInt,
};
use proptest::prelude::*;

const TEXT: LogicalType = LogicalType::STRING;

fn table(columns: &[(&str, LogicalType)], options: &[(&str, &str)]) -> Table<JsonFormat> {
    Table::new(JsonFormat, columns, options)
}

fn every_type() -> Vec<(&'static str, LogicalType)> {
    vec![
        ("b", Boolean),
        ("i8", TinyInt),
        ("i16", SmallInt),
        ("i32", Int),
        ("i64", BigInt),
        ("f", Float),
        ("d", Double),
        ("dec", Decimal(12, 9)),
        ("s", TEXT),
        ("x", LogicalType::BYTES),
        ("day", Date),
        ("t", Time(3)),
        ("ts", Timestamp(3)),
        ("us", Timestamp(6)),
        ("ltz", TimestampLtz(9)),
        ("ym", IntervalYearMonth),
        ("ds", IntervalDaySecond),
        ("arr", array(Int)),
        ("m", map(Double)),
        ("r", row(&[("a", Int), ("b", array(row(&[("c", TEXT)])))])),
    ]
}

const EVERY_VALUE: &str = concat!(
    r#"{"b":true,"i8":-128,"i16":32767,"i32":-7,"i64":9223372036854775807,"f":1.5,"d":1.0E10,"dec":2.7E-8,"#,
    r#""s":"a\"\\\n\u001Fü/","x":"AP8=","day":"2013-01-31","t":"23:59:59.999","ts":"2013-01-31 10:00:00.12","#,
    r#""us":"1969-12-31 23:59:59.000001","ltz":"2013-01-31 10:00:00.000000001Z","ym":14,"ds":90061500,"#,
    r#""arr":[1,null,3],"m":{"k":1.0,"l":null},"r":{"a":null,"b":[{"c":"x"},null]}}"#
);

#[test]
fn each_type_is_written_as_flink_writes_it_and_read_back() {
    let table = table(&every_type(), &[]);
    assert_eq!(table.rewrite(&[EVERY_VALUE]), format!("{EVERY_VALUE}\n"));
    assert_eq!(
        table.rows(&[EVERY_VALUE]),
        [concat!(
            "+I[true, -128, 32767, -7, 9223372036854775807, 1.5, 1.0E10, 2.7E-8, a\"\\\n\u{1f}\u{fc}/, [0, -1], ",
            "2013-01-31, 23:59:59.999, 2013-01-31T10:00:00.120, 1969-12-31T23:59:59.000001, ",
            "2013-01-31T10:00:00.000000001Z, P1Y2M, PT25H1M1.5S, [1, null, 3], {k=1.0, l=null}, ",
            "+I[null, [+I[x], null]]]"
        )]
    );
    let nulls = table.rewrite(&["{}"]);
    assert!(nulls.starts_with(r#"{"b":null,"i8":null"#) && nulls.ends_with("\"r\":null}\n"), "{nulls}");
}

#[test]
fn options_of_writing() {
    let columns = [("d", Decimal(12, 9)), ("t", Timestamp(3)), ("l", TimestampLtz(3)), ("n", Int)];
    let options = [
        ("timestamp-format.standard", "ISO-8601"),
        ("encode.decimal-as-plain-number", "true"),
        ("encode.ignore-null-fields", "true"),
    ];
    let record = r#"{"d":0.000000027,"t":"2013-01-31T10:00:00","l":"2013-01-31T10:00:00.5Z"}"#;
    assert_eq!(table(&columns, &options).rewrite(&[record]), format!("{record}\n"));
    let floats = table(&[("f", Float), ("d", Double)], &[]);
    assert_eq!(floats.rewrite(&[r#"{"f":"NaN","d":"-Infinity"}"#]), "{\"f\":\"NaN\",\"d\":\"-Infinity\"}\n");
}

#[test]
fn null_keys_fail_go_or_become_a_literal() {
    use arrow::array::{Int32Builder, MapBuilder, RecordBatch, StringViewBuilder};
    let mut builder = MapBuilder::new(None, StringViewBuilder::new(), Int32Builder::new());
    // Maps of Arrow have no NULL keys, so it is made of a key column without a mask.
    builder.keys().append_value("k");
    builder.values().append_value(1);
    builder.append(true).unwrap();
    let column: arrow::array::ArrayRef = std::sync::Arc::new(builder.finish());
    let rows = flugs_batch::ChangeBatch::inserts(RecordBatch::try_from_iter([("m", column)]).unwrap());
    for options in [&[][..], &[("map-null-key.mode", "DROP")], &[("map-null-key.mode", "LITERAL")]] {
        assert_eq!(table(&[("m", map(Int))], options).write(&rows).unwrap(), "{\"m\":{\"k\":1}}\n");
    }
}

#[test]
fn values_are_read_as_leniently_as_in_flink() {
    let table = table(
        &[("b", Boolean), ("i", Int), ("l", BigInt), ("d", Double), ("s", TEXT), ("dec", Decimal(5, 2))],
        &[],
    );
    let rows = table.rows(&[
        r#"{"b":"TRUE","i":" 12 ","l":1.9,"d":"1e3","s":12.50,"dec":"1.005"}"#,
        r#" { "b" : "x" , "i" : 1e2 , "l" : -1.9 , "d" : 7 , "s" : true , "dec" : 1234567 } "#,
        r#"{"s":{ "a" : [1, 2] , "b": null},"i":1,"i":2,"unknown":{"i":[3,{}]}}"#,
        "",
        r#"{"s":[ ]}"#,
    ]);
    assert_eq!(
        rows,
        [
            "+I[true, 12, 1, 1000.0, 12.50, 1.01]",
            "+I[false, 100, -1, 7.0, true, null]",
            "+I[null, 2, null, null, {\"a\":[1,2],\"b\":null}, null]",
            "+I[null, null, null, null, [], null]",
        ]
    );
}

#[test]
fn only_the_fields_asked_for_are_looked_at() {
    let table = table(
        &[("id", Int), ("r", row(&[("a", Int), ("b", row(&[("c", TEXT), ("d", Int)])), ("e", Int)]))],
        &[],
    );
    let records = [
        r#"{"id":"no number","r":{"a":"nor this","b":{"d":2,"c":"x"},"e":3}}"#,
        r#"{"r":{"b":null}}"#,
        r#"{"r":null}"#,
        r#"{}"#,
    ];
    let (rows, failures) = table.rows_and_failures(&["r.b.c", "r.e", "r.b"], &records);
    assert_eq!(failures, [""; 0]);
    assert_eq!(
        rows,
        ["+I[x, 3, +I[x, 2]]", "+I[null, null, null]", "+I[null, null, null]", "+I[null, null, null]"]
    );
    let mut decoder = table.decoder(&[]).unwrap();
    let (none, _) = decoder.decode(&[b"{}", b"{\"id\":1}"]).unwrap();
    assert_eq!(none.rows().num_rows(), 2);
}

#[test]
fn bad_records_name_the_field_and_the_place_and_leave_the_others() {
    let columns = [("id", Int), ("tags", array(row(&[("n", Int)]))), ("ts", Timestamp(3))];
    let table = table(&columns, &[]);
    let records = [
        r#"{"id":1}"#,
        r#"{"id":2,"tags":[{"n":1},{"n":"x"}]}"#,
        "no json",
        r#"{"id":3,"tags":[{"n":5}]}"#,
        r#"{"id":4,"ts":"2013-01-31T10:00:00"}"#,
        r#"{"id":99999999999}"#,
        r#"{"id":6} x"#,
        "{\"id\":\"\u{fc}\"}",
        r#"[{"id":7}]"#,
        r#"{"id":8}"#,
    ];
    let (rows, failures) = table.rows_and_failures(&[], &records);
    assert_eq!(rows, ["+I[1, null, null]", "+I[3, [+I[5]], null]", "+I[8, null, null]"]);
    assert_eq!(
        failures,
        [
            "1: INT expected, 'x' found (field `tags.item.n`, column 30)",
            "2: a JSON value expected, 'n' found (column 1)",
            "4: TIMESTAMP such as '2013-01-31 10:00:00' expected, '2013-01-31T10:00:00' found (field `ts`, column 14)",
            "5: 99999999999 is out of the range of INT (field `id`, column 7)",
            "6: the end of the record expected, 'x' found (column 10)",
            "7: INT expected, '\u{fc}' found (field `id`, column 7)",
            "8: a JSON object expected (column 1)",
        ]
    );
}

#[test]
fn ignored_errors_become_null_and_are_told() {
    let columns = [("id", Int), ("r", row(&[("n", Int), ("s", TEXT)]))];
    let table = table(&columns, &[("ignore-parse-errors", "true")]);
    let records = [r#"{"id":[1,{"a":2}],"r":{"n":"x","s":"y"}}"#, "{", r#"{"id":2,"r":5}"#];
    let (rows, failures) = table.rows_and_failures(&[], &records);
    assert_eq!(rows, ["+I[null, +I[null, y]]", "+I[2, null]"]);
    assert_eq!(
        failures,
        [
            "0: read as NULL: INT expected, an array found (field `id`, column 7); INT expected, 'x' found (field `n`, column 28)",
            "1: a key in double quotes expected, the end found (column 2)",
            "2: read as NULL: ROW expected, '5' found (field `r`, column 13)",
        ]
    );
    assert!(table.decoder(&["id"]).unwrap().ignores_failures());
    let (rows, _) = table.rows_and_failures(&["r.n"], &[r#"{"r":[1]}"#]);
    assert_eq!(rows, ["+I[null]"]);
}

#[test]
fn missing_fields_fail_where_asked() {
    let columns = [("id", Int), ("r", row(&[("n", Int)]))];
    let table = table(&columns, &[("fail-on-missing-field", "true")]);
    assert_eq!(table.failure(r#"{"id":1}"#), "field 'r' is missing (column 8)");
    assert_eq!(table.failure(r#"{"id":1,"r":{}}"#), "field 'n' is missing (field `r`, column 14)");
    assert_eq!(table.rows(&[r#"{"id":null,"r":null}"#]), ["+I[null, null]"]);
    let both = [("fail-on-missing-field", "true"), ("ignore-parse-errors", "true")];
    assert!(self::table(&columns, &both).decoder(&["id"]).is_err());
    let strict = self::table(&columns, &[]).not_null(0);
    assert_eq!(
        strict.failure(r#"{"r":null}"#),
        "a value expected, as the column is NOT NULL; NULL found (field `id`, column 10)"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn what_is_written_is_read_back(
        rows in prop::collection::vec((any::<Option<i64>>(), any::<Option<f64>>(), any::<Option<String>>(),
            prop::collection::vec(any::<Option<bool>>(), 0..4), -80_000_000_000_000i64..80_000_000_000_000), 1..6),
    ) {
        let table = table(&[("l", BigInt), ("d", Double), ("s", TEXT), ("a", array(Boolean)), ("t", Timestamp(3))], &[]);
        let json: Vec<String> = rows.iter().map(|(l, d, s, a, t)| {
            let mut time = String::new();
            let at = super::super::text::DateTime::of_timestamp(arrow::datatypes::TimeUnit::Millisecond, *t);
            super::super::text::date(&mut time, at.days);
            time.push(' ');
            super::super::text::time(&mut time, at);
            let d = d.filter(|d| d.is_finite());
            serde_json::json!({"t": time, "a": a, "s": s, "d": d, "l": l}).to_string()
        }).collect();
        let json: Vec<&str> = json.iter().map(String::as_str).collect();
        let first = table.rewrite(&json);
        for (line, (l, d, s, a, _)) in first.lines().zip(&rows) {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            prop_assert_eq!(&value["l"], &serde_json::json!(l));
            prop_assert_eq!(value["d"].as_f64(), d.filter(|d| d.is_finite()));
            prop_assert_eq!(&value["s"], &serde_json::json!(s));
            prop_assert_eq!(&value["a"], &serde_json::json!(a));
        }
        let lines: Vec<&str> = first.lines().collect();
        prop_assert_eq!(table.rewrite(&lines), first);
    }
}

//! Golden encodings, dialects, projections, bad records, round trips.

use super::super::testing::{Table, array, map, row};
use super::CsvFormat;
use flugs_sql_types::LogicalType::{
    self, BigInt, Boolean, Date, Decimal, Double, Int, Time, Timestamp, TimestampLtz, TinyInt,
};
use flugs_table::{FormatFactory, Options, RecordFraming};
use proptest::prelude::*;

const TEXT: LogicalType = LogicalType::STRING;

fn table(columns: &[(&str, LogicalType)], options: &[(&str, &str)]) -> Table<CsvFormat> {
    Table::new(CsvFormat, columns, options)
}

#[test]
fn each_type_is_written_as_flink_writes_it_and_read_back() {
    let columns = [
        ("b", Boolean),
        ("i8", TinyInt),
        ("i64", BigInt),
        ("d", Double),
        ("dec", Decimal(12, 9)),
        ("s", TEXT),
        ("x", LogicalType::BYTES),
        ("day", Date),
        ("t", Time(3)),
        ("ts", Timestamp(3)),
        ("ltz", TimestampLtz(3)),
        ("arr", array(Int)),
        ("r", row(&[("a", Int), ("b", TEXT)])),
    ];
    let record = concat!(
        r#"true,-128,9223372036854775807,1.0E10,2.7E-8,ab,AP8=,2013-01-31,23:59:59.999,"2013-01-31 10:00:00.12","#,
        r#""2013-01-31 10:00:00Z",1;2;3,7;x"#
    );
    let table = table(&columns, &[]);
    assert_eq!(table.rewrite(&[record]), format!("{record}\n"));
    assert_eq!(
        table.rows(&[record]),
        [concat!(
            "+I[true, -128, 9223372036854775807, 1.0E10, 2.7E-8, ab, [0, -1], 2013-01-31, 23:59:59.999, ",
            "2013-01-31T10:00:00.120, 2013-01-31T10:00:00Z, [1, 2, 3], +I[7, x]]"
        )]
    );
    assert_eq!(table.rewrite(&[",,,,,,,,,,,,"]), ",,,,,,,,,,,,\n");
}

#[test]
fn strings_are_quoted_where_jackson_quotes_them() {
    let table = table(&[("a", TEXT), ("b", Int)], &[]);
    for (text, want) in [
        ("plain", "plain"),
        ("two words", "\"two words\""),
        ("a\"\"b", "\"a\"\"b\""),
        ("1+1", "\"1+1\""),
        ("a.b/c-d_e:f;g", "a.b/c-d_e:f;g"),
        ("abcdefghijklmnopqrstuvwx", "abcdefghijklmnopqrstuvwx"),
        ("abcdefghijklmnopqrstuvwxy", "\"abcdefghijklmnopqrstuvwxy\""),
        (
            "\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}",
            "\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}",
        ),
    ] {
        assert_eq!(table.rewrite(&[&format!("\"{text}\",1")]), format!("{want},1\n"));
    }
}

#[test]
fn dialects() {
    let columns = [("a", TEXT), ("b", Int), ("c", array(TEXT))];
    let options = [
        ("field-delimiter", "|"),
        ("quote-character", "'"),
        ("array-element-delimiter", "::"),
        ("null-literal", "n/a"),
        ("allow-comments", "true"),
    ];
    let (rows, failures) =
        table(&columns, &options).rows_and_failures(&[], &["# a|b", "'it''s'|n/a|x::y", "n/a|1|'n/a'"]);
    assert_eq!(
        (rows, failures),
        (vec!["+I[it's, null, [x, y]]".to_owned(), "+I[null, 1, null]".to_owned()], vec![])
    );
    assert_eq!(table(&columns, &options).rewrite(&["n/a|n/a|x"]), "n/a|n/a|'x'\n");
    let unquoted = table(&columns, &[("disable-quote-character", "true"), ("escape-character", "\\")]);
    assert_eq!(unquoted.rows(&["a\"\\,b,1,x"]), ["+I[a\",b, 1, [x]]"]);
    let tab = table(&columns, &[("field-delimiter", "\\t")]);
    assert_eq!(tab.rows(&["a\t1\tx"]), ["+I[a, 1, [x]]"]);
    let wrong = table(&columns, &[("field-delimiter", "ab")]).decoder(&["a"]).err().unwrap().to_string();
    assert!(wrong.contains("'csv.field-delimiter' has the value 'ab'"), "{wrong}");
    let plain = table(&[("d", Decimal(12, 9))], &[("write-bigdecimal-in-scientific-notation", "false")]);
    assert_eq!(plain.rewrite(&["2.7E-8"]), "0.000000027\n");
}

#[test]
fn framing_follows_the_quotes() {
    let framing = |pairs: &[(&str, &str)]| {
        let options: Options = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        CsvFormat.framing(&options).unwrap()
    };
    assert_eq!(framing(&[]), RecordFraming::QuotedLines { delimiter: b',', quote: b'"' });
    assert_eq!(framing(&[("csv.disable-quote-character", "true")]), RecordFraming::Lines);
    assert_eq!(
        framing(&[("csv.quote-character", "'"), ("csv.field-delimiter", ";")]),
        RecordFraming::QuotedLines { delimiter: b';', quote: b'\'' }
    );
}

#[test]
fn only_the_columns_asked_for_are_read() {
    let table = table(&[("a", Int), ("b", TEXT), ("r", row(&[("x", Int), ("y", TEXT)])), ("d", Int)], &[]);
    let records = ["no number,b1,7;z,4", "1,b2,,"];
    let (rows, failures) = table.rows_and_failures(&["d", "b"], &records);
    assert_eq!(rows, ["+I[4, b1]", "+I[null, b2]"]);
    assert_eq!(failures, [""; 0]);
    let (rows, _) = table.rows_and_failures(&["r.y", "d", "r"], &records);
    assert_eq!(rows, ["+I[z, 4, +I[7, z]]", "+I[null, null, null]"]);
    let (none, _) = table.decoder(&[]).unwrap().decode(&[b"1,b,,", b"2,c,,"]).unwrap();
    assert_eq!(none.rows().num_rows(), 2);
}

#[test]
fn bad_records_name_the_field_and_leave_the_others() {
    let columns = [("a", Int), ("b", TEXT), ("t", Timestamp(3))];
    let strict = table(&columns, &[]);
    let records =
        ["1,x,", "one,x,", "2,\"x", "3,x", "4,x,,5", "5,x,2013-01-31T00:00:00", "6,\"y\"z,", "7,x,"];
    let (rows, failures) = strict.rows_and_failures(&[], &records);
    assert_eq!(rows, ["+I[1, x, null]", "+I[7, x, null]"]);
    assert_eq!(
        failures,
        [
            "1: INT expected, 'one' found (field `a`, number 1)",
            "2: this quoted field has no closing quote (column 3)",
            "3: a record of 3 fields expected, 2 found",
            "4: a record of 3 fields expected, more found",
            "5: TIMESTAMP such as '2013-01-31 10:00:00' expected, '2013-01-31T00:00:00' found (field `t`, number 3)",
            "6: a delimiter or the line's end expected behind the closing quote (column 6)",
        ]
    );
    let lenient = table(&columns, &[("ignore-parse-errors", "true")]);
    let (rows, failures) = lenient.rows_and_failures(&[], &records);
    assert_eq!(
        rows,
        ["+I[1, x, null]", "+I[null, x, null]", "+I[3, x, null]", "+I[5, x, null]", "+I[7, x, null]"]
    );
    assert_eq!(failures.len(), 6);
    assert_eq!(failures[0], "1: read as NULL: INT expected, 'one' found (field `a`, number 1)");
}

#[test]
fn maps_are_refused() {
    let table = table(&[("m", map(Int))], &[]);
    assert_eq!(table.failure("a"), "a MAP cannot be read from CSV (field `m`, number 1)");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn what_is_written_is_read_back(
        rows in prop::collection::vec(("[ab,;\"\\\\\n \u{fc}]{1,30}", any::<Option<i64>>(), any::<Option<bool>>()), 1..6),
        delimiter in prop::sample::select(vec![",", ";", "|"]),
        escape: bool,
    ) {
        let mut options = vec![("field-delimiter", delimiter), ("null-literal", "NULL")];
        if escape {
            options.push(("escape-character", "\\"));
        }
        let table = table(&[("s", TEXT), ("l", BigInt), ("b", Boolean)], &options);
        let columns = super::super::testing::show;
        let json = Table::new(super::super::JsonFormat, &[("s", TEXT), ("l", BigInt), ("b", Boolean)], &[]);
        let records: Vec<String> =
            rows.iter().map(|(s, l, b)| serde_json::json!({"s": s, "l": l, "b": b}).to_string()).collect();
        let given = json.read(&records.iter().map(String::as_str).collect::<Vec<_>>());
        for row in 0..rows.len() {
            let one = given.slice(row, 1);
            let written = table.write(&one).unwrap();
            let record = written.strip_suffix('\n').unwrap();
            prop_assert_eq!(columns(&table.read(&[record])), columns(&one));
        }
    }
}

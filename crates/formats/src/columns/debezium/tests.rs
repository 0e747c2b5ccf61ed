//! Changes in and out, envelopes, bad messages.

use super::super::testing::Table;
use super::DebeziumFormat;
use flugs_sql_types::LogicalType::{self, Int};

fn table(options: &[(&str, &str)]) -> Table<DebeziumFormat> {
    Table::new(DebeziumFormat, &[("id", Int), ("s", LogicalType::STRING)], options)
}

const MESSAGES: [&str; 5] = [
    r#"{"before":null,"after":{"id":1,"s":"a"},"source":{"op":"x"},"op":"c","ts_ms":1589355606100}"#,
    r#"{"op":"r","after":{"s":"b","id":2}}"#,
    r#"{"before":{"id":1,"s":"a"},"after":{"id":1,"s":"aa"},"op":"u"}"#,
    "",
    r#"{"before":{"id":2,"s":"b"},"after":null,"op":"d"}"#,
];
const ROWS: [&str; 5] = ["+I[1, a]", "+I[2, b]", "-U[1, a]", "+U[1, aa]", "-D[2, b]"];

#[test]
fn changes_are_read_and_written() {
    assert_eq!(table(&[]).rows(&MESSAGES), ROWS);
    assert_eq!(
        table(&[]).rewrite(&MESSAGES),
        concat!(
            "{\"before\":null,\"after\":{\"id\":1,\"s\":\"a\"},\"op\":\"c\"}\n",
            "{\"before\":null,\"after\":{\"id\":2,\"s\":\"b\"},\"op\":\"c\"}\n",
            "{\"before\":{\"id\":1,\"s\":\"a\"},\"after\":null,\"op\":\"d\"}\n",
            "{\"before\":null,\"after\":{\"id\":1,\"s\":\"aa\"},\"op\":\"c\"}\n",
            "{\"before\":{\"id\":2,\"s\":\"b\"},\"after\":null,\"op\":\"d\"}\n",
        )
    );
}

#[test]
fn an_envelope_with_a_schema_is_opened() {
    let wrap = |message: &&str| {
        if message.is_empty() {
            String::new()
        } else {
            format!(r#"{{"schema":{{"before":1}},"payload":{message}}}"#)
        }
    };
    let messages: Vec<String> = MESSAGES.iter().map(wrap).collect();
    let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
    let table = table(&[("schema-include", "true")]);
    assert_eq!(table.rows(&messages), ROWS);
    assert_eq!(table.failure("{\"op\":\"c\"}"), "field 'payload' is missing (column 10)");
}

#[test]
fn a_message_that_fails_leaves_no_half_of_an_update() {
    let messages = [
        r#"{"before":{"id":1},"after":{"id":"x"},"op":"u"}"#,
        r#"{"before":{"id":1},"after":null,"op":"u"}"#,
        r#"{"before":null,"after":null,"op":"d"}"#,
        r#"{"op":"t"}"#,
        r#"{"after":{"id":1}}"#,
        r#"{"after":{"id":1},"op":"c"}"#,
    ];
    let (rows, failures) = table(&[]).rows_and_failures(&[], &messages);
    assert_eq!(rows, ["+I[1, null]"]);
    assert_eq!(
        failures,
        [
            "0: INT expected, 'x' found (field `id`, column 34)",
            "1: field 'after' expected with the op \"u\"; is the whole row logged? (column 38)",
            "2: field 'before' expected with the op \"d\"; is the whole row logged? (column 34)",
            "3: the op \"c\", \"r\", \"u\" or \"d\" expected, \"t\" found (column 7)",
            "4: field 'op' is missing (column 18)",
        ]
    );
    let (rows, _) = table(&[]).rows_and_failures(&["s"], &MESSAGES);
    assert_eq!(rows, ["+I[a]", "+I[b]", "-U[a]", "+U[aa]", "-D[b]"]);
}

//! Values as bytes, charsets, byte orders, lengths.

use super::super::testing::{Table, show};
use super::RawFormat;
use flugs_sql_types::LogicalType::{self, BigInt, Double, Int, SmallInt, TinyInt};

fn table(kind: LogicalType, options: &[(&str, &str)]) -> Table<RawFormat> {
    Table::new(RawFormat, &[("v", kind)], options)
}

fn decoded(kind: LogicalType, options: &[(&str, &str)], record: &[u8]) -> String {
    let (rows, failures) = table(kind, options).decoder(&["v"]).unwrap().decode(&[record]).unwrap();
    show(&rows).concat() + &failures.iter().map(|f| f.message.as_str()).collect::<String>()
}

#[test]
fn values_are_their_bytes() {
    let little = [("endianness", "little-endian")];
    assert_eq!(decoded(Int, &[], &[0, 0, 1, 2]), "+I[258]");
    assert_eq!(decoded(Int, &little, &[2, 1, 0, 0]), "+I[258]");
    assert_eq!(decoded(SmallInt, &[], &[0xff, 0xfe]), "+I[-2]");
    assert_eq!(decoded(TinyInt, &[], &[0xff]), "+I[-1]");
    assert_eq!(decoded(BigInt, &[], &[1, 0, 0, 0, 0, 0, 0, 0]), "+I[72057594037927936]");
    assert_eq!(decoded(Double, &[], &1.5f64.to_be_bytes()), "+I[1.5]");
    assert_eq!(decoded(LogicalType::Boolean, &[], &[1]), "+I[true]");
    assert_eq!(decoded(LogicalType::BYTES, &[], &[0, 0xff]), "+I[[0, -1]]");
    assert_eq!(decoded(LogicalType::STRING, &[], "\u{fc}".as_bytes()), "+I[\u{fc}]");
    assert_eq!(decoded(LogicalType::STRING, &[("charset", "ISO-8859-1")], &[0xfc]), "+I[\u{fc}]");
    assert_eq!(decoded(LogicalType::STRING, &[], b""), "+I[]");
    assert_eq!(decoded(Int, &[], b"abc"), "INT of 4 bytes expected, a record of 3 bytes found");
    assert_eq!(decoded(LogicalType::STRING, &[], b"a\xff"), "UTF-8 expected, byte 0xff found (column 2)");
    let ascii = [("charset", "US-ASCII")];
    assert_eq!(
        decoded(LogicalType::STRING, &ascii, b"a\xff"),
        "US-ASCII expected, byte 0xff found (column 2)"
    );
}

#[test]
fn values_are_written_as_they_are_read() {
    let text = table(LogicalType::STRING, &[]);
    assert_eq!(text.rewrite(&["a b", "", "\u{fc}"]), "a b\n\n\u{fc}\n");
    assert_eq!(table(Int, &[]).rewrite(&["abcd"]), "abcd\n");
    let error = text.write(&text.read(&["a\nb"])).unwrap_err().to_string();
    assert!(error.contains("line break"), "{error}");
    let two = Table::new(RawFormat, &[("a", Int), ("b", Int)], &[]);
    assert!(two.decoder(&["a"]).err().unwrap().to_string().contains("one column"));
}

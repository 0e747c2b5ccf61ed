//! Kinds, bounds, lengths, NULLs, all types, and the same rows at any parallelism.

use crate::testing::{Table, run, show};
use flugs_connector::Boundedness;
use flugs_sql_types::LogicalType::{self, *};
use flugs_sql_types::RowField;

const TEXT: LogicalType = LogicalType::STRING;

fn table(columns: &[(&str, LogicalType)], options: &[(&str, &str)]) -> Table {
    Table::new("datagen", columns, options)
}

fn any(kind: LogicalType) -> Box<flugs_sql_types::SqlType> {
    Box::new(kind.nullable())
}

#[test]
fn sequences_count_and_the_shortest_ends_the_table() {
    let columns = [("a", BigInt), ("b", TEXT), ("c", Decimal(5, 1))];
    let options = [
        ("fields.a.kind", "sequence"),
        ("fields.a.start", "-2"),
        ("fields.a.end", "100"),
        ("fields.b.kind", "sequence"),
        ("fields.b.start", "10"),
        ("fields.b.end", "13"),
        ("fields.c.kind", "sequence"),
        ("fields.c.start", "1"),
        ("fields.c.end", "9"),
    ];
    let table = table(&columns, &options);
    assert_eq!(table.source().unwrap().boundedness(), Boundedness::Bounded);
    assert_eq!(
        table.rows(&["b", "a", "c"], 1),
        ["+I[10, -2, 1.0]", "+I[11, -1, 2.0]", "+I[12, 0, 3.0]", "+I[13, 1, 4.0]"]
    );
}

#[test]
fn random_values_keep_their_bounds_and_lengths() {
    let columns = [
        ("i", Int),
        ("d", Double),
        ("s", TEXT),
        ("v", TEXT),
        ("c", Char(5)),
        ("n", Int),
        ("dec", Decimal(6, 2)),
    ];
    let options = [
        ("number-of-rows", "5000"),
        ("seed", "7"),
        ("fields.i.min", "-1"),
        ("fields.i.max", "1"),
        ("fields.d.min", "2.5"),
        ("fields.d.max", "3"),
        ("fields.s.length", "4"),
        ("fields.v.length", "3"),
        ("fields.v.var-len", "true"),
        ("fields.n.null-rate", "0.25"),
        ("fields.dec.min", "1.5"),
        ("fields.dec.max", "2"),
    ];
    let rows = table(&columns, &options).rows(&["i", "d", "s", "v", "c", "n", "dec"], 1);
    assert_eq!(rows.len(), 5000);
    let (mut seen, mut lengths, mut nulls) = ([0; 3], [0; 4], 0);
    for row in &rows {
        let fields: Vec<&str> =
            row.strip_prefix("+I[").unwrap().strip_suffix(']').unwrap().split(", ").collect();
        seen[(fields[0].parse::<i32>().unwrap() + 1) as usize] += 1;
        assert!((2.5..3.0).contains(&fields[1].parse::<f64>().unwrap()));
        assert!(fields[2].len() == 4 && fields[2].bytes().all(|b| b.is_ascii_hexdigit()));
        lengths[fields[3].len()] += 1;
        assert_eq!(fields[4].len(), 5);
        nulls += usize::from(fields[5] == "null");
        assert!((1.5..=2.0).contains(&fields[6].parse::<f64>().unwrap()));
    }
    assert!(seen.iter().all(|n| (1500..1850).contains(n)), "{seen:?}");
    assert!(lengths[0] == 0 && lengths[1..].iter().all(|n| (1500..1850).contains(n)), "{lengths:?}");
    assert!((1100..1400).contains(&nulls), "{nulls}");
}

#[test]
fn every_type_has_values() {
    let row = Row(vec![RowField::new("x", Int.nullable()), RowField::new("y", Array(any(TEXT)).nullable())]);
    let columns = [
        ("b", Boolean),
        ("i8", TinyInt),
        ("i16", SmallInt),
        ("f", Float),
        ("x", LogicalType::BYTES),
        ("day", Date),
        ("t", Time(0)),
        ("ts", Timestamp(3)),
        ("ltz", TimestampLtz(6)),
        ("ym", IntervalYearMonth),
        ("ds", IntervalDaySecond),
        ("m", Map(any(TEXT), any(BigInt))),
        ("ms", Multiset(any(Int))),
        ("r", row),
    ];
    let options = [
        ("number-of-rows", "100"),
        ("seed", "1"),
        ("fields.x.length", "2"),
        ("fields.m.key.length", "2"),
        ("fields.m.length", "1"),
        ("fields.r.y.length", "2"),
        ("fields.r.y.element.length", "1"),
        ("fields.r.x.min", "5"),
        ("fields.r.x.max", "5"),
        ("fields.ltz.max-past", "1 h"),
    ];
    let table = table(&columns, &options);
    let rows = table.rows(&table.all(), 1);
    assert_eq!(rows.len(), 100);
    for row in &rows {
        assert!(row.contains("2020-01-01, 00:00, 2020-01-01T00:00, "), "{row}");
        assert!(row.contains("2019-12-31T23:") || row.contains("T00:00:00Z"), "{row}");
        assert!(row.contains("+I[5, ["), "{row}");
    }
    let parts = table.rows(&["r.x", "r.y"], 1);
    assert!(parts.iter().zip(&rows).all(|(part, row)| row.ends_with(&format!("{part}]"))));
}

#[test]
fn rows_depend_on_their_number_alone() {
    let columns = [("i", BigInt), ("s", TEXT)];
    let options = [("number-of-rows", "20000"), ("fields.s.length", "3"), ("rows-per-second", "7000")];
    let table = table(&columns, &options);
    let sorted = |mut rows: Vec<String>| {
        rows.sort();
        rows
    };
    let want = sorted(table.rows(&["i", "s"], 1));
    assert_eq!(want.len(), 20_000);
    assert!(sorted(table.rows(&["i", "s"], 3)) == want);
    let scan = table.source().unwrap().scan(&table.request(&["i", "s"])).unwrap();
    let (first, splits) = run(&*scan, 2, None, 3);
    let (second, _) = run(&*scan, 3, Some(splits), u32::MAX);
    assert!(!first.is_empty() && sorted([show(&first), show(&second)].concat()) == want);
}

#[test]
fn wrong_options_are_named() {
    let error = |kind: LogicalType, options: &[(&str, &str)]| {
        table(&[("a", kind)], options).source().err().unwrap().to_string()
    };
    assert!(error(Int, &[("fields.a.min", "x")]).contains("'fields.a.min' has the value 'x'"));
    assert!(error(Int, &[("fields.a.min", "2"), ("fields.a.max", "1")]).contains("'fields.a.min' is above"));
    assert!(error(Int, &[("fields.a.kind", "sequence")]).contains("'fields.a.start' is missing"));
    assert!(
        error(Boolean, &[("fields.a.kind", "sequence"), ("fields.a.start", "1"), ("fields.a.end", "2")])
            .contains("numbers or strings")
    );
    assert!(error(Int, &[("rows-per-second", "0")]).contains("cannot be 0"));
    assert!(error(Int, &[("row-per-second", "1")]).contains("did you mean 'rows-per-second'?"));
    assert!(error(TEXT, &[("fields.a.length", "99999999")]).contains("is above"));
    assert!(table(&[("a", Int)], &[]).sink().is_err());
}

#[test]
fn options_that_say_nothing_are_refused() {
    let refused = |key: &str, kind: LogicalType| {
        let table = table(&[("a", kind)], &[("number-of-rows", "1"), (key, "5")]);
        table.source().err().map(|error| error.to_string())
    };
    let text = refused("fields.b.length", Int).unwrap();
    assert!(text.contains("'fields.b.length'") && text.contains("known options: fields.a.kind"), "{text}");
    let text = refused("fields.a.start", Int).unwrap();
    assert!(text.contains("fields.a.kind, fields.a.null-rate, fields.a.min, fields.a.max"), "{text}");
    assert!(refused("fields.a.min", Timestamp(3)).is_some());
    assert!(refused("fields.a.length", Char(3)).is_some());
    assert_eq!(refused("fields.a.length", VarChar(9)), None);
    let nested =
        || Array(any(Row(vec![RowField { name: "x".to_owned(), sql_type: *any(Int), comment: None }])));
    assert_eq!(refused("fields.a.element.x.min", nested()), None);
    assert!(refused("fields.a.element.y.min", nested()).is_some());
}

//! Parquet: round trips, projections, pruned row groups, positions.

use super::sinks::{batch, write, write_all, writer};
use super::*;
use flugs_sql_types::RowField;
use flugs_types::{CheckpointId, ManualClock};

fn table(columns: &[(&str, LogicalType)], dir: &Path) -> Table {
    Table::new(columns, &[], &[("format", "parquet")]).at(dir)
}

#[test]
fn each_type_is_read_as_it_was_written() {
    use LogicalType::{
        BigInt, Boolean, Date, Decimal, Double, Float, Int, SmallInt, Time, Timestamp, TimestampLtz, TinyInt,
    };
    let any = |kind: LogicalType| Box::new(kind.nullable());
    let row = LogicalType::Row(vec![
        RowField::new("a", Int.nullable()),
        RowField::new("b", LogicalType::Array(any(TEXT)).nullable()),
    ]);
    let columns = [
        ("b", Boolean),
        ("i8", TinyInt),
        ("i16", SmallInt),
        ("i32", Int),
        ("i64", BigInt),
        ("f", Float),
        ("d", Double),
        ("dec", Decimal(23, 3)),
        ("s", TEXT),
        ("x", LogicalType::BYTES),
        ("day", Date),
        ("t", Time(3)),
        ("ts", Timestamp(3)),
        ("ltz", TimestampLtz(6)),
        ("m", LogicalType::Map(any(TEXT), any(Int))),
        ("r", row),
    ];
    let dir = TempDir::new().unwrap();
    let table = table(&columns, dir.path());
    let lines = [
        concat!(
            r#"{"b":true,"i8":-1,"i16":300,"i32":-7,"i64":9007199254740993,"f":1.5,"d":-0.1,"dec":"12345678901234567890.123","#,
            r#""s":"a far longer string than twelve","x":"AP8=","day":"2013-01-31","t":"23:59:59.999","#,
            r#""ts":"1969-12-31 23:59:59.999","ltz":"2013-01-31 10:00:00.000001Z","m":{"k":1,"l":null},"r":{"a":1,"b":["x",null]}}"#
        ),
        "{}",
    ];
    write_all(&table, false, &lines);
    assert_eq!(table.rows(), show(&[batch(&table, &lines)]));
    let parts = table.scan(&["r.b", "i64", "s"], &["file.name"], &[], false);
    let rows = rows_of(&parts);
    assert!(
        rows[0].starts_with("+I[[x, null], 9007199254740993, a far longer string than twelve, part-"),
        "{rows:?}"
    );
    assert!(rows[1].starts_with("+I[null, null, null, part-"), "{rows:?}");
    assert_eq!(rows_of(&table.scan(&[], &[], &[], false)), ["+I[]", "+I[]"]);
}

#[test]
fn files_end_with_checkpoints_and_groups_that_cannot_pass_are_not_read() {
    let dir = TempDir::new().unwrap();
    let table = table(&[("id", LogicalType::Int), ("s", TEXT)], dir.path());
    let mut writer = writer(&table, false, &ManualClock::default());
    for (group, id) in (1..).zip([0, 10_000, 20_000]) {
        let lines: Vec<String> = (id..id + 9000).map(|id| format!("{{\"id\":{id},\"s\":\"x\"}}")).collect();
        write(&mut *writer, batch(&table, &lines.iter().map(String::as_str).collect::<Vec<_>>()));
        let prepared = writer.prepare(CheckpointId(group), false).unwrap();
        assert_eq!((prepared.committables.len(), prepared.state.len()), (1, 0));
        writer.commit(prepared.committables).unwrap();
    }
    let count = |predicates: &[Predicate]| rows_of(&table.scan(&["id"], &[], predicates, false)).len();
    use PredicateOp::{Eq, GtEq, Lt};
    assert_eq!(count(&[]), 27_000);
    assert_eq!(count(&[predicate("id", Eq, Literal::Int(10_500))]), 9000);
    assert_eq!(count(&[predicate("id", GtEq, Literal::Int(9_500))]), 18_000);
    assert_eq!(count(&[predicate("id", Lt, Literal::Int(0))]), 0);
    assert_eq!(count(&[predicate("s", Eq, Literal::String("y".into()))]), 0);
}

#[test]
fn a_job_goes_on_behind_each_batch() {
    let dir = TempDir::new().unwrap();
    let table = table(&[("id", LogicalType::Int)], dir.path());
    let lines: Vec<String> = (0..20_000).map(|id| format!("{{\"id\":{id}}}")).collect();
    write_all(&table, false, &lines.iter().map(String::as_str).collect::<Vec<_>>());
    let scan = table.scan(&["id"], &[], &[], true);
    let want: Vec<String> = (0..20_000).map(|id| format!("+I[{id}]")).collect();
    for stop in 0..6 {
        let mut first = Job::start(&*scan, 1, None).unwrap();
        first.run_until(stop).unwrap();
        let snapshot = first.snapshot();
        let mut second = Job::start(&*scan, 2, Some(snapshot)).unwrap();
        second.run().unwrap();
        assert!([show(&first.out.rows), show(&second.out.rows)].concat() == want, "stopped behind {stop}");
    }
    let other = Table::new(&[("no", LogicalType::Int)], &[], &[("format", "parquet")]).at(dir.path());
    let mut job = Job::start(&*other.scan(&["no"], &[], &[], true), 1, None).unwrap();
    assert!(job.run().unwrap_err().to_string().contains("no column no"));
    let kafka = table.registry.format("parquet").unwrap();
    assert_eq!(kafka.identifier(), "parquet");
}

#[test]
fn a_position_means_the_same_whatever_is_left_out() {
    use PredicateOp::{Eq, GtEq};
    let dir = TempDir::new().unwrap();
    let table = table(&[("id", LogicalType::Int)], dir.path());
    // Three row groups of 9000 rows in one file.
    let ids = |from: i32| {
        let rows = arrow::array::Int32Array::from_iter_values(from..from + 9000);
        let field = arrow::datatypes::Field::new("id", arrow::datatypes::DataType::Int32, true);
        let schema = std::sync::Arc::new(arrow::datatypes::Schema::new(vec![field]));
        arrow::array::RecordBatch::try_new(schema, vec![std::sync::Arc::new(rows)]).unwrap()
    };
    let file = std::fs::File::create(dir.path().join("all.parquet")).unwrap();
    let mut writer = ::parquet::arrow::ArrowWriter::try_new(file, ids(0).schema(), None).unwrap();
    for from in [0, 9000, 18_000] {
        writer.write(&ids(from)).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    let all = table.scan(&["id"], &[], &[], true);
    let of_end = table.scan(&["id"], &[], &[predicate("id", GtEq, Literal::Int(18_000))], true);
    let of_middle = table.scan(&["id"], &[], &[predicate("id", Eq, Literal::Int(9_500))], true);
    for (first, second) in [(&of_end, &all), (&all, &of_middle), (&of_middle, &of_end), (&all, &all)] {
        for stop in 1..3 {
            let mut before = Job::start(&**first, 1, None).unwrap();
            before.run_until(stop).unwrap();
            let last = show(&before.out.rows).last().map(|row| number(row));
            let mut after = Job::start(&**second, 1, Some(before.snapshot())).unwrap();
            after.run().unwrap();
            let found: Vec<i32> = show(&after.out.rows).iter().map(|row| number(row)).collect();
            let whole = rows_of(second);
            let want = whole.iter().map(|row| number(row)).filter(|id| last.is_none_or(|last| *id > last));
            assert!(found == want.collect::<Vec<_>>(), "stopped behind {stop} batches, at {last:?}");
        }
    }
}

fn number(row: &str) -> i32 {
    row.trim_start_matches("+I[").trim_end_matches(']').parse().unwrap()
}

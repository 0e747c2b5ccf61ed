//! Rows through the handle, exactly-once commits, look-ups.

use super::*;
use crate::testing::{Table, batches, run, show, writer_context};
use arrow::array::{ArrayRef, Int64Array};
use flugs_sql_types::LogicalType::BigInt;
use flugs_types::RowKind;

fn batch(values: Vec<i64>, kinds: Option<&[RowKind]>) -> ChangeBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from(values));
    let rows = RecordBatch::try_from_iter_with_nullable([("id", ids, true)]).unwrap();
    match kinds {
        Some(kinds) => ChangeBatch::new(rows, kinds).unwrap(),
        None => ChangeBatch::inserts(rows),
    }
}

fn table(options: &[(&str, &str)]) -> (Table, MemoryTables) {
    let mut table = Table::new("memory", &[("id", BigInt)], options);
    let handle = MemoryTables::new();
    table.registry.add_connector(handle.clone());
    (table, handle)
}

#[test]
fn rows_are_read_in_order_and_from_any_batch_on() {
    let (table, handle) = table(&[]);
    handle.add("t", [batch((0..10_000).collect(), None), batch(vec![], None), batch(vec![-1], None)]);
    let want: Vec<String> = (0..10_000).chain([-1]).map(|i| format!("+I[{i}]")).collect();
    assert!(table.rows(&["id"], 1) == want);
    let source = table.source().unwrap();
    assert_eq!((source.parallelism(), source.changelog_mode()), (Some(1), ChangelogMode::Append));
    let scan = source.scan(&table.request(&["id"])).unwrap();
    assert_eq!(batches(&scan, 1).len(), 4);
    for rounds in 0..5 {
        let (first, splits) = run(&*scan, 1, None, rounds);
        let (second, _) = run(&*scan, 1, Some(splits), u32::MAX);
        assert!([show(&first), show(&second)].concat() == want, "{rounds}");
    }
}

#[test]
fn written_rows_are_seen_once_with_their_checkpoint() {
    let (table, handle) = table(&[("name", "other")]);
    let sink = table.sink().unwrap();
    assert_eq!(sink.changelog_mode(ChangelogMode::Upsert), ChangelogMode::Upsert);
    let sink = sink.sink(false).unwrap();
    let mut writer = sink.writer(writer_context(1), Vec::new()).unwrap();
    let changes = batch(vec![1, 1, 2], Some(&[RowKind::Insert, RowKind::Delete, RowKind::Insert]));
    writer.write(Records::untimed(vec![changes])).unwrap();
    assert!(handle.rows("other").is_empty());
    let one = writer.prepare(CheckpointId(1), false).unwrap().committables;
    assert!(writer.prepare(CheckpointId(2), false).unwrap().committables.is_empty());
    drop(writer);
    let mut later = sink.writer(writer_context(2), Vec::new()).unwrap();
    later.commit(one.clone()).unwrap();
    later.commit(one).unwrap();
    assert_eq!(show(&handle.rows("other")), ["+I[1]", "-D[1]", "+I[2]"]);
    assert_eq!(table.source().unwrap().changelog_mode(), ChangelogMode::Retract);
    assert!(later.commit(vec![Committable(b"unknown".to_vec())]).is_err());
    assert_eq!(handle.take("other").len(), 1);
    assert!(handle.rows("other").is_empty() && handle.rows("none").is_empty());
}

#[test]
fn rows_are_looked_up() {
    let (table, handle) = table(&[]);
    handle.add("t", [batch(vec![1, 2], None), batch(vec![2], None)]);
    let lookup = table.registry.connector("memory").unwrap().lookup(table.context(), &[0]).unwrap();
    let keys: ArrayRef = Arc::new(Int64Array::from(vec![2, 3]));
    let (rows, of) = lookup.lookup(&RecordBatch::try_from_iter([("k", keys)]).unwrap()).unwrap();
    assert_eq!((rows.num_rows(), of), (2, vec![0, 0]));
    handle.add("t", [batch(vec![1], Some(&[RowKind::Delete]))]);
    assert!(table.registry.connector("memory").unwrap().lookup(table.context(), &[0]).is_err());
}

#[test]
fn tables_of_other_types_do_not_share_rows() {
    let (mut table, handle) = table(&[("name", "shared")]);
    handle.add("shared", [batch(vec![1], None)]);
    assert!(table.source().is_ok());
    table.schema.columns[0].sql_type = flugs_sql_types::LogicalType::STRING.nullable();
    let error = table.source().err().unwrap().to_string();
    assert!(error.contains("'shared' in memory has (id BIGINT), and not (id STRING)"), "{error}");
    assert_eq!(table.sink().err().unwrap().to_string(), error);
}

use super::*;
use crate::testing::{Driver, changes, schema};
use flugs_batch::Records;
use flugs_table::{ChangelogMode, FieldPath};
use flugs_types::{ErrorKind, RowKind, Timestamp};

fn path(name: &str) -> FieldPath {
    FieldPath(vec![name.to_owned()])
}

fn from(rowtime: bool) -> FromRecords<(i64, String), (i64, String)> {
    let columns = "f1 STRING NOT NULL, f0 BIGINT NOT NULL";
    let columns =
        if rowtime { format!("{columns}, ts TIMESTAMP_LTZ(3) NOT NULL") } else { columns.to_owned() };
    let spec = FromRecordsSpec {
        columns: vec![path("f1"), path("f0")],
        rowtime,
        schema: schema(&columns),
        mode: ChangelogMode::Append,
    };
    FromRecords::new(spec, |row| (RowKind::Insert, row))
}

fn records(times: &[i64]) -> Records<(i64, String)> {
    let values = (0..times.len() as i64).map(|n| (n, format!("row {n}"))).collect();
    Records { values, times: times.iter().map(|t| Timestamp(*t)).collect() }
}

#[test]
fn columns_and_event_times_stand_where_they_are_asked_for() {
    let mut driver = Driver::new(from(true)).unwrap();
    driver.push(records(&[1_999, 2_000, -1])).unwrap();
    assert_eq!(driver.take_text(), "+I | row 0 | 0 | 1\n+I | row 1 | 1 | 2\n+I | row 2 | 2 | -1");
    let error = driver.push(records(&[Timestamp::MIN.0])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Data);
    let mut driver = Driver::new(from(false)).unwrap();
    driver.push(records(&[Timestamp::MIN.0])).unwrap();
    assert_eq!(driver.take_text(), "+I | row 0 | 0");
}

#[test]
fn a_watermark_waits_for_its_millisecond() {
    use super::from_records::of_milliseconds;
    // A row at 1.5 ms may follow, and its time is 1 ms.
    assert_eq!(of_milliseconds(Timestamp(1_499)), Timestamp(999));
    assert_eq!(of_milliseconds(Timestamp(1_999)), Timestamp(1_999));
    assert_eq!(of_milliseconds(Timestamp(2_000)), Timestamp(1_999));
    assert_eq!(of_milliseconds(Timestamp(-1)), Timestamp(-1));
    assert_eq!(of_milliseconds(Timestamp(-2)), Timestamp(-1_001));
    assert_eq!(of_milliseconds(Timestamp::MAX), Timestamp::MAX);
    assert_eq!(of_milliseconds(Timestamp::MIN), Timestamp::MIN);
}

#[test]
fn rows_leave_with_their_kinds_and_times() {
    let input = schema("a BIGINT, t TIMESTAMP_LTZ(3), b STRING");
    let spec = ToRecordsSpec { columns: vec![2, 0], rowtime: Some(1) };
    let to = ToRecords::new(spec, |kind, row: (Option<String>, i64)| (kind, row));
    let harness = to.records(&changes(&input, "+I | 1 | 5 | x\n-D | 2 | NULL | NULL")).unwrap();
    assert_eq!(harness.values, [(RowKind::Insert, (Some("x".to_owned()), 1)), (RowKind::Delete, (None, 2))]);
    assert_eq!(harness.times, [Timestamp::from_millis(5), Timestamp::MIN]);
    let error = to.records(&changes(&input, "+I | NULL | 5 | x")).unwrap_err();
    assert!(error.to_string().contains("'f1' of a row is NULL"), "{error}");
}

use super::*;
use crate::aggregate::AggregateCall;
use crate::bounded::{
    BoundedDeduplicate, BoundedDeduplicateSpec, BoundedOver, BoundedOverSpec, BoundedRank, BoundedRankSpec,
    BoundedSession, BoundedSessionSpec, SessionResult,
};
use crate::over::{Frame, FrameBound, FrameUnit, OverCall};
use crate::rank::{DeduplicateTime, Keep, RankKind};
use crate::row::SortOptions;
use crate::testing::schema;
use crate::window::{SessionAggregateSpec, SessionAssignSpec, WindowColumn, WindowTime};
use flugs_sql_types::{AggregateKind, WindowKind};
use proptest::prelude::*;
use std::collections::BTreeMap;

const SCHEMA: &str = "k STRING, t TIMESTAMP(3), v BIGINT";

/// A key, a time and a number.
type Row = (Option<String>, i64, i64);

fn line((k, t, v): &Row) -> String {
    format!("{} | {t} | {v}", text_of(k.clone()))
}

fn rows(max: usize) -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec((prop::option::of("[a-d]"), 0i64..60, 0i64..100), 0..max)
}

fn input(rows: &[Row], size: usize) -> Vec<ChangeBatch> {
    batches(&schema(SCHEMA), &rows.iter().map(line).collect::<Vec<_>>(), size)
}

/// The rows of each key by time, equal ones as they came.
fn by_key(rows: &[Row]) -> BTreeMap<Option<String>, Vec<Row>> {
    let mut keys: BTreeMap<Option<String>, Vec<Row>> = BTreeMap::new();
    rows.iter().for_each(|row| keys.entry(row.0.clone()).or_default().push(row.clone()));
    keys.values_mut().for_each(|rows| rows.sort_by_key(|row| row.1));
    keys
}

fn over_spec() -> BoundedOverSpec {
    let call =
        |function, arguments, frame| OverCall { function, arguments, distinct: false, filter: None, frame };
    let around =
        Frame { unit: FrameUnit::Rows, start: FrameBound::Preceding(1), end: FrameBound::Following(1) };
    BoundedOverSpec {
        input: schema(SCHEMA),
        keys: vec![0],
        order: vec![(1, SortOptions::default())],
        calls: vec![
            call(WindowKind::RowNumber, vec![], Frame::DEFAULT),
            call(WindowKind::Aggregate(AggregateKind::Sum), vec![2], Frame::DEFAULT),
            call(WindowKind::Aggregate(AggregateKind::Max), vec![2], around),
            call(WindowKind::Aggregate(AggregateKind::Count), vec![], Frame::PARTITION),
        ],
        output: schema(&format!(
            "{SCHEMA}, row BIGINT NOT NULL, sum BIGINT, max BIGINT, rows BIGINT NOT NULL"
        )),
        spill: tiny(),
    }
}

fn expected_over(rows: &[Row]) -> Vec<String> {
    let mut lines = Vec::new();
    for rows in by_key(rows).into_values() {
        for (at, row) in rows.iter().enumerate() {
            let sum: i64 = rows.iter().filter(|other| other.1 <= row.1).map(|other| other.2).sum();
            let around = &rows[at.saturating_sub(1)..rows.len().min(at + 2)];
            let max = around.iter().map(|other| other.2).max();
            lines.push(format!(
                "+I | {} | {} | {sum} | {} | {}",
                line(row),
                at + 1,
                text_of(max),
                rows.len()
            ));
        }
    }
    lines
}

/// Functions that need not have all rows of a partition at hand.
fn streamed_spec() -> BoundedOverSpec {
    let call =
        |function, frame| OverCall { function, arguments: vec![], distinct: false, filter: None, frame };
    let sum =
        |frame| OverCall { arguments: vec![2], ..call(WindowKind::Aggregate(AggregateKind::Sum), frame) };
    let rows = Frame { unit: FrameUnit::Rows, ..Frame::DEFAULT };
    BoundedOverSpec {
        calls: vec![
            sum(Frame::DEFAULT),
            call(WindowKind::Rank, Frame::DEFAULT),
            sum(rows),
            call(WindowKind::DenseRank, Frame::DEFAULT),
            sum(Frame::PARTITION),
        ],
        output: schema(&format!(
            "{SCHEMA}, peers BIGINT, rank BIGINT NOT NULL, rows BIGINT, dense BIGINT NOT NULL, all BIGINT"
        )),
        ..over_spec()
    }
}

fn expected_streamed(rows: &[Row]) -> Vec<String> {
    let mut lines = Vec::new();
    for rows in by_key(rows).into_values() {
        let sum = |rows: &mut dyn Iterator<Item = &Row>| rows.map(|row| row.2).sum::<i64>();
        let all = sum(&mut rows.iter());
        for (at, row) in rows.iter().enumerate() {
            let peers = sum(&mut rows.iter().filter(|other| other.1 <= row.1));
            let mut earlier: Vec<i64> = rows.iter().map(|other| other.1).filter(|t| *t < row.1).collect();
            let rank = earlier.len() + 1;
            earlier.dedup();
            let (through, dense) = (sum(&mut rows[..=at].iter()), earlier.len() + 1);
            lines.push(format!("+I | {} | {peers} | {rank} | {through} | {dense} | {all}", line(row)));
        }
    }
    lines
}

fn rank_spec(kind: RankKind, rank_start: u64, rank_end: u64) -> BoundedRankSpec {
    BoundedRankSpec {
        input: schema(SCHEMA),
        keys: vec![0],
        order: vec![(1, SortOptions::default())],
        kind,
        rank_start,
        rank_end,
        rank_column: true,
        output: schema(&format!("{SCHEMA}, rank BIGINT NOT NULL")),
        spill: tiny(),
    }
}

fn expected_rank(rows: &[Row], kind: RankKind, from: u64, to: u64) -> Vec<String> {
    let mut lines = Vec::new();
    for rows in by_key(rows).into_values() {
        for (at, row) in rows.iter().enumerate() {
            let mut earlier: Vec<i64> = rows.iter().map(|other| other.1).filter(|t| *t < row.1).collect();
            let rank = 1 + match kind {
                RankKind::RowNumber => at,
                RankKind::Rank => earlier.len(),
                RankKind::DenseRank => {
                    earlier.dedup();
                    earlier.len()
                }
            } as u64;
            if (from..=to).contains(&rank) {
                lines.push(format!("+I | {} | {rank}", line(row)));
            }
        }
    }
    lines
}

fn session_spec() -> SessionAggregateSpec {
    let input = schema(SCHEMA);
    let sum = AggregateCall::new(AggregateKind::Sum, vec![2], "sum", input.fields()).unwrap();
    SessionAggregateSpec {
        input,
        gap_ms: 3,
        time: WindowTime::Event { column: 1 },
        zone: None,
        keys: vec![0],
        calls: vec![sum],
        window_columns: vec![WindowColumn::Start, WindowColumn::End],
        output: schema("k STRING, sum BIGINT, s TIMESTAMP(3) NOT NULL, e TIMESTAMP(3) NOT NULL"),
        late_output: false,
    }
}

/// The sessions of each key: rows at most 3 ms apart.
fn sessions(rows: &[Row]) -> Vec<Vec<Row>> {
    let mut sessions: Vec<Vec<Row>> = Vec::new();
    for rows in by_key(rows).into_values() {
        sessions.extend(rows.chunk_by(|a, b| b.1 - a.1 <= 3).map(<[Row]>::to_vec));
    }
    sessions
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn functions_over_rows(rows in rows(300), size in 1usize..80) {
        prop_assert_eq!(given(|| BoundedOver::new(over_spec()), &input(&rows, size)), expected_over(&rows));
        let streamed = given(|| BoundedOver::new(streamed_spec()), &input(&rows, size));
        prop_assert_eq!(streamed, expected_streamed(&rows));
    }

    #[test]
    fn ranks(
        rows in rows(300),
        size in 1usize..80,
        kind in prop::sample::select(vec![RankKind::RowNumber, RankKind::Rank, RankKind::DenseRank]),
        from in 1u64..3,
        to in prop_oneof![2u64..6, Just(u64::MAX)],
    ) {
        let given = given(|| BoundedRank::new(rank_spec(kind, from, to)), &input(&rows, size));
        prop_assert_eq!(given, expected_rank(&rows, kind, from, to));
    }

    #[test]
    fn the_first_and_the_last_row_of_each_key(rows in rows(300), size in 1usize..80, by_time in any::<bool>()) {
        for keep in [Keep::First, Keep::Last] {
            let time = match by_time {
                true => DeduplicateTime::Event { column: 1 },
                false => DeduplicateTime::Processing,
            };
            let spec = BoundedDeduplicateSpec { input: schema(SCHEMA), keys: vec![0], keep, time, spill: tiny() };
            let mut stays: BTreeMap<Option<String>, &Row> = BTreeMap::new();
            for row in &rows {
                let one = stays.entry(row.0.clone()).or_insert(row);
                let takes = match (keep, by_time) {
                    (Keep::First, true) => row.1 < one.1,
                    (Keep::First, false) => false,
                    (Keep::Last, true) => row.1 >= one.1,
                    (Keep::Last, false) => true,
                };
                if takes {
                    *one = row;
                }
            }
            let expected: Vec<String> = stays.values().map(|row| format!("+I | {}", line(row))).collect();
            prop_assert_eq!(given(|| BoundedDeduplicate::new(spec.clone()), &input(&rows, size)), expected);
        }
    }

    #[test]
    fn sessions_of_rows_in_any_order(rows in rows(300), size in 1usize..80) {
        let bounds = |session: &[Row]| (session[0].1, session[session.len() - 1].1 + 3);
        let result = |session: &Vec<Row>| {
            let (start, end) = bounds(session);
            let sum: i64 = session.iter().map(|row| row.2).sum();
            format!("+I | {} | {sum} | {start} | {end}", text_of(session[0].0.clone()))
        };
        let expected = sorted(sessions(&rows).iter().map(result).collect());
        let spec = BoundedSessionSpec { result: SessionResult::Aggregate(session_spec()), spill: tiny() };
        let aggregated = given(|| BoundedSession::new(spec.clone()), &input(&rows, size));
        prop_assert_eq!(sorted(aggregated), expected);

        let SessionAggregateSpec { input: columns, gap_ms, time, zone, keys, .. } = session_spec();
        let output = schema(&format!(
            "{SCHEMA}, s TIMESTAMP(3) NOT NULL, e TIMESTAMP(3) NOT NULL, w TIMESTAMP(3) NOT NULL"
        ));
        let spec = SessionAssignSpec { input: columns, keys, gap_ms, time, zone, output, late_output: false };
        let spec = BoundedSessionSpec { result: SessionResult::Rows(spec), spill: tiny() };
        let of_row = |session: &Vec<Row>| {
            let (start, end) = bounds(session);
            session.iter().map(|row| format!("+I | {} | {start} | {end} | {}", line(row), end - 1)).collect::<Vec<_>>()
        };
        let expected = sorted(sessions(&rows).iter().flat_map(of_row).collect());
        prop_assert_eq!(sorted(given(|| BoundedSession::new(spec.clone()), &input(&rows, size))), expected);
    }
}

#[test]
fn a_partition_of_many_rows_and_many_partitions() {
    let row =
        |n: i64| (Some(if n % 2 == 0 { "huge".to_owned() } else { format!("{:05}", n / 4) }), n, n % 10);
    let rows: Vec<Row> = (0..14_000).map(row).collect();
    let given = given(|| BoundedOver::new(over_spec()), &input(&rows, 2000));
    assert_eq!(given.len(), 14_000);
    assert!(given.contains(&"+I | huge | 13998 | 8 | 7000 | 28000 | 8 | 7000".to_owned()));
    assert!(given.contains(&"+I | 00003 | 15 | 5 | 2 | 8 | 5 | 2".to_owned()));
}

#[test]
fn large_partitions_go_to_files() {
    let row = |n: i64| (Some(["a", "b", "huge", "z"][n as usize % 4].to_owned()), n * n % 3001 / 3, n % 10);
    let rows: Vec<Row> = (0..6_000).map(|n| if n % 3 == 0 { row(n) } else { row(2 + 4 * n) }).collect();
    let given = given(|| BoundedOver::new(streamed_spec()), &input(&rows, 1000));
    assert_eq!(given, expected_streamed(&rows));
}

#[test]
fn times_that_are_null_are_errors() {
    let row = changes(&schema(SCHEMA), "+I | a | NULL | 1");
    let time = DeduplicateTime::Event { column: 1 };
    let spec = BoundedDeduplicateSpec {
        input: schema(SCHEMA),
        keys: vec![0],
        keep: Keep::Last,
        time,
        spill: tiny(),
    };
    let mut driver = Driver::new(BoundedDeduplicate::new(spec)).unwrap();
    assert!(driver.push(row.clone()).unwrap_err().to_string().contains("'t' is NULL"));
    let spec = BoundedSessionSpec { result: SessionResult::Aggregate(session_spec()), spill: tiny() };
    let mut driver = Driver::new(BoundedSession::new(spec)).unwrap();
    driver.push(row).unwrap();
    assert!(driver.end().unwrap_err().to_string().contains("'t' is NULL"));
}

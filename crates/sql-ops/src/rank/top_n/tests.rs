use super::TopN;
use crate::rank::{RankInput, RankKind, TopNSpec};
use crate::row::SortOptions;
use crate::testing::{
    Compare, Driver, DriverOptions, Folded, Step, changes, fold, fold_by_key, replay, schema,
};
use flugs_batch::ChangeBatch;
use flugs_types::SubtaskId;
use proptest::prelude::*;
use std::time::Duration;

const INPUT: &str = "k INT, v BIGINT, s STRING";
const RANKED: &str = "k INT, v BIGINT, s STRING, r BIGINT NOT NULL";
/// Highest first, NULLs last.
const HIGHEST: SortOptions = SortOptions { descending: true, nulls_first: false };

fn spec(mode: RankInput, kind: RankKind, ranks: (u64, u64), rank_column: bool) -> TopNSpec {
    TopNSpec {
        input: schema(INPUT),
        mode,
        keys: vec![0],
        order: vec![(1, HIGHEST)],
        kind,
        rank_start: ranks.0,
        rank_end: ranks.1,
        rank_column,
        output: schema(if rank_column { RANKED } else { INPUT }),
        emit_update_before: true,
        ttl: None,
        retract_on_expiry: false,
    }
}

fn batch(table: &str) -> ChangeBatch {
    changes(&schema(INPUT), table)
}

fn run(spec: TopNSpec, batches: &[&str]) -> Vec<String> {
    let mut driver = Driver::new(TopN::new(spec)).unwrap();
    let mut given = Vec::new();
    for table in batches {
        driver.push(batch(table)).unwrap();
        given.push(driver.take_text());
    }
    given
}

#[test]
fn ranks_shift_as_rows_enter() {
    let given = run(
        spec(RankInput::Append, RankKind::RowNumber, (1, 2), true),
        &[
            "+I | 1 | 5 | a",
            "+I | 1 | 7 | b",
            "+I | 1 | 5 | late\n+I | 1 | 1 | c",
            "+I | 1 | 9 | d\n+I | 1 | 8 | e",
        ],
    );
    assert_eq!(given[0], "+I | 1 | 5 | a | 1");
    assert_eq!(given[1], "-U | 1 | 5 | a | 1\n+U | 1 | 7 | b | 1\n+I | 1 | 5 | a | 2");
    assert_eq!(given[2], "");
    // Net changes: that d was alone at the top for a moment is not told.
    assert_eq!(given[3], "-U | 1 | 7 | b | 1\n+U | 1 | 9 | d | 1\n-U | 1 | 5 | a | 2\n+U | 1 | 8 | e | 2");
}

#[test]
fn without_the_rank_rows_enter_and_leave() {
    let batches = ["+I | 1 | 5 | a\n+I | 2 | NULL | z", "+I | 1 | 7 | b", "+I | 1 | 6 | c"];
    let given = run(spec(RankInput::Append, RankKind::RowNumber, (1, 2), false), &batches);
    assert_eq!(
        given,
        ["+I | 1 | 5 | a\n+I | 2 | NULL | z", "+I | 1 | 7 | b", "-D | 1 | 5 | a\n+I | 1 | 6 | c"]
    );
    // Rank 2 alone: a row that is pushed there enters.
    let given = run(spec(RankInput::Append, RankKind::RowNumber, (2, 2), false), &batches);
    assert_eq!(given, ["", "+I | 1 | 5 | a", "-D | 1 | 5 | a\n+I | 1 | 6 | c"]);
}

#[test]
fn the_first_row_is_updated_by_its_partition() {
    let mut first = spec(RankInput::Append, RankKind::RowNumber, (1, 1), false);
    let batches = ["+I | 1 | 5 | a", "+I | 1 | 7 | b\n+I | 1 | 8 | c", "+I | 1 | 8 | d"];
    let given = run(first.clone(), &batches);
    assert_eq!(given, ["+I | 1 | 5 | a", "-U | 1 | 5 | a\n+U | 1 | 8 | c", ""]);
    first.emit_update_before = false;
    assert_eq!(run(first, &batches), ["+I | 1 | 5 | a", "+U | 1 | 8 | c", ""]);
}

#[test]
fn a_row_that_is_retracted_lets_others_up() {
    let given = run(
        spec(RankInput::Retract, RankKind::RowNumber, (1, 2), true),
        &[
            "+I | 1 | 5 | a\n+I | 1 | 4 | b\n+I | 1 | 3 | c\n+I | 1 | 3 | d",
            "-D | 1 | 5 | a",
            "-U | 1 | 3 | d\n+U | 1 | 9 | d",
            "-D | 1 | 9 | d\n+I | 1 | 9 | d",
            "-D | 1 | 8 | nobody\n-D | 7 | 8 | nobody",
            "-D | 1 | 9 | d\n-D | 1 | 4 | b\n-D | 1 | 3 | c",
        ],
    );
    assert_eq!(given[0], "+I | 1 | 5 | a | 1\n+I | 1 | 4 | b | 2");
    assert_eq!(given[1], "-U | 1 | 5 | a | 1\n+U | 1 | 4 | b | 1\n-U | 1 | 4 | b | 2\n+U | 1 | 3 | c | 2");
    assert_eq!(given[2], "-U | 1 | 4 | b | 1\n+U | 1 | 9 | d | 1\n-U | 1 | 3 | c | 2\n+U | 1 | 4 | b | 2");
    assert_eq!(given[3..5], ["", ""]);
    assert_eq!(given[5], "-D | 1 | 9 | d | 1\n-D | 1 | 4 | b | 2");
}

#[test]
fn rows_are_updated_by_their_key() {
    let mode = || RankInput::UpdateByKey(vec![0, 2]);
    let batches = [
        "+I | 1 | 1 | a\n+I | 1 | 2 | b\n+I | 1 | 3 | c",
        "-U | 1 | 2 | b\n+U | 1 | 4 | b",
        "+U | 1 | 5 | a",
    ];
    let given = run(spec(mode(), RankKind::RowNumber, (1, 2), false), &batches);
    assert_eq!(given[0], "+I | 1 | 3 | c\n+I | 1 | 2 | b");
    assert_eq!(given[1], "-U | 1 | 2 | b\n+U | 1 | 4 | b");
    assert_eq!(given[2], "-D | 1 | 3 | c\n+I | 1 | 5 | a");
    let given = run(spec(mode(), RankKind::RowNumber, (1, 2), true), &batches);
    assert_eq!(given[1], "-U | 1 | 3 | c | 1\n+U | 1 | 4 | b | 1\n-U | 1 | 2 | b | 2\n+U | 1 | 3 | c | 2");
    let mut upsert = spec(mode(), RankKind::Rank, (1, 2), true);
    upsert.emit_update_before = false;
    assert_eq!(run(upsert, &batches)[1], "+U | 1 | 4 | b | 1\n+U | 1 | 3 | c | 2");
}

#[test]
fn equal_rows_share_a_rank() {
    let rows =
        ["+I | 1 | 5 | a\n+I | 1 | 5 | b\n+I | 1 | 4 | c\n+I | 1 | 3 | d", "+I | 1 | 4 | e\n+I | 1 | 6 | f"];
    let given = run(spec(RankInput::Append, RankKind::Rank, (1, 3), true), &rows);
    assert_eq!(given[0], "+I | 1 | 5 | a | 1\n+I | 1 | 5 | b | 1\n+I | 1 | 4 | c | 3");
    assert_eq!(
        given[1],
        "-D | 1 | 4 | c | 3\n+I | 1 | 6 | f | 1\n-U | 1 | 5 | a | 1\n+U | 1 | 5 | a | 2\n-U | 1 | 5 | b | 1\n+U | 1 | 5 | b | 2"
    );
    let given = run(spec(RankInput::Append, RankKind::DenseRank, (1, 2), true), &rows);
    assert_eq!(given[0], "+I | 1 | 5 | a | 1\n+I | 1 | 5 | b | 1\n+I | 1 | 4 | c | 2");
}

#[test]
fn partitions_that_do_not_change_expire() {
    for retract in [false, true] {
        let mut expiring = spec(RankInput::Append, RankKind::RowNumber, (1, 2), true);
        expiring.ttl = Some(Duration::from_millis(100));
        expiring.retract_on_expiry = retract;
        let mut driver = Driver::new(TopN::new(expiring)).unwrap();
        driver.push(batch("+I | 1 | 5 | a\n+I | 1 | 6 | b\n+I | 2 | 5 | c")).unwrap();
        driver.set_time(90).unwrap();
        driver.push(batch("+I | 2 | 7 | d")).unwrap();
        driver.take();
        driver.set_time(150).unwrap();
        let taken_back = if retract { "-D | 1 | 6 | b | 1\n-D | 1 | 5 | a | 2" } else { "" };
        assert_eq!(driver.take_text(), taken_back);
        assert_eq!((driver.counter("numExpiredState"), driver.snapshot().unwrap().entries()), (1, 1));
        driver.set_time(400).unwrap();
        assert_eq!((driver.counter("numExpiredState"), driver.snapshot().unwrap().entries()), (2, 0));
        assert_eq!(driver.next_tick(), None);
    }
}

#[test]
fn a_partition_whose_time_is_over_is_gone_before_it_is_swept_away() {
    for retract in [false, true] {
        let mut expiring = spec(RankInput::Append, RankKind::RowNumber, (1, 2), true);
        expiring.ttl = Some(Duration::from_millis(100));
        expiring.retract_on_expiry = retract;
        let mut driver = Driver::new(TopN::new(expiring)).unwrap();
        driver.push(batch("+I | 1 | 5 | a\n+I | 1 | 6 | b")).unwrap();
        driver.set_time(90).unwrap();
        driver.take();
        // The next round is at 115.
        driver.set_time(110).unwrap();
        assert_eq!(driver.counter("numExpiredState"), 0);
        driver.push(batch("+I | 1 | 1 | c")).unwrap();
        let expected = match retract {
            true => "-U | 1 | 6 | b | 1\n+U | 1 | 1 | c | 1\n-D | 1 | 5 | a | 2",
            false => "+I | 1 | 1 | c | 1",
        };
        assert_eq!((driver.take_text().as_str(), driver.counter("numExpiredState")), (expected, 1));
    }
}

#[test]
fn deletes_where_there_can_be_none_are_an_error() {
    for mode in [RankInput::Append, RankInput::UpdateByKey(vec![2])] {
        let mut driver = Driver::new(TopN::new(spec(mode, RankKind::RowNumber, (1, 1), true))).unwrap();
        assert!(driver.push(batch("-D | 1 | 5 | a")).is_err());
    }
    assert!(Driver::new(TopN::new(spec(RankInput::Append, RankKind::Rank, (3, 2), true))).is_err());
}

#[test]
fn partitions_go_to_the_subtasks_of_their_keys() {
    let make = || TopN::new(spec(RankInput::Append, RankKind::RowNumber, (1, 1), true));
    let mut one = Driver::new(make()).unwrap();
    let rows: Vec<String> = (0..50).map(|k| format!("+I | {k} | 1 | a")).collect();
    one.push(batch(&rows.join("\n"))).unwrap();
    let snapshot = one.snapshot().unwrap();
    let mut entries = 0;
    for index in 0..3 {
        let subtask = SubtaskId::new(index, 3);
        let snapshots = vec![snapshot.clone()];
        let options = DriverOptions { subtask, snapshots, ..DriverOptions::default() };
        entries += Driver::open(make(), options).unwrap().snapshot().unwrap().entries();
    }
    assert_eq!(entries, 50);
}

/// A row of a random changelog, or the removal of one that is there.
type Op = (Option<i64>, Option<i64>, u8, bool);

/// All rows in order of arrival.
#[derive(Default)]
struct Twin(Vec<(Option<i64>, Option<i64>, u8)>);

impl Twin {
    /// The change as text; `None` where there is nothing to take away.
    fn apply(&mut self, (k, v, s, delete): Op, retracts: bool) -> Option<String> {
        let null = |x: Option<i64>| x.map_or("NULL".to_owned(), |x| x.to_string());
        if !delete || !retracts {
            self.0.push((k, v, s));
            return Some(format!("+I | {} | {} | s{s}", null(k), null(v)));
        }
        let found = self.0.iter().position(|row| row.0 == k && row.2 == s)?;
        let row = self.0[found];
        let first = self.0.iter().position(|other| *other == row)?;
        self.0.remove(first);
        Some(format!("-D | {} | {} | s{}", null(row.0), null(row.1), row.2))
    }

    fn ranked(&self, spec: &TopNSpec) -> Folded {
        let mut folded = Folded::new();
        let mut keys: Vec<Option<i64>> = self.0.iter().map(|row| row.0).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let mut rows: Vec<_> = self.0.iter().filter(|row| row.0 == key).collect();
            rows.sort_by_key(|row| (row.1.is_none(), row.1.map(|v| -v)));
            for (i, row) in rows.iter().enumerate() {
                let before: Vec<_> = rows[..i].iter().filter(|other| other.1 != row.1).map(|r| r.1).collect();
                let distinct = before.chunk_by(|a, b| a == b).count();
                let rank = match spec.kind {
                    RankKind::RowNumber => i,
                    RankKind::Rank => before.len(),
                    RankKind::DenseRank => distinct,
                } as u64
                    + 1;
                if (spec.rank_start..=spec.rank_end).contains(&rank) {
                    let null = |x: Option<i64>| x.map_or("NULL".to_owned(), |x| x.to_string());
                    let mut line = format!("{} | {} | s{}", null(row.0), null(row.1), row.2);
                    if spec.rank_column {
                        line += &format!(" | {rank}");
                    }
                    *folded.entry(line).or_default() += 1;
                }
            }
        }
        folded
    }
}

fn ops() -> impl Strategy<Value = Vec<Vec<Op>>> {
    let op =
        (prop::option::of(0..3i64), prop::option::weighted(0.9, -2..3i64), 0..3u8, prop::bool::weighted(0.4));
    prop::collection::vec(prop::collection::vec(op, 0..12), 1..6)
}

fn kinds() -> impl Strategy<Value = RankKind> {
    prop::sample::select(vec![RankKind::RowNumber, RankKind::Rank, RankKind::DenseRank])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn ranks_are_those_of_a_table_sorted_anew(
        batches in ops(), kind in kinds(), start in 1..3u64, more in 0..4u64, ranked: bool, retracts: bool,
    ) {
        let mode = if retracts { RankInput::Retract } else { RankInput::Append };
        let spec = spec(mode, kind, (start, start + more), ranked);
        let mut twin = Twin::default();
        let mut driver = Driver::new(TopN::new(spec.clone())).unwrap();
        let (mut steps, mut given) = (Vec::new(), Vec::new());
        for ops in batches {
            let lines: Vec<String> = ops.into_iter().filter_map(|op| twin.apply(op, retracts)).collect();
            let batch = batch(&lines.join("\n"));
            driver.push(batch.clone()).unwrap();
            given.extend(driver.take());
            prop_assert_eq!(fold(&given), Ok(twin.ranked(&spec)));
            steps.push(Step::Batch(batch));
        }
        replay(|| TopN::new(spec.clone()), &steps, &Compare::Rows);
    }

    #[test]
    fn row_numbers_are_keys(batches in ops(), start in 1..3u64, retracts: bool) {
        let mode = if retracts { RankInput::Retract } else { RankInput::Append };
        let mut spec = spec(mode, RankKind::RowNumber, (start, 3), true);
        spec.emit_update_before = false;
        let mut twin = Twin::default();
        let mut driver = Driver::with(TopN::new(spec.clone()), true, None).unwrap();
        let mut given = Vec::new();
        for ops in batches {
            let lines: Vec<String> = ops.into_iter().filter_map(|op| twin.apply(op, retracts)).collect();
            driver.push(batch(&lines.join("\n"))).unwrap();
            given.extend(driver.take());
            prop_assert_eq!(fold_by_key(&given, &[0, 3]), Ok(twin.ranked(&spec)));
        }
    }

    #[test]
    fn counts_that_grow_are_ranked_by_key(ups in prop::collection::vec((0..2i64, 0..6u8), 1..60), ranked: bool) {
        let spec = spec(RankInput::UpdateByKey(vec![0, 2]), RankKind::RowNumber, (1, 3), ranked);
        let mut counts = std::collections::BTreeMap::<(i64, u8), i64>::new();
        let mut steps = Vec::new();
        for up in ups.chunks(4) {
            let mut lines = Vec::new();
            for key in up {
                let count = counts.entry(*key).or_default();
                *count += 1;
                let kind = if *count == 1 { "+I" } else { "+U" };
                lines.push(format!("{kind} | {} | {count} | s{}", key.0, key.1));
            }
            steps.push(Step::Batch(batch(&lines.join("\n"))));
        }
        // Which of equals is in front depends on when each came there: the counts alone are compared.
        let given = replay(|| TopN::new(spec.clone()), &steps, &Compare::Rows);
        let mut shown: Vec<(i64, i64)> = Vec::new();
        for line in fold(&given).unwrap().keys() {
            let cells: Vec<&str> = line.split(" | ").collect();
            shown.push((cells[0].parse().unwrap(), -cells[1].parse::<i64>().unwrap()));
        }
        shown.sort_unstable();
        let mut expected = Vec::new();
        for partition in 0..2 {
            let mut of: Vec<(i64, i64)> = counts.iter().filter(|(k, _)| k.0 == partition).map(|(_, n)| (partition, -n)).collect();
            of.sort_unstable();
            expected.extend(of.into_iter().take(3));
        }
        prop_assert_eq!(shown, expected);
    }
}

//! Two streams in one window.

use super::aligned::us;
use super::harness::{Given, Input, MODES, Port, Row, Step, Subject, side, sorted};
use super::oracle::scripts;
use crate::window::*;
use flugs_batch::{Either, Records};
use flugs_types::Timestamp;
use proptest::prelude::*;
use std::time::Duration;

type Both = Either<Row, Row>;
type Pair = (u8, i64, i64);

fn batches(rows: Vec<(Both, Timestamp)>) -> Vec<Either<Records<Row>, Records<Row>>> {
    rows.chunk_by(|a, b| matches!(a.0, Either::Left(_)) == matches!(b.0, Either::Left(_)))
        .map(|chunk| {
            let rows = chunk.iter().map(|(row, time)| match row {
                Either::Left(row) | Either::Right(row) => (*row, *time),
            });
            match chunk[0].0 {
                Either::Left(_) => Either::Left(rows.collect()),
                Either::Right(_) => Either::Right(rows.collect()),
            }
        })
        .collect()
}

fn key_of(row: &Both) -> u8 {
    match row {
        Either::Left(row) | Either::Right(row) => row.0,
    }
}

const PORTS: [Port<Both>; 2] =
    [|rows| side::<Row, Both>(rows, 0, Either::Left), |rows| side::<Row, Both>(rows, 1, Either::Right)];

fn check(
    assigner: impl WindowAssigner<Both> + Clone,
    script: &[Step<Both>],
    mut check: impl FnMut(&Given<Pair, Both>),
) {
    let make = || {
        let pair = join_pairs(|l: &Row, r: &Row| (l.0, l.1, r.1));
        CoGroupOperator::new(|r: &Row| r.0, |r: &Row| r.0, assigner.clone(), Duration::ZERO, pair)
    };
    let input = || Input { batches, hash: |row: &Both| flugs_types::hash_key(&key_of(row)) };
    for mode in MODES {
        check(&Subject { make: &make, input: input(), ports: &PORTS }.run(script, mode).unwrap());
    }
}

/// Sides are dealt out by the value, so that equal times are on both.
fn two_sided(script: Vec<Step<Row>>) -> Vec<Step<Both>> {
    let side = |row: Row| if row.1 % 3 == 0 { Either::Left(row) } else { Either::Right(row) };
    script
        .into_iter()
        .map(|step| match step {
            Step::Rows(rows) => Step::Rows(rows.into_iter().map(|(row, t)| (side(row), t)).collect()),
            Step::Watermark(t) => Step::Watermark(t),
            Step::Clock(t) => Step::Clock(t),
            Step::End => Step::End,
        })
        .collect()
}

/// All pairs of rows that pass, by the definition of their windows.
fn pairs(
    script: &[Step<Both>],
    late: &dyn Fn(i64, i64) -> bool,
    together: &dyn Fn(i64, i64) -> usize,
) -> Vec<Pair> {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let mut watermark = i64::MIN;
    for step in script {
        match step {
            Step::Rows(rows) => {
                for (row, time) in rows.iter().filter(|(_, time)| !late(*time, watermark)) {
                    match row {
                        Either::Left(row) => left.push((*row, *time)),
                        Either::Right(row) => right.push((*row, *time)),
                    }
                }
            }
            Step::Watermark(t) => watermark = watermark.max(*t),
            _ => {}
        }
    }
    let mut pairs = Vec::new();
    for (l, lt) in &left {
        for (r, rt) in right.iter().filter(|(r, _)| r.0 == l.0) {
            pairs.extend(std::iter::repeat_n((l.0, l.1, r.1), together(*lt, *rt)));
        }
    }
    pairs.sort_unstable();
    pairs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_tumbling_join_pairs_the_rows_of_a_window(script in scripts(), size in 1i64..30) {
        let script = two_sided(script);
        let end = |t: i64| t.div_euclid(size) * size + size;
        let late = |t: i64, watermark: i64| end(t) - 1 <= watermark;
        let expected = pairs(&script, &late, &|a, b| usize::from(end(a) == end(b)));
        check(TumblingEventTimeWindows::of(us(size)), &script, |given| {
            let rows: Vec<_> = given.rows.iter().map(|r| r.0).collect();
            assert_eq!(sorted(&rows), expected);
            assert_eq!(given.left, 0);
            assert!(given.late.iter().all(|(port, row, _)| (*port == 0) == matches!(row, Either::Left(_))));
            assert_eq!(given.late.len() as i64, given.dropped);
        });
    }

    /// Without late rows: a pair is given once for each window that holds both.
    #[test]
    fn a_sliding_join_pairs_once_for_each_window(script in scripts(), slide in 1i64..10, times in 1i64..5) {
        let size = slide * times;
        let script: Vec<_> = two_sided(script)
            .into_iter()
            .filter(|step| matches!(step, Step::Rows(_)))
            .chain([Step::Watermark(i64::MAX)])
            .collect();
        let together = |a: i64, b: i64| {
            (-200..200).map(|n| n * slide).filter(|s| [a, b].iter().all(|t| s <= t && *t < s + size)).count()
        };
        let expected = pairs(&script, &|_, _| false, &together);
        check(SlidingEventTimeWindows::of(us(size), us(slide)), &script, |given| {
            let rows: Vec<_> = given.rows.iter().map(|r| r.0).collect();
            assert_eq!(sorted(&rows), expected);
        });
    }
}

#[test]
fn a_session_join_is_over_the_rows_of_both() {
    let script = [
        Step::Rows(vec![
            (Either::Left((1, 1)), 0),
            (Either::Right((1, 2)), 8),
            (Either::Left((1, 3)), 16),
            (Either::Right((1, 4)), 50),
        ]),
        Step::Watermark(i64::MAX),
    ];
    check(EventTimeSessionWindows::with_gap(us(10)), &script, |given| {
        assert_eq!(sorted(&given.rows), [((1, 1, 2), 25), ((1, 3, 2), 25)]);
    });
}

#[test]
fn a_co_group_sees_windows_of_one_side() {
    let make = || {
        let counts =
            co_group(|key: &u8, _, left: &[Row], right: &[Row], out: &mut WindowOutput<'_, Pair>| {
                out.collect((*key, left.len() as i64, right.len() as i64));
            });
        let assigner = TumblingEventTimeWindows::of(us(10));
        CoGroupOperator::new(|r: &Row| r.0, |r: &Row| r.0, assigner, Duration::ZERO, counts)
    };
    let input = Input { batches, hash: |row: &Both| flugs_types::hash_key(&key_of(row)) };
    let script = [
        Step::Rows(vec![
            (Either::Left((1, 1)), 0),
            (Either::Left((1, 3)), 1),
            (Either::Right((1, 2)), 2),
            (Either::Right((2, 4)), 3),
        ]),
        Step::Watermark(i64::MAX),
    ];
    let given = Subject { make: &make, input, ports: &PORTS }.run(&script, MODES[2]).unwrap();
    assert_eq!(sorted(&given.rows), [((1, 2, 1), 9), ((2, 0, 1), 9)]);
}

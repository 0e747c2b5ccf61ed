//! Rows with a time to live.

use super::*;
use crate::testing::{Driver, DriverOptions, changes};
use proptest::prelude::*;
use std::time::Duration;

const LEFT: &str = "k BIGINT, v STRING";
const RIGHT: &str = "j BIGINT, w STRING";
const SECOND: Duration = Duration::from_secs(1);

fn spec(join_type: JoinType, ttls: [Option<Duration>; 2], retract_on_expiry: bool) -> RegularJoinSpec {
    let side =
        |columns, ttl| JoinInput { ttl, ..input(columns, ChangelogMode::Retract, InputUniqueness::None) };
    RegularJoinSpec { retract_on_expiry, ..join(join_type, side(LEFT, ttls[0]), side(RIGHT, ttls[1])) }
}

struct Run {
    spec: RegularJoinSpec,
    driver: Driver<RegularJoin>,
}

impl Run {
    fn new(spec: RegularJoinSpec) -> Self {
        Run { driver: Driver::new(RegularJoin::new(spec.clone())).unwrap(), spec }
    }

    fn left(&mut self, table: &str) -> String {
        self.driver.push(Either::Left(changes(&self.spec.left.schema, table))).unwrap();
        self.driver.take_text()
    }

    fn right(&mut self, table: &str) -> String {
        self.driver.push(Either::Right(changes(&self.spec.right.schema, table))).unwrap();
        self.driver.take_text()
    }

    /// In steps, so that ticks come.
    fn time(&mut self, millis: i64) -> String {
        let mut now = self.driver.now().as_millis();
        while now < millis {
            now = millis.min(now + 20);
            self.driver.set_time(now).unwrap();
        }
        self.driver.take_text()
    }
}

#[test]
fn rows_expire_while_the_job_runs_and_leave_nothing() {
    let mut run = Run::new(spec(JoinType::Inner, [Some(SECOND); 2], false));
    run.left("+I | 1 | a\n+I | 2 | b\n+I | 2 | b");
    run.time(600);
    assert_eq!(run.right("+I | 1 | x"), "+I | 1 | a | 1 | x");
    // The key 1 lives on in the right, and 3 begins.
    assert_eq!(run.left("+I | 3 | c"), "");
    assert_eq!(run.time(999), "");
    assert_eq!(run.right("+I | 2 | y"), "+I | 2 | b | 2 | y\n+I | 2 | b | 2 | y");
    // Expired is expired, swept or not.
    run.driver.set_time(1000).unwrap();
    assert_eq!(run.right("+I | 2 | z"), "");
    run.time(5000);
    assert_eq!(run.driver.counter("numExpiredState"), 7);
    assert_eq!(run.driver.state_bytes(), 0);
    assert_eq!(run.driver.snapshot().unwrap().entries(), 0);
}

#[test]
fn writes_prolong_a_row() {
    let mut run = Run::new(spec(JoinType::Inner, [Some(SECOND), None], false));
    run.left("+I | 1 | a\n+I | 1 | b\n+I | 1 | c\n+I | 1 | d\n+I | 1 | e");
    run.time(500);
    run.left("+I | 1 | b\n-U | 1 | d\n+U | 1 | d");
    run.time(1200);
    assert_eq!(run.right("+I | 1 | x"), "+I | 1 | b | 1 | x\n+I | 1 | b | 1 | x\n+I | 1 | d | 1 | x");
}

#[test]
fn expired_rows_are_not_taken_back_unless_that_is_asked_for() {
    // Flink: the pair stays, and so does the row that had a match.
    let mut run = Run::new(spec(JoinType::Left, [None, Some(SECOND)], false));
    run.right("+I | 1 | x");
    assert_eq!(run.left("+I | 1 | a"), "+I | 1 | a | 1 | x");
    assert_eq!(run.time(3000), "");
    // No padded row was ever given, so none is taken back.
    assert_eq!(run.right("+I | 1 | y"), "+I | 1 | a | 1 | y");
    // The row may stand in the output still.
    assert_eq!(run.right("-D | 1 | x"), "-D | 1 | a | 1 | x");
    let mut run = Run::new(spec(JoinType::Left, [None, Some(SECOND)], true));
    run.right("+I | 1 | x");
    run.left("+I | 1 | a");
    assert_eq!(run.time(3000), "-D | 1 | a | 1 | x\n+I | 1 | a | NULL | NULL");
    assert_eq!(run.right("+I | 1 | y"), "-D | 1 | a | NULL | NULL\n+I | 1 | a | 1 | y");
    assert_eq!(run.driver.counter("numExpiredState"), 1);
}

#[test]
fn a_time_to_live_can_be_given_to_state_that_had_none() {
    let before = spec(JoinType::Full, [None, None], false);
    let mut run = Run::new(before);
    run.left("+I | 1 | a\n+I | 1 | a\n+I | 2 | b");
    let snapshots = vec![run.driver.snapshot().unwrap()];
    let after = spec(JoinType::Full, [Some(SECOND), None], true);
    let options = DriverOptions { snapshots, ..DriverOptions::default() };
    let driver = Driver::open(RegularJoin::new(after.clone()), options).unwrap();
    let mut run = Run { spec: after, driver };
    assert_eq!(run.right("+I | 1 | x").lines().count(), 4);
    run.time(500);
    assert_eq!(run.left("-D | 1 | a"), "-D | 1 | a | 1 | x");
    assert_eq!(run.time(3000).lines().count(), 3);
    assert_eq!(run.right("-D | 1 | x"), "-D | NULL | NULL | 1 | x");
    assert_eq!(run.driver.state_bytes(), 0);
}

#[test]
fn matches_are_counted_when_the_other_input_gets_a_time_to_live() {
    let mut run = Run::new(spec(JoinType::Left, [None, None], false));
    run.left("+I | 1 | a\n+I | 2 | b");
    run.right("+I | 1 | x\n+I | 1 | y");
    let snapshots = vec![run.driver.snapshot().unwrap()];
    let after = spec(JoinType::Left, [None, Some(SECOND)], false);
    let options = DriverOptions { snapshots, ..DriverOptions::default() };
    let driver = Driver::open(RegularJoin::new(after.clone()), options).unwrap();
    let mut run = Run { spec: after, driver };
    assert_eq!(run.right("-D | 1 | x"), "-D | 1 | a | 1 | x");
    assert_eq!(run.right("-D | 1 | y"), "-D | 1 | a | 1 | y\n+I | 1 | a | NULL | NULL");
    assert_eq!(run.right("+I | 2 | z"), "-D | 2 | b | NULL | NULL\n+I | 2 | b | 2 | z");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Where expired rows are taken back, what stands in the output at the end is the join of what has not expired.
    #[test]
    fn what_is_taken_back_was_given(
        join_type in prop::sample::select(vec![
            JoinType::Inner, JoinType::Left, JoinType::Right, JoinType::Full, JoinType::LeftSemi, JoinType::LeftAnti,
        ]),
        conditional: bool,
        batches in prop::collection::vec((any::<bool>(), prop::collection::vec((0..3i64, 0..3u8), 1..5), 0..700i64), 1..12),
    ) {
        let mut spec = spec(join_type, [Some(SECOND), Some(2 * SECOND)], true);
        if conditional {
            spec.condition = Some(compare(&concatenation(&spec.left.schema, &spec.right.schema), 1, Op::Lt, 3));
        }
        let mut run = Run::new(spec);
        let mut given = Vec::new();
        for (is_left, rows, pause) in batches {
            let table: String = rows.iter().map(|(k, v)| format!("+I | {k} | v{v}\n")).collect();
            let text = if is_left { run.left(&table) } else { run.right(&table) };
            given.push(text);
            let now = run.driver.now().as_millis();
            given.push(run.time(now + pause));
        }
        given.push(run.time(20_000));
        let mut rows = std::collections::BTreeMap::new();
        for line in given.iter().flat_map(|text| text.lines()) {
            let count: &mut i64 = rows.entry(line[2..].to_owned()).or_default();
            *count += if line.starts_with('+') { 1 } else { -1 };
            prop_assert!(*count >= 0, "{line}");
        }
        prop_assert!(rows.values().all(|count| *count == 0), "{rows:?}");
        prop_assert_eq!(run.driver.state_bytes(), 0);
    }
}

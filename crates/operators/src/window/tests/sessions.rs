//! Session windows in event time.

use super::aligned::{Values, group, key, us};
use super::harness::{MODES, Row, Step, run, run_all, sorted};
use super::oracle::{scripts, sessions};
use crate::window::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn sessions_are_those_of_the_definition(script in scripts(), gap in 1i64..25, lateness in prop_oneof![Just(0i64), 1i64..40]) {
        let expected = sessions(&script, lateness, gap);
        let assigner = EventTimeSessionWindows::with_gap(us(gap));
        let general = || {
            let contents = Aggregated::new(Values, group);
            WindowOperator::new(key, assigner, DefaultTrigger::EventTime, us(lateness), contents)
        };
        let fixed = || SessionWindowOperator::new(key, assigner, Values, group).expect("sessions");
        let dynamic = || {
            let assigner = EventTimeSessionWindows::with_dynamic_gap(move |_: &Row| us(gap));
            SessionWindowOperator::new(key, assigner, Values, group).expect("sessions")
        };
        for mode in MODES {
            let mut all = vec![run(&general, &script, mode)];
            if lateness == 0 {
                all.extend([run(&fixed, &script, mode), run(&dynamic, &script, mode)]);
            }
            for given in all {
                prop_assert_eq!(sorted(&given.rows), expected.rows.clone(), "{:?}", mode);
                prop_assert_eq!(sorted(&given.late), expected.late.clone(), "{:?}", mode);
                prop_assert_eq!(given.dropped, expected.late.len() as i64);
                prop_assert_eq!(given.left, 0);
            }
        }
    }

    /// With no watermark before the end, sessions are the sorted rows cut at gaps, whatever the order.
    #[test]
    fn the_order_of_rows_does_not_matter(script in scripts(), gap in 1i64..25) {
        let mut script: Vec<_> = script.into_iter().filter(|s| matches!(s, Step::Rows(_))).collect();
        let mut by_key: BTreeMap<u8, Vec<(i64, i64)>> = BTreeMap::new();
        for step in &script {
            let Step::Rows(rows) = step else { continue };
            rows.iter().for_each(|&((key, value), time)| by_key.entry(key).or_default().push((time, value)));
        }
        let mut expected = Vec::new();
        for (key, mut rows) in by_key {
            rows.sort_unstable();
            for session in rows.chunk_by(|a, b| b.0 - a.0 <= gap) {
                let (start, end) = (session[0].0, session[session.len() - 1].0 + gap);
                expected.push(((key, start, end, sorted(&session.iter().map(|r| r.1).collect::<Vec<_>>())), end - 1));
            }
        }
        expected.sort();
        script.push(Step::Watermark(i64::MAX));
        let make = || {
            WindowBuilder::new(key, EventTimeSessionWindows::with_gap(us(gap))).aggregate(Values, group)
        };
        prop_assert_eq!(sorted(&run_all(&make, &script).rows), expected);
    }
}

#[test]
fn a_late_row_is_saved_by_a_session_that_it_meets() {
    let script = [
        Step::Rows(vec![((1, 1), 10)]),
        Step::Watermark(18),
        Step::Rows(vec![((1, 2), 5), ((2, 3), 5)]),
        Step::Watermark(i64::MAX),
    ];
    let make = || WindowBuilder::new(key, EventTimeSessionWindows::with_gap(us(10))).aggregate(Values, group);
    let given = run_all(&make, &script);
    assert_eq!(given.rows, [((1, 5, 20, vec![1, 2]), 19)]);
    assert_eq!(given.late, [(0, (2, 3), 5)]);
}

#[test]
fn gaps_of_the_rows_own() {
    let assigner = || EventTimeSessionWindows::with_dynamic_gap(|row: &Row| us(row.1));
    let script = [
        Step::Rows(vec![((1, 100), 0), ((1, 5), 10), ((1, 5), 120), ((1, 20), 100)]),
        Step::Watermark(i64::MAX),
    ];
    let make = || WindowBuilder::new(key, assigner()).aggregate(Values, group);
    assert_eq!(run_all(&make, &script).rows, [((1, 0, 125, vec![5, 5, 20, 100]), 124)]);
}

//! What windows must give, computed row by row from the definitions, with all rows kept and nothing shared.

use super::harness::{Row, Step};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Key, window, and the sorted values in it.
pub(crate) type Group = (u8, i64, i64, Vec<i64>);

/// What an oracle expects.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) rows: Vec<(Group, i64)>,
    pub(crate) late: Vec<(usize, Row, i64)>,
}

impl Expected {
    fn give(&mut self, key: u8, (start, end): (i64, i64), values: &[i64]) {
        let mut values = values.to_vec();
        values.sort_unstable();
        self.rows.push(((key, start, end, values), end - 1));
    }

    pub(crate) fn sorted(mut self) -> Self {
        self.rows.sort();
        self.late.sort();
        self
    }
}

/// Windows that do not merge: `windows` says to which a time belongs.
pub(crate) fn aligned(
    script: &[Step<Row>],
    lateness: i64,
    windows: &dyn Fn(i64) -> Vec<(i64, i64)>,
) -> Expected {
    let mut expected = Expected::default();
    let mut open: BTreeMap<(i64, i64, u8), Vec<i64>> = BTreeMap::new();
    let mut watermark = i64::MIN;
    for step in script {
        match step {
            Step::Rows(rows) => {
                for &((key, value), time) in rows {
                    let mut late = time.saturating_add(lateness) <= watermark;
                    for (start, end) in windows(time) {
                        if (end - 1).saturating_add(lateness) <= watermark {
                            continue;
                        }
                        late = false;
                        let values = open.entry((end, start, key)).or_default();
                        values.push(value);
                        if end - 1 <= watermark {
                            expected.give(key, (start, end), values);
                        }
                    }
                    if late {
                        expected.late.push((0, (key, value), time));
                    }
                }
            }
            Step::Watermark(t) if *t > watermark => {
                for (&(end, start, key), values) in &open {
                    if watermark < end - 1 && end - 1 <= *t {
                        expected.give(key, (start, end), values);
                    }
                }
                watermark = *t;
            }
            _ => {}
        }
    }
    expected.sorted()
}

/// Sessions with a gap.
pub(crate) fn sessions(script: &[Step<Row>], lateness: i64, gap: i64) -> Expected {
    let mut expected = Expected::default();
    let mut open: Vec<(u8, i64, i64, Vec<i64>)> = Vec::new();
    let mut watermark = i64::MIN;
    for step in script {
        match step {
            Step::Rows(rows) => {
                for &((key, value), time) in rows {
                    let meets = |s: &(u8, i64, i64, Vec<i64>)| s.0 == key && s.1 <= time + gap && time <= s.2;
                    let (met, apart): (Vec<_>, Vec<_>) = open.into_iter().partition(meets);
                    open = apart;
                    if met.is_empty() && (time + gap - 1).saturating_add(lateness) <= watermark {
                        expected.late.push((0, (key, value), time));
                        continue;
                    }
                    let mut whole = (key, time, time + gap, vec![value]);
                    for session in met {
                        whole.1 = whole.1.min(session.1);
                        whole.2 = whole.2.max(session.2);
                        whole.3.extend(session.3);
                    }
                    if whole.2 - 1 <= watermark {
                        expected.give(key, (whole.1, whole.2), &whole.3);
                    }
                    open.push(whole);
                }
            }
            Step::Watermark(t) if *t > watermark => {
                for (key, start, end, values) in &open {
                    if watermark < end - 1 && end - 1 <= *t {
                        expected.give(*key, (*start, *end), values);
                    }
                }
                watermark = *t;
                open.retain(|s| (s.2 - 1).saturating_add(lateness) > watermark);
            }
            _ => {}
        }
    }
    expected.sorted()
}

/// Scripts of rows out of order, at negative and at equal times, with watermarks in between and at the end.
pub(crate) fn scripts() -> impl Strategy<Value = Vec<Step<Row>>> {
    let row = ((0u8..5, 1i64..100), prop_oneof![-60i64..60, Just(-10i64), Just(20i64)]);
    let step = prop_oneof![
        3 => prop::collection::vec(row, 0..14).prop_map(Step::Rows),
        1 => (-70i64..70).prop_map(Step::Watermark),
    ];
    prop::collection::vec(step, 1..10).prop_map(|mut script| {
        script.push(Step::Watermark(i64::MAX));
        script
    })
}

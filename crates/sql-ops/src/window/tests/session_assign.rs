use super::{rescaled, sorted, split, unfolded};
use crate::testing::{Compare, Driver, Step, changes, replay, schema};
use crate::window::{SessionAssign, SessionAssignSpec, WindowTime};
use proptest::prelude::*;

const COLUMNS: &str = "k STRING, t TIMESTAMP(3), v INT";
const OUTPUT: &str = "k STRING, t TIMESTAMP(3), v INT, window_start TIMESTAMP(3) NOT NULL, \
                      window_end TIMESTAMP(3) NOT NULL, window_time TIMESTAMP(3) NOT NULL";

fn sessions(gap_ms: i64) -> SessionAssign {
    SessionAssign::new(SessionAssignSpec {
        input: schema(COLUMNS),
        keys: vec![0],
        gap_ms,
        time: WindowTime::Event { column: 1 },
        zone: None,
        output: schema(OUTPUT),
        late_output: true,
    })
}

#[test]
fn rows_come_with_the_bounds_of_their_session() {
    let columns = schema(COLUMNS);
    let mut driver = Driver::new(sessions(10)).unwrap();
    driver
        .push(changes(&columns, "+I | a | 0 | 1\n+I | b | 5 | 2\n+I | a | 30 | 3\n+I | a | -10 | 4"))
        .unwrap();
    // Joins what was apart, by touching both.
    driver.push(changes(&columns, "+I | a | 20 | 5\n+I | a | 10 | 6\n+I | b | 16 | 7")).unwrap();
    driver.watermark(24).unwrap();
    assert_eq!(driver.take_text(), "+I | b | 5 | 2 | 5 | 15 | 14");
    // Too late, but for a session that is open.
    driver.push(changes(&columns, "+I | b | 4 | 8\n+I | a | -20 | 9\n+I | c | 14 | 10")).unwrap();
    assert_eq!(
        (driver.take_side_text(), driver.counter("numLateRecordsDropped")),
        ("+I | b | 4 | 8\n+I | c | 14 | 10".into(), 2)
    );
    driver.watermark(39).unwrap();
    assert_eq!(
        driver.take_text(),
        "+I | b | 16 | 7 | 16 | 26 | 25\n\
         +I | a | 0 | 1 | -20 | 40 | 39\n+I | a | -10 | 4 | -20 | 40 | 39\n+I | a | 30 | 3 | -20 | 40 | 39\n\
         +I | a | 20 | 5 | -20 | 40 | 39\n+I | a | 10 | 6 | -20 | 40 | 39\n+I | a | -20 | 9 | -20 | 40 | 39"
    );
    let before = driver.state_bytes();
    assert_eq!(driver.snapshot().unwrap().entries(), 1, "only the time is left, of {before} bytes");
    assert!(driver.push(changes(&columns, "-D | a | 50 | 1")).is_err());
}

/// The sessions of the rows, by sorting.
fn naive(rows: &[(u8, i64, i32)], gap: i64) -> Vec<String> {
    let mut expected = Vec::new();
    for key in 0..4u8 {
        let mut of_key: Vec<_> = rows.iter().filter(|row| row.0 == key).collect();
        of_key.sort_by_key(|row| row.1);
        for session in of_key.chunk_by(|a, b| b.1 - a.1 <= gap) {
            let (start, end) = (session[0].1, session[session.len() - 1].1 + gap);
            expected.extend(
                session.iter().map(|(k, t, v)| format!("{k} | {t} | {v} | {start} | {end} | {}", end - 1)),
            );
        }
    }
    expected.sort();
    expected
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn sessions_are_those_of_the_sorted_rows(
        batches in prop::collection::vec(prop::collection::vec((0u8..4, -100i64..100, 0i32..9), 0..12), 1..5),
        gap in 1i64..30,
    ) {
        let columns = schema(COLUMNS);
        let batch = |rows: &Vec<(u8, i64, i32)>| {
            let rows: Vec<String> = rows.iter().map(|(k, t, v)| format!("+I | {k} | {t} | {v}")).collect();
            Step::Batch(changes(&columns, &rows.join("\n")))
        };
        let mut steps: Vec<_> = batches.iter().map(batch).collect();
        steps.insert(1, Step::Watermark(-200));
        steps.push(Step::End);
        let expected = naive(&batches.concat(), gap);
        prop_assert_eq!(&sorted(&replay(|| sessions(gap), &steps, &Compare::Rows)), &expected);
        prop_assert_eq!(unfolded(&rescaled(|| sessions(gap), &steps, |b, n| split(b, &[0], n))), expected);
    }
}

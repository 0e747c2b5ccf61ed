use super::{rescaled, sorted, split, unfolded};
use crate::testing::{Compare, Driver, Step, changes, replay, schema};
use crate::window::{AttachedWindow, WindowDeduplicate, WindowDeduplicateSpec, WindowKeep};
use proptest::prelude::*;

const COLUMNS: &str =
    "k STRING, t TIMESTAMP(3), window_start TIMESTAMP(3) NOT NULL, window_end TIMESTAMP(3) NOT NULL, n INT";

fn deduplicate(keep: WindowKeep) -> WindowDeduplicate {
    WindowDeduplicate::new(WindowDeduplicateSpec {
        input: schema(COLUMNS),
        window: AttachedWindow { start: 2, end: 3 },
        keys: vec![0],
        time: 1,
        keep,
        zone: None,
        late_output: true,
    })
}

#[test]
fn one_row_of_each_key_and_window() {
    let columns = schema(COLUMNS);
    for (keep, first) in
        [(WindowKeep::First, "+I | a | 3 | 0 | 10 | 2"), (WindowKeep::Last, "+I | a | 5 | 0 | 10 | 3")]
    {
        let mut driver = Driver::new(deduplicate(keep)).unwrap();
        driver
            .push(changes(
                &columns,
                "+I | a | 5 | 0 | 10 | 1\n+I | a | 3 | 0 | 10 | 2\n+I | a | 12 | 10 | 20 | 7",
            ))
            .unwrap();
        driver.push(changes(&columns, "+I | a | 5 | 0 | 10 | 3\n+I | a | 3 | 0 | 10 | 4")).unwrap();
        driver.watermark(9).unwrap();
        assert_eq!(driver.take_text(), first);
        driver.push(changes(&columns, "+I | a | 1 | 0 | 10 | 5")).unwrap();
        assert_eq!(driver.take_side_text(), "+I | a | 1 | 0 | 10 | 5");
        driver.end().unwrap();
        assert_eq!(driver.take_text(), "+I | a | 12 | 10 | 20 | 7");
        assert_eq!(driver.snapshot().unwrap().entries(), 1);
    }
}

type Row = (u8, i64, i32);

fn line((k, t, n): &Row) -> String {
    let start = t.div_euclid(10) * 10;
    format!("{k} | {t} | {start} | {} | {n}", start + 10)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn rows_are_those_of_the_definition(
        batches in prop::collection::vec(prop::collection::vec((0u8..4, -20i64..20, 0i32..99), 0..20), 1..4),
        keep in prop::sample::select(vec![WindowKeep::First, WindowKeep::Last]),
    ) {
        let columns = schema(COLUMNS);
        let batch = |rows: &Vec<Row>| {
            let rows: Vec<String> = rows.iter().map(|row| format!("+I | {}", line(row))).collect();
            Step::Batch(changes(&columns, &rows.join("\n")))
        };
        let mut steps: Vec<_> = batches.iter().map(batch).collect();
        steps.push(Step::End);
        let rows = batches.concat();
        let mut expected = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let beaten = rows.iter().enumerate().any(|(other_at, other)| {
                let same = other.0 == row.0 && other.1.div_euclid(10) == row.1.div_euclid(10);
                same && match keep {
                    WindowKeep::First => (other.1, other_at) < (row.1, at),
                    WindowKeep::Last => (other.1, other_at) > (row.1, at),
                }
            });
            if !beaten {
                expected.push(line(row));
            }
        }
        expected.sort();
        prop_assert_eq!(&sorted(&replay(|| deduplicate(keep), &steps, &Compare::Rows)), &expected);
        prop_assert_eq!(unfolded(&rescaled(|| deduplicate(keep), &steps, |b, n| split(b, &[0], n))), expected);
    }
}

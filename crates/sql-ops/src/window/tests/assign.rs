use super::{HOUR, LONG_DAY, SHORT_DAY};
use crate::testing::{Compare, Driver, DriverOptions, Step, changes, replay, schema, text};
use crate::window::{WindowAssign, WindowAssignSpec, WindowShape, WindowTime};
use flugs_types::{ErrorKind, Timestamp};
use proptest::prelude::*;

const WINDOW: &str = "window_start TIMESTAMP(3) NOT NULL, window_end TIMESTAMP(3) NOT NULL";

fn assign(columns: &str, time: WindowTime, shape: WindowShape, zone: Option<&str>) -> WindowAssign {
    let kind = if columns.contains("LTZ") || time == WindowTime::Processing {
        "TIMESTAMP_LTZ(3)"
    } else {
        "TIMESTAMP(3)"
    };
    WindowAssign::new(WindowAssignSpec {
        input: schema(columns),
        shape,
        time,
        zone: zone.map(str::to_owned),
        output: schema(&format!("{columns}, {WINDOW}, window_time {kind} NOT NULL")),
    })
}

const EVENT: WindowTime = WindowTime::Event { column: 1 };
const COLUMNS: &str = "a STRING, t TIMESTAMP(3)";

fn run(operator: WindowAssign, columns: &str, rows: &str) -> String {
    let mut driver = Driver::new(operator).unwrap();
    driver.push(changes(&schema(columns), rows)).unwrap();
    driver.take_text()
}

#[test]
fn tumbling_windows_keep_kinds() {
    let shape = WindowShape::Tumble { size_ms: 10, offset_ms: 3 };
    let rows = "+I | a | 12\n-U | a | 13\n+U | a | -8\n-D | b | -7";
    assert_eq!(
        run(assign(COLUMNS, EVENT, shape, Some("Europe/Berlin")), COLUMNS, rows),
        "+I | a | 12 | 3 | 13 | 12\n-U | a | 13 | 13 | 23 | 22\n\
         +U | a | -8 | -17 | -7 | -8\n-D | b | -7 | -7 | 3 | 2"
    );
}

#[test]
fn hopping_and_cumulating_windows_repeat_rows() {
    let hop = WindowShape::Hop { size_ms: 10, slide_ms: 5, offset_ms: 0 };
    assert_eq!(
        run(assign(COLUMNS, EVENT, hop, None), COLUMNS, "+I | a | -1\n-U | b | 5\n+U | b | 5"),
        "+I | a | -1 | -10 | 0 | -1\n+I | a | -1 | -5 | 5 | 4\n\
         -D | b | 5 | 0 | 10 | 9\n-D | b | 5 | 5 | 15 | 14\n+I | b | 5 | 0 | 10 | 9\n+I | b | 5 | 5 | 15 | 14"
    );
    let cumulate = WindowShape::Cumulate { max_size_ms: 9, step_ms: 3, offset_ms: 0 };
    assert_eq!(
        run(assign(COLUMNS, EVENT, cumulate, None), COLUMNS, "+I | a | 4"),
        "+I | a | 4 | 0 | 6 | 5\n+I | a | 4 | 0 | 9 | 8"
    );
}

#[test]
fn many_windows_of_a_row_are_given_in_parts() {
    let hop = WindowShape::Hop { size_ms: 10_000, slide_ms: 1, offset_ms: 0 };
    let mut driver = Driver::with(assign(COLUMNS, EVENT, hop, None), true, None).unwrap();
    driver.push(changes(&schema(COLUMNS), "+I | a | 0\n+I | b | 0")).unwrap();
    let batches = driver.take();
    assert!(batches.iter().all(|batch| batch.rows().num_rows() <= 4096));
    let rows: Vec<String> = batches.iter().map(text).collect();
    let rows: Vec<&str> = rows.iter().flat_map(|rows| rows.lines()).collect();
    assert_eq!(rows.len(), 20_000);
    assert_eq!((rows[0], rows[9_999]), ("+I | a | 0 | -9999 | 1 | 0", "+I | a | 0 | 0 | 10000 | 9999"));
    assert_eq!(rows[10_000], "+I | b | 0 | -9999 | 1 | 0");
}

#[test]
fn days_of_local_time() {
    let columns = "a STRING, t TIMESTAMP_LTZ(3)";
    let shape = WindowShape::Tumble { size_ms: 24 * HOUR, offset_ms: 0 };
    for (day, hours) in [(SHORT_DAY, 23), (LONG_DAY, 25)] {
        let last = day + hours * HOUR - 1;
        let text = run(
            assign(columns, EVENT, shape, Some("Europe/Berlin")),
            columns,
            &format!("+I | a | {day}\n+I | b | {last}\n+I | c | {}", last + 1),
        );
        // Local midnight as if at Greenwich; the clocks are an hour ahead in winter, two in summer.
        let ahead = if hours == 23 { HOUR } else { 2 * HOUR };
        let (start, end) = (day + ahead, day + ahead + 24 * HOUR);
        let next = last + 24 * HOUR;
        assert_eq!(
            text,
            format!(
                "+I | a | {day} | {start} | {end} | {last}\n+I | b | {last} | {start} | {end} | {last}\n\
                 +I | c | {} | {end} | {} | {next}",
                last + 1,
                end + 24 * HOUR
            )
        );
    }
}

#[test]
fn processing_time() {
    let shape = WindowShape::Tumble { size_ms: 24 * HOUR, offset_ms: 0 };
    let operator = assign("a STRING", WindowTime::Processing, shape, Some("+02:00"));
    let now = Timestamp::from_millis(22 * HOUR);
    let mut driver = Driver::open(operator, DriverOptions { now, ..DriverOptions::default() }).unwrap();
    driver.push(changes(&schema("a STRING"), "+I | x")).unwrap();
    assert_eq!(driver.take_text(), format!("+I | x | {} | {} | {}", 24 * HOUR, 48 * HOUR, 46 * HOUR - 1));
}

#[test]
fn times_that_are_none_are_refused() {
    let shape = WindowShape::Tumble { size_ms: 10, offset_ms: 0 };
    let mut driver = Driver::new(assign(COLUMNS, EVENT, shape, None)).unwrap();
    for (rows, said) in [("+I | a | NULL", "'t' is NULL"), ("+I | a | 9000000000000000000", "'t' has 90000")]
    {
        let error = driver.push(changes(&schema(COLUMNS), rows)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Data);
        assert!(error.to_string().contains(said), "{error}");
    }
    let wrong = WindowShape::Tumble { size_ms: -1, offset_ms: 0 };
    assert_eq!(Driver::new(assign(COLUMNS, EVENT, wrong, None)).err().unwrap().kind(), ErrorKind::Job);
    assert!(Driver::new(assign("a STRING, t TIMESTAMP_LTZ(3)", EVENT, shape, Some("Mars"))).is_err());
}

#[test]
fn times_of_other_units_are_rounded_down() {
    let shape = WindowShape::Tumble { size_ms: 10, offset_ms: 0 };
    for (precision, one) in [(6, 1_000), (9, 1_000_000)] {
        let columns = format!("a STRING, t TIMESTAMP({precision})");
        let rows = format!("+I | a | -1\n+I | a | {}", 10 * one - 1);
        let expected = format!("+I | a | -1 | -10 | 0 | -1\n+I | a | {} | 0 | 10 | 9", 10 * one - 1);
        assert_eq!(run(assign(&columns, EVENT, shape, None), &columns, &rows), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn windows_are_those_of_the_definition(
        times in prop::collection::vec(-50i64..50, 1..20), size in 1i64..20, slide in 1i64..20, offset in -10i64..10,
    ) {
        let hop = WindowShape::Hop { size_ms: size, slide_ms: slide, offset_ms: offset };
        let rows: Vec<String> = times.iter().map(|t| format!("+I | a | {t}")).collect();
        let steps = [Step::Batch(changes(&schema(COLUMNS), &rows.join("\n"))), Step::End];
        let given = replay(|| assign(COLUMNS, EVENT, hop, None), &steps, &Compare::Rows);
        let naive: Vec<String> = times
            .iter()
            .flat_map(|t| (-100..100).map(move |n| (t, n * slide + offset)))
            .filter(|(t, start)| start <= *t && **t < start + size)
            .map(|(t, start)| format!("+I | a | {t} | {start} | {} | {}", start + size, start + size - 1))
            .collect();
        let given: Vec<String> = given.iter().map(text).filter(|text| !text.is_empty()).collect();
        prop_assert_eq!(given.join("\n"), naive.join("\n"));
    }
}

use super::{HOUR, LONG_DAY, rescaled, sorted, split, unfolded};
use crate::aggregate::AggregateCall;
use crate::testing::{Compare, Driver, DriverOptions, Step, changes, replay, schema};
use crate::window::{SessionAggregate, SessionAggregateSpec, WindowColumn, WindowTime};
use flugs_sql_types::AggregateKind;
use flugs_types::Timestamp;
use proptest::prelude::*;

const COLUMNS: &str = "k STRING, t TIMESTAMP(3), v STRING";
const OUTPUT: &str = "k STRING, n BIGINT NOT NULL, l STRING, window_start TIMESTAMP(3) NOT NULL, window_end TIMESTAMP(3) NOT NULL";

fn spec(gap_ms: i64) -> SessionAggregateSpec {
    let input = schema(COLUMNS);
    let call = |kind, args, name| AggregateCall::new(kind, args, name, input.fields()).unwrap();
    let list = AggregateKind::Listagg { separator: String::new() };
    SessionAggregateSpec {
        calls: vec![call(AggregateKind::Count, vec![], "n"), call(list, vec![2], "l")],
        input,
        gap_ms,
        time: WindowTime::Event { column: 1 },
        zone: None,
        keys: vec![0],
        window_columns: vec![WindowColumn::Start, WindowColumn::End],
        output: schema(OUTPUT),
        late_output: true,
    }
}

#[test]
fn sessions_merge_when_they_touch() {
    let mut driver = Driver::new(SessionAggregate::new(spec(10))).unwrap();
    let columns = schema(COLUMNS);
    driver.push(changes(&columns, "+I | a | 20 | c\n+I | a | -5 | a\n+I | b | 3 | x")).unwrap();
    driver.watermark(4).unwrap();
    assert_eq!(driver.take_text(), "+I | a | 1 | a | -5 | 5");
    // The late row stands between others of the batch; the session of b goes on from before the watermark.
    driver
        .push(changes(
            &columns,
            "+I | b | 13 | y\n+I | a | -6 | l\n+I | a | 0 | b\n+I | a | 10 | d\n+I | b | -5 | z",
        ))
        .unwrap();
    assert_eq!(
        (driver.take_side_text(), driver.counter("numLateRecordsDropped")),
        ("+I | a | -6 | l".into(), 1)
    );
    driver.watermark(22).unwrap();
    assert_eq!(driver.take_text(), "+I | b | 3 | xyz | -5 | 23");
    driver.end().unwrap();
    // Of the sessions that became one, the earlier one's rows stand first.
    assert_eq!(driver.take_text(), "+I | a | 3 | bcd | 0 | 30");
    assert_eq!(driver.snapshot().unwrap().entries(), 1);
    assert!(driver.push(changes(&columns, "-D | a | 90 | c")).is_err());
}

#[test]
fn sessions_by_the_machines_clock() {
    let spec = SessionAggregateSpec { time: WindowTime::Processing, ..spec(10) };
    let mut driver = Driver::new(SessionAggregate::new(spec.clone())).unwrap();
    let columns = schema(COLUMNS);
    driver.push(changes(&columns, "+I | a | 0 | x")).unwrap();
    driver.set_time(8).unwrap();
    driver.push(changes(&columns, "+I | a | 0 | y")).unwrap();
    driver.set_time(16).unwrap();
    assert_eq!(driver.take_text(), "");
    let options = DriverOptions {
        snapshots: vec![driver.snapshot().unwrap()],
        now: driver.now(),
        ..DriverOptions::default()
    };
    let mut driver = Driver::open(SessionAggregate::new(spec), options).unwrap();
    assert_eq!(driver.next_tick(), Some(Timestamp::from_millis(17)));
    driver.set_time(17).unwrap();
    assert_eq!(driver.take_text(), "+I | a | 2 | xy | 0 | 18");
    driver.push(changes(&columns, "+I | a | 0 | z")).unwrap();
    driver.end().unwrap();
    assert_eq!(driver.take_text(), "+I | a | 1 | z | 18 | 28");
    assert_eq!(driver.next_tick(), None);
}

#[test]
fn sessions_go_on_where_clocks_change() {
    let columns = "k STRING, t TIMESTAMP_LTZ(3), v STRING";
    let spec = SessionAggregateSpec {
        input: schema(columns),
        zone: Some("Europe/Berlin".to_owned()),
        window_columns: vec![WindowColumn::Start, WindowColumn::Time],
        output: schema(&OUTPUT.replace("window_end TIMESTAMP(3)", "window_time TIMESTAMP_LTZ(3)")),
        ..spec(1000)
    };
    let mut driver = Driver::new(SessionAggregate::new(spec)).unwrap();
    // 03:00 becomes 02:00 three hours after midnight.
    let change = LONG_DAY + 3 * HOUR;
    driver
        .push(changes(
            &schema(columns),
            &format!("+I | a | {} | x\n+I | a | {} | y", change - 500, change + 400),
        ))
        .unwrap();
    driver.end().unwrap();
    assert_eq!(
        driver.take_text(),
        format!("+I | a | 2 | xy | {} | {}", change - 500 + 2 * HOUR, change + 1399)
    );
}

type Row = (u8, i64, u8);

/// Sessions by sorting; rows that come before a watermark and are alone over then are left out.
fn naive(batches: &[(Vec<Row>, Option<i64>)], gap: i64) -> (Vec<String>, i64) {
    let (mut open, mut given, mut reached, mut late) = (Vec::<Vec<Row>>::new(), Vec::new(), i64::MIN, 0);
    let bounds = |rows: &Vec<Row>| {
        let times = rows.iter().map(|row| row.1);
        (times.clone().min().unwrap(), times.max().unwrap() + gap)
    };
    for (rows, watermark) in batches {
        for row in rows {
            let touches = |session: &Vec<Row>| {
                let (start, end) = bounds(session);
                session[0].0 == row.0 && start <= row.1 + gap && row.1 <= end
            };
            let mut met: Vec<Vec<Row>> = open.extract_if(.., |session| touches(session)).collect();
            met.sort_by_key(|session| bounds(session).0);
            let mut met = met.concat();
            if met.is_empty() && row.1 + gap - 1 <= reached {
                late += 1;
                continue;
            }
            met.push(*row);
            open.push(met);
        }
        reached = reached.max(watermark.unwrap_or(i64::MIN));
        given.extend(open.extract_if(.., |session| bounds(session).1 - 1 <= reached));
    }
    given.extend(open);
    let line = |session: &Vec<Row>| {
        let (start, end) = bounds(session);
        let list: String = session.iter().map(|row| row.2.to_string()).collect();
        format!("{} | {} | {list} | {start} | {end}", session[0].0, session.len())
    };
    let mut given: Vec<String> = given.iter().map(line).collect();
    given.sort();
    (given, late)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn sessions_are_those_of_the_definition(
        batches in prop::collection::vec(
            (prop::collection::vec((0u8..3, -60i64..60, 0u8..9), 0..12), prop::option::of(-60i64..60)), 1..6),
        gap in 1i64..25,
    ) {
        let mut steps = Vec::new();
        for (rows, watermark) in &batches {
            let rows: String = rows.iter().map(|(k, t, v)| format!("+I | {k} | {t} | {v}\n")).collect();
            steps.push(Step::Batch(changes(&schema(COLUMNS), &rows)));
            steps.extend(watermark.map(Step::Watermark));
        }
        steps.push(Step::End);
        let (expected, late) = naive(&batches, gap);
        let make = || SessionAggregate::new(spec(gap));
        prop_assert_eq!(&sorted(&replay(make, &steps, &Compare::Rows)), &expected);
        prop_assert_eq!(unfolded(&rescaled(make, &steps, |b, n| split(b, &[0], n))), expected);
        let mut driver = Driver::new(make()).unwrap();
        for step in steps {
            match step {
                Step::Batch(batch) => driver.push(batch).unwrap(),
                Step::Watermark(millis) => driver.watermark(millis).unwrap(),
                _ => driver.end().unwrap(),
            }
        }
        prop_assert_eq!(driver.counter("numLateRecordsDropped"), late);
    }
}

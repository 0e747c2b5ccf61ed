use super::Deduplicate;
use crate::rank::{DeduplicateSpec, DeduplicateTime, Keep};
use crate::testing::{Compare, Driver, Folded, Step, changes, fold, replay, rows_text, schema};
use flugs_batch::ChangeBatch;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

const INPUT: &str = "k INT, t TIMESTAMP(3), s STRING";
const EVENT: DeduplicateTime = DeduplicateTime::Event { column: 1 };

fn spec(keep: Keep, time: DeduplicateTime) -> DeduplicateSpec {
    DeduplicateSpec {
        input: schema(INPUT),
        keys: vec![0],
        keep,
        time,
        emit_update_before: true,
        ttl: None,
        retract_on_expiry: false,
        late_output: true,
    }
}

fn batch(table: &str) -> ChangeBatch {
    changes(&schema(INPUT), table)
}

fn run(spec: DeduplicateSpec, batches: &[&str]) -> Vec<String> {
    let mut driver = Driver::new(Deduplicate::new(spec)).unwrap();
    let mut given = Vec::new();
    for table in batches {
        driver.push(batch(table)).unwrap();
        given.push(driver.take_text());
    }
    given
}

#[test]
fn the_last_row_by_event_time_is_updated() {
    let batches = [
        "+I | 1 | 5 | a\n+I | NULL | 1 | n",
        "+I | 1 | 4 | early\n+I | 1 | 5 | b\n+I | NULL | 1 | n",
        "+I | 1 | 6 | c\n+I | 2 | -9 | x\n+I | 1 | 7 | d",
    ];
    let mut last = spec(Keep::Last, EVENT);
    let given = run(last.clone(), &batches);
    assert_eq!(given[0], "+I | 1 | 5 | a\n+I | NULL | 1 | n");
    assert_eq!(given[1], "-U | 1 | 5 | a\n+U | 1 | 5 | b");
    assert_eq!(given[2], "-U | 1 | 5 | b\n+U | 1 | 7 | d\n+I | 2 | -9 | x");
    last.emit_update_before = false;
    let given = run(last, &batches);
    assert_eq!(given[1], "+U | 1 | 5 | b\n+U | NULL | 1 | n");
    assert_eq!(given[2], "+U | 1 | 7 | d\n+I | 2 | -9 | x");
}

#[test]
fn the_last_row_that_came_is_updated() {
    let given = run(
        spec(Keep::Last, DeduplicateTime::Processing),
        &["+I | 1 | 5 | a\n+I | 1 | 4 | b", "+I | 1 | 3 | c"],
    );
    assert_eq!(given, ["+I | 1 | 4 | b", "-U | 1 | 4 | b\n+U | 1 | 3 | c"]);
}

#[test]
fn the_first_row_that_came_stays() {
    let given = run(
        spec(Keep::First, DeduplicateTime::Processing),
        &[
            "+I | 1 | 5 | a\n+I | 1 | 4 | b\n+I | NULL | 3 | c",
            "+I | 1 | 3 | d\n+I | NULL | 3 | e\n+I | 2 | 1 | f",
        ],
    );
    assert_eq!(given, ["+I | 1 | 5 | a\n+I | NULL | 3 | c", "+I | 2 | 1 | f"]);
}

#[test]
fn the_first_row_by_event_time_waits_for_its_time() {
    let steps = [
        Step::Batch(batch("+I | 1 | 5 | a\n+I | 1 | 5 | b\n+I | 2 | 9 | x\n+I | 1 | 6 | c")),
        Step::Batch(batch("+I | 1 | 4 | d\n+I | 3 | 4 | y\n+I | 4 | -1 | z")),
        Step::Watermark(4),
        Step::Batch(batch("+I | 1 | 4 | done\n+I | 2 | 4 | on time\n+I | 5 | 3 | late\n+I | 1 | 1 | late")),
        Step::End,
    ];
    let given = replay(|| Deduplicate::new(spec(Keep::First, EVENT)), &steps, &Compare::Rows);
    let lines: Vec<String> = given.iter().flat_map(rows_text).collect();
    assert_eq!(lines, ["+I | 4 | -1 | z", "+I | 1 | 4 | d", "+I | 3 | 4 | y", "+I | 2 | 4 | on time"]);
    let mut driver = Driver::new(Deduplicate::new(spec(Keep::First, EVENT))).unwrap();
    driver.watermark(4).unwrap();
    driver.push(batch("+I | 5 | 3 | late\n+I | 1 | 9 | a")).unwrap();
    assert_eq!(
        (driver.counter("numLateRecordsDropped"), driver.take_side_text()),
        (1, "+I | 5 | 3 | late".into())
    );
}

#[test]
fn keys_expire() {
    let times = [
        (Keep::First, DeduplicateTime::Processing),
        (Keep::Last, DeduplicateTime::Processing),
        (Keep::Last, EVENT),
    ];
    for (keep, time) in times {
        let mut expiring = spec(keep, time);
        expiring.ttl = Some(Duration::from_millis(100));
        let mut driver = Driver::new(Deduplicate::new(expiring)).unwrap();
        driver.push(batch("+I | 1 | 5 | a\n+I | 2 | 5 | b")).unwrap();
        driver.set_time(90).unwrap();
        driver.push(batch("+I | 2 | 6 | c")).unwrap();
        driver.take();
        driver.set_time(124).unwrap();
        // Its time is over, and it has not been swept away or has: it is a new key.
        driver.push(batch("+I | 1 | 4 | d")).unwrap();
        assert_eq!(driver.take_text(), "+I | 1 | 4 | d", "{keep:?} {time:?}");
        driver.set_time(1000).unwrap();
        assert_eq!((driver.snapshot().unwrap().entries(), driver.next_tick()), (0, None));
        // Key 2 is expired, and key 1 twice; that of keep-first was not touched again.
        assert_eq!(driver.counter("numExpiredState"), 3);
    }
    let mut expiring = spec(Keep::Last, EVENT);
    (expiring.ttl, expiring.retract_on_expiry) = (Some(Duration::from_millis(100)), true);
    expiring.emit_update_before = false;
    let mut driver = Driver::new(Deduplicate::new(expiring)).unwrap();
    driver.push(batch("+I | 1 | 5 | a")).unwrap();
    driver.take();
    driver.set_time(500).unwrap();
    assert_eq!(driver.take_text(), "-D | 1 | 5 | a");
}

#[test]
fn a_key_whose_time_is_over_is_gone_before_it_is_swept_away() {
    for (keep, retract) in [(Keep::First, false), (Keep::Last, false), (Keep::Last, true)] {
        let mut expiring = spec(keep, DeduplicateTime::Processing);
        (expiring.ttl, expiring.retract_on_expiry) = (Some(Duration::from_millis(100)), retract);
        let mut driver = Driver::new(Deduplicate::new(expiring)).unwrap();
        driver.push(batch("+I | 1 | 5 | a")).unwrap();
        driver.set_time(90).unwrap();
        driver.take();
        // The next round is at 115.
        driver.set_time(110).unwrap();
        assert_eq!(driver.counter("numExpiredState"), 0);
        driver.push(batch("+I | 1 | 1 | c\n+I | 1 | 1 | c")).unwrap();
        let expected = if retract { "-U | 1 | 5 | a\n+U | 1 | 1 | c" } else { "+I | 1 | 1 | c" };
        assert_eq!((driver.take_text().as_str(), driver.counter("numExpiredState")), (expected, 1));
    }
}

#[test]
fn a_row_that_waits_does_not_expire() {
    let mut expiring = spec(Keep::First, EVENT);
    expiring.ttl = Some(Duration::from_millis(100));
    let mut driver = Driver::new(Deduplicate::new(expiring)).unwrap();
    driver.push(batch("+I | 1 | 5 | a")).unwrap();
    driver.set_time(10_000).unwrap();
    driver.watermark(5).unwrap();
    assert_eq!(driver.take_text(), "+I | 1 | 5 | a");
    driver.set_time(20_000).unwrap();
    assert_eq!(driver.counter("numExpiredState"), 1);
}

#[test]
fn what_cannot_be_is_an_error() {
    let mut driver = Driver::new(Deduplicate::new(spec(Keep::Last, EVENT))).unwrap();
    assert!(driver.push(batch("-D | 1 | 5 | a")).is_err());
    let mut driver = Driver::new(Deduplicate::new(spec(Keep::Last, EVENT))).unwrap();
    assert!(driver.push(batch("+I | 1 | NULL | a")).unwrap_err().to_string().contains("'t' is NULL"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn rows_are_those_that_a_look_at_all_finds(
        batches in prop::collection::vec(prop::collection::vec((prop::option::of(0..4i64), -5..6i64), 0..10), 1..6),
        first: bool, event: bool,
    ) {
        let (keep, time) = (if first { Keep::First } else { Keep::Last }, if event { EVENT } else { DeduplicateTime::Processing });
        let mut rows: Vec<(Option<i64>, i64, usize)> = Vec::new();
        let (mut steps, mut count, mut watermark) = (Vec::new(), 0, i64::MIN);
        for (round, of_batch) in batches.iter().enumerate() {
            let mut lines = Vec::new();
            for (key, t) in of_batch {
                lines.push(format!("+I | {} | {t} | r{count}", key.map_or("NULL".into(), |k| k.to_string())));
                if !(first && event) || *t >= watermark {
                    rows.push((*key, *t, count));
                }
                count += 1;
            }
            steps.push(Step::Batch(batch(&lines.join("\n"))));
            watermark = round as i64 - 4;
            steps.push(Step::Watermark(watermark));
        }
        steps.push(Step::End);
        let mut best: BTreeMap<Option<i64>, (i64, usize)> = BTreeMap::new();
        for (key, t, n) in rows {
            // What is out by event time is not late: an earlier row would have been.
            let time = if event { t } else { 0 };
            best.entry(key).and_modify(|kept| {
                let kept_time = if event { kept.0 } else { 0 };
                if (first && time < kept_time) || (!first && time >= kept_time) {
                    *kept = (t, n);
                }
            }).or_insert((t, n));
        }
        let expected: Folded = best
            .into_iter()
            .map(|(key, (t, n))| (format!("{} | {t} | r{n}", key.map_or("NULL".into(), |k| k.to_string())), 1))
            .collect();
        let given = replay(|| Deduplicate::new(spec(keep, time)), &steps, &Compare::Rows);
        prop_assert_eq!(fold(&given), Ok(expected.clone()));
        if !first {
            let mut upsert = spec(keep, time);
            upsert.emit_update_before = false;
            let given = replay(|| Deduplicate::new(upsert.clone()), &steps, &Compare::Keys(vec![0]));
            prop_assert_eq!(crate::testing::fold_by_key(&given, &[0]), Ok(expected));
        }
    }
}

use super::aggregate::{COLUMNS, spec};
use super::{rescaled, sorted, split, unfolded};
use crate::testing::{Compare, Driver, Folded, Step, changes, fold, fold_by_key, replay, rows_text, schema};
use crate::window::{Emit, LocalWindowAggregate, WindowAggregate, WindowAggregateSpec, WindowShape};
use flugs_batch::ChangeBatch;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
enum Event {
    Rows(Vec<(u8, i64, i32)>),
    /// Takes back rows that came before, by their place.
    Back(Vec<usize>),
    Watermark(i64),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let rows = prop::collection::vec((0u8..4, -30i64..60, 0i32..9), 0..15).prop_map(Event::Rows);
    let back = prop::collection::vec(0usize..50, 0..5).prop_map(Event::Back);
    prop::collection::vec(
        prop_oneof![3 => rows, 1 => back, 1 => (-30i64..60).prop_map(Event::Watermark)],
        1..10,
    )
}

fn shapes() -> impl Strategy<Value = WindowShape> {
    prop_oneof![
        (1i64..15, -9i64..9).prop_map(|(size_ms, offset_ms)| WindowShape::Tumble { size_ms, offset_ms }),
        (1i64..25, 1i64..9, -9i64..9).prop_map(|(size_ms, slide_ms, offset_ms)| WindowShape::Hop {
            size_ms,
            slide_ms,
            offset_ms
        }),
        // Of many slices.
        (16i64..60, 1i64..4, -9i64..9).prop_map(|(size_ms, slide_ms, offset_ms)| WindowShape::Hop {
            size_ms,
            slide_ms,
            offset_ms
        }),
        (1i64..5, 1i64..6, -9i64..9).prop_map(|(step_ms, steps, offset_ms)| WindowShape::Cumulate {
            max_size_ms: step_ms * steps,
            step_ms,
            offset_ms
        }),
    ]
}

fn windows(shape: WindowShape) -> Vec<(i64, i64)> {
    let of = |step: i64, offset: i64, ends: Vec<i64>| {
        (-150..150)
            .flat_map(|n| ends.iter().map(move |end| (n * step + offset, n * step + offset + end)))
            .collect()
    };
    match shape {
        WindowShape::Tumble { size_ms, offset_ms } => of(size_ms, offset_ms, vec![size_ms]),
        WindowShape::Hop { size_ms, slide_ms, offset_ms } => of(slide_ms, offset_ms, vec![size_ms]),
        WindowShape::Cumulate { max_size_ms, step_ms, offset_ms } => {
            of(max_size_ms, offset_ms, (1..=max_size_ms / step_ms).map(|n| n * step_ms).collect())
        }
    }
}

/// What comes in, and what is given at the end: rows counted in each of their windows that is not over when they come.
struct Case {
    steps: Vec<Step<ChangeBatch>>,
    expected: Vec<String>,
    late: i64,
}

fn case(events: &[Event], shape: WindowShape, retract: bool) -> Case {
    let mut groups: BTreeMap<(i64, i64, u8), (i64, i32)> = BTreeMap::new();
    let (mut steps, mut rows, mut watermark, mut late) = (Vec::new(), Vec::new(), i64::MIN, 0);
    let all = windows(shape);
    for event in events {
        let changed: Vec<(bool, (u8, i64, i32))> = match event {
            Event::Watermark(to) => {
                watermark = watermark.max(*to);
                steps.push(Step::Watermark(*to));
                continue;
            }
            Event::Rows(new) => {
                rows.extend(new.iter().copied());
                new.iter().map(|row| (true, *row)).collect()
            }
            Event::Back(_) if !retract => continue,
            Event::Back(places) => {
                let mut back = Vec::new();
                for place in places {
                    if !rows.is_empty() {
                        back.push((false, rows.swap_remove(place % rows.len())));
                    }
                }
                back
            }
        };
        let mut table = String::new();
        for (adds, (key, time, value)) in changed {
            table += &format!("{} | {key} | {time} | {value}\n", if adds { "+I" } else { "-D" });
            let of_row: Vec<_> = all.iter().filter(|w| w.0 <= time && time < w.1).collect();
            let open: Vec<_> = of_row.iter().filter(|w| w.1 - 1 > watermark).collect();
            late += i64::from(open.is_empty() && !of_row.is_empty());
            for window in open {
                let group = groups.entry((window.1, window.0, key)).or_default();
                let by = if adds { 1 } else { -1 };
                *group = (group.0 + by, group.1 + value * by as i32);
            }
        }
        steps.push(Step::Batch(changes(&schema(COLUMNS), &table)));
    }
    steps.push(Step::End);
    let line = |((end, start, key), (n, sum)): (&(i64, i64, u8), &(i64, i32))| {
        (*n > 0).then(|| format!("{key} | {n} | {sum} | {start} | {end}"))
    };
    let mut expected: Vec<String> = groups.iter().filter_map(line).collect();
    expected.sort();
    Case { steps, expected, late }
}

fn retracting(shape: WindowShape, retract: bool) -> WindowAggregateSpec {
    WindowAggregateSpec { retract, ..spec(shape) }
}

fn by_key(batch: &ChangeBatch, parallelism: u32) -> Vec<ChangeBatch> {
    split(batch, &[0], parallelism)
}

fn table(expected: &[String]) -> Folded {
    let mut table = Folded::new();
    expected.iter().for_each(|row| *table.entry(row.clone()).or_default() += 1);
    table
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn windows_are_those_of_the_definition(events in events(), shape in shapes(), retract: bool) {
        let Case { steps, expected, late } = case(&events, shape, retract);
        let make = || WindowAggregate::new(retracting(shape, retract));
        let given = replay(make, &steps, &Compare::Rows);
        prop_assert_eq!(&sorted(&given), &expected);
        let ends: Vec<i64> = given
            .iter()
            .flat_map(rows_text)
            .map(|row| row.rsplit(" | ").next().unwrap().parse().unwrap())
            .collect();
        prop_assert!(ends.is_sorted());
        prop_assert_eq!(unfolded(&rescaled(make, &steps, by_key)), expected);
        let mut driver = Driver::new(make()).unwrap();
        for step in steps {
            match step {
                Step::Batch(batch) => driver.push(batch).unwrap(),
                Step::Watermark(millis) => driver.watermark(millis).unwrap(),
                _ => driver.end().unwrap(),
            }
        }
        prop_assert_eq!(driver.counter("numLateRecordsDropped"), late);
        prop_assert_eq!(driver.snapshot().unwrap().entries(), 1);
    }

    #[test]
    fn early_results_end_as_the_last_ones(events in events(), shape in shapes(), retract: bool, before: bool) {
        let Case { steps, expected, .. } = case(&events, shape, retract);
        let early = WindowAggregateSpec { emit: Emit::OnChange, emit_update_before: before, ..retracting(shape, retract) };
        let compare = if before { Compare::Rows } else { Compare::Keys(vec![0, 3, 4]) };
        let given = replay(|| WindowAggregate::new(early.clone()), &steps, &compare);
        let folded = if before { fold(&given) } else { fold_by_key(&given, &[0, 3, 4]) };
        prop_assert_eq!(folded.unwrap(), table(&expected));
    }

    /// Two tasks sum up; their watermarks are one, so that no row is late for one phase alone.
    #[test]
    fn two_phases_give_what_one_gives(events in events(), shape in shapes(), retract: bool) {
        let Case { steps, expected, .. } = case(&events, shape, retract);
        let spec = retracting(shape, retract);
        let mut locals = [0, 1].map(|_| Driver::new(LocalWindowAggregate::new(spec.clone())).unwrap());
        let between = spec.partial_schema();
        let mut global = Driver::new(WindowAggregate::merging(spec)).unwrap();
        let mut given = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            match step {
                // A phase that steps aside hands on rows.
                Step::Batch(batch) if at % 4 == 1 => {
                    global.push(crate::phases::passed(batch, &between).unwrap()).unwrap();
                }
                Step::Batch(batch) => locals[at % 2].push(batch.clone()).unwrap(),
                Step::Watermark(millis) => locals.iter_mut().for_each(|local| local.watermark(*millis).unwrap()),
                _ => locals.iter_mut().for_each(|local| local.end().unwrap()),
            }
            // A barrier hands on what a task has.
            if at % 3 == 0 {
                locals.iter_mut().for_each(|local| drop(local.snapshot().unwrap()));
            }
            for batch in locals.iter_mut().flat_map(|local| local.take()) {
                global.push(batch).unwrap();
            }
            match step {
                Step::Watermark(millis) => global.watermark(*millis).unwrap(),
                Step::End => global.end().unwrap(),
                _ => {}
            }
            given.extend(global.take());
        }
        prop_assert_eq!(sorted(&given), expected);
    }
}

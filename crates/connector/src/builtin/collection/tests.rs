//! The collection: each row once, whatever happens to the readers.

use super::super::testing::{Driver, records, rows};
use super::*;

#[test]
fn rows_come_in_order_with_their_times() {
    let all: Vec<(String, Timestamp)> = (0..10_000).map(|i| (format!("row {i}"), Timestamp(i))).collect();
    let source = CollectionSource::timed(all.clone());
    assert_eq!(records(&Driver::start(&source, 1).finish()), all);
    assert_eq!(records(&Driver::start(&source, 3).finish()), all, "parts follow each other");
}

#[test]
fn a_restore_after_any_poll_loses_and_repeats_nothing() {
    let source = CollectionSource::new(0..20_000u32);
    for polls in 0..8 {
        for (before, after) in [(1, 1), (1, 2), (3, 2), (2, 5)] {
            let mut first = Driver::start(&source, before);
            for poll in 0..polls {
                first.poll((poll % before) as usize);
            }
            let checkpoint = first.checkpoint();
            let second = Driver::restore(&source, after, &checkpoint).unwrap().finish();
            let mut all = rows(&first.outputs);
            all.extend(rows(&second));
            all.sort_unstable();
            assert_eq!(all, (0..20_000).collect::<Vec<_>>(), "{polls} polls, {before} to {after}");
        }
    }
}

#[test]
fn few_or_no_rows_leave_readers_without_splits() {
    let outputs = Driver::start(&CollectionSource::new([7, 8]), 5).finish();
    assert_eq!(rows(&outputs), [7, 8]);
    assert_eq!(outputs.iter().map(|o| o.finished.len()).sum::<usize>(), 2);
    assert!(rows(&Driver::start(&CollectionSource::new(Vec::<u8>::new()), 2).finish()).is_empty());
}

#[test]
fn another_collection_is_refused() {
    let checkpoint = Driver::start(&CollectionSource::new(0..100), 1).checkpoint();
    let error = Driver::restore(&CollectionSource::new(0..99), 1, &checkpoint).err().unwrap();
    assert!(error.to_string().contains("the collection has 99 rows, the split reaches 100"), "{error}");
    let mut damaged = checkpoint;
    damaged.splits[0].payload[0] = 9;
    assert!(Driver::restore(&CollectionSource::new(0..100), 1, &damaged).is_err());
}

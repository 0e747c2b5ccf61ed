//! The channel: order, refusal and blocking, the end, and what a failed attempt leaves to the next.

use super::super::testing::{Driver, records, rows};
use super::*;
use crate::ReaderStatus::{Finished, More, Waiting};

#[test]
fn one_reader_gets_all_rows_until_the_sender_is_dropped() {
    let (sender, source) = channel_source(100);
    let mut driver = Driver::start(&source, 2);
    assert_eq!((driver.poll(0), driver.poll(1)), (Waiting, Finished));
    let woken = driver.wakes.count();
    sender.send("a").unwrap();
    sender.send_at("b", Timestamp(5)).unwrap();
    assert_eq!(driver.wakes.count(), woken + 1, "woken once, by the first row");
    assert_eq!((driver.poll(0), driver.poll(0)), (More, Waiting));
    let clone = sender.clone();
    drop(sender);
    assert_eq!(driver.poll(0), Waiting);
    clone.send("c").unwrap();
    drop(clone);
    assert_eq!(driver.wakes.count(), woken + 2);
    assert_eq!((driver.poll(0), driver.poll(0)), (More, Finished));
    assert_eq!(driver.outputs[0].finished, ["channel"]);
    assert_eq!(records(&driver.outputs), [("a", Timestamp::MIN), ("b", Timestamp(5)), ("c", Timestamp::MIN)]);
}

#[test]
fn a_full_channel_refuses_and_blocks() {
    let (sender, source) = channel_source(2);
    let mut driver = Driver::start(&source, 1);
    sender.try_send(1).unwrap();
    sender.try_send(2).unwrap();
    assert_eq!(sender.try_send(3), Err(SendError::Full(3)));
    std::thread::scope(|scope| {
        scope.spawn(|| (3..100).for_each(|i| sender.send(i).unwrap()));
        while rows(&driver.outputs).len() < 99 {
            driver.poll(0);
            std::thread::yield_now();
        }
    });
    assert_eq!(rows(&driver.outputs), (1..100).collect::<Vec<_>>());
    assert!(driver.outputs[0].batches.iter().all(|(_, batch)| batch.len() <= 2));
}

#[test]
fn senders_are_told_when_the_job_has_ended() {
    let (sender, source) = channel_source(1);
    let driver = Driver::start(&source, 1);
    sender.send(1).unwrap();
    std::thread::scope(|scope| {
        let blocked = scope.spawn(|| sender.send(2));
        drop(driver);
        drop(source);
        assert_eq!(blocked.join().unwrap(), Err(SendError::Closed(2)));
    });
    assert_eq!(sender.try_send(3), Err(SendError::Closed(3)));
}

#[test]
fn a_new_attempt_goes_on_with_the_channel() {
    let (sender, source) = channel_source(10);
    let mut first = Driver::start(&source, 1);
    sender.send(1).unwrap();
    first.poll(0);
    let checkpoint = first.checkpoint();
    sender.send(2).unwrap();
    first.poll(0);
    sender.send(3).unwrap();
    drop(first);
    let second = Driver::restore(&source, 2, &checkpoint).unwrap();
    drop(sender);
    // Row 2 was read by the attempt that failed, and is lost.
    assert_eq!(rows(&second.finish()), [3]);
}

#[test]
fn only_the_program_says_that_it_is_caught_up() {
    let (sender, source) = channel_source(10);
    let mut driver = Driver::start(&source, 1);
    driver.poll(0);
    assert!(driver.outputs[0].status.is_empty());
    sender.send(1).unwrap();
    sender.caught_up();
    assert_eq!((driver.poll(0), driver.outputs[0].status.len()), (More, 0));
    driver.poll(0);
    assert_eq!(driver.outputs[0].status["channel"], SplitStatus::CaughtUp);
    sender.send(2).unwrap();
    driver.poll(0);
    assert_eq!(driver.outputs[0].status["channel"], SplitStatus::Behind);
}

#[test]
fn many_rows_go_in_as_room_allows() {
    let (sender, source) = channel_source(10);
    let mut driver = Driver::start(&source, 1);
    std::thread::scope(|scope| {
        scope.spawn(|| sender.send_all(Records::untimed((0..95).collect())).unwrap());
        while rows(&driver.outputs).len() < 95 {
            driver.poll(0);
            std::thread::yield_now();
        }
    });
    assert_eq!(rows(&driver.outputs), (0..95).collect::<Vec<_>>());
    drop((driver, source));
    let back = sender.send_all(Records::untimed(vec![7, 8])).unwrap_err();
    assert_eq!(back, SendError::Closed(Records::untimed(vec![7, 8])));
}

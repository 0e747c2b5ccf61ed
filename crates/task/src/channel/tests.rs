use super::*;
use crate::testing::{Element, Wakes, control, rows, watermark};
use flugs_batch::Records;
use std::sync::atomic::AtomicU64;
use std::task::Wake;
use std::thread::Thread;

/// Bytes of a row of `i64`: the number and its time.
const ROW: usize = 16;

fn channel(capacity: usize) -> (Arc<Channel<Records<i64>>>, Arc<Wakes>, Arc<Wakes>) {
    let ((sends, sender), (receives, receiver)) = (Wakes::new(), Wakes::new());
    (Channel::new(capacity, ChannelEnds { sender, receiver }), sends, receives)
}

#[test]
fn credit_ends_at_the_capacity_and_comes_back_when_half_is_drained() {
    let (channel, sender, receiver) = channel(4 * ROW);
    for i in 0..4 {
        assert!(channel.has_credit());
        channel.send(rows([i]));
    }
    assert!(!channel.has_credit());
    assert_eq!(receiver.count(), 4, "woken by each");
    assert_eq!(channel.receive(), Some(rows([0])));
    assert_eq!(sender.count(), 0, "three of four wait still");
    assert_eq!(channel.receive(), Some(rows([1])));
    assert_eq!(sender.count(), 1);
    assert!(channel.has_credit());
    assert_eq!(
        (channel.receive(), channel.receive(), channel.receive()),
        (Some(rows([2])), Some(rows([3])), None)
    );
    assert_eq!(sender.count(), 1, "who does not wait is not woken");
}

#[test]
fn a_batch_larger_than_the_capacity_passes_alone() {
    let (channel, sender, _) = channel(ROW);
    assert!(channel.has_credit());
    channel.send(rows(0..1000));
    assert!(!channel.has_credit());
    assert_eq!(channel.receive(), Some(rows(0..1000)));
    assert_eq!(sender.count(), 1);
    assert!(channel.has_credit());
}

#[test]
fn control_items_need_no_credit_and_keep_their_order() {
    let (channel, _, receiver) = channel(ROW);
    channel.send(rows([1]));
    assert!(!channel.has_credit());
    channel.send(control(watermark(1)));
    channel.send(rows([2]));
    assert_eq!(receiver.count(), 3);
    let all: Vec<Element<i64>> = std::iter::from_fn(|| channel.receive()).collect();
    assert_eq!(all, [rows([1]), control(watermark(1)), rows([2])]);
    assert!(channel.is_empty());
}

#[test]
fn a_closed_channel_lets_its_sender_go_and_keeps_nothing() {
    let ((sends, sender), (_, receiver)) = (Wakes::new(), Wakes::new());
    let channel = Channel::<Records<Arc<str>>>::new(ROW, ChannelEnds { sender, receiver });
    let held: Arc<str> = "a row".into();
    let one = || StreamElement::Batch(Records::untimed(vec![held.clone()]));
    channel.send(one());
    assert!(!channel.has_credit());
    channel.close();
    assert_eq!(sends.count(), 1);
    assert!(channel.has_credit());
    channel.send(one());
    assert_eq!(Arc::strong_count(&held), 1);
    assert_eq!(channel.receive(), None);
}

/// Unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[test]
fn no_wake_is_lost_between_a_sender_that_heeds_credit_and_a_receiver_that_sleeps() {
    const BATCHES: i64 = 50_000;
    let received = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let (give, take) = std::sync::mpsc::channel();
        let received = &received;
        let receiving = scope.spawn(move || {
            let channel: Arc<Channel<Records<i64>>> = take.recv().unwrap();
            for i in 0..BATCHES {
                let element = loop {
                    match channel.receive() {
                        Some(element) => break element,
                        None => std::thread::park(),
                    }
                };
                assert_eq!(element, rows([i]));
                received.fetch_add(1, Ordering::Relaxed);
            }
        });
        let ends = ChannelEnds {
            sender: Arc::new(Unpark(std::thread::current())).into(),
            receiver: Arc::new(Unpark(receiving.thread().clone())).into(),
        };
        let channel = Channel::new(3 * ROW, ends);
        give.send(channel.clone()).unwrap();
        for i in 0..BATCHES {
            while !channel.has_credit() {
                std::thread::park();
            }
            channel.send(rows([i]));
        }
    });
    assert_eq!(received.into_inner(), BATCHES as u64);
}

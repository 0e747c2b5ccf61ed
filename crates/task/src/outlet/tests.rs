use super::*;
use crate::channel::ChannelEnds;
use crate::route::{BroadcastRoute, RebalanceRoute};
use crate::testing::{Element, Wakes, barrier, control, rows, watermark};
use flugs_batch::Records;
use flugs_types::SubtaskId;
use proptest::prelude::*;

const ROW: usize = 16;

type Lanes = Vec<Arc<Channel<Records<i64>>>>;

/// Rows go to each receiver in turn, one by one.
fn outlet(receivers: usize, capacity: usize) -> (Outlet<Records<i64>>, Lanes, Arc<Wakes>) {
    let (wakes, sender) = Wakes::new();
    let ends = ChannelEnds { sender, receiver: Wakes::new().1 };
    let lanes: Lanes = (0..receivers).map(|_| Channel::new(capacity, ends.clone())).collect();
    (Outlet::new(Box::new(RebalanceRoute::new(SubtaskId::new(0, 1))), lanes.clone()), lanes, wakes)
}

fn push(outlet: &mut Outlet<Records<i64>>, values: impl IntoIterator<Item = i64>) -> Flow {
    outlet.push(Records::untimed(values.into_iter().collect())).unwrap()
}

fn all(lane: &Channel<Records<i64>>) -> Vec<Element<i64>> {
    std::iter::from_fn(|| lane.receive()).collect()
}

#[test]
fn rows_for_an_idle_receiver_go_out_at_the_end_of_the_step_and_for_a_busy_one_when_there_is_no_more_input() {
    let (mut outlet, lanes, _) = outlet(1, 100 * ROW);
    assert_eq!(push(&mut outlet, [1]), Flow::Ready);
    assert!(lanes[0].is_empty(), "more may come within the step");
    let _ = outlet.hand_on(false).unwrap();
    let _ = push(&mut outlet, [2]);
    let _ = outlet.hand_on(false).unwrap();
    let _ = push(&mut outlet, [3]);
    let _ = outlet.hand_on(false).unwrap();
    assert_eq!(all(&lanes[0]), [rows([1])]);
    let _ = push(&mut outlet, [4]);
    let _ = outlet.hand_on(true).unwrap();
    assert_eq!(all(&lanes[0]), [rows([2, 3, 4])]);
}

#[test]
fn large_pieces_go_to_busy_receivers_too() {
    let (mut outlet, lanes, _) = outlet(1, 1 << 20);
    lanes[0].send(rows([0]));
    let _ = push(&mut outlet, 0..(PIECE_BYTES / ROW) as i64 - 1);
    assert_eq!(all(&lanes[0]), [rows([0])]);
    let _ = push(&mut outlet, [-1]);
    assert_eq!(all(&lanes[0]).len(), 1);
}

#[test]
fn control_items_stand_behind_the_rows_before_them_also_where_those_wait_for_credit() {
    let (mut outlet, lanes, wakes) = outlet(1, ROW);
    let _ = push(&mut outlet, [1]);
    assert_eq!(outlet.control(watermark(1)).unwrap(), Flow::Ready);
    let _ = push(&mut outlet, [2]);
    assert_eq!(outlet.control(Control::Barrier(barrier(1))).unwrap(), Flow::Full);
    let _ = push(&mut outlet, [3]);
    assert_eq!(outlet.hand_on(true).unwrap(), Flow::Full);
    assert_eq!(outlet.resume().unwrap(), Flow::Full);
    assert_eq!(lanes[0].receive(), Some(rows([1])));
    assert_eq!(wakes.count(), 1);
    assert_eq!(outlet.resume().unwrap(), Flow::Full, "the third row has no credit yet");
    let next = [control(watermark(1)), rows([2]), control(Control::Barrier(barrier(1)))];
    assert_eq!(all(&lanes[0]), next);
    assert_eq!(outlet.resume().unwrap(), Flow::Ready);
    assert_eq!(all(&lanes[0]), [rows([3])]);
}

#[test]
fn a_receiver_without_credit_keeps_nothing_from_the_others() {
    let (mut outlet, lanes, _) = outlet(2, ROW);
    lanes[0].send(rows([0]));
    let _ = push(&mut outlet, [1, 2]);
    assert_eq!(outlet.hand_on(true).unwrap(), Flow::Full);
    assert_eq!(all(&lanes[1]), [rows([2])]);
    assert_eq!(outlet.control(watermark(1)).unwrap(), Flow::Full);
    assert_eq!(all(&lanes[1]), [control(watermark(1))]);
    assert_eq!(all(&lanes[0]), [rows([0])]);
    assert_eq!(outlet.resume().unwrap(), Flow::Ready);
    assert_eq!(all(&lanes[0]), [rows([1]), control(watermark(1))]);
}

#[test]
fn nothing_follows_the_end_and_nothing_comes_of_no_rows() {
    let (mut outlet, lanes, _) = outlet(1, ROW);
    assert_eq!(push(&mut outlet, []), Flow::Ready);
    let _ = outlet.hand_on(true).unwrap();
    assert!(lanes[0].is_empty());
    assert_eq!(outlet.control(Control::End).unwrap(), Flow::Ready);
    // A drained task answers triggers: its barrier has nobody to go to.
    assert_eq!(outlet.control(Control::Barrier(barrier(1))).unwrap(), Flow::Ready);
    assert_eq!(all(&lanes[0]), [control(Control::End)]);
}

#[test]
fn a_receiver_that_has_gone_stops_nobody() {
    let (mut outlet, lanes, wakes) = outlet(1, ROW);
    let _ = push(&mut outlet, [1]);
    let _ = outlet.hand_on(true).unwrap();
    let _ = push(&mut outlet, [2]);
    assert_eq!(outlet.hand_on(true).unwrap(), Flow::Full);
    lanes[0].close();
    assert_eq!(wakes.count(), 1);
    assert_eq!(outlet.resume().unwrap(), Flow::Ready);
}

#[derive(Debug, Clone)]
enum Does {
    Push(usize),
    Watermark,
    HandOn(bool),
    Resume,
    Receive(usize),
}

fn does() -> impl Strategy<Value = Does> {
    prop_oneof![
        (1usize..5).prop_map(Does::Push),
        Just(Does::Watermark),
        any::<bool>().prop_map(Does::HandOn),
        Just(Does::Resume),
        (0usize..3).prop_map(Does::Receive),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the receivers do, each gets all, in order, and the control items where they were.
    #[test]
    fn every_receiver_gets_all_in_order(todo in prop::collection::vec(does(), 0..60)) {
        let ends = ChannelEnds { sender: Wakes::new().1, receiver: Wakes::new().1 };
        let lanes: Lanes = (0..3).map(|_| Channel::new(2 * ROW, ends.clone())).collect();
        let mut outlet = Outlet::new(Box::new(BroadcastRoute), lanes.clone());
        let (mut sent, mut got) = (Vec::new(), vec![Vec::new(); 3]);
        // Rows as they are, watermarks below zero.
        let mut next = 0;
        let receive = |got: &mut Vec<i64>, lane: &Channel<_>| match lane.receive() {
            Some(StreamElement::Batch(batch)) => { let batch: Records<i64> = batch; got.extend(batch.values) }
            Some(StreamElement::Control(Control::Watermark(t))) => got.push(t.0),
            _ => {}
        };
        for does in todo {
            match does {
                Does::Push(n) => {
                    let values: Vec<i64> = (next..next + n as i64).collect();
                    next += n as i64;
                    sent.extend(&values);
                    let _ = push(&mut outlet, values);
                }
                Does::Watermark => {
                    next += 1;
                    sent.push(-next);
                    let _ = outlet.control(watermark(-next)).unwrap();
                }
                Does::HandOn(idle) => drop(outlet.hand_on(idle).unwrap()),
                Does::Resume => drop(outlet.resume().unwrap()),
                Does::Receive(lane) => receive(&mut got[lane], &lanes[lane]),
            }
        }
        let mut flow = outlet.hand_on(true).unwrap();
        for _ in 0..200 {
            (0..3).for_each(|lane| receive(&mut got[lane], &lanes[lane]));
            flow = outlet.resume().unwrap();
        }
        prop_assert_eq!(flow, Flow::Ready);
        for lane in got {
            prop_assert_eq!(&lane, &sent);
        }
    }
}

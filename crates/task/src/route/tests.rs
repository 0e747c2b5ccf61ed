use super::*;
use flugs_types::{KeyGroupRange, Timestamp};

fn lanes(n: usize) -> Vec<Records<u64>> {
    vec![Records::new(); n]
}

fn batch(values: std::ops::Range<u64>) -> Records<u64> {
    values.map(|v| (v, Timestamp(v as i64))).collect()
}

#[test]
fn each_row_goes_to_the_subtask_whose_key_groups_hold_its_key() {
    for parallelism in [1, 2, 3, 7, 128, 1000] {
        let mut lanes = lanes(parallelism as usize);
        KeyGroupRoute::new(|v: &u64| v % 500).split(batch(0..2000), &mut lanes).unwrap();
        let mut all = Vec::new();
        for (lane, index) in lanes.into_iter().zip(0..) {
            let range = KeyGroupRange::of(SubtaskId::new(index, parallelism));
            for (value, time) in lane {
                assert!(range.contains(KeyGroup::of_hash(hash_key(&(value % 500)))));
                assert_eq!(time, Timestamp(value as i64));
                all.push(value);
            }
        }
        all.sort_unstable();
        assert_eq!(all, (0..2000).collect::<Vec<_>>());
    }
}

#[test]
fn rows_of_one_key_keep_their_order() {
    let mut lanes = lanes(3);
    let mut route = KeyGroupRoute::new(|v: &u64| v % 5);
    route.split(batch(0..100), &mut lanes).unwrap();
    route.split(batch(100..200), &mut lanes).unwrap();
    for key in 0..5 {
        let of_key = lanes.iter().flat_map(|l| &l.values).filter(|v| *v % 5 == key).copied();
        assert_eq!(of_key.collect::<Vec<_>>(), (0..200).filter(|v| v % 5 == key).collect::<Vec<_>>());
    }
}

#[test]
fn many_lanes_do_not_hold_room_for_many_more_rows_than_there_are() {
    let mut lanes = lanes(1000);
    KeyGroupRoute::new(|v: &u64| *v).split(batch(0..4096), &mut lanes).unwrap();
    let room: usize = lanes.iter().map(|l| l.values.capacity()).sum();
    assert!(room < 4 * 4096, "{room}");
}

#[test]
fn rebalance_is_even_whatever_the_batches_are() {
    for receivers in [1, 2, 3, 7] {
        let mut lanes = lanes(receivers);
        let mut route = RebalanceRoute::new(SubtaskId::new(1, 4));
        for n in [1, 1, 1, 10, 100, 3, 0, 1000, 7, 7] {
            route.split(batch(0..n), &mut lanes).unwrap();
        }
        let counts: Vec<usize> = lanes.iter().map(Records::len).collect();
        let (min, max) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        // Each batch leaves at most one turn to the next.
        assert!(max - min <= 1000_usize.div_ceil(receivers) + 1, "{counts:?}");
        assert_eq!(counts.iter().sum::<usize>(), 1130);
    }
}

#[test]
fn single_rows_go_round_from_the_senders_own_index() {
    let mut lanes = lanes(3);
    let mut route = RebalanceRoute::new(SubtaskId::new(4, 5));
    for i in 0..6 {
        route.split(batch(i..i + 1), &mut lanes).unwrap();
    }
    assert_eq!(lanes.iter().map(|l| &l.values[..]).collect::<Vec<_>>(), [[2, 5], [0, 3], [1, 4]]);
}

#[test]
fn a_huge_batch_is_dealt_out_in_one_pass() {
    let mut lanes = lanes(2);
    RebalanceRoute::new(SubtaskId::new(0, 1)).split(batch(0..3_000_000), &mut lanes).unwrap();
    assert_eq!(lanes[0].values[..3], [0, 1, 2]);
    assert_eq!(lanes[1].values[0], TURN_ROWS as u64);
    assert_eq!(lanes[0].len() + lanes[1].len(), 3_000_000);
}

#[test]
fn broadcast_to_all_and_global_to_the_first() {
    let mut all = lanes(3);
    BroadcastRoute.split(batch(0..5), &mut all).unwrap();
    assert_eq!(all, vec![batch(0..5); 3]);
    let mut first = lanes(3);
    GlobalRoute.split(batch(0..5), &mut first).unwrap();
    assert_eq!(first, [batch(0..5), batch(0..0), batch(0..0)]);
}

#[test]
fn a_partitioner_that_chooses_nobody_is_told_so() {
    let mut some = lanes(3);
    CustomRoute(|v: &u64, n| (*v % u64::from(n)) as u32).split(batch(0..7), &mut some).unwrap();
    assert_eq!(some.iter().map(|l| &l.values[..]).collect::<Vec<_>>(), [&[0, 3, 6][..], &[1, 4], &[2, 5]]);
    let error = CustomRoute(|_: &u64, n| n).split(batch(0..1), &mut some).unwrap_err();
    assert_eq!(
        error.to_string(),
        "user function failed: the partitioner chose receiver 3 of 3; return a number below the one it is given"
    );
}

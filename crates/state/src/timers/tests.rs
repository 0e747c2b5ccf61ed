use super::*;
use crate::test_run::reopened;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Op {
    Register(i64, u16),
    Delete(i64, u16),
    Pop(i64),
    Restore,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..50i64, 0..30u16).prop_map(|(t, k)| Op::Register(t, k)),
        3 => (0..50i64, 0..30u16).prop_map(|(t, k)| Op::Delete(t, k)),
        2 => (0..50i64).prop_map(Op::Pop),
        1 => Just(Op::Restore),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equals_a_set_of_pairs(ops in proptest::collection::vec(op(), 0..200)) {
        let mut table = TimerTable::<u16>::new("t", KeyGroupRange::ALL);
        let mut twin = BTreeSet::new();
        for op in ops {
            match op {
                Op::Register(t, k) => prop_assert_eq!(table.register(Timestamp(t), k), twin.insert((t, k))),
                Op::Delete(t, k) => prop_assert_eq!(table.delete(Timestamp(t), &k), twin.remove(&(t, k))),
                Op::Pop(upto) => {
                    while let Some((time, key)) = table.pop_due(Timestamp(upto)) {
                        prop_assert_eq!(Some((time.0, key)), twin.pop_first());
                    }
                    prop_assert!(twin.first().is_none_or(|&(t, _)| t > upto));
                }
                Op::Restore => table = reopened(vec![&mut table]).timers("t").unwrap(),
            }
            prop_assert_eq!(table.len(), twin.len());
            prop_assert_eq!(table.next().map(|t| t.0), twin.first().map(|&(t, _)| t));
        }
    }
}

#[test]
fn a_snapshot_has_the_timers_of_its_instant() {
    let mut table = TimerTable::<u64>::new("t", KeyGroupRange::ALL);
    for k in 0..5000 {
        table.register(Timestamp(k as i64), k);
    }
    table.freeze();
    let mut pieces = Vec::new();
    let mut popped = 0;
    while !table.capture(&mut Fuel(9000), &mut pieces) {
        popped += (0..5).filter(|_| table.pop_due(Timestamp(4000)).is_some()).count();
        table.register(Timestamp(-1), popped as u64);
    }
    assert!(popped >= 10);
    let one = flugs_types::SubtaskId::new(0, 1);
    let run = crate::RunReader::open(crate::test_run::file_of(&table, &pieces, one), "f").unwrap();
    let mut then = crate::OpenState::new(one, vec![run.into()]).timers::<u64>("t").unwrap();
    let all: Vec<_> = std::iter::from_fn(|| then.pop_due(Timestamp::MAX)).collect();
    assert_eq!(all, (0..5000).map(|k| (Timestamp(k as i64), k)).collect::<Vec<_>>());
}

#[test]
fn takes_no_memory_when_all_have_fired() {
    let mut table = TimerTable::<String>::new("t", KeyGroupRange::ALL);
    for k in 0..3000 {
        table.register(Timestamp(k % 7), k.to_string());
        table.register(Timestamp(k), k.to_string());
    }
    while table.pop_due(Timestamp::MAX).is_some() {}
    assert_eq!((table.len(), table.bytes()), (0, 0));
}

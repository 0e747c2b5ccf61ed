use super::*;
use crate::snapshot::SnapshotTable;
use crate::test_run::{fresh, reopened, snapshot};
use flugs_types::ErrorKind;
use proptest::prelude::*;

fn subtasks(parallelism: u32) -> impl Iterator<Item = SubtaskId> {
    (0..parallelism).map(move |index| SubtaskId::new(index, parallelism))
}

/// The states of one subtask.
struct Tables {
    keyed: KeyedTable<u64, String>,
    panes: PaneTable<String, i64, u8>,
    timers: TimerTable<u64>,
    list: ListTable<u32>,
    union: UnionListTable<u32>,
    broadcast: BroadcastTable<u8, u8>,
}

impl Tables {
    fn open(mut from: OpenState) -> Self {
        Tables {
            keyed: from.keyed("keyed").unwrap(),
            panes: from.panes("panes").unwrap(),
            timers: from.timers("timers").unwrap(),
            list: from.list("list").unwrap(),
            union: from.union_list("union").unwrap(),
            broadcast: from.broadcast("broadcast").unwrap(),
        }
    }

    fn run(&mut self, subtask: SubtaskId) -> Arc<RunReader> {
        let Tables { keyed, panes, timers, list, union, broadcast } = self;
        snapshot(vec![keyed, panes, timers, list, union, broadcast], subtask)
    }

    /// Fills in what the subtask holds of `keys` keys.
    fn fill(&mut self, subtask: SubtaskId, keys: u64) {
        let mine = |hash| KeyGroupRange::of(subtask).contains(KeyGroup::of_hash(hash));
        for k in (0..keys).filter(|k| mine(hash_key(k))) {
            self.keyed.insert(k, format!("v{k}"));
            self.timers.register(flugs_types::Timestamp(k as i64 % 10), k);
            self.timers.register(flugs_types::Timestamp(k as i64), k);
        }
        for k in (0..keys).map(|k| k.to_string()).filter(|k| mine(hash_key(k))) {
            self.panes.pane_mut(k.len() as i64).insert(k, 7);
        }
        for i in 0..subtask.index + 3 {
            self.list.push(subtask.index * 100 + i);
            self.union.push(subtask.index * 100 + i);
        }
        self.broadcast.put(1, 2);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_entry_lands_once_where_it_belongs(before in 1..6u32, after in 1..9u32, keys in 0..3000u64) {
        let mut runs = Vec::new();
        for subtask in subtasks(before) {
            let mut tables = Tables::open(OpenState::new(subtask, Vec::new()));
            tables.fill(subtask, keys);
            runs.push(tables.run(subtask));
        }
        let items: Vec<u32> = (0..before).flat_map(|s| (0..s + 3).map(move |i| s * 100 + i)).collect();
        let (mut keyed, mut panes, mut timers) = (0, 0, 0);
        for subtask in subtasks(after) {
            let mut tables = Tables::open(OpenState::new(subtask, runs.iter().rev().cloned().collect()));
            let range = KeyGroupRange::of(subtask);
            let mine = |hash| range.contains(KeyGroup::of_hash(hash));
            for (k, v) in tables.keyed.iter() {
                let value = format!("v{k}");
                prop_assert!(mine(hash_key(k)) && *v == value);
            }
            keyed += tables.keyed.len();
            for (n, k) in tables.panes.iter().flat_map(|(n, pane)| pane.iter().map(move |(k, _)| (n, k))) {
                prop_assert!(mine(hash_key(k)) && k.len() as i64 == *n);
            }
            panes += tables.panes.entries();
            while let Some((time, key)) = tables.timers.pop_due(flugs_types::Timestamp::MAX) {
                prop_assert!(time.0 == key as i64 || time.0 == key as i64 % 10);
                prop_assert!(mine(hash_key(&key)));
                timers += 1;
            }
            let dealt: Vec<u32> = if before == after {
                (0..subtask.index + 3).map(|i| subtask.index * 100 + i).collect()
            } else {
                items.iter().copied().skip(subtask.index as usize).step_by(after as usize).collect()
            };
            prop_assert_eq!(tables.list.items(), &dealt[..]);
            prop_assert_eq!(tables.union.items(), &items[..]);
            prop_assert_eq!(tables.broadcast.map(), &BTreeMap::from([(1, 2)]));
        }
        prop_assert_eq!((keyed as u64, panes as u64), (keys, keys));
        prop_assert_eq!(timers, (0..keys).map(|k| if k < 10 { 1 } else { 2 }).sum::<u64>());
    }
}

#[test]
fn a_name_is_opened_once() {
    let mut open = fresh();
    open.keyed::<u8, u16>("n").unwrap();
    let error = open.list::<String>("n").err().unwrap();
    assert_eq!(error.kind(), ErrorKind::State);
    let text = error.to_string();
    assert!(text.contains("state 'n' is opened twice"), "{text}");
    assert!(
        text.contains("first: keyed state from\nu8\nto\nu16") && text.contains("then: list state of\nstring"),
        "{text}"
    );
    assert_eq!(open.opened().len(), 1);
}

#[test]
fn what_nobody_opens_is_told() {
    let mut a = KeyedTable::<u8, u8>::new("a", KeyGroupRange::ALL);
    let mut b = ListTable::<u8>::new("b", vec![]);
    let mut open = reopened(vec![&mut b, &mut a]);
    assert!(open.is_restored());
    assert_eq!(open.unclaimed(), ["a", "b"]);
    open.keyed::<u8, u8>("a").unwrap();
    open.keyed::<u8, u8>("new").unwrap();
    assert_eq!(open.unclaimed(), ["b"]);
}

fn refusal(mut table: impl SnapshotTable, ask: impl FnOnce(&mut OpenState) -> Result<()>) -> String {
    let error = ask(&mut reopened(vec![&mut table])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    error.to_string()
}

#[test]
fn a_misfit_shows_the_operator_and_both_schemas() {
    let mut table = KeyedTable::<u32, String>::new("s", KeyGroupRange::ALL);
    table.insert(1, "x".to_owned());
    let text = refusal(table, |open| open.keyed::<u32, u64>("s").map(drop));
    for part in [
        "operator 'op'",
        "'s'",
        "stored: keyed state from\nu32\nto\nstring",
        "program: keyed state from\nu32\nto\nu64",
    ] {
        assert!(text.contains(part), "{part:?} is missing in {text}");
    }
}

#[test]
fn another_kind_is_refused() {
    let text = refusal(ListTable::new("s", vec![1u8]), |open| open.union_list::<u8>("s").map(drop));
    assert!(text.contains("it is list state, not union list state"), "{text}");
}

#[test]
fn values_evolve() {
    let mut table = KeyedTable::<u32, u16>::new("s", KeyGroupRange::ALL);
    for k in 0..2000 {
        table.insert(k, k as u16 * 3);
    }
    let wider: KeyedTable<u32, u64> = reopened(vec![&mut table]).keyed("s").unwrap();
    assert_eq!(wider.len(), 2000);
    assert!(wider.iter().all(|(k, v)| *v == u64::from(*k) * 3));
    let optional: KeyedTable<u32, Option<u16>> = reopened(vec![&mut table]).keyed("s").unwrap();
    assert!(optional.iter().all(|(k, v)| *v == Some(*k as u16 * 3)));
    let mut list = ListTable::new("l", vec![1u8, 2]);
    assert_eq!(reopened(vec![&mut list]).list::<u64>("l").unwrap().items(), [1, 2]);
}

#[test]
fn keys_that_hash_the_same_after_evolution_are_found() {
    let mut table = KeyedTable::<u32, u8>::new("s", KeyGroupRange::ALL);
    (0..100).for_each(|k| assert_eq!(table.insert(k, 1), None));
    // Numbers hash as eight bytes whatever their width.
    let wider: KeyedTable<u64, u8> = reopened(vec![&mut table]).keyed("s").unwrap();
    assert!((0..100).all(|k| wider.contains_key(&k)));
}

#[test]
fn panes_and_broadcast_evolve() {
    let mut panes = PaneTable::<u32, u8, u8>::new("p", KeyGroupRange::ALL);
    panes.pane_mut(1).insert(2, 3);
    let mut broadcast = BroadcastTable::new("b", BTreeMap::from([(1u8, 2u8)]));
    let mut open = reopened(vec![&mut panes, &mut broadcast]);
    let panes: PaneTable<u32, u64, u64> = open.panes("p").unwrap();
    assert_eq!(panes.pane(&1).and_then(|pane| pane.get(&2)), Some(&3));
    assert_eq!(open.broadcast::<u8, Option<u8>>("b").unwrap().get(&1), Some(&Some(2)));
}

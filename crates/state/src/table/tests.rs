use super::*;
use crate::open::OpenState;
use crate::run::{RunReader, RunWriter};
use flugs_batch::data::{DecodeError, Reader, Schema};
use flugs_types::SubtaskId;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicIsize, Ordering};

/// What a snapshot made of these pieces restores to.
fn restored<K: Key, V: Data>(pieces: &[Box<dyn FrozenPiece>]) -> BTreeMap<K, V> {
    let one = SubtaskId::new(0, 1);
    let mut writer = RunWriter::new("op", one);
    let schema = StateSchema { kind: StateKind::Keyed, key: K::schema(), value: V::schema() };
    let section = writer.section("t", &schema);
    pieces.iter().for_each(|piece| writer.piece(section, &**piece));
    let run = RunReader::open(writer.finish(), "test").unwrap();
    let mut open = OpenState::new(one, vec![Arc::new(run)]);
    open.keyed::<K, V>("t").unwrap().into_iter().collect()
}

/// A key whose hash is that of its remainder: many keys collide wholly.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Clash<const N: u64>(u64);

impl<const N: u64> Hash for Clash<N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0 % N);
    }
}

impl<const N: u64> Data for Clash<N> {
    fn schema() -> Schema {
        u64::schema()
    }
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Clash(u64::decode(input)?))
    }
}

static LIVE: AtomicIsize = AtomicIsize::new(0);

/// A value that counts how many of its kind live.
#[derive(Debug, PartialEq)]
struct Counted(Box<u32>);

impl Counted {
    fn new(x: u32) -> Self {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Counted(Box::new(x))
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Counted::new(*self.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Data for Counted {
    fn schema() -> Schema {
        u32::schema()
    }
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Counted::new(u32::decode(input)?))
    }
    fn heap_bytes(&self) -> usize {
        4
    }
}

#[derive(Debug, Clone)]
enum Op {
    Insert(u16, u32),
    InsertMany(u16, u16),
    Remove(u16),
    RemoveMany(u16, u16),
    Update(u16, Option<u32>),
    Rows(Vec<u16>),
    Retain(u16),
    Sweep(u16, usize),
    Clear,
    Drain,
    Freeze,
    Capture(usize),
    Cancel,
}

fn op() -> impl Strategy<Value = Op> {
    let key = || 0..6000u16;
    prop_oneof![
        8 => (key(), any::<u32>()).prop_map(|(k, v)| Op::Insert(k, v)),
        6 => (key(), 0..4000u16).prop_map(|(k, n)| Op::InsertMany(k, n)),
        4 => key().prop_map(Op::Remove),
        4 => (key(), 0..4000u16).prop_map(|(k, n)| Op::RemoveMany(k, n)),
        4 => (key(), any::<Option<u32>>()).prop_map(|(k, v)| Op::Update(k, v)),
        4 => proptest::collection::vec(key(), 0..200).prop_map(Op::Rows),
        1 => (1..7u16).prop_map(Op::Retain),
        2 => (2..7u16, 0..60_000usize).prop_map(|(n, fuel)| Op::Sweep(n, fuel)),
        1 => Just(Op::Clear),
        1 => Just(Op::Drain),
        6 => Just(Op::Freeze),
        8 => (0..40_000usize).prop_map(Op::Capture),
        1 => Just(Op::Cancel),
    ]
}

/// A table and the map that it must be equal to, now and at the instant of the snapshot.
struct Twins<K, V> {
    table: KeyedTable<K, V>,
    model: BTreeMap<K, V>,
    frozen: Option<BTreeMap<K, V>>,
    pieces: Vec<Box<dyn FrozenPiece>>,
    cursor: u64,
}

impl<K: Key + Debug, V: Data + PartialEq + Debug> Twins<K, V> {
    fn new() -> Self {
        let table = KeyedTable::new("t", KeyGroupRange::ALL);
        Twins { table, model: BTreeMap::new(), frozen: None, pieces: Vec::new(), cursor: 0 }
    }

    fn capture(&mut self, mut fuel: Fuel) {
        if self.table.capture(&mut fuel, &mut self.pieces) {
            if let Some(frozen) = self.frozen.take() {
                assert_eq!(restored::<K, V>(&self.pieces), frozen);
            }
            self.pieces.clear();
        }
    }

    fn apply(&mut self, op: Op, key: fn(u16) -> K, value: fn(u32) -> V) {
        let Twins { table, model, .. } = self;
        match op {
            Op::Insert(k, v) => assert_eq!(table.insert(key(k), value(v)), model.insert(key(k), value(v))),
            Op::InsertMany(k, n) => {
                for k in (k..k + n).map(|k| k % 6000) {
                    *table.get_or_insert_with(key(k), || value(0)) = value(u32::from(k));
                    model.insert(key(k), value(u32::from(k)));
                }
            }
            Op::Remove(k) => assert_eq!(table.remove(&key(k)), model.remove(&key(k))),
            Op::RemoveMany(k, n) => {
                for k in (k..k + n).map(|k| k % 6000) {
                    assert_eq!(table.remove(&key(k)), model.remove(&key(k)));
                }
            }
            Op::Update(k, v) => {
                let k = key(k);
                let had = table.update_hashed(hash_key(&k), &k, |slot| std::mem::replace(slot, v.map(value)));
                assert_eq!(had, model.get(&k).cloned());
                match v {
                    Some(v) => drop(model.insert(k, value(v))),
                    None => drop(model.remove(&k)),
                }
            }
            Op::Rows(keys) => {
                let keys: Vec<_> = keys.into_iter().map(key).collect();
                let set = |row: usize, v: &mut V| *v = value(row as u32);
                table.for_each_row_ref(keys.len(), |row| &keys[row], || value(7), set);
                for (row, k) in keys.iter().enumerate() {
                    model.insert(k.clone(), value(row as u32));
                }
            }
            Op::Retain(n) => {
                table.retain(|k, _| hash_key(k).is_multiple_of(u64::from(n)));
                model.retain(|k, _| hash_key(k).is_multiple_of(u64::from(n)));
            }
            Op::Sweep(n, fuel) => {
                let mut gone = Vec::new();
                let due = |k: &K, _: &V| hash_key(k).is_multiple_of(u64::from(n));
                table.sweep(&mut self.cursor, &mut Fuel(fuel), due, |k, _| {
                    gone.push(k.clone());
                    false
                });
                for k in gone {
                    assert!(due(&k, &model.remove(&k).expect("was there")));
                }
            }
            Op::Clear => {
                table.clear();
                model.clear();
            }
            Op::Drain => {
                let taken: BTreeMap<_, _> = table.drain().collect();
                assert_eq!(taken, std::mem::take(model));
            }
            Op::Freeze if self.frozen.is_none() => {
                table.freeze();
                self.frozen = Some(model.clone());
            }
            Op::Freeze => {}
            Op::Capture(fuel) => self.capture(Fuel(fuel)),
            Op::Cancel => {
                table.cancel();
                self.frozen = None;
                self.pieces.clear();
            }
        }
        assert_eq!(self.table.len(), self.model.len());
        assert_eq!(self.table.bytes() == 0, self.model.is_empty());
    }

    fn check(&self) {
        let all: BTreeMap<_, _> = self.table.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        assert_eq!(all, self.model);
        assert!(self.model.iter().all(|(k, v)| self.table.get(k) == Some(v)));
    }
}

fn run<K: Key + Debug, V: Data + PartialEq + Debug>(ops: &[Op], key: fn(u16) -> K, value: fn(u32) -> V) {
    let mut twins = Twins::new();
    for op in ops {
        twins.apply(op.clone(), key, value);
    }
    twins.check();
    twins.capture(Fuel::UNLIMITED);
    assert!(twins.frozen.is_none());
    twins.check();
    for k in 0..6000 {
        assert_eq!(twins.table.remove(&key(k)), twins.model.remove(&key(k)));
    }
    assert_eq!((twins.table.len(), twins.table.bytes()), (0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn numbers_equal_a_map_at_every_freeze(ops in proptest::collection::vec(op(), 1..60)) {
        run(&ops, u64::from, |v| v);
    }

    #[test]
    fn strings_equal_a_map_at_every_freeze(ops in proptest::collection::vec(op(), 1..40)) {
        run(&ops, |k| format!("key {k}"), |v| vec![v; v as usize % 5]);
    }

    #[test]
    fn clashing_keys_equal_a_map_at_every_freeze(ops in proptest::collection::vec(op(), 1..12)) {
        run(&ops, |k| Clash::<1>(u64::from(k % 500)), |v| v);
        run(&ops, |k| Clash::<40>(u64::from(k % 2000)), u128::from);
    }

    #[test]
    fn nothing_is_dropped_twice_or_never(ops in proptest::collection::vec(op(), 1..40)) {
        let before = LIVE.load(Ordering::Relaxed);
        run(&ops, u32::from, Counted::new);
        prop_assert_eq!(LIVE.load(Ordering::Relaxed), before);
    }
}

#[test]
fn keys_of_others_are_refused() {
    for (index, parallelism) in [(0, 3), (1, 3), (2, 3), (0, 1), (6, 7), (0, 32_768)] {
        let groups = KeyGroupRange::of(SubtaskId::new(index, parallelism));
        let mut table = KeyedTable::<u64, u64>::new("t", groups);
        for k in 0..5000 {
            let mine = groups.contains(flugs_types::KeyGroup::of_hash(hash_key(&k)));
            if !mine && k % 500 != 0 {
                continue;
            }
            let kept = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| table.insert(k, k))).is_ok();
            assert_eq!((kept, table.get(&k)), (mine, mine.then_some(&k)));
        }
    }
}

#[test]
fn heavy_shards_are_split_by_the_snapshot_that_finds_them() {
    let mut table = KeyedTable::<u32, Vec<u8>>::new("t", KeyGroupRange::ALL);
    for k in 0..300 {
        table.insert(k, Vec::new());
    }
    table.for_each_mut(|_, v| v.resize(10_000, 1));
    let largest = |table: &mut KeyedTable<u32, Vec<u8>>| {
        let mut pieces = Vec::new();
        table.freeze();
        assert!(table.capture(&mut Fuel::UNLIMITED.clone(), &mut pieces));
        assert_eq!(restored::<u32, Vec<u8>>(&pieces).len(), 300);
        pieces.iter().map(|piece| piece.bytes()).max().unwrap()
    };
    assert!(largest(&mut table) > 3_000_000);
    assert!(largest(&mut table) < 400_000, "the next snapshot has small pieces");
    assert!((0..300).all(|k| table.get(&k).is_some_and(|v| v.len() == 10_000)));
    assert!(table.bytes() > 3_000_000);
    (0..300).for_each(|k| assert!(table.remove(&k).is_some()));
    assert_eq!(table.bytes(), 0);
}

/// Rows a second of counting by key. Run with `--release -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn speed() {
    use flugs_types::{Clock, SystemClock};
    let mut state = 1u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for (keys, rows) in [(1000u64, 40_000_000usize), (1_000_000, 40_000_000), (10_000_000, 40_000_000)] {
        let batch = 4096;
        let columns: Vec<Vec<u64>> =
            (0..rows / batch).map(|_| (0..batch).map(|_| next() % keys).collect()).collect();
        let mut table = KeyedTable::<u64, u64>::new("t", KeyGroupRange::ALL);
        let start = SystemClock.monotonic();
        table.for_each_row(keys as usize, |row| row as u64, || 0, |_, n| *n += 1);
        let built = (SystemClock.monotonic() - start).as_secs_f64();
        for round in 0..2 {
            let start = SystemClock.monotonic();
            for column in &columns {
                table.for_each_row(column.len(), |row| column[row], || 0, |_, n| *n += 1);
            }
            let took = (SystemClock.monotonic() - start).as_secs_f64();
            println!(
                "{keys} keys, round {round}: {:.1} M rows/s, {:.2} ns; built at {:.1} ns a key; {} MiB",
                rows as f64 / took / 1e6,
                took * 1e9 / rows as f64,
                built * 1e9 / keys as f64,
                table.bytes() >> 20
            );
        }
        table.freeze();
        let mut pieces = Vec::new();
        let mut batches = Vec::new();
        let whole = SystemClock.monotonic();
        for column in columns.iter().cycle() {
            let start = SystemClock.monotonic();
            let complete = table.capture(&mut Fuel(64 << 10), &mut pieces);
            table.for_each_row(column.len(), |row| column[row], || 0, |_, n| *n += 1);
            batches.push((SystemClock.monotonic() - start).as_secs_f64() * 1e6);
            // As the background takes them.
            pieces.clear();
            if complete {
                break;
            }
        }
        let whole = (SystemClock.monotonic() - whole).as_secs_f64();
        batches.sort_by(f64::total_cmp);
        println!(
            "  while a snapshot runs ({:.0} ms): {:.1} M rows/s; a batch and slice take p50 {:.0} us, max {:.0} us",
            whole * 1e3,
            (batches.len() * batch) as f64 / whole / 1e6,
            batches[batches.len() / 2],
            batches[batches.len() - 1]
        );
        table.freeze();
        let start = SystemClock.monotonic();
        table.capture(&mut Fuel::UNLIMITED.clone(), &mut pieces);
        let took = (SystemClock.monotonic() - start).as_secs_f64();
        println!("  captured {} pieces, {:.2} ns a key", pieces.len(), took * 1e9 / keys as f64);
        let start = SystemClock.monotonic();
        let bytes = pieces.iter().map(|piece| piece.bytes()).sum();
        let mut writer = RunWriter::with_capacity("op", SubtaskId::new(0, 1), bytes);
        let section = writer.section("t", &table.schema());
        pieces.iter().for_each(|piece| writer.piece(section, &**piece));
        let file = writer.finish();
        let took = (SystemClock.monotonic() - start).as_secs_f64();
        println!("  encoded {} MiB, {:.2} ns a key", file.len() >> 20, took * 1e9 / keys as f64);
    }
}

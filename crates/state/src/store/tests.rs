use super::*;
use crate::test_run::{fresh, reopened};
use crate::ttl::TtlTime;
use flugs_batch::data::{DecodeError, Reader, Schema};
use flugs_types::Timestamp;
use std::time::Duration;

/// An instant at which both clocks show the same.
fn at(secs: i64) -> StateTime {
    StateTime { watermark: Timestamp::from_secs(secs), processing_time: Timestamp::from_secs(secs) }
}

fn with<R>(
    store: &mut KeyedStore<u32>,
    key: u32,
    time: StateTime,
    f: impl FnOnce(&mut KeyedAccess<'_, u32>) -> R,
) -> R {
    f(&mut KeyedAccess::new(store, &key, time.watermark, time.processing_time))
}

fn ten_seconds() -> Ttl {
    Ttl::new(Duration::from_secs(10))
}

#[test]
fn a_value_is_that_of_its_key() {
    let mut store = KeyedStore::new();
    let state = store.value::<String>(&mut fresh(), "v", None).unwrap();
    with(&mut store, 1, at(0), |access| {
        assert_eq!(state.get(access), None);
        state.set(access, "one".to_owned());
        state.get_mut(access).unwrap().push('!');
    });
    with(&mut store, 2, at(0), |access| {
        assert_eq!(state.get(access), None);
        assert_eq!(state.get_or_insert_with(access, || "two".to_owned()), "two");
        state.update(access, |slot| assert_eq!(slot.take().as_deref(), Some("two")));
        assert_eq!(state.get(access), None);
    });
    with(&mut store, 1, at(0), |access| {
        assert_eq!(state.get(access).map(String::as_str), Some("one!"));
        state.clear(access);
        assert_eq!(state.get(access), None);
    });
    assert_eq!(store.tables()[0].bytes(), 0);
}

#[test]
fn lists_maps_and_folds_keep_what_is_added() {
    let (mut open, mut store) = (fresh(), KeyedStore::new());
    let list = store.list::<u8>(&mut open, "l", None).unwrap();
    let map = store.map::<u8, char>(&mut open, "m", None).unwrap();
    let sum = store.reducing::<u64>(&mut open, "r", None, |a, b| *a += b).unwrap();
    let mean = store
        .aggregating(
            &mut open,
            "a",
            None,
            || (0u64, 0u64),
            |acc: &mut (u64, u64), x: u64| *acc = (acc.0 + x, acc.1 + 1),
            |acc| acc.0 as f64 / acc.1 as f64,
        )
        .unwrap();
    with(&mut store, 1, at(0), |access| {
        list.add(access, 3);
        list.add_all(access, [1, 2]);
        assert!(list.iter(access).eq(&[3, 1, 2]));
        list.update(access, [9]);
        assert!(list.iter(access).eq(&[9]));
        list.update(access, []);
        assert!(list.is_empty(access));

        assert_eq!(map.put(access, 2, 'b'), None);
        assert_eq!(map.put(access, 1, 'a'), None);
        assert_eq!(map.put(access, 2, 'c'), Some('b'));
        *map.get_or_insert_with(access, 3, || 'x') = 'd';
        assert!(map.iter(access).eq([(&1, &'a'), (&2, &'c'), (&3, &'d')]));
        assert!(map.keys(access).rev().eq(&[3, 2, 1]));
        assert!(map.range(access, 2..3).eq([(&2, &'c')]));
        assert!(map.contains(access, &1) && !map.contains(access, &4));
        assert_eq!((map.remove(access, &2), map.remove(access, &2)), (Some('c'), None));
        assert!(map.values(access).eq(&['a', 'd']));
        map.remove(access, &1);
        map.remove(access, &3);
        assert!(map.is_empty(access));

        [1, 2, 6].into_iter().for_each(|x| sum.add(access, x));
        assert_eq!(sum.get(access), Some(&9));
        assert_eq!(mean.get(access), None);
        [1, 2, 6].into_iter().for_each(|x| mean.add(access, x));
        assert_eq!(mean.get(access), Some(3.0));
        sum.clear(access);
        mean.clear(access);
        assert_eq!((sum.get(access).copied(), mean.get(access)), (None, None));
    });
    assert!(store.tables().iter().all(|table| table.bytes() == 0), "keys without entries take no memory");
}

#[test]
fn state_comes_back_under_its_names() {
    let (mut open, mut store) = (fresh(), KeyedStore::new());
    let value = store.value::<u8>(&mut open, "v", None).unwrap();
    let map = store.map::<String, u8>(&mut open, "m", None).unwrap();
    with(&mut store, 5, at(0), |access| {
        value.set(access, 8);
        map.put(access, "k".to_owned(), 9);
    });
    let mut open = reopened(store.tables());
    let mut store = KeyedStore::new();
    let map = store.map::<String, u8>(&mut open, "m", None).unwrap();
    let value = store.value::<u8>(&mut open, "v", None).unwrap();
    assert!(store.value::<u8>(&mut open, "v", None).is_err(), "a name is opened once");
    with(&mut store, 5, at(0), |access| {
        assert_eq!(value.get(access), Some(&8));
        assert_eq!(map.get(access, &"k".to_owned()), Some(&9));
    });
}

#[test]
fn a_value_expires_after_its_last_write() {
    let mut store = KeyedStore::new();
    let state = store.value::<u8>(&mut fresh(), "v", Some(ten_seconds())).unwrap();
    with(&mut store, 1, at(100), |access| state.set(access, 1));
    with(&mut store, 1, at(109), |access| assert_eq!(state.get(access), Some(&1)));
    with(&mut store, 1, at(109), |access| *state.get_mut(access).unwrap() = 2);
    with(&mut store, 1, at(118), |access| assert_eq!(state.get(access), Some(&2)));
    with(&mut store, 1, at(119), |access| {
        assert_eq!(state.get(access), None);
        assert_eq!(state.get_mut(access), None);
        assert_eq!(*state.get_or_insert_with(access, || 7), 7);
    });
    assert_eq!(store.expired(), 1);
    with(&mut store, 1, at(129), |access| state.update(access, |slot| assert_eq!(*slot, None)));
    assert_eq!(store.expired(), 2);
}

#[test]
fn reads_prolong_where_it_is_asked_for() {
    let mut store = KeyedStore::new();
    let state = store.value::<u8>(&mut fresh(), "v", Some(ten_seconds().prolonged_by_reads())).unwrap();
    with(&mut store, 1, at(0), |access| state.set(access, 1));
    for secs in [9, 18, 27] {
        with(&mut store, 1, at(secs), |access| assert_eq!(state.get(access), Some(&1), "{secs}"));
    }
    with(&mut store, 1, at(37), |access| assert_eq!(state.get(access), None));
}

#[test]
fn expired_values_are_shown_until_swept_where_it_is_asked_for() {
    let mut store = KeyedStore::new();
    let state = store.value::<u8>(&mut fresh(), "v", Some(ten_seconds().showing_expired())).unwrap();
    with(&mut store, 1, at(0), |access| state.set(access, 1));
    with(&mut store, 1, at(50), |access| assert_eq!(state.get(access), Some(&1)));
    assert_eq!(store.sweep(&mut Fuel::UNLIMITED.clone(), at(50)), 1);
    with(&mut store, 1, at(50), |access| assert_eq!(state.get(access), None));
}

#[test]
fn each_clock_is_its_own() {
    let (mut open, mut store) = (fresh(), KeyedStore::new());
    let by_event = store.value::<u8>(&mut open, "e", Some(ten_seconds().in_event_time())).unwrap();
    let by_machine = store.value::<u8>(&mut open, "p", Some(ten_seconds())).unwrap();
    assert_eq!(ten_seconds().in_event_time().time, TtlTime::EventTime);
    let clocks = |watermark, processing| StateTime {
        watermark: Timestamp::from_secs(watermark),
        processing_time: Timestamp::from_secs(processing),
    };
    let both = |store: &mut KeyedStore<u32>, time| {
        with(store, 1, time, |access| (by_event.get(access).is_some(), by_machine.get(access).is_some()))
    };
    with(&mut store, 1, clocks(0, 1000), |access| {
        by_event.set(access, 1);
        by_machine.set(access, 1);
    });
    assert_eq!(both(&mut store, clocks(9, 1009)), (true, true));
    assert_eq!(both(&mut store, clocks(9, 1010)), (true, false));
    assert_eq!(both(&mut store, clocks(10, 1010)), (false, false));
}

#[test]
fn event_time_begins_with_the_first_watermark_and_never_ends() {
    let mut store = KeyedStore::new();
    let state = store.value::<u8>(&mut fresh(), "v", Some(ten_seconds().in_event_time())).unwrap();
    let mark = |watermark| StateTime { watermark, processing_time: Timestamp::EPOCH };
    with(&mut store, 1, mark(Timestamp::MIN), |access| state.set(access, 1));
    with(&mut store, 2, mark(Timestamp::MIN), |access| state.set(access, 1));
    // The first key meets the first watermark by an access, the second by a sweep.
    with(&mut store, 1, mark(Timestamp::from_secs(100)), |access| assert!(state.get(access).is_some()));
    assert_eq!(store.sweep(&mut Fuel::UNLIMITED.clone(), mark(Timestamp::from_secs(100))), 0);
    for key in [1, 2] {
        with(&mut store, key, mark(Timestamp::from_secs(109)), |access| assert!(state.get(access).is_some()));
        with(&mut store, key, mark(Timestamp::MAX), |access| assert!(state.get(access).is_some()));
    }
    assert_eq!(store.sweep(&mut Fuel::UNLIMITED.clone(), mark(Timestamp::from_secs(110))), 2);
}

#[test]
fn items_and_entries_live_one_by_one() {
    let (mut open, mut store) = (fresh(), KeyedStore::new());
    let list = store.list::<u8>(&mut open, "l", Some(ten_seconds())).unwrap();
    let map = store.map::<u8, u8>(&mut open, "m", Some(ten_seconds())).unwrap();
    for secs in [0, 5, 9] {
        with(&mut store, 1, at(secs), |access| {
            list.add(access, secs as u8);
            map.put(access, secs as u8, 1);
        });
    }
    with(&mut store, 1, at(10), |access| {
        assert!(list.iter(access).eq(&[5, 9]));
        assert!(map.get(access, &0).is_none() && map.contains(access, &5));
        *map.get_or_insert_with(access, 5, || 0) += 1;
    });
    with(&mut store, 1, at(15), |access| {
        assert!(list.iter(access).eq(&[9]));
        assert!(map.iter(access).eq([(&5, &2), (&9, &1)]));
    });
    assert_eq!(store.expired(), 3);
    assert_eq!(store.sweep(&mut Fuel::UNLIMITED.clone(), at(100)), 3);
    assert!(store.tables().iter().all(|table| table.bytes() == 0));
}

#[test]
fn a_sweep_goes_on_where_its_fuel_ended() {
    let (mut open, mut store) = (fresh(), KeyedStore::new());
    let a = store.value::<u64>(&mut open, "a", Some(ten_seconds())).unwrap();
    let plain = store.value::<u64>(&mut open, "plain", None).unwrap();
    let b = store.value::<u64>(&mut open, "b", Some(ten_seconds())).unwrap();
    for key in 0..20_000 {
        with(&mut store, key, at(i64::from(key % 2) * 100), |access| {
            a.set(access, 1);
            plain.set(access, 1);
            b.set(access, 1);
        });
    }
    let (mut slices, mut removed) = (0, 0);
    while removed < 20_000 {
        let now = store.sweep(&mut Fuel(50_000), at(50));
        assert!(now < 4000, "a slice is bounded");
        removed += now;
        slices += 1;
        assert!(slices < 100);
    }
    assert!(slices > 5);
    assert_eq!(store.expired(), 20_000);
    with(&mut store, 3, at(101), |access| {
        assert_eq!((a.get(access).copied(), b.get(access).copied()), (Some(1), Some(1)));
    });
}

#[test]
fn a_time_to_live_comes_and_goes_between_restores() {
    fn open_all(
        open: &mut OpenState,
        ttl: Option<Ttl>,
    ) -> (KeyedStore<u32>, ValueState<u8>, ListState<u8>, MapState<u8, u8>) {
        let mut store = KeyedStore::new();
        let value = store.value(open, "v", ttl).unwrap();
        let list = store.list(open, "l", ttl).unwrap();
        let map = store.map(open, "m", ttl).unwrap();
        (store, value, list, map)
    }
    let (mut store, value, list, map) = open_all(&mut fresh(), None);
    with(&mut store, 1, at(0), |access| {
        value.set(access, 1);
        list.add_all(access, [1, 2]);
        map.put(access, 1, 2);
    });
    // It lives from when it is first seen.
    let (mut store, value, list, map) = open_all(&mut reopened(store.tables()), Some(ten_seconds()));
    for secs in [1000, 1009] {
        with(&mut store, 1, at(secs), |access| {
            assert_eq!((value.get(access).copied(), list.iter(access).count()), (Some(1), 2));
            assert_eq!(map.get(access, &1), Some(&2));
        });
    }
    let (mut gone, value, ..) = open_all(&mut reopened(store.tables()), Some(ten_seconds()));
    with(&mut gone, 1, at(1010), |access| assert_eq!(value.get(access), None));
    let (mut store, value, list, map) = open_all(&mut reopened(store.tables()), None);
    with(&mut store, 1, at(99_999), |access| {
        assert_eq!((value.get(access).copied(), map.get(access, &1).copied()), (Some(1), Some(2)));
        assert!(list.iter(access).eq(&[1, 2]));
    });
}

#[test]
fn types_evolve_together_with_a_time_to_live() {
    let mut store = KeyedStore::new();
    let state = store.list::<u8>(&mut fresh(), "l", None).unwrap();
    with(&mut store, 1, at(0), |access| state.add_all(access, [1, 2]));
    let mut open = reopened(store.tables());
    let mut store = KeyedStore::new();
    let state = store.list::<Option<u64>>(&mut open, "l", Some(ten_seconds())).unwrap();
    with(&mut store, 1, at(5), |access| assert!(state.iter(access).eq(&[Some(1), Some(2)])));
}

#[test]
fn a_function_reaches_all_keys_of_a_state() {
    let (mut open, mut store) = (fresh(), KeyedStore::new());
    let value = store.value::<u32>(&mut open, "v", None).unwrap();
    let other = store.value::<u32>(&mut open, "o", None).unwrap();
    for key in 0..5000 {
        with(&mut store, key, at(0), |access| value.set(access, key));
    }
    let mut seen = 0;
    store.for_each_key(value, at(0), |access| {
        seen += 1;
        let new = value.get(access).copied().unwrap() + 1;
        assert_eq!(new, access.key() + 1);
        other.set(access, new);
        value.clear(access);
    });
    assert_eq!(seen, 5000);
    assert_eq!(store.tables()[0].bytes(), 0);
    with(&mut store, 77, at(0), |access| assert_eq!(other.get(access), Some(&78)));
}

/// A value that panics when it is asked for.
#[derive(Clone)]
struct Fragile(String);

impl Data for Fragile {
    fn schema() -> Schema {
        String::schema()
    }
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }
    fn decode(input: &mut Reader<'_>) -> std::result::Result<Self, DecodeError> {
        Ok(Fragile(String::decode(input)?))
    }
}

#[test]
fn a_panic_in_an_update_leaves_the_store_whole() {
    let mut store = KeyedStore::new();
    let state = store.value::<Fragile>(&mut fresh(), "v", None).unwrap();
    for key in 0..10 {
        with(&mut store, key, at(0), |access| state.set(access, Fragile("x".to_owned())));
    }
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        with(&mut store, 4, at(0), |access| state.update(access, |_| panic!("user code")));
    }));
    assert!(caught.is_err());
    let there = (0..10).filter(|&key| with(&mut store, key, at(0), |access| state.get(access).is_some()));
    assert_eq!(there.count(), 9);
    with(&mut store, 4, at(0), |access| state.set(access, Fragile("y".to_owned())));
    let mut again = reopened(store.tables());
    assert_eq!(again.keyed::<u32, String>("v").unwrap().len(), 10);
}

/// Accesses a second through a handle. Run with `--release -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn speed() {
    use flugs_types::{Clock, SystemClock, hash_key};
    for (keys, ahead) in [(1000u32, false), (1_000_000, false), (1_000_000, true)] {
        for ttl in [None, Some(ten_seconds())] {
            let mut store = KeyedStore::new();
            let state = store.value::<u64>(&mut fresh(), "v", ttl).unwrap();
            let rows: Vec<u32> = (0..10_000_000u32).map(|i| i.wrapping_mul(2_654_435_761) % keys).collect();
            for round in 0..2 {
                let start = SystemClock.monotonic();
                for group in rows.chunks(64) {
                    if ahead {
                        group.iter().for_each(|key| store.prefetch(hash_key(key)));
                    }
                    for key in group {
                        let mut access = KeyedAccess::with_hash(&mut store, key, hash_key(key), at(round));
                        *state.get_or_insert_with(&mut access, || 0) += 1;
                    }
                }
                let took = (SystemClock.monotonic() - start).as_secs_f64();
                println!(
                    "{keys} keys, ahead: {ahead}, ttl: {}, {:.1} ns",
                    ttl.is_some(),
                    took * 1e9 / rows.len() as f64
                );
            }
        }
    }
}

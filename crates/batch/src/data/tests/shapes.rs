//! The layout of the standard types, and what their decoders refuse.

use crate::data::{Data, EMPTY_ELEMENTS_MAX, Reader, Schema};
use crate::{CompactString, Either};
use flugs_types::{KeyHasher, Timestamp};
use proptest::collection::{btree_map, btree_set, hash_map, hash_set, vec};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::fmt::Debug;
use std::hash::BuildHasherDefault;
use std::sync::Arc;
use std::time::Duration;

/// There and back; every cut is refused; damage at one byte and at one length is survived.
fn check<T: Data + PartialEq + Debug>(value: T, at: usize, damage: u8) {
    let bytes = value.to_bytes();
    assert_eq!(T::from_bytes(&bytes).as_ref(), Ok(&value));
    assert!(bytes.len() >= T::BYTES_MIN);
    assert!(T::BYTES_MIN <= T::schema().min_bytes() && T::schema().min_bytes() <= bytes.len());
    for cut in 0..bytes.len() {
        assert!(T::from_bytes(&bytes[..cut]).is_err());
    }
    assert!(T::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
    if bytes.is_empty() {
        return;
    }
    let i = at % bytes.len();
    for damage in [&[damage][..], &[255, 255, 255, 255], &[0, 0, 1, 0]] {
        let mut damaged = bytes.clone();
        for (byte, new) in damaged[i..].iter_mut().zip(damage) {
            *byte = *new;
        }
        // What is read from damaged bytes is a value like any other.
        if let Ok(other) = T::from_bytes(&damaged) {
            let again = T::from_bytes(&other.to_bytes()).expect("what was just written");
            assert_eq!(again.to_bytes(), other.to_bytes());
        }
    }
}

type Numbers = ((i8, i16, i32, i64, i128), (u8, u16, u32, u64, u128), (usize, isize), (bool, char, ()));
type Fnv = HashMap<u64, String, BuildHasherDefault<KeyHasher>>;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn simple_shapes(
        n: Numbers, text: String, secs: u64, nanos in 0u32..1_000_000_000, time: i64, at: usize, damage: u8,
    ) {
        check(n, at, damage);
        check((text.clone(), Some(CompactString::from(&text))), at, damage);
        check((Box::<str>::from(&*text), Arc::<str>::from(&*text)), at, damage);
        check((Duration::new(secs, nanos), Timestamp(time), Reverse(time)), at, damage);
        check([Some(Box::new(text.clone())), None], at, damage);
        check((Some(Some(true)), Some(None::<bool>), Arc::new(nanos)), at, damage);
        check(vec![Ok(time), Err(text.clone())], at, damage);
        check(vec![Either::Left(time), Either::Right(text)], at, damage);
    }

    #[test]
    fn sequences(
        bytes: Vec<u8>, wide in vec(any::<u128>(), 0..20), floats in vec(-1e9..1e9f64, 0..20),
        texts in vec(".{0,8}", 0..8), nested in vec(vec(any::<i16>(), 0..5), 0..5), at: usize, damage: u8,
    ) {
        check((wide.clone(), floats), at, damage);
        check(texts.iter().cloned().collect::<VecDeque<_>>(), at, damage);
        check(Box::<[String]>::from(&*texts), at, damage);
        check(Arc::<[String]>::from(&*texts), at, damage);
        check(texts.into_iter().map(|t| [t, String::new()]).collect::<Vec<_>>(), at, damage);
        check((nested, [7u8; 0], [[1u16, 2], [3, 4]]), at, damage);
        check(bytes.iter().map(|_| ()).collect::<Vec<_>>(), at, damage);
        let mut queue: VecDeque<u128> = wide.into();
        queue.rotate_left(queue.len() / 2);
        queue.push_front(1);
        check(queue, at, damage);
        check(bytes, at, damage);
    }

    #[test]
    fn maps_and_sets(
        map in hash_map(any::<u64>(), ".{0,4}", 0..20), tree in btree_map(".{0,3}", vec(any::<u8>(), 0..3), 0..8),
        set in hash_set(any::<(i8, char)>(), 0..20), sorted in btree_set(any::<i32>(), 0..20), at: usize, damage: u8,
    ) {
        let other_hasher: Fnv = map.iter().map(|(k, v)| (*k, v.clone())).collect();
        let bytes = other_hasher.to_bytes();
        prop_assert_eq!(&bytes, &map.to_bytes());
        let mut pairs: Vec<_> = map.iter().map(|(k, v)| (k.to_le_bytes(), v)).collect();
        pairs.sort();
        let mut expected = (pairs.len() as u32).to_le_bytes().to_vec();
        for (k, v) in pairs {
            expected.extend(k);
            expected.extend((v.len() as u32).to_le_bytes());
            expected.extend(v.bytes());
        }
        prop_assert_eq!(bytes, expected);
        check(other_hasher, at, damage);
        check((map, set), at, damage);
        let heap: BinaryHeap<i32> = sorted.iter().copied().collect();
        let back = BinaryHeap::<i32>::from_bytes(&heap.to_bytes()).expect("a heap");
        prop_assert_eq!(back.into_sorted_vec(), heap.into_sorted_vec());
        check((tree, sorted), at, damage);
    }

    #[test]
    fn anything_is_survived(junk in vec(prop_oneof![3 => 0u8..4, 1 => any::<u8>()], 0..300)) {
        let _ = Vec::<Vec<Option<(u8, String)>>>::from_bytes(&junk);
        let _ = HashMap::<(bool, Vec<u16>), HashSet<char>>::from_bytes(&junk);
        let _ = BTreeMap::<Option<String>, BTreeMap<(), [Vec<u8>; 3]>>::from_bytes(&junk);
        let _ = Vec::<Result<Either<Duration, ()>, Box<[BTreeSet<i8>]>>>::from_bytes(&junk);
        let _ = Numbers::from_bytes(&junk);
    }
}

#[test]
fn the_layout_is_little_endian() {
    assert_eq!((1u16, -2i32, true, 'é').to_bytes(), [1, 0, 0xfe, 0xff, 0xff, 0xff, 1, 0xe9, 0, 0, 0]);
    assert_eq!(vec![258u16, 3].to_bytes(), [2, 0, 0, 0, 2, 1, 3, 0]);
    assert_eq!([258u16, 3].to_bytes(), [2, 1, 3, 0]);
    assert_eq!((Some("hi".to_owned()), None::<u64>).to_bytes(), [1, 2, 0, 0, 0, b'h', b'i', 0]);
    assert_eq!(Duration::new(1, 2).to_bytes(), [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(Err::<u8, _>(7u8).to_bytes(), [1, 0, 0, 0, 7]);
    assert_eq!(f64::NAN.to_bits(), f64::from_bytes(&f64::NAN.to_bytes()).expect("a number").to_bits());
}

#[test]
fn what_is_no_value_is_refused() {
    fn refused<T: Data + Debug>(bytes: &[u8]) -> String {
        T::from_bytes(bytes).expect_err("no value").to_string()
    }
    assert_eq!(refused::<bool>(&[2]), "a bool starts with 0 or 1, not with 2");
    assert_eq!(refused::<Option<u8>>(&[3, 1]), "an option starts with 0 or 1, not with 3");
    assert_eq!(refused::<char>(&[0, 0xd8, 0, 0]), "0xd800 is no Unicode character");
    assert!(refused::<String>(&[1, 0, 0, 0, 0xff]).starts_with("a string is not UTF-8"));
    assert!(refused::<Duration>(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0xca, 0x9a, 0x3b]).contains("1000000000"));
    assert_eq!(refused::<BTreeSet<u8>>(&[2, 0, 0, 0, 5, 5]), "an element of a set comes twice");
    assert_eq!(refused::<HashMap<u8, ()>>(&[2, 0, 0, 0, 5, 5]), "a key of a map comes twice");
    assert_eq!(refused::<Result<u8, u8>>(&[2, 0, 0, 0, 5]), "enum Result has no variant number 2");
    assert_eq!(refused::<Vec<u64>>(&[255, 255, 255, 255, 1]), "34359738360 bytes expected, 1 left");
}

#[test]
fn elements_without_bytes_are_bounded() {
    let most = vec![(); EMPTY_ELEMENTS_MAX];
    assert_eq!(Vec::<()>::from_bytes(&most.to_bytes()), Ok(most));
    let more = (EMPTY_ELEMENTS_MAX as u32 + 1).to_bytes();
    assert!(Vec::<()>::from_bytes(&more).is_err());
    assert!(Vec::<Box<()>>::from_bytes(&more).is_err());
    assert!(std::panic::catch_unwind(|| vec![(); EMPTY_ELEMENTS_MAX + 1].to_bytes()).is_err());
}

/// A type written by hand that leaves `BYTES_MIN` at zero may be as many as its bytes.
#[test]
fn a_least_size_need_not_be_known() {
    #[derive(Debug, Clone, PartialEq)]
    struct Plain(u8);
    impl Data for Plain {
        fn schema() -> Schema {
            Schema::UInt(8)
        }
        fn encode(&self, out: &mut Vec<u8>) {
            out.push(self.0);
        }
        fn decode(input: &mut Reader<'_>) -> Result<Self, crate::data::DecodeError> {
            u8::decode(input).map(Plain)
        }
    }
    check(vec![Plain(3); 2 * EMPTY_ELEMENTS_MAX].into_iter().take(5).collect::<Vec<_>>(), 0, 9);
    let many = vec![Plain(3); 2 * EMPTY_ELEMENTS_MAX];
    assert_eq!(Vec::<Plain>::from_bytes(&many.to_bytes()), Ok(many));
}

#[test]
fn heap_bytes_count_what_is_held() {
    assert_eq!(String::with_capacity(10).heap_bytes(), 10);
    assert_eq!(CompactString::from("inline").heap_bytes(), 0);
    assert_eq!(Vec::<u64>::with_capacity(4).heap_bytes(), 32);
    assert_eq!(Box::new((1u64, Box::<str>::from("abc"))).heap_bytes(), 24 + 3);
    assert_eq!(Some("four".to_owned().into_boxed_str()).heap_bytes(), 4);
    assert_eq!(BTreeMap::from([(1u64, 2u64)]).heap_bytes(), 16);
}

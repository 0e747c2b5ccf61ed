//! Maps, sets and heaps.
//!
//! Those with an order of their own are written in it; the others by the bytes of their keys, so that equal
//! values have equal bytes. A key that comes twice is refused, as one of the two values would be lost.

use super::{check_elements, described, put_length};
use crate::data::{Data, DecodeError, Reader, Schema, reservation};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};

/// Writes entries by the order of their keys' bytes.
fn put_sorted<E: Copy>(
    entries: impl ExactSizeIterator<Item = E>,
    put_key: impl Fn(E, &mut Vec<u8>),
    put_value: impl Fn(E, &mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    put_length(entries.len(), out);
    let mut bytes = Vec::new();
    let mut spans = Vec::with_capacity(entries.len());
    for entry in entries {
        let start = bytes.len();
        put_key(entry, &mut bytes);
        let key_end = bytes.len();
        put_value(entry, &mut bytes);
        spans.push((start, key_end, bytes.len()));
    }
    spans.sort_unstable_by(|a, b| bytes[a.0..a.1].cmp(&bytes[b.0..b.1]));
    out.reserve(bytes.len());
    for (start, _, end) in spans {
        out.extend_from_slice(&bytes[start..end]);
    }
}

#[cold]
fn twice(what: &str) -> DecodeError {
    DecodeError(format!("{what} comes twice"))
}

fn pairs_heap_bytes<'a, K: Data, V: Data>(
    capacity: usize,
    pairs: impl Iterator<Item = (&'a K, &'a V)>,
) -> usize {
    capacity * size_of::<(K, V)>() + pairs.map(|(k, v)| k.heap_bytes() + v.heap_bytes()).sum::<usize>()
}

impl<K: Data + Eq + Hash, V: Data, S> Data for HashMap<K, V, S>
where
    S: BuildHasher + Default + Clone + Send + Sync + 'static,
{
    const BYTES_MIN: usize = 4;

    described!(nesting => Schema::Map(Box::new(K::describe(nesting)), Box::new(V::describe(nesting))));

    fn encode(&self, out: &mut Vec<u8>) {
        put_sorted(self.iter(), |(k, _), out| k.encode(out), |(_, v), out| v.encode(out), out);
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let n = input.length(K::BYTES_MIN + V::BYTES_MIN)?;
        input.nested(|input| {
            let mut map = Self::with_capacity_and_hasher(reservation::<(K, V)>(n), S::default());
            for _ in 0..n {
                if map.insert(K::decode(input)?, V::decode(input)?).is_some() {
                    return Err(twice("a key of a map"));
                }
            }
            Ok(map)
        })
    }

    fn heap_bytes(&self) -> usize {
        pairs_heap_bytes(self.capacity(), self.iter())
    }
}

impl<K: Data + Ord, V: Data> Data for BTreeMap<K, V> {
    const BYTES_MIN: usize = 4;

    described!(nesting => Schema::Map(Box::new(K::describe(nesting)), Box::new(V::describe(nesting))));

    fn encode(&self, out: &mut Vec<u8>) {
        put_length(self.len(), out);
        for (k, v) in self {
            k.encode(out);
            v.encode(out);
        }
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let n = input.length(K::BYTES_MIN + V::BYTES_MIN)?;
        let map: Self = input.nested(|input| <(K, V)>::decode_vec(n, input))?.into_iter().collect();
        if map.len() < n { Err(twice("a key of a map")) } else { Ok(map) }
    }

    fn heap_bytes(&self) -> usize {
        pairs_heap_bytes(self.len(), self.iter())
    }
}

impl<T: Data + Eq + Hash, S> Data for HashSet<T, S>
where
    S: BuildHasher + Default + Clone + Send + Sync + 'static,
{
    const BYTES_MIN: usize = 4;

    described!(nesting => Schema::Set(Box::new(T::describe(nesting))));

    fn encode(&self, out: &mut Vec<u8>) {
        put_sorted(self.iter(), T::encode, |_, _| {}, out);
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let n = input.length(T::BYTES_MIN)?;
        input.nested(|input| {
            let mut set = Self::with_capacity_and_hasher(reservation::<T>(n), S::default());
            for _ in 0..n {
                if !set.insert(T::decode(input)?) {
                    return Err(twice("an element of a set"));
                }
            }
            Ok(set)
        })
    }

    fn heap_bytes(&self) -> usize {
        self.capacity() * size_of::<T>() + self.iter().map(T::heap_bytes).sum::<usize>()
    }
}

impl<T: Data + Ord> Data for BTreeSet<T> {
    const BYTES_MIN: usize = 4;

    described!(nesting => Schema::Set(Box::new(T::describe(nesting))));

    fn encode(&self, out: &mut Vec<u8>) {
        put_length(self.len(), out);
        for value in self {
            value.encode(out);
        }
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let n = input.length(T::BYTES_MIN)?;
        let set: Self = input.nested(|input| T::decode_vec(n, input))?.into_iter().collect();
        if set.len() < n { Err(twice("an element of a set")) } else { Ok(set) }
    }

    fn heap_bytes(&self) -> usize {
        self.len() * size_of::<T>() + self.iter().map(T::heap_bytes).sum::<usize>()
    }
}

impl<T: Data + Ord> Data for BinaryHeap<T> {
    const BYTES_MIN: usize = 4;

    described!(nesting => Vec::<T>::describe(nesting));

    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_sorted(self.iter(), T::encode, |_, _| {}, out);
        check_elements::<T>(self.len(), out.len() - start - 4);
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Vec::decode(input).map(Self::from)
    }

    fn heap_bytes(&self) -> usize {
        self.capacity() * size_of::<T>() + self.iter().map(T::heap_bytes).sum::<usize>()
    }
}

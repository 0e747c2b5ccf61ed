//! Decoding never takes more memory than a small multiple of the bytes that are really there.
//!
//! The one test of this file: it counts what the whole process allocates.

use flugs_batch::data::{Data as _, Reader, Transcoder};
use flugs_derive::Data;
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above; the pointer came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Clone, Data)]
#[data(crate = "flugs_batch")]
struct Tree {
    n: u8,
    children: Vec<Tree>,
}

#[derive(Clone, Data)]
#[data(crate = "flugs_batch")]
struct WiderTree {
    children: Vec<WiderTree>,
    n: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Data)]
#[data(crate = "flugs_batch")]
struct Nothing;

/// The most that was held at one time while `work` ran.
fn peak_bytes<T>(work: impl FnOnce() -> T) -> usize {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    drop(work());
    PEAK.load(Relaxed) - before
}

fn decode<T: flugs_batch::Data>(bytes: &[u8]) {
    // One early reservation for each level of nesting, and up to 64 bytes (an empty map) for a byte of input, twice
    // that while a buffer grows.
    let allowed = (1 << 20) + 256 * bytes.len();
    let peak = peak_bytes(|| T::from_bytes(bytes));
    assert!(peak <= allowed, "{}: {peak} for {} bytes", std::any::type_name::<T>(), bytes.len());
}

/// Inputs that announce much: lengths of all sizes before few or no elements.
fn inputs() -> Vec<Vec<u8>> {
    let mut inputs = vec![vec![0; 20_000], vec![1; 20_000], vec![255; 20_000]];
    for length in [1u32, 100, 5_000, 65_536, 65_537, 1 << 20, 1 << 31, u32::MAX] {
        for filler in [0u8, 1, 255] {
            inputs.push([&length.to_le_bytes()[..], &[filler; 10_000]].concat());
        }
        inputs.push(length.to_le_bytes().repeat(2_500));
        inputs.push([&[1][..], &length.to_le_bytes()].concat().repeat(2_000));
    }
    inputs
}

#[test]
fn memory_grows_with_the_input_alone() {
    let transcoder = Transcoder::new(&Tree::schema(), &WiderTree::schema()).expect("the types fit");
    for bytes in &inputs() {
        decode::<Vec<u8>>(bytes);
        decode::<Vec<u64>>(bytes);
        decode::<Vec<()>>(bytes);
        decode::<Vec<Nothing>>(bytes);
        decode::<String>(bytes);
        decode::<Vec<String>>(bytes);
        decode::<Vec<Vec<Vec<u16>>>>(bytes);
        decode::<VecDeque<(u32, Arc<str>)>>(bytes);
        decode::<HashMap<u32, Vec<HashSet<u8>>>>(bytes);
        decode::<HashMap<Nothing, ()>>(bytes);
        decode::<BTreeMap<String, [Option<u64>; 4]>>(bytes);
        decode::<Vec<Option<Box<[u32]>>>>(bytes);
        decode::<Tree>(bytes);
        let allowed = (1 << 20) + 64 * bytes.len();
        let peak = peak_bytes(|| {
            let mut out = Vec::new();
            transcoder.apply(&mut Reader::new(bytes), &mut out).map(|()| out)
        });
        assert!(peak <= allowed, "{peak} for {} bytes", bytes.len());
    }
}

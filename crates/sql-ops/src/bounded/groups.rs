//! The groups of a bounded aggregate in memory.

use crate::aggregate::{Aggregator, States};
use crate::row::{EncodedRows, RowBytes, row_hash, same_bytes};
use flugs_batch::Data;
use flugs_types::prefetch;

/// Keys whose places are fetched together.
const BLOCK: usize = 64;
/// How many places the smallest table has.
const PLACES_MIN: usize = 1 << 10;
/// What a group takes besides its state and what is on the heap: its key, and two places.
const GROUP_BYTES: usize = size_of::<RowBytes>() + 2 * size_of::<Place>();

/// Groups in order of first touch, by number. Their states stand side by side, so that rows are added to them where they are.
pub(super) struct Groups {
    /// Open addressing with linear probing, as many as a power of two, at most two thirds taken.
    places: Box<[Place]>,
    keys: Vec<RowBytes>,
    pub(super) states: States,
    /// What keys and states have on the heap.
    heap_bytes: usize,
}

/// Where a key is looked for.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// A part of the key's hash, so that few other keys are looked at.
    tag: u32,
    /// One more than the number of the group; 0 where there is none.
    group: u32,
}

impl Groups {
    /// None, for states of these aggregates.
    pub(super) fn new(aggregator: &Aggregator) -> Self {
        Groups { places: Box::default(), keys: Vec::new(), states: aggregator.states(), heap_bytes: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub(super) fn keys(&self) -> &[RowBytes] {
        &self.keys
    }

    /// The memory that the groups take.
    pub(super) fn bytes(&self) -> usize {
        self.len() * (GROUP_BYTES + self.states.bytes_of_group()) + self.heap_bytes
    }

    /// The groups of these rows, which are made where need be.
    pub(super) fn find(&mut self, rows: &EncodedRows, groups: &mut Vec<u32>) {
        groups.clear();
        groups.reserve(rows.len());
        let hashes = rows.hashes();
        for from in (0..rows.len()).step_by(BLOCK) {
            let block = from..rows.len().min(from + BLOCK);
            self.reserve(block.len());
            let homes = &hashes[block.clone()];
            homes.iter().for_each(|hash| prefetch(&self.places[self.home(*hash)]));
            for hash in homes {
                let place = self.places[self.home(*hash)];
                if place.tag == tag(*hash) && place.group != 0 {
                    prefetch(&self.keys[place.group as usize - 1]);
                    self.states.prefetch(place.group as usize - 1);
                }
            }
            for row in block {
                groups.push(self.group(hashes[row], rows.row(row)));
            }
        }
    }

    /// The group over no rows: of the empty key.
    pub(super) fn make_empty(&mut self) {
        self.reserve(1);
        self.group(row_hash(&[]), &[]);
    }

    /// Notes that what the states of these groups have on the heap is so much more, or less, than it was.
    pub(super) fn note_heap(&mut self, before: usize, after: usize) {
        self.heap_bytes = (self.heap_bytes + after).saturating_sub(before);
    }

    #[inline]
    fn group(&mut self, hash: u64, key: &[u8]) -> u32 {
        let tag = tag(hash);
        let mut at = self.home(hash);
        loop {
            let place = self.places[at];
            if place.group == 0 {
                break;
            }
            if place.tag == tag && same_bytes(&self.keys[place.group as usize - 1], key) {
                return place.group - 1;
            }
            at = (at + 1) & (self.places.len() - 1);
        }
        let key = RowBytes::new(key);
        self.heap_bytes += key.heap_bytes();
        self.keys.push(key);
        self.states.push_new();
        let group = self.keys.len() as u32;
        self.places[at] = Place { tag, group };
        group - 1
    }

    #[inline(always)]
    fn home(&self, hash: u64) -> usize {
        hash as usize & (self.places.len() - 1)
    }

    /// Makes room for so many more groups.
    fn reserve(&mut self, more: usize) {
        let wanted = (self.keys.len() + more) * 3 / 2 + 1;
        if wanted <= self.places.len() {
            return;
        }
        let places = wanted.next_power_of_two().max(PLACES_MIN);
        self.places = vec![Place::default(); places].into();
        for (group, key) in (1..).zip(&self.keys) {
            let hash = row_hash(key);
            let mut at = self.home(hash);
            while self.places[at].group != 0 {
                at = (at + 1) & (places - 1);
            }
            self.places[at] = Place { tag: tag(hash), group };
        }
    }
}

fn tag(hash: u64) -> u32 {
    (hash >> 17) as u32
}

//! The rows of one join key.
//!
//! All of them stand in one buffer in the order in which they came, each behind a short header, so that a probe reads them in
//! one go. What a header holds is up to the [`Layout`]. A row that is taken back stays as dead bytes (its count is 0) until half
//! of the buffer is dead; a bag of many rows has an index of their hashes. The index and dead bytes are no part of the state.

use flugs_batch::Data;
use flugs_batch::data::{DecodeError, Reader, Schema};
use flugs_types::{Error, Result};

/// Bags of more rows than this have an index (tests see that too).
const SCANNED_MAX: u32 = if cfg!(test) { 3 } else { 16 };
/// Fewer dead bytes than this are left alone.
const DEAD_MIN: u32 = if cfg!(test) { 64 } else { 512 };
/// What the rows of one key may take.
const BYTES_MAX: usize = u32::MAX as usize;

/// What stands before each row, beside its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Layout {
    /// A hash, and how many equal rows there are: rows can be found and taken back.
    pub(super) counted: bool,
    /// How many rows of the other input match.
    pub(super) tracked: bool,
    /// A time.
    pub(super) timed: bool,
}

impl Layout {
    fn header(self) -> usize {
        4 + if self.counted { 8 } else { 0 }
            + if self.tracked { 4 } else { 0 }
            + if self.timed { 8 } else { 0 }
    }

    fn count_at(self) -> usize {
        8
    }

    fn tracked_at(self) -> usize {
        4 + if self.counted { 8 } else { 0 }
    }

    fn time_at(self) -> usize {
        self.tracked_at() + if self.tracked { 4 } else { 0 }
    }

    fn bits(self) -> u8 {
        u8::from(self.counted) | u8::from(self.tracked) << 1 | u8::from(self.timed) << 2
    }

    fn of_bits(bits: u8) -> Option<Self> {
        let layout = Layout { counted: bits & 1 != 0, tracked: bits & 2 != 0, timed: bits & 4 != 0 };
        (layout.bits() == bits).then_some(layout)
    }
}

/// The hash by which rows of a bag are found. It is stored with them, so it must stay as it is.
#[inline]
pub(super) fn bag_hash(bytes: &[u8]) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| ((hash ^ word).wrapping_mul(FACTOR)).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words.iter().fold(bytes.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    let last = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    (mix(hash, last) >> 16) as u32
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct Bag {
    bytes: Vec<u8>,
    index: Option<Box<Index>>,
    /// How many rows, equal ones included.
    total: u32,
    /// How many rows stand in the buffer, dead ones included.
    entries: u32,
    dead: u32,
    layout: Layout,
}

/// A row where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) at: u32,
    pub(super) row: &'a [u8],
    /// How many equal rows; 0 where it is dead.
    pub(super) count: u32,
    pub(super) tracked: u32,
    pub(super) time: i64,
    /// Where the next one stands.
    pub(super) next: u32,
}

impl Bag {
    pub(super) fn new(layout: Layout) -> Self {
        Bag { layout, ..Bag::default() }
    }

    /// How many rows, equal ones included.
    pub(super) fn total(&self) -> u32 {
        self.total
    }

    #[inline(always)]
    fn number(&self, at: usize) -> u32 {
        self.bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    fn set(&mut self, at: usize, value: &[u8]) {
        self.bytes[at..at + value.len()].copy_from_slice(value);
    }

    /// The row at a place, dead ones included; `None` at the end.
    #[inline(always)]
    pub(super) fn entry(&self, at: u32) -> Option<Entry<'_>> {
        let start = at as usize;
        let header = self.layout.header();
        let length = self.number(start) as usize;
        let row = self.bytes.get(start + header..start + header + length)?;
        let count = if self.layout.counted { self.number(start + self.layout.count_at()) } else { 1 };
        let tracked = if self.layout.tracked { self.number(start + self.layout.tracked_at()) } else { 0 };
        let time = match self.layout.timed {
            true => self.bytes.get(start + self.layout.time_at()..).and_then(<[u8]>::first_chunk),
            false => None,
        };
        let time = time.map_or(0, |bytes| i64::from_le_bytes(*bytes));
        Some(Entry { at, row, count, tracked, time, next: (start + header + length) as u32 })
    }

    /// The first row at or behind a place that is not dead.
    #[inline(always)]
    pub(super) fn live(&self, mut at: u32) -> Option<Entry<'_>> {
        loop {
            let entry = self.entry(at)?;
            if entry.count > 0 {
                return Some(entry);
            }
            at = entry.next;
        }
    }

    /// The rows that are not dead.
    pub(super) fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let entry = self.live(at)?;
            at = entry.next;
            Some(entry)
        })
    }

    /// Appends a row, and returns where it stands. `hash` matters where rows are counted.
    #[inline]
    pub(super) fn push(&mut self, row: &[u8], hash: u32, count: u32, tracked: u32, time: i64) -> Result<u32> {
        let need = self.layout.header() + row.len();
        let at = self.bytes.len();
        let total = self.total.checked_add(count);
        let (Some(total), true) = (total, at + need <= BYTES_MAX) else { return Err(too_many()) };
        if self.bytes.capacity() - at < need {
            // Most keys have few rows, so the first fit exactly; later a half is to spare.
            self.bytes.reserve_exact(need.max(at / 2));
        }
        self.bytes.extend_from_slice(&(row.len() as u32).to_le_bytes());
        if self.layout.counted {
            self.bytes.extend_from_slice(&hash.to_le_bytes());
            self.bytes.extend_from_slice(&count.to_le_bytes());
        }
        if self.layout.tracked {
            self.bytes.extend_from_slice(&tracked.to_le_bytes());
        }
        if self.layout.timed {
            self.bytes.extend_from_slice(&time.to_le_bytes());
        }
        self.bytes.extend_from_slice(row);
        self.total = total;
        self.entries += 1;
        if self.layout.counted {
            match self.index.take() {
                Some(mut index) if index.has_room() => {
                    index.insert(hash, at as u32, |at| self.entry(at).is_some_and(|entry| entry.count == 0));
                    self.index = Some(index);
                }
                None if self.entries <= SCANNED_MAX => {}
                _ => self.reindex(),
            }
        }
        Ok(at as u32)
    }

    /// The row with this hash that starts with these bytes.
    pub(super) fn find(&self, start: &[u8], hash: u32) -> Option<u32> {
        let is_it = |entry: &Entry<'_>| {
            entry.count > 0
                && self.number(entry.at as usize + 4) == hash
                && entry.row.get(..start.len()) == Some(start)
        };
        match &self.index {
            Some(index) => index.find(hash, |at| self.entry(at).is_some_and(|entry| is_it(&entry))),
            None => self.iter().find(is_it).map(|entry| entry.at),
        }
    }

    /// Sets how many rows match the one at a place.
    pub(super) fn set_tracked(&mut self, at: u32, tracked: u32) {
        if self.layout.tracked && self.entry(at).is_some() {
            self.set(at as usize + self.layout.tracked_at(), &tracked.to_le_bytes());
        }
    }

    fn set_count(&mut self, at: u32, count: u32) {
        self.set(at as usize + self.layout.count_at(), &count.to_le_bytes());
    }

    /// Counts one more row equal to the one at a place, at this time.
    pub(super) fn add_one(&mut self, at: u32, time: i64) -> Result<()> {
        let Some(entry) = self.entry(at) else { return Ok(()) };
        let (count, total) = (entry.count.checked_add(1), self.total.checked_add(1));
        let (Some(count), Some(total)) = (count, total) else { return Err(too_many()) };
        self.set_count(at, count);
        self.total = total;
        self.touch(at, time)
    }

    /// Takes one of the rows at a place away.
    pub(super) fn take_one(&mut self, at: u32) {
        let Some(entry) = self.entry(at) else { return };
        let (count, next) = (entry.count, entry.next);
        if count == 0 {
            return;
        }
        self.total -= 1;
        self.set_count(at, count - 1);
        if count == 1 {
            self.dead += next - at;
            self.compact_if_dead();
        }
    }

    /// Gives the row at a place this time, and its place in the order of times: behind all others.
    pub(super) fn touch(&mut self, at: u32, time: i64) -> Result<()> {
        let Some(entry) = self.entry(at).filter(|entry| self.layout.timed && entry.count > 0) else {
            return Ok(());
        };
        if entry.next as usize == self.bytes.len() {
            self.set(at as usize + self.layout.time_at(), &time.to_le_bytes());
            return Ok(());
        }
        let (row, count, tracked, next) = (entry.row.to_vec(), entry.count, entry.tracked, entry.next);
        if !self.layout.counted {
            // The bag of a unique key holds one row.
            return Err(Error::bug("a row that is not counted cannot be moved"));
        }
        let hash = self.number(at as usize + 4);
        self.set_count(at, 0);
        self.total -= count;
        self.dead += next - at;
        self.push(&row, hash, count, tracked, time)?;
        self.compact_if_dead();
        Ok(())
    }

    /// Removes all rows.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.index = None;
        (self.total, self.entries, self.dead) = (0, 0, 0);
    }

    /// Whether a row's time is at or before `upto`.
    pub(super) fn is_due(&self, upto: i64) -> bool {
        self.layout.timed && self.live(0).is_some_and(|entry| entry.time <= upto)
    }

    /// Removes the rows whose times are at or before `upto`; they stand first. Calls `gone` for each.
    pub(super) fn expire(&mut self, upto: i64, mut gone: impl FnMut(Entry<'_>)) {
        let (mut end, mut total, mut entries, mut dead) = (0, 0, 0, 0);
        while let Some(entry) = self.entry(end) {
            if entry.count > 0 && entry.time > upto {
                break;
            }
            if entry.count > 0 {
                gone(entry);
            } else {
                dead += entry.next - entry.at;
            }
            total += entry.count;
            entries += 1;
            end = entry.next;
        }
        self.bytes.drain(..end as usize);
        self.bytes.shrink_to(self.bytes.len() * 2);
        self.total -= total;
        self.entries -= entries;
        self.dead -= dead;
        self.index = None;
        if !self.compact_if_dead() && self.layout.counted && self.entries > SCANNED_MAX {
            self.reindex();
        }
    }

    /// Removes the rows whose times are at or before `upto`, wherever they stand, and calls `gone` for each. Only of bags whose rows
    /// are not counted.
    pub(super) fn take_due(&mut self, upto: i64, mut gone: impl FnMut(Entry<'_>)) {
        let mut left = Bag::new(self.layout);
        for entry in self.iter() {
            if entry.time <= upto {
                gone(entry);
            } else {
                left.bytes.extend_from_slice(&self.bytes[entry.at as usize..entry.next as usize]);
                left.entries += 1;
                left.total += entry.count;
            }
        }
        *self = left;
    }

    /// Leaves dead rows out where they are half of the buffer; whether they were.
    fn compact_if_dead(&mut self) -> bool {
        let many = self.dead > DEAD_MIN && self.dead as usize > self.bytes.len() / 2;
        if many {
            self.compact();
        }
        many
    }

    fn compact(&mut self) {
        let bytes = self.live_bytes();
        self.entries = self.iter().count() as u32;
        self.bytes = bytes;
        self.dead = 0;
        self.index = None;
        if self.layout.counted && self.entries > SCANNED_MAX {
            self.reindex();
        }
    }

    fn live_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes.len() - self.dead as usize);
        self.iter().for_each(|e| bytes.extend_from_slice(&self.bytes[e.at as usize..e.next as usize]));
        bytes
    }

    fn reindex(&mut self) {
        let mut index = Index::with_room(self.entries);
        for entry in self.iter() {
            index.insert(self.number(entry.at as usize + 4), entry.at, |_| false);
        }
        self.index = Some(Box::new(index));
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// The same rows in another layout: what it has besides is made up by `hash` and `time`.
    pub(super) fn in_layout(&self, layout: Layout, time: i64, hash: impl Fn(&[u8]) -> u32) -> Result<Bag> {
        let mut bag = Bag::new(layout);
        for entry in self.iter() {
            let time = if self.layout.timed { entry.time } else { time };
            let of = hash(entry.row);
            match layout.counted.then(|| bag.find(entry.row, of)).flatten() {
                Some(at) => (0..entry.count).try_for_each(|_| bag.add_one(at, time))?,
                None if layout.counted => {
                    bag.push(entry.row, of, entry.count, entry.tracked, time)?;
                }
                None => (0..entry.count)
                    .try_for_each(|_| bag.push(entry.row, of, 1, entry.tracked, time).map(drop))?,
            }
        }
        Ok(bag)
    }
}

fn too_many() -> Error {
    Error::job("the rows of one join key take more than 4 GiB")
        .mend("join by more columns, or give the table a time to live")
}

/// The layout, then the rows that are not dead with their headers. Bytes are not trusted.
impl Data for Bag {
    const BYTES_MIN: usize = 5;

    fn schema() -> Schema {
        Schema::Opaque("sql.join.rows/1".to_owned())
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let bytes = if self.dead > 0 { &self.live_bytes() } else { &self.bytes };
        out.extend_from_slice(&(bytes.len() as u32 + 1).to_le_bytes());
        out.push(self.layout.bits());
        out.extend_from_slice(bytes);
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let n = input.length(1)?;
        let stored = input.take(n)?;
        let damaged = || DecodeError::new("the rows of a join key are damaged");
        let (bits, bytes) = stored.split_first().ok_or_else(damaged)?;
        let mut bag = Bag::new(Layout::of_bits(*bits).ok_or_else(damaged)?);
        bag.bytes = bytes.to_vec();
        let mut at = 0;
        while let Some(entry) = bag.entry(at) {
            let total = bag.total.checked_add(entry.count).filter(|_| entry.count > 0);
            (at, bag.total) = (entry.next, total.ok_or_else(damaged)?);
            bag.entries += 1;
        }
        if at as usize != bytes.len() {
            return Err(damaged());
        }
        if bag.layout.counted && bag.entries > SCANNED_MAX {
            bag.reindex();
        }
        Ok(bag)
    }

    fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.index.as_ref().map_or(0, |index| index.bytes())
    }
}

/// Places by hash, in open addressing. A place is never taken out: that of a row that is dead answers no search, and goes when the
/// index is made anew.
#[derive(Debug, Clone)]
struct Index {
    /// A power of two of them; a place is stored plus one, 0 is none.
    slots: Vec<(u32, u32)>,
    room: u32,
}

impl Index {
    /// For twice as many rows.
    fn with_room(rows: u32) -> Self {
        let room = rows.max(SCANNED_MAX).saturating_mul(2);
        let slots = (room as usize * 4 / 3 + 1).next_power_of_two();
        Index { slots: vec![(0, 0); slots], room }
    }

    fn has_room(&self) -> bool {
        self.room > 0
    }

    /// Takes the place of a dead row of this hash, if there is one: else a row that comes and goes would leave a long trail.
    fn insert(&mut self, hash: u32, at: u32, is_dead: impl Fn(u32) -> bool) {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                (_, 0) => break,
                (of, dead) if of == hash && is_dead(dead - 1) => {
                    self.slots[slot].1 = at + 1;
                    return;
                }
                _ => slot = (slot + 1) & mask,
            }
        }
        self.slots[slot] = (hash, at + 1);
        self.room = self.room.saturating_sub(1);
    }

    fn find(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                (_, 0) => return None,
                (of, at) if of == hash && is_it(at - 1) => return Some(at - 1),
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<(u32, u32)>()
    }
}

#[cfg(test)]
mod tests;

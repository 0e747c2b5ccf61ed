//! A shard: one small open-addressing hash table in one allocation. All pointer work on entries is here.
//!
//! ```text
//! header | chunk 0 | chunk 1 | ...            a power of two of chunks
//! chunk:  7 tag bytes, 1 overflow count | slot 0 | ... | slot 6
//! ```
//! A key's home chunk is named by the low bits of its hash. An entry that finds its home full goes to the next chunk with
//! room, and every chunk it passed counts it in its overflow byte, so a search ends at the first chunk whose count
//! is zero and a removal takes the count back: there are no tombstones, and nothing moves. A count that
//! reached 255 stays there until the shard is rebuilt. A tag is 0 for a free slot and else has its high bit set and seven
//! bits of the hash, all seven of a chunk being compared at once as a word.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::mem;
use std::ptr::{self, NonNull};

/// Slots in a chunk.
const LANES: usize = 7;
/// Where in a chunk its overflow count is.
const OVERFLOW: usize = LANES;
/// A count that is not to be changed any more.
const SATURATED: u8 = u8::MAX;
const LOW: u64 = 0x0101_0101_0101_0101;
/// The high bit of each tag; the overflow byte has none.
const HIGH: u64 = 0x0080_8080_8080_8080;
const LINE: usize = 64;
/// A shard of this size is split and not enlarged.
const SHARD_BYTES_MAX: usize = 16 << 10;

/// What stands before the chunks.
#[repr(C, align(64))]
struct Header {
    len: u32,
    /// How many entries may still be inserted.
    room: u32,
    /// How many bits of the hash all its keys share.
    depth: u32,
    /// The bytes that keys and values hold beyond their own size, as far as known.
    heap: usize,
}

/// A shard without room and without an allocation.
#[repr(C, align(64))]
struct Vacant {
    header: Header,
    chunk: [u8; LINE],
}

static VACANT: Vacant = Vacant { header: Header { len: 0, room: 0, depth: 0, heap: 0 }, chunk: [0; LINE] };

/// A shard as it stands in the directory: a pointer that owns nothing by itself. The directory frees each shard once.
///
/// The invariant of all unsafe methods: the shard is vacant or allocated and not yet freed, and nobody else reads (where the
/// method only reads) or touches (where it writes) it meanwhile.
pub(super) struct Shard<K, V> {
    /// The first chunk; the header stands right before it.
    chunks: NonNull<u8>,
    /// The number of chunks, less one.
    mask: u32,
    /// The last snapshot for which this shard was captured, or after which it was made.
    pub(super) captured: u32,
    entries: PhantomData<(K, V)>,
}

impl<K, V> Clone for Shard<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for Shard<K, V> {}

// SAFETY: a shard is a table of keys and values behind a pointer; it is as shareable as they are, since every access goes
// through the directory that owns it.
unsafe impl<K: Send, V: Send> Send for Shard<K, V> {}
// SAFETY: as above; shared access only reads.
unsafe impl<K: Sync, V: Sync> Sync for Shard<K, V> {}

/// Where an entry is.
#[derive(Clone, Copy)]
pub(super) struct Place {
    chunk: usize,
    lane: usize,
}

impl<K, V> Shard<K, V> {
    const ALIGN: usize = if align_of::<(K, V)>() > LINE { align_of::<(K, V)>() } else { LINE };
    /// Bytes before the first chunk, the header being the last of them.
    const BEFORE: usize = size_of::<Header>().next_multiple_of(Self::ALIGN);
    /// Where slots start in a chunk.
    const SLOTS: usize = 8usize.next_multiple_of(align_of::<(K, V)>());
    /// Bytes of a chunk: whole cache lines where that wastes little.
    const STRIDE: usize = {
        let least = Self::SLOTS + LANES * size_of::<(K, V)>();
        let aligned = least.next_multiple_of(if align_of::<(K, V)>() > 8 { align_of::<(K, V)>() } else { 8 });
        let lines = least.next_multiple_of(LINE);
        if lines.is_multiple_of(align_of::<(K, V)>()) && lines - aligned <= aligned / 8 {
            lines
        } else {
            aligned
        }
    };
    /// How many chunks a shard has before it is split.
    pub(super) const CHUNKS_MAX: usize = {
        let fit = SHARD_BYTES_MAX / Self::STRIDE;
        if fit < 2 { 1 } else { 1 << fit.ilog2() }
    };

    /// How many cache lines of a chunk are fetched ahead: all, but for large entries.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    const FETCH: usize = {
        let lines = Self::STRIDE.div_ceil(LINE);
        if lines < 4 { lines } else { 4 }
    };

    fn layout(chunks: usize) -> Layout {
        let bytes = chunks.checked_mul(Self::STRIDE).and_then(|bytes| bytes.checked_add(Self::BEFORE));
        bytes
            .and_then(|bytes| Layout::from_size_align(bytes, Self::ALIGN).ok())
            .expect("a shard is smaller than the address space")
    }

    /// A shard without an allocation, which nothing can be inserted into.
    pub(super) fn vacant(captured: u32) -> Self {
        let vacant = NonNull::from(&VACANT).cast::<u8>();
        // SAFETY: the chunk of a `Vacant` stands one header after its start.
        let chunks = unsafe { vacant.add(size_of::<Header>()) };
        Shard { chunks, mask: 0, captured, entries: PhantomData }
    }

    /// An empty shard of so many chunks (a power of two).
    pub(super) fn allocate(chunks: usize, depth: u32, captured: u32) -> Self {
        debug_assert!(chunks.is_power_of_two());
        let mask = u32::try_from(chunks - 1).expect("a shard has fewer than 2^32 chunks");
        let layout = Self::layout(chunks);
        // SAFETY: the layout is not empty, as it has a header.
        let start = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        // SAFETY: the allocation has `BEFORE` bytes and then so many chunks, and `ALIGN` is at least the header's alignment.
        unsafe {
            let shard = Shard { chunks: start.add(Self::BEFORE), mask, captured, entries: PhantomData };
            shard.header().write(Header { len: 0, room: Self::len_max(chunks), depth, heap: 0 });
            for chunk in 0..chunks {
                shard.chunk(chunk).cast::<u64>().write(0);
            }
            shard
        }
    }

    /// Four fifths of the slots: one chunk in five or so overflows then.
    fn len_max(chunks: usize) -> u32 {
        if chunks == 1 { LANES as u32 } else { (chunks * LANES * 4 / 5) as u32 }
    }

    #[inline(always)]
    pub(super) fn is_vacant(self) -> bool {
        ptr::eq(self.chunks.as_ptr(), Self::vacant(0).chunks.as_ptr())
    }

    #[inline(always)]
    pub(super) fn chunks(self) -> usize {
        self.mask as usize + 1
    }

    /// The memory it takes, without what its keys and values hold.
    pub(super) fn bytes(self) -> usize {
        if self.is_vacant() { 0 } else { Self::BEFORE + self.chunks() * Self::STRIDE }
    }

    #[inline(always)]
    fn header(self) -> *mut Header {
        // The header stands right before the chunks, in the same allocation.
        self.chunks.as_ptr().wrapping_sub(size_of::<Header>()).cast()
    }

    /// # Safety
    /// `chunk` is below the number of chunks.
    #[inline(always)]
    unsafe fn chunk(self, chunk: usize) -> *mut u8 {
        // SAFETY: within the allocation, by the contract.
        unsafe { self.chunks.as_ptr().add(chunk * Self::STRIDE) }
    }

    /// # Safety
    /// `chunk` is below the number of chunks.
    #[inline(always)]
    unsafe fn tags(self, chunk: usize) -> u64 {
        // SAFETY: each chunk starts with its eight tag bytes, aligned to eight and written when the shard was made.
        u64::from_le(unsafe { self.chunk(chunk).cast::<u64>().read() })
    }

    /// # Safety
    /// The place is within the shard.
    #[inline(always)]
    unsafe fn slot(self, place: Place) -> NonNull<(K, V)> {
        // SAFETY: within the allocation, by the contract, and so not null.
        unsafe {
            NonNull::new_unchecked(
                self.chunk(place.chunk).add(Self::SLOTS + place.lane * size_of::<(K, V)>()).cast(),
            )
        }
    }

    /// How many entries there are.
    ///
    /// # Safety
    /// The shard's invariant.
    #[inline(always)]
    pub(super) unsafe fn len(self) -> usize {
        // SAFETY: the header is there, by the invariant.
        unsafe { (*self.header()).len as usize }
    }

    /// # Safety
    /// The shard's invariant.
    #[inline(always)]
    pub(super) unsafe fn has_room(self) -> bool {
        // SAFETY: the header is there, by the invariant.
        unsafe { (*self.header()).room > 0 }
    }

    /// How many chunks would do, if far fewer than there are.
    ///
    /// # Safety
    /// The shard's invariant.
    pub(super) unsafe fn fewer_chunks(self) -> Option<usize> {
        // SAFETY: by the contract.
        let len = unsafe { self.len() };
        let mut chunks = self.chunks();
        while chunks > 1 && len * 8 < chunks * LANES {
            chunks /= 2;
        }
        (chunks < self.chunks()).then_some(chunks)
    }

    /// How many bits of the hash its keys share; no meaning for a vacant one.
    ///
    /// # Safety
    /// The shard's invariant.
    pub(super) unsafe fn depth(self) -> u32 {
        // SAFETY: the header is there, by the invariant.
        unsafe { (*self.header()).depth }
    }

    /// What keys and values hold beyond their own size, as far as known.
    ///
    /// # Safety
    /// The shard's invariant.
    pub(super) unsafe fn heap(self) -> usize {
        // SAFETY: the header is there, by the invariant.
        unsafe { (*self.header()).heap }
    }

    /// # Safety
    /// The shard's invariant, and it is not vacant.
    pub(super) unsafe fn set_heap(self, heap: usize) {
        // SAFETY: the header is there and may be written, as the shard is not the static one.
        unsafe { (*self.header()).heap = heap }
    }

    #[inline(always)]
    fn home(self, hash: u64) -> usize {
        hash as usize & self.mask as usize
    }

    /// Asks the processor to fetch the home chunk of the hash.
    #[inline(always)]
    pub(super) fn prefetch(self, hash: u64) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: the home chunk and its lines are within the allocation; a prefetch reads nothing.
            unsafe {
                let chunk = self.chunk(self.home(hash));
                for line in 0..Self::FETCH {
                    _mm_prefetch::<_MM_HINT_T0>(chunk.add(line * LINE).cast());
                }
            }
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _ = hash;
    }

    /// Where the entry is whose key has this hash and for which `is_key` holds.
    ///
    /// # Safety
    /// The shard's invariant.
    #[inline(always)]
    pub(super) unsafe fn find(self, hash: u64, mut is_key: impl FnMut(&K) -> bool) -> Option<Place> {
        let wanted = LOW.wrapping_mul(u64::from(tag(hash)));
        let mut chunk = self.home(hash);
        for _ in 0..=self.mask {
            // SAFETY: `chunk` is masked, and an occupied slot has a key and value.
            unsafe {
                let tags = self.tags(chunk);
                let differing = tags ^ wanted;
                // A zero byte gets its high bit set; bytes above one may too, and are told apart by their keys.
                let mut hits = differing.wrapping_sub(LOW) & !differing & tags & HIGH;
                while hits != 0 {
                    let place = Place { chunk, lane: hits.trailing_zeros() as usize / 8 };
                    if is_key(&self.slot(place).as_ref().0) {
                        return Some(place);
                    }
                    hits &= hits - 1;
                }
                if tags >> (8 * OVERFLOW) == 0 {
                    return None;
                }
            }
            chunk = (chunk + 1) & self.mask as usize;
        }
        None
    }

    /// The entry at a place.
    ///
    /// # Safety
    /// The shard's invariant, and the place is of an entry that was found and not removed since.
    #[inline(always)]
    pub(super) unsafe fn entry(self, place: Place) -> NonNull<(K, V)> {
        // SAFETY: the place was found in this shard.
        unsafe { self.slot(place) }
    }

    /// Inserts an entry whose key is not there; `heap` is what it holds beyond its own size.
    ///
    /// # Safety
    /// The shard's invariant, there is room, and `hash` is the key's.
    #[inline]
    pub(super) unsafe fn insert(self, hash: u64, entry: (K, V), heap: usize) -> NonNull<(K, V)> {
        let mut chunk = self.home(hash);
        // SAFETY: `chunk` is masked. The loop ends, for with room left not all slots are taken. The header may be written, as a
        // vacant shard has no room.
        unsafe {
            debug_assert!(self.has_room());
            loop {
                let free = !self.tags(chunk) & HIGH;
                if free != 0 {
                    let place = Place { chunk, lane: free.trailing_zeros() as usize / 8 };
                    let slot = self.slot(place);
                    slot.write(entry);
                    self.chunk(chunk).add(place.lane).write(tag(hash));
                    let header = &mut *self.header();
                    header.len += 1;
                    header.room -= 1;
                    header.heap += heap;
                    return slot;
                }
                let overflow = self.chunk(chunk).add(OVERFLOW);
                overflow.write(overflow.read().saturating_add(1));
                chunk = (chunk + 1) & self.mask as usize;
            }
        }
    }

    /// Moves an entry out and frees its slot.
    ///
    /// # Safety
    /// The shard's invariant, the place is of an entry, and `hash` is its key's.
    pub(super) unsafe fn remove(self, hash: u64, place: Place) -> (K, V) {
        // SAFETY: the entry is there, and its slot counts as free from here on, so it is moved out once.
        unsafe {
            let entry = self.hide(place);
            self.vacate(hash, place);
            entry
        }
    }

    /// Lets `f` change the value of an entry or take it away; says whether the entry is gone. Where `f` panics, it is gone.
    ///
    /// # Safety
    /// The shard's invariant, the place is of an entry, and `hash` is its key's.
    pub(super) unsafe fn update<R>(
        self,
        hash: u64,
        place: Place,
        f: impl FnOnce(&mut Option<V>) -> R,
    ) -> (R, bool) {
        // SAFETY: the entry is moved out and its slot counts as free while `f` runs, so that it is dropped once also where
        // `f` panics; the passed overflow counts are then too high by one, which only makes searches longer.
        unsafe {
            let (key, value) = self.hide(place);
            let mut value = Some(value);
            let result = f(&mut value);
            let gone = value.is_none();
            match value {
                Some(value) => {
                    self.slot(place).write((key, value));
                    self.chunk(place.chunk).add(place.lane).write(tag(hash));
                    (*self.header()).len += 1;
                }
                None => self.vacate(hash, place),
            }
            (result, gone)
        }
    }

    /// Moves an entry out, leaving its slot marked free but still counted against the room.
    ///
    /// # Safety
    /// The shard's invariant, and the place is of an entry.
    #[inline(always)]
    unsafe fn hide(self, place: Place) -> (K, V) {
        // SAFETY: the entry is initialized, and the tag that says so is cleared.
        unsafe {
            self.chunk(place.chunk).add(place.lane).write(0);
            (*self.header()).len -= 1;
            self.slot(place).read()
        }
    }

    /// Gives back the room and the overflow counts of an entry that was hidden.
    ///
    /// # Safety
    /// The shard's invariant, `place` was hidden, and `hash` is what it was inserted under.
    unsafe fn vacate(self, hash: u64, place: Place) {
        let mut chunk = self.home(hash);
        // SAFETY: `chunk` is masked and comes to the entry's, which lies ahead of its home. The header may be written, for a vacant
        // shard has no entries.
        unsafe {
            (*self.header()).room += 1;
            while chunk != place.chunk {
                let overflow = self.chunk(chunk).add(OVERFLOW);
                let count = overflow.read();
                if count != SATURATED {
                    overflow.write(count - 1);
                }
                chunk = (chunk + 1) & self.mask as usize;
            }
        }
    }

    /// The places of all entries. Those that are removed on the way are not visited.
    ///
    /// # Safety
    /// The shard's invariant, as long as the iterator is used.
    #[inline]
    pub(super) unsafe fn places(self) -> Places<K, V> {
        // SAFETY: each shard, the vacant one too, has a chunk 0.
        let pending = unsafe { self.tags(0) } & HIGH;
        Places { shard: self, chunk: 0, pending }
    }

    /// Moves the entries, whose hashes are given in the order of [`places`](Shard::places), to where `to` says, and frees
    /// the shard. Runs no code of keys and values.
    ///
    /// # Safety
    /// The shard's invariant, it is not vacant and not used afterwards. The shards that `to` gives have room.
    pub(super) unsafe fn move_into(self, hashes: &[u64], mut to: impl FnMut(u64) -> Shard<K, V>) {
        // SAFETY: each entry is moved out once, and the allocation is freed without dropping them.
        unsafe {
            debug_assert_eq!(hashes.len(), self.len());
            for (place, &hash) in self.places().zip(hashes) {
                to(hash).insert(hash, self.slot(place).read(), 0);
            }
            self.free();
        }
    }

    /// Drops all entries and frees the shard, if it is allocated.
    ///
    /// # Safety
    /// The shard's invariant, and it is not used afterwards.
    pub(super) unsafe fn release(self) {
        if self.is_vacant() {
            return;
        }
        // SAFETY: entries are dropped once. Where a drop panics, the rest leaks.
        unsafe {
            if mem::needs_drop::<(K, V)>() {
                for place in self.places() {
                    self.slot(place).drop_in_place();
                }
            }
            self.free();
        }
    }

    /// Frees the allocation and leaves entries undropped.
    ///
    /// # Safety
    /// The shard is allocated and not used afterwards.
    pub(super) unsafe fn free(self) {
        // SAFETY: allocated with this layout, `BEFORE` bytes before the chunks.
        unsafe { dealloc(self.chunks.as_ptr().sub(Self::BEFORE), Self::layout(self.chunks())) }
    }

    /// Moves one entry out, from the chunk `from` on, which becomes the one it was in.
    ///
    /// # Safety
    /// The shard's invariant, and it is not vacant. Nothing is inserted or looked up any more.
    pub(super) unsafe fn take_any(self, from: &mut usize) -> Option<(K, V)> {
        while *from < self.chunks() {
            // SAFETY: `from` is below the number of chunks, and the slot is occupied.
            unsafe {
                let taken = self.tags(*from) & HIGH;
                if taken != 0 {
                    return Some(
                        self.hide(Place { chunk: *from, lane: taken.trailing_zeros() as usize / 8 }),
                    );
                }
            }
            *from += 1;
        }
        None
    }
}

/// The tag of a taken slot.
#[inline(always)]
fn tag(hash: u64) -> u8 {
    // Neither the bits that name the shard nor, mostly, those that name the chunk.
    (hash >> 24) as u8 | 0x80
}

/// The places of a shard's entries.
pub(super) struct Places<K, V> {
    shard: Shard<K, V>,
    chunk: usize,
    pending: u64,
}

impl<K, V> Iterator for Places<K, V> {
    type Item = Place;

    #[inline]
    fn next(&mut self) -> Option<Place> {
        while self.pending == 0 {
            self.chunk += 1;
            if self.chunk >= self.shard.chunks() {
                self.chunk = self.shard.chunks();
                return None;
            }
            // SAFETY: below the number of chunks; the maker of the iterator vouches for the shard.
            self.pending = unsafe { self.shard.tags(self.chunk) } & HIGH;
        }
        let place = Place { chunk: self.chunk, lane: self.pending.trailing_zeros() as usize / 8 };
        self.pending &= self.pending - 1;
        Some(place)
    }
}

//! What is kept of a group.

use crate::row::RowBytes;
use arrow::array::{BinaryArray, BinaryBuilder};
use flugs_batch::data::{DecodeError, Nesting, Reader, Schema};
use flugs_batch::{ChangeBatch, Data};
use flugs_derive::Data;
use flugs_types::{Error, Result, prefetch};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// So many words need no allocation.
const INLINE_MAX: usize = 3;

/// The accumulators of one group: a value of keyed state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AggState {
    words: Words,
    varying: Option<Box<Varyings>>,
}

#[derive(Debug, Clone, PartialEq)]
enum Words {
    Inline { len: u8, words: [u64; INLINE_MAX] },
    Heap(Box<[u64]>),
}

impl Default for Words {
    fn default() -> Self {
        Words::Inline { len: 0, words: [0; INLINE_MAX] }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Varyings(Vec<Varying>);

/// An accumulator that has no fixed size. Rows are encoded by the codec of their aggregate.
#[derive(Debug, Clone, Default, PartialEq, Data)]
#[data(crate = "flugs_batch")]
pub(super) enum Varying {
    /// No row yet.
    #[default]
    Empty,
    /// One row.
    Row(RowBytes),
    /// Rows in order of arrival, each with a length of four bytes, little-endian, before it.
    Log(Vec<u8>),
    /// How often each row is there; never 0.
    Counts(BTreeMap<RowBytes, i64>),
    /// Rows by their place in the order: sort key and number of arrival.
    Ordered {
        /// The rows.
        rows: BTreeMap<RowBytes, RowBytes>,
        /// The number of the next one.
        next: u64,
        /// Where equal rows stand.
        places: Index,
    },
    /// Texts that were put together, in order of arrival.
    Text(String),
}

/// The places of each row among many, in order: so that a row that is taken back need not be searched for. It is made when it is first
/// needed, and never stored.
#[derive(Debug, Clone, Default)]
pub(super) struct Index(pub(super) Option<BTreeMap<RowBytes, BTreeSet<RowBytes>>>);

/// It says nothing that the rows do not.
impl PartialEq for Index {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Data for Index {
    fn schema() -> Schema {
        Schema::Unit
    }

    fn encode(&self, _: &mut Vec<u8>) {}

    fn decode(_: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Index::default())
    }
}

impl Varying {
    /// About how many bytes it holds on the heap.
    fn bytes(&self) -> usize {
        match self {
            Varying::Empty => 0,
            Varying::Row(row) => row.heap_bytes(),
            Varying::Log(log) => log.capacity(),
            Varying::Text(text) => text.capacity(),
            // By the number of rows: to look at each would cost more than it tells.
            Varying::Counts(rows) => rows.len() * 48,
            Varying::Ordered { rows, places, .. } => rows.len() * if places.0.is_some() { 144 } else { 72 },
        }
    }
}

impl AggState {
    /// The words.
    #[inline]
    pub fn words(&self) -> &[u64] {
        match &self.words {
            Words::Inline { len, words } => &words[..usize::from(*len)],
            Words::Heap(words) => words,
        }
    }

    /// One of the words, to be changed: those that an operator [reserved](super::AggregatorOptions::reserved) are its own.
    pub fn word_mut(&mut self, at: usize) -> Option<&mut u64> {
        match &mut self.words {
            Words::Inline { len, words } => words[..usize::from(*len)].get_mut(at),
            Words::Heap(words) => words.get_mut(at),
        }
    }

    /// Puts a word in, or takes one out.
    pub(super) fn edit_words(&mut self, edit: impl FnOnce(&mut Vec<u64>)) {
        let mut words = self.words().to_vec();
        edit(&mut words);
        self.set_words(&words);
    }

    pub(super) fn of(words: &[u64], varying: Vec<Varying>) -> Self {
        let mut state = AggState::default();
        state.set_words(words);
        state.varying = (!varying.is_empty()).then(|| Box::new(Varyings(varying)));
        state
    }

    #[inline]
    fn set_words(&mut self, from: &[u64]) {
        match &mut self.words {
            Words::Heap(words) if words.len() == from.len() => words.copy_from_slice(from),
            _ if from.len() <= INLINE_MAX => {
                let mut words = [0; INLINE_MAX];
                words[..from.len()].copy_from_slice(from);
                self.words = Words::Inline { len: from.len() as u8, words };
            }
            _ => self.words = Words::Heap(from.into()),
        }
    }

    fn varying(&self) -> &[Varying] {
        self.varying.as_ref().map_or(&[], |varying| &varying.0)
    }
}

/// The words, then the accumulators of variable size, as a pair of sequences.
impl Data for AggState {
    const BYTES_MIN: usize = 8;

    fn schema() -> Schema {
        <(Vec<u64>, Vec<Varying>)>::schema()
    }

    fn describe(nesting: &mut Nesting) -> Schema {
        <(Vec<u64>, Vec<Varying>)>::describe(nesting)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let put_length = |n: usize, out: &mut Vec<u8>| {
            let n = u32::try_from(n).expect("a query has fewer than 2^32 aggregates");
            out.extend_from_slice(&n.to_le_bytes());
        };
        put_length(self.words().len(), out);
        u64::encode_slice(self.words(), out);
        put_length(self.varying().len(), out);
        Varying::encode_slice(self.varying(), out);
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (words, varying) = <(Vec<u64>, Vec<Varying>)>::decode(input)?;
        Ok(AggState::of(&words, varying))
    }

    fn heap_bytes(&self) -> usize {
        let words = match &self.words {
            Words::Inline { .. } => 0,
            Words::Heap(words) => size_of_val(&words[..]),
        };
        let varying = self.varying();
        words + size_of_val(varying) + varying.iter().map(Varying::bytes).sum::<usize>()
    }
}

/// The states of many groups side by side, while they are worked on.
#[derive(Debug, Clone, Default)]
pub struct States {
    /// How many words a group has.
    pub(super) stride: usize,
    /// How many accumulators of variable size a group has.
    pub(super) varyings: usize,
    pub(super) len: usize,
    pub(super) words: Vec<u64>,
    pub(super) varying: Vec<Varying>,
}

impl States {
    /// None, of groups with so many words and accumulators of variable size.
    pub(super) fn new(stride: usize, varyings: usize) -> Self {
        States { stride, varyings, ..States::default() }
    }

    /// How many groups.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The memory that a group takes, besides what is on the heap.
    pub fn bytes_of_group(&self) -> usize {
        self.stride * size_of::<u64>() + self.varyings * size_of::<Varying>()
    }

    /// About how many bytes these groups have on the heap.
    pub fn heap_bytes(&self, groups: impl IntoIterator<Item = u32>) -> usize {
        let of = |group: u32| &self.varying[group as usize * self.varyings..][..self.varyings];
        groups.into_iter().flat_map(of).map(Varying::bytes).sum()
    }

    /// Whether groups have anything on the heap.
    pub fn has_heap(&self) -> bool {
        self.varyings > 0
    }

    /// Asks for the memory of a group's words.
    #[inline(always)]
    pub fn prefetch(&self, group: usize) {
        if let Some(words) = self.words.get(group * self.stride) {
            prefetch(words);
        }
    }

    /// A copy of some groups; what is kept beside the words moves.
    pub fn cut(&mut self, groups: Range<usize>) -> States {
        let at = |by: usize| groups.start * by..groups.end * by;
        States {
            stride: self.stride,
            varyings: self.varyings,
            len: groups.len(),
            words: self.words[at(self.stride)].to_vec(),
            varying: self.varying[at(self.varyings)].iter_mut().map(std::mem::take).collect(),
        }
    }

    /// Removes all groups.
    pub fn clear(&mut self) {
        self.words.clear();
        self.varying.clear();
        self.len = 0;
    }

    /// Adds a new group, over no rows.
    #[inline]
    pub fn push_new(&mut self) {
        self.words.resize(self.words.len() + self.stride, 0);
        self.varying.resize(self.varying.len() + self.varyings, Varying::Empty);
        self.len += 1;
    }

    /// Adds a group, moving what is kept beside the words out of `state`; [`store`](Self::store) gives it back. A state of another
    /// layout (of another query) counts as new.
    #[inline]
    pub fn load(&mut self, state: &mut AggState) {
        if state.words().len() != self.stride || state.varying().len() != self.varyings {
            return self.push_new();
        }
        self.words.extend_from_slice(state.words());
        if let Some(varying) = &mut state.varying {
            self.varying.extend(varying.0.iter_mut().map(std::mem::take));
        }
        self.len += 1;
    }

    /// Adds a group of the same aggregates, of whose words `from` are reserved where `to` are here; the first of these are kept.
    pub(super) fn load_reserving(&mut self, state: &mut AggState, from: usize, to: usize) -> Result<()> {
        let fits = state.words().len() + to == self.stride + from && state.varying().len() == self.varyings;
        if !fits || from > to {
            return Err(Error::bug("a partial state is of other aggregates"));
        }
        let (reserved, words) = state.words().split_at(from);
        self.words.extend_from_slice(reserved);
        self.words.resize(self.words.len() + to - from, 0);
        self.words.extend_from_slice(words);
        if let Some(varying) = &mut state.varying {
            self.varying.extend(varying.0.iter_mut().map(std::mem::take));
        }
        self.len += 1;
        Ok(())
    }

    /// Counts the rows of each group in its first word.
    pub(crate) fn count_rows(&mut self, batch: &ChangeBatch, groups: &[u32]) {
        for (row, group) in groups.iter().enumerate() {
            let by = if batch.kind(row).is_addition() { 1 } else { -1i64 };
            let count = &mut self.words_mut(*group as usize)[0];
            *count = count.wrapping_add(by as u64);
        }
    }

    /// The groups as bytes; what is kept beside the words moves.
    pub(crate) fn take_bytes(&mut self) -> BinaryArray {
        self.take_bytes_where(&vec![true; self.len()])
    }

    /// The groups for which this holds as bytes.
    pub(super) fn take_bytes_where(&mut self, wanted: &[bool]) -> BinaryArray {
        let mut all = BinaryBuilder::with_capacity(self.len(), 0);
        let mut bytes = Vec::new();
        for group in (0..self.len()).filter(|group| wanted[*group]) {
            bytes.clear();
            self.take(group).encode(&mut bytes);
            all.append_value(&bytes);
        }
        all.finish()
    }

    /// Whether a group's accumulators are as over no rows.
    pub(super) fn is_new(&self, group: usize) -> bool {
        let varying = &self.varying[group * self.varyings..][..self.varyings];
        self.words(group).iter().all(|word| *word == 0) && varying.iter().all(|v| *v == Varying::Empty)
    }

    /// Makes a group a new one, over no rows.
    pub fn reset(&mut self, group: usize) {
        self.words_mut(group).fill(0);
        let at = group * self.varyings;
        self.varying[at..at + self.varyings].fill(Varying::Empty);
    }

    /// Adds a copy of a group.
    pub fn load_copy(&mut self, state: &AggState) {
        self.load(&mut state.clone());
    }

    /// Writes a group back; what is kept beside the words moves.
    #[inline]
    pub fn store(&mut self, group: usize, state: &mut AggState) {
        let (words, varying) = self.parts(group);
        state.set_words(words);
        if !varying.is_empty() {
            let to = state.varying.get_or_insert_with(|| Box::new(Varyings(Vec::new())));
            to.0.resize(varying.len(), Varying::Empty);
            to.0.iter_mut().zip(varying).for_each(|(to, from)| *to = std::mem::take(from));
        }
    }

    /// The state of a group; what is kept beside the words moves.
    pub fn take(&mut self, group: usize) -> AggState {
        let mut state = AggState::default();
        self.store(group, &mut state);
        state
    }

    fn parts(&mut self, group: usize) -> (&[u64], &mut [Varying]) {
        (
            &self.words[group * self.stride..][..self.stride],
            &mut self.varying[group * self.varyings..][..self.varyings],
        )
    }

    /// The words of a group.
    #[inline]
    pub fn words(&self, group: usize) -> &[u64] {
        &self.words[group * self.stride..][..self.stride]
    }

    /// The words of a group, to be changed: those that an operator reserved are its own.
    #[inline]
    pub fn words_mut(&mut self, group: usize) -> &mut [u64] {
        &mut self.words[group * self.stride..][..self.stride]
    }

    pub(super) fn varying(&self, group: usize, at: usize) -> &Varying {
        &self.varying[group * self.varyings + at]
    }

    pub(super) fn varying_mut(&mut self, group: usize, at: usize) -> &mut Varying {
        &mut self.varying[group * self.varyings + at]
    }
}

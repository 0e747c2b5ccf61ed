//! Strings of batches: views of the pools, whose bytes are never copied.
//!
//! The one place of this module with `unsafe`: views are not checked again in each batch, since all of them are made here.

use crate::pools::{CITIES, COLD, HOT, NAMES, Pools, STATES};
use crate::text::Span;
use arrow::array::builder::make_view;
use arrow::array::{ArrayRef, StringViewArray};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use std::sync::Arc;

/// The number of the buffer of shared bytes.
const SHARED: u32 = 0;
/// The number of the buffer of a column's own bytes.
const OWN: u32 = 1;
/// Views up to this length hold their bytes.
const INLINE_MAX: u32 = 12;

/// What the columns of all batches share.
pub(super) struct SharedTexts {
    bytes: Buffer,
    pub(super) channels: Vec<u128>,
    pub(super) urls: Vec<u128>,
    pub(super) names: Vec<u128>,
    pub(super) cities: Vec<u128>,
    pub(super) states: Vec<u128>,
}

impl SharedTexts {
    pub(super) fn new(pools: &Pools) -> Self {
        let mut bytes = pools.arena.as_bytes().to_vec();
        let view = |span: Span| make_view(span.of(&pools.arena).as_bytes(), SHARED, span.start);
        let channels = || (0..HOT + COLD).map(|i| pools.channel(i));
        let (names_of, urls_of) = (channels().map(|c| view(c.name)), channels().map(|c| view(c.url)));
        let (channels, urls) = (names_of.collect(), urls_of.collect());
        let mut append = |text: &str| {
            let start = bytes.len() as u32;
            bytes.extend_from_slice(text.as_bytes());
            make_view(text.as_bytes(), SHARED, start)
        };
        let names = (0..NAMES).map(|i| append(pools.name(i))).collect();
        let cities = CITIES.iter().map(|city| append(city)).collect();
        let states = STATES.iter().map(|state| append(state)).collect();
        SharedTexts { bytes: Buffer::from_vec(bytes), channels, urls, names, cities, states }
    }

    /// The view of a span of the pool.
    #[inline(always)]
    pub(super) fn view(&self, span: Span) -> u128 {
        let text = &self.bytes[span.start as usize..][..span.len as usize];
        match text {
            [a, b, c, d, ..] if span.len > INLINE_MAX => {
                let prefix = u32::from_le_bytes([*a, *b, *c, *d]);
                u128::from(span.len)
                    | u128::from(prefix) << 32
                    | u128::from(SHARED) << 64
                    | u128::from(span.start) << 96
            }
            _ => make_view(text, SHARED, span.start),
        }
    }
}

/// A column of strings: views of shared bytes and of its own.
pub(super) struct TextColumn {
    /// One for each row; of no length where there is none.
    pub(super) views: Vec<u128>,
    own: Vec<u8>,
}

impl TextColumn {
    pub(super) fn new(rows: usize) -> Self {
        TextColumn { views: vec![0; rows], own: Vec::new() }
    }

    /// Puts a text of its own into a row.
    pub(super) fn put(&mut self, row: usize, text: &str) {
        let start = self.own.len() as u32;
        self.views[row] = make_view(text.as_bytes(), OWN, start);
        if text.len() > INLINE_MAX as usize {
            self.own.extend_from_slice(text.as_bytes());
        }
    }

    pub(super) fn into_array(self, shared: &SharedTexts, nulls: Option<NullBuffer>) -> ArrayRef {
        let mut buffers = vec![shared.bytes.clone()];
        if !self.own.is_empty() {
            buffers.push(Buffer::from_vec(self.own));
        }
        // SAFETY: a view is zero (the empty string), or made by `SharedTexts` from a range of `shared.bytes` that is a `str` (a span
        // of the arena, which is a `str` of ASCII; or a name, city or state), or by `put` from a `str` that
        // stands in `own` from `start` on. Both are at most 4 GiB, since a batch has some thousand rows of at most 99 bytes each.
        let array = unsafe { StringViewArray::new_unchecked(ScalarBuffer::from(self.views), buffers, nulls) };
        Arc::new(array)
    }
}

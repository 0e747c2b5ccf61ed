//! Strings that are parts of other strings, without copying them.

use super::call::Column;
use super::text::{INLINE, inline};
use arrow::array::{ArrayRef, ByteView, StringViewArray};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use std::sync::Arc;

/// Builds a column of strings each of which is a part of the string in the same row of another column. Parts of more than
/// 12 bytes share the other column's buffers.
pub(crate) struct SliceBuilder<'a> {
    source: Column<'a, StringViewArray>,
    views: Vec<u128>,
    valid: Vec<bool>,
}

impl<'a> SliceBuilder<'a> {
    /// A builder for parts of `source`.
    pub(crate) fn new(source: Column<'a, StringViewArray>, rows: usize) -> Self {
        SliceBuilder { source, views: Vec::with_capacity(rows), valid: Vec::with_capacity(rows) }
    }

    /// Every row of `source` that is not NULL, cut by `part`; NULL where that gives none.
    pub(crate) fn build(
        source: Column<'a, StringViewArray>,
        rows: usize,
        mut part: impl FnMut(usize, &'a str) -> Option<&'a str>,
    ) -> ArrayRef {
        let mut built = SliceBuilder::new(source, rows);
        for row in 0..rows {
            let cut = source.get(row).and_then(|whole| part(row, whole));
            built.push(row, cut);
        }
        built.finish()
    }

    /// The next row: `part` must lie in what `source` has in row `row`.
    pub(crate) fn push(&mut self, row: usize, part: Option<&str>) {
        self.valid.push(part.is_some());
        self.views.push(part.map_or(0, |part| self.view(row, part)));
    }

    fn view(&self, row: usize, part: &str) -> u128 {
        if part.len() <= INLINE {
            return inline(part.as_bytes());
        }
        let row = self.source.at(row);
        let whole = self.source.array.value(row);
        let start = (part.as_ptr() as usize).wrapping_sub(whole.as_ptr() as usize);
        // What `finish` builds on: a part within the string, between characters.
        assert!(
            start.checked_add(part.len()).is_some_and(|end| whole.get(start..end).is_some()),
            "a slice is a part of its source"
        );
        let mut view = ByteView::from(self.source.array.views()[row]);
        view.offset += start as u32;
        view.length = part.len() as u32;
        view.prefix = u32::from_le_bytes([0, 1, 2, 3].map(|i| part.as_bytes()[i]));
        view.as_u128()
    }

    /// The column.
    pub(crate) fn finish(self) -> ArrayRef {
        let nulls = NullBuffer::from(self.valid);
        let nulls = (nulls.null_count() > 0).then_some(nulls);
        let buffers = self.source.array.data_buffers().to_vec();
        // SAFETY: `view` made every view: a short one holds the bytes of a `str` itself and zeros behind them, a long one was
        // checked to lie, between characters, within a string of `source`, whose buffers these are, and it repeats that part's
        // first four bytes; a NULL's view is the empty string's. There is one validity bit for each view.
        Arc::new(unsafe { StringViewArray::new_unchecked(ScalarBuffer::from(self.views), buffers, nulls) })
    }
}

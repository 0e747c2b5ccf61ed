//! The columns of one kind of event while they are filled.

use super::kind::{Content, Kind};
use super::texts::{SharedTexts, TextColumn};
use arrow::array::{ArrayRef, Int64Array, TimestampMillisecondArray};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use std::ops::Range;
use std::sync::Arc;

/// Consecutive events of one kind and one cycle, and where their rows are.
pub(super) struct Run {
    pub(super) kind: Kind,
    pub(super) ids: Range<u64>,
    pub(super) row: usize,
}

impl Run {
    pub(super) fn len(&self) -> usize {
        (self.ids.end - self.ids.start) as usize
    }

    pub(super) fn rows(&self) -> Range<usize> {
        self.row..self.row + self.len()
    }
}

enum Values {
    /// Not asked for.
    None,
    Longs(Vec<i64>),
    Texts(TextColumn),
}

/// A column for each field of a kind, where it is asked for: as long as the batch, with rows of other kinds at zero.
pub(super) struct Columns(Vec<Values>);

impl Columns {
    pub(super) fn new(kind: Kind, wanted: &[bool], rows: usize) -> Self {
        let values = |((_, content), wanted): (&(&str, Content), &bool)| match content {
            _ if !wanted => Values::None,
            Content::Long | Content::Time => Values::Longs(vec![0; rows]),
            Content::Text => Values::Texts(TextColumn::new(rows)),
        };
        Columns(kind.fields().iter().zip(wanted).map(values).collect())
    }

    /// Whether one of these fields is asked for.
    pub(super) fn wants(&self, fields: &[usize]) -> bool {
        fields.iter().any(|&field| !matches!(self.0[field], Values::None))
    }

    /// The values of a numeric field, if it is asked for.
    #[inline]
    pub(super) fn longs(&mut self, field: usize, rows: Range<usize>) -> Option<&mut [i64]> {
        match &mut self.0[field] {
            Values::Longs(values) => Some(&mut values[rows]),
            _ => None,
        }
    }

    /// The views of a text field, if it is asked for.
    #[inline]
    pub(super) fn views(&mut self, field: usize, rows: Range<usize>) -> Option<&mut [u128]> {
        match &mut self.0[field] {
            Values::Texts(texts) => Some(&mut texts.views[rows]),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn put_long(&mut self, field: usize, row: usize, value: impl FnOnce() -> i64) {
        if let Values::Longs(values) = &mut self.0[field] {
            values[row] = value();
        }
    }

    #[inline]
    pub(super) fn put_view(&mut self, field: usize, row: usize, view: impl FnOnce() -> u128) {
        if let Values::Texts(texts) = &mut self.0[field] {
            texts.views[row] = view();
        }
    }

    #[inline]
    pub(super) fn put_text(&mut self, field: usize, row: usize, text: &str) {
        if let Values::Texts(texts) = &mut self.0[field] {
            texts.put(row, text);
        }
    }

    /// The finished columns; none where nobody asked.
    pub(super) fn finish(
        self,
        kind: Kind,
        shared: &SharedTexts,
        nulls: Option<&NullBuffer>,
    ) -> Vec<Option<ArrayRef>> {
        let array = |(values, (_, content)): (Values, &(&str, Content))| -> Option<ArrayRef> {
            let nulls = nulls.cloned();
            Some(match values {
                Values::None => return None,
                Values::Longs(values) if *content == Content::Time => {
                    Arc::new(TimestampMillisecondArray::new(ScalarBuffer::from(values), nulls))
                }
                Values::Longs(values) => Arc::new(Int64Array::new(ScalarBuffer::from(values), nulls)),
                Values::Texts(texts) => texts.into_array(shared, nulls),
            })
        };
        self.0.into_iter().zip(kind.fields()).map(array).collect()
    }
}

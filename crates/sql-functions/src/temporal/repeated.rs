//! Columns of strings that often repeat, each kept once.

use arrow::array::{ArrayRef, StringViewArray, make_view};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use datafusion_common::Result;
use std::sync::Arc;

/// How many strings are remembered; a power of two.
const SLOTS: usize = 256;

/// Equal keys have equal strings.
type Key = (i64, i64);

/// Builds a column of strings that are functions of a key. A string is made again only when another key has taken its place
/// among the remembered ones, and takes room in the column only when it is made.
pub(super) struct RepeatedStrings {
    slots: Vec<Option<(Key, u128)>>,
    text: String,
    buffer: Vec<u8>,
    views: Vec<u128>,
}

impl RepeatedStrings {
    pub(super) fn with_capacity(rows: usize) -> Self {
        RepeatedStrings {
            slots: vec![None; SLOTS.min(rows.next_power_of_two())],
            text: String::new(),
            buffer: Vec::new(),
            views: Vec::with_capacity(rows),
        }
    }

    /// The next row: the string of `key`, which `write` appends where it is not remembered.
    pub(super) fn push(&mut self, key: Key, write: impl FnOnce(&mut String)) -> Result<()> {
        let slot = key.0 as usize & (self.slots.len() - 1);
        let view = match self.slots[slot] {
            Some((known, view)) if known == key => view,
            _ => {
                self.text.clear();
                write(&mut self.text);
                let view = self.keep()?;
                self.slots[slot] = Some((key, view));
                view
            }
        };
        self.views.push(view);
        Ok(())
    }

    /// The next row: the string of the row before, or the empty one.
    pub(super) fn repeat(&mut self) {
        self.views.push(self.views.last().copied().unwrap_or(0));
    }

    fn keep(&mut self) -> Result<u128> {
        let start = self.buffer.len();
        let end = start.saturating_add(self.text.len());
        if end > i32::MAX as usize {
            return Err(crate::support::data_error("the texts of one batch are longer than 2 GiB"));
        }
        if self.text.len() > 12 {
            self.buffer.extend_from_slice(self.text.as_bytes());
        }
        Ok(make_view(self.text.as_bytes(), 0, start as u32))
    }

    /// The column, NULL where `nulls` says so.
    pub(super) fn finish(self, nulls: Option<NullBuffer>) -> ArrayRef {
        let buffers = if self.buffer.is_empty() { Vec::new() } else { vec![Buffer::from_vec(self.buffer)] };
        assert!(
            nulls.as_ref().is_none_or(|n| n.len() == self.views.len()),
            "there is a validity bit for each row"
        );
        // SAFETY: every view is 0, which is the empty string, or was made by `keep` of a `str`: a short one holds the bytes, a
        // long one points to where they were appended to the only buffer, within its first 2 GiB, and nothing else changes the
        // buffer. There are as many validity bits as views.
        Arc::new(unsafe { StringViewArray::new_unchecked(ScalarBuffer::from(self.views), buffers, nulls) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Array, AsArray};

    #[test]
    fn strings_are_made_once_and_repeat() {
        let mut made = 0;
        let mut column = RepeatedStrings::with_capacity(1000);
        for key in (0..500).chain(0..500) {
            let key = key % 100 - 50;
            column
                .push((key, 0), |out| {
                    made += 1;
                    out.push_str(&if key % 2 == 0 {
                        format!("{key}")
                    } else {
                        format!("a longer text for {key}")
                    });
                })
                .unwrap();
        }
        column.repeat();
        assert_eq!(made, 100);
        let column = column.finish(Some(NullBuffer::from_iter((0..1001).map(|i| i != 7))));
        let column = column.as_string_view();
        assert_eq!((column.value(0), column.value(1)), ("-50", "a longer text for -49"));
        assert_eq!((column.value(1000), column.is_null(7)), ("a longer text for 49", true));
        assert!(column.to_data().validate_full().is_ok());
    }
}

//! Records that a source could not read, as rows.

use arrow::array::{ArrayRef, BinaryArray, RecordBatch, StringViewArray};
use arrow::datatypes::SchemaRef;
use flugs_batch::{ChangeBatch, Records};
use flugs_task::{DeadLetter, Operator, Output, Progress};
use flugs_types::{Error, Result};
use std::sync::Arc;

/// Sources keep no more of a record than this ([`DeadLetter::raw`]).
const RAW_BYTES_MAX: usize = 64 << 10;

/// Stands behind the dead letters of a source and makes rows of them: the record as `BYTES`, what was wrong, where it stands, the
/// table that was read, and the record as `STRING`, which is NULL where it is not UTF-8.
pub struct MalformedRows {
    table: Arc<str>,
    schema: SchemaRef,
}

impl MalformedRows {
    /// Rows of the columns above, under the names of `schema`.
    pub fn new(table: Arc<str>, schema: SchemaRef) -> Self {
        MalformedRows { table, schema }
    }

    fn rows(&self, letters: &[DeadLetter]) -> Result<RecordBatch> {
        let records: BinaryArray = letters.iter().map(|letter| Some(letter.raw.as_slice())).collect();
        let errors: StringViewArray = letters.iter().map(|letter| Some(letter.error.as_str())).collect();
        let places: StringViewArray = letters.iter().map(|letter| Some(place(letter))).collect();
        let tables: StringViewArray = letters.iter().map(|_| Some(self.table.as_ref())).collect();
        let texts: StringViewArray = letters.iter().map(|letter| text(&letter.raw)).collect();
        let columns: Vec<ArrayRef> =
            vec![Arc::new(records), Arc::new(errors), Arc::new(places), Arc::new(tables), Arc::new(texts)];
        RecordBatch::try_new(self.schema.clone(), columns)
            .map_err(|e| Error::bug("malformed records do not fit their columns").caused_by(e))
    }
}

impl Operator for MalformedRows {
    type In = Records<DeadLetter>;
    type Out = ChangeBatch;

    fn process(&mut self, letters: Records<DeadLetter>, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if !letters.values.is_empty() {
            let _ = out.push(ChangeBatch::inserts(self.rows(&letters.values)?))?;
        }
        Ok(Progress::Done)
    }
}

fn place(letter: &DeadLetter) -> String {
    format!("{}, {}", letter.split, letter.position)
}

/// The record as text. Where it was cut, it may end within a character, which is left out.
fn text(raw: &[u8]) -> Option<&str> {
    match std::str::from_utf8(raw) {
        Ok(text) => Some(text),
        Err(e) if e.error_len().is_none() && raw.len() >= RAW_BYTES_MAX => {
            std::str::from_utf8(&raw[..e.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_utf_8_or_nothing() {
        assert_eq!(text("é{".as_bytes()), Some("é{"));
        assert_eq!(text(b"a\xff"), None);
        assert_eq!(text(b"a\xc3"), None);
        let mut cut = vec![b'x'; RAW_BYTES_MAX];
        cut[RAW_BYTES_MAX - 1] = 0xc3;
        assert_eq!(text(&cut).map(str::len), Some(RAW_BYTES_MAX - 1));
    }
}

//! Some records in memory, in order.

use crate::bounded::spill::Record;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Rows {
    bytes: Vec<u8>,
    /// Where keys and values end.
    ends: Vec<(usize, usize)>,
}

impl Rows {
    pub(super) fn push(&mut self, record: Record<'_>) {
        self.bytes.extend_from_slice(record.key);
        let key = self.bytes.len();
        self.bytes.extend_from_slice(record.value);
        self.ends.push((key, self.bytes.len()));
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The memory that they take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<(usize, usize)>()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(_, end)| *end));
        starts.zip(&self.ends).map(|(start, (key, end))| Record {
            key: &self.bytes[start..*key],
            value: &self.bytes[*key..*end],
        })
    }
}

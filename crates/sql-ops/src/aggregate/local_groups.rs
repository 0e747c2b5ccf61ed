//! Which rows of a batch belong together.

use crate::row::{EncodedRows, same_bytes};

/// Groups of a batch's rows by their bytes, in order of first touch. Memory is used again from batch to batch.
#[derive(Debug, Default)]
pub struct LocalGroups {
    /// The group of each row.
    of_row: Vec<u32>,
    /// The first row of each group.
    first: Vec<u32>,
    /// Open addressing: one more than the number of a group, 0 where there is none.
    table: Vec<u32>,
}

impl LocalGroups {
    /// Groups these rows.
    pub fn assign(&mut self, rows: &EncodedRows) {
        self.of_row.clear();
        self.first.clear();
        if rows.is_empty() {
            return;
        }
        let slots = (rows.len() * 2).next_power_of_two();
        self.table.clear();
        self.table.resize(slots, 0);
        let (mask, hashes) = (slots - 1, rows.hashes());
        self.of_row.reserve(rows.len());
        for (row, hash) in hashes.iter().enumerate() {
            let mut at = *hash as usize & mask;
            let group = loop {
                match self.table[at] {
                    0 => {
                        self.first.push(row as u32);
                        self.table[at] = self.first.len() as u32;
                        break self.first.len() as u32 - 1;
                    }
                    found => {
                        let first = self.first[found as usize - 1] as usize;
                        if hashes[first] == *hash && same_bytes(rows.row(first), rows.row(row)) {
                            break found - 1;
                        }
                        at = (at + 1) & mask;
                    }
                }
            };
            self.of_row.push(group);
        }
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.first.len()
    }

    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The group of each row.
    pub fn of_rows(&self) -> &[u32] {
        &self.of_row
    }

    /// The first row of each group.
    pub fn first_rows(&self) -> &[u32] {
        &self.first
    }
}

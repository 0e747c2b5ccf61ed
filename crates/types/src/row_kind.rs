//! The kind of a change.

use std::fmt;

/// What a row does to the table that a changelog describes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum RowKind {
    /// `+I`: a new row.
    #[default]
    Insert = 0,
    /// `-U`: takes back the former version of an updated row.
    UpdateBefore = 1,
    /// `+U`: the new version of an updated row.
    UpdateAfter = 2,
    /// `-D`: takes back a row.
    Delete = 3,
}

impl RowKind {
    /// Whether the row is added (`+I`, `+U`) rather than taken back.
    pub fn is_addition(self) -> bool {
        matches!(self, RowKind::Insert | RowKind::UpdateAfter)
    }
}

impl fmt::Display for RowKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RowKind::Insert => "+I",
            RowKind::UpdateBefore => "-U",
            RowKind::UpdateAfter => "+U",
            RowKind::Delete => "-D",
        })
    }
}

//! Formats of SQL tables: records to columns and back.

mod parse;
mod row_text;
pub mod text;

pub use row_text::RowText;

//! Formats of SQL tables: records to columns and back, one table of options each in the pages of [`csv`], [`json`], [`debezium`]
//! and [`raw`].
//!
//! Decoders build the columns and fields that are asked for and pass over the rest. A record that fails is taken back
//! whole and reported with the field, the place, and what was expected; the others of its chunk come.

mod build;
pub mod csv;
pub mod debezium;
pub mod json;
mod parse;
pub mod raw;
mod row_text;
mod scan;
#[cfg(test)]
mod testing;
pub mod text;
mod view;

pub use build::parse_value;
pub use csv::CsvFormat;
pub use debezium::DebeziumFormat;
pub use json::JsonFormat;
pub use raw::RawFormat;
pub use row_text::RowText;

use flugs_table::Registry;

/// Adds all formats of this crate.
pub fn register(registry: &mut Registry) {
    registry.add_format(CsvFormat).add_format(JsonFormat).add_format(DebeziumFormat).add_format(RawFormat);
}

//! The types of SQL, as Flink has them, and how they stand in Arrow columns.
//!
//! [`SqlType`] is a logical type with its nullability; it displays as Flink writes it (`ROW<`id` BIGINT NOT NULL>`).
//! [`LogicalType::to_arrow`] gives the column type, [`to_field`] a field that also remembers what Arrow cannot say (the length
//! of a `VARCHAR`, the precision of a `TIMESTAMP`, that a map is a multiset) in its metadata, and [`from_field`] reads both back.
//! [`Cell`] and [`SqlRow`] say which Rust types are columns and rows.

mod aggregate;
mod arrow_map;
mod cell;
mod display;
mod row;
mod schema;
mod sql_type;
mod user_aggregate;

pub use aggregate::{AggregateKind, Fraction, WindowKind};
pub use arrow_map::{LTZ, TYPE_KEY, from_arrow, from_field, to_field, to_schema};
pub use cell::Cell;
pub use row::{RowColumns, SqlRow};
pub use schema::{Column, TableSchema, TimeKind};
pub use sql_type::{LogicalType, MAX_LENGTH, RowField, SqlType};
pub use user_aggregate::{AggregatedRow, UserAggregate, UserFunction};

/// What the code of `#[derive(SqlRow)]` names.
#[doc(hidden)]
pub mod derived {
    pub use crate::cell::Cell;
    pub use crate::row::{RowColumns, SqlRow, next_value, row_column, row_field, row_type, row_values};
    pub use crate::sql_type::{RowField, SqlType};
    pub use arrow::array::ArrayRef;
    pub use flugs_types::Result;
}

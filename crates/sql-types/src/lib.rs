//! The types of SQL, as Flink has them, and how they stand in Arrow columns.
//!
//! [`SqlType`] is a logical type with its nullability; it displays as Flink writes it (`ROW<`id` BIGINT NOT NULL>`).
//! [`LogicalType::to_arrow`] gives the column type, [`to_field`] a field that also remembers what Arrow cannot say (the length
//! of a `VARCHAR`, the precision of a `TIMESTAMP`, that a map is a multiset) in its metadata, and [`from_field`] reads both back.

mod aggregate;
mod arrow_map;
mod display;
mod schema;
mod sql_type;

pub use aggregate::{AggregateKind, Fraction, WindowKind};
pub use arrow_map::{LTZ, TYPE_KEY, from_arrow, from_field, to_field, to_schema};
pub use schema::{Column, TableSchema, TimeKind};
pub use sql_type::{LogicalType, MAX_LENGTH, RowField, SqlType};

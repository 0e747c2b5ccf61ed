//! `UNNEST`: a collection as rows.

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, FieldRef};
use flugs_sql_functions::TableFunction;
use flugs_sql_ops::join::{TableRows, unnest};
use flugs_types::{Error, Result};
use std::sync::Arc;

/// The elements of an array, the entries of a map, or the values of a multiset, each as often as it is there.
#[derive(Debug, Clone)]
pub(crate) struct Unnest {
    pub(crate) with_ordinality: bool,
}

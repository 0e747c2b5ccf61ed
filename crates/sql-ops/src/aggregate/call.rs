//! Calls of aggregate functions, in terms of the input's columns.

use crate::row::SortOptions;
use arrow::datatypes::{Field, FieldRef};
use flugs_sql_types::{AggregateKind, from_field, to_field};
use flugs_types::{Error, Result};
use std::sync::Arc;

/// A call of an aggregate function.
#[derive(Debug, Clone)]
pub struct AggregateCall {
    /// The function.
    pub kind: AggregateKind,
    /// The input columns that are its arguments.
    pub args: Vec<usize>,
    /// Whether equal arguments count once.
    pub distinct: bool,
    /// A boolean column: rows in which it is not true are left out.
    pub filter: Option<usize>,
    /// In which order rows are aggregated, where the function cares; in order of arrival where it is empty.
    pub order_by: Vec<(usize, SortOptions)>,
    /// Name and type of the result.
    pub result: FieldRef,
    /// Its place among the calls in what is kept, so that they may change places in a query; equal ones stand in order.
    pub place: usize,
}

impl AggregateCall {
    /// A call without `DISTINCT`, `FILTER` and order, whose result has Flink's type for arguments of these columns.
    pub fn new(kind: AggregateKind, args: Vec<usize>, name: &str, input: &[FieldRef]) -> Result<Self> {
        let types = args.iter().map(|arg| from_field(field(input, *arg)?)).collect::<Result<Vec<_>>>()?;
        let result = Arc::new(to_field(name, &kind.result_type(&types)?));
        Ok(AggregateCall {
            kind,
            args,
            distinct: false,
            filter: None,
            order_by: Vec::new(),
            result,
            place: 0,
        })
    }

    /// The same over rows in which this boolean column is true.
    #[must_use]
    pub fn filtered(mut self, filter: usize) -> Self {
        self.filter = Some(filter);
        self
    }

    /// The same, with equal arguments counting once.
    #[must_use]
    pub fn distinct(mut self) -> Self {
        self.distinct = true;
        self
    }

    /// The same over rows in this order.
    #[must_use]
    pub fn ordered_by(mut self, order_by: Vec<(usize, SortOptions)>) -> Self {
        self.order_by = order_by;
        self
    }
}

pub(super) fn field(input: &[FieldRef], column: usize) -> Result<&Field> {
    let field = input.get(column).map(AsRef::as_ref);
    field.ok_or_else(|| Error::bug(format!("an aggregate uses column {column} of {}", input.len())))
}

//! What an aggregate function of the program is to the operators: accumulators as bytes, rows as columns.

use crate::sql_type::SqlType;
use arrow::array::ArrayRef;
use flugs_types::Result;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A row for an accumulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AggregatedRow {
    /// Its number in the columns.
    pub row: usize,
    /// The number of its accumulator.
    pub accumulator: usize,
    /// Whether it is taken back.
    pub retracted: bool,
}

/// An aggregate function whose accumulators are bytes: what is stored of a group. An accumulator without rows has none.
pub trait UserAggregate: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// The types of its arguments.
    fn arguments(&self) -> Vec<SqlType>;

    /// The type of its value.
    fn result(&self) -> SqlType;

    /// What an accumulator's bytes mean, as text: accumulators of another layout are not read.
    fn layout(&self) -> String;

    /// Whether rows can be taken back.
    fn retracts(&self) -> bool;

    /// Whether accumulators can be merged.
    fn merges(&self) -> bool;

    /// Lets accumulators take rows, in their order. `columns` are the arguments.
    fn accumulate(
        &self,
        accumulators: &mut [Vec<u8>],
        columns: &[ArrayRef],
        rows: &[AggregatedRow],
    ) -> Result<()>;

    /// Adds to an accumulator what another has, whose rows came later.
    fn merge(&self, accumulator: &mut Vec<u8>, other: &[u8]) -> Result<()>;

    /// The values of accumulators.
    fn values(&self, accumulators: &mut dyn Iterator<Item = &[u8]>) -> Result<ArrayRef>;
}

/// A [`UserAggregate`] that can be compared: equal ones have a name, types and a layout in common.
#[derive(Clone)]
pub struct UserFunction(Arc<dyn UserAggregate>);

impl UserFunction {
    /// This function.
    pub fn new(function: Arc<dyn UserAggregate>) -> Self {
        UserFunction(function)
    }

    /// The function.
    pub fn get(&self) -> &dyn UserAggregate {
        self.0.as_ref()
    }

    fn meaning(&self) -> String {
        let types: Vec<String> = self.0.arguments().iter().map(SqlType::to_string).collect();
        format!("{}({}) {} {}", self.0.name(), types.join(", "), self.0.result(), self.0.layout())
    }
}

/// In words that say all that matters to what is stored.
impl fmt::Debug for UserFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.meaning())
    }
}

impl PartialEq for UserFunction {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.meaning() == other.meaning()
    }
}

impl Eq for UserFunction {}

impl Hash for UserFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name().hash(state);
    }
}

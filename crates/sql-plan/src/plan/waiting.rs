//! Calls of functions that wait.

use crate::plan::CallDigest;
use arrow::datatypes::FieldRef;
use flugs_sql_functions::table::AsyncScalar;
use std::sync::Arc;

/// A function that waits, by its name and types.
#[derive(Clone)]
pub struct WaitingFunction(Arc<dyn AsyncScalar>);

impl WaitingFunction {
    /// This function.
    pub fn new(function: Arc<dyn AsyncScalar>) -> Self {
        WaitingFunction(function)
    }

    /// The function.
    pub fn get(&self) -> &Arc<dyn AsyncScalar> {
        &self.0
    }
}

/// A call of a function that waits.
#[derive(Clone)]
pub struct AsyncCall {
    /// The function.
    pub function: WaitingFunction,
    /// Its arguments.
    pub args: Vec<usize>,
    /// The result.
    pub field: FieldRef,
}

impl CallDigest for AsyncCall {
    fn digest(&self) -> String {
        format!("{}({:?})", self.function.get().name(), self.args)
    }
}

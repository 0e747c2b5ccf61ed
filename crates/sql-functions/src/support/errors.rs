//! Errors of functions, as DataFusion carries them.

use datafusion_common::DataFusionError;
use flugs_types::Error;

/// A call that cannot be planned: wrong arguments.
pub(crate) fn planning_error(message: impl Into<String>) -> DataFusionError {
    DataFusionError::Plan(message.into())
}

/// A value that a function cannot work on.
pub(crate) fn data_error(message: impl Into<String>) -> DataFusionError {
    to_datafusion(Error::data(message))
}

/// One of our errors on its way through DataFusion; whoever runs the expression finds it again by downcasting.
pub(crate) fn to_datafusion(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

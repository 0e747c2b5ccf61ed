//! Errors of expressions.

use datafusion_common::DataFusionError;
use datafusion_physical_expr::PhysicalExpr;
use flugs_types::Error;
use std::sync::Arc;

/// The error of an expression that failed on the rows it was given.
pub fn data_error(expr: &Arc<dyn PhysicalExpr>, error: DataFusionError) -> Error {
    Error::data(format!("{expr}: {}", error.strip_backtrace()))
        .mend("guard the expression (NULLIF, CASE, TRY_CAST), or filter such rows out before it")
}

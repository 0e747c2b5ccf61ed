//! Expressions over rows, and in SQL's words what went wrong where one fails.
//!
//! An expression fails as a whole, with an error of the library that computed it. Only then is it looked at more closely: the first row
//! that it fails for is found, and the innermost part of it that does.

mod literal;
mod words;

pub use literal::literal;
pub use words::operator_named;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use datafusion_common::{DataFusionError, Result as Evaluated};
use datafusion_expr::Operator;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{CaseExpr, Column, Literal};
use datafusion_physical_expr::utils::collect_columns;
use flugs_sql_types::from_arrow;
use flugs_types::{Error, Result};
use literal::cell;
use std::sync::Arc;
use words::{in_words, operator_of, shortened};

/// How many columns of a row an error shows.
const COLUMNS_SHOWN: usize = 4;
const INSTEAD: &str = "filter such rows out, or guard the expression by CASE";

/// The values of an expression for these rows.
///
/// # Errors
/// Of kind `Data`, or of that which a function gave: it names the part of the expression that failed, and the values it was given.
pub fn evaluate(expr: &Arc<dyn PhysicalExpr>, rows: &RecordBatch) -> Result<ArrayRef> {
    values(expr, rows).map_err(|error| failure(expr, rows, error))
}

fn values(expr: &Arc<dyn PhysicalExpr>, rows: &RecordBatch) -> Evaluated<ArrayRef> {
    expr.evaluate(rows).and_then(|value| value.into_array(rows.num_rows()))
}

fn failure(expr: &Arc<dyn PhysicalExpr>, rows: &RecordBatch, error: DataFusionError) -> Error {
    let (row, error) = first_failing(expr, rows.clone(), error);
    let (culprit, error) = match row.num_rows() {
        1 => innermost(expr, &row, error),
        _ => (expr.clone(), error),
    };
    described(&culprit, &row, &error)
}

/// The first row that the expression fails for. All of them where no half of them fails alone.
fn first_failing(
    expr: &Arc<dyn PhysicalExpr>,
    mut rows: RecordBatch,
    mut error: DataFusionError,
) -> (RecordBatch, DataFusionError) {
    while rows.num_rows() > 1 {
        let half = rows.num_rows() / 2;
        let halves = [rows.slice(0, half), rows.slice(half, rows.num_rows() - half)];
        let failed = halves.into_iter().find_map(|half| Some((values(expr, &half).err()?, half)));
        let Some((in_half, half)) = failed else { break };
        (rows, error) = (half, in_half);
    }
    (rows, error)
}

/// The innermost part of the expression that fails for a row. What is not looked at for the row is no part of it.
fn innermost(
    expr: &Arc<dyn PhysicalExpr>,
    row: &RecordBatch,
    error: DataFusionError,
) -> (Arc<dyn PhysicalExpr>, DataFusionError) {
    let failing = |part: &Arc<dyn PhysicalExpr>| Some((part.clone(), values(part, row).err()?));
    let part = match expr.downcast_ref::<CaseExpr>() {
        Some(case) => case_part(case, row).as_ref().and_then(failing),
        // Parts are computed in order: of those that a function does not look at, none comes before the one that fails.
        None => expr.children().into_iter().find_map(failing),
    };
    match part {
        Some((part, error)) => innermost(&part, row, error),
        None => (expr.clone(), error),
    }
}

/// The part of a `CASE` that decides about a row, or fails for it.
fn case_part(case: &CaseExpr, row: &RecordBatch) -> Option<Arc<dyn PhysicalExpr>> {
    let operand = match case.expr() {
        Some(expr) => match values(expr, row) {
            Ok(value) => Some(value),
            Err(_) => return Some(expr.clone()),
        },
        None => None,
    };
    for (when, then) in case.when_then_expr() {
        let Ok(value) = values(when, row) else { return Some(when.clone()) };
        let holds = match &operand {
            Some(operand) => value.is_valid(0) && value.to_data() == operand.to_data(),
            None => value.as_boolean_opt().is_some_and(|holds| holds.is_valid(0) && holds.value(0)),
        };
        if holds {
            return Some(then.clone());
        }
    }
    case.else_expr().cloned()
}

/// What is at the bottom of an error of DataFusion.
enum Cause<'e> {
    /// One of ours, of a function.
    Ours(&'e Error),
    ByZero,
    OutOfRange,
    Other(String),
}

impl<'e> Cause<'e> {
    fn of(error: &'e DataFusionError) -> Self {
        let mut at: Option<&(dyn std::error::Error + 'static)> = Some(error);
        let mut text = String::new();
        while let Some(error) = at {
            if let Some(ours) = error.downcast_ref::<Error>() {
                return if ours.message() == "division by zero" { Cause::ByZero } else { Cause::Ours(ours) };
            }
            match error.downcast_ref::<ArrowError>() {
                Some(ArrowError::DivideByZero) => return Cause::ByZero,
                Some(ArrowError::ArithmeticOverflow(_)) => return Cause::OutOfRange,
                Some(
                    ArrowError::ComputeError(message)
                    | ArrowError::CastError(message)
                    | ArrowError::ParseError(message)
                    | ArrowError::InvalidArgumentError(message),
                ) => text.clone_from(message),
                _ => {}
            }
            if let Some(DataFusionError::Execution(message)) = error.downcast_ref() {
                text.clone_from(message);
            }
            at = match error.downcast_ref::<DataFusionError>() {
                Some(DataFusionError::External(inner)) => Some(inner.as_ref()),
                _ => error.source(),
            };
        }
        let lower = text.to_lowercase();
        match lower {
            _ if lower.contains("overflow") || lower.contains("out of range") => Cause::OutOfRange,
            _ if text.is_empty() => Cause::Other(error.strip_backtrace()),
            _ => Cause::Other(text),
        }
    }
}

fn described(expr: &Arc<dyn PhysicalExpr>, row: &RecordBatch, error: &DataFusionError) -> Error {
    let shown = in_words(expr);
    let at = where_values(expr, row);
    match Cause::of(error) {
        Cause::Ours(ours) => {
            let error = Error::new(ours.kind(), format!("{shown}: {}{at}", ours.message()));
            error.mend(ours.remedy().unwrap_or(INSTEAD))
        }
        Cause::ByZero => Error::data(format!("division by zero: {shown}{at}")).mend(divide_otherwise(expr)),
        Cause::OutOfRange => {
            let of = expr.data_type(&row.schema()).ok();
            let wider = match operator_of(expr) {
                Some(_) if of.as_ref().is_some_and(DataType::is_numeric) => {
                    "CAST an operand to a wider type, or filter such rows out"
                }
                _ => INSTEAD,
            };
            let of = of.and_then(|of| from_arrow(&of).ok()).map(|kind| format!(" of {kind}"));
            let of = of.unwrap_or_default();
            Error::data(format!("the result is out of the range{of}: {shown}{at}")).mend(wider)
        }
        Cause::Other(message) => Error::data(format!("{shown}: {message}{at}")).mend(INSTEAD),
    }
}

fn divide_otherwise(quotient: &Arc<dyn PhysicalExpr>) -> String {
    let is_quotient = matches!(operator_of(quotient), Some(Operator::Divide | Operator::Modulo));
    match quotient.children().last() {
        _ if !is_quotient => INSTEAD.to_owned(),
        Some(divisor) if divisor.downcast_ref::<Literal>().is_none() => format!(
            "write NULLIF({}, 0) in place of the divisor to get NULL, or filter such rows out",
            in_words(divisor)
        ),
        _ => "divide by another number".to_owned(),
    }
}

/// The columns that an expression reads, with their values in a row.
fn where_values(expr: &Arc<dyn PhysicalExpr>, row: &RecordBatch) -> String {
    if row.num_rows() != 1 || expr.downcast_ref::<Column>().is_some() {
        return String::new();
    }
    let mut columns: Vec<Column> = collect_columns(expr).into_iter().collect();
    columns.sort_unstable_by_key(Column::index);
    let shown: Vec<String> = columns.iter().filter_map(|column| shown_value(column, row)).collect();
    match shown.len() {
        0 => String::new(),
        1..=COLUMNS_SHOWN => format!(", where {}", shown.join(", ")),
        _ => format!(", where {}, ...", shown[..COLUMNS_SHOWN].join(", ")),
    }
}

fn shown_value(column: &Column, row: &RecordBatch) -> Option<String> {
    let values = row.columns().get(column.index())?;
    let value = match values.is_null(0) {
        true => "NULL".to_owned(),
        false => cell(values)?,
    };
    let value = shortened(&value);
    let is_text = matches!(values.data_type(), DataType::Utf8View | DataType::Utf8) && values.is_valid(0);
    let quote = if is_text { "'" } else { "" };
    Some(format!("{} is {quote}{value}{quote}", column.name()))
}

#[cfg(test)]
mod tests;

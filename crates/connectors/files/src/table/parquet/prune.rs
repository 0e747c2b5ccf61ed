//! Row groups that cannot have rows which pass.

use arrow::array::Scalar;
use arrow::array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, TimestampMicrosecondArray,
};
use arrow::compute::{cast, kernels::cmp};
use arrow::datatypes::{DataType, TimeUnit};
use arrow::error::ArrowError;
use flugs_table::{Literal, Predicate, PredicateOp};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use std::sync::Arc;

/// For each row group whether it may have rows that pass. What cannot be told may.
pub(super) fn may_pass(file: &ArrowReaderMetadata, predicates: &[Predicate]) -> Vec<bool> {
    let mut may = vec![true; file.metadata().num_row_groups()];
    for predicate in predicates {
        for (may, passes) in may.iter_mut().zip(by_statistics(file, predicate).unwrap_or_default()) {
            *may &= passes;
        }
    }
    may
}

fn by_statistics(file: &ArrowReaderMetadata, predicate: &Predicate) -> Option<Vec<bool>> {
    let [column] = &predicate.path.0[..] else { return None };
    let converter = StatisticsConverter::try_new(column, file.schema(), file.parquet_schema()).ok()?;
    let groups = file.metadata().row_groups();
    let (min, max) = (converter.row_group_mins(groups).ok()?, converter.row_group_maxes(groups).ok()?);
    let mut any = vec![false; groups.len()];
    for literal in &predicate.literals {
        let literal = of_type(literal, min.data_type())?;
        let passes = in_range(&min, &max, predicate.op, &Scalar::new(literal)).ok()?;
        for (any, passes) in any.iter_mut().zip(passes.iter()) {
            // Without statistics it may.
            *any |= passes.unwrap_or(true);
        }
    }
    Some(any)
}

fn in_range(
    min: &ArrayRef,
    max: &ArrayRef,
    op: PredicateOp,
    literal: &Scalar<ArrayRef>,
) -> Result<BooleanArray, ArrowError> {
    match op {
        PredicateOp::Eq => arrow::compute::and_kleene(&cmp::lt_eq(min, literal)?, &cmp::gt_eq(max, literal)?),
        PredicateOp::Lt => cmp::lt(min, literal),
        PredicateOp::LtEq => cmp::lt_eq(min, literal),
        PredicateOp::Gt => cmp::gt(max, literal),
        PredicateOp::GtEq => cmp::gt_eq(max, literal),
    }
}

/// A literal as a value of a column's type, where nothing is lost by that.
fn of_type(literal: &Literal, data_type: &DataType) -> Option<ArrayRef> {
    let value: ArrayRef = match (literal, data_type) {
        (
            Literal::Int(n),
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::Decimal128(..),
        ) => Arc::new(Int64Array::from(vec![*n])),
        (Literal::Double(x), DataType::Float64) => Arc::new(Float64Array::from(vec![*x])),
        (Literal::String(text), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => {
            Arc::new(StringArray::from(vec![text.as_str()]))
        }
        (Literal::Boolean(truth), DataType::Boolean) => Arc::new(BooleanArray::from(vec![*truth])),
        (
            Literal::Timestamp(micros),
            DataType::Timestamp(TimeUnit::Microsecond | TimeUnit::Nanosecond, _),
        ) => Arc::new(TimestampMicrosecondArray::from(vec![*micros])),
        (Literal::Timestamp(micros), DataType::Timestamp(TimeUnit::Millisecond, _)) if micros % 1000 == 0 => {
            Arc::new(TimestampMicrosecondArray::from(vec![*micros]))
        }
        _ => return None,
    };
    cast(&value, data_type).ok().filter(|value| value.null_count() == 0)
}

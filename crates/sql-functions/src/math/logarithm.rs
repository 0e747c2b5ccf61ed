//! `LOG`, with and without a base.

use crate::registry::Category;
use crate::support::{Call, Definition, Parameter};
use arrow::array::ArrayRef;
use arrow::datatypes::Float64Type;
use datafusion_common::Result;
use flugs_sql_types::LogicalType;

pub(super) fn definitions() -> Vec<Definition> {
    vec![
        Definition::new(
            Category::Arithmetic,
            "LOG",
            "LOG([base, ]x)",
            "The natural logarithm, or the logarithm to a base.",
            log,
        )
        .takes(&[Parameter::Double])
        .optionally(&[Parameter::Double])
        .returns(LogicalType::Double),
    ]
}

fn log(call: &Call<'_>) -> Result<ArrayRef> {
    let first = call.doubles(0);
    if call.len() == 1 {
        return Ok(call.map_all::<Float64Type>(|row| first.any(row).ln()));
    }
    let x = call.doubles(1);
    Ok(call.map_all::<Float64Type>(|row| x.any(row).ln() / first.any(row).ln()))
}

//! `SPLIT`: a string into an array of strings.

use crate::registry::{Category, FunctionRegistry};
use crate::support::{Call, Definition, Parameter, data_error, planning_error};
use arrow::array::{ArrayRef, ListArray, StringViewBuilder};
use arrow::buffer::OffsetBuffer;
use datafusion_common::Result;
use flugs_sql_types::LogicalType;
use std::sync::Arc;

pub(super) fn register(registry: &mut FunctionRegistry) {
    let text = "The parts of a string between delimiters; its characters where the delimiter is empty.";
    let split = Definition::new(Category::Collection, "SPLIT", "SPLIT(string, delimiter)", text, split);
    let strings = LogicalType::Array(Box::new(LogicalType::STRING.nullable()));
    registry.define(split.takes(&[Parameter::String, Parameter::String]).returns(strings));
}

fn split(call: &Call<'_>) -> Result<ArrayRef> {
    let item = super::item_of(call.data_type()).ok_or_else(|| planning_error("SPLIT gives an array"))?;
    let (texts, delimiters, nulls) = (call.strings(0), call.strings(1), call.nulls());
    let mut parts = StringViewBuilder::with_capacity(call.rows);
    let (mut count, mut offsets) = (0usize, Vec::with_capacity(call.rows + 1));
    offsets.push(0);
    for row in 0..call.rows {
        if let (Some(text), Some(delimiter)) = (texts.get(row), delimiters.get(row)) {
            let mut push = |part: &str| {
                parts.append_value(part);
                count += 1;
            };
            let mut buffer = [0; 4];
            match (text.is_empty(), delimiter.is_empty()) {
                // Nothing has no parts.
                (true, _) => {}
                (_, true) => text.chars().for_each(|c| push(c.encode_utf8(&mut buffer))),
                _ => text.split(delimiter).for_each(push),
            }
        }
        offsets.push(
            i32::try_from(count).map_err(|_| data_error("SPLIT made more than 2^31 parts of one batch"))?,
        );
    }
    let offsets = OffsetBuffer::new(offsets.into());
    Ok(Arc::new(ListArray::try_new(item.clone(), offsets, Arc::new(parts.finish()), nulls)?))
}

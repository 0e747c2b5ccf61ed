//! Bitmaps: sets of 32-bit integers in `BYTES`, in the portable format of RoaringBitmap.
//!
//! Flink has a type of its own for them; here any `BYTES` in that format is one, and bytes that are none are an error. Values are
//! unsigned inside, so that negative ones come behind the others.

#[cfg(test)]
mod tests;

use crate::registry::{Category, FunctionRegistry};
use crate::support::{Call, Definition, Parameter, data_error};
use arrow::array::{Array, ArrayRef, AsArray, BinaryBuilder, Int64Array, ListBuilder, PrimitiveBuilder};
use arrow::datatypes::{DataType, Field, Int32Type};
use datafusion_common::Result;
use flugs_sql_types::LogicalType;
use roaring::RoaringBitmap;
use std::sync::Arc;

const INTS: Parameter = Parameter::Other("ARRAY<INT>", |given| match given {
    DataType::List(item) if Parameter::Int.accept(item.data_type()).is_none() => None,
    DataType::Null | DataType::List(_) => {
        Some(DataType::List(Arc::new(Field::new("item", DataType::Int32, true))))
    }
    _ => None,
});

type Body = fn(&Call<'_>) -> Result<ArrayRef>;

/// Adds the functions of this module.
pub(crate) fn register(registry: &mut FunctionRegistry) {
    let define = |name, usage, text, body: Body| {
        Definition::new(Category::Bitmap, name, usage, text, body).returns(LogicalType::BYTES)
    };
    let text = "The bitmap of the integers of an array; NULLs are left out.";
    registry.define(define("BITMAP_BUILD", "BITMAP_BUILD(array)", text, build).takes(&[INTS]));

    let of_two: [(_, _, _, Body); 4] = [
        ("BITMAP_AND", "BITMAP_AND(bitmap1, bitmap2)", "What is in both.", |call| {
            combine(call, |a, b| a & b)
        }),
        ("BITMAP_OR", "BITMAP_OR(bitmap1, bitmap2)", "What is in one or both.", |call| {
            combine(call, |a, b| a | b)
        }),
        ("BITMAP_XOR", "BITMAP_XOR(bitmap1, bitmap2)", "What is in one of them.", |call| {
            combine(call, |a, b| a ^ b)
        }),
        ("BITMAP_ANDNOT", "BITMAP_ANDNOT(bitmap1, bitmap2)", "What is in the first alone.", |call| {
            combine(call, |a, b| a - b)
        }),
    ];
    for (name, usage, text, body) in of_two {
        registry.define(define(name, usage, text, body).takes(&[Parameter::Bytes, Parameter::Bytes]));
    }
    let of_bytes: [(_, _, _, Body); 2] = [
        (
            "BITMAP_FROM_BYTES",
            "BITMAP_FROM_BYTES(bytes)",
            "The bitmap that bytes are; an error where they are none.",
            checked,
        ),
        ("BITMAP_TO_BYTES", "BITMAP_TO_BYTES(bitmap)", "The bytes of a bitmap.", checked),
    ];
    for (name, usage, text, body) in of_bytes {
        registry.define(define(name, usage, text, body).takes(&[Parameter::Bytes]));
    }
    let text = "How many values are in a bitmap.";
    let cardinality = define("BITMAP_CARDINALITY", "BITMAP_CARDINALITY(bitmap)", text, cardinality);
    registry.define(cardinality.takes(&[Parameter::Bytes]).returns(LogicalType::BigInt));

    let text = "The values of a bitmap in ascending order, as unsigned ones.";
    let to_array = define("BITMAP_TO_ARRAY", "BITMAP_TO_ARRAY(bitmap)", text, to_array);
    let ints = LogicalType::Array(Box::new(LogicalType::Int.not_null()));
    registry.define(to_array.takes(&[Parameter::Bytes]).returns(ints));

    let text = "The values of a bitmap as text: {1,2,3}.";
    let to_string = define("BITMAP_TO_STRING", "BITMAP_TO_STRING(bitmap)", text, to_string);
    registry.define(to_string.takes(&[Parameter::Bytes]).returns(LogicalType::STRING));
}

fn read(bytes: &[u8]) -> Result<RoaringBitmap> {
    let mut rest = bytes;
    match RoaringBitmap::deserialize_from(&mut rest) {
        Ok(bitmap) if rest.is_empty() => Ok(bitmap),
        Ok(_) => Err(data_error(format!("{} bytes too many stand behind a bitmap", rest.len()))),
        Err(error) => Err(data_error(format!("{} bytes are no bitmap: {error}", bytes.len()))),
    }
}

fn write(bitmap: &RoaringBitmap, out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    bitmap
        .serialize_into(&mut *out)
        .map_err(|error| data_error(format!("a bitmap cannot be written: {error}")))
}

/// A column of the bitmaps that `make` gives.
fn bitmaps(rows: usize, mut make: impl FnMut(usize) -> Result<Option<RoaringBitmap>>) -> Result<ArrayRef> {
    let (mut builder, mut bytes) = (BinaryBuilder::with_capacity(rows, 0), Vec::new());
    for row in 0..rows {
        match make(row)? {
            Some(bitmap) => {
                write(&bitmap, &mut bytes)?;
                builder.append_value(&bytes);
            }
            None => builder.append_null(),
        }
    }
    Ok(Arc::new(builder.finish()))
}

fn build(call: &Call<'_>) -> Result<ArrayRef> {
    let arrays = call.array(0)?;
    let lists = arrays.as_list::<i32>();
    bitmaps(call.rows, |row| {
        Ok(lists.is_valid(row).then(|| {
            let values = lists.value(row);
            values.as_primitive::<Int32Type>().iter().flatten().map(|v| v as u32).collect()
        }))
    })
}

fn combine(call: &Call<'_>, combine: fn(RoaringBitmap, RoaringBitmap) -> RoaringBitmap) -> Result<ArrayRef> {
    let (left, right) = (call.bytes(0), call.bytes(1));
    bitmaps(call.rows, |row| match (left.get(row), right.get(row)) {
        (Some(left), Some(right)) => Ok(Some(combine(read(left)?, read(right)?))),
        _ => Ok(None),
    })
}

fn checked(call: &Call<'_>) -> Result<ArrayRef> {
    let bytes = call.bytes(0);
    bitmaps(call.rows, |row| bytes.get(row).map(read).transpose())
}

fn cardinality(call: &Call<'_>) -> Result<ArrayRef> {
    let bytes = call.bytes(0);
    let of_row = |row| bytes.get(row).map(|b| Ok(read(b)?.len() as i64)).transpose();
    Ok(Arc::new((0..call.rows).map(of_row).collect::<Result<Int64Array>>()?))
}

fn to_array(call: &Call<'_>) -> Result<ArrayRef> {
    let bytes = call.bytes(0);
    let item = Field::new("item", DataType::Int32, false);
    let mut builder = ListBuilder::new(PrimitiveBuilder::<Int32Type>::new()).with_field(item);
    let mut count = 0;
    for row in 0..call.rows {
        match bytes.get(row) {
            Some(bytes) => {
                let bitmap = read(bytes)?;
                count += bitmap.len();
                // A few bytes of runs may stand for very many values.
                if count > VALUES_MAX {
                    return Err(data_error(format!(
                        "the bitmaps of one batch have more than {VALUES_MAX} values"
                    )));
                }
                builder.append_value(bitmap.iter().map(|v| Some(v as i32)));
            }
            None => builder.append_null(),
        }
    }
    Ok(Arc::new(builder.finish()))
}

/// How many values the bitmaps of one batch may have where all are written out.
const VALUES_MAX: u64 = 1 << 26;

fn to_string(call: &Call<'_>) -> Result<ArrayRef> {
    let bytes = call.bytes(0);
    call.texts(|row, out| {
        let Some(bytes) = bytes.get(row) else { return Ok(false) };
        let bitmap = read(bytes)?;
        if bitmap.len() > VALUES_MAX / 16 {
            return Err(data_error(format!("a bitmap of {} values is too large for a text", bitmap.len())));
        }
        out.push('{');
        for (i, value) in bitmap.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            out.push_str(&value.to_string());
        }
        out.push('}');
        Ok(true)
    })
}

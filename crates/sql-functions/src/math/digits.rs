//! Numbers and strings in other notations.

use crate::registry::Category;
use crate::support::{Call, Definition, Parameter};
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use flugs_sql_types::LogicalType;
use std::fmt::Write;

pub(super) fn definitions() -> Vec<Definition> {
    vec![
        Definition::new(Category::Arithmetic, "BIN", "BIN(integer)", "The binary digits of a BIGINT.", |call: &Call<'_>| {
            let numbers = call.big_ints(0);
            call.collect_texts(|row| Ok(numbers.get(row).map(|n| format!("{n:b}"))))
        })
        .takes(&[Parameter::BigInt]),
        Definition::new(
            Category::Arithmetic,
            "HEX",
            "HEX(integer or string)",
            "The hexadecimal digits of a BIGINT, or of the bytes of a string.",
            hex,
        )
        .takes(&[NUMBER_OR_STRING]),
        Definition::new(
            Category::Arithmetic,
            "UNHEX",
            "UNHEX(string)",
            "The bytes that hexadecimal digits mean, the first of an odd number of digits counting as zero; NULL for other characters.",
            |call: &Call<'_>| {
                let texts = call.strings(0);
                call.collect_bytes(|row| Ok(texts.get(row).and_then(unhex)))
            },
        )
        .takes(&[Parameter::String])
        .returns(LogicalType::BYTES)
        .nullable(),
    ]
}

const NUMBER_OR_STRING: Parameter = Parameter::Other("an integer or STRING", |given| {
    Parameter::String.accept(given).or_else(|| Parameter::BigInt.accept(given))
});

fn hex(call: &Call<'_>) -> Result<ArrayRef> {
    if *call.type_of(0) == DataType::Int64 {
        let numbers = call.big_ints(0);
        return call.collect_texts(|row| Ok(numbers.get(row).map(|n| format!("{n:X}"))));
    }
    let texts = call.strings(0);
    call.texts(|row, out| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        // Writing to a string does not fail.
        text.bytes().for_each(|byte| write!(out, "{byte:02X}").unwrap_or_default());
        Ok(true)
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |b: &u8| char::from(*b).to_digit(16).map(|d| d as u8);
    let (pairs, last) = if text.len().is_multiple_of(2) {
        (text.as_bytes(), None)
    } else {
        text.as_bytes().split_first().map(|(f, r)| (r, Some(f)))?
    };
    let mut bytes = Vec::with_capacity(text.len() / 2 + 1);
    // As in Flink, the odd digit is read, but its value does not count.
    if let Some(odd) = last {
        digit(odd)?;
        bytes.push(0);
    }
    for pair in pairs.as_chunks::<2>().0 {
        bytes.push(digit(&pair[0])? * 16 + digit(&pair[1])?);
    }
    Some(bytes)
}

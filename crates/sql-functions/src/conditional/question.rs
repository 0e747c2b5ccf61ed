//! `IS_ALPHA`, `IS_DIGIT`, `IS_DECIMAL`, `TYPEOF`.

use crate::cast::parse_double;
use crate::registry::Category;
use crate::support::{Call, Definition, Parameter, TextWriter, to_datafusion};
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use flugs_sql_types::{LogicalType, from_field};

/// As in Flink, there are numbers and texts; other types are refused.
const NUMBER_OR_STRING: Parameter = Parameter::Other("a number or STRING", |given| {
    Parameter::String.accept(given).or_else(|| Parameter::Number.accept(given))
});

pub(super) fn definitions() -> Vec<Definition> {
    let function = |name: &str, usage, text, body: fn(&Call<'_>) -> Result<ArrayRef>| {
        Definition::new(Category::Conditional, name, usage, text, body)
            .takes(&[NUMBER_OR_STRING])
            .returns(LogicalType::Boolean)
            .not_null()
    };
    vec![
        function(
            "IS_ALPHA",
            "IS_ALPHA(string)",
            "Whether the string has letters only, and at least one.",
            |call| ask(call, |text| all(text, char::is_alphabetic), |_| false),
        ),
        function(
            "IS_DIGIT",
            "IS_DIGIT(string)",
            "Whether the string has digits only, and at least one; true of integers.",
            |call| {
                ask(
                    call,
                    |text| all(text, is_digit),
                    |number| {
                        matches!(number, DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64)
                    },
                )
            },
        ),
        function(
            "IS_DECIMAL",
            "IS_DECIMAL(string)",
            "Whether the string is a number; true of numbers, but as in Flink not of DECIMALs.",
            |call| {
                ask(
                    call,
                    |text| parse_double(text).is_some(),
                    |number| !matches!(number, DataType::Decimal128(..)),
                )
            },
        ),
        Definition::new(
            Category::Conditional,
            "TYPEOF",
            "TYPEOF(value[, full])",
            "The type of the value, as SQL writes it.",
            type_of,
        )
        .takes(&[Parameter::Any])
        .optionally(&[Parameter::Boolean])
        .not_null(),
    ]
}

fn all(text: &str, is: fn(char) -> bool) -> bool {
    !text.is_empty() && text.chars().all(is)
}

/// A decimal digit of any script: those that Unicode counts as numbers and that come in runs of ten are the same but for
/// fractions, roman numbers and their like.
fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
        || (c.is_numeric()
            && !c.is_alphabetic()
            && DIGIT_ZEROS.iter().any(|z| (*z..*z + 10).contains(&u32::from(c))))
}

/// Where runs of ten digits begin, in the basic plane.
const DIGIT_ZEROS: [u32; 36] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
    0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50,
    0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
];

/// NULL is nothing of all this.
fn ask(call: &Call<'_>, of_text: fn(&str) -> bool, of_number: fn(&DataType) -> bool) -> Result<ArrayRef> {
    if *call.type_of(0) == DataType::Utf8View {
        let texts = call.strings(0);
        return call.collect_booleans(|row| Ok(Some(texts.get(row).is_some_and(of_text))));
    }
    let answer = of_number(call.type_of(0));
    let numbers = call.array(0)?;
    call.collect_booleans(|row| Ok(Some(answer && numbers.is_valid(row))))
}

fn type_of(call: &Call<'_>) -> Result<ArrayRef> {
    let shown = from_field(call.field_of(0)).map_err(to_datafusion)?.to_string();
    let mut writer = TextWriter::new(call.rows);
    for _ in 0..call.rows {
        writer.push(&shown)?;
    }
    Ok(writer.finish())
}

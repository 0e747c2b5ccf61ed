//! `PRINTF`: formats as Java's `Formatter` has them.
//!
//! The conversions `s S d x X o f e E g c b B n %` with flags, width, precision and argument index. Anything else, and an
//! argument that does not fit its conversion, gives NULL. Unlike in Flink, `%s` writes dates, times, bytes and nested values as
//! `CAST` does, where Flink shows how it keeps them.

use crate::cast::{cast_function, write_double};
use crate::registry::Category;
use crate::support::{Call, Definition, Parameter, STRING_BYTES_MAX};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};
use datafusion_common::Result;
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs};
use flugs_sql_types::{LogicalType, to_field};
use std::sync::Arc;

pub(super) fn definitions() -> Vec<Definition> {
    vec![
        Definition::new(
            Category::String,
            "PRINTF",
            "PRINTF(format, value, ...)",
            "The values in a format as Java's String.format has it: '%s is %5.2f'; NULL where they do not fit.",
            printf,
        )
        .takes(&[Parameter::String])
        .repeats(Parameter::Any)
        .nullable(),
    ]
}

/// A value to be formatted.
enum Value<'a> {
    Null,
    Boolean(bool),
    /// An integer and its width in bits.
    Integer(i64, u32),
    Float(f64, &'a str),
    Text(&'a str),
}

/// A column of values: itself, and as text.
struct Argument {
    array: ArrayRef,
    texts: ArrayRef,
    constant: bool,
}

impl Argument {
    fn new(call: &Call<'_>, i: usize) -> Result<Argument> {
        let array = call.raw(i).clone();
        let return_field = Arc::new(to_field("text", &LogicalType::STRING.nullable()));
        let field = call.field_of(i).as_ref().clone().with_data_type(array.data_type().clone());
        let args = ScalarFunctionArgs {
            number_rows: array.len(),
            args: vec![ColumnarValue::Array(array.clone())],
            arg_fields: vec![Arc::new(field)],
            return_field,
            config_options: call.options().clone(),
        };
        let rows = array.len();
        let texts =
            cast_function(LogicalType::STRING.nullable(), false).invoke_with_args(args)?.into_array(rows)?;
        Ok(Argument { array, texts, constant: call.is_constant(i) })
    }

    fn value(&self, row: usize) -> Value<'_> {
        let row = if self.constant { 0 } else { row };
        if self.texts.is_null(row) {
            return Value::Null;
        }
        let text = self.texts.as_string_view().value(row);
        match self.array.data_type() {
            DataType::Boolean => Value::Boolean(self.array.as_boolean().value(row)),
            DataType::Int8 => Value::Integer(i64::from(self.array.as_primitive::<Int8Type>().value(row)), 8),
            DataType::Int16 => {
                Value::Integer(i64::from(self.array.as_primitive::<Int16Type>().value(row)), 16)
            }
            DataType::Int32 => {
                Value::Integer(i64::from(self.array.as_primitive::<Int32Type>().value(row)), 32)
            }
            DataType::Int64 => Value::Integer(self.array.as_primitive::<Int64Type>().value(row), 64),
            DataType::Float32 => {
                Value::Float(f64::from(self.array.as_primitive::<Float32Type>().value(row)), text)
            }
            DataType::Float64 => Value::Float(self.array.as_primitive::<Float64Type>().value(row), text),
            _ => Value::Text(text),
        }
    }
}

fn printf(call: &Call<'_>) -> Result<ArrayRef> {
    let formats = call.strings(0);
    let arguments = (1..call.len()).map(|i| Argument::new(call, i)).collect::<Result<Vec<_>>>()?;
    call.collect_texts(|row| Ok(formats.get(row).and_then(|f| format_row(f, &arguments, row))))
}

fn format_row(format: &str, arguments: &[Argument], row: usize) -> Option<String> {
    let mut out = String::new();
    let mut rest = format;
    // The argument that comes next, and the one that came last.
    let (mut next, mut last) = (0, None);
    while let Some((before, behind)) = rest.split_once('%') {
        out.push_str(before);
        let (directive, behind) = Directive::parse(behind)?;
        rest = behind;
        if matches!(directive.conversion, '%' | 'n') {
            let text = if directive.conversion == 'n' { "\n" } else { "%" };
            directive.pad(text.to_owned(), &mut out)?;
            continue;
        }
        let index = match directive.index {
            Index::Next => {
                next += 1;
                next - 1
            }
            Index::Last => last?,
            Index::At(n) => n.checked_sub(1)?,
        };
        last = Some(index);
        directive.write(&arguments.get(index)?.value(row), &mut out)?;
        if out.len() > STRING_BYTES_MAX {
            return None;
        }
    }
    out.push_str(rest);
    Some(out)
}

enum Index {
    Next,
    Last,
    At(usize),
}

/// `%[index$][flags][width][.precision]conversion`.
struct Directive {
    index: Index,
    flags: String,
    width: Option<usize>,
    precision: Option<usize>,
    conversion: char,
}

impl Directive {
    fn parse(text: &str) -> Option<(Directive, &str)> {
        let (mut number, mut rest) = digits(text);
        let mut index = Index::Next;
        if let (Some(n), Some(behind)) = (number, rest.strip_prefix('$')) {
            (index, rest) = (Index::At(n), behind);
        } else {
            rest = text;
        }
        if let Some(behind) = rest.strip_prefix('<') {
            (index, rest) = (Index::Last, behind);
        }
        let flags_end = rest.find(|c| !"-#+ 0,(".contains(c)).unwrap_or(rest.len());
        let flags = rest[..flags_end].to_owned();
        (number, rest) = digits(&rest[flags_end..]);
        let width = number;
        let mut precision = None;
        if let Some(behind) = rest.strip_prefix('.') {
            (precision, rest) = digits(behind);
            precision?;
        }
        let conversion = rest.chars().next()?;
        let rest = &rest[conversion.len_utf8()..];
        Some((Directive { index, flags, width, precision, conversion }, rest))
    }

    fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    fn write(&self, value: &Value<'_>, out: &mut String) -> Option<()> {
        let text = match (self.conversion, value) {
            ('s' | 'S', value) => self.text(match value {
                Value::Null => "null".to_owned(),
                Value::Boolean(b) => b.to_string(),
                Value::Integer(i, _) => i.to_string(),
                Value::Float(_, text) | Value::Text(text) => (*text).to_owned(),
            }),
            ('b' | 'B', value) => self.text(match value {
                Value::Null => "false".to_owned(),
                Value::Boolean(b) => b.to_string(),
                _ => "true".to_owned(),
            }),
            (_, Value::Null) => self.text("null".to_owned()),
            ('d', Value::Integer(i, _)) => {
                return self.signed(*i < 0, self.grouped(&i.unsigned_abs().to_string()), out);
            }
            ('x' | 'X' | 'o', Value::Integer(i, bits)) => self.unsigned(*i, *bits),
            ('c' | 'C', Value::Integer(i, _)) => char::from_u32(u32::try_from(*i).ok()?)?.to_string(),
            ('f' | 'e' | 'E' | 'g' | 'G', Value::Float(f, _)) => return self.float(*f, out),
            _ => return None,
        };
        let text = if self.conversion.is_ascii_uppercase() { text.to_uppercase() } else { text };
        if self.has('0') && matches!(self.conversion, 'x' | 'X' | 'o') {
            return self.signed(false, text, out);
        }
        self.pad(text, out)
    }

    fn text(&self, text: String) -> String {
        match self.precision {
            Some(most) => text.chars().take(most).collect(),
            None => text,
        }
    }

    /// As many bits as the type has.
    fn unsigned(&self, value: i64, bits: u32) -> String {
        let value = (value as u64) & (u64::MAX >> (64 - bits));
        match (self.conversion, self.has('#')) {
            ('o', true) => format!("0{value:o}"),
            ('o', false) => format!("{value:o}"),
            (_, true) => format!("0x{value:x}"),
            (_, false) => format!("{value:x}"),
        }
    }

    fn float(&self, value: f64, out: &mut String) -> Option<()> {
        if !value.is_finite() {
            let mut text = String::new();
            write_double(value.abs(), &mut text).ok()?;
            let sign = if value < 0.0 {
                "-"
            } else if self.has('+') && !value.is_nan() {
                "+"
            } else {
                ""
            };
            return self.pad(format!("{sign}{text}"), out);
        }
        let precision = self.precision.unwrap_or(6).min(1000);
        let size = value.abs();
        let text = match self.conversion {
            'f' => self.grouped(&fixed(size, precision)),
            'g' | 'G' => {
                let precision = precision.max(1);
                let rounded: f64 = format!("{size:.*e}", precision - 1).parse().ok()?;
                if rounded == 0.0 || (1e-4..10f64.powi(precision as i32)).contains(&rounded) {
                    let whole = if rounded == 0.0 { 1 } else { rounded.log10().floor() as i64 + 1 };
                    fixed(size, (precision as i64 - whole).max(0) as usize)
                } else {
                    exponential(size, precision - 1)
                }
            }
            _ => exponential(size, precision),
        };
        let text = if self.conversion.is_ascii_uppercase() { text.to_uppercase() } else { text };
        self.signed(value.is_sign_negative(), text, out)
    }

    /// With commas between the thousands where that is wanted.
    fn grouped(&self, digits: &str) -> String {
        if !self.has(',') {
            return digits.to_owned();
        }
        let (whole, fraction) = digits.find('.').map_or((digits, ""), |at| digits.split_at(at));
        let mut grouped = String::new();
        for (i, digit) in whole.chars().enumerate() {
            if i > 0 && (whole.len() - i) % 3 == 0 {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        grouped + fraction
    }

    fn signed(&self, negative: bool, digits: String, out: &mut String) -> Option<()> {
        let (before, behind) = match negative {
            true if self.has('(') => ("(", ")"),
            true => ("-", ""),
            false if self.has('+') => ("+", ""),
            false if self.has(' ') => (" ", ""),
            false => ("", ""),
        };
        let width = self.width.unwrap_or(0).min(STRING_BYTES_MAX);
        let missing = width.saturating_sub(before.len() + digits.len() + behind.len());
        let zeros = if self.has('0') { "0".repeat(missing) } else { String::new() };
        self.pad(format!("{before}{zeros}{digits}{behind}"), out)
    }

    fn pad(&self, text: String, out: &mut String) -> Option<()> {
        let width = self.width.unwrap_or(0);
        if width > STRING_BYTES_MAX || (self.has('-') && self.width.is_none()) {
            return None;
        }
        let missing = width.saturating_sub(text.chars().count());
        let spaces = std::iter::repeat_n(' ', missing);
        if self.has('-') {
            out.push_str(&text);
            out.extend(spaces);
        } else {
            out.extend(spaces);
            out.push_str(&text);
        }
        Some(())
    }
}

fn digits(text: &str) -> (Option<usize>, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    // A zero at the front is a flag.
    if end == 0 || text.starts_with('0') && end > 1 {
        return (None, text);
    }
    (text[..end].parse().ok(), &text[end..])
}

/// Rounded half up as it is written, not as the binary fraction behind it would be.
fn fixed(size: f64, precision: usize) -> String {
    let shortest = format!("{size:e}");
    let Some(rounded) = u8::try_from(precision)
        .ok()
        .filter(|p| *p <= 18)
        .and_then(|scale| Some((crate::cast::parse_decimal(&shortest, 38, scale).ok()?, scale)))
    else {
        return format!("{size:.precision$}");
    };
    let mut text = String::new();
    match crate::cast::write_decimal(rounded.0, rounded.1, &mut text) {
        Ok(()) => text,
        Err(_) => format!("{size:.precision$}"),
    }
}

/// `1.234568e+04`.
fn exponential(size: f64, precision: usize) -> String {
    let text = format!("{size:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

//! Strings made of strings.

use crate::registry::Category;
use crate::support::{Call, Column, Definition, Parameter, STRING_BYTES_MAX, Text, TextWriter, too_long};
use arrow::array::{ArrayRef, StringViewArray};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use flugs_sql_types::LogicalType;
use memchr::memmem;

pub(super) fn definitions() -> Vec<Definition> {
    use Parameter::{BigInt, String};
    let function = |name: &str, usage, text, body: fn(&Call<'_>) -> Result<ArrayRef>| {
        Definition::new(Category::String, name, usage, text, body)
    };
    vec![
        function("CONCAT", "CONCAT(string, ...)", "The strings one behind the other; NULL where one is NULL.", concat)
            .takes(&[String])
            .repeats(String),
        function(
            "CONCAT_WS",
            "CONCAT_WS(separator, string, ...)",
            "The strings that are not NULL with a separator between them; NULL where the separator is NULL.",
            concat_ws,
        )
        .takes(&[String])
        .repeats(String),
        function("REPEAT", "REPEAT(string, n)", "The string `n` times.", repeat).takes(&[String, BigInt]),
        function("REPLACE", "REPLACE(string, from, to)", "The string with every `from` replaced by `to`.", replace)
            .takes(&[String, String, String]),
        function(
            "TRANSLATE",
            "TRANSLATE(string, from, to)",
            "The string with each character of `from` replaced by the one of `to` in the same place, left out where there is none.",
            translate,
        )
        .aliases(&["TRANSLATE3"])
        .takes(&[String, String, String]),
        function(
            "OVERLAY",
            "OVERLAY(string PLACING new FROM start [FOR length])",
            "The string with `length` characters (as many as `new` has) from `start` on replaced by `new`.",
            overlay,
        )
        .takes(&[String, String, BigInt])
        .optionally(&[BigInt])
        .returns_by(|types| {
            Ok(match (types.kind(0), types.kind(1)) {
                (LogicalType::Char(a) | LogicalType::VarChar(a), LogicalType::Char(b) | LogicalType::VarChar(b)) => {
                    LogicalType::VarChar(a.saturating_add(*b).min(flugs_sql_types::MAX_LENGTH))
                }
                _ => LogicalType::STRING,
            })
        }),
        function(
            "LPAD",
            "LPAD(string, length, pad)",
            "The string filled up with `pad` from the left, or cut, to `length` characters; NULL for a negative length or an empty `pad`.",
            |call| pad(call, true),
        )
        .takes(&[String, BigInt, String])
        .nullable(),
        function(
            "RPAD",
            "RPAD(string, length, pad)",
            "The string filled up with `pad` from the right, or cut, to `length` characters; NULL for a negative length or an empty `pad`.",
            |call| pad(call, false),
        )
        .takes(&[String, BigInt, String])
        .nullable(),
        function("REVERSE", "REVERSE(string)", "The string backwards.", reverse).takes(&[String]),
        function("ELT", "ELT(index, value, ...)", "The string or bytes of this index, from 1; NULL where there is none.", elt)
            .takes(&[BigInt, Parameter::StringOrBytes])
            .repeats(Parameter::StringOrBytes)
            .coerced_by(|types| {
                let bytes = types[1..].contains(&DataType::Binary);
                let value = if bytes { DataType::Binary } else { DataType::Utf8View };
                Ok(std::iter::once(DataType::Int64).chain(vec![value; types.len() - 1]).collect())
            })
            .returns_by(|types| {
                Ok(if matches!(types.kind(1), LogicalType::VarBinary(_) | LogicalType::Binary(_)) {
                    LogicalType::BYTES
                } else {
                    LogicalType::STRING
                })
            })
            .nullable(),
    ]
}

fn concat(call: &Call<'_>) -> Result<ArrayRef> {
    let parts: Vec<Column<'_, StringViewArray>> = (0..call.len()).map(|i| call.strings(i)).collect();
    call.texts(|row, out| {
        for part in &parts {
            let Some(part) = part.get(row) else { return Ok(false) };
            out.push_str(part);
        }
        Ok(true)
    })
}

fn concat_ws(call: &Call<'_>) -> Result<ArrayRef> {
    let separators = call.strings(0);
    let parts: Vec<Column<'_, StringViewArray>> = (1..call.len()).map(|i| call.strings(i)).collect();
    call.texts(|row, out| {
        let Some(separator) = separators.get(row) else { return Ok(false) };
        for (i, part) in parts.iter().filter_map(|p| p.get(row)).enumerate() {
            out.push_str(if i == 0 { "" } else { separator });
            out.push_str(part);
        }
        Ok(true)
    })
}

/// An error where a string would be too long, before memory is taken for it.
fn check_length(bytes: usize) -> Result<()> {
    if bytes > STRING_BYTES_MAX { Err(too_long(bytes)) } else { Ok(()) }
}

fn repeat(call: &Call<'_>) -> Result<ArrayRef> {
    let (texts, counts) = (call.strings(0), call.big_ints(1));
    call.texts(|row, out| {
        let (Some(text), Some(count)) = (texts.get(row), counts.get(row)) else { return Ok(false) };
        let count = usize::try_from(count.max(0)).unwrap_or(usize::MAX);
        check_length(text.len().saturating_mul(count))?;
        if !text.is_empty() {
            (0..count).for_each(|_| out.push_str(text));
        }
        Ok(true)
    })
}

fn replace(call: &Call<'_>) -> Result<ArrayRef> {
    let (texts, from, to) = (call.strings(0), call.strings(1), call.strings(2));
    let finder = from.constant().flatten().map(|f| memmem::Finder::new(f.as_bytes()));
    let mut writer = TextWriter::new(call.rows);
    for row in 0..call.rows {
        let (Some(text), Some(from), Some(to)) = (texts.get(row), from.get(row), to.get(row)) else {
            writer.push_null();
            continue;
        };
        writer.write(|out| {
            replace_one(text, from, to, finder.as_ref(), out)?;
            Ok(true)
        })?;
    }
    Ok(writer.finish())
}

fn replace_one(
    text: &str,
    from: &str,
    to: &str,
    finder: Option<&memmem::Finder<'_>>,
    out: &mut Text<'_>,
) -> Result<()> {
    check_length(if to.len() > from.len() {
        text.len().saturating_mul(to.len()) / from.len().max(1)
    } else {
        0
    })?;
    let mut written = 0;
    let mut put = |at: usize| {
        out.push_str(&text[written..at]);
        out.push_str(to);
        written = at + from.len();
    };
    match (from.as_bytes(), finder) {
        // Nothing stands before each character and at the end.
        ([], _) => text.char_indices().map(|(at, _)| at).chain([text.len()]).for_each(&mut put),
        ([byte], _) => memchr::memchr_iter(*byte, text.as_bytes()).for_each(&mut put),
        (_, Some(finder)) => finder.find_iter(text.as_bytes()).for_each(&mut put),
        (from, None) => memmem::find_iter(text.as_bytes(), from).for_each(&mut put),
    }
    out.push_str(&text[written..]);
    Ok(())
}

fn translate(call: &Call<'_>) -> Result<ArrayRef> {
    let (texts, from, to) = (call.strings(0), call.strings(1), call.strings(2));
    call.texts(|row, out| {
        let (Some(text), Some(from), Some(to)) = (texts.get(row), from.get(row), to.get(row)) else {
            return Ok(false);
        };
        for c in text.chars() {
            match from.chars().position(|f| f == c) {
                None => out.push(c),
                Some(place) => to.chars().nth(place).into_iter().for_each(|c| out.push(c)),
            }
        }
        Ok(true)
    })
}

fn overlay(call: &Call<'_>) -> Result<ArrayRef> {
    let (texts, news, starts) = (call.strings(0), call.strings(1), call.big_ints(2));
    let lengths = (call.len() > 3).then(|| call.big_ints(3));
    call.texts(|row, out| {
        let (Some(text), Some(new), Some(start)) = (texts.get(row), news.get(row), starts.get(row)) else {
            return Ok(false);
        };
        let default = new.chars().count() as i64;
        let Some(length) = lengths.map_or(Some(default), |l| l.get(row)) else { return Ok(false) };
        let characters = text.chars().count() as i64;
        if start <= 0 || start > characters {
            out.push_str(text);
            return Ok(true);
        }
        let byte = |index: i64| text.char_indices().nth(index as usize).map_or(text.len(), |(at, _)| at);
        out.push_str(&text[..byte(start - 1)]);
        out.push_str(new);
        // A length that is not positive leaves nothing of the rest, as in Flink.
        if length > 0 && start.saturating_add(length) <= characters {
            out.push_str(&text[byte(start - 1 + length)..]);
        }
        Ok(true)
    })
}

fn pad(call: &Call<'_>, left: bool) -> Result<ArrayRef> {
    let (texts, lengths, pads) = (call.strings(0), call.big_ints(1), call.strings(2));
    call.texts(|row, out| {
        let (Some(text), Some(length), Some(pad)) = (texts.get(row), lengths.get(row), pads.get(row)) else {
            return Ok(false);
        };
        if length < 0 || pad.is_empty() {
            return Ok(false);
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let characters = text.chars().count();
        let missing = length.saturating_sub(characters);
        check_length(missing.saturating_mul(pad.len()))?;
        let filling = pad.chars().cycle().take(missing);
        if left {
            filling.clone().for_each(|c| out.push(c));
        }
        let end = text.char_indices().nth(length).map_or(text.len(), |(at, _)| at);
        out.push_str(&text[..end]);
        if !left {
            filling.for_each(|c| out.push(c));
        }
        Ok(true)
    })
}

fn reverse(call: &Call<'_>) -> Result<ArrayRef> {
    let texts = call.strings(0);
    call.texts(|row, out| {
        let Some(text) = texts.get(row) else { return Ok(false) };
        text.chars().rev().for_each(|c| out.push(c));
        Ok(true)
    })
}

fn elt(call: &Call<'_>) -> Result<ArrayRef> {
    let indexes = call.big_ints(0);
    let place = |row: usize| {
        let index = usize::try_from(indexes.get(row)?).ok()?;
        (1..call.len()).contains(&index).then_some(index)
    };
    if *call.data_type() == DataType::Binary {
        return call
            .collect_bytes(|row| Ok(place(row).and_then(|i| call.bytes(i).get(row).map(<[u8]>::to_vec))));
    }
    call.texts(|row, out| match place(row).and_then(|i| call.strings(i).get(row).map(|t| out.push_str(t))) {
        Some(()) => Ok(true),
        None => Ok(false),
    })
}

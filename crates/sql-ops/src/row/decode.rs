//! Rows to columns. Bytes are not trusted: what is read is checked, and memory grows only with what is really there.

use super::codec::SortOptions;
use super::fixed::{Fixed, with_fixed_type};
use super::layout::{Column, ELEMENT, END, Layout, NULL, NULL_LAST, VALUE};
use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BinaryBuilder, BinaryViewBuilder, BooleanArray, BooleanBufferBuilder,
    FixedSizeBinaryBuilder, LargeBinaryBuilder, LargeStringBuilder, ListArray, MapArray, NullArray,
    NullBufferBuilder, PrimitiveArray, StringBuilder, StringViewBuilder, StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Fields};
use arrow::error::ArrowError;
use flugs_types::{Error, Result};
use std::sync::Arc;

/// What stands in place of the fields of a NULL: a NULL of any type.
const NULL_FIELD: [u8; 32] = [NULL; 32];

#[cold]
fn damaged(what: &str) -> Error {
    Error::state(format!("a stored row is damaged: {what}"))
}

fn misfit(e: ArrowError) -> Error {
    damaged("its values do not fit their type").caused_by(e)
}

/// The columns of these rows.
pub(super) fn decode_columns(
    columns: &[Column],
    options: &[SortOptions],
    mut rows: Vec<&[u8]>,
) -> Result<Vec<ArrayRef>> {
    let mut arrays = Vec::with_capacity(columns.len());
    for (column, options) in columns.iter().zip(options) {
        arrays.push(if *options == SortOptions::default() {
            decode(column, &mut rows)?
        } else {
            decode_turned(column, *options, &mut rows)?
        });
    }
    match rows.iter().all(|rest| rest.is_empty()) {
        true => Ok(arrays),
        false => Err(damaged("bytes are left over")),
    }
}

/// Brings a column of another order into ascending order with NULLs first, then decodes it.
fn decode_turned(column: &Column, options: SortOptions, rows: &mut [&[u8]]) -> Result<ArrayRef> {
    let flip = if options.descending { 0xff } else { 0 };
    let mut bytes = Vec::new();
    let mut ends = Vec::with_capacity(rows.len());
    for row in rows.iter_mut() {
        let (marker, rest) = marker(row)?;
        let length = match marker {
            VALUE => value_length(column, rest, flip)?,
            NULL if options.nulls_first => null_length(column),
            NULL_LAST if !options.nulls_first => null_length(column),
            _ => return Err(damaged("a marker is unknown")),
        };
        let (value, rest) = split(rest, length)?;
        bytes.push(if marker == VALUE { VALUE } else { NULL });
        bytes.extend(value.iter().map(|byte| byte ^ flip));
        ends.push(bytes.len());
        *row = rest;
    }
    let mut start = 0;
    let mut turned: Vec<&[u8]> =
        ends.iter().map(|end| &bytes[std::mem::replace(&mut start, *end)..*end]).collect();
    decode(column, &mut turned)
}

#[inline(always)]
fn marker(row: &[u8]) -> Result<(u8, &[u8])> {
    row.split_first().map(|(marker, rest)| (*marker, rest)).ok_or_else(|| damaged("it is too short"))
}

#[inline(always)]
fn split(bytes: &[u8], at: usize) -> Result<(&[u8], &[u8])> {
    bytes.split_at_checked(at).ok_or_else(|| damaged("it is too short"))
}

/// Whether a column that starts with this marker is a value.
#[inline(always)]
fn is_value(marker: u8) -> Result<bool> {
    match marker {
        VALUE => Ok(true),
        NULL => Ok(false),
        _ => Err(damaged("a marker is unknown")),
    }
}

/// How many bytes follow the marker of a NULL.
fn null_length(column: &Column) -> usize {
    match column.layout {
        Layout::Fixed(width) => width,
        _ => 0,
    }
}

/// How many bytes a column inside a value takes, each byte being inverted by `flip`.
fn length(column: &Column, bytes: &[u8], flip: u8) -> Result<usize> {
    let (marker, rest) = marker(bytes)?;
    let value = is_value(marker ^ flip)?;
    Ok(1 + if value { value_length(column, rest, flip)? } else { null_length(column) })
}

/// How many bytes a value takes that stands at the start of `bytes`.
fn value_length(column: &Column, bytes: &[u8], flip: u8) -> Result<usize> {
    let mut at = 0;
    let inner = |column: &Column, at: &mut usize| -> Result<()> {
        *at += length(column, split(bytes, *at)?.1, flip)?;
        Ok(())
    };
    let next = |at: &mut usize| -> Result<bool> {
        let (element, _) = marker(split(bytes, *at)?.1)?;
        *at += 1;
        match element ^ flip {
            ELEMENT => Ok(true),
            END => Ok(false),
            _ => Err(damaged("an element is announced by an unknown byte")),
        }
    };
    match &column.layout {
        Layout::Fixed(width) => return Ok(*width),
        Layout::Bytes => {
            let end = bytes.iter().position(|byte| byte ^ flip == END);
            return end.map(|end| end + 1).ok_or_else(|| damaged("a string has no end"));
        }
        Layout::List(item) => {
            while next(&mut at)? {
                inner(item, &mut at)?;
            }
        }
        Layout::Map(key, value) => {
            while next(&mut at)? {
                inner(key, &mut at)?;
                inner(value, &mut at)?;
            }
        }
        Layout::Struct(fields) => fields.iter().try_for_each(|field| inner(field, &mut at))?,
    }
    Ok(at)
}

/// Takes a column off the start of each row.
fn decode(column: &Column, rows: &mut [&[u8]]) -> Result<ArrayRef> {
    match &column.layout {
        Layout::Fixed(_) => decode_fixed(&column.data_type, rows),
        Layout::Bytes => decode_bytes(&column.data_type, rows),
        Layout::List(item) => {
            let DataType::List(field) = &column.data_type else { return Err(Error::bug("a list")) };
            let (offsets, nulls, mut items) = elements(rows, |rest| length(item, rest, 0))?;
            let values = decode(item, &mut items)?;
            Ok(Arc::new(ListArray::try_new(field.clone(), offsets, values, nulls).map_err(misfit)?))
        }
        Layout::Map(key, value) => {
            let DataType::Map(field, sorted) = &column.data_type else { return Err(Error::bug("a map")) };
            let (offsets, nulls, mut entries) = elements(rows, |rest| {
                let of_key = length(key, rest, 0)?;
                Ok(of_key + length(value, split(rest, of_key)?.1, 0)?)
            })?;
            let columns = vec![decode(key, &mut entries)?, decode(value, &mut entries)?];
            let entries =
                StructArray::try_new(fields_of(field.data_type())?, columns, None).map_err(misfit)?;
            let map = MapArray::try_new(field.clone(), offsets, entries, nulls, *sorted);
            Ok(Arc::new(map.map_err(misfit)?))
        }
        Layout::Struct(fields) => decode_struct(column, fields, rows),
    }
}

fn fields_of(data_type: &DataType) -> Result<Fields> {
    match data_type {
        DataType::Struct(fields) => Ok(fields.clone()),
        other => Err(Error::bug(format!("{other} has no fields"))),
    }
}

fn decode_fixed(data_type: &DataType, rows: &mut [&[u8]]) -> Result<ArrayRef> {
    match data_type {
        DataType::Null => {
            for row in rows.iter_mut() {
                let (marker, rest) = marker(row)?;
                if is_value(marker)? {
                    return Err(damaged("a value of the type NULL"));
                }
                *row = rest;
            }
            Ok(Arc::new(NullArray::new(rows.len())))
        }
        DataType::Boolean => {
            let mut values = BooleanBufferBuilder::new(rows.len());
            let mut nulls = NullBufferBuilder::new(rows.len());
            for row in rows.iter_mut() {
                let (valid, [value]) = take_fixed::<1>(row)?;
                nulls.append(valid);
                values.append(match value {
                    0 => false,
                    1 => true,
                    _ => return Err(damaged("a boolean is neither true nor false")),
                });
            }
            Ok(Arc::new(BooleanArray::new(values.finish(), nulls.finish())))
        }
        _ => with_fixed_type!(
            data_type,
            T => decode_primitive::<T, _>(data_type, rows),
            Err(Error::bug(format!("{data_type} is no type of fixed width")))
        ),
    }
}

fn decode_primitive<T: ArrowPrimitiveType, const W: usize>(
    data_type: &DataType,
    rows: &mut [&[u8]],
) -> Result<ArrayRef>
where
    T::Native: Fixed<W>,
{
    let mut values = Vec::with_capacity(rows.len());
    let mut nulls = NullBufferBuilder::new(rows.len());
    for row in rows.iter_mut() {
        let (valid, bytes) = take_fixed::<W>(row)?;
        nulls.append(valid);
        values.push(if valid { T::Native::from_ordered(bytes) } else { T::Native::default() });
    }
    let array = PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls.finish());
    Ok(Arc::new(array.with_data_type(data_type.clone())))
}

/// Takes a column of `W` bytes off the start of a row: whether it is a value, and the bytes.
#[inline(always)]
fn take_fixed<const W: usize>(row: &mut &[u8]) -> Result<(bool, [u8; W])> {
    let (marker, rest) = marker(row)?;
    let Some((bytes, rest)) = rest.split_first_chunk::<W>() else {
        return Err(damaged("it is too short"));
    };
    *row = rest;
    Ok((is_value(marker)?, *bytes))
}

fn decode_bytes(data_type: &DataType, rows: &mut [&[u8]]) -> Result<ArrayRef> {
    fn text(bytes: &[u8]) -> Result<&str> {
        std::str::from_utf8(bytes).map_err(|e| damaged("a string is not UTF-8").caused_by(e))
    }
    macro_rules! build {
        ($builder:expr, $of:expr) => {{
            let mut builder = $builder;
            for_each_bytes(rows, |bytes| {
                match bytes {
                    Some(bytes) => builder.append_value($of(bytes)?),
                    None => builder.append_null(),
                }
                Ok(())
            })?;
            Ok(Arc::new(builder.finish()) as ArrayRef)
        }};
    }
    let n = rows.len();
    match data_type {
        DataType::Utf8View => build!(StringViewBuilder::with_capacity(n), text),
        DataType::Utf8 => build!(StringBuilder::with_capacity(n, 0), text),
        DataType::LargeUtf8 => build!(LargeStringBuilder::with_capacity(n, 0), text),
        DataType::Binary => build!(BinaryBuilder::with_capacity(n, 0), Ok::<&[u8], Error>),
        DataType::LargeBinary => build!(LargeBinaryBuilder::with_capacity(n, 0), Ok::<&[u8], Error>),
        DataType::BinaryView => build!(BinaryViewBuilder::with_capacity(n), Ok::<&[u8], Error>),
        DataType::FixedSizeBinary(width) => {
            let mut builder = FixedSizeBinaryBuilder::new(*width);
            for_each_bytes(rows, |bytes| match bytes {
                Some(bytes) => builder.append_value(bytes).map_err(misfit),
                None => {
                    builder.append_null();
                    Ok(())
                }
            })?;
            Ok(Arc::new(builder.finish()))
        }
        other => Err(Error::bug(format!("{other} is no type of strings"))),
    }
}

/// Takes a string off the start of each row.
fn for_each_bytes(rows: &mut [&[u8]], mut f: impl FnMut(Option<&[u8]>) -> Result<()>) -> Result<()> {
    let mut unescaped = Vec::new();
    for row in rows.iter_mut() {
        let (marker, rest) = marker(row)?;
        if !is_value(marker)? {
            *row = rest;
            f(None)?;
            continue;
        }
        let Some(end) = memchr::memchr(END, rest) else { return Err(damaged("a string has no end")) };
        let (bytes, rest) = split(rest, end)?;
        *row = split(rest, 1)?.1;
        if memchr::memchr(1, bytes).is_none() {
            f(Some(bytes))?;
            continue;
        }
        unescaped.clear();
        let mut bytes = bytes.iter();
        while let Some(byte) = bytes.next() {
            unescaped.push(match byte {
                1 => match bytes.next() {
                    Some(escaped @ 1..=2) => escaped - 1,
                    _ => return Err(damaged("an escape is unknown")),
                },
                plain => *plain,
            });
        }
        f(Some(&unescaped))?;
    }
    Ok(())
}

type Elements<'a> = (OffsetBuffer<i32>, Option<NullBuffer>, Vec<&'a [u8]>);

/// Takes a list off the start of each row: the elements of all of them, whose lengths `element` tells.
fn elements<'a>(rows: &mut [&'a [u8]], element: impl Fn(&[u8]) -> Result<usize>) -> Result<Elements<'a>> {
    let mut offsets = Vec::with_capacity(rows.len() + 1);
    let mut nulls = NullBufferBuilder::new(rows.len());
    let mut found = Vec::new();
    offsets.push(0);
    for row in rows.iter_mut() {
        let (first, mut rest) = marker(row)?;
        let valid = is_value(first)?;
        nulls.append(valid);
        let mut open = valid;
        while open {
            let (byte, behind) = marker(rest)?;
            rest = behind;
            match byte {
                END => {
                    open = false;
                    continue;
                }
                ELEMENT => {}
                _ => return Err(damaged("an element is announced by an unknown byte")),
            }
            let (bytes, behind) = split(rest, element(rest)?)?;
            found.push(bytes);
            rest = behind;
        }
        *row = rest;
        offsets.push(i32::try_from(found.len()).map_err(|_| damaged("too many elements"))?);
    }
    Ok((OffsetBuffer::new(offsets.into()), nulls.finish(), found))
}

fn decode_struct(column: &Column, fields: &[Column], rows: &mut [&[u8]]) -> Result<ArrayRef> {
    let mut nulls = NullBufferBuilder::new(rows.len());
    for row in rows.iter_mut() {
        let (marker, rest) = marker(row)?;
        nulls.append(is_value(marker)?);
        *row = rest;
    }
    let nulls = nulls.finish();
    let is_null = |i: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(i));
    let mut columns = Vec::with_capacity(fields.len());
    for field in fields {
        let mut cursors: Vec<&[u8]> =
            rows.iter().enumerate().map(|(i, row)| if is_null(i) { &NULL_FIELD[..] } else { *row }).collect();
        columns.push(decode(field, &mut cursors)?);
        for (i, (row, cursor)) in rows.iter_mut().zip(cursors).enumerate() {
            if !is_null(i) {
                *row = cursor;
            }
        }
    }
    let array = if fields.is_empty() {
        StructArray::new_empty_fields(rows.len(), nulls)
    } else {
        StructArray::try_new(fields_of(&column.data_type)?, columns, nulls).map_err(misfit)?
    };
    Ok(Arc::new(array))
}

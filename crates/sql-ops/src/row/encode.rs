//! Columns to rows: each column is written in a loop of its own, into one buffer.
//!
//! Where all columns are of fixed width, rows have one length and columns fixed places in them. Else the lengths of all rows
//! are added up first. Everything is written ascending with NULLs first; columns of another order are turned round after that.

use super::codec::SortOptions;
use super::fixed::{Fixed, with_fixed_type};
use super::layout::{Column, ELEMENT, END, Layout, NULL, NULL_LAST, VALUE};
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::datatypes::DataType;
use flugs_types::{Error, Result};

/// Rows in one buffer.
#[derive(Debug)]
pub(super) struct Rows {
    buffer: Vec<u8>,
    places: Places,
}

#[derive(Debug)]
enum Places {
    /// So many rows of one length.
    Stride { stride: usize, rows: usize },
    /// Where each row begins, and the end of the last.
    Offsets(Vec<usize>),
}

impl Default for Rows {
    fn default() -> Self {
        Rows { buffer: Vec::new(), places: Places::Stride { stride: 0, rows: 0 } }
    }
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        match &self.places {
            Places::Stride { rows, .. } => *rows,
            Places::Offsets(offsets) => offsets.len() - 1,
        }
    }

    #[inline(always)]
    pub(super) fn row(&self, i: usize) -> &[u8] {
        match &self.places {
            Places::Stride { stride, .. } => &self.buffer[i * stride..][..*stride],
            Places::Offsets(offsets) => &self.buffer[offsets[i]..offsets[i + 1]],
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let offsets = match &self.places {
            Places::Stride { .. } => 0,
            Places::Offsets(offsets) => offsets.capacity() * size_of::<usize>(),
        };
        self.buffer.capacity() + offsets
    }
}

/// The columns that are to be encoded.
pub(super) struct Encoder<'a> {
    pub(super) columns: &'a [Column],
    pub(super) options: &'a [SortOptions],
    pub(super) stride: Option<usize>,
}

impl Encoder<'_> {
    pub(super) fn encode(&self, arrays: &[ArrayRef], rows: usize, to: &mut Rows) -> Result<()> {
        to.buffer.clear();
        match self.stride {
            Some(stride) => self.encode_fixed(arrays, rows, stride, to),
            None => self.encode_any(arrays, rows, to),
        }
    }

    fn encode_fixed(&self, arrays: &[ArrayRef], rows: usize, stride: usize, to: &mut Rows) -> Result<()> {
        to.places = Places::Stride { stride, rows };
        to.buffer.resize(rows * stride, 0);
        let mut at = 0;
        for (i, (array, column)) in arrays.iter().zip(self.columns).enumerate() {
            let end = at + column.stride().ok_or_else(|| Error::bug("a column of a row of fixed width"))?;
            put_fixed(array, &mut Strided { buffer: &mut to.buffer, stride, at })?;
            let options = self.options[i];
            if options != SortOptions::default() {
                to.buffer.chunks_exact_mut(stride).for_each(|row| turn(&mut row[at..end], options));
            }
            at = end;
        }
        Ok(())
    }

    fn encode_any(&self, arrays: &[ArrayRef], rows: usize, to: &mut Rows) -> Result<()> {
        let prepared: Vec<Prepared> = arrays
            .iter()
            .zip(self.columns)
            .map(|(array, column)| Prepared::new(array, column))
            .collect::<Result<_>>()?;
        let mut offsets = match std::mem::replace(&mut to.places, Places::Stride { stride: 0, rows: 0 }) {
            Places::Offsets(offsets) => offsets,
            Places::Stride { .. } => Vec::new(),
        };
        offsets.clear();
        offsets.resize(rows + 1, 0);
        for (array, prepared) in arrays.iter().zip(&prepared) {
            prepared.add_lengths(array, &mut offsets[1..]);
        }
        let mut end = 0;
        offsets.iter_mut().for_each(|offset| {
            end += *offset;
            *offset = end;
        });
        to.buffer.resize(end, 0);
        let mut cursors = offsets[..rows].to_vec();
        for (i, (array, prepared)) in arrays.iter().zip(&prepared).enumerate() {
            let options = self.options[i];
            let starts = (options != SortOptions::default()).then(|| cursors.clone());
            prepared.put(array, &mut to.buffer, &mut cursors)?;
            for (start, end) in starts.iter().flatten().zip(&cursors) {
                turn(&mut to.buffer[*start..*end], options);
            }
        }
        to.places = Places::Offsets(offsets);
        Ok(())
    }
}

/// Brings a column of one row, ascending with NULLs first, into another order.
fn turn(column: &mut [u8], options: SortOptions) {
    let Some((marker, value)) = column.split_first_mut() else { return };
    if *marker == NULL && !options.nulls_first {
        *marker = NULL_LAST;
    }
    if options.descending {
        value.iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// Where values of fixed width go.
trait FixedSink {
    /// Writes a value for each row, or a NULL for `None`.
    fn put<const W: usize>(&mut self, rows: usize, value: impl Fn(usize) -> Option<[u8; W]>);
}

/// At a fixed place in rows of one length.
struct Strided<'a> {
    buffer: &'a mut [u8],
    stride: usize,
    at: usize,
}

impl FixedSink for Strided<'_> {
    #[inline(always)]
    fn put<const W: usize>(&mut self, _: usize, value: impl Fn(usize) -> Option<[u8; W]>) {
        let at = self.at;
        for (i, row) in self.buffer.chunks_exact_mut(self.stride).enumerate() {
            let column = &mut row[at..at + 1 + W];
            if let Some(value) = value(i) {
                column[0] = VALUE;
                column[1..].copy_from_slice(&value);
            }
        }
    }
}

/// Where each row has come to.
struct AtCursors<'a> {
    buffer: &'a mut [u8],
    cursors: &'a mut [usize],
}

impl FixedSink for AtCursors<'_> {
    #[inline(always)]
    fn put<const W: usize>(&mut self, _: usize, value: impl Fn(usize) -> Option<[u8; W]>) {
        for (i, cursor) in self.cursors.iter_mut().enumerate() {
            let column = &mut self.buffer[*cursor..*cursor + 1 + W];
            if let Some(value) = value(i) {
                column[0] = VALUE;
                column[1..].copy_from_slice(&value);
            }
            *cursor += 1 + W;
        }
    }
}

fn put_fixed(array: &ArrayRef, sink: &mut impl FixedSink) -> Result<()> {
    let rows = array.len();
    match array.data_type() {
        DataType::Null => sink.put::<0>(rows, |_| None),
        DataType::Boolean => {
            let booleans = array.as_boolean();
            sink.put(rows, |i| booleans.is_valid(i).then(|| [u8::from(booleans.value(i))]));
        }
        data_type => with_fixed_type!(
            data_type,
            T => put_primitive(array.as_primitive::<T>(), sink),
            return Err(Error::bug(format!("{data_type} is no type of fixed width")))
        ),
    }
    Ok(())
}

fn put_primitive<T: ArrowPrimitiveType, const W: usize>(array: &PrimitiveArray<T>, sink: &mut impl FixedSink)
where
    T::Native: Fixed<W>,
{
    let values = &array.values()[..];
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => sink.put(values.len(), |i| Some(values[i].to_ordered())),
        Some(nulls) => sink.put(values.len(), |i| nulls.is_valid(i).then(|| values[i].to_ordered())),
    }
}

/// A column of which the lengths are known.
enum Prepared {
    Fixed(usize),
    Bytes,
    /// The elements of all rows, encoded.
    List(Rows),
    /// Keys and values of all rows, and the order of the keys within each row.
    Map {
        keys: Rows,
        values: Rows,
        order: Vec<u32>,
    },
    /// The fields of each row, encoded.
    Struct(Rows),
}

/// Columns inside another: ascending, NULLs first.
fn encode_inner(columns: &[Column], arrays: &[ArrayRef], rows: usize) -> Result<Rows> {
    let options = vec![SortOptions::default(); columns.len()];
    let stride = columns.iter().try_fold(0, |sum, column| Some(sum + column.stride()?));
    let mut encoded = Rows::default();
    Encoder { columns, options: &options, stride }.encode(arrays, rows, &mut encoded)?;
    Ok(encoded)
}

/// Encodes the part of `values` that the offsets are about.
fn encode_elements(column: &Column, values: &ArrayRef, offsets: &[i32]) -> Result<Rows> {
    let (first, last) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
    encode_inner(std::slice::from_ref(column), &[values.slice(first, last - first)], last - first)
}

/// The elements of a row, counted from the first offset.
fn elements(offsets: &[i32], row: usize) -> std::ops::Range<usize> {
    (offsets[row] - offsets[0]) as usize..(offsets[row + 1] - offsets[0]) as usize
}

impl Prepared {
    fn new(array: &ArrayRef, column: &Column) -> Result<Self> {
        Ok(match &column.layout {
            Layout::Fixed(width) => Prepared::Fixed(*width),
            Layout::Bytes => Prepared::Bytes,
            Layout::List(item) => {
                let list = array.as_list::<i32>();
                Prepared::List(encode_elements(item, list.values(), list.offsets())?)
            }
            Layout::Map(key, value) => {
                let map = array.as_map();
                let keys = encode_elements(key, map.keys(), map.offsets())?;
                let values = encode_elements(value, map.values(), map.offsets())?;
                let mut order: Vec<u32> = (0..keys.len() as u32).collect();
                for row in 0..map.len() {
                    order[elements(map.offsets(), row)].sort_by_key(|entry| keys.row(*entry as usize));
                }
                Prepared::Map { keys, values, order }
            }
            Layout::Struct(fields) => {
                let row = array.as_struct();
                Prepared::Struct(encode_inner(fields, row.columns(), row.len())?)
            }
        })
    }

    /// Adds what each row takes to its length.
    fn add_lengths(&self, array: &ArrayRef, lengths: &mut [usize]) {
        let rows = array.len();
        let nulls = array.nulls();
        let mut add = |value: &dyn Fn(usize) -> usize| {
            for (i, length) in lengths.iter_mut().enumerate().take(rows) {
                *length += if nulls.is_none_or(|nulls| nulls.is_valid(i)) { 1 + value(i) } else { 1 };
            }
        };
        match self {
            Prepared::Fixed(width) => lengths.iter_mut().for_each(|length| *length += 1 + width),
            Prepared::Bytes => {
                for_each_bytes(array, |i, bytes| lengths[i] += bytes.map_or(1, |b| 2 + b.len() + escapes(b)));
            }
            Prepared::List(rows) => {
                let list = array.as_list::<i32>();
                add(&|i| 1 + elements(list.offsets(), i).map(|e| 1 + rows.row(e).len()).sum::<usize>());
            }
            Prepared::Map { keys, values, .. } => {
                let map = array.as_map();
                let entry = |e: usize| 1 + keys.row(e).len() + values.row(e).len();
                add(&|i| 1 + elements(map.offsets(), i).map(entry).sum::<usize>());
            }
            Prepared::Struct(fields) => add(&|i| fields.row(i).len()),
        }
    }

    /// Writes the column, moving each cursor behind it.
    fn put(&self, array: &ArrayRef, buffer: &mut [u8], cursors: &mut [usize]) -> Result<()> {
        match self {
            Prepared::Fixed(_) => return put_fixed(array, &mut AtCursors { buffer, cursors }),
            Prepared::Bytes => {
                for_each_bytes(array, |i, bytes| cursors[i] = put_bytes(bytes, buffer, cursors[i]));
                return Ok(());
            }
            _ => {}
        }
        for (i, cursor) in cursors.iter_mut().enumerate() {
            if array.is_null(i) {
                *cursor += 1;
                continue;
            }
            let mut put = |bytes: &[u8]| {
                buffer[*cursor..*cursor + bytes.len()].copy_from_slice(bytes);
                *cursor += bytes.len();
            };
            put(&[VALUE]);
            match self {
                Prepared::List(rows) => {
                    for element in elements(array.as_list::<i32>().offsets(), i) {
                        put(&[ELEMENT]);
                        put(rows.row(element));
                    }
                    put(&[END]);
                }
                Prepared::Map { keys, values, order } => {
                    for entry in &order[elements(array.as_map().offsets(), i)] {
                        put(&[ELEMENT]);
                        put(keys.row(*entry as usize));
                        put(values.row(*entry as usize));
                    }
                    put(&[END]);
                }
                Prepared::Struct(fields) => put(fields.row(i)),
                Prepared::Fixed(_) | Prepared::Bytes => {}
            }
        }
        Ok(())
    }
}

/// Calls `f` with the bytes of each row of a column of strings or bytes.
#[inline(always)]
fn for_each_bytes<'a>(array: &'a ArrayRef, mut f: impl FnMut(usize, Option<&'a [u8]>)) {
    macro_rules! each {
        ($typed:expr) => {
            $typed.iter().enumerate().for_each(|(i, value)| f(i, value.map(AsRef::<[u8]>::as_ref)))
        };
    }
    match array.data_type() {
        DataType::Utf8 => each!(array.as_string::<i32>()),
        DataType::LargeUtf8 => each!(array.as_string::<i64>()),
        DataType::Utf8View => each!(array.as_string_view()),
        DataType::Binary => each!(array.as_binary::<i32>()),
        DataType::LargeBinary => each!(array.as_binary::<i64>()),
        DataType::BinaryView => each!(array.as_binary_view()),
        DataType::FixedSizeBinary(_) => each!(array.as_fixed_size_binary()),
        _ => {}
    }
}

/// How many bytes are escaped.
#[inline]
fn escapes(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte <= 1).count()
}

/// Writes marker, escaped bytes and end; returns where it ended.
#[inline]
fn put_bytes(bytes: Option<&[u8]>, buffer: &mut [u8], mut at: usize) -> usize {
    let Some(bytes) = bytes else { return at + 1 };
    buffer[at] = VALUE;
    at += 1;
    if escapes(bytes) == 0 {
        buffer[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    } else {
        for byte in bytes {
            if *byte <= 1 {
                buffer[at] = 1;
                at += 1;
            }
            buffer[at] = byte + u8::from(*byte <= 1);
            at += 1;
        }
    }
    buffer[at] = END;
    at + 1
}

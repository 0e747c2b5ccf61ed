//! `UNNEST` of arrays, maps and multisets, with ordinality.

use super::spec::TableRows;
use arrow::array::{Array, ArrayRef, AsArray, Int32Array, RecordBatch, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, Int32Type, Schema};
use flugs_types::{Error, Result};
use std::sync::Arc;

/// The most rows that a batch may be taken apart into.
const ROWS_MAX: usize = 1 << 27;

/// What is taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unnested {
    /// An array: a row an element.
    Array,
    /// A map: a row an entry, of its key and its value.
    Map,
    /// A multiset: an element as often as it is there.
    Multiset,
}

/// The table function behind `UNNEST`, of one argument. An element that is a `ROW` gives a column a field; NULL in place of a
/// collection gives no row, as an empty one does. With ordinality, a last column `INT NOT NULL` counts the rows of each collection
/// from 1.
pub fn unnest(what: Unnested, with_ordinality: bool) -> TableRows {
    Arc::new(move |arguments: &RecordBatch| {
        let [collection] = arguments.columns() else {
            return Err(Error::bug("UNNEST takes one argument"));
        };
        let elements = Elements::new(what, collection)?;
        let mut columns: Vec<ArrayRef> = Vec::new();
        for (values, flat) in &elements.values {
            columns.extend(if *flat {
                fields(values, &elements.at)?
            } else {
                vec![pick(values, &elements.at)?]
            });
        }
        if with_ordinality {
            columns.push(Arc::new(elements.ordinals()));
        }
        let field =
            |(i, column): (usize, &ArrayRef)| Field::new(format!("f{i}"), column.data_type().clone(), true);
        let schema = Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>());
        let rows = RecordBatch::try_new(Arc::new(schema), columns).map_err(misfit)?;
        Ok((rows, elements.of))
    })
}

fn misfit(e: arrow::error::ArrowError) -> Error {
    Error::bug("the elements of a collection").caused_by(e)
}

/// The elements of a column of collections.
struct Elements {
    /// The columns of the elements, and whether fields become columns.
    values: Vec<(ArrayRef, bool)>,
    /// Which elements.
    at: Vec<u32>,
    /// The row that each is of.
    of: Vec<u32>,
}

impl Elements {
    fn new(what: Unnested, collection: &ArrayRef) -> Result<Self> {
        let is_row = |values: &ArrayRef| matches!(values.data_type(), DataType::Struct(_));
        match (what, collection.data_type()) {
            (Unnested::Array, DataType::List(_)) => {
                let list = collection.as_list::<i32>();
                let flat = is_row(list.values());
                Elements::of(collection, list.offsets(), vec![(list.values().clone(), flat)], |_| 1)
            }
            (Unnested::Map, DataType::Map(..)) => {
                let map = collection.as_map();
                let values = vec![(map.keys().clone(), false), (map.values().clone(), false)];
                Elements::of(collection, map.offsets(), values, |_| 1)
            }
            (Unnested::Multiset, DataType::Map(entries, _)) if counts_elements(entries.data_type()) => {
                let map = collection.as_map();
                let counts = map.values().as_primitive::<Int32Type>();
                let count =
                    |at: usize| if counts.is_valid(at) { counts.value(at).max(0) as usize } else { 0 };
                let flat = is_row(map.keys());
                Elements::of(collection, map.offsets(), vec![(map.keys().clone(), flat)], count)
            }
            (_, other) => Err(Error::bug(format!("{other} cannot be taken apart as {what:?}"))),
        }
    }

    fn of(
        collection: &ArrayRef,
        offsets: &[i32],
        values: Vec<(ArrayRef, bool)>,
        count: impl Fn(usize) -> usize,
    ) -> Result<Self> {
        let (mut at, mut of) = (Vec::new(), Vec::new());
        for row in (0..collection.len()).filter(|row| collection.is_valid(*row)) {
            for element in offsets[row]..offsets[row + 1] {
                let n = count(element as usize);
                if at.len() + n > ROWS_MAX {
                    return Err(Error::job(format!("UNNEST makes more than {ROWS_MAX} rows of one batch"))
                        .mend("take apart smaller collections"));
                }
                at.resize(at.len() + n, element as u32);
                of.resize(of.len() + n, row as u32);
            }
        }
        Ok(Elements { values, at, of })
    }

    fn ordinals(&self) -> Int32Array {
        let mut last = None;
        let mut ordinal = 0;
        let next = |row: &u32| {
            ordinal = if last == Some(*row) { ordinal + 1 } else { 1 };
            last = Some(*row);
            ordinal
        };
        self.of.iter().map(next).collect::<Vec<i32>>().into()
    }
}

fn counts_elements(entries: &DataType) -> bool {
    matches!(entries, DataType::Struct(fields) if fields.len() == 2 && fields[1].data_type() == &DataType::Int32)
}

fn pick(values: &ArrayRef, at: &[u32]) -> Result<ArrayRef> {
    take(values, &UInt32Array::from(at.to_vec()), None).map_err(misfit)
}

/// The fields of elements that are rows, each as a column; those of a NULL are NULL.
fn fields(values: &ArrayRef, at: &[u32]) -> Result<Vec<ArrayRef>> {
    let rows = values.as_struct();
    let at: UInt32Array = at.iter().map(|at| rows.is_valid(*at as usize).then_some(*at)).collect();
    rows.columns().iter().map(|column| take(column, &at, None).map_err(misfit)).collect()
}

//! Table functions and `UNNEST`.

use super::*;
use crate::join::spec::{JoinType, TableRows};
use crate::join::testing::{column, compare, concatenation, nullable};
use crate::join::{Unnested, unnest};
use crate::testing::{Compare, Driver, Step, changes, replay, schema, text};
use arrow::array::{
    Array, AsArray, Int32Builder, Int64Array, Int64Builder, ListArray, MapBuilder, StringArray,
    StringViewBuilder, StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Fields, Int64Type, SchemaRef};
use datafusion_expr::Operator as Op;

/// The numbers below its argument, which must not be negative.
fn below() -> TableRows {
    Arc::new(|arguments| {
        let limits = arguments.column(0).as_primitive::<Int64Type>();
        let (mut values, mut of) = (Vec::new(), Vec::new());
        for (row, limit) in limits.iter().enumerate() {
            let limit = limit.unwrap_or(0);
            if limit < 0 {
                return Err(Error::data("a negative limit"));
            }
            values.extend(0..limit);
            of.resize(values.len(), row as u32);
        }
        let column: ArrayRef = Arc::new(Int64Array::from(values));
        Ok((RecordBatch::try_from_iter([("n", column)]).unwrap(), of))
    })
}

fn spec(join_type: JoinType) -> CorrelateSpec {
    let (left, right) = (schema("id BIGINT, n BIGINT"), schema("i BIGINT"));
    CorrelateSpec {
        join_type,
        function: below(),
        arguments: vec![column(&left, 1)],
        condition: None,
        output: vec![0, 2],
        schema: nullable(&concatenation(&left, &right), &[0, 2]),
        left,
        right,
    }
}

fn run(spec: &CorrelateSpec, table: &str) -> String {
    let steps = [Step::Batch(changes(&spec.left, table)), Step::End];
    let given = replay(|| Correlate::new(spec.clone()), &steps, &Compare::Rows);
    given.iter().map(text).collect::<Vec<_>>().join("\n")
}

#[test]
fn each_row_stands_beside_what_is_made_of_it() {
    let rows =
        "+I | 1 | 2\n+I | 2 | 0\n+I | 3 | NULL\n-D | 1 | 2\n-U | 2 | 0\n+U | 2 | 1\n-U | 2 | 1\n+U | 4 | 1";
    assert_eq!(
        run(&spec(JoinType::Inner), rows),
        "+I | 1 | 0\n+I | 1 | 1\n-D | 1 | 0\n-D | 1 | 1\n+I | 2 | 0\n-U | 2 | 0\n+U | 4 | 0"
    );
    assert_eq!(
        run(&spec(JoinType::Left), rows),
        "+I | 1 | 0\n+I | 1 | 1\n+I | 2 | NULL\n+I | 3 | NULL\n-D | 1 | 0\n-D | 1 | 1\n\
         -U | 2 | NULL\n+U | 2 | 0\n-U | 2 | 0\n+U | 4 | 0"
    );
}

#[test]
fn a_condition_on_what_is_made_holds_before_rows_are_padded() {
    let mut spec = spec(JoinType::Left);
    spec.condition = Some(compare(&concatenation(&spec.left, &spec.right), 0, Op::Lt, 2));
    assert_eq!(run(&spec, "+I | 1 | 4\n+I | 5 | 2"), "+I | 1 | 2\n+I | 1 | 3\n+I | 5 | NULL");
}

#[test]
fn what_explodes_comes_in_bounded_batches() {
    let spec = spec(JoinType::Inner);
    let mut driver = Driver::with(Correlate::new(spec.clone()), true, None).unwrap();
    driver.push(changes(&spec.left, "+I | 1 | 1000\n+I | 2 | 1")).unwrap();
    let batches = driver.take();
    assert!(batches.iter().all(|batch| flugs_batch::Batch::len(batch) <= 5));
    assert_eq!(batches.iter().map(flugs_batch::Batch::len).sum::<usize>(), 1001);
}

#[test]
fn an_error_of_the_function_is_an_error() {
    let spec = spec(JoinType::Inner);
    let mut driver = Driver::new(Correlate::new(spec.clone())).unwrap();
    assert_eq!(
        driver.push(changes(&spec.left, "+I | 1 | -1")).unwrap_err().to_string().matches("negative").count(),
        1
    );
}

/// What a function makes of one column, without the operator.
fn made(function: &TableRows, collection: ArrayRef) -> (Vec<String>, Vec<u32>) {
    let rows = RecordBatch::try_from_iter_with_nullable([("c", collection, true)]).unwrap();
    let (rows, of) = function(&rows).unwrap();
    let text = crate::testing::rows_text(&ChangeBatch::inserts(rows));
    (text.into_iter().map(|row| row.trim_start_matches("+I | ").to_owned()).collect(), of)
}

#[test]
fn arrays_are_taken_apart() {
    let of: SchemaRef = schema("a ARRAY<INT>");
    let arrays = changes(&of, "+I | [5, NULL]\n+I | NULL\n+I | []\n+I | [6]").into_rows();
    // Only a part of the values belongs to the slice.
    let slice = arrays.slice(0, 4).column(0).clone();
    let (rows, rows_of) = made(&unnest(Unnested::Array, true), slice.clone());
    assert_eq!(rows, ["5 | 1", "NULL | 2", "6 | 1"]);
    assert_eq!(rows_of, [0, 0, 3]);
    assert_eq!(made(&unnest(Unnested::Array, false), slice.slice(1, 3)), (vec!["6".to_owned()], vec![2]));
}

#[test]
fn elements_that_are_rows_give_their_fields() {
    let fields: Fields =
        vec![Field::new("x", DataType::Int64, true), Field::new("y", DataType::Utf8, true)].into();
    let rows = StructArray::new(
        fields.clone(),
        vec![
            Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef,
            Arc::new(StringArray::from(vec![Some("a"), None, Some("c")])),
        ],
        Some(NullBuffer::from(vec![true, true, false])),
    );
    let item = Arc::new(Field::new("item", DataType::Struct(fields), true));
    let list = ListArray::new(item, OffsetBuffer::from_lengths([2, 1]), Arc::new(rows), None);
    let (rows, of) = made(&unnest(Unnested::Array, false), Arc::new(list));
    assert_eq!(rows, ["1 | a", "2 | NULL", "NULL | NULL"]);
    assert_eq!(of, [0, 0, 1]);
}

#[test]
fn maps_and_multisets_are_taken_apart() {
    let mut map = MapBuilder::new(None, StringViewBuilder::new(), Int64Builder::new());
    map.keys().append_value("a");
    map.values().append_value(1);
    map.keys().append_value("b");
    map.values().append_null();
    map.append(true).unwrap();
    map.append(false).unwrap();
    let (rows, of) = made(&unnest(Unnested::Map, false), Arc::new(map.finish()));
    assert_eq!((rows, of), (vec!["a | 1".to_owned(), "b | NULL".to_owned()], vec![0, 0]));
    let mut multiset = MapBuilder::new(None, StringViewBuilder::new(), Int32Builder::new());
    multiset.keys().append_value("a");
    multiset.values().append_value(2);
    multiset.keys().append_value("b");
    multiset.values().append_value(1);
    multiset.append(true).unwrap();
    let multiset: ArrayRef = Arc::new(multiset.finish());
    let (rows, of) = made(&unnest(Unnested::Multiset, true), multiset.clone());
    assert_eq!((rows, of), (vec!["a | 1".to_owned(), "a | 2".to_owned(), "b | 3".to_owned()], vec![0, 0, 0]));
    let rows = RecordBatch::try_from_iter([("c", multiset)]).unwrap();
    assert!(unnest(Unnested::Array, false)(&rows).is_err());
}

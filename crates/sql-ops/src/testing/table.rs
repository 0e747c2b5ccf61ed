//! Batches as text: a line for each row, `+I | 1 | a`, and `NULL` for NULL.
//!
//! Times and timestamps are whole numbers of their column's unit, arrays stand in brackets (`[a, b]`), anything else as Arrow
//! reads and prints it.

use arrow::array::{Array, ArrayRef, AsArray, ListArray, RecordBatch, StringArray};
use arrow::array::{BinaryArray, RecordBatchOptions};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int32Type, Int64Type, Schema, SchemaRef};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use flugs_batch::{Batch, ChangeBatch};
use flugs_sql_types::{LogicalType, SqlType, to_schema};
use flugs_types::RowKind;
use std::sync::Arc;

/// A schema from a text such as `k BIGINT NOT NULL, t TIMESTAMP(3), tags ARRAY<STRING>`.
pub fn schema(text: &str) -> SchemaRef {
    let columns: Vec<(String, SqlType)> = split(text, ',')
        .into_iter()
        .map(|column| {
            let (name, sql_type) =
                column.split_once(' ').unwrap_or_else(|| panic!("'{column}': a name and a type"));
            (name.to_owned(), type_of(sql_type.trim()))
        })
        .collect();
    to_schema(columns.iter().map(|(name, sql_type)| (name.as_str(), sql_type)))
}

/// Cuts where the separator stands outside of parentheses and brackets.
fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth -= 1,
            c if c == separator && depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn type_of(text: &str) -> SqlType {
    let (text, nullable) = match text.strip_suffix("NOT NULL") {
        Some(text) => (text.trim(), false),
        None => (text, true),
    };
    let (name, arguments) = match text.find(['(', '<']) {
        Some(at) => (&text[..at], &text[at + 1..text.len() - 1]),
        None => (text, ""),
    };
    let number = |i: usize, default: u8| {
        split(arguments, ',').get(i).map_or(default, |n| n.parse().expect("a number"))
    };
    let kind = match name {
        "BOOLEAN" => LogicalType::Boolean,
        "TINYINT" => LogicalType::TinyInt,
        "SMALLINT" => LogicalType::SmallInt,
        "INT" => LogicalType::Int,
        "BIGINT" => LogicalType::BigInt,
        "FLOAT" => LogicalType::Float,
        "DOUBLE" => LogicalType::Double,
        "DECIMAL" => LogicalType::Decimal(number(0, 10), number(1, 0)),
        "STRING" => LogicalType::STRING,
        "BYTES" => LogicalType::BYTES,
        "DATE" => LogicalType::Date,
        "TIME" => LogicalType::Time(0),
        "TIMESTAMP" => LogicalType::Timestamp(number(0, 6)),
        "TIMESTAMP_LTZ" => LogicalType::TimestampLtz(number(0, 6)),
        "ARRAY" => LogicalType::Array(Box::new(type_of(arguments))),
        "MULTISET" => LogicalType::Multiset(Box::new(type_of(arguments))),
        "MAP" => {
            let types = split(arguments, ',');
            LogicalType::Map(Box::new(type_of(types[0])), Box::new(type_of(types[1])))
        }
        other => panic!("the type {other} is not known to tests"),
    };
    SqlType { kind, nullable }
}

/// A batch of these rows.
pub fn changes(schema: &Schema, table: &str) -> ChangeBatch {
    let lines: Vec<Vec<&str>> = table
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let kinds: Vec<RowKind> = lines
        .iter()
        .map(|line| match line[0] {
            "+I" => RowKind::Insert,
            "-U" => RowKind::UpdateBefore,
            "+U" => RowKind::UpdateAfter,
            "-D" => RowKind::Delete,
            other => panic!("'{other}' is no kind of row"),
        })
        .collect();
    let column = |(i, field): (usize, &Arc<Field>)| -> ArrayRef {
        let cells: Vec<Option<&str>> = lines
            .iter()
            .map(|line| {
                Some(*line.get(i + 1).unwrap_or_else(|| panic!("{line:?}: no value for {}", field.name())))
            })
            .map(|cell| cell.filter(|cell| *cell != "NULL"))
            .collect();
        column_of(field.data_type(), &cells)
    };
    let columns = schema.fields().iter().enumerate().map(column).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(lines.len()));
    let rows = RecordBatch::try_new_with_options(Arc::new(schema.clone()), columns, &options)
        .unwrap_or_else(|e| panic!("{table}: {e}"));
    ChangeBatch::new(rows, &kinds).unwrap_or_else(|e| panic!("{e}"))
}

fn column_of(data_type: &DataType, cells: &[Option<&str>]) -> ArrayRef {
    let texts: ArrayRef = Arc::new(StringArray::from(cells.to_vec()));
    let to = |array: &ArrayRef, to: &DataType| cast(array, to).unwrap_or_else(|e| panic!("{cells:?}: {e}"));
    let column = match data_type {
        DataType::Timestamp(..) => to(&to(&texts, &DataType::Int64), data_type),
        DataType::Time32(_) => to(&to(&texts, &DataType::Int32), data_type),
        DataType::Binary => {
            Arc::new(BinaryArray::from_iter(cells.iter().map(|c| c.map(str::as_bytes)))) as ArrayRef
        }
        DataType::List(item) => {
            let rows: Vec<Vec<Option<&str>>> = cells
                .iter()
                .map(|cell| {
                    let inner = cell.map_or("", |c| c.trim_start_matches('[').trim_end_matches(']'));
                    split(inner, ',').into_iter().map(|i| Some(i).filter(|i| *i != "NULL")).collect()
                })
                .collect();
            let offsets = OffsetBuffer::from_lengths(rows.iter().map(Vec::len));
            let nulls = NullBuffer::from_iter(cells.iter().map(Option::is_some));
            let items = column_of(item.data_type(), &rows.concat());
            Arc::new(ListArray::new(item.clone(), offsets, items, Some(nulls)))
        }
        _ => to(&texts, data_type),
    };
    let lost = (0..cells.len()).find(|i| cells[*i].is_some() && column.is_null(*i));
    assert!(lost.is_none(), "{:?} is no {data_type}", lost.map(|i| cells[i]));
    column
}

/// A batch as text.
pub fn text(batch: &ChangeBatch) -> String {
    rows_text(batch).join("\n")
}

/// A line for each row.
pub fn rows_text(batch: &ChangeBatch) -> Vec<String> {
    let columns: Vec<ArrayRef> = batch.rows().columns().iter().map(shown).collect();
    let options = FormatOptions::default().with_null("NULL");
    let formatters: Vec<ArrayFormatter<'_>> = columns
        .iter()
        .map(|c| ArrayFormatter::try_new(c.as_ref(), &options).unwrap_or_else(|e| panic!("{e}")))
        .collect();
    let row = |i: usize| {
        formatters
            .iter()
            .fold(batch.kind(i).to_string(), |line, column| format!("{line} | {}", column.value(i)))
    };
    (0..batch.len()).map(row).collect()
}

/// Times as numbers.
fn shown(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Timestamp(..) => {
            let numbers = cast(column, &DataType::Int64).unwrap_or_else(|e| panic!("{e}"));
            Arc::new(numbers.as_primitive::<Int64Type>().clone())
        }
        DataType::Time32(_) => {
            let numbers = cast(column, &DataType::Int32).unwrap_or_else(|e| panic!("{e}"));
            Arc::new(numbers.as_primitive::<Int32Type>().clone())
        }
        _ => column.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_print_what_they_were_read_from() {
        let schema = schema(
            "b BOOLEAN, i INT, l BIGINT NOT NULL, d DOUBLE, n DECIMAL(10, 2), s STRING, day DATE, t TIMESTAMP(3), z TIMESTAMP_LTZ(6), a ARRAY<INT>",
        );
        let table = "+I | true | 1 | 2 | 1.5 | 3.25 | a b | 2024-02-29 | 1000 | -1 | [1, NULL]\n\
                     -U | NULL | NULL | 7 | NULL | NULL | NULL | NULL | NULL | NULL | NULL\n\
                     +U | false | -1 | 7 | 2.0 | -0.50 |  | 1970-01-01 | 0 | 5 | []";
        assert_eq!(text(&changes(&schema, table)), table);
        assert!(!schema.field(2).is_nullable());
        assert_eq!(text(&changes(&super::schema(""), "+I\n-D")), "+I\n-D");
    }
}

//! Tables, decoders and encoders for tests; rows are written as Flink's `print` shows them.

use super::RowText;
use arrow::datatypes::SchemaRef;
use flugs_batch::{Batch, ChangeBatch};
use flugs_sql_types::{LogicalType, RowField, SqlType, to_schema};
use flugs_table::{FieldPath, FormatContext, FormatFactory, Options, RecordDecoder};
use flugs_types::Result;

pub(super) fn row(fields: &[(&str, LogicalType)]) -> LogicalType {
    let field = |(name, kind): &(&str, LogicalType)| RowField::new(*name, kind.clone().nullable());
    LogicalType::Row(fields.iter().map(field).collect())
}

pub(super) fn array(of: LogicalType) -> LogicalType {
    LogicalType::Array(Box::new(of.nullable()))
}

pub(super) fn map(of: LogicalType) -> LogicalType {
    LogicalType::Map(Box::new(LogicalType::STRING.nullable()), Box::new(of.nullable()))
}

/// A table of nullable columns with a format.
pub(super) struct Table<F> {
    pub(super) format: F,
    columns: Vec<(String, SqlType)>,
    options: Options,
}

impl<F: FormatFactory> Table<F> {
    pub(super) fn new(format: F, columns: &[(&str, LogicalType)], options: &[(&str, &str)]) -> Self {
        let columns = columns.iter().map(|(name, kind)| ((*name).to_owned(), kind.clone().nullable()));
        let option =
            |(key, value): &(&str, &str)| (format!("{}.{key}", format.identifier()), (*value).to_owned());
        let options = options.iter().map(option).collect();
        Table { columns: columns.collect(), options, format }
    }

    pub(super) fn not_null(mut self, column: usize) -> Self {
        self.columns[column].1.nullable = false;
        self
    }

    pub(super) fn schema(&self) -> SchemaRef {
        to_schema(self.columns.iter().map(|(name, sql_type)| (name.as_str(), sql_type)))
    }

    fn type_of(&self, path: &FieldPath) -> SqlType {
        let (_, first) = self.columns.iter().find(|(name, _)| *name == path.0[0]).unwrap();
        path.0[1..].iter().fold(first.clone(), |of, name| match of.kind {
            LogicalType::Row(fields) => fields.into_iter().find(|f| f.name == *name).unwrap().sql_type,
            other => panic!("{other} has no fields"),
        })
    }

    pub(super) fn decoder(&self, paths: &[&str]) -> Result<Box<dyn RecordDecoder>> {
        let paths: Vec<FieldPath> =
            paths.iter().map(|path| FieldPath(path.split('.').map(str::to_owned).collect())).collect();
        let names: Vec<String> = paths.iter().map(|path| path.0.join("_")).collect();
        let types: Vec<SqlType> = paths.iter().map(|path| self.type_of(path)).collect();
        let schema = to_schema(names.iter().map(String::as_str).zip(&types));
        self.format.decoder(FormatContext {
            table: "c.d.t",
            physical: &self.schema(),
            columns: &paths,
            schema: &schema,
            options: &self.options,
        })
    }

    fn all(&self) -> Vec<&str> {
        self.columns.iter().map(|(name, _)| name.as_str()).collect()
    }

    pub(super) fn read(&self, records: &[&str]) -> ChangeBatch {
        let records: Vec<&[u8]> = records.iter().map(|record| record.as_bytes()).collect();
        let (rows, failures) = self.decoder(&self.all()).unwrap().decode(&records).unwrap();
        assert_eq!(failures, []);
        rows
    }

    /// The rows, and each failure as `record: message`.
    pub(super) fn rows_and_failures(&self, paths: &[&str], records: &[&str]) -> (Vec<String>, Vec<String>) {
        let records: Vec<&[u8]> = records.iter().map(|record| record.as_bytes()).collect();
        let paths = if paths.is_empty() { self.all() } else { paths.to_vec() };
        let (rows, failures) = self.decoder(&paths).unwrap().decode(&records).unwrap();
        (show(&rows), failures.iter().map(|f| format!("{}: {}", f.record, f.message)).collect())
    }

    pub(super) fn rows(&self, records: &[&str]) -> Vec<String> {
        show(&self.read(records))
    }

    /// The one failure of a record.
    pub(super) fn failure(&self, record: &str) -> String {
        let (rows, failures) = self.rows_and_failures(&[], &[record]);
        assert_eq!(rows, [""; 0]);
        failures.concat().strip_prefix("0: ").unwrap().to_owned()
    }

    pub(super) fn write(&self, rows: &ChangeBatch) -> Result<String> {
        let all: Vec<FieldPath> = self.all().iter().map(|name| FieldPath(vec![(*name).to_owned()])).collect();
        let context = FormatContext {
            table: "c.d.t",
            physical: &self.schema(),
            columns: &all,
            schema: &self.schema(),
            options: &self.options,
        };
        let mut out = b"before\n".to_vec();
        let written = self.format.encoder(context)?.encode(rows, &mut out);
        let text = String::from_utf8(out).unwrap();
        let behind = text.strip_prefix("before\n").unwrap().to_owned();
        if written.is_err() {
            assert_eq!(behind, "");
        }
        written.map(|()| behind)
    }

    /// Writes what was read.
    pub(super) fn rewrite(&self, records: &[&str]) -> String {
        self.write(&self.read(records)).unwrap()
    }
}

/// Rows as lines.
pub(super) fn show(rows: &ChangeBatch) -> Vec<String> {
    let text = RowText::new(rows.rows());
    let line = |row| {
        let mut line = String::new();
        text.row(&mut line, rows.kind(row), row);
        line
    };
    (0..rows.len()).map(line).collect()
}

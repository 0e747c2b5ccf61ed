//! The connectors: options and columns are checked, then tables are made.

use super::lookup::FileLookup;
use super::options::{FileOptions, OPTIONS, READ_OPTIONS, WriteOptions};
use super::partitions::Partitions;
use super::sink::FileTableSink;
use super::source::FileTable;
use arrow::datatypes::{Schema, SchemaRef};
use flugs_formats::columns::CsvFormat;
use flugs_sql_types::to_schema;
use flugs_table::{
    ChangelogMode, FormatFactory, LookupSource, OptionSpec, Options, TableContext, TableFactory, TableSink,
    TableSource,
};
use flugs_types::{Error, Result};
use std::sync::Arc;

/// How the contents of files are read and written.
#[derive(Clone)]
pub(super) enum Contents {
    /// Records, one behind the other.
    Rows(Arc<dyn FormatFactory>),
    #[cfg(feature = "parquet")]
    Parquet,
}

impl Contents {
    /// The format of records; none where files have none.
    pub(super) fn format(&self) -> Option<&Arc<dyn FormatFactory>> {
        match self {
            Contents::Rows(format) => Some(format),
            #[cfg(feature = "parquet")]
            Contents::Parquet => None,
        }
    }

    /// What rows that are read or written do.
    pub(super) fn changelog_mode(&self) -> ChangelogMode {
        self.format().map_or(ChangelogMode::Append, |format| format.changelog_mode())
    }
}

/// A table of files, whatever is done with it.
#[derive(Clone)]
pub(super) struct Described {
    pub(super) name: String,
    /// All columns.
    pub(super) schema: SchemaRef,
    /// Those that stand in files.
    pub(super) in_files: SchemaRef,
    pub(super) partitions: Partitions,
    pub(super) files: FileOptions,
    pub(super) options: Options,
    pub(super) contents: Contents,
}

impl Described {
    fn new(table: TableContext<'_>, contents: Contents) -> Result<Self> {
        let place = || format!("table {}", table.name);
        let files = FileOptions::of(table.options).map_err(|e| e.at(place()))?;
        let schema = to_schema(table.schema.columns.iter().map(|c| (c.name.as_str(), &c.sql_type)));
        let is_key = |name: &String| table.schema.partition_keys.contains(name);
        let in_files: Vec<_> = schema.fields().iter().filter(|f| !is_key(f.name())).cloned().collect();
        let keys = table.schema.partition_keys.iter().map(|key| {
            let index = schema.index_of(key).map_err(|_| {
                Error::job(format!("the partition key {key} is no column of the table")).at(place())
            })?;
            Ok(schema.fields()[index].clone())
        });
        let keys = keys.collect::<Result<Vec<_>>>()?;
        Ok(Described {
            name: table.name.to_owned(),
            in_files: Arc::new(Schema::new(in_files)),
            partitions: Partitions::new(keys, files.default_partition.clone()),
            schema,
            files,
            options: table.options.clone(),
            contents,
        })
    }
}

/// Makes the tables of `'connector' = 'filesystem'`.
#[derive(Debug, Clone, Copy)]
pub struct FileTables;

fn described(table: TableContext<'_>) -> Result<Described> {
    let name = table.options.required("format").map_err(|e| e.at(format!("table {}", table.name)))?;
    #[cfg(feature = "parquet")]
    if name == super::parquet::NAME {
        return Described::new(table, Contents::Parquet);
    }
    Described::new(table, Contents::Rows(table.registry.format(name)?.clone()))
}

impl TableFactory for FileTables {
    fn identifier(&self) -> &'static str {
        "filesystem"
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn has_format(&self) -> bool {
        true
    }

    fn source(&self, table: TableContext<'_>) -> Result<Box<dyn TableSource>> {
        Ok(Box::new(FileTable::new(described(table)?)?))
    }

    fn sink(&self, table: TableContext<'_>) -> Result<Box<dyn TableSink>> {
        let write = WriteOptions::of(table.options, &table.schema.partition_keys)
            .map_err(|e| e.at(format!("table {}", table.name)))?;
        Ok(Box::new(FileTableSink::new(described(table)?, write)?))
    }

    fn lookup(&self, table: TableContext<'_>, keys: &[usize]) -> Result<Box<dyn LookupSource>> {
        let described = described(table)?;
        if described.contents.changelog_mode() != ChangelogMode::Append {
            return Err(Error::job("rows cannot be looked up in files of changes")
                .at(format!("table {}", table.name))
                .mend("have the changes read by a temporal join"));
        }
        Ok(Box::new(FileLookup::new(described, keys)?))
    }
}

/// Makes the tables of `'connector' = 'side-input'`: a CSV file, read and looked up as by `filesystem`.
#[derive(Debug, Clone, Copy)]
pub struct SideInputTables;

fn side_input(table: TableContext<'_>) -> Result<Described> {
    Described::new(table, Contents::Rows(Arc::new(CsvFormat)))
}

impl TableFactory for SideInputTables {
    fn identifier(&self) -> &'static str {
        "side-input"
    }

    fn options(&self) -> &'static [OptionSpec] {
        READ_OPTIONS
    }

    fn source(&self, table: TableContext<'_>) -> Result<Box<dyn TableSource>> {
        Ok(Box::new(FileTable::new(side_input(table)?)?))
    }

    fn sink(&self, table: TableContext<'_>) -> Result<Box<dyn TableSink>> {
        Err(Error::job("a table of the connector 'side-input' cannot be written")
            .at(format!("table {}", table.name))
            .mend("use the connector 'filesystem' with 'format' = 'csv'"))
    }

    fn lookup(&self, table: TableContext<'_>, keys: &[usize]) -> Result<Box<dyn LookupSource>> {
        Ok(Box::new(FileLookup::new(side_input(table)?, keys)?))
    }
}

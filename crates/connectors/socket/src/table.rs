//! The SQL connector `socket`: what a TCP server sends, as rows.
//!
//! | option | default | |
//! | --- | --- | --- |
//! | `hostname` | | the server |
//! | `port` | | its port |
//! | `byte-delimiter` | `10` | the byte that ends a record, by its number; 10 is the end of a line |
//! | `format` | | `csv`, `json`, `debezium-json`, `raw` |
//!
//! One reader connects; the table ends when the server closes the connection. What was sent since the last checkpoint is lost when a
//! job fails. For a try: `nc -lk 9999`.

use crate::reader::{DecodeChunk, SocketFormat, SocketReader, too_long};
use crate::source::{RECORD_BYTES_MAX, Retries, SocketEnumerator};
use flugs_batch::{Batch, ChangeBatch};
use flugs_connector::{Boundedness, EnumeratorContext, ReaderContext, Source, SourceReader, SplitEnumerator};
use flugs_formats::{Chunk, Framing};
use flugs_sql_types::to_schema;
use flugs_table::{
    ChangelogMode, DecodeFailure, FieldPath, FormatContext, FormatFactory, LookupSource, OptionKind,
    OptionSpec, Options, RecordDecoder, RecordFraming, Registry, ScanRequest, TableContext, TableFactory,
    TableScan, TableSink, TableSource,
};
use flugs_types::{Error, Result};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

const LINE_END: u8 = b'\n';

const OPTIONS: &[OptionSpec] = &[
    OptionSpec { key: "hostname", kind: OptionKind::String, default: None, doc: "the server" },
    OptionSpec { key: "port", kind: OptionKind::Integer, default: None, doc: "its port" },
    OptionSpec {
        key: "max-record-size",
        kind: OptionKind::Memory,
        default: Some("1mb"),
        doc: "longer records are malformed",
    },
    OptionSpec {
        key: "byte-delimiter",
        kind: OptionKind::Integer,
        default: Some("10"),
        doc: "the byte that ends a record, by its number",
    },
];

/// Adds the connector.
pub fn register(registry: &mut Registry) {
    registry.add_connector(SocketTables);
}

/// Makes the tables of `'connector' = 'socket'`.
#[derive(Debug, Clone, Copy)]
pub struct SocketTables;

impl TableFactory for SocketTables {
    fn identifier(&self) -> &'static str {
        "socket"
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn has_format(&self) -> bool {
        true
    }

    fn source(&self, table: TableContext<'_>) -> Result<Box<dyn TableSource>> {
        let options = table.options;
        options.required("port")?;
        let port: u16 = options.integer("port")?.unwrap_or_default();
        let format = table.registry.format(options.required("format")?)?.clone();
        let end: u8 = options.integer("byte-delimiter")?.unwrap_or(LINE_END);
        let framing = match format.framing(options)? {
            _ if end != LINE_END => Framing::Delimited(end),
            RecordFraming::Lines => Framing::Lines,
            RecordFraming::QuotedLines { delimiter, quote } => Framing::Quoted { delimiter, quote },
        };
        let schema = to_schema(table.schema.columns.iter().map(|c| (c.name.as_str(), &c.sql_type)));
        let columns: Vec<FieldPath> =
            schema.fields().iter().map(|field| FieldPath(vec![field.name().clone()])).collect();
        let rows = Rows {
            table: table.name.to_owned(),
            format,
            framing,
            options: options.clone(),
            physical: schema.clone(),
            columns,
            schema,
        };
        let skips_malformed = rows.record_decoder()?.ignores_failures();
        let address = format!("{}:{port}", options.required("hostname")?);
        let record_bytes_max = options.memory("max-record-size")?.unwrap_or(RECORD_BYTES_MAX as u64);
        let record_bytes_max = record_bytes_max.clamp(1, 1 << 30) as usize;
        Ok(Box::new(SocketTable { address, rows, skips_malformed, record_bytes_max }))
    }

    fn sink(&self, table: TableContext<'_>) -> Result<Box<dyn TableSink>> {
        Err(Error::job("a socket table cannot be written").at(format!("table {}", table.name)))
    }

    fn lookup(&self, table: TableContext<'_>, _keys: &[usize]) -> Result<Box<dyn LookupSource>> {
        Err(Error::job("rows of a socket cannot be looked up").at(format!("table {}", table.name)))
    }
}

struct SocketTable {
    address: String,
    rows: Rows,
    skips_malformed: bool,
    record_bytes_max: usize,
}

impl TableSource for SocketTable {
    fn changelog_mode(&self) -> ChangelogMode {
        self.rows.format.changelog_mode()
    }

    fn boundedness(&self) -> Boundedness {
        Boundedness::Unbounded
    }

    fn reports_malformed(&self) -> bool {
        true
    }

    fn skips_malformed(&self) -> bool {
        self.skips_malformed
    }

    fn parallelism(&self) -> Option<u32> {
        Some(1)
    }

    fn scan(&self, request: &ScanRequest) -> Result<TableScan> {
        if !request.metadata.is_empty() {
            return Err(Error::job("a socket table has no metadata columns"));
        }
        let rows =
            Rows { columns: request.columns.clone(), schema: request.schema.clone(), ..self.rows.clone() };
        let (address, record_bytes_max) = (self.address.clone(), self.record_bytes_max);
        Ok(Box::new(SocketScan { address, rows, record_bytes_max }))
    }
}

/// How records become columns.
#[derive(Clone)]
struct Rows {
    table: String,
    format: Arc<dyn FormatFactory>,
    framing: Framing,
    options: Options,
    physical: arrow::datatypes::SchemaRef,
    columns: Vec<FieldPath>,
    schema: arrow::datatypes::SchemaRef,
}

impl Rows {
    fn record_decoder(&self) -> Result<Box<dyn RecordDecoder>> {
        self.format.decoder(FormatContext {
            table: &self.table,
            physical: &self.physical,
            columns: &self.columns,
            schema: &self.schema,
            options: &self.options,
        })
    }
}

struct SocketScan {
    address: String,
    rows: Rows,
    record_bytes_max: usize,
}

impl Source for SocketScan {
    type Item = ChangeBatch;

    fn boundedness(&self) -> Boundedness {
        Boundedness::Unbounded
    }

    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>> {
        Ok(Box::new(SocketEnumerator::new(self.address.clone(), context)?))
    }

    fn reader(&self, context: ReaderContext) -> Result<Box<dyn SourceReader<ChangeBatch>>> {
        let retries = Retries { max: Some(0), first_after: Duration::ZERO };
        let reader = SocketReader::new(
            self.rows.clone(),
            self.address.clone(),
            retries,
            self.record_bytes_max,
            context,
        );
        Ok(Box::new(reader))
    }
}

impl SocketFormat for Rows {
    type Item = ChangeBatch;

    fn framing(&self) -> Framing {
        self.framing
    }

    fn decoder(&self) -> Result<Box<dyn DecodeChunk<ChangeBatch>>> {
        Ok(Box::new(RowChunks { decoder: self.record_decoder()?, mended: 0 }))
    }
}

struct RowChunks {
    decoder: Box<dyn RecordDecoder>,
    mended: usize,
}

impl DecodeChunk<ChangeBatch> for RowChunks {
    fn decode(
        &mut self,
        chunk: &Chunk,
        records: Range<usize>,
        record_bytes_max: usize,
        fail: &mut dyn FnMut(usize, String) -> Result<()>,
    ) -> Result<Vec<ChangeBatch>> {
        let (mut numbers, mut bytes, mut failures) = (Vec::new(), Vec::new(), Vec::new());
        for i in records {
            match too_long(chunk, i, record_bytes_max, "'max-record-size'") {
                Some(error) => failures.push((i, error)),
                None => {
                    numbers.push(i);
                    bytes.push(chunk.record(i));
                }
            }
        }
        let (rows, failed) = self.decoder.decode(&bytes)?;
        let number = |record: usize| numbers.get(record).copied().unwrap_or(record);
        let all = failed.len();
        let failed: Vec<DecodeFailure> = failed.into_iter().filter(|failure| !failure.has_row).collect();
        self.mended += all - failed.len();
        failures.extend(failed.into_iter().map(|failure| (number(failure.record), failure.message)));
        failures.sort_by_key(|(record, _)| *record);
        for (record, error) in failures {
            fail(record, error)?;
        }
        Ok(if rows.is_empty() { Vec::new() } else { vec![rows] })
    }

    fn take_mended(&mut self) -> usize {
        std::mem::take(&mut self.mended)
    }
}

#[cfg(test)]
mod tests;

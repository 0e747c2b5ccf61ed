//! Rows of files looked up by key: the whole table in memory, read again from time to time where that is asked for.

use super::factory::{Contents, Described};
use super::plan::Layout;
use super::source::{all_columns, discovery, framing, row_format};
use crate::source::chunks::{BOM, FileFacts};
use crate::{Compression, failure};
use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use flugs_formats::{Chunk, Cutter};
use flugs_table::{KeyedRows, LookupSource, OnMalformed, RecordDecoder};
use flugs_types::{Clock, Error, Result, SystemClock};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How much is read and decoded at a time.
const READ_BYTES: u64 = 1 << 20;

/// A table of files by key.
pub(super) struct FileLookup {
    table: Described,
    keys: Vec<usize>,
    loaded: Mutex<Loaded>,
}

#[derive(Clone)]
struct Loaded {
    rows: Arc<KeyedRows>,
    /// By the monotonic clock.
    at: Duration,
}

impl FileLookup {
    /// Reads all files: rows that are added later are seen where the table is read again.
    pub(super) fn new(table: Described, keys: &[usize]) -> Result<Self> {
        if let Some(key) = keys.iter().find(|key| **key >= table.schema.fields().len()) {
            return Err(Error::bug(format!("there is no key column {key}")));
        }
        let loaded = load(&table, keys)?;
        Ok(FileLookup { keys: keys.to_vec(), table, loaded: Mutex::new(loaded) })
    }

    fn rows(&self) -> Result<Arc<KeyedRows>> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let is_old = |interval: Duration| SystemClock.monotonic().saturating_sub(loaded.at) >= interval;
        if self.table.files.reload.is_some_and(is_old) {
            *loaded = load(&self.table, &self.keys)?;
        }
        Ok(loaded.rows.clone())
    }
}

impl LookupSource for FileLookup {
    fn lookup(&self, keys: &RecordBatch) -> Result<(RecordBatch, Vec<u32>)> {
        self.rows()?.lookup(keys)
    }
}

fn load(table: &Described, keys: &[usize]) -> Result<Loaded> {
    let at = SystemClock.monotonic();
    let layout = Arc::new(all_columns(table)?);
    let mut batches = Vec::new();
    for file in discovery(table, &[]).files()? {
        match &table.contents {
            Contents::Rows(_) => read_records(table, &layout, &file.path, &mut batches)?,
            #[cfg(feature = "parquet")]
            Contents::Parquet => super::parquet::read_file(&layout, &file.path, &mut batches)?,
        }
    }
    let rows = concat_batches(&table.schema, &batches)
        .map_err(|e| Error::bug("batches of one table differ").caused_by(e))?;
    Ok(Loaded { rows: Arc::new(KeyedRows::new(rows, keys)?), at })
}

fn read_records(
    table: &Described,
    layout: &Arc<Layout>,
    path: &str,
    to: &mut Vec<RecordBatch>,
) -> Result<()> {
    let Some(rows) = row_format(table, layout.clone()) else { return Ok(()) };
    let at = Path::new(path);
    let failed = |e| failure::reading(at, e);
    let file = File::open(at).map_err(failed)?;
    let facts = FileFacts::new(path, &file.metadata().map_err(failed)?);
    let constants = layout.constants(&facts)?;
    let mut input = Compression::Auto.of(path).read(file, at)?;
    let mut cutter = Cutter::new(framing(&rows)?, table.files.record_bytes_max, 0);
    let mut decoder = rows.record_decoder()?;
    let skips = match OnMalformed::of(&table.options)? {
        None => decoder.ignores_failures(),
        Some(OnMalformed::Fail) => false,
        Some(OnMalformed::Skip | OnMalformed::Route(_)) => true,
    };
    loop {
        let read = (&mut input).take(READ_BYTES).read_to_end(cutter.buffer()).map_err(failed)?;
        let chunk = if read == 0 { cutter.finish() } else { cutter.cut() };
        if let Some(chunk) = chunk {
            let decoded = decode(&mut *decoder, &chunk, path, skips)?;
            to.push(layout.complete(&decoded, &constants)?);
        }
        if read == 0 {
            return Ok(());
        }
    }
}

/// All rows of a chunk. What cannot be read fails, unless it is to be skipped.
fn decode(decoder: &mut dyn RecordDecoder, chunk: &Chunk, path: &str, skips: bool) -> Result<RecordBatch> {
    let mut records: Vec<&[u8]> = (0..chunk.len()).map(|i| chunk.record(i)).collect();
    if chunk.offset(0) == 0
        && let Some(first) = records.first_mut()
    {
        *first = first.strip_prefix(BOM).unwrap_or(first);
    }
    let (rows, failures) = decoder.decode(&records)?;
    match failures.iter().find(|failure| !failure.has_row) {
        Some(failure) if !skips => {
            let offset = chunk.offset(failure.record);
            Err(Error::data(failure.message.clone()).at(format!("{path}, byte {offset}")))
        }
        _ => Ok(rows.into_rows()),
    }
}

//! Tables from text, as the connector `rows`: cut into batches as a run says, and held in the middle until a savepoint is taken.

use crate::harness::case::cells;
use crate::harness::sink::Collected;
use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::compute::{CastOptions, cast_with_options};
use flugs_batch::{Batch, ChangeBatch, Records};
use flugs_connector::{
    Boundedness, CollectionSource, EnumeratorContext, Malformed, PollContext, ReaderContext, ReaderStatus,
    Source, SourceOutput, SourceReader, Split, SplitEnumerator, SplitStatus,
};
use flugs_sql_types::to_schema;
use flugs_table::{
    ChangelogMode, LookupSource, OptionKind, OptionSpec, ScanRequest, TableContext, TableFactory, TableScan,
    TableSink, TableSource, select,
};
use flugs_types::{Error, Result, RowKind};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A table with its rows.
#[derive(Debug, Clone)]
pub struct InputTable {
    /// Its name.
    pub name: String,
    /// `append`, `upsert` or `retract`.
    pub mode: String,
    /// Rows come one by one in every run: watermarks move between them.
    pub single: bool,
    /// What stands between the brackets of `CREATE TABLE`.
    pub columns: String,
    /// Kinds and cells.
    pub rows: Vec<(RowKind, Vec<String>)>,
}

impl InputTable {
    /// A table from its section: `NAME MODE [single]`, then a line of columns, then rows.
    pub fn parse(head: &str, lines: &[&str]) -> Self {
        let mut words = head.split_whitespace().map(str::to_owned);
        let name = words.next().expect("a table's name");
        let mode = words.next().unwrap_or_else(|| "append".to_owned());
        let single = words.next().is_some_and(|word| word == "single");
        let columns = lines.iter().take_while(|line| line.starts_with("  ")).map(|line| line.trim());
        let columns = columns.collect::<Vec<_>>().join(" ");
        let rows = lines.iter().filter(|line| !line.starts_with("  ")).map(|line| {
            let mut cells = cells(line);
            let kind = match cells[0].as_str() {
                "+I" => Some(RowKind::Insert),
                "-U" => Some(RowKind::UpdateBefore),
                "+U" => Some(RowKind::UpdateAfter),
                "-D" => Some(RowKind::Delete),
                _ => None,
            };
            if kind.is_some() {
                cells.remove(0);
            }
            (kind.unwrap_or(RowKind::Insert), cells)
        });
        InputTable { name, mode, single, columns, rows: rows.collect() }
    }

    /// The statement that declares it.
    pub fn declaration(&self) -> String {
        format!("CREATE TABLE {} ({}) WITH ('connector' = 'rows', 'table' = '{0}')", self.name, self.columns)
    }
}

/// Holds sources in the middle.
#[derive(Default)]
pub struct Gate {
    /// Whether readers stop at half of their rows.
    pub closed: AtomicBool,
    /// Whether readers die once they have given another batch.
    pub deadly: AtomicBool,
    /// How many tables are read.
    pub scans: AtomicUsize,
    /// How many readers have stopped.
    pub held: AtomicUsize,
}

/// What a reader dies of.
pub const DEATH: &str = "the reader was killed";

/// The connector `rows`.
#[derive(Clone)]
pub struct RowTables {
    /// The tables by name.
    pub tables: Arc<Mutex<BTreeMap<String, InputTable>>>,
    /// How many rows make a batch.
    pub batch_rows: usize,
    /// Where sources are held.
    pub gate: Arc<Gate>,
    /// What was written, by table.
    pub written: Arc<Mutex<BTreeMap<String, Collected>>>,
}

/// How long a reader of a `single` table rests behind a batch, so that the watermark goes out.
const REST: Duration = Duration::from_millis(10);

const OPTIONS: &[OptionSpec] =
    &[OptionSpec { key: "table", kind: OptionKind::String, default: None, doc: "which table" }];

/// A column of cells.
fn column(cells: &[Option<&str>], field: &arrow::datatypes::Field) -> Result<ArrayRef> {
    let text: ArrayRef = Arc::new(StringArray::from(cells.to_vec()));
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(&text, field.data_type(), &options)
        .map_err(|e| Error::job(format!("a cell of column {} is not of its type", field.name())).caused_by(e))
}

impl RowTables {
    fn table(&self, context: TableContext<'_>) -> Result<InputTable> {
        let name = context.options.get("table").unwrap_or_default();
        let tables = self.tables.lock().expect("tables");
        tables.get(name).cloned().ok_or_else(|| Error::job(format!("there are no rows of table '{name}'")))
    }

    fn batches(&self, context: TableContext<'_>, table: &InputTable) -> Result<Vec<ChangeBatch>> {
        let schema = to_schema(context.schema.columns.iter().map(|c| (c.name.as_str(), &c.sql_type)));
        if table.rows.is_empty() {
            return Ok(Vec::new());
        }
        let mut columns = Vec::new();
        for (at, field) in schema.fields().iter().enumerate() {
            let null = |cell: &'_ String| cell != "NULL";
            let cells: Vec<Option<&str>> = table
                .rows
                .iter()
                .map(|(_, row)| Some(&row[at]).filter(|c| null(c)).map(String::as_str))
                .collect();
            columns.push(column(&cells, field)?);
        }
        let rows =
            RecordBatch::try_new(schema, columns).map_err(|e| Error::job("rows of a table").caused_by(e))?;
        let kinds: Vec<RowKind> = table.rows.iter().map(|(kind, _)| *kind).collect();
        let all = ChangeBatch::new(rows, &kinds)?;
        let size = if table.single { 1 } else { self.batch_rows };
        let starts = (0..all.len()).step_by(size);
        Ok(starts.map(|start| all.slice(start, size.min(all.len() - start))).collect())
    }
}

impl TableFactory for RowTables {
    fn identifier(&self) -> &'static str {
        "rows"
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn source(&self, context: TableContext<'_>) -> Result<Box<dyn TableSource>> {
        let table = self.table(context)?;
        let mode = match table.mode.as_str() {
            "append" => ChangelogMode::Append,
            "upsert" => ChangelogMode::Upsert,
            "retract" => ChangelogMode::Retract,
            other => return Err(Error::job(format!("no mode of a table: {other}"))),
        };
        let batches = self.batches(context, &table)?;
        Ok(Box::new(RowsSource { batches, mode, single: table.single, gate: self.gate.clone() }))
    }

    fn sink(&self, context: TableContext<'_>) -> Result<Box<dyn TableSink>> {
        let name = context.options.get("table").unwrap_or_default();
        let mut written = self.written.lock().expect("written");
        Ok(Box::new(written.entry(name.to_owned()).or_default().clone()))
    }

    fn lookup(&self, context: TableContext<'_>, keys: &[usize]) -> Result<Box<dyn LookupSource>> {
        let table = self.table(context)?;
        let batches = self.batches(context, &table)?;
        let schema = to_schema(context.schema.columns.iter().map(|c| (c.name.as_str(), &c.sql_type)));
        let rows: Vec<RecordBatch> = batches.into_iter().map(ChangeBatch::into_rows).collect();
        let all =
            arrow::compute::concat_batches(&schema, &rows).map_err(|e| Error::job("rows").caused_by(e))?;
        Ok(Box::new(flugs_table::KeyedRows::new(all, keys)?))
    }
}

struct RowsSource {
    batches: Vec<ChangeBatch>,
    mode: ChangelogMode,
    single: bool,
    gate: Arc<Gate>,
}

impl TableSource for RowsSource {
    fn changelog_mode(&self) -> ChangelogMode {
        self.mode
    }

    fn boundedness(&self) -> Boundedness {
        Boundedness::Bounded
    }

    fn parallelism(&self) -> Option<u32> {
        Some(1)
    }

    fn scan(&self, request: &ScanRequest) -> Result<TableScan> {
        let mut batches = Vec::new();
        for batch in &self.batches {
            batches.push(batch.with_rows(select(batch.rows(), &request.columns, &request.schema)?)?);
        }
        self.gate.scans.fetch_add(1, Ordering::SeqCst);
        let half = batches.len() / 2;
        let inner = CollectionSource::new(batches).batch_rows(1);
        Ok(Box::new(Held { inner, half, single: self.single, gate: self.gate.clone() }))
    }
}

/// A source that stops after some batches while its gate is closed.
struct Held {
    inner: CollectionSource<ChangeBatch>,
    half: usize,
    single: bool,
    gate: Arc<Gate>,
}

impl Source for Held {
    type Item = ChangeBatch;

    fn boundedness(&self) -> Boundedness {
        self.inner.boundedness()
    }

    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>> {
        self.inner.enumerator(context)
    }

    fn reader(&self, context: ReaderContext) -> Result<Box<dyn SourceReader<ChangeBatch>>> {
        let (inner, gate) = (self.inner.reader(context)?, self.gate.clone());
        Ok(Box::new(HeldReader {
            inner,
            gate,
            left: self.half,
            single: self.single,
            held: false,
            dying: false,
        }))
    }
}

struct HeldReader {
    inner: Box<dyn SourceReader<ChangeBatch>>,
    gate: Arc<Gate>,
    left: usize,
    /// Whether the reader rests after each batch, so that the watermark behind it goes out before the next.
    single: bool,
    held: bool,
    /// Whether it dies when it is asked the next time.
    dying: bool,
}

impl SourceReader<ChangeBatch> for HeldReader {
    fn add_splits(&mut self, splits: Vec<Split>) -> Result<()> {
        self.inner.add_splits(splits)
    }

    fn no_more_splits(&mut self) {
        self.inner.no_more_splits();
    }

    fn poll(
        &mut self,
        context: &mut PollContext,
        out: &mut dyn SourceOutput<ChangeBatch>,
    ) -> Result<ReaderStatus> {
        if self.left == 0 && self.gate.closed.load(Ordering::SeqCst) {
            if !self.held {
                self.held = true;
                self.gate.held.fetch_add(1, Ordering::SeqCst);
            }
            return Ok(ReaderStatus::WaitUntil(context.now + Duration::from_millis(2)));
        }
        let mut counted = Counted { out, batches: 0 };
        let status = self.inner.poll(context, &mut counted)?;
        let emitted = counted.batches;
        if self.gate.deadly.load(Ordering::SeqCst) {
            let dies = self.dying || status == ReaderStatus::Finished;
            self.dying |= emitted > 0;
            if dies {
                return Err(Error::job(DEATH));
            }
        }
        self.left = self.left.saturating_sub(emitted);
        Ok(match status {
            ReaderStatus::More if self.single && emitted > 0 => ReaderStatus::WaitUntil(context.now + REST),
            other => other,
        })
    }

    fn snapshot(&mut self) -> Result<Vec<Split>> {
        self.inner.snapshot()
    }
}

struct Counted<'a> {
    out: &'a mut dyn SourceOutput<ChangeBatch>,
    batches: usize,
}

impl SourceOutput<ChangeBatch> for Counted<'_> {
    fn emit(&mut self, split: &str, rows: Records<ChangeBatch>) -> Result<()> {
        self.batches += rows.len();
        self.out.emit(split, rows)
    }

    fn malformed(&mut self, record: Malformed) -> Result<()> {
        self.out.malformed(record)
    }

    fn status(&mut self, split: &str, status: SplitStatus) {
        self.out.status(split, status);
    }

    fn finished(&mut self, split: &str) {
        self.out.finished(split);
    }
}

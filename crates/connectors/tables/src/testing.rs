//! Tables, scans run to their end, and writers, for tests.

use flugs_batch::{Batch, ChangeBatch, Records};
use flugs_connector::{
    EnumeratorAction, EnumeratorContext, EnumeratorEvent, Malformed, PollContext, ReaderContext,
    ReaderStatus, Source, SourceOutput, Split, SplitStatus, WriterContext,
};
use flugs_formats::columns::RowText;
use flugs_sql_types::{Column, LogicalType, SqlType, TableSchema, to_schema};
use flugs_table::{
    FieldPath, Options, Registry, ScanRequest, TableContext, TableScan, TableSink, TableSource,
};
use flugs_types::{Attempt, Background, Generation, ManualClock, OperatorUid, Result, SubtaskId, Timestamp};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

struct NoThreads;

impl Background for NoThreads {
    fn run(&self, _work: Box<dyn FnOnce() + Send + 'static>) {
        panic!("no thread is needed");
    }
}

/// A table of one of this crate's connectors.
pub(crate) struct Table {
    pub(crate) registry: Registry,
    connector: &'static str,
    pub(crate) schema: TableSchema,
    options: Options,
}

impl Table {
    pub(crate) fn new(
        connector: &'static str,
        columns: &[(&str, LogicalType)],
        options: &[(&str, &str)],
    ) -> Self {
        let column = |(name, kind): &(&str, LogicalType)| Column {
            name: (*name).to_owned(),
            sql_type: kind.clone().nullable(),
        };
        let mut registry = Registry::new();
        crate::register(&mut registry);
        let schema = TableSchema { columns: columns.iter().map(column).collect(), ..TableSchema::default() };
        let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Table { registry, connector, schema, options }
    }

    pub(crate) fn context(&self) -> TableContext<'_> {
        TableContext { name: "c.d.t", schema: &self.schema, options: &self.options, registry: &self.registry }
    }

    pub(crate) fn source(&self) -> Result<Box<dyn TableSource>> {
        let factory = self.registry.connector(self.connector)?;
        self.options.check(factory.options(), "table c.d.t")?;
        factory.source(self.context())
    }

    pub(crate) fn sink(&self) -> Result<Box<dyn TableSink>> {
        self.registry.connector(self.connector)?.sink(self.context())
    }

    pub(crate) fn request(&self, paths: &[&str]) -> ScanRequest {
        let columns: Vec<FieldPath> =
            paths.iter().map(|path| FieldPath(path.split('.').map(str::to_owned).collect())).collect();
        let type_of = |path: &FieldPath| -> SqlType {
            let of = self.schema.columns[self.schema.index_of(&path.0[0]).unwrap()].sql_type.clone();
            path.0[1..].iter().fold(of, |of, name| match of.kind {
                LogicalType::Row(fields) => fields.into_iter().find(|f| f.name == *name).unwrap().sql_type,
                other => panic!("{other} has no fields"),
            })
        };
        let named: Vec<(String, SqlType)> =
            columns.iter().map(|path| (path.0.join("_"), type_of(path))).collect();
        let schema = to_schema(named.iter().map(|(name, sql_type)| (name.as_str(), sql_type)));
        ScanRequest { columns, metadata: vec![], schema, predicates: vec![], limit: None, ordered: true }
    }

    pub(crate) fn all(&self) -> Vec<&str> {
        self.schema.columns.iter().map(|column| column.name.as_str()).collect()
    }

    /// All rows of some columns.
    pub(crate) fn rows(&self, paths: &[&str], parallelism: u32) -> Vec<String> {
        show(&batches(&self.source().unwrap().scan(&self.request(paths)).unwrap(), parallelism))
    }
}

#[derive(Default)]
struct Output(Vec<ChangeBatch>);

impl SourceOutput<ChangeBatch> for Output {
    fn emit(&mut self, _split: &str, rows: Records<ChangeBatch>) -> Result<()> {
        assert_eq!(rows.len(), 1, "a poll gives one batch");
        assert!(rows.values[0].len() <= 4096);
        self.0.extend(rows.values);
        Ok(())
    }

    fn malformed(&mut self, record: Malformed) -> Result<()> {
        panic!("{record:?}");
    }

    fn status(&mut self, _split: &str, _status: SplitStatus) {}

    fn finished(&mut self, _split: &str) {}
}

/// The batches of a scan up to its end; readers are polled as time goes on.
pub(crate) fn batches(scan: &TableScan, parallelism: u32) -> Vec<ChangeBatch> {
    run(&**scan, parallelism, None, u32::MAX).0
}

/// The batches of so many rounds of polls, and the splits that are left.
pub(crate) fn run(
    scan: &dyn Source<Item = ChangeBatch>,
    parallelism: u32,
    restored: Option<Vec<Split>>,
    rounds: u32,
) -> (Vec<ChangeBatch>, Vec<Split>) {
    let clock = ManualClock::default();
    let reader = |index| {
        scan.reader(ReaderContext {
            subtask: SubtaskId::new(index, parallelism),
            clock: Arc::new(clock.clone()),
            background: Arc::new(NoThreads),
            waker: Waker::noop().clone(),
        })
        .unwrap()
    };
    let mut readers: Vec<_> = (0..parallelism).map(reader).collect();
    let state: Option<&[u8]> = restored.as_ref().map(|_| &[1, 1][..]);
    let mut enumerator = scan.enumerator(EnumeratorContext { parallelism, restored: state }).unwrap();
    for (i, split) in restored.into_iter().flatten().enumerate() {
        readers[i % parallelism as usize].add_splits(vec![split]).unwrap();
    }
    for action in enumerator.step(Timestamp::EPOCH, EnumeratorEvent::Start).unwrap() {
        match action {
            EnumeratorAction::Assign { reader, splits } => {
                readers[reader as usize].add_splits(splits).unwrap()
            }
            EnumeratorAction::NoMoreSplits { reader } => readers[reader as usize].no_more_splits(),
            _ => {}
        }
    }
    let mut out = Output::default();
    for _ in 0..rounds {
        let mut ended = 0;
        for reader in &mut readers {
            let now = flugs_types::Clock::now(&clock);
            let mut context = PollContext { now, request_split: false };
            let status = reader.poll(&mut context, &mut out).unwrap();
            ended += usize::from(status == ReaderStatus::Finished);
        }
        if ended == readers.len() {
            break;
        }
        clock.advance_to(flugs_types::Clock::now(&clock) + Duration::from_secs(1));
    }
    let splits = readers.iter_mut().flat_map(|reader| reader.snapshot().unwrap()).collect();
    (out.0, splits)
}

pub(crate) fn writer_context(attempt: u32) -> WriterContext {
    WriterContext {
        job: "job".to_owned(),
        uid: OperatorUid::new("sink"),
        subtask: SubtaskId::new(0, 1),
        generation: Generation(1),
        attempt: Attempt(attempt),
        clock: Arc::new(ManualClock::default()),
        background: Arc::new(NoThreads),
        waker: Waker::noop().clone(),
    }
}

pub(crate) fn show(batches: &[ChangeBatch]) -> Vec<String> {
    let mut lines = Vec::new();
    for batch in batches {
        let text = RowText::new(batch.rows());
        for row in 0..batch.len() {
            let mut line = String::new();
            text.row(&mut line, batch.kind(row), row);
            lines.push(line);
        }
    }
    lines
}

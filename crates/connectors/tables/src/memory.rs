//! `memory`: tables by name, shared within the process.

use crate::refusal;
use crate::rows::RowsTable;
use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use flugs_batch::{Batch, ChangeBatch, Records};
use flugs_connector::{Committable, Delivery, Prepared, Sink, SinkWriter, WriterContext};
use flugs_sql_types::{from_field, to_schema};
use flugs_table::{
    ChangelogMode, KeyedRows, LookupSource, OptionKind, OptionSpec, TableContext, TableFactory, TableSink,
    TableSource,
};
use flugs_types::{CheckpointId, Error, Result, RowKind};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "name",
        kind: OptionKind::String,
        default: None,
        doc: "the name of the table in memory; the last part of the table's own where it is not given",
    },
    OptionSpec {
        key: "changelog-mode",
        kind: OptionKind::Enum(&["append", "upsert", "retract"]),
        default: None,
        doc: "what the rows do on reading (by default what was written tells); what the query gives on writing",
    },
];

/// Makes the tables of `'connector' = 'memory'`, and is the handle to their rows: clones share them. For tests and for programs
/// that read and write tables of their own.
///
/// Written rows can be seen when their checkpoint is complete, each once; a table that is read gives the rows that can be seen when
/// the query is planned.
///
/// | option | default | |
/// | --- | --- | --- |
/// | `name` | the last part of the table's name | the name of the table in memory |
/// | `changelog-mode` | what the rows are, what the query gives | `append`, `upsert`, `retract` |
#[derive(Clone, Default)]
pub struct MemoryTables(Arc<Mutex<BTreeMap<String, Stored>>>);

#[derive(Default)]
struct Stored {
    rows: Vec<ChangeBatch>,
    /// Written and not to be seen yet, by the id of their commit.
    pending: BTreeMap<Vec<u8>, Vec<ChangeBatch>>,
    committed: BTreeSet<Vec<u8>>,
}

impl MemoryTables {
    /// No tables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whole batches are added under the lock, so a panic elsewhere does no harm.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Stored>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds rows to a table.
    pub fn add(&self, name: &str, rows: impl IntoIterator<Item = ChangeBatch>) {
        self.lock().entry(name.to_owned()).or_default().rows.extend(rows);
    }

    /// The rows of a table that can be seen now.
    pub fn rows(&self, name: &str) -> Vec<ChangeBatch> {
        self.lock().get(name).map(|stored| stored.rows.clone()).unwrap_or_default()
    }

    /// Takes the rows out that can be seen: the next call gives those that came since.
    pub fn take(&self, name: &str) -> Vec<ChangeBatch> {
        self.lock().get_mut(name).map(|stored| std::mem::take(&mut stored.rows)).unwrap_or_default()
    }

    fn name_of(table: TableContext<'_>) -> String {
        let own = || table.name.rsplit('.').next().unwrap_or(table.name);
        table.options.get("name").unwrap_or_else(own).to_owned()
    }

    /// Rows that are in memory already must be of the table's types.
    fn check(table: TableContext<'_>, rows: &[ChangeBatch]) -> Result<()> {
        let declared = schema_of(table);
        let types =
            |schema: &Schema| schema.fields().iter().map(|f| f.data_type().clone()).collect::<Vec<_>>();
        let Some(other) =
            rows.iter().find(|b| !b.is_empty() && types(&b.rows().schema()) != types(&declared))
        else {
            return Ok(());
        };
        let columns = |schema: &Schema| {
            let column = |f: &FieldRef| {
                format!(
                    "{} {}",
                    f.name(),
                    from_field(f).map_or_else(|_| f.data_type().to_string(), |t| t.kind.to_string())
                )
            };
            schema.fields().iter().map(column).collect::<Vec<_>>().join(", ")
        };
        let (here, declared) = (columns(&other.rows().schema()), columns(&declared));
        Err(Error::job(format!("'{}' in memory has ({here}), and not ({declared})", Self::name_of(table)))
            .at(format!("table {}", table.name))
            .mend("declare these columns, or take another 'name'"))
    }

    fn mode_of(table: TableContext<'_>) -> Option<ChangelogMode> {
        match table.options.get("changelog-mode")?.to_ascii_lowercase().as_str() {
            "append" => Some(ChangelogMode::Append),
            "upsert" => Some(ChangelogMode::Upsert),
            "retract" => Some(ChangelogMode::Retract),
            _ => None,
        }
    }
}

impl TableFactory for MemoryTables {
    fn identifier(&self) -> &'static str {
        "memory"
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn source(&self, table: TableContext<'_>) -> Result<Box<dyn TableSource>> {
        let written = self.rows(&Self::name_of(table));
        Self::check(table, &written)?;
        let mode =
            Self::mode_of(table).or_else(|| is_upsert(table, &written).then_some(ChangelogMode::Upsert));
        let rows = RowsTable::new(written);
        Ok(Box::new(match mode {
            Some(mode) => rows.mode(mode),
            None => rows,
        }))
    }

    fn sink(&self, table: TableContext<'_>) -> Result<Box<dyn TableSink>> {
        Self::check(table, &self.rows(&Self::name_of(table)))?;
        Ok(Box::new(MemorySink {
            tables: self.clone(),
            name: Self::name_of(table),
            mode: Self::mode_of(table),
            overwrite: false,
        }))
    }

    fn lookup(&self, table: TableContext<'_>, keys: &[usize]) -> Result<Box<dyn LookupSource>> {
        let batches = self.rows(&Self::name_of(table));
        Self::check(table, &batches)?;
        if !batches.iter().all(ChangeBatch::is_insert_only) {
            return Err(
                refusal::look_up("memory", table).mend("only tables without changes are looked up in")
            );
        }
        let rows: Vec<RecordBatch> = batches.into_iter().map(ChangeBatch::into_rows).collect();
        let all = concat_batches(&schema_of(table), &rows)
            .map_err(|e| Error::job("the rows are not of the table's types").caused_by(e))?;
        Ok(Box::new(KeyedRows::new(all, keys)?))
    }
}

fn schema_of(table: TableContext<'_>) -> SchemaRef {
    to_schema(table.schema.columns.iter().map(|c| (c.name.as_str(), &c.sql_type)))
}

/// Whether rows of a table with a key were written by their key: new rows without those that they take the place of.
fn is_upsert(table: TableContext<'_>, written: &[ChangeBatch]) -> bool {
    let has = |kind| written.iter().any(|batch| (0..batch.len()).any(|row| batch.kind(row) == kind));
    !table.schema.primary_key.is_empty() && has(RowKind::UpdateAfter) && !has(RowKind::UpdateBefore)
}

#[derive(Clone)]
struct MemorySink {
    tables: MemoryTables,
    name: String,
    mode: Option<ChangelogMode>,
    overwrite: bool,
}

impl TableSink for MemorySink {
    fn changelog_mode(&self, query: ChangelogMode) -> ChangelogMode {
        self.mode.unwrap_or(query)
    }

    fn supports_overwrite(&self) -> bool {
        true
    }

    fn sink(&self, overwrite: bool) -> Result<Box<dyn Sink<Item = ChangeBatch>>> {
        Ok(Box::new(MemorySink { overwrite, ..self.clone() }))
    }
}

impl Sink for MemorySink {
    type Item = ChangeBatch;

    fn delivery(&self) -> Delivery {
        Delivery::ExactlyOnce
    }

    fn writer(
        &self,
        context: WriterContext,
        restored: Vec<Vec<u8>>,
    ) -> Result<Box<dyn SinkWriter<ChangeBatch>>> {
        let is_new = restored.is_empty() && context.generation.0 <= 1 && context.attempt.0 <= 1;
        if self.overwrite && is_new {
            self.tables.take(&self.name);
        }
        Ok(Box::new(MemoryWriter { sink: self.clone(), context, written: Vec::new() }))
    }
}

struct MemoryWriter {
    sink: MemorySink,
    context: WriterContext,
    /// Since the last barrier.
    written: Vec<ChangeBatch>,
}

impl SinkWriter<ChangeBatch> for MemoryWriter {
    fn write(&mut self, rows: Records<ChangeBatch>) -> Result<()> {
        self.written.extend(rows.values);
        Ok(())
    }

    fn prepare(&mut self, checkpoint: CheckpointId, _end: bool) -> Result<Prepared> {
        if self.written.is_empty() {
            return Ok(Prepared::default());
        }
        let WriterContext { job, uid, generation, attempt, subtask, .. } = &self.context;
        let id = format!("{job}/{uid}/{generation}/{attempt}/{checkpoint}/{}", subtask.index).into_bytes();
        let mut tables = self.sink.tables.lock();
        let stored = tables.entry(self.sink.name.clone()).or_default();
        stored.pending.insert(id.clone(), std::mem::take(&mut self.written));
        Ok(Prepared { committables: vec![Committable(id)], state: Vec::new() })
    }

    fn commit(&mut self, committables: Vec<Committable>) -> Result<()> {
        let mut tables = self.sink.tables.lock();
        let stored = tables.entry(self.sink.name.clone()).or_default();
        for Committable(id) in committables {
            match stored.pending.remove(&id) {
                Some(rows) => stored.rows.extend(rows),
                None if stored.committed.contains(&id) => {}
                None => {
                    return Err(Error::state(format!(
                        "rows of the memory table '{}' are gone",
                        self.sink.name
                    ))
                    .mend(
                        "a job that writes to memory is restored in the process that took the checkpoint",
                    ));
                }
            }
            stored.committed.insert(id);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! What a statement gives.

use crate::collect::{Found, Handover};
use crate::render::RowFormat;
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringViewArray};
use flugs_batch::ChangeBatch;
use flugs_cluster::{JobHandle, JobReport};
use flugs_sql_functions::temporal::Zone;
use flugs_sql_plan::OutputColumn;
use flugs_sql_types::{LogicalType, to_schema};
use flugs_types::{Error, Result};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// What is known of a result at a moment.
#[derive(Debug)]
pub enum Polled {
    /// Changes.
    Batch(ChangeBatch),
    /// None yet.
    Pending,
    /// There will be none.
    End,
}

/// A job that a statement started.
#[derive(Clone)]
pub struct SqlJob {
    /// Its id in the session, as `SHOW JOBS` lists it.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whether all that it reads ends.
    pub is_bounded: bool,
    /// What it is asked and watched by.
    pub handle: JobHandle,
}

/// What a statement gives: rows, as they come; a job; or nothing but that it was carried out.
///
/// Dropping the result of a query stops the query.
pub struct TableResult {
    columns: Vec<OutputColumn>,
    append_only: bool,
    zone: Zone,
    query: Option<Reading>,
    job: Option<SqlJob>,
    /// Batches that are there already.
    ready: VecDeque<ChangeBatch>,
}

/// The reader's end of a query. Who stops reading stops the query.
struct Reading {
    handover: Handover,
    handle: JobHandle,
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.handover.close();
        if !self.handle.status().is_terminal() {
            self.handle.cancel();
        }
    }
}

impl TableResult {
    /// A result without rows.
    pub(crate) fn ok() -> Self {
        let zone = Zone::UTC;
        TableResult {
            columns: Vec::new(),
            append_only: true,
            zone,
            query: None,
            job: None,
            ready: VecDeque::new(),
        }
    }

    pub(crate) fn of_query(
        columns: Vec<OutputColumn>,
        append_only: bool,
        zone: Zone,
        handover: Handover,
        job: SqlJob,
    ) -> Self {
        let query = Some(Reading { handover, handle: job.handle.clone() });
        TableResult { columns, append_only, zone, query, job: Some(job), ready: VecDeque::new() }
    }

    pub(crate) fn of_job(job: SqlJob) -> Self {
        TableResult { job: Some(job), ..TableResult::ok() }
    }

    /// Rows of texts, which are there already.
    pub(crate) fn of_texts(names: &[&str], rows: Vec<Vec<Option<String>>>) -> Result<Self> {
        let text = LogicalType::STRING.nullable();
        let columns: Vec<OutputColumn> = names
            .iter()
            .map(|name| OutputColumn { name: (*name).to_owned(), sql_type: text.clone(), time: None })
            .collect();
        let column = |i: usize| -> ArrayRef {
            Arc::new(StringViewArray::from_iter(rows.iter().map(|row| row.get(i).and_then(Option::as_deref))))
        };
        let arrays = (0..names.len()).map(column).collect();
        let schema = to_schema(names.iter().map(|name| (*name, &text)));
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options)
            .map_err(|e| Error::bug("texts do not fit their columns").caused_by(e))?;
        Ok(TableResult { columns, ready: [ChangeBatch::inserts(batch)].into(), ..TableResult::ok() })
    }

    /// One text under a name.
    pub(crate) fn of_text(name: &str, text: impl Into<String>) -> Result<Self> {
        Self::of_texts(&[name], vec![vec![Some(text.into())]])
    }

    /// The columns of the rows; empty where the statement gives none.
    pub fn columns(&self) -> &[OutputColumn] {
        &self.columns
    }

    /// Whether rows are added alone, so that none needs to be kept to know the final ones.
    pub fn is_append_only(&self) -> bool {
        self.append_only
    }

    /// What writes the rows as text; points in time in the zone of the session.
    pub fn format(&self) -> RowFormat {
        RowFormat::new(&self.columns, self.zone)
    }

    /// The next changes as they come; `None` at the end, which is also that of a failed job: see [`wait`](Self::wait).
    pub fn next_batch(&mut self) -> Option<ChangeBatch> {
        match self.poll(None) {
            Polled::Batch(batch) => Some(batch),
            Polled::Pending | Polled::End => None,
        }
    }

    /// The next changes, waited for so long at most.
    pub fn next_batch_within(&mut self, wait: Duration) -> Polled {
        self.poll(Some(wait))
    }

    fn poll(&mut self, wait: Option<Duration>) -> Polled {
        if let Some(batch) = self.ready.pop_front() {
            return Polled::Batch(batch);
        }
        let Some(query) = &self.query else { return Polled::End };
        match query.handover.next(wait, || query.handle.status().is_terminal()) {
            Found::Batch(batch) => Polled::Batch(batch),
            Found::Nothing => Polled::Pending,
            Found::End => Polled::End,
        }
    }

    /// All changes to the end, and an error where the job behind them fails. Holds them all in memory.
    pub fn collect(mut self) -> Result<Vec<ChangeBatch>> {
        let batches = std::iter::from_fn(|| self.next_batch()).collect();
        self.wait()?;
        Ok(batches)
    }

    /// Waits for the job behind the statement to end, where there is one. Rows that were not read are dropped.
    pub fn wait(self) -> Result<Option<JobReport>> {
        if let Some(query) = &self.query {
            query.handover.close();
        }
        self.job.as_ref().map(|job| job.handle.wait()).transpose()
    }

    /// Likewise, so long at most; `None` where the job still runs, or there is none.
    pub fn wait_within(&self, wait: Duration) -> Option<Result<JobReport>> {
        let job = self.job.as_ref()?;
        let report = job.handle.wait_until(wait, |_| false);
        report.status.is_terminal().then(|| job.handle.wait())
    }

    /// The job behind the statement.
    pub fn job(&self) -> Option<&SqlJob> {
        self.job.as_ref()
    }

    /// Stops the job behind the statement; there are no rows after those that have come.
    pub fn cancel(&self) {
        if let Some(query) = &self.query {
            query.handover.close();
        }
        if let Some(job) = &self.job {
            job.handle.cancel();
        }
    }
}

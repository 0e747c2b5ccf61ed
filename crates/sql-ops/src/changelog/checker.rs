//! Finds changelogs that make no sense: a checker that test plans put between operators.

use crate::row::{RowBytes, RowCodec};
use arrow::array::Array;
use arrow::datatypes::{DataType, SchemaRef};
use flugs_batch::{Batch, ChangeBatch};
use flugs_table::ChangelogMode;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, RowKind};
use std::collections::BTreeMap;

/// What an [`InputChecker`] expects.
#[derive(Debug, Clone)]
pub struct InputCheckerSpec {
    /// Where it stands, for messages.
    pub place: String,
    /// The columns.
    pub schema: SchemaRef,
    /// Which kinds of changes there may be.
    pub mode: ChangelogMode,
    /// The key by which rows change, in mode `Upsert`.
    pub keys: Vec<usize>,
}

/// Hands on what it is given, once it has found that columns are as planned, NOT NULL columns hold no NULL, only kinds of the mode occur,
/// each `-U` stands before a `+U`, and `-U`, `-D` and `+U` are of rows, or keys, that are there. It keeps these rows in memory and not
/// in checkpoints: after a restore it no longer knows which there are.
pub struct InputChecker {
    spec: InputCheckerSpec,
    codec: Option<RowCodec>,
    /// How often each row is there; by key, in mode `Upsert`. None after a restore.
    rows: Option<BTreeMap<RowBytes, i64>>,
}

impl InputChecker {
    /// Expects this.
    pub fn new(spec: InputCheckerSpec) -> Self {
        InputChecker { spec, codec: None, rows: Some(BTreeMap::new()) }
    }

    fn wrong(&self, what: impl std::fmt::Display) -> Error {
        Error::bug(format!("the input is no changelog: {what}")).at(self.spec.place.clone())
    }

    fn columns(&self) -> Vec<usize> {
        match self.spec.mode {
            ChangelogMode::Upsert => self.spec.keys.clone(),
            _ => (0..self.spec.schema.fields().len()).collect(),
        }
    }

    fn check_columns(&self, batch: &ChangeBatch) -> Result<()> {
        let (given, expected) = (batch.schema(), &self.spec.schema);
        if given.fields().len() != expected.fields().len() {
            return Err(self.wrong(format!(
                "{} columns, not {}",
                given.fields().len(),
                expected.fields().len()
            )));
        }
        for (i, field) in expected.fields().iter().enumerate() {
            let column = batch.column(i);
            if column.data_type() != field.data_type() {
                let (is, wanted) = (column.data_type(), field.data_type());
                return Err(self.wrong(format!("column '{}' is {is}, not {wanted}", field.name())));
            }
            // A deletion by key may hold the key alone.
            let by_key = self.spec.mode == ChangelogMode::Upsert && !self.spec.keys.contains(&i);
            let null = |row: &usize| column.is_null(*row) && !(by_key && batch.kind(*row) == RowKind::Delete);
            if !field.is_nullable() && (0..batch.len()).any(|row| null(&row)) {
                return Err(self.wrong(format!("column '{}' holds a NULL", field.name())));
            }
        }
        Ok(())
    }

    fn check_rows(&mut self, batch: &ChangeBatch) -> Result<()> {
        for row in 0..batch.len() {
            let kind = batch.kind(row);
            if !self.spec.mode.has(kind) {
                return Err(self.wrong(format!("{kind} in mode {:?}", self.spec.mode)));
            }
            let next = (row + 1 < batch.len()).then(|| batch.kind(row + 1));
            if kind == RowKind::UpdateBefore && next.is_some_and(|next| next != RowKind::UpdateAfter) {
                return Err(self.wrong("a -U stands before no +U"));
            }
        }
        let Some(mut rows) = self.rows.take() else { return Ok(()) };
        let codec = self.codec.as_ref().ok_or_else(|| Error::bug("the operator is not open"))?;
        let columns: Vec<_> = self.columns().iter().map(|column| batch.column(*column).clone()).collect();
        let encoded = codec.encode(&columns, batch.len())?;
        for row in 0..batch.len() {
            let (kind, key) = (batch.kind(row), encoded.to_key(row));
            let count = rows.get(&key).copied().unwrap_or(0);
            let (fits, after) = match (self.spec.mode, kind) {
                (ChangelogMode::Append, _) => continue,
                // A key may come again, as it may after a restart of a source.
                (ChangelogMode::Upsert, RowKind::Delete) => (true, 0),
                (ChangelogMode::Upsert, _) => (true, 1),
                (_, kind) if kind.is_addition() => (true, count + 1),
                _ => (count > 0, count - 1),
            };
            if !fits {
                return Err(self.wrong(format!("{kind} of a row that is not there, row {row} of the batch")));
            }
            match after {
                0 => drop(rows.remove(&key)),
                after => drop(rows.insert(key, after)),
            }
        }
        self.rows = Some(rows);
        Ok(())
    }
}

impl Operator for InputChecker {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let types: Vec<DataType> =
            self.columns().iter().map(|column| self.spec.schema.field(*column).data_type().clone()).collect();
        self.codec = Some(RowCodec::new(&types)?);
        if context.state.is_restored() {
            self.rows = None;
        }
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if !batch.is_empty() {
            self.check_columns(&batch)?;
            self.check_rows(&batch)?;
            let _ = out.push(batch)?;
        }
        Ok(Progress::Done)
    }
}

//! Single rows of results.

use crate::result::TableResult;
use flugs_batch::{Batch, ChangeBatch};
use flugs_sql_functions::table::Argument;
use flugs_table::nearest;
use flugs_types::{Error, Result, RowKind};

/// A row of a result, and what it does to the table that the result is. It shares the columns of its batch.
#[derive(Debug, Clone)]
pub struct Row {
    batch: ChangeBatch,
    at: usize,
}

impl Row {
    /// The rows of a batch.
    pub fn of(batch: &ChangeBatch) -> impl Iterator<Item = Row> {
        let batch = batch.clone();
        (0..batch.len()).map(move |at| Row { batch: batch.clone(), at })
    }

    /// What the row does.
    pub fn kind(&self) -> RowKind {
        self.batch.kind(self.at)
    }

    /// How many columns it has.
    pub fn len(&self) -> usize {
        self.batch.rows().num_columns()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a column as a Rust type: `row.get::<i64>("id")`; `None` is NULL. The types are those that functions of closures
    /// take. An error where there is no such column, or it is of another type.
    pub fn get<A: Argument>(&self, column: &str) -> Result<Option<A::Of<'_>>> {
        let schema = self.batch.rows().schema_ref();
        let at = schema.index_of(column).map_err(|_| {
            let error = Error::job(format!("the rows have no column '{column}'"));
            match nearest(column, schema.fields().iter().map(|field| field.name().as_str())) {
                Some(near) => error.mend(format!("did you mean '{near}'?")),
                None => error,
            }
        })?;
        self.get_at::<A>(at)
    }

    /// Likewise, of a column by its number, from 0.
    pub fn get_at<A: Argument>(&self, column: usize) -> Result<Option<A::Of<'_>>> {
        if column >= self.len() {
            return Err(Error::job(format!("the rows have no column of number {column}")));
        }
        let values = self.batch.column(column);
        let wanted = A::sql_type().kind;
        if *values.data_type() != wanted.to_arrow() {
            let has = flugs_sql_types::from_arrow(values.data_type())?;
            return Err(Error::job(format!("column {column} is {has}, and was asked for as {wanted}"))
                .mend("ask for the type that it has, or CAST it in the query"));
        }
        Ok(if values.is_null(self.at) { None } else { A::read(values, self.at) })
    }
}

impl TableResult {
    /// The rows with what each does, as they come, to the end of the result.
    pub fn rows(&mut self) -> impl Iterator<Item = Row> {
        std::iter::from_fn(|| self.next_batch()).flat_map(|batch| Row::of(&batch).collect::<Vec<_>>())
    }
}

//! What goes between the two phases of an aggregate: partial states, and rows that the first phase has passed on as they are.
//!
//! Both stand in batches of one schema: the input's columns, then what the first phase adds, the state last. A row without a state is
//! one of the input, of its kind; one with a state has the columns of the keys, and is `+I`. All go the same way, so that the
//! changes of a row keep their order.

use arrow::array::{Array, ArrayRef, BinaryArray, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use flugs_batch::{Batch, ChangeBatch};
use flugs_types::{Error, Result};
use std::sync::Arc;

/// The name of the column of partial states.
const PARTIAL: &str = "$partial";

fn misfit(e: arrow::error::ArrowError) -> Error {
    Error::bug("partial states do not fit their schema").caused_by(e)
}

/// The column of partial states.
pub(crate) fn partial_field() -> FieldRef {
    Arc::new(Field::new(PARTIAL, DataType::Binary, false))
}

/// The columns between the phases. `added`: what stands between the input's columns and the states.
pub(crate) fn between(input: &Schema, added: impl IntoIterator<Item = FieldRef>) -> SchemaRef {
    let perhaps = |field: &FieldRef| Arc::new(field.as_ref().clone().with_nullable(true));
    let states = perhaps(&partial_field());
    let fields = input.fields().iter().map(perhaps).chain(added).chain([states]);
    Arc::new(Schema::new(fields.collect::<Vec<FieldRef>>()))
}

/// Rows as they are.
pub(crate) fn passed(batch: &ChangeBatch, schema: &SchemaRef) -> Result<ChangeBatch> {
    let mut columns = batch.rows().columns().to_vec();
    let absent = schema.fields()[columns.len()..].iter();
    columns.extend(absent.map(|field| new_null_array(field.data_type(), batch.len())));
    batch.with_rows(RecordBatch::try_new(schema.clone(), columns).map_err(misfit)?)
}

/// Partial states of groups with these keys.
pub(crate) fn summed_up(
    keys: impl IntoIterator<Item = (usize, ArrayRef)>,
    added: Vec<ArrayRef>,
    states: BinaryArray,
    schema: &SchemaRef,
) -> Result<ChangeBatch> {
    let rows = states.len();
    let input = schema.fields().len() - added.len() - 1;
    let mut columns: Vec<ArrayRef> =
        schema.fields()[..input].iter().map(|field| new_null_array(field.data_type(), rows)).collect();
    keys.into_iter().for_each(|(at, key)| columns[at] = key);
    columns.extend(added);
    columns.push(Arc::new(states));
    RecordBatch::try_new(schema.clone(), columns).map(ChangeBatch::inserts).map_err(misfit)
}

/// A run of rows of one sort.
pub(crate) enum Part {
    /// Rows of the input.
    Rows(ChangeBatch),
    /// Partial states, in the columns between the phases.
    Partials(ChangeBatch),
}

/// Takes a batch between the phases apart, in order. `input`: the columns of its rows.
pub(crate) fn parts(batch: &ChangeBatch, input: &SchemaRef) -> Result<Vec<Part>> {
    let states = batch.rows().columns().last().ok_or_else(|| Error::bug("there is no column of states"))?;
    let mut parts = Vec::new();
    let mut from = 0;
    while from < batch.len() {
        let is_row = states.is_null(from);
        let to = match states.null_count() {
            0 => batch.len(),
            nulls if nulls == batch.len() => nulls,
            _ => (from..batch.len()).find(|row| states.is_null(*row) != is_row).unwrap_or(batch.len()),
        };
        let part = batch.slice(from, to - from);
        parts.push(if is_row { Part::Rows(unpacked(&part, input)?) } else { Part::Partials(part) });
        from = to;
    }
    Ok(parts)
}

fn unpacked(batch: &ChangeBatch, input: &SchemaRef) -> Result<ChangeBatch> {
    let columns = batch.rows().columns()[..input.fields().len()].to_vec();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.len()));
    batch.with_rows(RecordBatch::try_new_with_options(input.clone(), columns, &options).map_err(misfit)?)
}

/// Fewer rows say nothing about how often groups repeat.
const ROWS_MIN: usize = 64;
/// A group must have so many rows for the first phase to pay.
const ROWS_OF_GROUP: usize = 3;
/// How many rows pass before it is tried again, at first and at most.
const ASIDE_MIN: usize = 1 << 14;
const ASIDE_MAX: usize = 1 << 20;

/// Whether a first phase pays: it steps aside for a while where its groups do not repeat, for longer each time.
#[derive(Debug)]
pub(crate) struct Reduction {
    adapts: bool,
    aside: usize,
    next: usize,
}

impl Reduction {
    /// Of a phase that never steps aside.
    pub(crate) fn always() -> Self {
        Reduction { adapts: false, aside: 0, next: ASIDE_MIN }
    }

    /// Of one that does.
    pub(crate) fn adapting() -> Self {
        Reduction { adapts: true, ..Reduction::always() }
    }

    /// Whether these rows are to be passed on as they are. `alone`: they would be summed up with no others.
    pub(crate) fn passes(&mut self, rows: usize, alone: bool) -> bool {
        if !self.adapts {
            return false;
        }
        if self.aside > 0 {
            self.aside = self.aside.saturating_sub(rows);
            return true;
        }
        alone && rows < ROWS_MIN
    }

    /// So many rows were so many groups.
    pub(crate) fn saw(&mut self, rows: usize, groups: usize) {
        if !self.adapts || rows < ROWS_MIN {
            return;
        }
        if groups * ROWS_OF_GROUP <= rows {
            self.next = ASIDE_MIN;
            return;
        }
        self.aside = self.next;
        self.next = (self.next * 2).min(ASIDE_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::Reduction;

    #[test]
    fn a_phase_that_does_not_pay_is_tried_again_ever_less_often() {
        let mut reduction = Reduction::adapting();
        assert!(!reduction.passes(1000, true));
        reduction.saw(1000, 10);
        assert!(!reduction.passes(1000, true));
        reduction.saw(1000, 900);
        assert!((0..16).all(|_| reduction.passes(1024, true)));
        assert!(!reduction.passes(1024, true));
        reduction.saw(1000, 900);
        assert!((0..32).all(|_| reduction.passes(1024, true)));
        assert!(!reduction.passes(1024, true));
        // A few rows are not worth a look, unless they are added to others.
        assert!(reduction.passes(3, true));
        assert!(!reduction.passes(3, false));
        let mut always = Reduction::always();
        always.saw(1000, 1000);
        assert!(!always.passes(1, true));
    }
}

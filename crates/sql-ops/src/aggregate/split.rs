//! Distinct values of a group that are spread over buckets, so that not all of them are one task's: Flink's split distinct aggregation.
//!
//! Three operators do it. A [`Spread`] gives each row the bucket of its distinct values; a [`BucketAggregate`] of each key and bucket
//! keeps the sets of distinct values, and sums up what a batch means to the accumulators of its keys; a [`GroupAggregate`] of each key
//! adds that up and keeps the accumulators. Of several sets of distinct columns each has a copy of the row of its own, in which the calls
//! of the others are filtered out. A row and what takes it back go the same way, so that a bucket never has fewer rows than none.

use super::bucket::BucketAggregate;
use super::call::AggregateCall;
use super::group::GroupAggregate;
use super::layout::SetsAt;
use super::spec::GroupAggregateSpec;
use crate::outbox::Outbox;
use crate::phases::between;
use crate::row::{RowCodec, null_keys};
use arrow::array::{ArrayRef, BooleanArray, Int32Array, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use flugs_batch::{Batch, ChangeBatch};
use flugs_sql_types::AggregateKind as Kind;
use flugs_task::{Operator, Output, Progress};
use flugs_types::{Error, Result};
use std::num::NonZeroU32;
use std::sync::Arc;

/// An aggregation whose sets of distinct values are spread over buckets.
#[derive(Debug, Clone)]
pub struct SplitAggregate {
    /// Over the columns of [`Spread`].
    spec: GroupAggregateSpec,
    spread: SpreadSpec,
}

/// How rows become rows with a bucket.
#[derive(Debug, Clone)]
struct SpreadSpec {
    /// The sets of distinct columns; each has a copy of a row.
    sets: Vec<Vec<usize>>,
    /// Boolean columns behind the input's, where there are copies: true in those of this set, where the filter holds.
    marks: Vec<(usize, Option<usize>)>,
    buckets: NonZeroU32,
    output: SchemaRef,
}

/// The columns whose values a call tells apart.
fn distinct(call: &AggregateCall) -> Option<&Vec<usize>> {
    let tells_apart = call.distinct && !matches!(call.kind, Kind::Min | Kind::Max);
    tells_apart.then_some(&call.args)
}

impl SplitAggregate {
    /// An error where it cannot be split: it tells no values apart, one of its calls depends on the order of rows, or groups expire.
    pub fn check(spec: &GroupAggregateSpec) -> Result<()> {
        if !spec.calls.iter().any(|call| distinct(call).is_some()) {
            return Err(Error::job("no call is DISTINCT"));
        }
        if spec.ttl.is_some() {
            return Err(Error::job("values would expire by bucket, and count again in groups that live on"));
        }
        spec.aggregator(SetsAt::Elsewhere)?.check_unordered()
    }

    /// This aggregation, with so many buckets.
    pub fn new(spec: GroupAggregateSpec, buckets: NonZeroU32) -> Result<Self> {
        SplitAggregate::check(&spec)?;
        let mut sets: Vec<Vec<usize>> = Vec::new();
        for args in spec.calls.iter().filter_map(distinct) {
            if !sets.contains(args) {
                sets.push(args.clone());
            }
        }
        let mut fields: Vec<Arc<Field>> = spec.input.fields().iter().cloned().collect();
        let (mut marks, mut calls) = (Vec::new(), spec.calls.clone());
        if sets.len() > 1 {
            for call in &mut calls {
                let set = distinct(call).and_then(|args| sets.iter().position(|set| set == args));
                let mark = (set.unwrap_or(0), call.filter);
                let at = marks.iter().position(|other| *other == mark).unwrap_or_else(|| {
                    marks.push(mark);
                    marks.len() - 1
                });
                call.filter = Some(spec.input.fields().len() + at);
            }
        }
        let mark = |at: usize| Arc::new(Field::new(format!("$mark{at}"), DataType::Boolean, false));
        fields.extend((0..marks.len()).map(mark));
        fields.push(Arc::new(Field::new("$bucket", DataType::Int32, false)));
        let output: SchemaRef = Arc::new(Schema::new(fields));
        let spread = SpreadSpec { sets, marks, buckets, output: output.clone() };
        Ok(SplitAggregate { spec: GroupAggregateSpec { input: output, calls, ..spec }, spread })
    }

    /// The first of the three operators: without state, where rows are.
    pub fn spread(&self) -> Spread {
        Spread { spec: self.spread.clone(), codecs: Vec::new(), outbox: Outbox::default() }
    }

    /// The columns that the first operator gives.
    pub fn spread_schema(&self) -> SchemaRef {
        self.spec.input.clone()
    }

    /// The keys of the edge to the second operator.
    pub fn bucket_keys(&self) -> Vec<usize> {
        self.spec.keys.iter().copied().chain([self.spec.input.fields().len() - 1]).collect()
    }

    /// The second operator.
    pub fn buckets(&self) -> BucketAggregate {
        BucketAggregate::new(self.spec.clone(), self.bucket_keys())
    }

    /// The columns that the second operator gives. The keys stand where they were.
    pub fn buckets_schema(&self) -> SchemaRef {
        between(&self.spec.input, [])
    }

    /// The last operator.
    pub fn total(&self) -> GroupAggregate {
        GroupAggregate::totalling(self.spec.clone())
    }
}

/// Gives rows the buckets of their distinct values; see [`SplitAggregate`].
pub struct Spread {
    spec: SpreadSpec,
    /// Of each set of columns.
    codecs: Vec<RowCodec>,
    outbox: Outbox,
}

impl Spread {
    fn put(&mut self, batch: &ChangeBatch) -> Result<()> {
        if self.codecs.is_empty() {
            let types = |set: &Vec<usize>| -> Vec<DataType> {
                set.iter().map(|column| self.spec.output.field(*column).data_type().clone()).collect()
            };
            self.codecs =
                self.spec.sets.iter().map(|set| RowCodec::new(&types(set))).collect::<Result<_>>()?;
        }
        for set in 0..self.codecs.len() {
            let copy = self.copy(batch, set)?;
            self.outbox.put(copy);
        }
        Ok(())
    }

    /// The rows as a set of columns sees them. All have to do with the first one, of which groups are made also without values.
    fn copy(&self, batch: &ChangeBatch, set: usize) -> Result<ChangeBatch> {
        let n = batch.len();
        let args: Vec<ArrayRef> = self.spec.sets[set].iter().map(|at| batch.column(*at).clone()).collect();
        let rows = self.codecs[set].encode(&args, n)?;
        let mut columns = batch.rows().columns().to_vec();
        let (mut wanted, none) = (BooleanBuffer::new_unset(n), BooleanBuffer::new_unset(n));
        for (of, filter) in &self.spec.marks {
            let mark = match filter {
                _ if *of != set => none.clone(),
                Some(filter) => super::accumulate::true_mask(batch.column(*filter))?,
                None => BooleanBuffer::new_set(n),
            };
            wanted = &wanted | &mark;
            columns.push(Arc::new(BooleanArray::new(mark, None)));
        }
        // Sets are cut into chunks by the lowest bits.
        let bucket = |hash: &u64| ((hash >> 32) as u32 % self.spec.buckets) as i32;
        columns.push(Arc::new(rows.hashes().iter().map(bucket).collect::<Int32Array>()));
        let copy = RecordBatch::try_new(self.spec.output.clone(), columns)
            .map_err(|e| Error::bug("rows with buckets do not fit their schema").caused_by(e))?;
        let copy = batch.with_rows(copy)?;
        if set == 0 {
            return Ok(copy);
        }
        if let Some(nulls) = null_keys(&args) {
            wanted = &wanted & nulls.inner();
        }
        match wanted.count_set_bits() == n {
            true => Ok(copy),
            false => copy.filter(&BooleanArray::new(wanted, None)),
        }
    }
}

impl Operator for Spread {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.put(&batch)?;
        self.outbox.hand_on(out)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.outbox.hand_on(out)
    }
}

//! What an aggregation of groups computes, and how its groups are kept.

use super::bundle::BundleSpec;
use super::call::AggregateCall;
use super::engine::{Aggregator, AggregatorOptions};
use super::layout::SetsAt;
use crate::row::RowCodec;
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use flugs_sql_types::AggregateKind;
use flugs_types::Result;
use std::sync::Arc;
use std::time::Duration;

/// What a [`GroupAggregate`](super::GroupAggregate) computes.
#[derive(Debug, Clone)]
pub struct GroupAggregateSpec {
    /// The input's columns.
    pub input: SchemaRef,
    /// The columns of `GROUP BY`; none for an aggregate over all rows.
    pub keys: Vec<usize>,
    /// The aggregates; none for `SELECT DISTINCT`.
    pub calls: Vec<AggregateCall>,
    /// Whether the input has `-U` and `-D`.
    pub retract: bool,
    /// Whether `-U` rows are handed on.
    pub emit_update_before: bool,
    /// Results come once, at the end of the input (batch mode), and not with each change.
    pub at_end: bool,
    /// Without keys, at the end: whether there is a row of results if there was none of input.
    pub row_over_nothing: bool,
    /// How long a group is kept after its last change, in processing time; for ever where it is none. A group whose row has not
    /// changed is handed on again all the same, as in Flink, so that operators behind keep theirs.
    pub ttl: Option<Duration>,
    /// Whether a group that expires takes its row back.
    pub retract_on_expiry: bool,
    /// Several batches are one bundle. Each batch by default.
    pub bundle: Option<BundleSpec>,
}

impl GroupAggregateSpec {
    /// Over changes of all kinds, handing on all kinds, for ever.
    pub fn new(input: SchemaRef, keys: Vec<usize>, calls: Vec<AggregateCall>) -> Self {
        GroupAggregateSpec {
            input,
            keys,
            calls,
            retract: true,
            emit_update_before: true,
            at_end: false,
            row_over_nothing: false,
            ttl: None,
            retract_on_expiry: false,
            bundle: None,
        }
    }

    /// The keys, then the results.
    pub fn output_schema(&self) -> SchemaRef {
        let keys = self.keys.iter().map(|key| self.input.fields()[*key].clone());
        let results = self.calls.iter().map(|call| call.result.clone());
        Arc::new(Schema::new(keys.chain(results).collect::<Vec<FieldRef>>()))
    }

    /// An error where a call or a key is not supported: for the planner, before the job runs.
    pub fn check(&self) -> Result<()> {
        self.aggregator(SetsAt::Table)?;
        self.key_codec().map(drop)
    }

    pub(super) fn aggregator(&self, sets: SetsAt) -> Result<Aggregator> {
        let options = AggregatorOptions { retract: self.retract, reserved: self.reserved() };
        Aggregator::with_sets(&self.calls, self.input.fields(), options, sets)
    }

    pub(super) fn key_codec(&self) -> Result<RowCodec> {
        self.codec_of(&self.keys)
    }

    /// The codec of these columns of the input.
    pub(super) fn codec_of(&self, columns: &[usize]) -> Result<RowCodec> {
        let types: Vec<DataType> = columns
            .iter()
            .map(|key| super::call::field(self.input.fields(), *key).map(|field| field.data_type().clone()))
            .collect::<Result<_>>()?;
        RowCodec::new(&types)
    }

    /// The words that are this operator's: how many rows a group has, then when it was changed.
    pub(super) fn reserved(&self) -> usize {
        self.count_words() + usize::from(self.ttl.is_some())
    }

    /// Whether a group's results before its rows came are needed: to be handed on, or to see that nothing has changed. A count of all
    /// rows changes with each.
    pub(super) fn needs_old(&self) -> bool {
        let counts_all = |call: &AggregateCall| {
            let all = call.args.is_empty() && call.filter.is_none() && !call.distinct;
            call.kind == AggregateKind::Count && all
        };
        let always_changes = !self.retract && self.calls.iter().any(counts_all);
        !self.at_end && (self.emit_update_before || !always_changes)
    }

    pub(super) fn count_words(&self) -> usize {
        usize::from(self.retract)
    }
}

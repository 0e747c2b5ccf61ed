//! The first of two phases: what a group has in one batch is aggregated before the exchange, so that hot groups send one row for each
//! batch.

use super::bundled::{Bundled, Work};
use super::engine::{Aggregator, AggregatorOptions};
use super::local_groups::LocalGroups;
use super::spec::GroupAggregateSpec;
use super::state::{AggState, States};
use crate::phases::{Reduction, between, passed, summed_up};
use crate::row::{EncodedRows, RowCodec};
use arrow::array::{Array, ArrayRef, AsArray, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::SchemaRef;
use flugs_batch::{Batch, ChangeBatch, Data};
use flugs_task::OpenContext;
use flugs_types::{Error, Result};

/// What a [`LocalAggregate`] computes: what the [`GroupAggregate`](super::GroupAggregate) behind the exchange does.
pub type LocalAggregateSpec = GroupAggregateSpec;

struct Opened {
    aggregator: Aggregator,
    codec: RowCodec,
}

/// Aggregates the groups of each batch, or of each bundle, and hands on keys and partial states (`BYTES`), all `+I`. It keeps no state.
/// One that adapts (`adapting`) hands rows on as they are where groups do not repeat.
///
/// Of the spec it uses columns, keys, calls, `retract` and `bundle`. Not for calls that keep rows in order (`LISTAGG`, `ARRAY_AGG`, ...)
/// where rows are taken back: opening fails then, and `check`.
pub type LocalAggregate = Bundled<LocalWork>;

/// See [`LocalAggregate`].
pub struct LocalWork {
    spec: LocalAggregateSpec,
    output: SchemaRef,
    opened: Option<Opened>,
    encoded: EncodedRows,
    local: LocalGroups,
    reduction: Reduction,
}

impl LocalAggregate {
    /// The first phase of this aggregation.
    pub fn new(spec: LocalAggregateSpec) -> Self {
        let (output, input) = (LocalAggregate::output_schema(&spec), spec.input.clone());
        let (bundle, reduction) = (spec.bundle, Reduction::always());
        let (encoded, local) = (EncodedRows::default(), LocalGroups::default());
        Bundled::of(LocalWork { spec, output, opened: None, encoded, local, reduction }, bundle, input)
    }

    /// The same, but stepping aside where it does not pay.
    #[must_use]
    pub fn adapting(mut self) -> Self {
        self.work.reduction = Reduction::adapting();
        self
    }

    /// The input's columns, then the partial states: the keys stand where they were.
    pub fn output_schema(spec: &LocalAggregateSpec) -> SchemaRef {
        between(&spec.input, [])
    }

    /// An error where these calls cannot be computed in two phases.
    pub fn check(spec: &LocalAggregateSpec) -> Result<()> {
        aggregator(spec).map(drop)
    }
}

fn aggregator(spec: &LocalAggregateSpec) -> Result<Aggregator> {
    let options = AggregatorOptions { retract: spec.retract, reserved: spec.count_words() };
    let aggregator = Aggregator::new(&spec.calls, spec.input.fields(), options)?;
    match aggregator.can_sum_up() {
        true => Ok(aggregator),
        false => Err(Error::job(
            "an aggregate that keeps rows in order, or a variance, cannot take rows back in two phases",
        )),
    }
}

/// The states in the last column. `reserved`: how many words are reserved there, and how many in `aggregator`'s states.
pub(super) fn load_partials(
    aggregator: &Aggregator,
    batch: &ChangeBatch,
    reserved: (usize, usize),
) -> Result<States> {
    let last = batch.rows().columns().last().and_then(|column| column.as_binary_opt::<i32>());
    let partials = last.ok_or_else(|| Error::bug("partial states are bytes"))?;
    let mut states = aggregator.states();
    for row in 0..partials.len() {
        let state = AggState::from_bytes(partials.value(row));
        let mut state = state.map_err(|e| Error::bug("a partial state is damaged").caused_by(e))?;
        states.load_reserving(&mut state, reserved.0, reserved.1)?;
    }
    Ok(states)
}

impl Work for LocalWork {
    fn open(&mut self, _: &mut OpenContext<'_>) -> Result<()> {
        self.opened = Some(Opened { aggregator: aggregator(&self.spec)?, codec: self.spec.key_codec()? });
        Ok(())
    }

    fn aggregate(&mut self, batch: &ChangeBatch) -> Result<Option<ChangeBatch>> {
        if self.reduction.passes(batch.len(), true) {
            return passed(batch, &self.output).map(Some);
        }
        let opened = self.opened.as_ref().ok_or_else(|| Error::bug("the operator is not open"))?;
        let keys: Vec<ArrayRef> = self.spec.keys.iter().map(|key| batch.column(*key).clone()).collect();
        opened.codec.encode_into(&keys, batch.len(), &mut self.encoded)?;
        self.local.assign(&self.encoded);
        self.reduction.saw(batch.len(), self.local.len());
        let mut states = opened.aggregator.states();
        (0..self.local.len()).for_each(|_| states.push_new());
        if self.spec.retract {
            states.count_rows(batch, self.local.of_rows());
        }
        opened.aggregator.update(batch, self.local.of_rows(), &mut states)?;
        let rows = UInt64Array::from_iter_values(self.local.first_rows().iter().map(|row| u64::from(*row)));
        let misfit = |e| Error::bug("partial states do not fit their schema").caused_by(e);
        let firsts: Vec<ArrayRef> =
            keys.iter().map(|key| take(key, &rows, None)).collect::<Result<_, _>>().map_err(misfit)?;
        let keys = self.spec.keys.iter().copied().zip(firsts);
        summed_up(keys, Vec::new(), states.take_bytes(), &self.output).map(Some)
    }
}

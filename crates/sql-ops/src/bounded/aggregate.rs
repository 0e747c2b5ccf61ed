//! `GROUP BY` of more groups than fit into memory.
//!
//! Groups stand in a table. When that takes half of the memory its states go to a sorter, which has the other half, and the table
//! begins anew. At the end the states of a key meet in the order in which they came.

use super::groups::Groups;
use super::operator::{Bounded, Work, inserts_only, not_open, progress};
use super::spec::SpillSpec;
use super::spec::{AggregatePhase, HashAggregateSpec};
use super::spill::{Kept, STEP_BYTES, Sorter};
use crate::aggregate::{AggState, Aggregator, AggregatorOptions, States};
use crate::outbox::BATCH_ROWS;
use crate::phases::{Part, Reduction, parts, passed, summed_up};
use crate::rank::columns::types_of;
use crate::rank::outgoing::record_batch;
use crate::row::{EncodedRows, RowBytes, RowCodec};
use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use flugs_batch::{Batch, ChangeBatch, Data};
use flugs_task::{OpenContext, Output, Progress};
use flugs_types::{Error, Result};

/// Carries out a [`HashAggregateSpec`].
pub type HashAggregate = Bounded<AggregateWork>;

impl HashAggregate {
    /// An operator that is not open yet.
    pub fn new(spec: HashAggregateSpec) -> Self {
        HashAggregate::reducing(spec, Reduction::always())
    }

    /// Likewise, of [`AggregatePhase::Partial`]: one that hands rows on as they are while keys do not repeat.
    pub fn adapting(spec: HashAggregateSpec) -> Self {
        HashAggregate::reducing(spec, Reduction::adapting())
    }

    fn reducing(spec: HashAggregateSpec, reduction: Reduction) -> Self {
        let output = spec.output_schema();
        Bounded::of(AggregateWork { spec, output, reduction, passing: None, rows: 0, opened: None })
    }
}

/// After so many rows a first phase looks whether it pays.
const JUDGED_ROWS: usize = 1 << 14;

impl HashAggregateSpec {
    /// An error where a call or a key is not supported: for the planner, before the job runs.
    pub fn check(&self) -> Result<()> {
        self.aggregator()?;
        self.key_codec().map(drop)
    }

    fn aggregator(&self) -> Result<Aggregator> {
        Aggregator::new(&self.calls, self.input.fields(), AggregatorOptions::default())
    }

    fn key_codec(&self) -> Result<RowCodec> {
        RowCodec::new(&types_of(&self.input, &self.keys)?)
    }
}

/// See [`HashAggregate`].
pub struct AggregateWork {
    spec: HashAggregateSpec,
    output: SchemaRef,
    reduction: Reduction,
    /// Rows that the first phase passes on.
    passing: Option<ChangeBatch>,
    /// How many rows the groups in the table have.
    rows: usize,
    opened: Option<Opened>,
}

struct Opened {
    aggregator: Aggregator,
    codec: RowCodec,
    encoded: EncodedRows,
    table: Groups,
    /// The groups of a batch's rows.
    of_rows: Vec<u32>,
    /// The table's states go to the sorter or the output: those before this are gone.
    draining: Option<usize>,
    sorter: Sorter,
    /// Whether the sorter has anything.
    sorts: bool,
    /// Whether the sorter has all, and gives it back.
    sorted: bool,
    /// Whether a row has come.
    any: bool,
}

impl AggregateWork {
    /// Puts a slice of the table's groups where they belong; whether all are there.
    fn drain(&mut self, out: &mut Output<ChangeBatch>) -> Result<bool> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        let Some(from) = opened.draining else { return Ok(true) };
        let to = match self.spec.phase {
            AggregatePhase::Partial => opened.give_partials(&self.spec, from, &self.output, out)?,
            _ => opened.spill(from)?,
        };
        let done = to == opened.table.len();
        opened.draining = (!done).then_some(to);
        if done {
            opened.table = Groups::new(&opened.aggregator);
            self.rows = 0;
        }
        Ok(done)
    }

    /// Whether the table is to be handed on: it is full, or it turns out not to pay.
    fn drains(&mut self, added: usize) -> bool {
        self.rows += added;
        let judges = self.rows >= JUDGED_ROWS && self.rows - added < JUDGED_ROWS;
        let full = self.is_full();
        if self.spec.phase == AggregatePhase::Partial && (judges || full) {
            let groups = self.opened.as_ref().map_or(0, |opened| opened.table.len());
            self.reduction.saw(self.rows, groups);
            return full || self.reduction.passes(0, false);
        }
        full
    }

    fn is_full(&self) -> bool {
        self.opened.as_ref().is_some_and(|opened| opened.table.bytes() >= half(&self.spec.spill).memory_bytes)
    }
}

fn half(spill: &SpillSpec) -> SpillSpec {
    SpillSpec { memory_bytes: spill.memory_bytes / 2, ..spill.clone() }
}

impl Opened {
    /// Adds rows, or partial states, to their groups in the table.
    fn add(&mut self, spec: &HashAggregateSpec, part: &Part) -> Result<()> {
        let (Part::Rows(batch) | Part::Partials(batch)) = part;
        let keys: Vec<ArrayRef> = spec.keys.iter().map(|key| batch.column(*key).clone()).collect();
        self.codec.encode_into(&keys, batch.len(), &mut self.encoded)?;
        self.table.find(&self.encoded, &mut self.of_rows);
        let touched = touched(&self.of_rows, &self.table.states);
        let before = self.table.states.heap_bytes(touched.iter().copied());
        let states = &mut self.table.states;
        match part {
            Part::Rows(rows) => self.aggregator.update(rows, &self.of_rows, states)?,
            Part::Partials(partials) => {
                self.aggregator.merge(&mut self.aggregator.partials(partials)?, &self.of_rows, states)?;
            }
        }
        let after = self.table.states.heap_bytes(touched);
        self.table.note_heap(before, after);
        Ok(())
    }

    /// Hands some groups to the sorter; gives the first that is not.
    fn spill(&mut self, from: usize) -> Result<usize> {
        self.sorts = true;
        let (mut at, mut spilled, mut bytes) = (from, 0, Vec::new());
        while at < self.table.len() && spilled < STEP_BYTES {
            bytes.clear();
            self.table.states.take(at).encode(&mut bytes);
            self.sorter.push(&[&self.table.keys()[at]], &[&bytes])?;
            spilled += bytes.len() + size_of::<RowBytes>();
            at += 1;
        }
        Ok(at)
    }

    /// Hands on some groups; gives the first that was not.
    fn give_partials(
        &mut self,
        spec: &HashAggregateSpec,
        from: usize,
        output: &SchemaRef,
        out: &mut Output<ChangeBatch>,
    ) -> Result<usize> {
        let to = self.table.len().min(from + BATCH_ROWS);
        if from == to {
            return Ok(to);
        }
        let keys = self.codec.decode(self.table.keys()[from..to].iter().map(RowBytes::as_slice))?;
        let partials = self.table.states.cut(from..to).take_bytes();
        let keys = spec.keys.iter().copied().zip(keys);
        let _ = out.push(summed_up(keys, Vec::new(), partials, output)?)?;
        Ok(to)
    }

    /// Hands on the results of some groups of the table; gives the first that was not.
    fn give_table(
        &mut self,
        from: usize,
        output: &SchemaRef,
        out: &mut Output<ChangeBatch>,
    ) -> Result<usize> {
        let to = self.table.len().min(from + BATCH_ROWS);
        let states = self.table.states.cut(from..to);
        self.give_results(&self.table.keys()[from..to], &states, output, out)?;
        Ok(to)
    }

    /// Hands on the results of keys whose states were spilled; whether there are more.
    fn give_sorted(&mut self, output: &SchemaRef, out: &mut Output<ChangeBatch>) -> Result<bool> {
        let mut states = self.aggregator.states();
        let mut keys: Vec<RowBytes> = Vec::new();
        let (mut bytes, mut more) = (0, true);
        loop {
            let Some(record) = self.sorter.next()? else {
                more = false;
                break;
            };
            let goes_on = keys.last().is_some_and(|last| last.as_slice() == record.key);
            if !goes_on && (keys.len() == BATCH_ROWS || bytes >= STEP_BYTES) {
                break;
            }
            bytes += record.value.len();
            let state = AggState::from_bytes(record.value);
            let mut state = state.map_err(|e| Error::bug("a spilled state is damaged").caused_by(e))?;
            if goes_on {
                let mut later = self.aggregator.states();
                later.load(&mut state);
                self.aggregator.merge(&mut later, &[keys.len() as u32 - 1], &mut states)?;
            } else {
                keys.push(RowBytes::new(record.key));
                states.load(&mut state);
            }
            self.sorter.advance()?;
        }
        self.give_results(&keys, &states, output, out)?;
        Ok(more)
    }

    fn give_results(
        &self,
        keys: &[RowBytes],
        states: &States,
        output: &SchemaRef,
        out: &mut Output<ChangeBatch>,
    ) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        let mut columns = self.codec.decode(keys.iter().map(RowBytes::as_slice))?;
        columns.extend(self.aggregator.values(states)?);
        let _ = out.push(ChangeBatch::inserts(record_batch(output, columns, keys.len())?))?;
        Ok(())
    }
}

/// The groups of these rows, each once, if they may have anything on the heap; else none.
fn touched(of_rows: &[u32], states: &States) -> Vec<u32> {
    if !states.has_heap() {
        return Vec::new();
    }
    let mut groups = of_rows.to_vec();
    groups.sort_unstable();
    groups.dedup();
    groups
}

impl Work for AggregateWork {
    type In = ChangeBatch;

    fn open(&mut self, _: &mut OpenContext<'_>) -> Result<()> {
        let aggregator = self.spec.aggregator()?;
        self.opened = Some(Opened {
            codec: self.spec.key_codec()?,
            encoded: EncodedRows::default(),
            table: Groups::new(&aggregator),
            of_rows: Vec::new(),
            aggregator,
            draining: None,
            sorter: Sorter::new(&half(&self.spec.spill), Kept::All),
            sorts: false,
            sorted: false,
            any: false,
        });
        Ok(())
    }

    fn take(&mut self, batch: ChangeBatch) -> Result<()> {
        inserts_only(&batch)?;
        if batch.is_empty() {
            return Ok(());
        }
        let spec = &self.spec;
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        opened.any = true;
        match spec.phase {
            AggregatePhase::Partial if self.reduction.passes(batch.len(), false) => {
                self.passing = Some(passed(&batch, &self.output)?);
                return Ok(());
            }
            AggregatePhase::Final => {
                for part in parts(&batch, &spec.input)? {
                    opened.add(spec, &part)?;
                }
            }
            _ => opened.add(spec, &Part::Rows(batch.clone()))?,
        }
        if self.drains(batch.len())
            && let Some(opened) = &mut self.opened
        {
            opened.draining = Some(0);
        }
        Ok(())
    }

    fn settle(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if !self.drain(out)? {
            return Ok(Progress::More);
        }
        if let Some(rows) = self.passing.take() {
            let _ = out.push(rows)?;
        }
        self.opened.as_mut().ok_or_else(not_open)?.sorter.settle().map(progress)
    }

    fn finish(&mut self) -> Result<()> {
        let spec = &self.spec;
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        if !opened.any
            && spec.keys.is_empty()
            && spec.row_over_nothing
            && spec.phase != AggregatePhase::Partial
        {
            opened.table.make_empty();
        }
        opened.draining = (!opened.table.is_empty()).then_some(0);
        Ok(())
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        if self.spec.phase != AggregatePhase::Partial && !opened.sorts {
            let Some(from) = opened.draining else { return Ok(Progress::Done) };
            let to = opened.give_table(from, &self.output, out)?;
            opened.draining = (to < opened.table.len()).then_some(to);
            return Ok(progress(opened.draining.is_none()));
        }
        if opened.draining.is_some() {
            let done = self.drain(out)?;
            return Ok(progress(done && self.spec.phase == AggregatePhase::Partial));
        }
        if self.spec.phase == AggregatePhase::Partial {
            return Ok(Progress::Done);
        }
        if !opened.sorted {
            if opened.sorter.settle()? {
                opened.sorter.finish()?;
                opened.sorted = true;
            }
            return Ok(Progress::More);
        }
        Ok(progress(!opened.give_sorted(&self.output, out)?))
    }
}

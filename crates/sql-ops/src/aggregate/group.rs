//! `GROUP BY` over changes.
//!
//! A batch is worked off group by group: the states of the groups that it touches are loaded side by side, take its rows, and
//! are stored again. What a group's row was and what it has become is handed on as one change.

use super::bundle::Bundle;
use super::distinct::{DistinctTable, as_snapshot};
use super::engine::Aggregator;
use super::layout::SetsAt;
use super::local_groups::LocalGroups;
use super::spec::GroupAggregateSpec;
use super::state::{AggState, States};
use super::stored::fit_stored;
use super::two_phase::load_partials;
use crate::changes::{Changes, equal_rows};
use crate::outbox::{BATCH_ROWS, Outbox};
use crate::phases::{Part, between, parts};
use crate::row::{EncodedRows, RowBytes, RowCodec};
use crate::ttl::TimeToLive;
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use flugs_batch::{Barrier, Batch, ChangeBatch};
use flugs_state::{Fuel, KeyedTable, SnapshotTable};
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Clock, Error, Result, RowKind, Timestamp, hash_key};
use std::sync::Arc;

/// What comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    /// Rows.
    Rows,
    /// Partial states and rows, of a [`LocalAggregate`](super::LocalAggregate).
    Partials,
    /// Changes of accumulators, of [`BucketAggregate`](super::BucketAggregate)s, which keep the sets of distinct values.
    Sums,
}

impl Input {
    fn sets(self) -> SetsAt {
        match self {
            Input::Rows => SetsAt::Table,
            Input::Partials => SetsAt::State,
            Input::Sums => SetsAt::Elsewhere,
        }
    }
}

/// Where the operator is with the results that come at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    NotYet,
    At { cursor: u64 },
    Over,
}

struct Opened {
    aggregator: Aggregator,
    codec: RowCodec,
    groups: KeyedTable<RowBytes, AggState>,
    sets: Option<DistinctTable>,
    clock: Arc<dyn Clock>,
    ttl: Option<TimeToLive>,
}

/// Memory that is used again from batch to batch.
#[derive(Default)]
pub(super) struct Work {
    encoded: EncodedRows,
    pub(super) local: LocalGroups,
    pub(super) keys: Vec<RowBytes>,
    pub(super) hashes: Vec<u64>,
    /// Whether each group had a row.
    existed: Vec<bool>,
}

/// Aggregates groups of changing rows, and hands on how each group's row changes: `+I` first, then `-U` and `+U`, and `-D` when its last row
/// is taken back. There is one change for each group and batch, in order of first touch, and none where the row stays as it
/// was.
///
/// A row that is taken back without having been there is passed over, where its group has no others.
///
/// State: `groups`, and `distinct` where a call is `DISTINCT`.
pub struct GroupAggregate {
    spec: GroupAggregateSpec,
    input: Input,
    output: SchemaRef,
    opened: Option<Opened>,
    work: Work,
    bundle: Option<Bundle>,
    outbox: Outbox,
    end: End,
}

impl GroupAggregate {
    /// Over rows.
    pub fn new(spec: GroupAggregateSpec) -> Self {
        GroupAggregate::over(spec, Input::Rows)
    }

    /// Over the partial states of [`LocalAggregate`](super::LocalAggregate)s of the same spec. The edge between them is by the
    /// keys.
    pub fn merging(spec: GroupAggregateSpec) -> Self {
        GroupAggregate::over(spec, Input::Partials)
    }

    /// Over what [`BucketAggregate`](super::BucketAggregate)s of the same spec have summed up, by the keys.
    pub(super) fn totalling(spec: GroupAggregateSpec) -> Self {
        GroupAggregate::over(spec, Input::Sums)
    }

    fn over(spec: GroupAggregateSpec, input: Input) -> Self {
        let output = spec.output_schema();
        let schema = match input {
            Input::Rows => spec.input.clone(),
            Input::Partials | Input::Sums => between(&spec.input, []),
        };
        let bundle = spec.bundle.map(|bundle| Bundle::new(bundle, schema));
        let (work, outbox) = (Work::default(), Outbox::default());
        GroupAggregate { spec, input, output, opened: None, work, bundle, outbox, end: End::NotYet }
    }

    fn aggregate(&mut self, batch: &ChangeBatch) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        if self.input == Input::Rows {
            return self.aggregate_as(batch, Input::Rows);
        }
        for part in parts(batch, &self.spec.input)? {
            match part {
                Part::Rows(rows) => self.aggregate_as(&rows, Input::Rows)?,
                Part::Partials(partials) => self.aggregate_as(&partials, Input::Partials)?,
            }
        }
        Ok(())
    }

    fn aggregate_as(&mut self, batch: &ChangeBatch, input: Input) -> Result<()> {
        let GroupAggregate { spec, output, opened, work, outbox, .. } = self;
        let opened = opened.as_mut().ok_or_else(not_open)?;
        let keys: Vec<ArrayRef> = spec.keys.iter().map(|key| batch.column(*key).clone()).collect();
        work.find_groups(&opened.codec, &keys, batch.len())?;
        let mut states = opened.aggregator.states();
        opened.load(spec, work, &mut states);
        // A sum may be of rows that are counted in another one.
        let needs_old = spec.needs_old() || self.input == Input::Sums;
        let old = match work.existed.contains(&true) && needs_old {
            true => opened.aggregator.values(&states)?,
            false => Vec::new(),
        };
        opened.forget_expired(spec, work, &mut states);
        match input {
            Input::Rows => opened.update(spec, batch, work, &mut states)?,
            Input::Partials | Input::Sums => {
                let reserved = (spec.count_words(), spec.reserved());
                let mut partials = load_partials(&opened.aggregator, batch, reserved)?;
                let of_rows = work.local.of_rows();
                if spec.retract {
                    for (partial, group) in of_rows.iter().enumerate() {
                        let count = partials.words(partial)[0];
                        let word = &mut states.words_mut(*group as usize)[0];
                        *word = word.wrapping_add(count);
                    }
                }
                opened.aggregator.merge(&mut partials, of_rows, &mut states)?;
            }
        }
        if !spec.at_end {
            let new = opened.aggregator.values(&states)?;
            let changes = changes(spec, work, &states, &old, &new)?;
            if !changes.is_empty() {
                outbox.put(changes.batch(output, &keys, work.local.first_rows(), &old, &new)?);
            }
        }
        opened.store(spec, work, &mut states);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        match self.bundle.as_mut().map(Bundle::take).transpose()?.flatten() {
            Some(bundle) => self.aggregate(&bundle),
            None => Ok(()),
        }
    }

    /// Hands on what waits; at the end, the results that come then.
    fn go_on(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        loop {
            if self.outbox.hand_on(out)? == Progress::More {
                return Ok(Progress::More);
            }
            let End::At { cursor } = self.end else { return Ok(Progress::Done) };
            self.results_from(cursor)?;
            if !out.is_ready() {
                return Ok(Progress::More);
            }
        }
    }

    /// Puts a slice of all results into the outbox.
    fn results_from(&mut self, mut cursor: u64) -> Result<()> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        let mut states = opened.aggregator.states();
        let mut keys = Vec::new();
        let mut over = false;
        while !over && keys.len() < BATCH_ROWS {
            over = opened.groups.sweep(
                &mut cursor,
                &mut Fuel(1),
                |_, _| true,
                |key, state| {
                    keys.push(key.clone());
                    states.load_copy(state);
                    true
                },
            );
        }
        if over && opened.groups.is_empty() && self.spec.keys.is_empty() && self.spec.row_over_nothing {
            keys.push(RowBytes::default());
            states.push_new();
        }
        self.end = if over { End::Over } else { End::At { cursor } };
        let rows = opened.rows(&self.output, &keys, &states)?;
        self.outbox.put(ChangeBatch::inserts(rows));
        Ok(())
    }

    /// Takes away what has expired.
    fn sweep(&mut self) -> Result<()> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        let Some(mut ttl) = opened.ttl.take() else { return Ok(()) };
        let (time, retract) = (self.spec.count_words(), self.spec.retract_on_expiry && !self.spec.at_end);
        let mut gone: Vec<(RowBytes, AggState)> = Vec::new();
        let (groups, aggregator) = (&mut opened.groups, &opened.aggregator);
        let keeps = retract || aggregator.has_distinct();
        let mut count = 0;
        ttl.sweep(|ttl, cursor, fuel| {
            groups.sweep(
                cursor,
                fuel,
                |_, state| ttl.is_expired(state.words().get(time).copied().unwrap_or(0)),
                |key, state| {
                    count += 1;
                    if keeps {
                        gone.push((key.clone(), std::mem::take(state)));
                    }
                    false
                },
            )
        });
        ttl.count(count);
        if opened.groups.is_empty() {
            ttl.rest();
        }
        opened.ttl = Some(ttl);
        if let Some(sets) = &mut opened.sets {
            for (key, state) in &gone {
                opened.aggregator.clear_sets(sets, state.words(), hash_key(key), key);
            }
        }
        if retract && !gone.is_empty() {
            let mut states = opened.aggregator.states();
            let keys: Vec<RowBytes> = gone
                .into_iter()
                .map(|(key, mut state)| {
                    states.load(&mut state);
                    key
                })
                .collect();
            let rows = opened.rows(&self.output, &keys, &states)?;
            self.outbox.put(ChangeBatch::new(rows, &vec![RowKind::Delete; keys.len()])?);
        }
        Ok(())
    }
}

fn not_open() -> Error {
    Error::bug("the operator is not open")
}

impl Work {
    /// Which groups the rows of these keys belong to.
    pub(super) fn find_groups(&mut self, codec: &RowCodec, keys: &[ArrayRef], rows: usize) -> Result<()> {
        codec.encode_into(keys, rows, &mut self.encoded)?;
        self.local.assign(&self.encoded);
        self.keys.clear();
        self.hashes.clear();
        for row in self.local.first_rows() {
            self.keys.push(self.encoded.to_key(*row as usize));
            self.hashes.push(self.encoded.hash(*row as usize));
        }
        Ok(())
    }
}

/// From how many bytes on a table is not in the processor's caches, so that fetching ahead pays.
const FETCHED_BYTES_MIN: usize = 512 << 10;
/// For how many keys.
const FETCHED_KEYS: usize = 16;

impl Opened {
    /// Loads the states of the groups at hand; those that have expired too.
    fn load(&mut self, spec: &GroupAggregateSpec, work: &mut Work, states: &mut States) {
        let fetches = self.groups.bytes() >= FETCHED_BYTES_MIN;
        work.existed.clear();
        if fetches {
            work.hashes.iter().take(FETCHED_KEYS).for_each(|hash| self.groups.prefetch(*hash));
        }
        for (at, (key, hash)) in work.keys.iter().zip(&work.hashes).enumerate() {
            if fetches && let Some(ahead) = work.hashes.get(at + FETCHED_KEYS) {
                self.groups.prefetch(*ahead);
            }
            match self.groups.get_mut_hashed(*hash, key) {
                Some(state) => {
                    states.load(state);
                    work.existed.push(true);
                }
                None => {
                    states.push_new();
                    work.existed.push(false);
                }
            }
        }
        debug_assert_eq!(spec.reserved(), spec.count_words() + usize::from(self.ttl.is_some()));
    }

    /// Groups that have expired begin anew. Where they would have taken their row back, the new one updates it.
    fn forget_expired(&mut self, spec: &GroupAggregateSpec, work: &mut Work, states: &mut States) {
        let Some(ttl) = &mut self.ttl else { return };
        ttl.touched();
        let time = spec.count_words();
        for group in 0..states.len() {
            if work.existed[group] && ttl.is_expired(states.words(group)[time]) {
                let key = &work.keys[group];
                if let Some(sets) = &mut self.sets {
                    self.aggregator.clear_sets(sets, states.words(group), work.hashes[group], key);
                }
                states.reset(group);
                work.existed[group] = spec.retract_on_expiry;
                ttl.count(1);
            }
            states.words_mut(group)[time] = ttl.now();
        }
    }

    fn update(
        &mut self,
        spec: &GroupAggregateSpec,
        batch: &ChangeBatch,
        work: &Work,
        states: &mut States,
    ) -> Result<()> {
        let of_rows = work.local.of_rows();
        if spec.retract {
            states.count_rows(batch, of_rows);
        }
        match &mut self.sets {
            Some(sets) => self.aggregator.update_with(batch, of_rows, states, sets, &work.keys, &work.hashes),
            None => self.aggregator.update(batch, of_rows, states),
        }
    }

    /// Writes the states back; groups without rows go.
    fn store(&mut self, spec: &GroupAggregateSpec, work: &Work, states: &mut States) {
        for (group, (key, hash)) in work.keys.iter().zip(&work.hashes).enumerate() {
            if is_gone(spec, states, group) {
                self.groups.remove_hashed(*hash, key);
                if let Some(sets) = &mut self.sets {
                    self.aggregator.clear_sets(sets, states.words(group), *hash, key);
                }
                continue;
            }
            states.store(group, self.groups.get_or_insert_hashed(*hash, key, AggState::default));
        }
    }

    /// Rows of keys and results.
    fn rows(&self, schema: &SchemaRef, keys: &[RowBytes], states: &States) -> Result<RecordBatch> {
        let mut columns = self.codec.decode(keys.iter().map(|key| key.as_slice()))?;
        columns.extend(self.aggregator.values(states)?);
        let options = RecordBatchOptions::new().with_row_count(Some(keys.len()));
        RecordBatch::try_new_with_options(schema.clone(), columns, &options)
            .map_err(|e| Error::bug("results do not fit their schema").caused_by(e))
    }
}

/// Whether a group has no rows left.
fn is_gone(spec: &GroupAggregateSpec, states: &States, group: usize) -> bool {
    spec.retract && states.words(group)[0] as i64 <= 0
}

fn changes(
    spec: &GroupAggregateSpec,
    work: &Work,
    states: &States,
    old: &[ArrayRef],
    new: &[ArrayRef],
) -> Result<Changes> {
    let n = states.len();
    let equal = if old.is_empty() && !new.is_empty() { None } else { Some(equal_rows(old, new, n)?) };
    let mut changes = Changes::default();
    for group in 0..n {
        match (work.existed[group], is_gone(spec, states, group)) {
            (false, true) => {}
            (false, false) => changes.new_row(RowKind::Insert, group),
            (true, true) => changes.old(RowKind::Delete, group),
            (true, false) => {
                if spec.ttl.is_none() && equal.as_ref().is_some_and(|equal| equal.value(group)) {
                    continue;
                }
                if spec.emit_update_before {
                    changes.old(RowKind::UpdateBefore, group);
                }
                changes.new_row(RowKind::UpdateAfter, group);
            }
        }
    }
    Ok(changes)
}

impl Operator for GroupAggregate {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let aggregator = self.spec.aggregator(self.input.sets())?;
        let mut groups = context.state.keyed("groups")?;
        let ttl = self.spec.ttl.map(|ttl| TimeToLive::new(ttl, context));
        fit_stored(&aggregator, &mut groups, self.spec.count_words(), ttl.as_ref())?;
        let sets = match aggregator.has_distinct() && self.input == Input::Rows {
            true => Some(context.state.panes("distinct")?),
            false => None,
        };
        self.opened = Some(Opened {
            codec: self.spec.key_codec()?,
            groups,
            clock: context.clock.clone(),
            ttl,
            aggregator,
            sets,
        });
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let now = self.opened.as_ref().ok_or_else(not_open)?.clock.now();
        let bundle = match &mut self.bundle {
            Some(bundle) => bundle.add(batch, now)?,
            None => Some(batch),
        };
        if let Some(bundle) = bundle {
            self.aggregate(&bundle)?;
        }
        self.go_on(out)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.go_on(out)
    }

    fn advance(&mut self, _: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.flush()?;
        self.go_on(out)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        let sweep = self.opened.as_ref().and_then(|opened| opened.ttl.as_ref()?.next_tick());
        let due = self.bundle.as_ref().and_then(Bundle::due);
        [sweep, due].into_iter().flatten().min()
    }

    fn tick(&mut self, now: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if self.bundle.as_ref().and_then(Bundle::due).is_some_and(|due| due <= now) {
            self.flush()?;
        }
        let sweep = self.opened.as_ref().and_then(|opened| opened.ttl.as_ref()?.next_tick());
        if sweep.is_some_and(|sweep| sweep <= now) {
            self.sweep()?;
        }
        self.go_on(out)
    }

    fn barrier(&mut self, _: Barrier, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.flush()?;
        self.go_on(out)
    }

    fn end(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.flush()?;
        let nothing = self.spec.keys.is_empty()
            && self.spec.row_over_nothing
            && self.opened.as_ref().is_some_and(|opened| opened.groups.is_empty());
        if self.end == End::NotYet && (self.spec.at_end || nothing) {
            self.end = End::At { cursor: 0 };
        }
        self.go_on(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        let Some(opened) = &mut self.opened else { return Vec::new() };
        let mut tables: Vec<&mut dyn SnapshotTable> = vec![&mut opened.groups];
        tables.extend(opened.sets.as_mut().map(as_snapshot));
        tables
    }
}

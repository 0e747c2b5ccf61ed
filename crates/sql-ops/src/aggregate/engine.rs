//! All aggregates of a query over the states of many groups.

use super::accumulate::{Selection, accumulate, true_mask};
use super::call::AggregateCall;
use super::distinct::{self, DistinctTable, Sets};
use super::layout::{Layout, Op, SetsAt, Slot};
use super::state::{AggState, States};
use super::varying::pick;
use super::{merge, results};
use crate::row::{RowBytes, null_keys};
use arrow::array::{ArrayRef, AsArray, new_null_array};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, FieldRef};
use flugs_batch::{Batch, ChangeBatch, Data};
use flugs_sql_types::AggregateKind;
use flugs_types::{Error, Result};
use std::sync::Arc;

/// How an [`Aggregator`] keeps state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AggregatorOptions {
    /// Whether rows are taken back. Then what is needed for it is kept, such as all values of a `MAX`.
    pub retract: bool,
    /// How many words at the start of each state are the operator's own; 0 in a new state.
    pub reserved: usize,
}

/// The aggregates of a query. It has no state: that of each group is an [`AggState`], of those in work in [`States`].
#[derive(Debug, Clone)]
pub struct Aggregator {
    layout: Arc<Layout>,
    input: Arc<[FieldRef]>,
    options: AggregatorOptions,
}

impl Aggregator {
    /// For these calls over these columns. An error where one is not supported.
    pub fn new(calls: &[AggregateCall], input: &[FieldRef], options: AggregatorOptions) -> Result<Self> {
        Aggregator::with_sets(calls, input, options, SetsAt::State)
    }

    /// `sets`: where sets of distinct values are kept.
    pub(super) fn with_sets(
        calls: &[AggregateCall],
        input: &[FieldRef],
        options: AggregatorOptions,
        sets: SetsAt,
    ) -> Result<Self> {
        let layout = Layout::new(calls, input, options.retract, options.reserved, sets)?;
        Ok(Aggregator { layout: Arc::new(layout), input: input.into(), options })
    }

    /// The columns of the results.
    pub fn results(&self) -> impl Iterator<Item = &FieldRef> {
        self.layout.finishes.iter().map(|finish| &finish.result)
    }

    /// Whether the states of parts of a group's rows can be [merged](Self::merge) into that of all: not where rows are taken back
    /// that another part has kept in order, and not of functions of the program that cannot.
    pub fn can_merge(&self) -> bool {
        let in_order = |op| matches!(op, Op::Ordered | Op::Log | Op::Text);
        self.layout.slots.iter().all(|slot| match &slot.user {
            Some(function) => function.get().merges(),
            None => !self.options.retract || !in_order(slot.op),
        })
    }

    /// Whether a state grows with the rows, or with the values that they have.
    pub fn keeps_rows(&self) -> bool {
        let keeps = |op| matches!(op, Op::Counts | Op::Log | Op::Ordered | Op::Text);
        !self.layout.views.is_empty() || self.layout.slots.iter().any(|slot| keeps(slot.op))
    }

    /// Whether the states of any parts of a group's changes can be merged, also where a part takes back what another has added: not
    /// of variances, which say nothing of as many rows added as taken back.
    pub fn can_sum_up(&self) -> bool {
        let is_moments = |op| op == Op::Moments;
        self.can_merge() && (!self.options.retract || !self.layout.slots.iter().any(|s| is_moments(s.op)))
    }

    /// An error where results depend on the order in which parts of a group's changes are merged, for the first such call.
    pub(super) fn check_unordered(&self) -> Result<()> {
        let why = |slot: &Slot| match slot.op {
            Op::First | Op::Last | Op::Log | Op::Ordered | Op::Text => Some("keeps rows in order"),
            Op::User => Some("is a function of the program"),
            Op::Moments if self.options.retract => Some("cannot take more rows back than it has"),
            _ => None,
        };
        for finish in &self.layout.finishes {
            let why = match finish.kind {
                AggregateKind::SingleValue => Some("counts the rows that it has"),
                _ => why(&self.layout.slots[finish.slot]),
            };
            if let Some(why) = why {
                return Err(Error::job(format!("{} {why}", finish.kind.name())));
            }
        }
        Ok(())
    }

    /// No groups, for states of these aggregates.
    pub fn states(&self) -> States {
        States::new(self.layout.words, self.layout.varyings)
    }

    /// The partial states in the last column of a batch.
    pub(crate) fn partials(&self, batch: &ChangeBatch) -> Result<States> {
        let last = batch.rows().columns().last().and_then(|column| column.as_binary_opt::<i32>());
        let partials = last.ok_or_else(|| Error::bug("partial states are bytes"))?;
        let mut states = self.states();
        for row in 0..batch.len() {
            let state = AggState::from_bytes(partials.value(row));
            states.load(&mut state.map_err(|e| Error::bug("a partial state is damaged").caused_by(e))?);
        }
        Ok(states)
    }

    /// How many words a state has.
    pub(super) fn words(&self) -> usize {
        self.layout.words
    }

    /// A state over no rows.
    pub fn new_state(&self) -> AggState {
        let mut states = self.states();
        states.push_new();
        states.take(0)
    }

    /// Lets the groups take a batch's rows: row `i` belongs to group `groups[i]` of `states`.
    pub fn update(&self, batch: &ChangeBatch, groups: &[u32], states: &mut States) -> Result<()> {
        self.update_rows(
            batch.rows().columns(),
            self.signs(batch)?.as_deref(),
            groups,
            states,
            &mut Sets::Inside,
        )
    }

    /// Likewise, with sets of distinct values in a table, by the groups' keys and their hashes.
    pub(super) fn update_with(
        &self,
        batch: &ChangeBatch,
        groups: &[u32],
        states: &mut States,
        table: &mut DistinctTable,
        keys: &[RowBytes],
        hashes: &[u64],
    ) -> Result<()> {
        let mut sets = Sets::Table { table, keys, hashes };
        self.update_rows(batch.rows().columns(), self.signs(batch)?.as_deref(), groups, states, &mut sets)
    }

    /// 1 for rows that are added, -1 for rows that are taken back. An error where rows must not be taken back and are.
    fn signs(&self, batch: &ChangeBatch) -> Result<Option<Vec<i8>>> {
        let sign = |number: &u8| if number & 1 == 0 { 1 } else { -1 };
        let signs: Option<Vec<i8>> = batch.kind_numbers().map(|numbers| {
            // The numbers of -U and -D are odd.
            numbers.iter().map(sign).collect()
        });
        if self.options.retract {
            return Ok(Some(signs.unwrap_or_else(|| vec![1; batch.len()])));
        }
        match signs {
            Some(signs) if signs.contains(&-1) => {
                Err(Error::bug("an aggregate that was planned for insertions alone is to take a row back"))
            }
            _ => Ok(None),
        }
    }

    fn update_rows(
        &self,
        columns: &[ArrayRef],
        signs: Option<&[i8]>,
        groups: &[u32],
        states: &mut States,
        sets: &mut Sets<'_>,
    ) -> Result<()> {
        let layout = &self.layout;
        let rows = Selection { mask: None, groups, signs };
        let mut changed: Vec<Vec<BooleanBuffer>> = Vec::with_capacity(layout.views.len());
        for (at, view) in layout.views.iter().enumerate() {
            changed.push(distinct::changed(at, view, columns, &rows, states, sets)?);
        }
        for slot in &layout.slots {
            let mut selection = Selection { mask: None, groups, signs };
            if let Some((view, bit)) = slot.distinct {
                selection.and(&changed[view][bit]);
            } else if let Some(filter) = slot.filter {
                selection.and(&true_mask(&columns[filter])?);
            }
            if slot.skip_nulls
                && let Some(nulls) = null_keys(&pick(columns, &slot.args)?)
            {
                selection.and(nulls.inner());
            }
            accumulate(slot, columns, &selection, states)?;
        }
        Ok(())
    }

    /// Adds each group of `source` to one of `states`: group `i` to `to[i]`, whose rows came before. `source` is used up. Words that
    /// are reserved are the operator's to merge.
    pub fn merge(&self, source: &mut States, to: &[u32], states: &mut States) -> Result<()> {
        let elsewhere = self.layout.sets == SetsAt::Elsewhere;
        for slot in self.layout.slots.iter().filter(|slot| elsewhere || slot.distinct.is_none()) {
            for (from, to) in to.iter().enumerate() {
                merge::merge(slot, source, from, states, *to as usize)?;
            }
        }
        for (at, view) in self.layout.views.iter().enumerate().filter(|_| !elsewhere) {
            let merged = distinct::merge(view, self.options.retract, source, to, states)?;
            let args = view.codec.decode(merged.rows.iter().map(|row| row.as_slice()))?;
            let columns = self.sparse(&view.args, args, merged.rows.len());
            let signs = self.options.retract.then_some(&merged.signs[..]);
            for slot in &self.layout.slots {
                let Some((_, bit)) = slot.distinct.filter(|(of, _)| *of == at) else { continue };
                if slot.order_by.iter().any(|(column, _)| !view.args.contains(column)) {
                    return Err(Error::job(
                        "DISTINCT aggregates are ordered by their arguments alone, where they are merged",
                    ));
                }
                let mut selection = Selection { mask: None, groups: &merged.groups, signs };
                selection.and(&merged.filters.iter().map(|filters| filters >> bit & 1 == 1).collect());
                if slot.skip_nulls
                    && let Some(nulls) = null_keys(&pick(&columns, &slot.args)?)
                {
                    selection.and(nulls.inner());
                }
                accumulate(slot, &columns, &selection, states)?;
            }
        }
        Ok(())
    }

    /// Columns of the input of which only some are there.
    fn sparse(&self, at: &[usize], columns: Vec<ArrayRef>, rows: usize) -> Vec<ArrayRef> {
        let absent = new_null_array(&DataType::Null, rows);
        let mut all = vec![absent; self.input.len()];
        at.iter().zip(columns).for_each(|(at, column)| all[*at] = column);
        all
    }

    /// The results of all groups, a column for each call.
    pub fn values(&self, states: &States) -> Result<Vec<ArrayRef>> {
        self.layout.finishes.iter().map(|finish| results::result(&self.layout, finish, states)).collect()
    }

    pub(super) fn has_distinct(&self) -> bool {
        !self.layout.views.is_empty()
    }

    /// Removes what a group has in a table of sets.
    pub(super) fn clear_sets(&self, table: &mut DistinctTable, words: &[u64], hash: u64, key: &RowBytes) {
        distinct::clear(table, &self.layout.views, words, hash, key);
    }
}

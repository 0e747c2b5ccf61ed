//! Results before a window is over, as updates.

use super::Emit;
use super::firing::{Groups, Part, merge};
use super::windows::Windows;
use crate::aggregate::Aggregator;
use crate::changes::Changes;
use crate::row::{RowBytes, RowCodec};
use crate::window::cells::{Cells, Panes};
use crate::window::shape::Span;
use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use flugs_batch::ChangeBatch;
use flugs_state::PaneTable;
use flugs_task::OpenContext;
use flugs_types::{Result, RowKind, Timestamp, hash_key};
use std::collections::HashSet;
use std::time::Duration;

/// So many groups are looked at together.
const GROUPS_MAX: usize = 1024;

/// What was given before windows are over, and what has changed since.
pub(super) struct Early {
    /// The results that were given last, of each window and key.
    pub(super) emitted: PaneTable<RowBytes, Span, RowBytes>,
    /// Of the results.
    codec: RowCodec,
    every: Option<Duration>,
    with_before: bool,
    /// Groups of panes that have changed. Not kept with the state: after a restore all count as changed, and those that have not are
    /// found equal to what was given.
    changed: HashSet<(Span, RowBytes)>,
    due: Option<Timestamp>,
    /// Groups of windows to look at, last first.
    todo: Vec<(Span, u64, RowBytes)>,
}

/// The columns of results: of groups, aggregates and windows.
pub(super) struct Columns {
    pub(super) keys: Vec<ArrayRef>,
    pub(super) values: Vec<ArrayRef>,
    pub(super) windows: Vec<ArrayRef>,
}

impl Early {
    /// Opens the state `emitted`; `None` where there are no early results.
    pub(super) fn open(
        context: &mut OpenContext<'_>,
        emit: Emit,
        with_before: bool,
        aggregator: &Aggregator,
        panes: &Panes,
    ) -> Result<Option<Self>> {
        let every = match emit {
            Emit::OnWatermark => return Ok(None),
            Emit::OnChange => None,
            Emit::Every(every) => Some(every),
        };
        let types: Vec<_> = aggregator.results().map(|result| result.data_type().clone()).collect();
        let all = panes.iter().flat_map(|(pane, table)| table.iter().map(|(key, _)| (*pane, key.clone())));
        let changed: HashSet<_> = all.collect();
        Ok(Some(Early {
            emitted: context.state.panes("emitted")?,
            codec: RowCodec::new(&types)?,
            due: every.filter(|_| !changed.is_empty()).map(|every| context.clock.now() + every),
            every,
            with_before,
            changed,
            todo: Vec::new(),
        }))
    }

    /// Notes that groups have changed.
    pub(super) fn note(&mut self, cells: &Cells, now: Timestamp) {
        for (pane, of_pane) in &cells.panes {
            self.changed.extend(cells.keys[of_pane.clone()].iter().map(|key| (*pane, key.clone())));
        }
        if self.due.is_none() {
            self.due = self.every.map(|every| now + every);
        }
    }

    /// Whether results come after each batch.
    pub(super) fn is_eager(&self) -> bool {
        self.every.is_none()
    }

    /// Whether there are groups to look at.
    pub(super) fn has_work(&self) -> bool {
        !self.todo.is_empty()
    }

    /// When results come.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.due
    }

    /// Has the windows of changed groups looked at, but for those that are over.
    pub(super) fn begin(&mut self, windows: &Windows, reached: i64) {
        self.due = None;
        for (pane, key) in self.changed.drain() {
            let hash = hash_key(&key);
            let mut next = windows.first_window(pane, reached);
            while let Some(window) = next {
                self.todo.push((window, hash, key.clone()));
                next = windows.first_window(pane, window.end - 1);
            }
        }
        self.todo.sort_unstable_by(|a, b| b.cmp(a));
        self.todo.dedup();
    }

    /// The next groups to look at; `None` where there are none.
    pub(super) fn next(
        &mut self,
        windows: &Windows,
        panes: &Panes,
        aggregator: &Aggregator,
        counted: bool,
    ) -> Result<Option<Groups>> {
        if self.todo.is_empty() {
            return Ok(None);
        }
        let rest = self.todo.len().saturating_sub(GROUPS_MAX);
        let mut parts = Vec::new();
        let mut of_window: (Option<Span>, Vec<Span>) = (None, Vec::new());
        for (window, hash, key) in self.todo.drain(rest..).rev() {
            if of_window.0 != Some(window) {
                of_window = (Some(window), windows.panes_of(window, panes));
            }
            for (pane, span) in of_window.1.iter().enumerate() {
                if let Some(state) = panes.pane(span).and_then(|table| table.get_hashed(hash, &key)) {
                    parts.push(Part { window, hash, key: key.clone(), pane, state: state.clone() });
                }
            }
        }
        merge(parts, aggregator, counted).map(Some)
    }

    /// The changes from what was given of these groups to what they are now. `there` says which have rows.
    pub(super) fn changes(
        &mut self,
        groups: &Groups,
        there: &[bool],
        output: &SchemaRef,
        columns: Columns,
    ) -> Result<ChangeBatch> {
        let Columns { keys, values, windows } = columns;
        let rows = self.codec.encode(&values, groups.len())?;
        let mut changes = Changes::default();
        let mut before = Vec::with_capacity(groups.len());
        for (at, there) in there.iter().enumerate() {
            let (window, hash, key) = (groups.windows[at], groups.hashes[at], &groups.keys[at]);
            let old = self.emitted.pane(&window).and_then(|table| table.get_hashed(hash, key)).cloned();
            match (&old, *there) {
                (None, true) => changes.new_row(RowKind::Insert, at),
                (Some(old), true) if old.as_slice() != rows.row(at) => {
                    if self.with_before {
                        changes.old(RowKind::UpdateBefore, at);
                    }
                    changes.new_row(RowKind::UpdateAfter, at);
                }
                (Some(_), false) => changes.old(RowKind::Delete, at),
                _ => {}
            }
            if *there {
                if old.as_ref().is_none_or(|old| old.as_slice() != rows.row(at)) {
                    let table = self.emitted.pane_mut(window);
                    *table.get_or_insert_hashed(hash, key, RowBytes::default) = rows.to_key(at);
                }
            } else if old.is_some()
                && let Some(table) = self.emitted.existing_mut(&window)
            {
                table.remove_hashed(hash, key);
            }
            before.push(old.unwrap_or_else(|| rows.to_key(at)));
        }
        if changes.is_empty() {
            return Ok(ChangeBatch::default());
        }
        let mut old = self.codec.decode(before.iter().map(RowBytes::as_slice))?;
        old.extend_from_slice(&windows);
        let new: Vec<ArrayRef> = values.into_iter().chain(windows).collect();
        let places: Vec<u32> = (0..groups.len() as u32).collect();
        changes.batch(output, &keys, &places, &old, &new)
    }
}

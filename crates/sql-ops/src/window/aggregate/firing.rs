//! A window that gives its results.

use super::windows::Windows;
use crate::aggregate::{AggState, Aggregator, States};
use crate::row::RowBytes;
use crate::window::cells::Panes;
use crate::window::shape::Span;
use crate::window::stripes::{Stripes, show_step};
use flugs_types::{Result, hash_key};

/// Groups with the states of a window: by hash and key.
pub(super) struct Groups {
    pub(super) windows: Vec<Span>,
    pub(super) hashes: Vec<u64>,
    pub(super) keys: Vec<RowBytes>,
    pub(super) states: States,
    /// Those that have a part in another pane than the window's first.
    changed: Vec<u32>,
}

impl Groups {
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }
}

/// Groups that come one after the other, each in parts.
pub(super) struct Gathered {
    groups: Groups,
    /// Parts of groups that are there already.
    more: States,
    to: Vec<u32>,
}

impl Gathered {
    /// No groups, and room for some.
    pub(super) fn new(aggregator: &Aggregator, room: usize) -> Self {
        let groups = Groups {
            windows: Vec::with_capacity(room),
            hashes: Vec::with_capacity(room),
            keys: Vec::with_capacity(room),
            states: aggregator.states(),
            changed: Vec::new(),
        };
        Gathered { groups, more: aggregator.states(), to: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// A new group, with its first part.
    pub(super) fn push(&mut self, window: Span, hash: u64, key: RowBytes, state: &mut AggState) {
        self.groups.states.load(state);
        self.groups.windows.push(window);
        self.groups.hashes.push(hash);
        self.groups.keys.push(key);
    }

    /// The next part of the last group.
    pub(super) fn add(&mut self, state: &mut AggState) {
        self.more.load(state);
        self.to.push(self.groups.len() as u32 - 1);
    }

    /// The groups with all of their parts. `counted`: the first word of a state counts rows.
    pub(super) fn finish(mut self, aggregator: &Aggregator, counted: bool) -> Result<Groups> {
        add_up(aggregator, counted, &mut self.more, &self.to, &mut self.groups.states)?;
        Ok(self.groups)
    }
}

/// Adds states to others, whose rows came before: the state `i` to `to[i]`. `counted`: the first word of a state counts rows.
pub(super) fn add_up(
    aggregator: &Aggregator,
    counted: bool,
    more: &mut States,
    to: &[u32],
    states: &mut States,
) -> Result<()> {
    if counted {
        for (from, to) in to.iter().enumerate() {
            let count = more.words(from)[0];
            let sum = &mut states.words_mut(*to as usize)[0];
            *sum = sum.wrapping_add(count);
        }
    }
    if to.is_empty() { Ok(()) } else { aggregator.merge(more, to, states) }
}

/// A part of a group's state.
pub(super) struct Part {
    pub(super) window: Span,
    pub(super) hash: u64,
    pub(super) key: RowBytes,
    /// Which of the window's panes it is from.
    pub(super) pane: usize,
    pub(super) state: AggState,
}

/// How far a window has given its results.
pub(super) struct Firing {
    pub(super) window: Span,
    panes: Vec<Span>,
    stripes: Stripes,
}

impl Firing {
    pub(super) fn new(window: Span, windows: &Windows, panes: &Panes) -> Self {
        let panes = windows.panes_of(window, panes);
        Firing { window, stripes: Stripes::new(panes.len()), panes }
    }

    /// Merges the next keys whose hashes stand together. Says whether they were the last.
    pub(super) fn next(
        &mut self,
        panes: &mut Panes,
        aggregator: &Aggregator,
        counted: bool,
    ) -> Result<(Groups, bool)> {
        let mut parts = Vec::new();
        let window = self.window;
        let ended = self.stripes.next(|pane, cursor| {
            show_step(panes.existing_mut(&self.panes[pane]), cursor, |key, state| {
                let (hash, key, state) = (hash_key(key), key.clone(), state.clone());
                parts.push(Part { window, hash, key, pane, state });
            })
        });
        Ok((merge(parts, aggregator, counted)?, ended))
    }

    /// Keeps the merged groups in the pane `first`. Their states are used up.
    pub(super) fn keep(&self, groups: &mut Groups, panes: &mut Panes, first: Span) {
        let changed = match self.panes.first() == Some(&first) {
            true => std::mem::take(&mut groups.changed),
            false => (0..groups.len() as u32).collect(),
        };
        let table = panes.pane_mut(first);
        for at in changed.into_iter().map(|at| at as usize) {
            let state = table.get_or_insert_hashed(groups.hashes[at], &groups.keys[at], AggState::default);
            groups.states.store(at, state);
        }
    }

    /// The panes that were read.
    pub(super) fn panes(&self) -> &[Span] {
        &self.panes
    }
}

/// Merges the parts of each window and key, in the order of panes. Groups come by window, hash and key. `counted`: the first word of a state
/// counts rows.
pub(super) fn merge(mut parts: Vec<Part>, aggregator: &Aggregator, counted: bool) -> Result<Groups> {
    let mut order: Vec<(Span, u64, u32)> =
        parts.iter().enumerate().map(|(at, part)| (part.window, part.hash, at as u32)).collect();
    order.sort_unstable();
    // Equal hashes: mostly one key in several panes.
    for same in order.chunk_by_mut(|a, b| (a.0, a.1) == (b.0, b.1)).filter(|same| same.len() > 1) {
        same.sort_unstable_by(|a, b| {
            let (a, b) = (&parts[a.2 as usize], &parts[b.2 as usize]);
            (&a.key, a.pane).cmp(&(&b.key, b.pane))
        });
    }
    let mut gathered = Gathered::new(aggregator, order.len());
    for (window, hash, at) in order {
        let part = &mut parts[at as usize];
        let last = gathered.len().checked_sub(1);
        let groups = &gathered.groups;
        let is_last =
            |at| (groups.windows[at], groups.hashes[at]) == (window, hash) && groups.keys[at] == part.key;
        match last.is_some_and(is_last) {
            true => gathered.add(&mut part.state),
            false => gathered.push(window, hash, std::mem::take(&mut part.key), &mut part.state),
        }
        let group = gathered.len() as u32 - 1;
        if part.pane > 0 && gathered.groups.changed.last() != Some(&group) {
            gathered.groups.changed.push(group);
        }
    }
    gathered.finish(aggregator, counted)
}

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
    let mut groups = Groups {
        windows: Vec::with_capacity(order.len()),
        hashes: Vec::with_capacity(order.len()),
        keys: Vec::with_capacity(order.len()),
        states: aggregator.states(),
        changed: Vec::new(),
    };
    let (mut more, mut to) = (aggregator.states(), Vec::new());
    for (window, hash, at) in order {
        let part = &mut parts[at as usize];
        let at = groups.keys.len();
        let same = at > 0
            && (groups.windows[at - 1], groups.hashes[at - 1]) == (window, hash)
            && groups.keys[at - 1] == part.key;
        if same {
            more.load(&mut part.state);
            to.push(at as u32 - 1);
        } else {
            groups.states.load(&mut part.state);
            groups.windows.push(window);
            groups.hashes.push(hash);
            groups.keys.push(std::mem::take(&mut part.key));
        }
        let group = groups.keys.len() as u32 - 1;
        if part.pane > 0 && groups.changed.last() != Some(&group) {
            groups.changed.push(group);
        }
    }
    if counted {
        for (from, to) in to.iter().enumerate() {
            let count = more.words(from)[0];
            let sum = &mut groups.states.words_mut(*to as usize)[0];
            *sum = sum.wrapping_add(count);
        }
    }
    if !to.is_empty() {
        aggregator.merge(&mut more, &to, &mut groups.states)?;
    }
    Ok(groups)
}

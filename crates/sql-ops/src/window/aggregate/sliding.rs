//! What each key has in windows of many slices that follow each other, without all slices being read for each window.
//!
//! A window loses slices at its start and gains some at its end, and accumulators cannot forget: of each key there are two stacks. The
//! *front* has for each of its slices the sum of that slice and all later ones of the front; the *back* is the sum of the slices behind. A
//! window is the front's sum from the window's start on, and the back. When a window begins behind the front, all of its slices become
//! a new front. So a slice is added twice, however many windows it is in, and a window costs one addition a key. Sums are in the
//! order of time.
//!
//! None of this is kept with the state: after a restore the first window builds its front. Of a key that has late rows, in slices that are
//! already added, the front is built anew.

use super::firing::{Gathered, add_up};
use super::windows::{Windows, slices_within};
use crate::aggregate::{AggState, Aggregator, States};
use crate::row::RowBytes;
use crate::window::cells::Panes;
use crate::window::shape::Span;
use flugs_state::Fuel;
use flugs_types::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// With fewer slices a window, these are read for each.
const SLICES_MIN: usize = 16;
/// So many groups are given together.
const GROUPS_MAX: usize = 1024;
/// The fuel that a group takes.
const GROUP_FUEL: usize = 64;

/// A hash, and its key.
type Key = (u64, RowBytes);

/// See the module.
pub(super) struct Sliding {
    aggregator: Aggregator,
    counted: bool,
    keys: BTreeMap<Key, Stacks>,
    /// Slices up to here are in the front.
    front_end: i64,
    /// Slices up to here are in one of the stacks.
    taken_end: i64,
    /// Keys that had rows in such a slice since.
    late: BTreeSet<Key>,
    doing: Doing,
}

/// The stacks of one key.
#[derive(Default)]
struct Stacks {
    /// By the start of the slice, the last first.
    front: Vec<(i64, AggState)>,
    back: Option<AggState>,
}

/// What is done for the window that fires.
enum Doing {
    Nothing,
    /// Slices are added, from the last of these on.
    Taking {
        slices: Vec<Span>,
        cursor: u64,
        to_front: bool,
    },
    /// Fronts of keys with late rows are built anew.
    Mending,
    /// Groups are given, behind this key.
    Giving(Option<Key>),
}

impl Sliding {
    /// For such windows; `None` where slices are few, or where accumulators keep rows, so that each sum is as large as its parts
    /// together.
    pub(super) fn new(windows: &Windows, aggregator: &Aggregator, counted: bool) -> Option<Self> {
        let Windows::Sliced(slices) = windows else { return None };
        let slides = !slices.is_tumbling() && !slices.is_cumulative() && slices.per_window() >= SLICES_MIN;
        (slides && !aggregator.keeps_rows()).then(|| Sliding {
            aggregator: aggregator.clone(),
            counted,
            keys: BTreeMap::new(),
            front_end: i64::MIN,
            taken_end: i64::MIN,
            late: BTreeSet::new(),
            doing: Doing::Nothing,
        })
    }

    /// Notes that keys had rows in a slice.
    pub(super) fn note<'a>(&mut self, slice: Span, keys: impl Iterator<Item = (&'a u64, &'a RowBytes)>) {
        if slice.end <= self.taken_end {
            self.late.extend(keys.map(|(hash, key)| (*hash, key.clone())));
        }
    }

    /// Gathers the groups of a window, as far as the fuel goes. Says whether these were the last. Windows come in order.
    pub(super) fn next(
        &mut self,
        window: Span,
        panes: &mut Panes,
        gathered: &mut Gathered,
        fuel: &mut Fuel,
    ) -> Result<bool> {
        while !fuel.is_spent() && gathered.len() < GROUPS_MAX {
            self.doing = match std::mem::replace(&mut self.doing, Doing::Nothing) {
                Doing::Nothing => self.begin(window, panes),
                Doing::Taking { mut slices, mut cursor, to_front } => match slices.last() {
                    None => Doing::Mending,
                    Some(slice) => {
                        if self.take(*slice, panes, &mut cursor, to_front, fuel)? {
                            slices.pop();
                        }
                        Doing::Taking { slices, cursor, to_front }
                    }
                },
                Doing::Mending => match self.late.pop_first() {
                    None => Doing::Giving(None),
                    Some(key) => {
                        self.mend(window, panes, key, fuel)?;
                        Doing::Mending
                    }
                },
                Doing::Giving(after) => match self.give(window, after, gathered, fuel) {
                    None => return Ok(true),
                    Some(last) => Doing::Giving(Some(last)),
                },
            };
        }
        Ok(false)
    }

    /// Finds the slices that are to be added.
    fn begin(&mut self, window: Span, panes: &Panes) -> Doing {
        let to_front = window.start >= self.front_end;
        let mut slices: Vec<Span> = match to_front {
            true => slices_within(window, panes).copied().collect(),
            false => slices_within(Span::new(self.taken_end, window.end), panes).copied().collect(),
        };
        if to_front {
            self.keys.clear();
            self.late.clear();
            self.front_end = window.end;
        } else {
            slices.reverse();
        }
        self.taken_end = window.end;
        Doing::Taking { slices, cursor: 0, to_front }
    }

    /// Adds keys of a slice. Says whether they were the last.
    fn take(
        &mut self,
        slice: Span,
        panes: &mut Panes,
        cursor: &mut u64,
        to_front: bool,
        fuel: &mut Fuel,
    ) -> Result<bool> {
        let Some(table) = panes.existing_mut(&slice) else { return Ok(true) };
        let mut keys = Vec::new();
        let mut pairs = Vec::new();
        let show = |key: &RowBytes, state: &AggState| {
            let key = (flugs_types::hash_key(key), key.clone());
            let stacks = self.keys.entry(key.clone()).or_default();
            keys.push(key);
            pairs.push(match to_front {
                true => (state.clone(), stacks.front.last().map(|(_, sum)| sum.clone())),
                false => match stacks.back.take() {
                    Some(back) => (back, Some(state.clone())),
                    None => (state.clone(), None),
                },
            });
            false
        };
        let ended = table.sweep(cursor, fuel, show, |_, _| true);
        let mut sums = self.sums(pairs)?;
        for (at, key) in keys.iter().enumerate() {
            let Some(stacks) = self.keys.get_mut(key) else { continue };
            match to_front {
                true => stacks.front.push((slice.start, sums.take(at))),
                false => stacks.back = Some(sums.take(at)),
            }
        }
        Ok(ended)
    }

    /// Makes all slices of a key its front.
    fn mend(&mut self, window: Span, panes: &Panes, key: Key, fuel: &mut Fuel) -> Result<()> {
        let mut stacks = Stacks::default();
        for slice in slices_within(window, panes).rev() {
            fuel.spend(GROUP_FUEL);
            let state = panes.pane(slice).and_then(|table| table.get_hashed(key.0, &key.1));
            if let Some(state) = state {
                let later = stacks.front.last().map(|(_, sum)| sum.clone());
                let sum = self.sums(vec![(state.clone(), later)])?.take(0);
                stacks.front.push((slice.start, sum));
            }
        }
        self.keys.insert(key, stacks);
        Ok(())
    }

    /// Of each pair the sum.
    fn sums(&self, pairs: Vec<(AggState, Option<AggState>)>) -> Result<States> {
        let (mut sums, mut more, mut to) = (self.aggregator.states(), self.aggregator.states(), Vec::new());
        for (at, (mut earlier, later)) in pairs.into_iter().enumerate() {
            sums.load(&mut earlier);
            if let Some(mut later) = later {
                more.load(&mut later);
                to.push(at as u32);
            }
        }
        add_up(&self.aggregator, self.counted, &mut more, &to, &mut sums)?;
        Ok(sums)
    }

    /// Gathers groups; gives the last of them, if there are more.
    fn give(
        &mut self,
        window: Span,
        after: Option<Key>,
        gathered: &mut Gathered,
        fuel: &mut Fuel,
    ) -> Option<Key> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let (mut gone, mut last): (Vec<Key>, Option<&Key>) = (Vec::new(), None);
        let mut keys = self.keys.range_mut((from, Bound::Unbounded));
        let more = loop {
            if fuel.is_spent() || gathered.len() >= GROUPS_MAX {
                break last.cloned();
            }
            let Some((key, stacks)) = keys.next() else { break None };
            fuel.spend(GROUP_FUEL);
            last = Some(key);
            while stacks.front.last().is_some_and(|(start, _)| *start < window.start) {
                stacks.front.pop();
            }
            let front = stacks.front.last().map(|(_, sum)| sum);
            let Some(first) = front.or(stacks.back.as_ref()) else {
                gone.push(key.clone());
                continue;
            };
            gathered.push(window, key.0, key.1.clone(), &mut first.clone());
            if let (Some(_), Some(back)) = (front, &stacks.back) {
                gathered.add(&mut back.clone());
            }
        };
        gone.iter().for_each(|key| drop(self.keys.remove(key)));
        more
    }
}

//! What joined deltas give, as Flink's `StreamingJoinOperator` and `StreamingSemiAntiJoinOperator` do.

use super::gather::{Candidate, Run};
use super::probe::{Rules, total_after};
use super::side::JoinSide;
use super::work::{Part, Work};
use crate::join::bag::Bag;
use crate::join::pairs::Pairs;
use crate::join::plan::{NONE, Side};
use arrow::buffer::BooleanBuffer;
use flugs_types::RowKind;

/// A run on its way into results.
pub(super) struct Joining<'a> {
    rules: &'a Rules,
    run: &'a Run,
    candidates: &'a [Candidate],
    passed: Option<&'a BooleanBuffer>,
    /// The rows that went and came.
    minus: u32,
    plus: u32,
    same: bool,
    total: u32,
    /// The bag of the candidates, where these know how many matches they have.
    tracked: Option<&'a mut Bag>,
}

impl<'a> Joining<'a> {
    pub(super) fn new(
        rules: &'a Rules,
        work: &Work,
        run: &'a Run,
        candidates: &'a [Candidate],
        passed: Option<&'a BooleanBuffer>,
        other: &'a mut JoinSide,
    ) -> Self {
        let delta = &work.deltas[run.delta];
        let key = delta.key as usize;
        let tracked = if rules.tracks_other && run.n > 0 {
            other.table.get_mut_hashed(work.keys.hashes[key], &work.keys.keys[key])
        } else {
            None
        };
        Joining {
            rules,
            run,
            candidates: &candidates[run.from..run.from + run.n],
            passed,
            minus: delta.minus,
            plus: delta.plus,
            same: delta.same,
            total: total_after(delta, run.part),
            tracked,
        }
    }

    /// Adds the run's results. Returns how many matches the row that went or came has had so far; of an update, both.
    pub(super) fn run(&mut self, results: &mut Pairs) -> (u32, u32) {
        match self.run.part {
            Part::Both => self.update(results),
            Part::Minus => {
                let found = self.one_sided(RowKind::Delete, self.minus, results);
                (found, found)
            }
            Part::Plus => {
                let found = self.one_sided(RowKind::Insert, self.plus, results);
                (found, found)
            }
        }
    }

    #[inline(always)]
    fn passes(&self, test: usize) -> bool {
        self.passed.is_none_or(|passed| passed.value(self.run.tests + test))
    }

    /// A row that came or went.
    fn one_sided(&mut self, kind: RowKind, row: u32, results: &mut Pairs) -> u32 {
        let mut found = self.run.found;
        if !self.rules.is_plain() {
            for i in 0..self.candidates.len() {
                if self.passes(i) {
                    found = found.saturating_add(self.candidates[i].copies);
                    self.pair(kind, row, i, results);
                }
            }
        } else {
            for (i, candidate) in self.candidates.iter().enumerate() {
                if self.passes(i) {
                    (0..candidate.copies).for_each(|_| results.push(kind, row, candidate.row));
                }
            }
        }
        if self.run.closes && self.shows_alone(found) {
            results.push(kind, row, NONE);
        }
        found
    }

    /// Whether a row of this input is put out alone when it has this many matches.
    fn shows_alone(&self, found: u32) -> bool {
        match self.rules.left_only {
            Some(semi) => self.rules.side == Side::Left && (found > 0) == semi,
            None => self.rules.pads_own && found == 0,
        }
    }

    /// A row that came or went, and a candidate that matches it.
    fn pair(&mut self, kind: RowKind, row: u32, i: usize, results: &mut Pairs) {
        let candidate = self.candidates[i];
        let first_or_last = self.is_first_or_last(kind, candidate);
        let other = candidate.row;
        for _ in 0..candidate.copies {
            match self.rules.left_only {
                Some(semi) if self.rules.side == Side::Right && first_or_last => {
                    let shows = (kind == RowKind::Insert) == semi;
                    results.push(if shows { RowKind::Insert } else { RowKind::Delete }, NONE, other);
                }
                Some(_) => {}
                None => {
                    let padded = self.rules.pads_other && first_or_last;
                    if padded && kind == RowKind::Insert {
                        results.push(RowKind::Delete, NONE, other);
                    }
                    results.push(kind, row, other);
                    if padded && kind == RowKind::Delete {
                        results.push(RowKind::Insert, NONE, other);
                    }
                }
            }
        }
    }

    /// Whether the row that came is the candidate's first match, or the one that went was its last; counts it.
    fn is_first_or_last(&mut self, kind: RowKind, candidate: Candidate) -> bool {
        let came = kind == RowKind::Insert;
        let Some(bag) = &mut self.tracked else {
            return self.total == u32::from(came);
        };
        let matches = bag.entry(candidate.at).map_or(0, |entry| entry.tracked);
        if candidate.last {
            let now = if came { matches.saturating_add(1) } else { matches.saturating_sub(1) };
            bag.set_tracked(candidate.at, now);
        }
        matches == u32::from(!came)
    }

    /// A row in place of another. What goes comes first, so that who knows rows by a key ends with what came.
    fn update(&mut self, results: &mut Pairs) -> (u32, u32) {
        let n = self.candidates.len();
        let count = |of: usize| -> u32 {
            let passing = self.candidates.iter().enumerate().filter(|(i, _)| self.passes(of + i));
            passing.fold(self.run.found, |sum, (_, candidate)| sum.saturating_add(candidate.copies))
        };
        let (before, after) = (count(0), count(n));
        let (showed, shows) = (self.shows_alone(before), self.shows_alone(after));
        match (showed, shows) {
            (true, true) => self.replacement(NONE, results),
            (true, false) => results.push(RowKind::Delete, self.minus, NONE),
            _ => {}
        }
        for i in 0..n {
            match (self.passes(i), self.passes(n + i)) {
                (true, true) if self.rules.left_only.is_none() => {
                    let Candidate { copies, row, .. } = self.candidates[i];
                    (0..copies).for_each(|_| self.replacement(row, results));
                }
                (true, false) => self.pair(RowKind::Delete, self.minus, i, results),
                (false, true) => self.pair(RowKind::Insert, self.plus, i, results),
                _ => {}
            }
        }
        if shows && !showed {
            results.push(RowKind::Insert, self.plus, NONE);
        }
        (before, after)
    }

    fn replacement(&self, other: u32, results: &mut Pairs) {
        if self.same {
            return;
        }
        if self.rules.emit_update_before {
            results.push(RowKind::UpdateBefore, self.minus, other);
        }
        results.push(RowKind::UpdateAfter, self.plus, other);
    }
}

//! Joins deltas of one input with the rows of the other, a bounded chunk at a time.
//!
//! A chunk is gathered (the rows of the other input, as bytes), decoded and tested by the condition as a whole, and put out in the
//! order of the deltas. An update whose key has few rows on the other side is joined in one go, so that what it changes comes out as
//! `-U` and `+U` of each result; else as what went and then what came.

use super::gather::{Candidate, Chunk, Run, Segment, gather};
use super::results::Joining;
use super::side::JoinSide;
use super::work::{Delta, Part, Work};
use crate::join::pairs::{Pairs, rows_of};
use crate::join::plan::{JoinPlan, NONE, Rows, Selection, Side};
use crate::join::spec::JoinType;
use flugs_batch::ChangeBatch;
use flugs_types::Result;

/// What a join does with the deltas of one input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) side: Side,
    /// Rows of this input without a match are put out beside NULLs.
    pub(super) pads_own: bool,
    /// Rows of the other one are.
    pub(super) pads_other: bool,
    /// Only rows of the left are put out: those with a match, or those without.
    pub(super) left_only: Option<bool>,
    /// Rows of this input know how many matches they have.
    pub(super) tracks_own: bool,
    /// Rows of the other one do.
    pub(super) tracks_other: bool,
    conditional: bool,
    pub(super) emit_update_before: bool,
}

impl Rules {
    /// `tracks` says of the left and of the right whether rows know how many matches they have.
    pub(super) fn new(
        join_type: JoinType,
        side: Side,
        tracks: [bool; 2],
        conditional: bool,
        emit_update_before: bool,
    ) -> Self {
        let pads = [join_type.pads_left(), join_type.pads_right()];
        let (own, other) = if side == Side::Left { (0, 1) } else { (1, 0) };
        Rules {
            side,
            pads_own: pads[own],
            pads_other: pads[other],
            left_only: join_type.is_left_only().then_some(join_type == JoinType::LeftSemi),
            tracks_own: tracks[own],
            tracks_other: tracks[other],
            conditional,
            emit_update_before,
        }
    }

    /// Whether a row of this input may be put out although it has no match.
    pub(super) fn may_be_lonely(&self) -> bool {
        self.pads_own || self.side == Side::Left && self.left_only.is_some()
    }

    /// Whether pairs are all that is put out, and nobody counts them.
    pub(super) fn is_plain(&self) -> bool {
        !(self.pads_own
            || self.pads_other
            || self.left_only.is_some()
            || self.tracks_own
            || self.tracks_other)
    }

    /// What of a delta needs the rows of the other input.
    pub(super) fn reach(&self, delta: &Delta, part: Part) -> Reach {
        match (self.left_only, self.side) {
            (Some(_), Side::Left) if !self.conditional => Reach::Number,
            (Some(_), Side::Right) if !self.conditional && !self.tracks_other => match part {
                Part::Minus if total_after(delta, part) == 0 => Reach::Rows,
                Part::Plus if total_after(delta, part) == 1 => Reach::Rows,
                _ => Reach::Nothing,
            },
            _ => Reach::Rows,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    Rows,
    /// How many there are.
    Number,
    Nothing,
}

/// How many rows the key has after this part.
pub(super) fn total_after(delta: &Delta, part: Part) -> u32 {
    if part == Part::Minus && delta.plus != NONE { delta.total.saturating_sub(1) } else { delta.total }
}

/// Joins the next chunk; `None` where it gives nothing.
pub(super) fn step(
    plan: &JoinPlan,
    rules: &Rules,
    work: &mut Work,
    own: &mut JoinSide,
    other: &mut JoinSide,
) -> Result<Option<ChangeBatch>> {
    let chunk = gather(rules, work, other);
    let Chunk { runs, candidates, rows, tests, segment, .. } = chunk;
    let decoded = rows.len();
    let codec = &plan.side(work.side.other()).codec;
    let known =
        segment.and_then(|segment| work.segments.get(&work.keys.keys[key_of(work, segment)], segment));
    let columns = match known {
        Some(columns) => columns,
        None if rows.is_empty() => Vec::new(),
        None => {
            let bytes = rows.iter().map(|row| row.len()).sum();
            let columns = codec.decode(rows)?;
            if let Some(segment) = segment {
                let key = work.keys.keys[key_of(work, segment)].clone();
                work.segments.set(key, segment, &columns, bytes);
            }
            columns
        }
    };
    let passed = match &plan.condition {
        Some(condition) if tests > 0 => {
            let (own_at, other_at) = tested(&work.deltas, &runs, &candidates, tests);
            let (own_at, other_at) =
                (Selection::new(own_at, rows_of(&work.columns)), Selection::new(other_at, decoded));
            let own = Rows::at(&work.columns, &own_at);
            let other = Rows::at(&columns, &other_at);
            let (left, right) = if work.side == Side::Left { (own, other) } else { (other, own) };
            Some(condition.matches(left, right, tests)?)
        }
        _ => None,
    };
    let mut results = Pairs::default();
    for run in &runs {
        let mut joining = Joining::new(rules, work, run, &candidates, passed.as_ref(), other);
        let found = joining.run(&mut results);
        if !run.closes {
            work.cursor.found = found.0;
        } else if rules.tracks_own {
            track(work, run, found, own);
        }
    }
    results.put_out(plan, work.side, &work.columns, &columns)
}

fn key_of(work: &Work, segment: Segment) -> usize {
    work.deltas[segment.delta].key as usize
}

/// Notes how many matches the row that came has.
fn track(work: &Work, run: &Run, found: (u32, u32), own: &mut JoinSide) {
    let delta = &work.deltas[run.delta];
    let Some((rows, first)) = work.encoded.as_ref().filter(|_| run.part != Part::Minus) else { return };
    let key = delta.key as usize;
    if work.keys.is_null(key) {
        return;
    }
    let (hash, key) = (work.keys.hashes[key], &work.keys.keys[key]);
    // It may have gone again in the same batch.
    let Some(bag) = own.table.get_hashed(hash, key) else { return };
    let at = match delta.place {
        NONE => own.find(bag, rows, first.as_ref(), delta.plus as usize),
        place => Some(place),
    };
    let Some(at) = at else { return };
    let matches = if run.part == Part::Both { found.1 } else { found.0 };
    if bag.entry(at).is_some_and(|entry| entry.tracked != matches)
        && let Some(bag) = own.table.get_mut_hashed(hash, key)
    {
        bag.set_tracked(at, matches);
    }
}

/// For each test the rows of both inputs.
fn tested(deltas: &[Delta], runs: &[Run], candidates: &[Candidate], tests: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut own, mut other) = (Vec::with_capacity(tests), Vec::with_capacity(tests));
    for run in runs {
        let delta = &deltas[run.delta];
        let rows = candidates[run.from..run.from + run.n].iter().map(|candidate| candidate.row);
        if run.part != Part::Plus {
            own.resize(own.len() + run.n, delta.minus);
            other.extend(rows.clone());
        }
        if run.part != Part::Minus {
            own.resize(own.len() + run.n, delta.plus);
            other.extend(rows);
        }
    }
    (own, other)
}

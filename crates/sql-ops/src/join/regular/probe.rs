//! Joins deltas of one input with the rows of the other, a bounded chunk at a time.
//!
//! A chunk is gathered (the rows of the other input, as bytes), decoded and tested by the condition as a whole, and put out in the
//! order of the deltas. An update whose key has few rows on the other side is joined in one go, so that what it changes comes out as
//! `-U` and `+U` of each result; else as what went and then what came.

use super::results::Joining;
use super::side::JoinSide;
use super::work::{Cursor, Delta, Part, Work};
use crate::join::bag::Bag;
use crate::join::pairs::{Pairs, rows_of};
use crate::join::plan::{JoinPlan, NONE, Rows, Selection, Side};
use crate::join::spec::JoinType;
use flugs_batch::ChangeBatch;
use flugs_types::Result;

/// Rows of the other input that are joined in one chunk (tests see the ends of chunks too) ...
const CHUNK_ROWS: usize = if cfg!(test) { 5 } else { 2048 };
/// ... and what they may take, the last one not counted.
const CHUNK_BYTES: usize = 4 << 20;
/// An update of a key with more rows on the other side is taken apart.
const UPDATE_ROWS_MAX: u32 = if cfg!(test) { 3 } else { 512 };
/// Keys that are looked up together.
const GROUP: usize = 32;

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
    fn reach(&self, delta: &Delta, part: Part) -> Reach {
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
enum Reach {
    Rows,
    /// How many there are.
    Number,
    Nothing,
}

/// How many rows the key has after this part.
pub(super) fn total_after(delta: &Delta, part: Part) -> u32 {
    if part == Part::Minus && delta.plus != NONE { delta.total.saturating_sub(1) } else { delta.total }
}

/// A delta, or a part of it, in a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) delta: usize,
    pub(super) part: Part,
    /// Its candidates.
    pub(super) from: usize,
    pub(super) n: usize,
    /// Where the results of the condition for them begin: for what went, then (of both parts) for what came.
    pub(super) tests: usize,
    /// How many matches it has had in former chunks, and where rows are not looked at, in this one.
    pub(super) found: u32,
    /// Whether it ends in this chunk.
    pub(super) closes: bool,
}

/// A row of the other input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) at: u32,
    /// How many of the rows equal to it are joined in this chunk.
    pub(super) copies: u32,
    /// Whether none of them is left for the next.
    pub(super) last: bool,
}

#[derive(Default)]
struct Chunk<'a> {
    runs: Vec<Run>,
    candidates: Vec<Candidate>,
    rows: Vec<&'a [u8]>,
    copies: usize,
    bytes: usize,
    tests: usize,
}

impl Chunk<'_> {
    fn is_full(&self) -> bool {
        self.copies >= CHUNK_ROWS || self.bytes >= CHUNK_BYTES || self.runs.len() >= CHUNK_ROWS
    }
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
    let Chunk { runs, candidates, rows, tests, .. } = chunk;
    let codec = &plan.side(work.side.other()).codec;
    let columns = if rows.is_empty() { Vec::new() } else { codec.decode(rows)? };
    let passed = match &plan.condition {
        Some(condition) if tests > 0 => {
            let (own_at, other_at) = tested(&work.deltas, &runs, tests);
            let (own_at, other_at) =
                (Selection::new(own_at, rows_of(&work.columns)), Selection::new(other_at, candidates.len()));
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
fn tested(deltas: &[Delta], runs: &[Run], tests: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut own, mut other) = (Vec::with_capacity(tests), Vec::with_capacity(tests));
    for run in runs {
        let delta = &deltas[run.delta];
        let candidates = run.from as u32..(run.from + run.n) as u32;
        if run.part != Part::Plus {
            own.resize(own.len() + run.n, delta.minus);
            other.extend(candidates.clone());
        }
        if run.part != Part::Minus {
            own.resize(own.len() + run.n, delta.plus);
            other.extend(candidates);
        }
    }
    (own, other)
}

/// Collects candidates from where the work has come to, and moves it on.
fn gather<'a>(rules: &Rules, work: &mut Work, other: &'a JoinSide) -> Chunk<'a> {
    let mut chunk = Chunk::default();
    let unseen_upto = other.unseen_upto(work.now);
    let mut bags: [Option<&Bag>; GROUP] = [None; GROUP];
    let mut looked_up = 0..0;
    while !work.is_done() && !chunk.is_full() {
        let at = work.cursor.delta;
        if !looked_up.contains(&at) {
            looked_up = at..work.deltas.len().min(at + GROUP);
            look_up(work, other, looked_up.clone(), &mut bags);
        }
        let bag = bags[at - looked_up.start];
        let delta = work.deltas[at];
        let part = work.cursor.part.unwrap_or_else(|| first_part(&delta, bag));
        let reach = rules.reach(&delta, part);
        if part == Part::Both
            && reach == Reach::Rows
            && !chunk.runs.is_empty()
            && chunk.copies + bag.map_or(0, |bag| bag.total() as usize) > CHUNK_ROWS
        {
            break;
        }
        work.cursor.part = Some(part);
        let from = chunk.candidates.len();
        let mut run =
            Run { delta: at, part, from, n: 0, tests: chunk.tests, found: work.cursor.found, closes: true };
        match (reach, bag) {
            (Reach::Rows, Some(bag)) => {
                run.closes = take_candidates(bag, unseen_upto, part, &mut work.cursor, &mut chunk);
            }
            (Reach::Number, Some(bag)) => {
                run.found = match unseen_upto {
                    None => bag.total(),
                    Some(upto) => bag.iter().filter(|entry| entry.time > upto).map(|entry| entry.count).sum(),
                };
            }
            _ => {}
        }
        run.n = chunk.candidates.len() - from;
        chunk.tests += if part == Part::Both { 2 * run.n } else { run.n };
        chunk.runs.push(run);
        if run.closes {
            let split = part == Part::Minus && delta.plus != NONE;
            work.cursor = Cursor {
                delta: at + usize::from(!split),
                part: split.then_some(Part::Plus),
                ..Cursor::default()
            };
        }
    }
    chunk
}

fn first_part(delta: &Delta, bag: Option<&Bag>) -> Part {
    if delta.minus == NONE {
        Part::Plus
    } else if delta.plus == NONE || bag.is_some_and(|bag| bag.total() > UPDATE_ROWS_MAX) {
        Part::Minus
    } else {
        Part::Both
    }
}

/// Finds the rows of the other input for some deltas.
fn look_up<'a>(
    work: &Work,
    other: &'a JoinSide,
    deltas: std::ops::Range<usize>,
    bags: &mut [Option<&'a Bag>; GROUP],
) {
    let of = &work.deltas[deltas];
    of.iter().for_each(|delta| other.table.prefetch(work.keys.hashes[delta.key as usize]));
    for (delta, bag) in of.iter().zip(bags) {
        let key = delta.key as usize;
        *bag = match work.keys.is_null(key) {
            true => None,
            false => other.table.get_hashed(work.keys.hashes[key], &work.keys.keys[key]),
        };
    }
}

/// Takes rows of a bag until the chunk is full. Says whether it came to the end.
#[inline]
fn take_candidates<'a>(
    bag: &'a Bag,
    unseen_upto: Option<i64>,
    part: Part,
    cursor: &mut Cursor,
    chunk: &mut Chunk<'a>,
) -> bool {
    while let Some(entry) = bag.live(cursor.at) {
        if unseen_upto.is_some_and(|upto| entry.time <= upto) {
            (cursor.at, cursor.copies) = (entry.next, 0);
            continue;
        }
        if part != Part::Both && chunk.is_full() {
            return false;
        }
        let left = entry.count - cursor.copies;
        let room = if part == Part::Both { left as usize } else { CHUNK_ROWS - chunk.copies };
        let copies = left.min(room as u32);
        chunk.candidates.push(Candidate { at: entry.at, copies, last: copies == left });
        chunk.rows.push(entry.row);
        chunk.copies += copies as usize;
        chunk.bytes += entry.row.len();
        if copies < left {
            cursor.copies += copies;
            return false;
        }
        (cursor.at, cursor.copies) = (entry.next, 0);
    }
    true
}

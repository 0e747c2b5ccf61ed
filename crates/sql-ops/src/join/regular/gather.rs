//! Gathers the rows that deltas may match: those of their keys in the other input, a bounded chunk at a time.
//!
//! Many deltas of a batch have few keys, and those of one key the same candidates. Of keys with few rows these are decoded once a
//! chunk; those of keys with many (all rows, in a join without keys) are cut into the same segments for each delta, and decoded
//! once a batch.

use super::probe::{Reach, Rules};
use super::side::JoinSide;
use super::work::{Cursor, Delta, Part, Work};
use crate::join::bag::Bag;
use crate::join::plan::NONE;

/// Rows of the other input that are joined in one chunk (tests see the ends of chunks too) ...
const CHUNK_ROWS: usize = if cfg!(test) { 5 } else { 2048 };
/// ... and what they may take, the last one not counted.
const CHUNK_BYTES: usize = 4 << 20;
/// An update of a key with more rows on the other side is taken apart.
const UPDATE_ROWS_MAX: u32 = if cfg!(test) { 3 } else { 512 };
/// The rows of a key that has more on the other side fill chunks of their own.
const SHARED_ROWS_MAX: u32 = if cfg!(test) { 4 } else { 512 };
/// Keys that are looked up together.
const GROUP: usize = 32;
/// Bags that are remembered for the time of a chunk; a power of two.
const BLOCKS: usize = 1024;

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
    /// Which of the decoded rows it is.
    pub(super) row: u32,
}

/// What is joined in one go.
#[derive(Default)]
pub(super) struct Chunk<'a> {
    pub(super) runs: Vec<Run>,
    pub(super) candidates: Vec<Candidate>,
    /// The rows of the candidates, each once.
    pub(super) rows: Vec<&'a [u8]>,
    /// How many results of the condition there are.
    pub(super) tests: usize,
    /// What it is a part of, where its key has many rows in the other input: no other delta is in it then.
    pub(super) segment: Option<Segment>,
    copies: usize,
    bytes: usize,
}

/// A part of a bag of many rows: each delta of its key goes through the same segments.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub(super) delta: usize,
    /// Where it begins.
    pub(super) at: u32,
    pub(super) rows: usize,
}

/// The candidates of a bag that stand in the chunk already.
#[derive(Clone, Copy)]
struct Block<'a> {
    bag: &'a Bag,
    from: usize,
    to: usize,
    copies: usize,
}

/// Blocks by the hash of their key. One takes the place of another: what is forgotten is only decoded again.
struct Blocks<'a>(Vec<Option<Block<'a>>>);

impl<'a> Blocks<'a> {
    fn new() -> Self {
        Blocks(vec![None; BLOCKS])
    }

    fn get(&self, hash: u64, bag: &Bag) -> Option<Block<'a>> {
        self.0[hash as usize % BLOCKS].filter(|block| std::ptr::eq(block.bag, bag))
    }

    fn set(&mut self, hash: u64, block: Block<'a>) {
        self.0[hash as usize % BLOCKS] = Some(block);
    }
}

impl<'a> Chunk<'a> {
    fn is_full(&self) -> bool {
        self.copies >= CHUNK_ROWS || self.bytes >= CHUNK_BYTES || self.runs.len() >= CHUNK_ROWS
    }

    /// Takes the candidates of a block again, if they fit.
    fn repeat(&mut self, block: Block<'a>, part: Part) -> bool {
        if part != Part::Both && self.copies + block.copies > CHUNK_ROWS {
            return false;
        }
        self.candidates.extend_from_within(block.from..block.to);
        self.copies += block.copies;
        true
    }
}

/// Collects candidates from where the work has come to, and moves it on.
pub(super) fn gather<'a>(rules: &Rules, work: &mut Work, other: &'a JoinSide) -> Chunk<'a> {
    let mut chunk = Chunk::default();
    let unseen_upto = other.unseen_upto(work.now);
    let mut bags: [Option<&Bag>; GROUP] = [None; GROUP];
    let mut looked_up = 0..0;
    let mut blocks = Blocks::new();
    while !work.is_done() && !chunk.is_full() {
        let at = work.cursor.delta;
        if !looked_up.contains(&at) {
            looked_up = at..work.deltas.len().min(at + GROUP);
            look_up(work, other, looked_up.clone(), &mut bags);
        }
        let bag = bags[at - looked_up.start];
        let is_large = bag.is_some_and(|bag| bag.total() > SHARED_ROWS_MAX);
        if is_large && !chunk.runs.is_empty() {
            break;
        }
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
        if is_large && reach == Reach::Rows {
            chunk.segment = Some(Segment { delta: at, at: work.cursor.at, rows: 0 });
        }
        let mut run =
            Run { delta: at, part, from, n: 0, tests: chunk.tests, found: work.cursor.found, closes: true };
        match (reach, bag) {
            (Reach::Rows, Some(bag)) => {
                let hash = work.keys.hashes[delta.key as usize];
                let begins = work.cursor.at == 0 && work.cursor.copies == 0;
                let block = blocks.get(hash, bag).filter(|_| begins);
                if block.is_none_or(|block| !chunk.repeat(block, part)) {
                    let before = chunk.copies;
                    run.closes = take_candidates(bag, unseen_upto, part, &mut work.cursor, &mut chunk);
                    if begins && run.closes {
                        let (to, copies) = (chunk.candidates.len(), chunk.copies - before);
                        blocks.set(hash, Block { bag, from, to, copies });
                    }
                }
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
        if let Some(segment) = &mut chunk.segment {
            segment.rows = run.n;
        }
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
        if is_large {
            break;
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
        let row = chunk.rows.len() as u32;
        chunk.candidates.push(Candidate { at: entry.at, copies, last: copies == left, row });
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

//! Joins rows of one input with those of the other that are near them in time, a bounded chunk at a time.

use super::side::TimedSide;
use crate::join::pairs::{Pairs, rows_of};
use crate::join::plan::{JoinPlan, Keys, NONE, Rows, Selection, Side};
use crate::join::spec::JoinType;
use crate::row::EncodedRows;
use arrow::array::ArrayRef;
use arrow::buffer::BooleanBuffer;
use flugs_batch::ChangeBatch;
use flugs_types::{Result, RowKind, Timestamp};
use std::ops::Range;

/// Rows of the other input that are joined in one chunk (tests see the ends of chunks too) ...
const CHUNK_ROWS: usize = if cfg!(test) { 5 } else { 4096 };
/// ... and what they may take, the last one not counted.
const CHUNK_BYTES: usize = 4 << 20;
/// Rows for which memory is fetched together.
const GROUP: usize = 32;

/// A batch, and how far it has been joined.
pub(super) struct Work {
    pub(super) side: Side,
    pub(super) batch: ChangeBatch,
    pub(super) columns: Vec<ArrayRef>,
    pub(super) encoded: EncodedRows,
    pub(super) keys: Keys,
    pub(super) times: Vec<i64>,
    cursor: Cursor,
    /// Rows that came too late to meet anything.
    pub(super) late: Vec<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cursor {
    row: usize,
    /// The pane that was begun, and the row in it that is next.
    pane: Option<i64>,
    at: u32,
    met: bool,
}

/// A row in a chunk.
#[derive(Debug, Clone, Copy)]
struct Run {
    row: usize,
    from: usize,
    to: usize,
    met: bool,
    closes: bool,
}

#[derive(Debug, Clone, Copy)]
struct Candidate {
    pane: i64,
    at: u32,
}

#[derive(Default)]
struct Chunk<'a> {
    runs: Vec<Run>,
    candidates: Vec<Candidate>,
    rows: Vec<&'a [u8]>,
    bytes: usize,
}

impl Chunk<'_> {
    fn is_full(&self) -> bool {
        self.rows.len() >= CHUNK_ROWS || self.bytes >= CHUNK_BYTES
    }
}

impl Work {
    pub(super) fn new(plan: &JoinPlan, side: Side, batch: ChangeBatch, times: Vec<i64>) -> Result<Self> {
        let of = plan.side(side);
        let columns = of.columns(batch.rows());
        Ok(Work {
            side,
            encoded: of.codec.encode(&columns, times.len())?,
            keys: of.keys(batch.rows())?,
            columns,
            batch,
            times,
            cursor: Cursor::default(),
            late: Vec::new(),
        })
    }

    pub(super) fn is_done(&self) -> bool {
        self.cursor.row >= self.times.len()
    }
}

/// Joins the next chunk; `None` where it gives nothing.
pub(super) fn step(
    plan: &JoinPlan,
    join_type: JoinType,
    work: &mut Work,
    own: &mut TimedSide,
    other: &mut TimedSide,
    reached: Timestamp,
) -> Result<Option<ChangeBatch>> {
    let Chunk { runs, candidates, rows, .. } = gather(work, own, other);
    let codec = &plan.side(work.side.other()).codec;
    let columns = if rows.is_empty() { Vec::new() } else { codec.decode(rows)? };
    let passed = match &plan.condition {
        Some(condition) if !candidates.is_empty() => {
            let own_at: Vec<u32> =
                runs.iter().flat_map(|run| std::iter::repeat_n(run.row as u32, run.to - run.from)).collect();
            let own_at = Selection::new(own_at, rows_of(&work.columns));
            let (own, other) = (Rows::at(&work.columns, &own_at), Rows::all(&columns));
            let (left, right) = if work.side == Side::Left { (own, other) } else { (other, own) };
            Some(condition.matches(left, right, candidates.len())?)
        }
        _ => None,
    };
    let mut results = Pairs::default();
    for run in &runs {
        let met = meet(join_type, work, other, run, &candidates, passed.as_ref(), &mut results);
        if run.closes {
            close(join_type, work, own, run.row, met, reached, &mut results)?;
        } else {
            work.cursor.met = met;
        }
    }
    results.put_out(plan, work.side, &work.columns, &columns)
}

/// Collects candidates from where the work has come to, and moves it on.
fn gather<'a>(work: &mut Work, own: &TimedSide, other: &'a TimedSide) -> Chunk<'a> {
    let mut chunk = Chunk::default();
    let mut fetched = work.cursor.row;
    while !work.is_done() && !chunk.is_full() && chunk.runs.len() < CHUNK_ROWS {
        let row = work.cursor.row;
        if row >= fetched {
            fetched = work.times.len().min(row + GROUP);
            fetch(work, row..fetched, own, other);
        }
        let from = chunk.rows.len();
        let closes = work.keys.is_null(row) || take_candidates(work, other, &mut chunk);
        chunk.runs.push(Run { row, from, to: chunk.rows.len(), met: work.cursor.met, closes });
        if closes {
            work.cursor = Cursor { row: row + 1, ..Cursor::default() };
        }
    }
    chunk
}

/// Asks the processor to fetch where these rows will look, and where they will be kept.
fn fetch(work: &Work, rows: Range<usize>, own: &TimedSide, other: &TimedSide) {
    let prefetch = |side: &TimedSide, pane: i64, hash: u64| {
        if let Some(pane) = side.panes.pane(&Timestamp(pane)) {
            pane.prefetch(hash);
        }
    };
    for row in rows {
        let (time, hash) = (work.times[row], work.keys.hashes[row]);
        prefetch(own, own.start_of(time), hash);
        let first = other.start_of(time.saturating_add(other.before));
        let last = other.start_of(time.saturating_add(other.after));
        prefetch(other, first, hash);
        // There may be some between them, which are not worth the search.
        if last != first {
            prefetch(other, last, hash);
        }
    }
}

/// Takes the rows that the next row of the work meets until the chunk is full. Says whether it came to the end.
fn take_candidates<'a>(work: &mut Work, other: &'a TimedSide, chunk: &mut Chunk<'a>) -> bool {
    let row = work.cursor.row;
    let first = work.times[row].saturating_add(other.before);
    let last = work.times[row].saturating_add(other.after);
    let mut start = work.cursor.pane.unwrap_or_else(|| other.start_of(first));
    while start <= last {
        let pane = other.panes.pane(&Timestamp(start));
        if let Some(bag) = pane.and_then(|pane| pane.get_hashed(work.keys.hashes[row], &work.keys.keys[row]))
        {
            while let Some(entry) = bag.entry(work.cursor.at) {
                if chunk.is_full() {
                    work.cursor.pane = Some(start);
                    return false;
                }
                work.cursor.at = entry.next;
                if (first..=last).contains(&entry.time) {
                    chunk.candidates.push(Candidate { pane: start, at: entry.at });
                    chunk.rows.push(entry.row);
                    chunk.bytes += entry.row.len();
                }
            }
        }
        work.cursor.at = 0;
        match start.checked_add(other.width) {
            Some(next) => start = next,
            None => break,
        }
    }
    true
}

/// Gives the pairs of a run. Says whether the row has met any row so far.
fn meet(
    join_type: JoinType,
    work: &Work,
    other: &mut TimedSide,
    run: &Run,
    candidates: &[Candidate],
    passed: Option<&BooleanBuffer>,
    results: &mut Pairs,
) -> bool {
    let mut met = run.met;
    let marks = other.gives_unmet || join_type.is_left_only() && work.side == Side::Right;
    for at in (run.from..run.to).filter(|at| passed.is_none_or(|passed| passed.value(*at))) {
        met = true;
        let mut is_first = false;
        if marks {
            let Candidate { pane, at: place } = candidates[at];
            let (hash, key) = (work.keys.hashes[run.row], &work.keys.keys[run.row]);
            if let Some(bag) = other.bag_mut(pane, hash, key)
                && bag.entry(place).is_some_and(|entry| entry.tracked == 0)
            {
                bag.set_tracked(place, 1);
                is_first = true;
            }
        }
        match join_type {
            JoinType::LeftSemi if work.side == Side::Right && is_first => {
                results.push(RowKind::Insert, NONE, at as u32);
            }
            t if t.is_left_only() => {}
            _ => results.push(RowKind::Insert, run.row as u32, at as u32),
        }
    }
    met
}

/// All that is there has met the row: keeps it for what is to come, or gives it out.
fn close(
    join_type: JoinType,
    work: &mut Work,
    own: &mut TimedSide,
    row: usize,
    met: bool,
    reached: Timestamp,
    results: &mut Pairs,
) -> Result<()> {
    let decided = join_type.is_left_only() && work.side == Side::Left && met;
    if decided {
        if join_type == JoinType::LeftSemi {
            results.push(RowKind::Insert, row as u32, NONE);
        }
        return Ok(());
    }
    let time = work.times[row];
    if own.is_kept(time, reached) && !work.keys.is_null(row) {
        return own.push(work.keys.hashes[row], &work.keys.keys[row], work.encoded.row(row), time, met);
    }
    if met {
        return Ok(());
    }
    if own.gives_unmet {
        results.push(RowKind::Insert, row as u32, NONE);
    } else if time < reached.0 && !work.keys.is_null(row) {
        work.late.push(row as u64);
    }
    Ok(())
}

//! A partition that is ordered by time: rows that wait for theirs, and of those that have passed what frames still need.

use super::calls::Calls;
use super::script::{Script, Walk};
use super::spec::{Frame, FrameBound, FrameUnit};
use crate::aggregate::AggState;
use crate::row::RowBytes;
use flugs_derive::Data;
use flugs_sql_types::WindowKind;
use flugs_types::Timestamp;
use std::collections::VecDeque;

/// The mark of a row that has passed, among those that pass now.
pub(super) const PASSED: u32 = 1 << 31;
/// No row.
pub(super) const NONE: u32 = u32::MAX;

/// A row and its time in microseconds.
pub(super) type Timed = (i64, RowBytes);

/// The accumulators of a frame, and the rows in it by their numbers in the partition.
#[derive(Debug, Clone, Default, Data)]
#[data(crate = "flugs_batch")]
pub(super) struct FrameState {
    pub(super) state: AggState,
    from: u64,
    to: u64,
}

/// See the module. Rows are numbered from 0 on in the order in which they pass.
#[derive(Debug, Clone, Default, Data)]
#[data(crate = "flugs_batch")]
pub(super) struct History {
    /// By time, those of one time as they came.
    pub(super) waiting: VecDeque<Timed>,
    /// The last rows that have passed.
    kept: VecDeque<Timed>,
    /// How many have passed.
    passed: u64,
    /// Time, rank and dense rank of the last one.
    last: (i64, u64, u64),
    /// For each frame of the calls.
    pub(super) frames: Vec<FrameState>,
    pub(super) touched: Timestamp,
}

/// Rows that pass together, of some partitions.
#[derive(Default)]
pub(super) struct Passing {
    /// The rows that pass.
    pub(super) rows: Vec<RowBytes>,
    /// Rows that have passed before and are needed again.
    pub(super) former: Vec<RowBytes>,
    /// For each frame of the calls what it does.
    pub(super) scripts: Vec<Script>,
    /// For each frame of the calls its states, by partition.
    pub(super) states: Vec<Vec<AggState>>,
    /// For each function of places its results.
    pub(super) placed: Vec<Places>,
}

/// Results of a function of places.
pub(super) enum Places {
    /// Numbers.
    Numbers(Vec<i64>),
    /// Rows: of those that pass, or with the mark [`PASSED`] of the former; or [`NONE`].
    Rows(Vec<u32>),
}

impl Passing {
    pub(super) fn new(calls: &Calls) -> Self {
        let places = |function: &WindowKind| match function {
            WindowKind::Lag { .. } => Places::Rows(Vec::new()),
            _ => Places::Numbers(Vec::new()),
        };
        Passing {
            rows: Vec::new(),
            former: Vec::new(),
            scripts: calls.sets.iter().map(|_| Script::default()).collect(),
            states: vec![Vec::new(); calls.sets.len()],
            placed: calls.placed.iter().map(|placed| places(&placed.function)).collect(),
        }
    }
}

impl History {
    /// Adds a row that waits.
    pub(super) fn wait(&mut self, row: Timed) {
        if self.waiting.back().is_none_or(|(time, _)| *time <= row.0) {
            return self.waiting.push_back(row);
        }
        let at = self.waiting.partition_point(|(time, _)| *time <= row.0);
        self.waiting.insert(at, row);
    }

    /// Whether no row has passed yet.
    pub(super) fn is_new(&self) -> bool {
        self.passed == 0
    }

    /// The time of the last row that has passed.
    pub(super) fn last_time(&self) -> i64 {
        self.last.0
    }

    /// Lets rows that wait pass whose time is at or before `upto`: about `most` of them, all those of a time together.
    pub(super) fn pass(&mut self, calls: &Calls, upto: i64, most: usize, passing: &mut Passing) {
        let due = self.waiting.partition_point(|(time, _)| *time <= upto);
        let mut count = due.min(most);
        while count > 0 && count < due && self.waiting[count].0 == self.waiting[count - 1].0 {
            count += 1;
        }
        if self.frames.len() != calls.sets.len() {
            self.frames = calls
                .sets
                .iter()
                .map(|set| FrameState { state: set.aggregator.new_state(), from: 0, to: 0 })
                .collect();
        }
        let rows: Vec<Timed> = self.waiting.drain(..count).collect();
        let first = passing.rows.len() as u32;
        for (at, set) in calls.sets.iter().enumerate() {
            let frame = &mut self.frames[at];
            passing.states[at].push(std::mem::take(&mut frame.state));
            let lookup = Lookup { kept: &self.kept, rows: &rows, passed: self.passed, first };
            let mut walk = passing.scripts[at].walk(frame.from, frame.to);
            lookup.walk(set.frame, &mut walk, &mut passing.former);
            (frame.from, frame.to) = walk.frame();
        }
        self.place(calls, &rows, first, passing);
        self.keep(calls, rows, passing);
    }

    /// The results of functions of places.
    fn place(&mut self, calls: &Calls, rows: &[Timed], first: u32, passing: &mut Passing) {
        let before = self.last;
        let lookup = Lookup { kept: &self.kept, rows, passed: self.passed, first };
        for (placed, places) in calls.placed.iter().zip(&mut passing.placed) {
            let mut last = before;
            for (i, (time, _)) in rows.iter().enumerate() {
                let number = self.passed + i as u64;
                last = next_ranks(last, *time, number);
                match places {
                    Places::Numbers(numbers) => numbers.push(match placed.function {
                        WindowKind::Rank => last.1 as i64,
                        WindowKind::DenseRank => last.2 as i64,
                        _ => number as i64 + 1,
                    }),
                    Places::Rows(found) => {
                        let offset =
                            if let WindowKind::Lag { offset } = placed.function { offset } else { 0 };
                        let of = number.checked_sub(offset as u64);
                        found.push(of.map_or(NONE, |of| lookup.row(of, &mut passing.former)));
                    }
                }
            }
        }
        for (i, (time, _)) in rows.iter().enumerate() {
            self.last = next_ranks(self.last, *time, self.passed + i as u64);
        }
    }

    /// Hands on the rows that pass, and keeps those that are needed again; lets go of others once they are half of what is kept.
    fn keep(&mut self, calls: &Calls, rows: Vec<Timed>, passing: &mut Passing) {
        let passed = self.passed + rows.len() as u64;
        let lags = calls.placed.iter().filter_map(|placed| match placed.function {
            WindowKind::Lag { offset } => Some(passed.saturating_sub(offset as u64)),
            _ => None,
        });
        let frames = calls.sets.iter().zip(&self.frames).map(|(set, frame)| match set.frame.start {
            FrameBound::UnboundedPreceding => frame.to,
            _ => frame.from,
        });
        let needed = lags.chain(frames).min().unwrap_or(passed).min(passed);
        let unneeded = needed.saturating_sub(self.passed - self.kept.len() as u64) as usize;
        if unneeded * 2 >= self.kept.len() {
            self.kept.drain(..unneeded.min(self.kept.len()));
        }
        for (number, (time, row)) in (self.passed..).zip(rows) {
            if number >= needed || !self.kept.is_empty() {
                self.kept.push_back((time, row.clone()));
            }
            passing.rows.push(row);
        }
        self.passed = passed;
    }
}

/// Time, rank and dense rank of the row with this number, where those before it are of the one before.
fn next_ranks(last: (i64, u64, u64), time: i64, number: u64) -> (i64, u64, u64) {
    match last {
        (before, rank, dense) if number > 0 && before == time => (time, rank, dense),
        (_, _, dense) => (time, number + 1, dense + 1),
    }
}

/// Rows by their numbers.
struct Lookup<'a> {
    kept: &'a VecDeque<Timed>,
    /// Those that pass now ...
    rows: &'a [Timed],
    /// ... the first of which has this number, ...
    passed: u64,
    /// ... and this place among all rows that pass.
    first: u32,
}

impl Lookup<'_> {
    fn get(&self, number: u64) -> Option<&Timed> {
        match number.checked_sub(self.passed) {
            Some(at) => self.rows.get(at as usize),
            None => self.kept.get((number + self.kept.len() as u64 - self.passed) as usize),
        }
    }

    fn row(&self, number: u64, former: &mut Vec<RowBytes>) -> u32 {
        if number >= self.passed {
            return self.first + (number - self.passed) as u32;
        }
        let Some((_, row)) = self.get(number) else { return NONE };
        former.push(row.clone());
        PASSED | (former.len() as u32 - 1)
    }

    /// Moves a frame over the rows that pass.
    fn walk(&self, frame: Frame, walk: &mut Walk<'_>, former: &mut Vec<RowBytes>) {
        let end = self.passed + self.rows.len() as u64;
        // Up to the first row from `at` on whose time is beyond.
        let seek = |mut at: u64, beyond: &dyn Fn(i64) -> bool| {
            while at < end && self.get(at).is_some_and(|(time, _)| !beyond(*time)) {
                at += 1;
            }
            at
        };
        for (i, (time, _)) in self.rows.iter().enumerate() {
            let number = self.passed + i as u64;
            let (from, to) = walk.frame();
            let next_from = match (frame.unit, frame.start) {
                (_, FrameBound::UnboundedPreceding) => 0,
                (FrameUnit::Rows, FrameBound::Preceding(n)) => number.saturating_sub(n).max(from),
                (FrameUnit::Rows, _) => number,
                (FrameUnit::Range, FrameBound::Preceding(n)) => {
                    let least = time.saturating_sub_unsigned(n);
                    seek(from, &|t| t >= least)
                }
                (FrameUnit::Range, _) => seek(from, &|t| t >= *time),
            };
            let next_to = match (frame.unit, frame.end) {
                (FrameUnit::Rows, FrameBound::Preceding(n)) => (number + 1).saturating_sub(n),
                (FrameUnit::Rows, _) => number + 1,
                (FrameUnit::Range, FrameBound::Preceding(n)) => {
                    let most = time.saturating_sub_unsigned(n);
                    seek(to, &|t| t > most)
                }
                (FrameUnit::Range, _) => seek(to.max(number + 1), &|t| t > *time),
            };
            walk.move_to(next_from, next_to.max(to), |number| self.row(number, former));
            walk.result();
        }
    }
}

//! Frames that move over the rows of many groups at once.
//!
//! Each group's frames are a walk: steps in which rows enter and leave. All groups take their first step together, then their
//! second, and so on, so that accumulators work on as many groups at a time as there are; and rows with equal frames share one
//! result.

use crate::aggregate::{AggState, Aggregator, States};
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, new_empty_array};
use arrow::compute::{interleave, take};
use flugs_batch::ChangeBatch;
use flugs_types::{Error, Result, RowKind};

/// Below so many groups none are set aside.
const GROUPS_MIN: usize = 8;

struct Event {
    step: u32,
    group: u32,
    row: u32,
    enters: bool,
}

/// What the frames of some groups do.
#[derive(Default)]
pub(super) struct Script {
    events: Vec<Event>,
    /// For each result in order: when it is there and whose it is.
    results: Vec<(u32, u32)>,
    /// The last step of each group.
    last: Vec<u32>,
}

/// The frames of one group: rows from `from` up to before `to`, in numbers of the group's own.
pub(super) struct Walk<'a> {
    script: &'a mut Script,
    step: u32,
    from: u64,
    to: u64,
}

impl Script {
    /// A further group, whose frame holds these rows.
    pub(super) fn walk(&mut self, from: u64, to: u64) -> Walk<'_> {
        self.last.push(0);
        Walk { script: self, step: 0, from, to }
    }

    /// Calls `f` with the number of each row that enters or leaves.
    pub(super) fn for_each_row(&mut self, mut f: impl FnMut(&mut u32)) {
        self.events.iter_mut().for_each(|event| f(&mut event.row));
    }

    /// Carries it out: the results of each call in order, and the states of the groups after it. `states` are those before it; rows of
    /// the walks are rows of `arguments`.
    pub(super) fn run(
        mut self,
        aggregator: &Aggregator,
        arguments: &RecordBatch,
        mut states: Vec<AggState>,
    ) -> Result<(Vec<ArrayRef>, Vec<AggState>)> {
        // Groups with the longest walks first: those that are done stand at the end.
        let mut order: Vec<u32> = (0..self.last.len() as u32).collect();
        order.sort_by_key(|group| std::cmp::Reverse(self.last[*group as usize]));
        let mut place = vec![0u32; order.len()];
        order.iter().enumerate().for_each(|(at, group)| place[*group as usize] = at as u32);
        self.events.sort_by_key(|event| event.step);
        let changes = self.changes(arguments)?;
        let groups: Vec<u32> = self.events.iter().map(|event| place[event.group as usize]).collect();
        let mut wanted = vec![false; self.last.iter().max().map_or(0, |last| *last as usize + 1)];
        self.results.iter().for_each(|(step, _)| wanted[*step as usize] = true);

        let mut working = aggregator.states();
        order.iter().for_each(|group| working.load(&mut states[*group as usize]));
        let mut values: Vec<Vec<ArrayRef>> = vec![Vec::new(); aggregator.results().count()];
        // The number of the arrays of each step.
        let mut arrays = vec![0; wanted.len()];
        let mut from = 0;
        for (step, wanted) in wanted.iter().enumerate() {
            let to = from + self.events[from..].partition_point(|event| event.step as usize <= step);
            let active = order.partition_point(|group| self.last[*group as usize] as usize >= step);
            if active * 2 < working.len() && working.len() > GROUPS_MIN {
                working = set_aside(aggregator, working, active, &order, &mut states);
            }
            if from < to {
                aggregator.update(&changes.slice(from, to - from), &groups[from..to], &mut working)?;
            }
            from = to;
            if *wanted {
                arrays[step] = values.first().map_or(0, Vec::len);
                for (all, of_step) in values.iter_mut().zip(aggregator.values(&working)?) {
                    all.push(of_step);
                }
            }
        }
        set_aside(aggregator, working, 0, &order, &mut states);
        let picks: Vec<(usize, usize)> = self
            .results
            .iter()
            .map(|(step, group)| (arrays[*step as usize], place[*group as usize] as usize))
            .collect();
        let picked = values.into_iter().zip(aggregator.results()).map(|(arrays, field)| {
            if picks.is_empty() {
                return Ok(new_empty_array(field.data_type()));
            }
            let arrays: Vec<_> = arrays.iter().map(AsRef::as_ref).collect();
            interleave(&arrays, &picks)
                .map_err(|e| Error::bug("results of one call differ in type").caused_by(e))
        });
        Ok((picked.collect::<Result<_>>()?, states))
    }

    /// The rows that enter and leave.
    fn changes(&self, arguments: &RecordBatch) -> Result<ChangeBatch> {
        let rows: UInt32Array = self.events.iter().map(|event| event.row).collect();
        let wrong = |e| Error::bug("a frame has a row that is not there").caused_by(e);
        let columns = arguments.columns().iter().map(|column| take(column, &rows, None));
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.events.len()));
        let rows = RecordBatch::try_new_with_options(arguments.schema(), columns, &options).map_err(wrong)?;
        let kind = |event: &Event| if event.enters { RowKind::Insert } else { RowKind::Delete };
        ChangeBatch::new(rows, &self.events.iter().map(kind).collect::<Vec<_>>())
    }
}

/// Moves all groups from `active` on into `states`, and keeps those before.
fn set_aside(
    aggregator: &Aggregator,
    mut working: States,
    active: usize,
    order: &[u32],
    states: &mut [AggState],
) -> States {
    let mut kept = aggregator.states();
    for (at, group) in order.iter().enumerate().take(working.len()) {
        let mut state = working.take(at);
        if at < active {
            kept.load(&mut state);
        } else {
            states[*group as usize] = state;
        }
    }
    kept
}

impl Walk<'_> {
    /// Moves the frame on: neither end goes back. `row_of` gives the row of a number.
    pub(super) fn move_to(&mut self, from: u64, to: u64, mut row_of: impl FnMut(u64) -> u32) {
        let to = to.max(from);
        if (from, to) == (self.from, self.to) {
            return;
        }
        self.step += 1;
        let (step, group) = (self.step, self.script.last.len() as u32 - 1);
        let leaving = (self.from..from.min(self.to)).map(|number| (number, false));
        let entering = (from.max(self.to)..to).map(|number| (number, true));
        for (number, enters) in leaving.chain(entering) {
            self.script.events.push(Event { step, group, row: row_of(number), enters });
        }
        (self.from, self.to) = (from, to);
        self.script.last[group as usize] = step;
    }

    /// Asks for a result over the frame as it is.
    pub(super) fn result(&mut self) {
        self.script.results.push((self.step, self.script.last.len() as u32 - 1));
    }

    /// The frame.
    pub(super) fn frame(&self) -> (u64, u64) {
        (self.from, self.to)
    }
}

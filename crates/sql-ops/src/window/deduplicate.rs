//! The first or last row of each key in a window.

use super::attached::AttachedRows;
use super::cells::Cells;
use super::clock::not_open;
use super::closing::ClosingWindows;
use super::shape::Span;
use super::time::{AttachedWindow, Run, inserts_only, read_times};
use crate::row::{RowBytes, RowCodec};
use arrow::array::UInt64Array;
use arrow::datatypes::SchemaRef;
use flugs_batch::{Barrier, ChangeBatch};
use flugs_state::SnapshotTable;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Result, Timestamp};

/// Which row of a key stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowKeep {
    /// The one with the earliest time; of several the first to come.
    First,
    /// The one with the latest time; of several the last to come.
    Last,
}

/// One row for each window and key, once the window is over. Takes inserts only, gives inserts only. Rows must be partitioned by the
/// keys.
#[derive(Debug, Clone)]
pub struct WindowDeduplicateSpec {
    /// The columns of the input, which are those of the output.
    pub input: SchemaRef,
    /// Its window columns.
    pub window: AttachedWindow,
    /// The columns of `PARTITION BY` but for the window; none: one row a window.
    pub keys: Vec<usize>,
    /// The column of the time by which rows are ordered: timestamps of any unit, NULL is an error.
    pub time: usize,
    /// Which row stays.
    pub keep: WindowKeep,
    /// The zone of the windows; see [`WindowJoinSpec::zone`](super::WindowJoinSpec::zone).
    pub zone: Option<String>,
    /// Whether late rows are handed to side output 0.
    pub late_output: bool,
}

/// The time of the row that stays, and the row.
type Kept = (i64, RowBytes);

/// Carries out a [`WindowDeduplicateSpec`].
pub struct WindowDeduplicate {
    spec: WindowDeduplicateSpec,
    opened: Option<Opened>,
}

struct Opened {
    windows: ClosingWindows<Kept>,
    rows: AttachedRows,
    cells: Cells,
    codec: RowCodec,
    times: Vec<i64>,
}

impl WindowDeduplicate {
    /// An operator that is not open yet.
    pub fn new(spec: WindowDeduplicateSpec) -> Self {
        WindowDeduplicate { spec, opened: None }
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        opened
            .windows
            .give(&opened.codec, &self.spec.input, false, out, |(_, row), ready| ready.push_back((row, 0)))
    }
}

impl WindowKeep {
    /// Whether a row of time `new` that comes behind one of time `old` stays instead of it.
    fn replaces(self, new: i64, old: i64) -> bool {
        match self {
            WindowKeep::First => new < old,
            WindowKeep::Last => new >= old,
        }
    }
}

impl Operator for WindowDeduplicate {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let spec = &self.spec;
        let types: Vec<_> = spec.input.fields().iter().map(|field| field.data_type().clone()).collect();
        self.opened = Some(Opened {
            windows: ClosingWindows::open(context, spec.zone.as_deref())?,
            rows: AttachedRows::open(
                context,
                &spec.input,
                spec.window,
                &spec.keys,
                spec.late_output.then_some(0),
            )?,
            cells: Cells::default(),
            codec: RowCodec::new(&types)?,
            times: Vec::new(),
        });
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        inserts_only(&batch, "a deduplication within windows")?;
        let Opened { windows, rows, cells, codec, times } = self.opened.as_mut().ok_or_else(not_open)?;
        rows.place(&batch, &windows.clock, out)?;
        read_times(batch.column(self.spec.time), self.spec.input.field(self.spec.time).name(), times)?;
        // The row of the batch that stays in each cell: only these are encoded.
        cells.assign(&rows.encoded, &mut rows.runs);
        let mut winners: Vec<Option<usize>> = vec![None; cells.len()];
        for row in rows.runs.iter().flat_map(Run::rows) {
            let winner = &mut winners[cells.of_rows[row] as usize];
            if winner.is_none_or(|winner| self.spec.keep.replaces(times[row], times[winner])) {
                *winner = Some(row);
            }
        }
        let panes = cells.panes.iter().flat_map(|(span, cells)| cells.clone().map(|cell| (*span, cell)));
        let winners = panes.filter_map(|(span, cell)| Some((span, cell, winners[cell]?)));
        let winners: Vec<(Span, usize, usize)> = winners
            .filter(|(span, cell, row)| {
                let pane = windows.panes.pane(span);
                let kept = pane.and_then(|pane| pane.get_hashed(cells.hashes[*cell], &cells.keys[*cell]));
                kept.is_none_or(|(old, _)| self.spec.keep.replaces(times[*row], *old))
            })
            .collect();
        if winners.is_empty() {
            return Ok(Progress::Done);
        }
        let indices: UInt64Array = winners.iter().map(|(_, _, row)| *row as u64).collect();
        let encoded = codec.encode(batch.take(&indices)?.rows().columns(), winners.len())?;
        for (at, (span, cell, row)) in winners.into_iter().enumerate() {
            let kept = (times[row], encoded.to_key(at));
            let pane = windows.panes.pane_mut(span);
            *pane.get_or_insert_hashed(cells.hashes[cell], &cells.keys[cell], Kept::default) = kept;
        }
        Ok(Progress::Done)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.give(out)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        match self.opened.as_mut().ok_or_else(not_open)?.windows.clock.advance(watermark) {
            true => self.give(out),
            false => Ok(Progress::Done),
        }
    }

    fn barrier(&mut self, _: Barrier, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened.as_mut().ok_or_else(not_open)?.windows.clock.barrier();
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.opened.as_mut().map_or_else(Vec::new, |opened| opened.windows.tables())
    }
}

//! The first of two phases.

use super::operator::runs_of_slices;
use super::windows::Windows;
use super::{WindowAggregateSpec, WindowInput};
use crate::aggregate::{Aggregator, States};
use crate::outbox::Outbox;
use crate::phases::{Reduction, passed, summed_up};
use crate::row::{EncodedRows, RowBytes, RowCodec};
use crate::window::cells::Cells;
use crate::window::clock::not_open;
use crate::window::shape::Span;
use crate::window::time::{Run, attached_windows, local_times, runs_of_windows};
use crate::window::zone::LocalTime;
use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::SchemaRef;
use flugs_batch::{Barrier, Batch, ChangeBatch};
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{KeyHasher, Result, Timestamp};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

/// So many groups, and so many rows, are kept at most.
const GROUPS_MAX: usize = 1 << 16;
const ROWS_MAX: usize = 1 << 20;

/// Sums up the rows of a task by slice and key before they go over the network, so that a key with many rows is no burden on one
/// task. Followed by [`WindowAggregate::merging`](super::WindowAggregate::merging) of the same spec.
///
/// Keeps no state: what it has goes out when a window is over, before barriers, and when it is much. Late rows are left to the
/// second phase, which counts each of its input rows as one. One that [adapts](Self::adapting) hands rows on as they are where keys
/// do not repeat.
pub struct LocalWindowAggregate {
    spec: WindowAggregateSpec,
    output: SchemaRef,
    reduction: Reduction,
    opened: Option<Opened>,
    outbox: Outbox,
}

struct Opened {
    windows: Windows,
    aggregator: Aggregator,
    codec: RowCodec,
    zone: LocalTime,
    reached: i64,
    /// The end of the first window to be over that has rows here.
    due: Option<i64>,
    groups: HashMap<(Span, RowBytes), u32, BuildHasherDefault<KeyHasher>>,
    /// The same in order of arrival.
    order: Vec<(Span, RowBytes)>,
    states: States,
    rows: usize,
    times: Vec<i64>,
    spans: Vec<Span>,
    runs: Vec<Run>,
    encoded: EncodedRows,
    cells: Cells,
}

impl LocalWindowAggregate {
    /// The first phase of this aggregation.
    pub fn new(spec: WindowAggregateSpec) -> Self {
        let (output, reduction) = (spec.partial_schema(), Reduction::always());
        LocalWindowAggregate { spec, output, reduction, opened: None, outbox: Outbox::default() }
    }

    /// The same, but stepping aside where it does not pay.
    #[must_use]
    pub fn adapting(mut self) -> Self {
        self.reduction = Reduction::adapting();
        self
    }

    fn flush(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        if !opened.order.is_empty() {
            self.reduction.saw(opened.rows, opened.order.len());
            self.outbox.put(opened.flush(&self.spec, &self.output)?);
        }
        self.outbox.hand_on(out)
    }
}

impl Opened {
    fn add(&mut self, spec: &WindowAggregateSpec, batch: &ChangeBatch) -> Result<()> {
        match (spec.windows, &self.windows) {
            (WindowInput::Assigned { time, .. }, Windows::Sliced(slices)) => {
                local_times(time, batch, &mut self.zone, 0, &mut self.times)?;
                runs_of_slices(slices, &self.times, &mut self.runs);
            }
            (WindowInput::Attached(attached), _) => {
                attached_windows(attached, batch, &mut self.spans)?;
                runs_of_windows(&self.spans, &mut self.runs);
            }
            _ => return Err(not_open()),
        }
        let keys: Vec<ArrayRef> = spec.keys.iter().map(|key| batch.column(*key).clone()).collect();
        self.codec.encode_into(&keys, batch.len(), &mut self.encoded)?;
        self.cells.assign(&self.encoded, &mut self.runs);
        let mut groups = Vec::with_capacity(self.cells.len());
        for (span, cells) in &self.cells.panes {
            for key in &self.cells.keys[cells.clone()] {
                let next = self.order.len() as u32;
                let group = *self.groups.entry((*span, key.clone())).or_insert(next);
                if group == next {
                    self.order.push((*span, key.clone()));
                    self.states.push_new();
                }
                groups.push(group);
            }
            let first = self.windows.first_window(*span, self.reached).map(|window| window.end);
            self.due = self.due.into_iter().chain(first).min();
        }
        let of_rows: Vec<u32> = self.cells.of_rows.iter().map(|cell| groups[*cell as usize]).collect();
        if spec.retract {
            self.states.count_rows(batch, &of_rows);
        }
        self.aggregator.update(batch, &of_rows, &mut self.states)?;
        self.rows += batch.len();
        Ok(())
    }

    fn flush(&mut self, spec: &WindowAggregateSpec, schema: &SchemaRef) -> Result<ChangeBatch> {
        let keys = self.codec.decode(self.order.iter().map(|(_, key)| key.as_slice()))?;
        let bound = |bound: fn(&Span) -> i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(self.order.iter().map(|(span, _)| bound(span))))
        };
        let bounds = vec![bound(|span| span.start), bound(|span| span.end)];
        let partials = self.states.take_bytes();
        self.states.clear();
        self.groups.clear();
        self.order.clear();
        (self.rows, self.due) = (0, None);
        summed_up(spec.keys.iter().copied().zip(keys), bounds, partials, schema)
    }
}

impl Operator for LocalWindowAggregate {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, _: &mut OpenContext<'_>) -> Result<()> {
        let spec = &self.spec;
        spec.check(true)?;
        let aggregator = spec.aggregator()?;
        self.opened = Some(Opened {
            windows: spec.windows()?,
            codec: spec.key_codec()?,
            zone: spec.local_time()?.0,
            reached: i64::MIN,
            due: None,
            groups: HashMap::default(),
            order: Vec::new(),
            states: aggregator.states(),
            aggregator,
            rows: 0,
            times: Vec::new(),
            spans: Vec::new(),
            runs: Vec::new(),
            encoded: EncodedRows::default(),
            cells: Cells::default(),
        });
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        if batch.is_empty() {
            return Ok(Progress::Done);
        }
        if self.reduction.passes(batch.len(), false) {
            self.outbox.put(passed(&batch, &self.output)?);
            return self.outbox.hand_on(out);
        }
        opened.add(&self.spec, &batch)?;
        match opened.order.len() >= GROUPS_MAX || opened.rows >= ROWS_MAX {
            true => self.flush(out),
            false => Ok(Progress::Done),
        }
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.outbox.hand_on(out)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        opened.reached = opened.reached.max(opened.zone.reached(watermark));
        match opened.due.is_some_and(|end| end - 1 <= opened.reached) {
            true => self.flush(out),
            false => Ok(Progress::Done),
        }
    }

    fn barrier(&mut self, _: Barrier, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.flush(out)
    }

    fn end(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.flush(out)
    }
}

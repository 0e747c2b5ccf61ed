//! The one window of a bounded input, with an aggregate.

use super::OUTPUT_ROWS;
use super::time_window::TimeWindow;
use crate::collector::Traffic;
use crate::{AggregateFunction, KeySelector};
use flugs_batch::Records;
use flugs_state::{Drained, KeyedTable, SnapshotTable};
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, Timestamp};

/// Aggregates all rows of each key and gives `emit(key, window, result)` when the input has ended. Rows need no event
/// time, and none is late.
pub struct EndOfStreamOperator<S: KeySelector<A::In>, A: AggregateFunction, F> {
    key_of: S,
    aggregate: A,
    emit: F,
    totals: Option<KeyedTable<S::Key, A::Acc>>,
    /// What is left to be given, once the end has come.
    rest: Option<Drained<S::Key, A::Acc>>,
    traffic: Traffic,
}

impl<S, A, F, O> EndOfStreamOperator<S, A, F>
where
    S: KeySelector<A::In>,
    A: AggregateFunction,
    F: FnMut(&S::Key, TimeWindow, A::Out) -> O + Send + 'static,
{
    /// An operator for one subtask.
    pub fn new(key_of: S, aggregate: A, emit: F) -> Self {
        EndOfStreamOperator { key_of, aggregate, emit, totals: None, rest: None, traffic: Traffic::default() }
    }
}

impl<S: KeySelector<A::In>, A: AggregateFunction, F> EndOfStreamOperator<S, A, F> {
    fn totals(&mut self) -> Result<&mut KeyedTable<S::Key, A::Acc>> {
        self.totals.as_mut().ok_or_else(|| Error::bug("the window is not open"))
    }
}

impl<S, A, F, O> Operator for EndOfStreamOperator<S, A, F>
where
    S: KeySelector<A::In>,
    A: AggregateFunction,
    F: FnMut(&S::Key, TimeWindow, A::Out) -> O + Send + 'static,
    O: Send + 'static,
{
    type In = Records<A::In>;
    type Out = Records<O>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.traffic.open(context);
        self.totals = Some(context.state.keyed("window.totals")?);
        Ok(())
    }

    fn process(&mut self, batch: Records<A::In>, _: &mut Output<Records<O>>) -> Result<Progress> {
        self.traffic.took(batch.len());
        let rows = batch.values;
        let EndOfStreamOperator { key_of, aggregate, totals, .. } = self;
        let Some(totals) = totals else { return Err(Error::bug("the window is not open")) };
        key_of.for_each_row(
            totals,
            &rows,
            || aggregate.create(),
            |row, total| aggregate.add(total, &rows[row]),
        );
        Ok(Progress::Done)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<Records<O>>) -> Result<Progress> {
        if watermark == Timestamp::MAX { self.end(out) } else { Ok(Progress::Done) }
    }

    fn end(&mut self, out: &mut Output<Records<O>>) -> Result<Progress> {
        self.rest = Some(self.totals()?.drain());
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Output<Records<O>>) -> Result<Progress> {
        let Some(rest) = &mut self.rest else { return Ok(Progress::Done) };
        while out.is_ready() {
            let mut rows = Records::with_capacity(OUTPUT_ROWS.min(rest.size_hint().0));
            for (key, total) in rest.by_ref().take(OUTPUT_ROWS) {
                let result = self.aggregate.result(&total);
                rows.push((self.emit)(&key, TimeWindow::GLOBAL, result), TimeWindow::GLOBAL.max_timestamp());
            }
            if rows.is_empty() {
                self.rest = None;
                return Ok(Progress::Done);
            }
            self.traffic.gave(rows.len());
            let _ = out.push(rows)?;
        }
        Ok(Progress::More)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.totals.iter_mut().map(|t| t as &mut dyn SnapshotTable).collect()
    }
}

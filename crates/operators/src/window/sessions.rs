//! Sessions in event time with an aggregate.
//!
//! The sessions of a key stand in one cell; nearly always there is one. A key has one timer, which is not moved when its session
//! grows: when it comes, it is set again for where the session ends by then. A session thus costs a timer for each gap that
//! it lasts at most, and not one for each row. The timer stands in the cell too; what finds it is an index in memory.

use super::assigner::{WindowAssigner, WindowShape};
use super::key_sessions::{Added, KeySessions};
use super::reached::Reached;
use super::time_window::{TimeWindow, micros};
use super::{LATE_RECORDS, OUTPUT_ROWS, TIME_MIN, refuse_time};
use crate::TimeDomain;
use crate::collector::Traffic;
use crate::{AggregateFunction, KeySelector};
use flugs_batch::{Barrier, Record, Records};
use flugs_state::{DueIndex, KeyedTable, SnapshotTable};
use flugs_task::{Counter, OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, Timestamp, hash_key};
use std::time::Duration;

/// How many timers are looked at in one step.
const STEP_TIMERS: usize = 8192;

/// How long the spans are in which the ends of sessions are kept whose gaps differ, in microseconds.
const DYNAMIC_SPAN: i64 = 1_000_000;
/// The shortest that they are.
const SPAN_MIN: i64 = 1_000;

struct Opened<K, Acc> {
    sessions: KeyedTable<K, KeySessions<Acc>>,
    ends: DueIndex<K>,
    reached: Reached,
    late_dropped: Counter,
}

/// Aggregates the rows of each key's sessions in event time, each of which fires once, when the watermark passes its end. Late
/// rows are counted (`numLateRecordsDropped`) and handed to side output 0.
pub struct SessionWindowOperator<S: KeySelector<A::In>, A: AggregateFunction, F> {
    key_of: S,
    aggregate: A,
    emit: F,
    assigner: Box<dyn WindowAssigner<A::In>>,
    /// In microseconds, where it is the same for all rows.
    gap: Option<i64>,
    opened: Option<Opened<S::Key, A::Acc>>,
    watermark: Timestamp,
    traffic: Traffic,
    /// The window of each row of the batch at hand.
    windows: Vec<TimeWindow>,
}

impl<S: KeySelector<A::In>, A: AggregateFunction, F> SessionWindowOperator<S, A, F> {
    /// An operator that gives `emit(key, session, result)`. `None` where the assigner's windows are no sessions in event time.
    pub fn new(key_of: S, assigner: impl WindowAssigner<A::In>, aggregate: A, emit: F) -> Option<Self> {
        let WindowShape::Sessions { gap } = assigner.shape() else { return None };
        if assigner.domain() != TimeDomain::EventTime {
            return None;
        }
        Some(Self::with_gap(key_of, assigner, gap, aggregate, emit))
    }

    pub(super) fn with_gap(
        key_of: S,
        assigner: impl WindowAssigner<A::In>,
        gap: Option<Duration>,
        aggregate: A,
        emit: F,
    ) -> Self {
        SessionWindowOperator {
            key_of,
            aggregate,
            emit,
            assigner: Box::new(assigner),
            gap: gap.map(micros),
            opened: None,
            watermark: Timestamp::MIN,
            traffic: Traffic::default(),
            windows: Vec::new(),
        }
    }

    fn assign(&mut self, batch: &Records<A::In>) -> Result<()> {
        if let Some(&time) = batch.times.iter().find(|time| **time < TIME_MIN) {
            return Err(refuse_time(time));
        }
        self.windows.clear();
        match self.gap {
            Some(gap) => self.windows.extend(
                batch.times.iter().map(|&t| TimeWindow { start: t, end: Timestamp(t.0.saturating_add(gap)) }),
            ),
            None => {
                batch.iter().for_each(|(row, time)| self.assigner.assign(row, time, time, &mut self.windows))
            }
        }
        if self.windows.len() == batch.len() {
            return Ok(());
        }
        Err(Error::job("an assigner of sessions gave a row no window, or more than one")
            .mend("give each row one window, or let its shape be WindowShape::Any"))
    }

    /// Adds the rows; gives back the places of those that are late.
    fn add(&mut self, values: &[A::In]) -> Result<Vec<u32>> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        let (key_of, aggregate, windows) = (&self.key_of, &self.aggregate, &self.windows);
        let watermark = self.watermark;
        let (mut late, mut sooner) = (Vec::new(), Vec::new());
        opened.sessions.for_each_row(
            values.len(),
            |row| key_of.key(&values[row]),
            KeySessions::new,
            |row, sessions| match sessions.add(aggregate, windows[row], &values[row], watermark) {
                Added::Within => {}
                Added::Sooner(time) => sooner.push((row, time)),
                Added::Late => late.push(row as u32),
            },
        );
        for (row, time) in sooner {
            opened.ends.push(time.0, key_of.key(&values[row]));
        }
        for &row in &late {
            let key = key_of.key(&values[row as usize]);
            let hash = hash_key(&key);
            if opened.sessions.get_hashed(hash, &key).is_some_and(KeySessions::is_empty) {
                opened.sessions.remove_hashed(hash, &key);
            }
        }
        Ok(late)
    }
}

impl<S, A, F, O> SessionWindowOperator<S, A, F>
where
    S: KeySelector<A::In>,
    A: AggregateFunction,
    F: FnMut(&S::Key, TimeWindow, A::Out) -> O + Send + 'static,
    O: Record,
{
    fn fire(&mut self, out: &mut Output<Records<O>>) -> Result<Progress> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        let mut results = Records::new();
        let mut progress = Progress::Done;
        let mut looked_at = 0;
        while let Some((time, key)) = opened.ends.pop_due(self.watermark.0) {
            let time = Timestamp(time);
            let hash = hash_key(&key);
            let Some(sessions) = opened.sessions.get_mut_hashed(hash, &key).filter(|s| s.armed() == time)
            else {
                continue;
            };
            if let Some((window, acc)) = sessions.take_ended(time) {
                let result = (self.emit)(&key, window, self.aggregate.result(&acc));
                results.push(result, window.max_timestamp());
            }
            match sessions.arm() {
                Some(next) => opened.ends.push(next.0, key),
                None => {
                    opened.sessions.remove_hashed(hash, &key);
                }
            }
            looked_at += 1;
            if results.len() >= OUTPUT_ROWS || looked_at >= STEP_TIMERS {
                progress = Progress::More;
                break;
            }
        }
        self.traffic.gave(results.len());
        if !results.is_empty() {
            let _ = out.push(results)?;
        }
        Ok(progress)
    }
}

impl<S, A, F, O> Operator for SessionWindowOperator<S, A, F>
where
    S: KeySelector<A::In>,
    A: AggregateFunction,
    F: FnMut(&S::Key, TimeWindow, A::Out) -> O + Send + 'static,
    O: Record,
{
    type In = Records<A::In>;
    type Out = Records<O>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.assigner.validate()?;
        let reached = Reached::open(context)?;
        self.watermark = reached.watermark();
        self.traffic.open(context);
        let sessions: KeyedTable<S::Key, KeySessions<A::Acc>> = context.state.keyed("window.sessions")?;
        let mut ends = DueIndex::new(self.gap.unwrap_or(DYNAMIC_SPAN).max(SPAN_MIN));
        sessions.iter().for_each(|(key, of_key)| ends.push(of_key.armed().0, key.clone()));
        self.opened = Some(Opened { sessions, ends, reached, late_dropped: context.counter(LATE_RECORDS) });
        Ok(())
    }

    fn process(&mut self, batch: Self::In, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.traffic.took(batch.len());
        self.assign(&batch)?;
        let late = self.add(&batch.values)?;
        if !late.is_empty() {
            let opened = self.opened.as_ref().ok_or_else(not_open)?;
            opened.late_dropped.add(late.len());
            let row = |&r: &u32| (batch.values[r as usize].clone(), batch.times[r as usize]);
            let _ = out.push_side::<A::In>(0, late.iter().map(row).collect())?;
        }
        Ok(Progress::Done)
    }

    fn resume(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.fire(out)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.watermark = self.watermark.max(watermark);
        self.fire(out)
    }

    fn barrier(&mut self, _: Barrier, _: &mut Output<Self::Out>) -> Result<Progress> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        opened.reached.keep(self.watermark, Timestamp::MIN);
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        match &mut self.opened {
            Some(opened) => vec![opened.reached.table(), &mut opened.sessions],
            None => Vec::new(),
        }
    }
}

fn not_open() -> Error {
    Error::bug("the window operator is not open")
}

//! When a window gives its result.
//!
//! A trigger is asked at each row of a window and at each timer that it set for it. It owns a small state for each window, which
//! is part of snapshots. The names, and what each trigger does, are Flink's; [`EarlyLateTrigger`] is Apache Beam's
//! `AfterWatermark`.

mod basic;
mod combined;
mod continuous;

pub use basic::{
    CountTrigger, DefaultTrigger, DeltaTrigger, EventTimeTrigger, NeverTrigger, ProcessingTimeTrigger,
};
pub use combined::{EarlyLateTrigger, ProcessingTimeoutTrigger, PurgingTrigger};
pub use continuous::{ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger};

use super::time_window::TimeWindow;
use crate::TimeDomain;
use flugs_batch::Data;
use flugs_types::Timestamp;

/// What is to be done with a window.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerResult {
    /// Nothing.
    Continue,
    /// It gives its result and keeps its rows.
    Fire,
    /// Its rows are dropped.
    Purge,
    /// It gives its result, then its rows are dropped.
    FireAndPurge,
}

impl TriggerResult {
    /// Whether it gives its result.
    pub fn fires(self) -> bool {
        matches!(self, TriggerResult::Fire | TriggerResult::FireAndPurge)
    }

    /// Whether its rows are dropped.
    pub fn purges(self) -> bool {
        matches!(self, TriggerResult::Purge | TriggerResult::FireAndPurge)
    }

    pub(crate) fn fire_if(fires: bool) -> Self {
        if fires { TriggerResult::Fire } else { TriggerResult::Continue }
    }
}

/// Decides when windows give their results.
///
/// Timers that a trigger set for a window go with the window, and so does its state.
pub trait Trigger<T>: Send + 'static {
    /// What it remembers of a window. A window of which nothing but the default is left takes no memory.
    type State: Data + Default + PartialEq;

    /// A row of this event time was added to the window.
    fn on_element(
        &self,
        row: &T,
        time: Timestamp,
        state: &mut Self::State,
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult;

    /// The watermark has reached `time`, for which a timer was set, by this trigger or for the end of the window.
    fn on_event_time(
        &self,
        time: Timestamp,
        state: &mut Self::State,
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        let _ = (time, state, context);
        TriggerResult::Continue
    }

    /// The time of the machine has reached `time`, for which a timer was set.
    fn on_processing_time(
        &self,
        time: Timestamp,
        state: &mut Self::State,
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        let _ = (time, state, context);
        TriggerResult::Continue
    }

    /// Whether it can be used with windows that merge.
    fn can_merge(&self) -> bool {
        false
    }

    /// Windows with these states have become the context's window: makes its state and sets its timers; those of the merged
    /// windows are gone. A row is added next.
    fn on_merge(&self, merged: Vec<Self::State>, context: &mut TriggerContext<'_>) -> Self::State {
        let _ = (merged, context);
        Self::State::default()
    }

    /// Begins anew with a window that stays: forgets the state and the timers that it stands for.
    fn clear(&self, state: &mut Self::State, context: &mut TriggerContext<'_>) {
        let _ = context;
        *state = Self::State::default();
    }
}

/// A change of a window's timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimerChange {
    pub(crate) domain: TimeDomain,
    pub(crate) time: Timestamp,
    pub(crate) set: bool,
}

/// The window that a trigger decides about, and its timers.
pub struct TriggerContext<'a> {
    pub(crate) window: TimeWindow,
    pub(crate) domain: TimeDomain,
    pub(crate) watermark: Timestamp,
    pub(crate) processing_time: Timestamp,
    pub(crate) changes: &'a mut Vec<TimerChange>,
}

impl TriggerContext<'_> {
    /// The window.
    pub fn window(&self) -> TimeWindow {
        self.window
    }

    /// The clock that the window lives by.
    pub fn domain(&self) -> TimeDomain {
        self.domain
    }

    /// The operator's watermark.
    pub fn watermark(&self) -> Timestamp {
        self.watermark
    }

    /// The time of the machine.
    pub fn processing_time(&self) -> Timestamp {
        self.processing_time
    }

    /// Asks for a call when the watermark reaches `time`. A time that has passed comes with the next watermark.
    pub fn register_event_time_timer(&mut self, time: Timestamp) {
        self.change(TimeDomain::EventTime, time, true);
    }

    /// Asks for a call at `time` of the machine.
    pub fn register_processing_time_timer(&mut self, time: Timestamp) {
        self.change(TimeDomain::ProcessingTime, time, true);
    }

    /// Takes the request back.
    pub fn delete_event_time_timer(&mut self, time: Timestamp) {
        self.change(TimeDomain::EventTime, time, false);
    }

    /// Takes the request back.
    pub fn delete_processing_time_timer(&mut self, time: Timestamp) {
        self.change(TimeDomain::ProcessingTime, time, false);
    }

    fn change(&mut self, domain: TimeDomain, time: Timestamp, set: bool) {
        self.changes.push(TimerChange { domain, time, set });
    }

    /// Whether the watermark has passed the window's end.
    pub(crate) fn is_past(&self) -> bool {
        self.window.max_timestamp() <= self.watermark
    }
}

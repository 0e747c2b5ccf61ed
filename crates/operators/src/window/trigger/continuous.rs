//! Triggers at regular intervals.

use super::super::time_window::{Grid, micros};
use super::{Trigger, TriggerContext, TriggerResult};
use crate::TimeDomain;
use flugs_types::Timestamp;
use std::time::Duration;

/// Fires at each multiple of an interval that the watermark passes while the window has rows, and at the window's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContinuousEventTimeTrigger {
    interval: Duration,
}

impl ContinuousEventTimeTrigger {
    /// Fires at multiples of this interval.
    pub fn of(interval: Duration) -> Self {
        ContinuousEventTimeTrigger { interval }
    }

    fn set_next(&self, after: Timestamp, next: &mut Option<Timestamp>, context: &mut TriggerContext<'_>) {
        let time = after.saturating_add(self.interval).min(context.window.max_timestamp());
        if time > after {
            *next = Some(time);
            context.register_event_time_timer(time);
        }
    }
}

impl<T> Trigger<T> for ContinuousEventTimeTrigger {
    type State = Option<Timestamp>;

    fn on_element(
        &self,
        _: &T,
        time: Timestamp,
        next: &mut Option<Timestamp>,
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        if context.is_past() {
            return TriggerResult::Fire;
        }
        context.register_event_time_timer(context.window.max_timestamp());
        if next.is_none() {
            self.set_next(Grid::new(micros(self.interval), 0).floor(time), next, context);
        }
        TriggerResult::Continue
    }

    fn on_event_time(
        &self,
        time: Timestamp,
        next: &mut Option<Timestamp>,
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        if time == context.window.max_timestamp() {
            return TriggerResult::Fire;
        }
        let due = *next == Some(time);
        if due {
            *next = None;
            self.set_next(time, next, context);
        }
        TriggerResult::fire_if(due)
    }

    fn can_merge(&self) -> bool {
        true
    }

    fn on_merge(
        &self,
        merged: Vec<Option<Timestamp>>,
        context: &mut TriggerContext<'_>,
    ) -> Option<Timestamp> {
        let next = merged.into_iter().flatten().min();
        next.into_iter().for_each(|time| context.register_event_time_timer(time));
        next
    }

    fn clear(&self, next: &mut Option<Timestamp>, context: &mut TriggerContext<'_>) {
        next.take().into_iter().for_each(|time| context.delete_event_time_timer(time));
    }
}

/// Fires at each multiple of an interval of the machine's time while the window is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContinuousProcessingTimeTrigger {
    interval: Duration,
}

impl ContinuousProcessingTimeTrigger {
    /// Fires at multiples of this interval.
    pub fn of(interval: Duration) -> Self {
        ContinuousProcessingTimeTrigger { interval }
    }

    /// The end of an event-time window says nothing about the machine's clock, so only that of a
    /// processing-time window brings a firing forward. (Flink compares the two, and fires at once and
    /// without end where event time is in the past.)
    fn set_next(&self, after: Timestamp, next: &mut Option<Timestamp>, context: &mut TriggerContext<'_>) {
        let mut time = after.saturating_add(self.interval);
        if context.domain == TimeDomain::ProcessingTime {
            time = time.min(context.window.max_timestamp());
        }
        if time > after {
            *next = Some(time);
            context.register_processing_time_timer(time);
        }
    }
}

impl<T> Trigger<T> for ContinuousProcessingTimeTrigger {
    type State = Option<Timestamp>;

    fn on_element(
        &self,
        _: &T,
        _: Timestamp,
        next: &mut Option<Timestamp>,
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        if next.is_none() {
            let now = context.processing_time;
            self.set_next(Grid::new(micros(self.interval), 0).floor(now), next, context);
        }
        TriggerResult::Continue
    }

    fn on_processing_time(
        &self,
        time: Timestamp,
        next: &mut Option<Timestamp>,
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        let due = *next == Some(time);
        if due {
            *next = None;
            // After a pause the missed multiples are not made up for one by one.
            let passed = Grid::new(micros(self.interval), 0).floor(context.processing_time);
            self.set_next(passed.max(time), next, context);
        }
        TriggerResult::fire_if(due)
    }

    fn can_merge(&self) -> bool {
        true
    }

    fn on_merge(
        &self,
        merged: Vec<Option<Timestamp>>,
        context: &mut TriggerContext<'_>,
    ) -> Option<Timestamp> {
        let next = merged.into_iter().flatten().min();
        next.into_iter().for_each(|time| context.register_processing_time_timer(time));
        next
    }

    fn clear(&self, next: &mut Option<Timestamp>, context: &mut TriggerContext<'_>) {
        next.take().into_iter().for_each(|time| context.delete_processing_time_timer(time));
    }
}

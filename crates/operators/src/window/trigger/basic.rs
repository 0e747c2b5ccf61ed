//! Triggers by one condition.

use super::combined::EarlyLateTrigger;
use super::{Trigger, TriggerContext, TriggerResult};
use flugs_batch::Data;
use flugs_types::Timestamp;

/// Fires when the watermark passes the window's end, and again at each late row that is still allowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventTimeTrigger;

impl EventTimeTrigger {
    /// The trigger of event-time windows.
    pub fn new() -> Self {
        EventTimeTrigger
    }

    /// Fires before the window's end too, when `early` says so.
    pub fn early<E>(self, early: E) -> EarlyLateTrigger<E, CountTrigger> {
        EarlyLateTrigger { early, late: CountTrigger::of(1) }
    }

    /// Fires for late rows when `late` says so, instead of at each.
    pub fn late<L>(self, late: L) -> EarlyLateTrigger<NeverTrigger, L> {
        EarlyLateTrigger { early: NeverTrigger, late }
    }
}

impl<T> Trigger<T> for EventTimeTrigger {
    type State = ();

    fn on_element(
        &self,
        _: &T,
        _: Timestamp,
        (): &mut (),
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        if context.is_past() {
            return TriggerResult::Fire;
        }
        context.register_event_time_timer(context.window.max_timestamp());
        TriggerResult::Continue
    }

    fn on_event_time(&self, time: Timestamp, (): &mut (), context: &mut TriggerContext<'_>) -> TriggerResult {
        TriggerResult::fire_if(time == context.window.max_timestamp())
    }

    fn can_merge(&self) -> bool {
        true
    }
}

/// Fires when the machine's clock passes the window's end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessingTimeTrigger;

impl ProcessingTimeTrigger {
    /// The trigger of processing-time windows.
    pub fn new() -> Self {
        ProcessingTimeTrigger
    }
}

impl<T> Trigger<T> for ProcessingTimeTrigger {
    type State = ();

    fn on_element(
        &self,
        _: &T,
        _: Timestamp,
        (): &mut (),
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        context.register_processing_time_timer(context.window.max_timestamp());
        TriggerResult::Continue
    }

    fn on_processing_time(
        &self,
        time: Timestamp,
        (): &mut (),
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        TriggerResult::fire_if(time == context.window.max_timestamp())
    }

    fn can_merge(&self) -> bool {
        true
    }
}

/// Fires never; what windows hold is given by another part of a combined trigger, or not at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NeverTrigger;

impl<T> Trigger<T> for NeverTrigger {
    type State = ();

    fn on_element(&self, _: &T, _: Timestamp, (): &mut (), _: &mut TriggerContext<'_>) -> TriggerResult {
        TriggerResult::Continue
    }

    fn can_merge(&self) -> bool {
        true
    }
}

/// The trigger of an assigner for which none was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultTrigger {
    /// [`EventTimeTrigger`].
    EventTime,
    /// [`ProcessingTimeTrigger`].
    ProcessingTime,
    /// [`NeverTrigger`].
    Never,
}

impl<T> Trigger<T> for DefaultTrigger {
    type State = ();

    fn on_element(
        &self,
        row: &T,
        time: Timestamp,
        state: &mut (),
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        match self {
            DefaultTrigger::EventTime => EventTimeTrigger.on_element(row, time, state, context),
            DefaultTrigger::ProcessingTime => ProcessingTimeTrigger.on_element(row, time, state, context),
            DefaultTrigger::Never => TriggerResult::Continue,
        }
    }

    fn on_event_time(&self, time: Timestamp, (): &mut (), context: &mut TriggerContext<'_>) -> TriggerResult {
        let at_end = time == context.window.max_timestamp();
        TriggerResult::fire_if(at_end && *self == DefaultTrigger::EventTime)
    }

    fn on_processing_time(
        &self,
        time: Timestamp,
        (): &mut (),
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        let at_end = time == context.window.max_timestamp();
        TriggerResult::fire_if(at_end && *self == DefaultTrigger::ProcessingTime)
    }

    fn can_merge(&self) -> bool {
        true
    }
}

/// Fires at every n-th row of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountTrigger {
    max_count: u64,
}

impl CountTrigger {
    /// Fires when this many rows came since the last time.
    pub fn of(max_count: u64) -> Self {
        CountTrigger { max_count }
    }
}

impl<T> Trigger<T> for CountTrigger {
    type State = u64;

    fn on_element(&self, _: &T, _: Timestamp, count: &mut u64, _: &mut TriggerContext<'_>) -> TriggerResult {
        *count += 1;
        let full = *count >= self.max_count;
        if full {
            *count = 0;
        }
        TriggerResult::fire_if(full)
    }

    fn can_merge(&self) -> bool {
        true
    }

    fn on_merge(&self, merged: Vec<u64>, _: &mut TriggerContext<'_>) -> u64 {
        merged.into_iter().sum()
    }
}

/// Fires when a row differs by more than a threshold from the row at which it fired last, or the window's first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeltaTrigger<D> {
    threshold: f64,
    delta: D,
}

impl<D> DeltaTrigger<D> {
    /// `delta` says how much the second row differs from the first.
    pub fn of<T>(threshold: f64, delta: D) -> Self
    where
        D: Fn(&T, &T) -> f64 + Send + 'static,
    {
        DeltaTrigger { threshold, delta }
    }
}

impl<T, D> Trigger<T> for DeltaTrigger<D>
where
    T: Data + PartialEq,
    D: Fn(&T, &T) -> f64 + Send + 'static,
{
    type State = Option<T>;

    fn on_element(
        &self,
        row: &T,
        _: Timestamp,
        last: &mut Option<T>,
        _: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        let Some(before) = last else {
            *last = Some(row.clone());
            return TriggerResult::Continue;
        };
        let fires = (self.delta)(before, row) > self.threshold;
        if fires {
            *last = Some(row.clone());
        }
        TriggerResult::fire_if(fires)
    }
}

//! Triggers made of others.

use super::{Trigger, TriggerContext, TriggerResult};
use flugs_types::Timestamp;
use std::time::Duration;

/// Drops a window's rows whenever the inner trigger fires, so that each result is of the rows since the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PurgingTrigger<G>(G);

impl<G> PurgingTrigger<G> {
    /// The purging form of this trigger.
    pub fn of(inner: G) -> Self {
        PurgingTrigger(inner)
    }
}

fn purging(result: TriggerResult) -> TriggerResult {
    if result.fires() { TriggerResult::FireAndPurge } else { result }
}

impl<T, G: Trigger<T>> Trigger<T> for PurgingTrigger<G> {
    type State = G::State;

    fn on_element(
        &self,
        row: &T,
        time: Timestamp,
        state: &mut G::State,
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        purging(self.0.on_element(row, time, state, context))
    }

    fn on_event_time(
        &self,
        time: Timestamp,
        state: &mut G::State,
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        purging(self.0.on_event_time(time, state, context))
    }

    fn on_processing_time(
        &self,
        time: Timestamp,
        state: &mut G::State,
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        purging(self.0.on_processing_time(time, state, context))
    }

    fn can_merge(&self) -> bool {
        self.0.can_merge()
    }

    fn on_merge(&self, merged: Vec<G::State>, context: &mut TriggerContext<'_>) -> G::State {
        self.0.on_merge(merged, context)
    }

    fn clear(&self, state: &mut G::State, context: &mut TriggerContext<'_>) {
        self.0.clear(state, context);
    }
}

/// Fires when the watermark passes the window's end; before that when one trigger says so, and for late rows when another does.
/// Made by [`EventTimeTrigger::early`](super::EventTimeTrigger::early) and
/// [`late`](super::EventTimeTrigger::late).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlyLateTrigger<E, L> {
    pub(super) early: E,
    pub(super) late: L,
}

impl<E, L> EarlyLateTrigger<E, L> {
    /// Fires for late rows when `late` says so.
    pub fn late<M>(self, late: M) -> EarlyLateTrigger<E, M> {
        EarlyLateTrigger { early: self.early, late }
    }
}

impl<T, E: Trigger<T>, L: Trigger<T>> Trigger<T> for EarlyLateTrigger<E, L> {
    type State = (E::State, L::State);

    fn on_element(
        &self,
        row: &T,
        time: Timestamp,
        (early, late): &mut Self::State,
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        if context.is_past() {
            return self.late.on_element(row, time, late, context);
        }
        context.register_event_time_timer(context.window.max_timestamp());
        self.early.on_element(row, time, early, context)
    }

    fn on_event_time(
        &self,
        time: Timestamp,
        (early, late): &mut Self::State,
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        let end = context.window.max_timestamp();
        if time < end {
            return self.early.on_event_time(time, early, context);
        }
        if time == end {
            self.early.clear(early, context);
            return TriggerResult::Fire;
        }
        self.late.on_event_time(time, late, context)
    }

    fn on_processing_time(
        &self,
        time: Timestamp,
        (early, late): &mut Self::State,
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        if context.is_past() {
            return self.late.on_processing_time(time, late, context);
        }
        self.early.on_processing_time(time, early, context)
    }

    fn can_merge(&self) -> bool {
        self.early.can_merge() && self.late.can_merge()
    }

    fn on_merge(&self, merged: Vec<Self::State>, context: &mut TriggerContext<'_>) -> Self::State {
        let (early, late) = merged.into_iter().unzip();
        (self.early.on_merge(early, context), self.late.on_merge(late, context))
    }

    fn clear(&self, (early, late): &mut Self::State, context: &mut TriggerContext<'_>) {
        self.early.clear(early, context);
        self.late.clear(late, context);
    }
}

/// Fires when the inner trigger does, or when the inner trigger has not fired for a time of the machine after the first row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessingTimeoutTrigger<G> {
    inner: G,
    timeout: Duration,
    restarts: bool,
    clears: bool,
}

impl<G> ProcessingTimeoutTrigger<G> {
    /// Fires `timeout` after the first row since the last firing, at the latest.
    pub fn of(inner: G, timeout: Duration) -> Self {
        ProcessingTimeoutTrigger { inner, timeout, restarts: false, clears: true }
    }

    /// Counts the timeout from each row anew (Flink: `resetTimerOnNewRecord`).
    #[must_use]
    pub fn restarted_by_rows(mut self) -> Self {
        self.restarts = true;
        self
    }

    /// Keeps the inner trigger's state when the timeout fires (Flink: `shouldClearOnTimeout` = false).
    #[must_use]
    pub fn keeping_state(mut self) -> Self {
        self.clears = false;
        self
    }

    /// What follows a decision of the inner trigger: after a firing the timeout begins anew.
    fn settle<T>(
        &self,
        result: TriggerResult,
        state: &mut (Option<Timestamp>, G::State),
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult
    where
        G: Trigger<T>,
    {
        if result.fires() {
            self.clear(state, context);
        }
        result
    }
}

impl<T, G: Trigger<T>> Trigger<T> for ProcessingTimeoutTrigger<G> {
    type State = (Option<Timestamp>, G::State);

    fn on_element(
        &self,
        row: &T,
        time: Timestamp,
        state: &mut Self::State,
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        let result = self.inner.on_element(row, time, &mut state.1, context);
        if result.fires() {
            return self.settle(result, state, context);
        }
        if self.restarts
            && let Some(before) = state.0.take()
        {
            context.delete_processing_time_timer(before);
        }
        if state.0.is_none() {
            let due = context.processing_time.saturating_add(self.timeout);
            state.0 = Some(due);
            context.register_processing_time_timer(due);
        }
        result
    }

    fn on_event_time(
        &self,
        time: Timestamp,
        state: &mut Self::State,
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        let result = self.inner.on_event_time(time, &mut state.1, context);
        self.settle(result, state, context)
    }

    fn on_processing_time(
        &self,
        time: Timestamp,
        state: &mut Self::State,
        context: &mut TriggerContext<'_>,
    ) -> TriggerResult {
        let result = self.inner.on_processing_time(time, &mut state.1, context);
        if state.0 != Some(time) {
            return self.settle(result, state, context);
        }
        state.0 = None;
        if self.clears {
            self.clear(state, context);
        }
        if result.purges() { TriggerResult::FireAndPurge } else { TriggerResult::Fire }
    }

    fn can_merge(&self) -> bool {
        self.inner.can_merge()
    }

    fn on_merge(&self, merged: Vec<Self::State>, context: &mut TriggerContext<'_>) -> Self::State {
        let (dues, inner): (Vec<_>, Vec<_>) = merged.into_iter().unzip();
        let due = dues.into_iter().flatten().min();
        due.into_iter().for_each(|time| context.register_processing_time_timer(time));
        (due, self.inner.on_merge(inner, context))
    }

    fn clear(&self, state: &mut Self::State, context: &mut TriggerContext<'_>) {
        state.0.take().into_iter().for_each(|time| context.delete_processing_time_timer(time));
        self.inner.clear(&mut state.1, context);
    }
}

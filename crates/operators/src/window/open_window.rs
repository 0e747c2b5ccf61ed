//! The windows of one key: their rows, the states of their triggers and their timers.
//!
//! All that is kept of a key stands in one cell, so that it is found by one look-up and goes at once. Timer tables only
//! say *when* to look at a key; which of its windows asked for the time stands here.

use super::time_window::TimeWindow;
use super::trigger::TimerChange;
use crate::TimeDomain;
use flugs_batch::data::{DecodeError, Field, Nesting, Reader, Schema};
use flugs_batch::{Data, Key};
use flugs_state::TimerTable;
use flugs_types::Timestamp;
use std::time::Duration;

/// A window of a key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OpenWindow<S, G> {
    pub(crate) window: TimeWindow,
    /// None before the first row and after a purge.
    pub(crate) contents: Option<S>,
    pub(crate) trigger: G,
    /// What the trigger asked for, besides the clean-up's own timer; `true` stands for event time.
    timers: Vec<(bool, Timestamp)>,
}

/// The windows of a key, by start and end.
pub(crate) type Windows<S, G> = Vec<OpenWindow<S, G>>;

impl<S, G: Default + PartialEq> OpenWindow<S, G> {
    pub(crate) fn new(window: TimeWindow) -> Self {
        OpenWindow { window, contents: None, trigger: G::default(), timers: Vec::new() }
    }

    /// Whether nothing would be lost with it.
    pub(crate) fn is_blank(&self) -> bool {
        self.contents.is_none() && self.timers.is_empty() && self.trigger == G::default()
    }

    fn wants(&self, domain: TimeDomain, time: Timestamp, cleanup: Cleanup) -> bool {
        self.timers.contains(&(domain == TimeDomain::EventTime, time))
            || cleanup.timer(&self.window) == Some((domain, time))
    }
}

impl<S: Data, G: Data> Data for OpenWindow<S, G> {
    const BYTES_MIN: usize = TimeWindow::BYTES_MIN + 1 + G::BYTES_MIN + 4;

    fn schema() -> Schema {
        Self::describe(&mut Nesting::default())
    }

    fn describe(nesting: &mut Nesting) -> Schema {
        nesting.enter::<Self>(|nesting| Schema::Struct {
            name: "OpenWindow".to_owned(),
            fields: vec![
                Field::of::<TimeWindow>("window", nesting),
                Field::of::<Option<S>>("contents", nesting),
                Field::of::<G>("trigger", nesting),
                Field::of::<Vec<(bool, Timestamp)>>("timers", nesting),
            ],
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.window.encode(out);
        self.contents.encode(out);
        self.trigger.encode(out);
        self.timers.encode(out);
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(OpenWindow {
            window: Data::decode(input)?,
            contents: Data::decode(input)?,
            trigger: Data::decode(input)?,
            timers: Data::decode(input)?,
        })
    }

    fn heap_bytes(&self) -> usize {
        self.contents.heap_bytes() + self.trigger.heap_bytes() + self.timers.heap_bytes()
    }
}

/// When windows are removed: by which clock, and how long after their end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cleanup {
    pub(crate) domain: TimeDomain,
    pub(crate) lateness: Duration,
}

impl Cleanup {
    /// When the window is removed; `None` where that is never.
    pub(crate) fn timer(self, window: &TimeWindow) -> Option<(TimeDomain, Timestamp)> {
        let end = window.max_timestamp();
        match self.domain {
            TimeDomain::EventTime => Some((self.domain, end.saturating_add(self.lateness))),
            TimeDomain::ProcessingTime => (end != Timestamp::MAX).then_some((self.domain, end)),
        }
    }

    /// Whether the window's time is over: it is removed, or would be.
    pub(crate) fn is_late(self, window: &TimeWindow, watermark: Timestamp) -> bool {
        self.domain == TimeDomain::EventTime && self.timer(window).is_some_and(|(_, time)| time <= watermark)
    }
}

/// When to look at which key.
pub(crate) struct Timers<K> {
    pub(crate) event: TimerTable<K>,
    pub(crate) processing: TimerTable<K>,
    pub(crate) cleanup: Cleanup,
}

impl<K: Key> Timers<K> {
    fn table(&mut self, domain: TimeDomain) -> &mut TimerTable<K> {
        match domain {
            TimeDomain::EventTime => &mut self.event,
            TimeDomain::ProcessingTime => &mut self.processing,
        }
    }

    /// Sets the timer by which the window will be removed.
    pub(crate) fn set_cleanup(&mut self, window: &TimeWindow, key: &K) {
        if let Some((domain, time)) = self.cleanup.timer(window) {
            self.table(domain).register(time, key.clone());
        }
    }

    /// Does what the trigger of window `at` asked for.
    pub(crate) fn apply<S, G: Default + PartialEq>(
        &mut self,
        changes: &mut Vec<TimerChange>,
        windows: &mut Windows<S, G>,
        at: usize,
        key: &K,
    ) {
        for TimerChange { domain, time, set } in changes.drain(..) {
            let window = &mut windows[at];
            if self.cleanup.timer(&window.window) == Some((domain, time)) {
                // The clean-up's timer is there and will ask the trigger as well.
                continue;
            }
            let timer = (domain == TimeDomain::EventTime, time);
            let known = window.timers.iter().position(|&t| t == timer);
            match (set, known) {
                (true, None) => {
                    window.timers.push(timer);
                    self.table(domain).register(time, key.clone());
                }
                (false, Some(known)) => {
                    window.timers.swap_remove(known);
                    self.release(windows, (domain, time), key);
                }
                _ => {}
            }
        }
    }

    /// Removes the key's timer for a time, unless one of its windows waits for it.
    fn release<S, G: Default + PartialEq>(
        &mut self,
        windows: &Windows<S, G>,
        (domain, time): (TimeDomain, Timestamp),
        key: &K,
    ) {
        let cleanup = self.cleanup;
        if !windows.iter().any(|w| w.wants(domain, time, cleanup)) {
            self.table(domain).delete(time, key);
        }
    }

    /// Removes the timers of a window that is no longer among `windows`.
    pub(crate) fn forget<S, G: Default + PartialEq>(
        &mut self,
        gone: &OpenWindow<S, G>,
        windows: &Windows<S, G>,
        key: &K,
    ) {
        for &(event, time) in &gone.timers {
            let domain = if event { TimeDomain::EventTime } else { TimeDomain::ProcessingTime };
            self.release(windows, (domain, time), key);
        }
        if let Some(timer) = self.cleanup.timer(&gone.window) {
            self.release(windows, timer, key);
        }
    }

    /// The next window, after window `last`, that waits for a time that has come; its timer is taken out.
    pub(crate) fn take<S, G: Default + PartialEq>(
        &self,
        windows: &mut Windows<S, G>,
        last: Option<TimeWindow>,
        (domain, time): (TimeDomain, Timestamp),
    ) -> Option<usize> {
        let waits = |w: &OpenWindow<S, G>| {
            last.is_none_or(|last| w.window > last) && w.wants(domain, time, self.cleanup)
        };
        let at = windows.iter().position(waits)?;
        windows[at].timers.retain(|&t| t != (domain == TimeDomain::EventTime, time));
        Some(at)
    }
}

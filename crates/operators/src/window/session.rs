//! Sessions: windows that grow while rows follow each other closely.

use super::assigner::{WindowAssigner, WindowShape, refuse_size};
use super::time_window::{TimeWindow, micros};
use crate::TimeDomain;
use flugs_types::{Result, Timestamp};
use std::sync::Arc;
use std::time::Duration;

type GapOf<T> = Arc<dyn Fn(&T) -> Duration + Send + Sync>;

/// A row opens the window from its time for the gap; windows of a key that overlap or touch are one.
macro_rules! sessions {
    ($(#[$doc:meta])* $name:ident, $(#[$dynamic_doc:meta])* $dynamic:ident, $domain:ident, $now:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name {
            gap: Duration,
        }

        impl $name {
            /// A session ends when no row came for `gap`.
            pub fn with_gap(gap: Duration) -> Self {
                $name { gap }
            }

            /// Likewise, with a gap that each row names. A gap of nothing counts as a microsecond.
            pub fn with_dynamic_gap<T>(
                gap: impl Fn(&T) -> Duration + Send + Sync + 'static,
            ) -> $dynamic<T> {
                $dynamic { gap: Arc::new(gap) }
            }
        }

        impl<T> WindowAssigner<T> for $name {
            fn assign(&self, _: &T, event_time: Timestamp, processing_time: Timestamp, windows: &mut Vec<TimeWindow>) {
                windows.push(session(self.gap, Times { event_time, processing_time }.$now));
            }

            fn domain(&self) -> TimeDomain {
                TimeDomain::$domain
            }

            fn merges(&self) -> bool {
                true
            }

            fn shape(&self) -> WindowShape {
                WindowShape::Sessions { gap: Some(self.gap) }
            }

            fn validate(&self) -> Result<()> {
                refuse_size("gap", self.gap)
            }
        }

        $(#[$dynamic_doc])*
        pub struct $dynamic<T> {
            gap: GapOf<T>,
        }

        impl<T> Clone for $dynamic<T> {
            fn clone(&self) -> Self {
                $dynamic { gap: Arc::clone(&self.gap) }
            }
        }

        impl<T: 'static> WindowAssigner<T> for $dynamic<T> {
            fn assign(&self, row: &T, event_time: Timestamp, processing_time: Timestamp, windows: &mut Vec<TimeWindow>) {
                windows.push(session((self.gap)(row), Times { event_time, processing_time }.$now));
            }

            fn domain(&self) -> TimeDomain {
                TimeDomain::$domain
            }

            fn merges(&self) -> bool {
                true
            }

            fn shape(&self) -> WindowShape {
                WindowShape::Sessions { gap: None }
            }
        }
    };
}

struct Times {
    event_time: Timestamp,
    processing_time: Timestamp,
}

fn session(gap: Duration, start: Timestamp) -> TimeWindow {
    TimeWindow { start, end: Timestamp(start.0.saturating_add(micros(gap))) }
}

sessions! {
    /// Sessions in event time.
    EventTimeSessionWindows,
    /// Sessions in event time whose gap each row names.
    DynamicEventTimeSessionWindows, EventTime, event_time
}

sessions! {
    /// Sessions by the time at which rows are processed.
    ProcessingTimeSessionWindows,
    /// Sessions by the time at which rows are processed, whose gap each row names.
    DynamicProcessingTimeSessionWindows, ProcessingTime, processing_time
}

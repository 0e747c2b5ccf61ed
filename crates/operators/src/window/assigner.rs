//! Which windows a row belongs to.
//!
//! The names are Flink's. An assigner is plain data; it holds no state, so that a job can be restored with another one as
//! long as the windows in its state stay meaningful.

use super::slices::Slices;
use super::time_window::{TimeWindow, micros};
use super::trigger::DefaultTrigger;
use crate::TimeDomain;
use flugs_types::{Error, Result, Timestamp};
use std::time::Duration;

/// What is known about the windows of an assigner, by which operators choose their way of computing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowShape {
    /// They are cut out of one row of slices, the same for all keys.
    Sliced(Slices),
    /// A row makes one window, from its time on; windows that touch merge.
    Sessions {
        /// How long that window is; `None` where the rows say.
        gap: Option<Duration>,
    },
    /// One for all rows of a key, which fires at the end of a bounded input.
    EndOfStream,
    /// Nothing.
    Any,
}

/// Says to which windows rows belong.
pub trait WindowAssigner<T>: Send + 'static {
    /// Appends the windows of a row. `time` is the row's event time; it is known where [`domain`](Self::domain) is event time.
    fn assign(&self, row: &T, time: Timestamp, processing_time: Timestamp, windows: &mut Vec<TimeWindow>);

    /// Which clock its windows live by: when they are late and when they are cleaned up.
    fn domain(&self) -> TimeDomain;

    /// The trigger of windows for which none was given.
    fn default_trigger(&self) -> DefaultTrigger {
        match self.domain() {
            TimeDomain::EventTime => DefaultTrigger::EventTime,
            TimeDomain::ProcessingTime => DefaultTrigger::ProcessingTime,
        }
    }

    /// Whether windows that touch become one.
    fn merges(&self) -> bool {
        false
    }

    /// What else is known of its windows.
    fn shape(&self) -> WindowShape {
        WindowShape::Any
    }

    /// Refuses sizes that make no windows; asked once, when the operator opens.
    fn validate(&self) -> Result<()> {
        Ok(())
    }
}

impl<T: 'static> WindowAssigner<T> for Box<dyn WindowAssigner<T>> {
    fn assign(&self, row: &T, time: Timestamp, processing_time: Timestamp, windows: &mut Vec<TimeWindow>) {
        (**self).assign(row, time, processing_time, windows);
    }

    fn domain(&self) -> TimeDomain {
        (**self).domain()
    }

    fn default_trigger(&self) -> DefaultTrigger {
        (**self).default_trigger()
    }

    fn merges(&self) -> bool {
        (**self).merges()
    }

    fn shape(&self) -> WindowShape {
        (**self).shape()
    }

    fn validate(&self) -> Result<()> {
        (**self).validate()
    }
}

/// The longest duration that windows are made of, some 73,000 years: their bounds can be computed.
const DURATION_MAX: Duration = Duration::from_micros(1 << 61);

pub(crate) fn refuse_size(what: &str, duration: Duration) -> Result<()> {
    if duration.as_micros() > 0 && duration <= DURATION_MAX {
        return Ok(());
    }
    Err(Error::job(format!("the {what} of a window is {duration:?}"))
        .mend(format!("choose one from a microsecond to {DURATION_MAX:?}")))
}

/// An assigner of windows on a grid, in both kinds of time.
macro_rules! grid_assigner {
    ($name:ident, $domain:ident, $now:ident, $check:expr, $slices:expr) => {
        impl<T: 'static> WindowAssigner<T> for $name {
            fn assign(
                &self,
                _: &T,
                event_time: Timestamp,
                processing_time: Timestamp,
                windows: &mut Vec<TimeWindow>,
            ) {
                let clocks = Clocks { event_time, processing_time };
                let slices: Slices = $slices(self);
                slices.assign(clocks.$now, windows);
            }

            fn domain(&self) -> TimeDomain {
                TimeDomain::$domain
            }

            fn shape(&self) -> WindowShape {
                WindowShape::Sliced($slices(self))
            }

            fn validate(&self) -> Result<()> {
                $check(self)
            }
        }
    };
}

/// The times that windows can be assigned by.
struct Clocks {
    event_time: Timestamp,
    processing_time: Timestamp,
}

macro_rules! tumbling {
    ($(#[$doc:meta])* $name:ident, $domain:ident, $now:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name {
            size: Duration,
            offset: Duration,
        }

        impl $name {
            /// Windows of this size, one after the other, from the epoch on in both directions.
            pub fn of(size: Duration) -> Self {
                $name { size, offset: Duration::ZERO }
            }

            /// The same windows, shifted by this much. Days that begin at 16:00 UTC are days of UTC+8: shifts the other way
            /// are `size - shift`.
            #[must_use]
            pub fn offset(mut self, offset: Duration) -> Self {
                self.offset = offset;
                self
            }

            fn slices(&self) -> Slices {
                Slices::tumbling(micros(self.size), offset_micros(self.offset, self.size))
            }
        }

        grid_assigner!($name, $domain, $now, |a: &Self| refuse_size("size", a.size), Self::slices);
    };
}

macro_rules! sliding {
    ($(#[$doc:meta])* $name:ident, $domain:ident, $now:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name {
            size: Duration,
            slide: Duration,
            offset: Duration,
        }

        impl $name {
            /// Windows of this size, one beginning at each multiple of `slide`. With a slide longer than the size, the rows
            /// between windows are in none.
            pub fn of(size: Duration, slide: Duration) -> Self {
                $name { size, slide, offset: Duration::ZERO }
            }

            /// The same windows, shifted by this much.
            #[must_use]
            pub fn offset(mut self, offset: Duration) -> Self {
                self.offset = offset;
                self
            }

            fn slices(&self) -> Slices {
                Slices::sliding(micros(self.size), micros(self.slide), offset_micros(self.offset, self.slide))
            }
        }

        grid_assigner!(
            $name,
            $domain,
            $now,
            |a: &Self| refuse_size("size", a.size).and_then(|()| refuse_size("slide", a.slide)),
            Self::slices
        );
    };
}

fn offset_micros(offset: Duration, modulus: Duration) -> i64 {
    let rest = offset.as_micros() % modulus.as_micros().max(1);
    i64::try_from(rest).unwrap_or(0)
}

tumbling! {
    /// Windows of one size that follow each other without gaps, in event time.
    TumblingEventTimeWindows, EventTime, event_time
}

tumbling! {
    /// Windows of one size that follow each other without gaps, by the time at which rows are processed.
    TumblingProcessingTimeWindows, ProcessingTime, processing_time
}

sliding! {
    /// Windows of one size that begin at regular intervals and may overlap, in event time.
    SlidingEventTimeWindows, EventTime, event_time
}

sliding! {
    /// Windows of one size that begin at regular intervals and may overlap, by the time at which rows are processed.
    SlidingProcessingTimeWindows, ProcessingTime, processing_time
}

/// Windows that begin together and grow by a step until they have the full size (SQL: `CUMULATE`), in event time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CumulativeEventTimeWindows {
    max_size: Duration,
    step: Duration,
    offset: Duration,
}

impl CumulativeEventTimeWindows {
    /// In each span of `max_size`, the windows that begin with it and last one, two, ... steps. `max_size` is a multiple of `step`.
    pub fn of(max_size: Duration, step: Duration) -> Self {
        CumulativeEventTimeWindows { max_size, step, offset: Duration::ZERO }
    }

    /// The same windows, shifted by this much.
    #[must_use]
    pub fn offset(mut self, offset: Duration) -> Self {
        self.offset = offset;
        self
    }

    fn slices(&self) -> Slices {
        let offset = offset_micros(self.offset, self.max_size);
        Slices::cumulative(micros(self.max_size), micros(self.step), offset)
    }

    fn check(&self) -> Result<()> {
        refuse_size("step", self.step)?;
        refuse_size("largest size", self.max_size)?;
        if self.max_size.as_micros().is_multiple_of(self.step.as_micros()) {
            return Ok(());
        }
        Err(Error::job(format!(
            "the largest size {:?} of cumulative windows is no multiple of their step {:?}",
            self.max_size, self.step
        ))
        .mend("choose a step that divides the largest size"))
    }
}

grid_assigner!(CumulativeEventTimeWindows, EventTime, event_time, Self::check, Self::slices);

/// One window for all rows of a key. It never ends, so it gives a result only when a trigger fires.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GlobalWindows {
    at_end: bool,
}

impl GlobalWindows {
    /// A window that fires only by a trigger that is given: without one it never does, and a program is refused. For one
    /// result at the end of a bounded input there is [`end_of_stream`](Self::end_of_stream).
    pub fn new() -> Self {
        Self::default()
    }

    /// A window that fires once, at the end of a bounded input.
    pub fn end_of_stream() -> Self {
        GlobalWindows { at_end: true }
    }
}

impl<T> WindowAssigner<T> for GlobalWindows {
    fn assign(&self, _: &T, _: Timestamp, _: Timestamp, windows: &mut Vec<TimeWindow>) {
        windows.push(TimeWindow::GLOBAL);
    }

    fn domain(&self) -> TimeDomain {
        TimeDomain::ProcessingTime
    }

    fn default_trigger(&self) -> DefaultTrigger {
        if self.at_end { DefaultTrigger::EventTime } else { DefaultTrigger::Never }
    }

    fn shape(&self) -> WindowShape {
        if self.at_end { WindowShape::EndOfStream } else { WindowShape::Any }
    }
}

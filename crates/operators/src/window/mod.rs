//! Windows: rows of a key grouped by time or by number, and a result for each group.
//!
//! *Assigners* say to which windows a row belongs, *triggers* when a window gives its result, *functions* what the result is, and
//! *evictors* which rows it leaves out. [`WindowBuilder`] puts them together and chooses between four operators that
//! agree in what they give:
//!
//! - [`WindowOperator`] takes any combination;
//! - [`SlicedWindowOperator`] takes windows that are the same for all keys and fire once, with an aggregate: a row is counted
//!   once, in its slice, and slices are closed as a whole;
//! - [`EndOfStreamOperator`] takes the one window of a bounded input, with an aggregate: a table of keys, read at the end;
//! - [`SessionWindowOperator`] takes sessions in event time that fire once, with an aggregate: one timer a key, moved lazily.
//!
//! All but the one for bounded inputs keep the watermark in their state, so that a row that was late stays late after a
//! restore and no window fires twice.

mod assigner;
mod builder;
mod co_group;
mod contents;
mod end_of_stream;
mod evictor;
mod function;
mod general;
mod key_sessions;
mod open_window;
mod reached;
mod reduce;
mod results;
mod session;
mod sessions;
mod side_rows;
mod sliced;
mod slices;
mod time_window;
mod trigger;

#[cfg(test)]
mod tests;

pub use assigner::{
    CumulativeEventTimeWindows, GlobalWindows, SlidingEventTimeWindows, SlidingProcessingTimeWindows,
    TumblingEventTimeWindows, TumblingProcessingTimeWindows, WindowAssigner, WindowShape,
};
pub use builder::{WindowBuilder, WindowedOperator};
pub use co_group::{CoGroup, CoGroupFunction, CoGroupOperator, CoGrouped, JoinPairs, co_group, join_pairs};
pub use contents::{Aggregated, AggregatedProcess, Evicted, Processed, WindowContents};
pub use end_of_stream::EndOfStreamOperator;
pub use evictor::{CountEvictor, DeltaEvictor, Evictor, TimeEvictor, WindowRows};
pub use function::{
    Apply, ProcessWindowFunction, WindowContext, WindowOpenContext, WindowOutput, WindowValueState, apply,
};
pub use general::WindowOperator;
pub use reduce::ReduceAggregate;
pub use session::{
    DynamicEventTimeSessionWindows, DynamicProcessingTimeSessionWindows, EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
};
pub use sessions::SessionWindowOperator;
pub use sliced::SlicedWindowOperator;
pub use slices::Slices;
pub use time_window::TimeWindow;
pub use trigger::{
    ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger, CountTrigger, DefaultTrigger, DeltaTrigger,
    EarlyLateTrigger, EventTimeTrigger, NeverTrigger, ProcessingTimeTrigger, ProcessingTimeoutTrigger,
    PurgingTrigger, Trigger, TriggerContext, TriggerResult,
};

use flugs_types::{Error, Timestamp};

/// How many result rows are handed on at once.
const OUTPUT_ROWS: usize = 4096;

/// The counter of late rows, by Flink's name.
const LATE_RECORDS: &str = "numLateRecordsDropped";

/// The first event time that windows take, some 146,000 years before the epoch: their bounds can be computed from here on.
const TIME_MIN: Timestamp = Timestamp(-(1 << 62));

/// Refuses a row that has no event time, or one that no window can hold.
#[cold]
fn refuse_time(time: Timestamp) -> Error {
    if time == Timestamp::MIN {
        return Error::job("a row without an event time came to an event-time window").mend(
            "give the source or the stream a watermark strategy that assigns event times, or use windows in processing time",
        );
    }
    Error::data(format!("the event time {time} of a row lies too far back for a window"))
        .mend("see whether the times are read in the right unit: they are microseconds")
}

//! Typed operators: process functions, windows, joins, async I/O, broadcast.
//!
//! A function over rows is called through a shell: [`RowOperator`] without, [`KeyedOperator`] with keys; windows have shells of
//! their own. A shell owns state and timers, works in bounded slices, and stops between rows when its output is full. What
//! a function makes goes through a [`Collector`], which hands it on in bounded batches, to the main output or to side
//! outputs. Operators that need no more than a look at each row, or one state for each key, work on whole batches instead.
//!
//! Names and semantics are Flink's where it has them; where they differ, the item says so. This crate knows nothing of SQL and of
//! how programs are written down.

mod aggregate;
mod async_io;
mod broadcast;
mod collector;
mod function;
mod interval_join;
mod key;
mod keyed;
mod opening;
mod operator_state;
mod process;
mod reduce;
mod rows;
mod stateless;
mod timestamps;
mod window;

pub use aggregate::{AggregateFunction, Avg, Count, Max, Min, Number, Sum};
pub use async_io::{AnswerOrder, AsyncClosure, AsyncFunction, AsyncOperator, AsyncOptions, Retry};
pub use broadcast::{
    BroadcastProcess, BroadcastProcessFunction, BroadcastState, BroadcastStates, OpenBroadcast, OpensState,
};
pub use collector::{Collector, OutputTag};
pub use function::{Context, OpenFunction, RowFunction, RowOperator};
pub use interval_join::{Interval, IntervalJoin, JoinFunction, JoinRows, JoinTimes, left_late, right_late};
pub use key::{KeyRef, KeySelector};
pub use keyed::{
    KeyedBroadcastContext, KeyedBroadcastProcess, KeyedBroadcastProcessFunction, KeyedCoProcess,
    KeyedCoProcessFunction, KeyedContext, KeyedFunction, KeyedOperator, KeyedProcess, KeyedProcessFunction,
    KeyedRuntime, OpenKeyed, TimeDomain, Timer,
};
pub use operator_state::OperatorList;
pub use process::{CoFlatMap, CoMap, CoProcess, CoProcessFunction, Process, ProcessFunction};
pub use reduce::{KeyedAggregate, KeyedReduce, rolling};
pub use rows::{EitherRest, RecordsRest, Rows};
pub use stateless::{Filter, FlatMap, Map, Outcome, TryMap};
pub use timestamps::AssignTimestamps;
pub use window::{
    Aggregated, AggregatedProcess, Apply, CoGroup, CoGroupFunction, CoGroupOperator, CoGrouped,
    ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger, CountEvictor, CountTrigger,
    CumulativeEventTimeWindows, DefaultTrigger, DeltaEvictor, DeltaTrigger, DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows, EarlyLateTrigger, EndOfStreamOperator, EventTimeSessionWindows,
    EventTimeTrigger, Evicted, Evictor, GlobalWindows, JoinPairs, NeverTrigger, ProcessWindowFunction,
    Processed, ProcessingTimeSessionWindows, ProcessingTimeTrigger, ProcessingTimeoutTrigger, PurgingTrigger,
    ReduceAggregate, SessionWindowOperator, SlicedWindowOperator, Slices, SlidingEventTimeWindows,
    SlidingProcessingTimeWindows, TimeEvictor, TimeWindow, Trigger, TriggerContext, TriggerResult,
    TumblingEventTimeWindows, TumblingProcessingTimeWindows, WindowAssigner, WindowBuilder, WindowContents,
    WindowContext, WindowOpenContext, WindowOperator, WindowOutput, WindowRows, WindowShape,
    WindowValueState, WindowedOperator, apply, co_group, join_pairs,
};

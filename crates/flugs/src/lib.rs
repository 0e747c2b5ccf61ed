//! Flugs: stateful computations over data streams.
//!
//! A program makes an [`Environment`], takes streams from sources, transforms them, and gives them to sinks:
//!
//! ```
//! use flugs::prelude::*;
//!
//! # fn main() -> flugs::Result<()> {
//! let env = Environment::new("word-count");
//! let counts = MemorySink::new();
//! env.from_collection(["to be or", "not to be"].map(String::from))
//!     .flat_map(|line: String, out: &mut Collector<String>| {
//!         line.split_whitespace().for_each(|word| out.collect(word.to_owned()));
//!     })
//!     .map(|word| (word, 1u64))
//!     .sink_to(counts.clone(), "counts");
//! env.execute()?;
//! assert_eq!(counts.rows().len(), 6);
//! # Ok(())
//! # }
//! ```
//!
//! `use flugs::prelude::*` brings what most programs need. Where to go for what:
//!
//! | question | answer |
//! | --- | --- |
//! | how a program is put together, run, stopped and restored | [`Environment`], [`JobHandle`], [`PendingCheckpoint`], [`Restore`] |
//! | what can be done with a stream | [`DataStream`], and after `key_by` [`KeyedStream`] |
//! | windows, triggers and what is made of them | [`WindowedStream`]; the kinds are in [`operators`] |
//! | two streams at once | [`ConnectedStreams`], [`CoGroupedStreams`], [`IntervalJoined`], [`BroadcastConnectedStream`] |
//! | functions with state and timers | [`KeyedProcessFunction`](operators::KeyedProcessFunction), [`state`] |
//! | where rows come from and go to | [`connectors`], [`formats`], [`WatermarkStrategy`] |
//! | what rows may be | [`Data`], with its derive macro |
//! | where checkpoints go | [`checkpoint`] |
//! | what a job tells while it runs | [`JobReport`], [`Metrics`]; `tracing` events of its starts, failures and checkpoints under the target `flugs` |
//! | how a job is tested | [`testing`] |
//! | operators and sources of one's own | [`task`], [`connectors`] |

pub use flugs_api::{
    BroadcastConnectedStream, CoGroupedStreams, CoGrouping, ConnectedStreams, DataStream, Environment,
    IntervalJoined, KeyedBroadcastConnectedStream, KeyedConnectedStreams, KeyedStream, SinkHandle,
    SourceStream, WindowedStream,
};
pub use flugs_batch::{CompactString, Data, Key, Record, Records, data};
pub use flugs_cluster::{
    JobHandle, JobReport, JobStatus, PendingCheckpoint, RestartStrategy, Restore, Runtime,
};
pub use flugs_derive::Data;
pub use flugs_task::{DeadLetter, Metrics, OnMalformed, WatermarkGenerator, WatermarkStrategy};
pub use flugs_types::{Error, ErrorKind, Result, Timestamp};

/// Where checkpoints go and when they are taken. [`catalog`](checkpoint::catalog) lists what is in a store: its paths are what
/// [`Restore::Path`] takes.
pub mod checkpoint {
    pub use flugs_checkpoint::{BlobStore, CheckpointOptions, Manifest, MemoryStore, catalog};
    pub use flugs_storage::ObjectBlobs;
}

/// Sources and sinks.
pub mod connectors {
    pub use flugs_connector::*;
    pub use flugs_files::*;
    pub use flugs_nexmark as nexmark;
    pub use flugs_socket::SocketSource;
    pub use flugs_types::{Attempt, Background, CheckpointId, Clock, Generation, OperatorUid, SubtaskId};
}

/// Formats of records in files and on sockets.
pub mod formats {
    pub use flugs_formats::*;
}

/// Functions of one's own, windows, triggers, evictors, aggregates; and the operators around them. The streams' methods
/// make the operators, so a program names the functions and windows alone.
pub mod operators {
    pub use flugs_operators::*;
}

/// State of functions and operators. A function gets its handles when it opens: see
/// [`OpenKeyed`](operators::OpenKeyed) for keyed state and [`OpenFunction`](operators::OpenFunction) for that of
/// subtasks.
pub mod state {
    pub use flugs_state::*;
}

/// SQL sessions (feature `sql`).
///
/// ```
/// use flugs::sql::{SqlEnvironment, registry};
///
/// # fn main() -> flugs::Result<()> {
/// let mut env = SqlEnvironment::new(registry());
/// env.register_scalar("twice", |n: i32| n * 2)?;
/// let doubled = env.sql_query("SELECT twice(n) AS m FROM (VALUES (1), (2)) AS t(n)")?;
/// let rows = env.collect(&doubled)?;
/// assert_eq!(rows[1].get::<i32>("m")?, Some(4));
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "sql")]
pub mod sql {
    pub use flugs_derive::SqlRow;
    pub use flugs_sql::*;
    pub use flugs_sql_functions::table as functions;
    pub use flugs_sql_types as types;
    pub use flugs_sql_types::{Cell, SqlRow};
    pub use flugs_table as connector;
    pub use flugs_table::ChangelogMode;
    pub use flugs_types::RowKind;

    /// Every connector of tables and every format of this crate.
    pub fn registry() -> flugs_table::Registry {
        let mut registry = flugs_table::Registry::new();
        flugs_tables::register(&mut registry);
        flugs_files::table::register(&mut registry);
        flugs_nexmark::table::register(&mut registry);
        flugs_socket::table::register(&mut registry);
        flugs_formats::columns::register(&mut registry);
        registry
    }
}

/// What operators of one's own are made of.
pub mod task {
    pub use flugs_batch::{Barrier, BarrierKind, Batch, Either};
    pub use flugs_task::*;
    pub use flugs_types::{Background, CheckpointId, Clock, KeyGroup, KeyGroupRange, SubtaskId, hash_key};
}

/// Tests of operators and of whole jobs, under virtual time and injected faults.
///
/// A whole job runs in a plain test, in milliseconds. The test says what comes in, how far event time is, and when the
/// process dies:
///
/// ```
/// use flugs::prelude::*;
/// use flugs::testing::{TestJob, TestSource};
///
/// # fn main() -> flugs::Result<()> {
/// let (clicks, counts) = (TestSource::<String>::new(), MemorySink::new());
/// let (source, sink) = (clicks.clone(), counts.clone());
/// let mut job = TestJob::start(move |env| {
///     let minute = TumblingEventTimeWindows::of(Duration::from_secs(60));
///     let users = source.stream(env, "clicks").key_by(|user| user.clone());
///     users.window(minute).count().sink_to(sink.clone(), "counts");
/// })?;
///
/// for (user, second) in [("ann", 5), ("bob", 10), ("ann", 59), ("ann", 60)] {
///     clicks.push_at(user.to_owned(), Timestamp::from_secs(second));
/// }
/// job.checkpoint()?;
/// assert!(counts.is_empty(), "no window is over yet");
///
/// job.rescale(3)?; // the windows go to where their keys are now
/// job.fail_and_restore()?;
/// clicks.watermark(Timestamp::from_secs(60));
/// job.checkpoint()?;
/// let mut rows = counts.rows();
/// rows.sort();
/// assert_eq!(rows, [("ann".to_owned(), 2), ("bob".to_owned(), 1)]);
///
/// clicks.end();
/// job.finish()?;
/// assert_eq!(counts.rows().len(), 3);
/// # Ok(())
/// # }
/// ```
///
/// One operator alone is driven by a harness; [`Case`](testing::Case) replays what happens to it row by row, all at once,
/// with a restore after every step, and so on:
///
/// ```
/// use flugs::operators::Map;
/// use flugs::testing::OperatorHarness;
/// use flugs::Timestamp;
///
/// # fn main() -> flugs::Result<()> {
/// let mut double = OperatorHarness::new(Map::new(|n: u64| n * 2))?;
/// double.push([(1, Timestamp::EPOCH), (2, Timestamp::EPOCH)])?;
/// double.watermark(Timestamp::from_secs(1))?;
/// assert_eq!(double.output().values, [2, 4]);
/// assert_eq!(double.watermarks(), [Timestamp::from_secs(1)]);
/// # Ok(())
/// # }
/// ```
///
/// [`simulation`](testing::simulation) runs a job under faults of everything that surrounds it, by seed.
pub mod testing {
    pub use flugs_testkit::*;
}

/// What most programs need.
pub mod prelude {
    pub use crate::checkpoint::ObjectBlobs;
    pub use crate::connectors::*;
    pub use crate::formats::*;
    pub use crate::operators::*;
    pub use crate::state::{AggregatingState, ListState, MapState, ReducingState, Ttl, ValueState};
    pub use crate::{
        CompactString, Data, DataStream, Environment, JobHandle, JobStatus, Key, KeyedStream, Records,
        RestartStrategy, Restore, Runtime, Timestamp, WatermarkStrategy,
    };
    pub use std::time::Duration;
}

/// The programs of the page about SQL in a program are compiled and run as tests.
#[cfg(all(doctest, feature = "sql"))]
#[doc = include_str!("../../../docs/sql/library.md")]
struct SqlInAProgram;

/// The programs of the README are compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

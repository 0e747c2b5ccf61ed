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
//! Start with [`prelude`]; the modules hold what is needed less often.

pub use flugs_api::{DataStream, Environment, KeyedStream, SinkHandle, SourceStream};
pub use flugs_batch::{CompactString, Data, Key, Record, Records, data};
pub use flugs_cluster::{JobHandle, JobReport, JobStatus, RestartStrategy, Restore, Runtime};
pub use flugs_derive::Data;
pub use flugs_task::{DeadLetter, Metrics, OnMalformed, WatermarkGenerator, WatermarkStrategy};
pub use flugs_types::{Error, ErrorKind, Result, Timestamp};

/// Where checkpoints go and when they are taken.
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
}

/// Formats of records in files and on sockets.
pub mod formats {
    pub use flugs_formats::*;
}

/// Operators, functions, windows, triggers.
pub mod operators {
    pub use flugs_operators::*;
}

/// State of functions and operators.
pub mod state {
    pub use flugs_state::*;
}

/// What operators of one's own are made of.
pub mod task {
    pub use flugs_task::*;
}

/// Tests of operators and of whole jobs, under virtual time and injected faults.
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

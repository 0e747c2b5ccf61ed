//! Fluent DataStream programs: [`Environment`], [`DataStream`], [`KeyedStream`].
//!
//! A program builds a logical graph and, beside it, the factories of its operators and streams; `execute`
//! chains the graph and hands both to the cluster. Nothing runs before. This crate does not know schedulers and protocols.

mod async_io;
mod broadcast;
mod co_grouped;
mod connected;
mod environment;
mod functions;
mod joins;
mod keyed;
mod source;
mod stream;
mod windowed;

pub use broadcast::{BroadcastConnectedStream, KeyedBroadcastConnectedStream};
pub use co_grouped::{CoGroupedStreams, CoGrouping};
pub use connected::{ConnectedStreams, KeyedConnectedStreams};
pub use environment::Environment;
pub use joins::IntervalJoined;
pub use keyed::KeyedStream;
pub use source::SourceStream;
pub use stream::{DataStream, SinkHandle};
pub use windowed::WindowedStream;

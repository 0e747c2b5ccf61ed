//! What a source and a sink are, and the tiny built-in ones.
//!
//! A source is an [`SplitEnumerator`] (on the coordinator's side: finds splits and hands them out; a
//! pure state machine) and a [`SourceReader`] per subtask (reads the splits it is given). A sink is a
//! [`SinkWriter`] per subtask that may hand out committables. Whoever writes a connector depends on
//! this crate and never on the engine.

mod builtin;
mod sink;
mod source;

pub use builtin::{
    BatchId, BlackholeSink, CallbackSink, ChannelSource, CollectionSource, DataGen, Draw, GeneratorSource,
    MemorySink, PrintSink, SendError, Sender, Throttled, Zipf, channel_source,
};
pub use sink::{Committable, Delivery, Prepared, Sink, SinkWriter, WriterContext};
pub use source::{
    Boundedness, EnumeratorAction, EnumeratorContext, EnumeratorEvent, Malformed, Outstanding, PollContext,
    ReaderContext, ReaderStatus, Source, SourceOutput, SourceReader, Split, SplitEnumerator, SplitStatus,
};

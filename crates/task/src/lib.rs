//! One subtask of a job: gate, alignment, chain, exchange, mailbox; and the schedulers that step it.
//!
//! A task is a synchronous, bounded, non-blocking step function ([`Task`]). Its input comes from
//! [`Channel`]s through a gate, or from a source's reader; goes through a chain of [`Operator`]s linked
//! by direct calls; and leaves through outlets into further channels. Whatever may block happens on a
//! background thread and comes back as mail.
//!
//! This crate does not know which operators, connectors or stores exist, nor when a checkpoint is due.

mod background;
mod build;
mod chain;
mod channel;
mod context;
mod gate;
mod mail;
mod metrics;
mod outlet;
mod route;
mod schedule;
mod sink;
mod snapshot;
mod source;
mod subtask;
#[cfg(test)]
mod testing;
mod valve;
mod watermark;

pub use background::BackgroundPool;
pub use build::{
    AnyBox, BuildContext, EdgeFactory, NodeFactory, OneInput, Ports, RecordEdge, SourceFactory, SourceNode,
    TwoInputs,
};
pub use chain::{Discard, Link, LinkPort, Output, Side, SidePort, Stage, Tee, Visitor};
pub use channel::{Channel, ChannelEnds};
pub use context::{OpenContext, Operator, OperatorIdent, Progress};
pub use gate::{Gate, Inlet};
pub use mail::{
    Mail, Mailbox, OperatorAck, StateData, StateStore, StateUpload, SubtaskRef, Supervisor, TaskEvent,
};
pub use metrics::{Counter, Metrics};
pub use outlet::{CHANNEL_BYTES, Outlet};
pub use route::{
    BroadcastRoute, CustomRoute, GlobalRoute, KeyGroupRoute, RebalanceRoute, RescaleRoute, Route,
};
pub use schedule::{Obituary, Pool, Scheduler, Simulation, Slot, Step, Task, ThreadPerTask};
pub use sink::SinkOperator;
pub use source::{AlignmentGroups, DeadLetter, OnMalformed, SourceSpec, SourceTask};
pub use subtask::{SubtaskTask, TaskContext};
pub use valve::Valve;
pub use watermark::{BoundedOutOfOrderness, Punctuated, WatermarkGenerator, WatermarkStrategy};

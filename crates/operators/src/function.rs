//! The shell of operators that are called row by row and keep no keyed state.

use crate::collector::{Collector, Traffic};
use crate::operator_state::{OperatorList, OperatorStates};
use crate::rows::Rows;
use flugs_batch::{Data, Record, Records};
use flugs_state::{OpenState, SnapshotTable, StateTime};
use flugs_task::{Counter, OpenContext, Operator, Output, Progress};
use flugs_types::{Clock, Result, SubtaskId, Timestamp};
use std::sync::Arc;

/// What a function is opened with.
pub struct OpenFunction<'a, 'b> {
    context: &'a mut OpenContext<'b>,
    states: &'a mut OperatorStates,
}

impl<'a, 'b> OpenFunction<'a, 'b> {
    pub(crate) fn new(context: &'a mut OpenContext<'b>, states: &'a mut OperatorStates) -> Self {
        OpenFunction { context, states }
    }

    /// A list that belongs to the subtask. When the parallelism changes, its items are dealt out one by one.
    pub fn operator_list<T: Data>(&mut self, name: &str) -> Result<OperatorList<T>> {
        Ok(self.states.list(self.context.state.list(name)?))
    }

    /// A list that belongs to the subtask. Each restored subtask gets the items of all.
    pub fn union_list<T: Data>(&mut self, name: &str) -> Result<OperatorList<T>> {
        Ok(self.states.union_list(self.context.state.union_list(name)?))
    }

    /// Which parallel instance it is.
    pub fn subtask(&self) -> SubtaskId {
        self.context.ident.subtask
    }

    /// A counter of this subtask.
    pub fn counter(&self, name: &str) -> Counter {
        self.context.counter(name)
    }

    pub(crate) fn state(&mut self) -> &mut OpenState {
        self.context.state
    }
}

/// What a function knows besides its row; and its operator state.
pub struct Context<'a> {
    pub(crate) timestamp: Timestamp,
    pub(crate) time: StateTime,
    pub(crate) states: &'a mut OperatorStates,
}

impl Context<'_> {
    /// The event time of the row, if it has one.
    pub fn timestamp(&self) -> Option<Timestamp> {
        (self.timestamp != Timestamp::MIN).then_some(self.timestamp)
    }

    /// How far event time has come; [`Timestamp::MIN`] before the first watermark.
    pub fn current_watermark(&self) -> Timestamp {
        self.time.watermark
    }

    /// The time of the machine, read once a batch.
    pub fn processing_time(&self) -> Timestamp {
        self.time.processing_time
    }
}

/// A function over rows, as the shell calls it.
pub trait RowFunction: Send + 'static {
    /// The batches of its input.
    type In: Rows;
    /// The rows of its output.
    type Out: Record;

    /// Opens it.
    fn open(&mut self, open: &mut OpenFunction<'_, '_>) -> Result<()>;

    /// Works through what is left, until nothing is or the collector is not ready.
    fn rows(
        &mut self,
        rest: &mut <Self::In as Rows>::Rest,
        cx: &mut Context<'_>,
        out: &mut Collector<'_, Self::Out>,
    ) -> Result<()>;

    /// The tables that it opened.
    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        Vec::new()
    }
}

/// The operator around a [`RowFunction`].
pub struct RowOperator<F: RowFunction> {
    function: F,
    states: OperatorStates,
    rest: <F::In as Rows>::Rest,
    watermark: Timestamp,
    clock: Option<Arc<dyn Clock>>,
    traffic: Traffic,
}

impl<F: RowFunction> RowOperator<F> {
    pub(crate) fn new(function: F) -> Self {
        RowOperator {
            function,
            states: OperatorStates::default(),
            rest: Default::default(),
            watermark: Timestamp::MIN,
            clock: None,
            traffic: Traffic::default(),
        }
    }
}

impl<F: RowFunction> Operator for RowOperator<F> {
    type In = F::In;
    type Out = Records<F::Out>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.traffic.open(context);
        self.clock = Some(context.clock.clone());
        self.function.open(&mut OpenFunction::new(context, &mut self.states))
    }

    fn process(&mut self, batch: F::In, out: &mut Output<Self::Out>) -> Result<Progress> {
        use flugs_batch::Batch;
        self.traffic.took(batch.len());
        self.rest = batch.into_rest();
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        let processing_time = self.clock.as_ref().map_or(Timestamp::MIN, |clock| clock.now());
        let time = StateTime { watermark: self.watermark, processing_time };
        let mut cx = Context { timestamp: Timestamp::MIN, time, states: &mut self.states };
        let mut out = Collector::new(out);
        self.function.rows(&mut self.rest, &mut cx, &mut out)?;
        self.traffic.gave(out.finish()?);
        Ok(if F::In::is_done(&self.rest) { Progress::Done } else { Progress::More })
    }

    fn advance(&mut self, watermark: Timestamp, _: &mut Output<Self::Out>) -> Result<Progress> {
        self.watermark = watermark;
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.states.tables().chain(self.function.tables()).collect()
    }
}

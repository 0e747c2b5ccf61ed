//! How the nodes of a job graph become tasks.
//!
//! A program's typed operators and streams stand behind two small traits without types: a [`NodeFactory`] for
//! each node and an [`EdgeFactory`] for each stream. Whoever deploys a job asks them for channels, outlets, stages and
//! tasks, and passes these around in boxes ([`AnyBox`]) that only the factories of the same stream open. A box of
//! another type than expected is a bug of the program builder, reported when the task is built.

use crate::chain::{Discard, Link, Output, Side, SidePort, Stage, Tee};
use crate::channel::{Channel, ChannelEnds};
use crate::context::{OpenContext, Operator, OperatorIdent};
use crate::gate::{ChannelInlet, Gate, Inlet};
use crate::metrics::Metrics;
use crate::outlet::Outlet;
use crate::route::Route;
use crate::schedule::Task;
use crate::source::{AlignmentGroups, OnMalformed, SourceSpec, SourceTask};
use crate::subtask::{SubtaskTask, TaskContext};
use crate::watermark::WatermarkStrategy;
use flugs_batch::{Batch, Data, Either, Exchanged, Record, Records};
use flugs_connector::{Boundedness, EnumeratorContext, ReaderContext, Source, SplitEnumerator};
use flugs_state::OpenState;
use flugs_types::{Attempt, Clock, Error, Generation, Result, SubtaskId};
use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

/// Something whose type only its maker and its taker know.
pub type AnyBox = Box<dyn Any + Send>;

fn open<T: 'static>(any: AnyBox) -> Result<T> {
    any.downcast::<T>()
        .map(|t| *t)
        .map_err(|_| Error::bug(format!("a {} was expected here", std::any::type_name::<T>())))
}

/// What an operator subtask is built with.
pub struct BuildContext {
    /// Name of the job.
    pub job: Arc<str>,
    /// Who it is.
    pub ident: Arc<OperatorIdent>,
    /// The task it is part of.
    pub task: TaskContext,
    /// Where its state comes from.
    pub state: OpenState,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The run of the job.
    pub generation: Generation,
    /// The try within the run.
    pub attempt: Attempt,
    /// Where counters are registered.
    pub metrics: Arc<Metrics>,
    /// The alignment groups of this attempt.
    pub groups: AlignmentGroups,
    /// Whether state that nobody opens may be dropped.
    pub allow_non_restored_state: bool,
    /// Whether anybody may start from the job's checkpoints. Otherwise they hold no operator's state.
    pub recoverable: bool,
    /// Whether all inputs had ended before the checkpoint that it starts from.
    pub has_ended: bool,
}

/// What follows an operator, by output port.
#[derive(Default)]
pub struct Ports {
    /// The stage behind the main output; `None` where nobody reads it.
    pub main: Option<AnyBox>,
    /// The stages behind the side outputs.
    pub sides: Vec<Option<Box<dyn SidePort>>>,
}

impl Ports {
    fn output<B: 'static>(self) -> Result<Output<B>> {
        let main = match self.main {
            Some(stage) => open::<Box<dyn Stage<B>>>(stage)?,
            None => Box::new(Discard),
        };
        Ok(Output::new(main, self.sides))
    }
}

/// Makes the subtasks of a node.
pub trait NodeFactory: Send + Sync {
    /// Makes and opens the operator, in front of what follows it: a `Box<dyn Stage<In>>`.
    fn stage(&self, context: &mut BuildContext, ports: Ports) -> Result<AnyBox>;

    /// Makes a task of a chain whose head this is: `inputs` are the channels that it reads, with the number of
    /// the logical input each belongs to.
    fn task(&self, context: TaskContext, inputs: Vec<(u16, AnyBox)>, stage: AnyBox) -> Result<Box<dyn Task>>;

    /// The same for a source.
    fn source(&self) -> Option<&dyn SourceFactory> {
        None
    }
}

/// What a source's node can do besides.
pub trait SourceFactory: Send + Sync {
    /// Whether it ends.
    fn boundedness(&self) -> Boundedness;

    /// Makes the enumerator.
    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>>;

    /// Makes and opens the task.
    fn source_task(&self, context: &mut BuildContext, ports: Ports) -> Result<Box<dyn Task>>;
}

/// Makes what connects two nodes.
pub trait EdgeFactory: Send + Sync {
    /// A channel in which about `capacity` bytes may wait: an `Arc<Channel<B>>`, given to both ends.
    fn channel(&self, capacity: usize, ends: ChannelEnds) -> (AnyBox, AnyBox);

    /// The sending end for one subtask, over the channels to its receivers: a `Box<dyn Stage<B>>`.
    fn outlet(&self, sender: SubtaskId, channels: Vec<AnyBox>) -> Result<AnyBox>;

    /// A stage that feeds several.
    fn tee(&self, stages: Vec<AnyBox>) -> Result<AnyBox>;

    /// A stage as a side output.
    fn side(&self, stage: AnyBox) -> Result<Box<dyn SidePort>>;
}

type NewRoute<T> = dyn Fn(SubtaskId) -> Box<dyn Route<Records<T>>> + Send + Sync;

/// A stream of records `T` with its route.
pub struct RecordEdge<T> {
    route: Arc<NewRoute<T>>,
}

impl<T: Data> RecordEdge<T> {
    /// A stream whose senders route by what `route` makes.
    pub fn new(route: impl Fn(SubtaskId) -> Box<dyn Route<Records<T>>> + Send + Sync + 'static) -> Self {
        RecordEdge { route: Arc::new(route) }
    }
}

impl<T: Data> EdgeFactory for RecordEdge<T> {
    fn channel(&self, capacity: usize, ends: ChannelEnds) -> (AnyBox, AnyBox) {
        let channel = Channel::<Records<T>>::new(capacity, ends);
        (Box::new(channel.clone()), Box::new(channel))
    }

    fn outlet(&self, sender: SubtaskId, channels: Vec<AnyBox>) -> Result<AnyBox> {
        let channels = channels.into_iter().map(open).collect::<Result<Vec<Arc<Channel<Records<T>>>>>>()?;
        let outlet: Box<dyn Stage<Records<T>>> = Box::new(Outlet::new((self.route)(sender), channels));
        Ok(Box::new(outlet))
    }

    fn tee(&self, stages: Vec<AnyBox>) -> Result<AnyBox> {
        let stages = stages.into_iter().map(open).collect::<Result<Vec<Box<dyn Stage<Records<T>>>>>>()?;
        let tee: Box<dyn Stage<Records<T>>> = Box::new(Tee::new(stages));
        Ok(Box::new(tee))
    }

    fn side(&self, stage: AnyBox) -> Result<Box<dyn SidePort>> {
        Ok(Box::new(Side(open::<Box<dyn Stage<Records<T>>>>(stage)?)))
    }
}

/// Opens an operator and puts it into a chain.
fn link<O: Operator>(mut operator: O, context: &mut BuildContext, ports: Ports) -> Result<AnyBox> {
    let out = ports.output::<O::Out>()?;
    let ident = context.ident.clone();
    let mut open = OpenContext {
        job: &context.job,
        ident: &ident,
        state: &mut context.state,
        clock: &context.clock,
        background: &context.task.background,
        waker: context.task.mailbox.waker(),
        generation: context.generation,
        attempt: context.attempt,
        metrics: &context.metrics,
    };
    operator.open(&mut open)?;
    let shown: Vec<String> = operator.tables().iter().map(|t| t.name().to_owned()).collect();
    check_state(context, &shown)?;
    let link = Link::new(operator, out, ident);
    let link = if context.recoverable { link } else { link.unrecoverable() };
    let link = if context.has_ended { link.behind_its_end() } else { link };
    let stage: Box<dyn Stage<O::In>> = Box::new(link);
    Ok(Box::new(stage))
}

/// Everything that was opened must be shown, or it would be lost at the next restore; everything that the checkpoint
/// holds must have been opened.
fn check_state(context: &BuildContext, shown: &[String]) -> Result<()> {
    let ident = &context.ident;
    if let Some((name, _)) = context.state.opened().iter().find(|(name, _)| !shown.contains(name)) {
        return Err(Error::bug(format!("state '{name}' was opened but is not among the operator's tables"))
            .in_subtask(&ident.name, ident.subtask));
    }
    let unclaimed = context.state.unclaimed();
    if unclaimed.is_empty() || context.allow_non_restored_state {
        return Ok(());
    }
    let opened: Vec<&str> = context.state.opened().iter().map(|(name, _)| name.as_str()).collect();
    Err(Error::state(format!(
        "the checkpoint holds state '{}' of this operator, which the job does not open (it opens: {})",
        unclaimed.join("', '"),
        if opened.is_empty() { "nothing".to_owned() } else { opened.join(", ") }
    ))
    .in_subtask(&ident.name, ident.subtask)
    .mend(
        "open the state under its name, or allow non-restored state to drop it \
         (in SQL: 'execution.state-recovery.ignore-unclaimed-state' = 'true')",
    ))
}

fn channel_task<H: Batch>(
    context: TaskContext,
    inlets: Vec<Box<dyn Inlet<H>>>,
    stage: AnyBox,
) -> Result<Box<dyn Task>> {
    let chain = open::<Box<dyn Stage<H>>>(stage)?;
    Ok(Box::new(SubtaskTask::new(context, Gate::new(inlets), chain)?))
}

/// A node of an operator with one input.
pub struct OneInput<O> {
    make: Box<dyn Fn() -> O + Send + Sync>,
}

impl<O: Operator> OneInput<O> {
    /// A node whose subtasks are made by `make`.
    pub fn new(make: impl Fn() -> O + Send + Sync + 'static) -> Self {
        OneInput { make: Box::new(make) }
    }
}

impl<O: Operator> NodeFactory for OneInput<O>
where
    O::In: Exchanged,
{
    fn stage(&self, context: &mut BuildContext, ports: Ports) -> Result<AnyBox> {
        link((self.make)(), context, ports)
    }

    fn task(&self, context: TaskContext, inputs: Vec<(u16, AnyBox)>, stage: AnyBox) -> Result<Box<dyn Task>> {
        let inlet = |(_, channel)| -> Result<Box<dyn Inlet<O::In>>> {
            Ok(Box::new(ChannelInlet::new(open::<Arc<Channel<O::In>>>(channel)?, |b| b)))
        };
        let inlets = inputs.into_iter().map(inlet).collect::<Result<_>>()?;
        channel_task(context, inlets, stage)
    }
}

/// A node of an operator with two inputs.
pub struct TwoInputs<O, L, R> {
    make: Box<dyn Fn() -> O + Send + Sync>,
    inputs: PhantomData<fn(L, R)>,
}

impl<L: Exchanged, R: Exchanged, O: Operator<In = Either<L, R>>> TwoInputs<O, L, R> {
    /// A node whose subtasks are made by `make`.
    pub fn new(make: impl Fn() -> O + Send + Sync + 'static) -> Self {
        TwoInputs { make: Box::new(make), inputs: PhantomData }
    }
}

impl<L: Exchanged, R: Exchanged, O: Operator<In = Either<L, R>>> NodeFactory for TwoInputs<O, L, R> {
    fn stage(&self, context: &mut BuildContext, ports: Ports) -> Result<AnyBox> {
        link((self.make)(), context, ports)
    }

    fn task(&self, context: TaskContext, inputs: Vec<(u16, AnyBox)>, stage: AnyBox) -> Result<Box<dyn Task>> {
        let inlet = |(input, channel)| -> Result<Box<dyn Inlet<O::In>>> {
            Ok(match input {
                0 => Box::new(ChannelInlet::new(open::<Arc<Channel<L>>>(channel)?, Either::Left)),
                _ => Box::new(ChannelInlet::new(open::<Arc<Channel<R>>>(channel)?, Either::Right)),
            })
        };
        let inlets = inputs.into_iter().map(inlet).collect::<Result<_>>()?;
        channel_task(context, inlets, stage)
    }
}

/// A node of a source.
pub struct SourceNode<S: Source> {
    source: Arc<S>,
    strategy: WatermarkStrategy<S::Item>,
    on_malformed: OnMalformed,
    advice: &'static str,
}

impl<S: Source> SourceNode<S> {
    /// A node that reads this source.
    pub fn new(source: Arc<S>, strategy: WatermarkStrategy<S::Item>, on_malformed: OnMalformed) -> Self {
        let advice =
            "mend the record, or let the source skip malformed records or route them to a dead-letter stream";
        SourceNode { source, strategy, on_malformed, advice }
    }

    /// What the reader of an error about a malformed record can do, where that is said in other words.
    #[must_use]
    pub fn advising(self, advice: &'static str) -> Self {
        SourceNode { advice, ..self }
    }
}

impl<S: Source> NodeFactory for SourceNode<S> {
    fn stage(&self, _: &mut BuildContext, _: Ports) -> Result<AnyBox> {
        Err(Error::bug("a source stands at the head of its chain"))
    }

    fn task(&self, _: TaskContext, _: Vec<(u16, AnyBox)>, _: AnyBox) -> Result<Box<dyn Task>> {
        Err(Error::bug("a source has no inputs"))
    }

    fn source(&self) -> Option<&dyn SourceFactory> {
        Some(self)
    }
}

impl<S: Source> SourceFactory for SourceNode<S>
where
    S::Item: Record,
{
    fn boundedness(&self) -> Boundedness {
        self.source.boundedness()
    }

    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>> {
        self.source.enumerator(context)
    }

    fn source_task(&self, context: &mut BuildContext, ports: Ports) -> Result<Box<dyn Task>> {
        let out = ports.output()?;
        let reader = self.source.reader(ReaderContext {
            subtask: context.ident.subtask,
            clock: context.clock.clone(),
            background: context.task.background.clone(),
            waker: context.task.mailbox.waker().clone(),
        })?;
        let spec = SourceSpec {
            ident: context.ident.clone(),
            boundedness: self.source.boundedness(),
            reader,
            strategy: self.strategy.clone(),
            on_malformed: self.on_malformed,
            advice: self.advice,
            metrics: context.metrics.clone(),
            groups: context.groups.clone(),
        };
        Ok(Box::new(SourceTask::new(context.task.clone(), spec, &mut context.state, out)?))
    }
}

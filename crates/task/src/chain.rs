//! Chains: operators linked by direct calls.
//!
//! A chain is built tail first: each stage owns the next. A stage is typed by the batch it takes and by
//! nothing else, so types never nest. [`Link`] is the generic shell around an operator: it keeps the order
//! of batches and control items when the operator stops in the middle, freezes its tables at a barrier, and
//! names the operator in errors.

use crate::context::{Operator, OperatorIdent, Progress};
use flugs_batch::{Batch, Control, Flow, Push, Records, StreamElement};
use flugs_state::SnapshotTable;
use flugs_types::{CheckpointId, Error, Result, Timestamp, guarded};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

/// A part of a chain that takes batches `B`.
pub trait Stage<B>: Push<B> {
    /// Hands on what is buffered. `idle` says that the task has no more input at hand; otherwise only receivers
    /// that have nothing to do are served.
    fn hand_on(&mut self, idle: bool) -> Result<Flow>;

    /// Shows each operator of the chain, in order of the stream.
    fn visit(&mut self, visitor: &mut dyn Visitor) -> Result<()>;
}

impl<B, S: Stage<B> + ?Sized> Stage<B> for Box<S> {
    fn hand_on(&mut self, idle: bool) -> Result<Flow> {
        (**self).hand_on(idle)
    }

    fn visit(&mut self, visitor: &mut dyn Visitor) -> Result<()> {
        (**self).visit(visitor)
    }
}

/// Looks at the operators of a chain.
pub trait Visitor {
    /// One operator.
    fn link(&mut self, link: &mut dyn LinkPort) -> Result<()>;
}

/// What a task does with an operator of its chain besides pushing, whatever its types are.
pub trait LinkPort {
    /// Who it is.
    fn ident(&self) -> &Arc<OperatorIdent>;
    /// Its tables, as far as they are part of checkpoints.
    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable>;
    /// When it wants a tick.
    fn next_tick(&self) -> Option<Timestamp>;
    /// When it wants to be resumed although it waits for something outside: then its ticks are not called.
    fn resume_at(&self) -> Option<Timestamp> {
        None
    }
    /// Whether it wants to be polled.
    fn polls(&self) -> bool;
    /// Processing time has come to `now`. Only while the chain is ready.
    fn tick(&mut self, now: Timestamp) -> Result<Flow>;
    /// Lets it look for what came in. Only while the chain is ready.
    fn poll(&mut self) -> Result<Flow>;
    /// A checkpoint is complete.
    fn committed(&mut self, checkpoint: CheckpointId) -> Result<()>;
}

/// Where an operator hands on its results: the next stage, and its side outputs.
pub struct Output<B> {
    main: Box<dyn Stage<B>>,
    /// By port; `None` where nobody reads it.
    sides: Vec<Option<Box<dyn SidePort>>>,
    flow: Flow,
}

impl<B> Output<B> {
    /// An output into `main` and these side outputs.
    pub fn new(main: Box<dyn Stage<B>>, sides: Vec<Option<Box<dyn SidePort>>>) -> Self {
        Output { main, sides, flow: Flow::Ready }
    }

    /// Hands on a batch.
    #[inline]
    pub fn push(&mut self, batch: B) -> Result<Flow> {
        self.flow = self.flow.and(self.main.push(batch)?);
        Ok(self.flow)
    }

    /// Whether more may be handed on now.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.flow == Flow::Ready
    }

    /// Hands on rows to side output `port` (counted from 0); they are dropped where nobody reads it. Rows of another
    /// type than the port's are a bug.
    pub fn push_side<T: Send + 'static>(&mut self, port: usize, rows: Records<T>) -> Result<Flow> {
        let Some(Some(side)) = self.sides.get_mut(port) else { return Ok(self.flow) };
        let side = side.as_any().downcast_mut::<Side<T>>().ok_or_else(|| {
            Error::bug(format!("side output {port} does not carry {}", std::any::type_name::<T>()))
        })?;
        self.flow = self.flow.and(side.0.push(rows)?);
        Ok(self.flow)
    }

    /// Hands on a watermark of the operator's own making.
    pub fn watermark(&mut self, watermark: Timestamp) -> Result<Flow> {
        self.control(Control::Watermark(watermark))
    }

    /// Says that the output has nothing to say about time for now, or has again.
    pub fn idleness(&mut self, idle: bool) -> Result<Flow> {
        self.control(if idle { Control::Idle } else { Control::Active })
    }

    pub(crate) fn control(&mut self, control: Control) -> Result<Flow> {
        self.flow = self.flow.and(self.main.control(control)?);
        for side in self.sides.iter_mut().flatten() {
            self.flow = self.flow.and(side.control(control)?);
        }
        Ok(self.flow)
    }

    /// Goes down to the ends even when all seems ready from here: an operator further down may have stopped in its
    /// tick or poll, of which nobody before it knows.
    pub(crate) fn resume(&mut self) -> Result<Flow> {
        self.flow = self.main.resume()?;
        for side in self.sides.iter_mut().flatten() {
            self.flow = self.flow.and(side.resume()?);
        }
        Ok(self.flow)
    }

    pub(crate) fn flow(&self) -> Flow {
        self.flow
    }

    pub(crate) fn hand_on(&mut self, idle: bool) -> Result<Flow> {
        self.flow = self.flow.and(self.main.hand_on(idle)?);
        for side in self.sides.iter_mut().flatten() {
            self.flow = self.flow.and(side.hand_on(idle)?);
        }
        Ok(self.flow)
    }

    pub(crate) fn visit(&mut self, visitor: &mut dyn Visitor) -> Result<()> {
        self.main.visit(visitor)?;
        self.sides.iter_mut().flatten().try_for_each(|side| side.visit(visitor))
    }
}

/// A side output whose row type is erased.
pub trait SidePort: Send {
    /// As [`Push::control`].
    fn control(&mut self, control: Control) -> Result<Flow>;
    /// As [`Push::resume`].
    fn resume(&mut self) -> Result<Flow>;
    /// As [`Stage::hand_on`].
    fn hand_on(&mut self, idle: bool) -> Result<Flow>;
    /// As [`Stage::visit`].
    fn visit(&mut self, visitor: &mut dyn Visitor) -> Result<()>;
    /// The typed side, to be pushed into.
    fn as_any(&mut self) -> &mut dyn Any;
}

/// A side output of rows `T`.
pub struct Side<T>(pub Box<dyn Stage<Records<T>>>);

impl<T: Send + 'static> SidePort for Side<T> {
    fn control(&mut self, control: Control) -> Result<Flow> {
        self.0.control(control)
    }

    fn resume(&mut self) -> Result<Flow> {
        self.0.resume()
    }

    fn hand_on(&mut self, idle: bool) -> Result<Flow> {
        self.0.hand_on(idle)
    }

    fn visit(&mut self, visitor: &mut dyn Visitor) -> Result<()> {
        self.0.visit(visitor)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// The shell around an operator.
///
/// What comes while the operator has stopped in the middle waits here in order: the operator before it may hand on more
/// (its own results, then the watermark that made them) before it learns of the stop.
pub struct Link<O: Operator> {
    operator: O,
    out: Output<O::Out>,
    ident: Arc<OperatorIdent>,
    /// How the operator stopped in the middle, if it did.
    stopped: Option<Flow>,
    /// The control item that is handed on when the operator is done.
    pending: Option<Control>,
    waiting: VecDeque<StreamElement<O::In>>,
    /// Whether its tables are part of checkpoints.
    recoverable: bool,
    /// Whether the operator has given what it gives at the end, in the run that it goes on from.
    has_ended: bool,
}

impl<O: Operator> Link<O> {
    /// An opened operator in front of its output.
    pub fn new(operator: O, out: Output<O::Out>, ident: Arc<OperatorIdent>) -> Self {
        Link {
            operator,
            out,
            ident,
            stopped: None,
            pending: None,
            waiting: VecDeque::new(),
            recoverable: true,
            has_ended: false,
        }
    }

    /// Goes on from a checkpoint that all inputs had ended before: the end comes once more, and as long as there are no rows before it, it
    /// is not the operator's matter.
    pub fn behind_its_end(self) -> Self {
        Link { has_ended: true, ..self }
    }

    /// Leaves its tables out of checkpoints: nobody will ever start from one.
    pub fn unrecoverable(self) -> Self {
        Link { recoverable: false, ..self }
    }

    /// Runs the operator's code. An error or a panic is named by the operator in whose code it was, here rather than at the
    /// rim of the task, where all operators of the chain look alike.
    fn call<T>(&mut self, code: impl FnOnce(&mut O, &mut Output<O::Out>) -> Result<T>) -> Result<T> {
        let Link { operator, out, ident, .. } = self;
        guarded(|| code(operator, out)).map_err(|e| e.in_subtask(&ident.name, ident.subtask))
    }

    fn settle(&mut self, progress: Progress, then: Option<Control>) -> Result<Flow> {
        match progress {
            Progress::Done => match then {
                Some(control) => self.forward(control),
                None => Ok(self.out.flow()),
            },
            stopped => {
                let own = if stopped == Progress::More { Flow::Yield } else { Flow::Full };
                self.stopped = Some(own);
                self.pending = then;
                Ok(own.and(self.out.flow()))
            }
        }
    }

    fn forward(&mut self, control: Control) -> Result<Flow> {
        match control {
            Control::Barrier(_) => self.tables().into_iter().for_each(|t| t.freeze()),
            Control::Watermark(_) if !self.operator.forwards_watermarks() => return Ok(self.out.flow()),
            _ => {}
        }
        self.out.control(control)
    }
}

impl<O: Operator> Link<O> {
    fn offer(&mut self, element: StreamElement<O::In>) -> Result<Flow> {
        if self.stopped.is_none() && self.waiting.is_empty() {
            return self.take(element);
        }
        self.waiting.push_back(element);
        Ok(self.stopped.unwrap_or(Flow::Yield).and(self.out.flow()))
    }

    fn take(&mut self, element: StreamElement<O::In>) -> Result<Flow> {
        let (progress, then) = match element {
            StreamElement::Batch(batch) => {
                self.has_ended = false;
                (self.call(|operator, out| operator.process(batch, out))?, None)
            }
            StreamElement::Control(Control::End) if self.has_ended => (Progress::Done, Some(Control::End)),
            StreamElement::Control(control) => {
                let progress = self.call(|operator, out| match control {
                    Control::Watermark(t) => operator.advance(t, out),
                    Control::Barrier(b) => operator.barrier(b, out),
                    Control::End => operator.end(out),
                    Control::Idle => operator.idleness(true, out),
                    Control::Active => operator.idleness(false, out),
                })?;
                let said = matches!(control, Control::Idle | Control::Active);
                (progress, (!said).then_some(control))
            }
        };
        self.settle(progress, then)
    }
}

impl<O: Operator> Push<O::In> for Link<O> {
    fn push(&mut self, batch: O::In) -> Result<Flow> {
        self.offer(StreamElement::Batch(batch))
    }

    fn control(&mut self, control: Control) -> Result<Flow> {
        self.offer(StreamElement::Control(control))
    }

    fn resume(&mut self) -> Result<Flow> {
        loop {
            let mut flow = self.out.resume()?;
            if flow != Flow::Ready {
                return Ok(flow);
            }
            if self.stopped.take().is_some() {
                let progress = self.call(|operator, out| operator.resume(out))?;
                let then = self.pending.take();
                flow = self.settle(progress, then)?;
            } else if let Some(element) = self.waiting.pop_front() {
                flow = self.take(element)?;
            } else {
                return Ok(Flow::Ready);
            }
            if flow != Flow::Ready {
                return Ok(flow);
            }
        }
    }
}

impl<O: Operator> Stage<O::In> for Link<O> {
    fn hand_on(&mut self, idle: bool) -> Result<Flow> {
        self.out.hand_on(idle)
    }

    fn visit(&mut self, visitor: &mut dyn Visitor) -> Result<()> {
        visitor.link(self)?;
        self.out.visit(visitor)
    }
}

impl<O: Operator> LinkPort for Link<O> {
    fn ident(&self) -> &Arc<OperatorIdent> {
        &self.ident
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        if self.recoverable { self.operator.tables() } else { Vec::new() }
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.operator.next_tick()
    }

    fn resume_at(&self) -> Option<Timestamp> {
        let blocked = self.stopped == Some(Flow::Full) && self.out.flow() == Flow::Ready;
        self.operator.next_tick().filter(|_| blocked)
    }

    fn polls(&self) -> bool {
        self.operator.polls()
    }

    fn tick(&mut self, now: Timestamp) -> Result<Flow> {
        let progress = self.call(|operator, out| operator.tick(now, out))?;
        self.settle(progress, None)
    }

    fn poll(&mut self) -> Result<Flow> {
        let progress = self.call(|operator, out| operator.poll(out))?;
        self.settle(progress, None)
    }

    fn committed(&mut self, checkpoint: CheckpointId) -> Result<()> {
        self.call(|operator, _| operator.committed(checkpoint))
    }
}

/// Gives each batch to several stages.
pub struct Tee<B>(Vec<Box<dyn Stage<B>>>);

impl<B> Tee<B> {
    /// A tee into these stages.
    pub fn new(stages: Vec<Box<dyn Stage<B>>>) -> Self {
        Tee(stages)
    }

    fn all(&mut self, mut f: impl FnMut(&mut dyn Stage<B>) -> Result<Flow>) -> Result<Flow> {
        self.0.iter_mut().try_fold(Flow::Ready, |flow, stage| Ok(flow.and(f(stage.as_mut())?)))
    }
}

impl<B: Batch + Clone> Push<B> for Tee<B> {
    fn push(&mut self, batch: B) -> Result<Flow> {
        let Some((last, others)) = self.0.split_last_mut() else { return Ok(Flow::Ready) };
        let mut flow = Flow::Ready;
        for stage in others {
            flow = flow.and(stage.push(batch.clone())?);
        }
        Ok(flow.and(last.push(batch)?))
    }

    fn control(&mut self, control: Control) -> Result<Flow> {
        self.all(|s| s.control(control))
    }

    fn resume(&mut self) -> Result<Flow> {
        self.all(|s| s.resume())
    }
}

impl<B: Batch + Clone> Stage<B> for Tee<B> {
    fn hand_on(&mut self, idle: bool) -> Result<Flow> {
        self.all(|s| s.hand_on(idle))
    }

    fn visit(&mut self, visitor: &mut dyn Visitor) -> Result<()> {
        self.0.iter_mut().try_for_each(|s| s.visit(visitor))
    }
}

/// The end of a chain whose output nobody reads.
pub struct Discard;

impl<B> Push<B> for Discard {
    fn push(&mut self, _: B) -> Result<Flow> {
        Ok(Flow::Ready)
    }

    fn control(&mut self, _: Control) -> Result<Flow> {
        Ok(Flow::Ready)
    }

    fn resume(&mut self) -> Result<Flow> {
        Ok(Flow::Ready)
    }
}

impl<B> Stage<B> for Discard {
    fn hand_on(&mut self, _: bool) -> Result<Flow> {
        Ok(Flow::Ready)
    }

    fn visit(&mut self, _: &mut dyn Visitor) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! A task that is fed by channels.
//!
//! Its life: *running*, until the gate has delivered the end of all inputs and the chain has digested it; *drained*,
//! in which it answers triggers and learns of commits; then it goes, when told to. See [`TaskCore`] for what both kinds of
//! tasks share.

use crate::chain::{LinkPort, Stage, Visitor};
use crate::gate::Gate;
use crate::mail::{Mail, Mailbox, StateStore, SubtaskRef, Supervisor, TaskEvent};
use crate::schedule::{Obituary, Step, Task};
use crate::snapshot::{Capture, Captured};
use flugs_batch::{Barrier, Batch, Control, Flow, StreamElement};
use flugs_types::{Background, CheckpointId, Result, Timestamp};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;

/// How many elements a step takes before it lets other tasks run.
const STEP_ELEMENTS: usize = 16;

/// What a task is started with.
#[derive(Clone)]
pub struct TaskContext {
    /// Which task this is.
    pub this: SubtaskRef,
    /// Where its mail comes.
    pub mailbox: Mailbox,
    /// Who is told.
    pub supervisor: Arc<dyn Supervisor>,
    /// Threads that may block.
    pub background: Arc<dyn Background>,
    /// Where large state goes at a checkpoint.
    pub state_store: Arc<dyn StateStore>,
}

impl TaskContext {
    pub(crate) fn name(&self) -> String {
        format!("flugs-task-{}-{}", self.this.task, self.this.index)
    }

    pub(crate) fn obituary(&self) -> Obituary {
        let (supervisor, this) = (self.supervisor.clone(), self.this);
        Box::new(move |event| supervisor.report(this, event))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    New,
    Running,
    Drained,
}

/// What a task does with mail that concerns its chain alone.
pub(crate) enum CoreMail {
    /// The chain was told that a checkpoint is complete.
    Committed,
    /// A checkpoint begins.
    Trigger(Barrier),
    /// An alignment is to be given up.
    Aborted(CheckpointId),
    /// The task goes.
    Go,
    /// Not the core's affair.
    Other(Mail),
}

/// What every task has: a chain, its snapshot in progress, its life.
pub(crate) struct TaskCore<H, C = Box<dyn Stage<H>>> {
    pub(crate) context: TaskContext,
    pub(crate) chain: C,
    /// What the chain said last.
    pub(crate) flow: Flow,
    life: Life,
    capture: Option<Capture>,
    /// Control items that came while the chain was not ready.
    waiting: VecDeque<Control>,
    /// A barrier on its way through the chain: the capture begins when the chain is ready again.
    passing: Option<Barrier>,
    /// The newest checkpoint that was given up.
    aborted: CheckpointId,
    ending: bool,
    polls: bool,
    head: PhantomData<fn(H)>,
}

impl<H: Batch, C: Stage<H>> TaskCore<H, C> {
    pub(crate) fn new(context: TaskContext, mut chain: C) -> Result<Self> {
        let mut wants = Wants { polls: false };
        chain.visit(&mut wants)?;
        Ok(TaskCore {
            context,
            chain,
            flow: Flow::Ready,
            life: Life::New,
            capture: None,
            waiting: VecDeque::new(),
            passing: None,
            aborted: CheckpointId(0),
            ending: false,
            polls: wants.polls,
            head: PhantomData,
        })
    }

    pub(crate) fn start(&mut self) {
        if self.life == Life::New {
            self.life = Life::Running;
            self.report(TaskEvent::Running);
        }
    }

    pub(crate) fn report(&self, event: TaskEvent) {
        self.context.supervisor.report(self.context.this, event);
    }

    pub(crate) fn is_drained(&self) -> bool {
        self.life == Life::Drained
    }

    pub(crate) fn take_mail(&mut self) -> Result<Option<CoreMail>> {
        let Some(mail) = self.context.mailbox.take() else { return Ok(None) };
        Ok(Some(match mail {
            Mail::Committed(checkpoint) => {
                self.chain.visit(&mut Committed(checkpoint))?;
                CoreMail::Committed
            }
            Mail::Aborted(checkpoint) => {
                self.aborted = self.aborted.max(checkpoint);
                if self.capture.as_ref().is_some_and(|c| c.checkpoint() <= checkpoint) {
                    self.cancel_capture()?;
                }
                CoreMail::Aborted(checkpoint)
            }
            Mail::Trigger(barrier) => CoreMail::Trigger(barrier),
            Mail::Finish | Mail::Cancel => CoreMail::Go,
            other => CoreMail::Other(other),
        }))
    }

    /// Lets the chain go on, and gives it the control items that waited. `Ready` once there are none left.
    pub(crate) fn settle(&mut self) -> Result<Flow> {
        loop {
            if self.flow != Flow::Ready {
                self.flow = self.chain.resume()?;
            }
            if self.flow == Flow::Ready {
                self.passed()?;
            }
            if self.flow != Flow::Ready {
                return Ok(self.flow);
            }
            match self.waiting.pop_front() {
                Some(control) => self.send(control)?,
                None => return Ok(Flow::Ready),
            }
        }
    }

    /// The chain is ready, so what was given to it has passed: begins the capture of a barrier, or becomes drained.
    fn passed(&mut self) -> Result<()> {
        if let Some(barrier) = self.passing.take() {
            let capture = Capture::begin(&mut self.chain, barrier.checkpoint, &self.context)?;
            self.capture = Some(capture);
            if barrier.checkpoint <= self.aborted {
                self.cancel_capture()?;
            }
        }
        if std::mem::take(&mut self.ending) {
            self.life = Life::Drained;
            self.flow = self.chain.hand_on(true)?;
            self.report(TaskEvent::Drained);
        }
        Ok(())
    }

    fn send(&mut self, control: Control) -> Result<()> {
        match control {
            Control::Barrier(barrier) => {
                // One checkpoint at a time: a newer one means that the older was given up.
                self.cancel_capture()?;
                self.passing = Some(barrier);
            }
            Control::End => self.ending = true,
            _ => {}
        }
        self.flow = self.chain.control(control)?;
        Ok(())
    }

    fn cancel_capture(&mut self) -> Result<()> {
        match self.capture.take() {
            Some(capture) => capture.cancel(&mut self.chain),
            None => Ok(()),
        }
    }

    pub(crate) fn push(&mut self, batch: H) -> Result<()> {
        self.flow = self.flow.and(self.chain.push(batch)?);
        Ok(())
    }

    /// Gives the chain a control item, now or as soon as it is ready.
    pub(crate) fn control(&mut self, control: Control) -> Result<()> {
        self.waiting.push_back(control);
        self.settle().map(|_| ())
    }

    /// Whether a snapshot is on its way; another barrier must wait.
    pub(crate) fn snapshotting(&self) -> bool {
        self.capture.is_some() || self.passing.is_some() || !self.waiting.is_empty()
    }

    /// Captures a slice of a snapshot. Says whether there is more to capture at once.
    pub(crate) fn capture(&mut self) -> Result<bool> {
        let Some(capture) = &mut self.capture else { return Ok(false) };
        let captured = capture.step(&mut self.chain)?;
        if captured == Captured::All {
            self.capture = None;
        }
        Ok(captured == Captured::Some)
    }

    /// Polls and ticks the operators that asked for it, if the chain is ready. Returns when the next tick is due; of a chain
    /// that is not ready, when an operator that waits is to be resumed.
    /// After the end nothing may follow, so timers that are left do not fire.
    pub(crate) fn tick(&mut self, now: Timestamp) -> Result<Option<Timestamp>> {
        if self.life != Life::Running {
            return Ok(None);
        }
        let mut ticks = Ticks { now, polls: self.polls, flow: self.flow, next: None };
        self.chain.visit(&mut ticks)?;
        self.flow = self.flow.and(ticks.flow);
        Ok(ticks.next)
    }
}

struct Wants {
    polls: bool,
}

impl Visitor for Wants {
    fn link(&mut self, link: &mut dyn LinkPort) -> Result<()> {
        self.polls |= link.polls();
        Ok(())
    }
}

struct Committed(CheckpointId);

impl Visitor for Committed {
    fn link(&mut self, link: &mut dyn LinkPort) -> Result<()> {
        link.committed(self.0)
    }
}

struct Ticks {
    now: Timestamp,
    polls: bool,
    flow: Flow,
    next: Option<Timestamp>,
}

impl Visitor for Ticks {
    fn link(&mut self, link: &mut dyn LinkPort) -> Result<()> {
        if self.polls && self.flow == Flow::Ready && link.polls() {
            self.flow = self.flow.and(link.poll()?);
        }
        if self.flow == Flow::Ready && link.next_tick().is_some_and(|t| t <= self.now) {
            self.flow = self.flow.and(link.tick(self.now)?);
        }
        let next = if self.flow == Flow::Ready { link.next_tick() } else { link.resume_at() };
        self.next = [self.next, next].into_iter().flatten().min();
        Ok(())
    }
}

/// See the module.
pub struct SubtaskTask<H> {
    core: TaskCore<H>,
    gate: Gate<H>,
    /// A trigger for which the barriers have not come, or have not all come.
    awaited: Option<Barrier>,
    /// The newest barrier that has come. Its trigger may come later than it.
    seen: CheckpointId,
}

impl<H: Batch> SubtaskTask<H> {
    /// A task that reads `gate` into `chain`.
    pub fn new(context: TaskContext, gate: Gate<H>, chain: Box<dyn Stage<H>>) -> Result<Self> {
        Ok(SubtaskTask { core: TaskCore::new(context, chain)?, gate, awaited: None, seen: CheckpointId(0) })
    }

    fn mail(&mut self) -> Result<Option<Step>> {
        while let Some(mail) = self.core.take_mail()? {
            match mail {
                CoreMail::Trigger(barrier) if barrier.checkpoint > self.seen => self.awaited = Some(barrier),
                CoreMail::Trigger(_) => {}
                CoreMail::Aborted(checkpoint) => {
                    self.gate.abort(checkpoint);
                    self.awaited = self.awaited.filter(|b| b.checkpoint > checkpoint);
                }
                CoreMail::Go => return Ok(Some(Step::Done)),
                CoreMail::Committed | CoreMail::Other(_) => {}
            }
        }
        Ok(None)
    }

    /// Takes elements while the chain is ready. Says whether it stopped for want of input.
    fn take_input(&mut self) -> Result<bool> {
        for _ in 0..STEP_ELEMENTS {
            if self.core.settle()? != Flow::Ready || self.core.is_drained() {
                return Ok(false);
            }
            match self.gate.take() {
                None => return Ok(true),
                Some(StreamElement::Batch(batch)) => self.core.push(batch)?,
                Some(StreamElement::Control(control)) => {
                    if let Control::Barrier(barrier) = control {
                        self.seen = barrier.checkpoint;
                        self.awaited = self.awaited.filter(|b| b.checkpoint > barrier.checkpoint);
                    }
                    self.core.control(control)?;
                }
            }
        }
        Ok(false)
    }

    fn run(&mut self, now: Timestamp) -> Result<Step> {
        self.core.start();
        if let Some(step) = self.mail()? {
            return Ok(step);
        }
        let starved = self.take_input()?;
        if self.core.is_drained() && self.core.flow == Flow::Ready && !self.core.snapshotting() {
            // All input has ended without this barrier: what is here is the state at its cut.
            if let Some(barrier) = self.awaited.take() {
                self.seen = barrier.checkpoint;
                self.core.control(Control::Barrier(barrier))?;
            }
        }
        let _ = self.core.settle()?;
        let next = self.core.tick(now)?;
        let capturing = self.core.capture()?;
        // A task that waits for one receiver must not keep back what it has for the others.
        let idle = starved || self.core.flow == Flow::Full;
        self.core.flow = self.core.flow.and(self.core.chain.hand_on(idle)?);
        Ok(match self.core.flow {
            _ if capturing => Step::Again,
            Flow::Full => next.map_or(Step::Wait, Step::WaitUntil),
            Flow::Yield => Step::Again,
            // It came to rest only now.
            Flow::Ready if self.core.is_drained() && self.awaited.is_some() && !self.core.snapshotting() => {
                Step::Again
            }
            // What comes after the gate was found empty wakes the task.
            Flow::Ready if starved || self.core.is_drained() => next.map_or(Step::Wait, Step::WaitUntil),
            Flow::Ready => Step::Again,
        })
    }
}

impl<H: Batch> Task for SubtaskTask<H> {
    fn step(&mut self, now: Timestamp) -> Result<Step> {
        self.run(now)
    }

    fn name(&self) -> String {
        self.core.context.name()
    }

    fn obituary(&self) -> Obituary {
        self.core.context.obituary()
    }
}

impl<H> Drop for SubtaskTask<H> {
    fn drop(&mut self) {
        self.gate.close_all();
    }
}

#[cfg(test)]
mod tests;

//! Drives one operator as a task does, under virtual time.

use super::table::rows_text;
use flugs_batch::{Barrier, BarrierKind, Batch, ChangeBatch, Control, Flow, Push, Records};
use flugs_state::{Fuel, OpenState, RunReader, RunWriter};
use flugs_task::{
    Link, LinkPort, Metrics, OpenContext, Operator, OperatorIdent, Output, Side, SidePort, Stage, Visitor,
};
use flugs_types::{
    Attempt, Background, CheckpointId, Clock, Error, Generation, ManualClock, OperatorUid, Result, SubtaskId,
    Timestamp,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// How often an operator is resumed or ticked before it is called stuck.
const STEPS_MAX: usize = 1_000_000;
/// A slice of a snapshot, small so that tests see several.
const SLICE_BYTES: usize = 1024;

/// What an operator is opened with.
#[derive(Clone)]
pub struct DriverOptions {
    /// Whether its output asks it to stop after every other batch.
    pub refusing: bool,
    /// Which parallel instance it is.
    pub subtask: SubtaskId,
    /// The processing time.
    pub now: Timestamp,
    /// The snapshots that it is restored from.
    pub snapshots: Vec<Snapshot>,
}

impl Default for DriverOptions {
    fn default() -> Self {
        DriverOptions {
            refusing: false,
            subtask: SubtaskId::new(0, 1),
            now: Timestamp::EPOCH,
            snapshots: Vec::new(),
        }
    }
}

/// The state of an operator.
#[derive(Clone)]
pub struct Snapshot(Arc<RunReader>);

impl Snapshot {
    /// How many entries all of its tables have.
    pub fn entries(&self) -> u64 {
        self.0.sections().iter().map(|section| section.entries()).sum()
    }
}

/// An opened operator whose outputs are recorded: what it hands on, and records of batches in its first side output.
pub struct Driver<O: Operator> {
    link: Link<O>,
    ident: Arc<OperatorIdent>,
    clock: ManualClock,
    metrics: Arc<Metrics>,
    recorded: Recorded<O::Out>,
    side: Recorded<Records<ChangeBatch>>,
    flow: Flow,
    checkpoint: CheckpointId,
}

impl<O: Operator> Driver<O> {
    /// A new operator as the only subtask, at processing time 0.
    pub fn new(operator: O) -> Result<Self> {
        Driver::open(operator, DriverOptions::default())
    }

    /// Likewise, perhaps with an output that refuses every other offer, perhaps restored.
    pub fn with(operator: O, refusing: bool, snapshot: Option<Snapshot>) -> Result<Self> {
        let snapshots = snapshot.into_iter().collect();
        Driver::open(operator, DriverOptions { refusing, snapshots, ..DriverOptions::default() })
    }

    /// Opens the operator.
    pub fn open(mut operator: O, options: DriverOptions) -> Result<Self> {
        let ident = Arc::new(OperatorIdent {
            uid: OperatorUid::new("operator"),
            name: "operator".to_owned(),
            subtask: options.subtask,
        });
        let runs = options.snapshots.into_iter().map(|snapshot| snapshot.0).collect();
        let mut state = OpenState::new(options.subtask, runs);
        let clock = ManualClock::new(options.now);
        let shared_clock: Arc<dyn Clock> = Arc::new(clock.clone());
        let background: Arc<dyn Background> = Arc::new(AtOnce);
        let metrics = Arc::new(Metrics::default());
        operator.open(&mut OpenContext {
            job: "job",
            ident: &ident,
            state: &mut state,
            clock: &shared_clock,
            background: &background,
            waker: &Waker::from(Arc::new(Unheard)),
            generation: Generation(1),
            attempt: Attempt(1),
            metrics: &metrics,
        })?;
        check_state(&state, &mut operator)?;
        let recorded = Recorded::new(options.refusing);
        let side = Recorded::new(false);
        let port: Box<dyn SidePort> = Box::new(Side(Box::new(side.clone())));
        let output = Output::new(Box::new(recorded.clone()), vec![Some(port)]);
        let link = Link::new(operator, output, ident.clone());
        let (flow, checkpoint) = (Flow::Ready, CheckpointId(0));
        Ok(Driver { link, ident, clock, metrics, recorded, side, flow, checkpoint })
    }

    /// Hands it a batch.
    pub fn push(&mut self, batch: O::In) -> Result<()> {
        self.flow = self.link.push(batch)?;
        self.settle()
    }

    /// Advances event time to so many milliseconds.
    pub fn watermark(&mut self, millis: i64) -> Result<()> {
        self.control(Control::Watermark(Timestamp::from_millis(millis)))
    }

    /// Ends the input, after its last watermark.
    pub fn end(&mut self) -> Result<()> {
        self.control(Control::Watermark(Timestamp::MAX))?;
        self.control(Control::End)
    }

    fn control(&mut self, control: Control) -> Result<()> {
        self.flow = self.link.control(control)?;
        self.settle()
    }

    /// Moves processing time to so many milliseconds, never back, and fires what is due.
    pub fn set_time(&mut self, millis: i64) -> Result<()> {
        self.clock.advance_to(Timestamp::from_millis(millis));
        self.settle()
    }

    /// When it wants to be ticked.
    pub fn next_tick(&self) -> Option<Timestamp> {
        self.link.next_tick()
    }

    /// The processing time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Resumes, polls and ticks until there is nothing left to do.
    fn settle(&mut self) -> Result<()> {
        for _ in 0..STEPS_MAX {
            if self.flow != Flow::Ready {
                if self.link.resume_at().is_some_and(|at| at > self.clock.now()) {
                    return Ok(());
                }
                self.flow = self.link.resume()?;
                continue;
            }
            if self.link.polls() {
                self.flow = self.link.poll()?;
            }
            if self.flow == Flow::Ready {
                if self.link.next_tick().is_none_or(|at| at > self.clock.now()) {
                    return Ok(());
                }
                self.flow = self.link.tick(self.clock.now())?;
            }
        }
        Err(Error::bug("the operator is never done"))
    }

    /// A checkpoint: the barrier passes, and the tables are captured in slices.
    pub fn snapshot(&mut self) -> Result<Snapshot> {
        self.checkpoint = self.checkpoint.next();
        let kind = BarrierKind::Checkpoint;
        self.control(Control::Barrier(Barrier { checkpoint: self.checkpoint, kind }))?;
        let mut writer = RunWriter::new(self.ident.uid.as_str(), self.ident.subtask);
        let sections: Vec<_> =
            self.link.tables().iter().map(|t| writer.section(t.name(), &t.schema())).collect();
        loop {
            let (mut complete, mut fuel) = (true, Fuel(SLICE_BYTES));
            for (table, section) in self.link.tables().into_iter().zip(&sections) {
                let mut pieces = Vec::new();
                complete &= table.capture(&mut fuel, &mut pieces);
                pieces.iter().for_each(|piece| writer.piece(*section, piece.as_ref()));
            }
            if complete {
                return Ok(Snapshot(Arc::new(RunReader::open(writer.finish(), "snapshot")?)));
            }
        }
    }

    /// The bytes that its tables take.
    pub fn state_bytes(&mut self) -> usize {
        self.link.tables().iter().map(|table| table.bytes()).sum()
    }

    /// One of its counters.
    pub fn counter(&self, name: &str) -> i64 {
        self.metrics.counter(&self.ident, name).get()
    }

    /// Takes the batches that it has handed on.
    pub fn take(&mut self) -> Vec<O::Out> {
        std::mem::take(&mut self.recorded.lock().batches)
    }

    /// The watermarks that it has handed on, all of them.
    pub fn watermarks(&self) -> Vec<Timestamp> {
        self.recorded.lock().watermarks.clone()
    }

    /// Takes the rows of its first side output.
    pub fn take_side_text(&mut self) -> String {
        let records = std::mem::take(&mut self.side.lock().batches);
        let batches = records.into_iter().flat_map(|records| records.values);
        batches.flat_map(|batch| rows_text(&batch)).collect::<Vec<_>>().join("\n")
    }
}

impl<O: Operator<Out = ChangeBatch>> Driver<O> {
    /// Takes the rows that it has handed on, as text.
    pub fn take_text(&mut self) -> String {
        self.take().iter().flat_map(rows_text).collect::<Vec<_>>().join("\n")
    }
}

/// As the task does: what was opened is shown, what is stored was opened.
fn check_state<O: Operator>(state: &OpenState, operator: &mut O) -> Result<()> {
    let shown: Vec<String> = operator.tables().iter().map(|t| t.name().to_owned()).collect();
    if let Some((name, _)) = state.opened().iter().find(|(name, _)| !shown.contains(name)) {
        return Err(Error::bug(format!("state '{name}' was opened but is not among the operator's tables")));
    }
    match state.unclaimed().first() {
        Some(name) => Err(Error::state(format!("the snapshot holds state '{name}', which was not opened"))),
        None => Ok(()),
    }
}

struct Record<B> {
    batches: Vec<B>,
    watermarks: Vec<Timestamp>,
    refusing: bool,
    pushes: usize,
    full: bool,
}

/// The end of the chain. Clones share it.
struct Recorded<B>(Arc<Mutex<Record<B>>>);

impl<B> Clone for Recorded<B> {
    fn clone(&self) -> Self {
        Recorded(self.0.clone())
    }
}

impl<B> Recorded<B> {
    fn new(refusing: bool) -> Self {
        let record = Record { batches: Vec::new(), watermarks: Vec::new(), refusing, pushes: 0, full: false };
        Recorded(Arc::new(Mutex::new(record)))
    }

    fn lock(&self) -> MutexGuard<'_, Record<B>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B> Record<B> {
    fn flow(&self) -> Flow {
        if self.full { Flow::Full } else { Flow::Ready }
    }
}

impl<B: Batch> Push<B> for Recorded<B> {
    fn push(&mut self, batch: B) -> Result<Flow> {
        let mut record = self.lock();
        record.batches.push(batch);
        record.full |= record.refusing && record.pushes.is_multiple_of(2);
        record.pushes += 1;
        Ok(record.flow())
    }

    fn control(&mut self, control: Control) -> Result<Flow> {
        let mut record = self.lock();
        if let Control::Watermark(watermark) = control {
            record.watermarks.push(watermark);
        }
        Ok(record.flow())
    }

    fn resume(&mut self) -> Result<Flow> {
        self.lock().full = false;
        Ok(Flow::Ready)
    }
}

impl<B: Batch> Stage<B> for Recorded<B> {
    fn hand_on(&mut self, _: bool) -> Result<Flow> {
        Ok(Flow::Ready)
    }

    fn visit(&mut self, _: &mut dyn Visitor) -> Result<()> {
        Ok(())
    }
}

struct AtOnce;

impl Background for AtOnce {
    fn run(&self, work: Box<dyn FnOnce() + Send + 'static>) {
        work();
    }
}

struct Unheard;

impl Wake for Unheard {
    fn wake(self: Arc<Self>) {}
}

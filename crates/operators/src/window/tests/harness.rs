//! Runs an operator through a script under several modes, and keeps what it gives.

use flugs_batch::{Barrier, BarrierKind, Control, Flow, Push, Records};
use flugs_state::{Fuel, OpenState, RunReader, RunWriter};
use flugs_task::{
    Link, LinkPort, Metrics, OpenContext, Operator, OperatorIdent, Output, Side, SidePort, Stage, Visitor,
};
use flugs_types::{
    Attempt, Background, CheckpointId, Clock, Generation, KeyGroup, ManualClock, OperatorUid, Result,
    SubtaskId, Timestamp,
};
use std::sync::{Arc, Mutex};
use std::task::Waker;

/// One step of a script.
#[derive(Debug, Clone)]
pub(crate) enum Step<R> {
    /// Rows with their times.
    Rows(Vec<(R, i64)>),
    /// The watermark, where it is not behind the last one.
    Watermark(i64),
    /// The machine's clock.
    Clock(i64),
    /// The end of all input, without a watermark before it.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Batches as the script has them.
    Batches,
    /// Each row in a batch of its own.
    OneByOne,
    /// A snapshot before each step that is captured after the step; the step is then done again by the restored operator.
    Restoring,
    /// Likewise, from one subtask to three and back.
    Rescaling,
    /// The output asks to stop after every other push.
    Refusing,
}

pub(crate) const MODES: [Mode; 5] =
    [Mode::Batches, Mode::OneByOne, Mode::Restoring, Mode::Rescaling, Mode::Refusing];

/// How rows of a script become batches, and which key group they belong to.
pub(crate) struct Input<R, B> {
    pub(crate) batches: fn(Vec<(R, Timestamp)>) -> Vec<B>,
    pub(crate) hash: fn(&R) -> u64,
}

/// Late rows as they came out: port, row, time.
pub(crate) type LateRows<R> = Arc<Mutex<Vec<(usize, R, i64)>>>;

/// Makes a side output.
pub(crate) type Port<R> = fn(LateRows<R>) -> Box<dyn SidePort>;

/// What came out.
#[derive(Debug, Clone)]
pub(crate) struct Given<T, R> {
    /// Results with their times, in order.
    pub(crate) rows: Vec<(T, i64)>,
    /// Late rows by port.
    pub(crate) late: Vec<(usize, R, i64)>,
    /// Results whose time was not after the watermark that was handed on last.
    pub(crate) behind: usize,
    /// The largest batch.
    pub(crate) largest: usize,
    /// What the counter of late rows says.
    pub(crate) dropped: i64,
    /// Entries of keyed state at the end.
    pub(crate) left: u64,
}

struct Sink<T> {
    rows: Vec<(T, i64)>,
    behind: usize,
    largest: usize,
    watermark: i64,
    refuses: bool,
    pushes: usize,
    forgets: bool,
}

struct Collecting<T>(Arc<Mutex<Sink<T>>>);

impl<T: Send> Push<Records<T>> for Collecting<T> {
    fn push(&mut self, batch: Records<T>) -> Result<Flow> {
        let mut sink = self.0.lock().unwrap();
        sink.largest = sink.largest.max(batch.len());
        if sink.forgets {
            return Ok(Flow::Ready);
        }
        for (row, time) in batch {
            sink.behind += usize::from(time.0 <= sink.watermark);
            sink.rows.push((row, time.0));
        }
        sink.pushes += 1;
        Ok(if sink.refuses && sink.pushes.is_multiple_of(2) { Flow::Yield } else { Flow::Ready })
    }

    fn control(&mut self, control: Control) -> Result<Flow> {
        if let Control::Watermark(t) = control {
            self.0.lock().unwrap().watermark = t.0;
        }
        Ok(Flow::Ready)
    }

    fn resume(&mut self) -> Result<Flow> {
        Ok(Flow::Ready)
    }
}

impl<T: Send> Stage<Records<T>> for Collecting<T> {
    fn hand_on(&mut self, _: bool) -> Result<Flow> {
        Ok(Flow::Ready)
    }

    fn visit(&mut self, _: &mut dyn Visitor) -> Result<()> {
        Ok(())
    }
}

/// The end of a side output of rows `S`.
struct Late<S, R> {
    rows: LateRows<R>,
    port: usize,
    row: fn(S) -> R,
}

impl<S, R: Send> Push<Records<S>> for Late<S, R> {
    fn push(&mut self, batch: Records<S>) -> Result<Flow> {
        let rows = batch.into_iter().map(|(row, time)| (self.port, (self.row)(row), time.0));
        self.rows.lock().unwrap().extend(rows);
        Ok(Flow::Ready)
    }

    fn control(&mut self, _: Control) -> Result<Flow> {
        Ok(Flow::Ready)
    }

    fn resume(&mut self) -> Result<Flow> {
        Ok(Flow::Ready)
    }
}

impl<S, R: Send> Stage<Records<S>> for Late<S, R> {
    fn hand_on(&mut self, _: bool) -> Result<Flow> {
        Ok(Flow::Ready)
    }

    fn visit(&mut self, _: &mut dyn Visitor) -> Result<()> {
        Ok(())
    }
}

/// A side output whose rows `S` are kept as rows `R`.
pub(crate) fn side<S: Send + 'static, R: Send + 'static>(
    rows: LateRows<R>,
    port: usize,
    row: fn(S) -> R,
) -> Box<dyn SidePort> {
    Box::new(Side(Box::new(Late { rows, port, row })))
}

struct NoThreads;

impl Background for NoThreads {
    fn run(&self, work: Box<dyn FnOnce() + Send>) {
        work();
    }
}

/// An operator under test: how it is made and fed.
pub(crate) struct Subject<'a, R, O: Operator> {
    pub(crate) make: &'a dyn Fn() -> O,
    pub(crate) input: Input<R, O::In>,
    pub(crate) ports: &'a [Port<R>],
}

/// One opened subtask.
struct Subtask<O: Operator> {
    link: Link<O>,
}

struct Run<'a, R, O: Operator, T> {
    subject: &'a Subject<'a, R, O>,
    mode: Mode,
    sink: Arc<Mutex<Sink<T>>>,
    late: LateRows<R>,
    clock: ManualClock,
    metrics: Arc<Metrics>,
    subtasks: Vec<Subtask<O>>,
}

impl<R, O, T> Subject<'_, R, O>
where
    R: Clone + Send + 'static,
    T: Clone + Send + 'static,
    O: Operator<Out = Records<T>>,
{
    /// One opened operator whose results are counted and thrown away.
    pub(crate) fn link(&self) -> Result<Link<O>> {
        let mut run = self.begin(Mode::Batches);
        run.sink.lock().unwrap().forgets = true;
        run.open(1, &[])?;
        Ok(run.subtasks.remove(0).link)
    }

    /// The snapshot after a script.
    pub(crate) fn snapshot(&self, script: &[Step<R>]) -> Result<Vec<Arc<RunReader>>> {
        let mut run = self.begin(Mode::Batches);
        run.open(1, &[])?;
        script.iter().try_for_each(|step| run.step(step))?;
        run.freeze_and_capture()
    }

    /// Opens the operator from a snapshot.
    pub(crate) fn restore(&self, snapshot: &[Arc<RunReader>]) -> Result<()> {
        self.begin(Mode::Batches).open(1, snapshot)
    }

    fn begin(&self, mode: Mode) -> Run<'_, R, O, T> {
        let sink = Sink {
            rows: Vec::new(),
            behind: 0,
            largest: 0,
            watermark: i64::MIN,
            refuses: mode == Mode::Refusing,
            pushes: 0,
            forgets: false,
        };
        Run {
            subject: self,
            mode,
            sink: Arc::new(Mutex::new(sink)),
            late: LateRows::default(),
            clock: ManualClock::new(Timestamp(0)),
            metrics: Arc::new(Metrics::default()),
            subtasks: Vec::new(),
        }
    }

    /// Runs the script; an error ends it.
    pub(crate) fn run(&self, script: &[Step<R>], mode: Mode) -> Result<Given<T, R>> {
        let mut run = self.begin(mode);
        run.open(1, &[])?;
        let mut watermark = i64::MIN;
        for (i, step) in script.iter().enumerate() {
            if let Step::Watermark(t) = step {
                if *t <= watermark {
                    continue;
                }
                watermark = *t;
            }
            if matches!(mode, Mode::Restoring | Mode::Rescaling) {
                run.restart(i, step)?;
            }
            run.step(step)?;
        }
        let left = run.freeze_and_capture()?.iter().map(|run| keyed_entries(run)).sum();
        let sink = run.sink.lock().unwrap();
        let late = run.late.lock().unwrap().clone();
        Ok(Given {
            rows: sink.rows.clone(),
            late,
            // Several subtasks hand on watermarks one after the other.
            behind: if mode == Mode::Rescaling { 0 } else { sink.behind },
            largest: sink.largest,
            dropped: run.metrics.sum(None, "numLateRecordsDropped"),
            left,
        })
    }
}

fn keyed_entries(run: &RunReader) -> u64 {
    run.sections().iter().filter(|s| s.schema().kind.is_keyed()).map(|s| s.entries()).sum()
}

impl<R, O, T> Run<'_, R, O, T>
where
    R: Clone + Send + 'static,
    T: Clone + Send + 'static,
    O: Operator<Out = Records<T>>,
{
    fn open(&mut self, parallelism: u32, restored: &[Arc<RunReader>]) -> Result<()> {
        self.subtasks.clear();
        for index in 0..parallelism {
            let subtask = SubtaskId::new(index, parallelism);
            let ident = Arc::new(OperatorIdent { uid: OperatorUid::new("w"), name: "w".to_owned(), subtask });
            let mut state = OpenState::new(subtask, restored.to_vec());
            let clock: Arc<dyn Clock> = Arc::new(self.clock.clone());
            let background: Arc<dyn Background> = Arc::new(NoThreads);
            let mut operator = (self.subject.make)();
            operator.open(&mut OpenContext {
                job: "job",
                ident: &ident,
                state: &mut state,
                clock: &clock,
                background: &background,
                waker: Waker::noop(),
                generation: Generation(1),
                attempt: Attempt(1),
                metrics: &self.metrics,
            })?;
            assert_eq!(state.opened().len(), operator.tables().len(), "every state is shown to snapshots");
            let sides = self.subject.ports.iter().map(|port| Some(port(self.late.clone()))).collect();
            let out = Output::new(Box::new(Collecting(self.sink.clone())), sides);
            self.subtasks.push(Subtask { link: Link::new(operator, out, ident) });
        }
        Ok(())
    }

    fn step(&mut self, step: &Step<R>) -> Result<()> {
        match step {
            Step::Rows(rows) => {
                let parallelism = self.subtasks.len() as u32;
                for subtask in 0..parallelism {
                    let owner =
                        |row: &R| KeyGroup::of_hash((self.subject.input.hash)(row)).owner(parallelism);
                    let own: Vec<_> = rows
                        .iter()
                        .filter(|(row, _)| owner(row) == subtask)
                        .map(|(row, t)| (row.clone(), Timestamp(*t)))
                        .collect();
                    let pieces: Vec<Vec<_>> = match self.mode {
                        Mode::OneByOne => own.into_iter().map(|row| vec![row]).collect(),
                        _ => vec![own],
                    };
                    for batch in pieces.into_iter().flat_map(self.subject.input.batches) {
                        self.subtasks[subtask as usize].drive(|link| link.push(batch))?;
                    }
                }
            }
            Step::Watermark(t) => self.control(Control::Watermark(Timestamp(*t)))?,
            Step::Clock(t) => {
                self.clock.advance_to(Timestamp(*t));
                for subtask in &mut self.subtasks {
                    while subtask.link.next_tick().is_some_and(|due| due.0 <= *t) {
                        subtask.drive(|link| link.tick(Timestamp(*t)))?;
                    }
                }
            }
            Step::End => self.control(Control::End)?,
        }
        Ok(())
    }

    fn control(&mut self, control: Control) -> Result<()> {
        self.subtasks.iter_mut().try_for_each(|subtask| subtask.drive(|link| link.control(control)))
    }

    fn barrier(&mut self) -> Result<()> {
        let barrier = Barrier { checkpoint: CheckpointId(1), kind: BarrierKind::Checkpoint };
        self.control(Control::Barrier(barrier))
    }

    fn capture(&mut self) -> Vec<Arc<RunReader>> {
        self.subtasks.iter_mut().map(Subtask::capture).collect()
    }

    fn freeze_and_capture(&mut self) -> Result<Vec<Arc<RunReader>>> {
        self.barrier()?;
        Ok(self.capture())
    }

    /// Takes a snapshot, goes on for a step whose results are lost, and begins anew from the snapshot.
    fn restart(&mut self, i: usize, step: &Step<R>) -> Result<()> {
        self.barrier()?;
        let (rows, behind, watermark) = {
            let sink = self.sink.lock().unwrap();
            (sink.rows.len(), sink.behind, sink.watermark)
        };
        let late = self.late.lock().unwrap().len();
        let clock = self.clock.now();
        let dropped = self.metrics.sum(None, "numLateRecordsDropped");
        self.step(step)?;
        let snapshot = self.capture();
        {
            let mut sink = self.sink.lock().unwrap();
            sink.rows.truncate(rows);
            (sink.behind, sink.watermark) = (behind, watermark);
        }
        self.late.lock().unwrap().truncate(late);
        self.clock = ManualClock::new(clock);
        self.metrics = Arc::new(Metrics::default());
        let parallelism = if self.mode == Mode::Rescaling && i.is_multiple_of(2) { 3 } else { 1 };
        self.open(parallelism, &snapshot)?;
        self.subtasks[0].count_late(&self.metrics, dropped);
        Ok(())
    }
}

impl<O: Operator> Subtask<O> {
    fn drive(&mut self, f: impl FnOnce(&mut Link<O>) -> Result<Flow>) -> Result<()> {
        let mut flow = f(&mut self.link)?;
        for _ in 0..1_000_000 {
            if flow == Flow::Ready {
                return Ok(());
            }
            flow = self.link.resume()?;
        }
        panic!("the operator does not end");
    }

    fn capture(&mut self) -> Arc<RunReader> {
        let ident = self.link.ident().clone();
        let mut writer = RunWriter::new(ident.uid.as_str(), ident.subtask);
        for table in self.link.tables() {
            let section = writer.section(table.name(), &table.schema());
            let mut pieces = Vec::new();
            while !table.capture(&mut Fuel(1 << 20), &mut pieces) {}
            pieces.iter().for_each(|piece| writer.piece(section, piece.as_ref()));
        }
        Arc::new(RunReader::open(writer.finish(), "test").unwrap())
    }

    /// The counters of a job count over restarts; those of the lost step are taken back.
    fn count_late(&self, metrics: &Metrics, dropped: i64) {
        metrics.counter(self.link.ident(), "numLateRecordsDropped").set(dropped);
    }
}

/// Rows of one input: key, value.
pub(crate) type Row = (u8, i64);

/// The input of operators over rows.
pub(crate) fn rows() -> Input<Row, Records<Row>> {
    Input { batches: |rows| vec![rows.into_iter().collect()], hash: |row| flugs_types::hash_key(&row.0) }
}

/// Side output 0 for late rows.
pub(crate) const LATE: [Port<Row>; 1] = [|rows| side::<Row, Row>(rows, 0, |row| row)];

/// Runs an operator over rows.
pub(crate) fn run<O, T>(make: &dyn Fn() -> O, script: &[Step<Row>], mode: Mode) -> Given<T, Row>
where
    T: Clone + Send + 'static,
    O: Operator<In = Records<Row>, Out = Records<T>>,
{
    Subject { make, input: rows(), ports: &LATE }.run(script, mode).unwrap()
}

/// Runs an operator over rows under all modes, which must agree in what they give; returns it.
pub(crate) fn run_all<O, T>(make: &dyn Fn() -> O, script: &[Step<Row>]) -> Given<T, Row>
where
    T: Clone + Ord + std::fmt::Debug + Send + 'static,
    O: Operator<In = Records<Row>, Out = Records<T>>,
{
    let plain = run(make, script, MODES[0]);
    for mode in MODES {
        let given = run(make, script, mode);
        assert_eq!(sorted(&given.rows), sorted(&plain.rows), "{mode:?}");
        assert_eq!(sorted(&given.late), sorted(&plain.late), "{mode:?}");
        assert_eq!((given.dropped, given.left), (plain.dropped, plain.left), "{mode:?}");
        assert_eq!(given.dropped, given.late.len() as i64, "{mode:?}");
    }
    plain
}

pub(crate) fn sorted<T: Clone + Ord>(rows: &[T]) -> Vec<T> {
    let mut rows = rows.to_vec();
    rows.sort();
    rows
}

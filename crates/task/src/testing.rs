//! Plays the scheduler, the coordinator and the far ends around a task, by hand and in one thread.

use crate::chain::{Stage, Visitor};
use crate::context::OperatorIdent;
use crate::mail::{Mailbox, StateData, StateStore, StateUpload, SubtaskRef, Supervisor, TaskEvent};
use crate::subtask::TaskContext;
use bytes::Bytes;
use flugs_batch::{Barrier, BarrierKind, Control, Flow, Push, Records, StreamElement};
use flugs_types::{Background, CheckpointId, OperatorUid, Result, SubtaskId, Timestamp};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

pub(crate) type Element<T> = StreamElement<Records<T>>;

pub(crate) fn rows<T>(values: impl IntoIterator<Item = T>) -> Element<T> {
    StreamElement::Batch(Records::untimed(values.into_iter().collect()))
}

pub(crate) fn control<T>(control: Control) -> Element<T> {
    StreamElement::Control(control)
}

pub(crate) fn watermark(t: i64) -> Control {
    Control::Watermark(Timestamp(t))
}

pub(crate) fn barrier(n: u64) -> Barrier {
    Barrier { checkpoint: CheckpointId(n), kind: BarrierKind::Checkpoint }
}

pub(crate) fn ident(name: &str) -> Arc<OperatorIdent> {
    Arc::new(OperatorIdent {
        uid: OperatorUid::new(name),
        name: name.to_owned(),
        subtask: SubtaskId::new(0, 1),
    })
}

/// Counts how often it was woken.
#[derive(Default)]
pub(crate) struct Wakes(AtomicUsize);

impl Wakes {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let wakes = Arc::new(Wakes::default());
        (wakes.clone(), Waker::from(wakes))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// The end of a chain that writes down what comes, and answers as it is told.
pub(crate) struct Recorder<T>(pub(crate) Arc<Mutex<Recorded<T>>>);

pub(crate) struct Recorded<T> {
    pub(crate) elements: Vec<Element<T>>,
    /// What it says until told otherwise.
    pub(crate) flow: Flow,
}

impl<T> Recorder<T> {
    pub(crate) fn new() -> (Self, Arc<Mutex<Recorded<T>>>) {
        let recorded = Arc::new(Mutex::new(Recorded { elements: Vec::new(), flow: Flow::Ready }));
        (Recorder(recorded.clone()), recorded)
    }

    fn record(&self, element: Element<T>) -> Result<Flow> {
        let mut recorded = self.0.lock().unwrap();
        recorded.elements.push(element);
        Ok(recorded.flow)
    }
}

impl<T: Send + 'static> Push<Records<T>> for Recorder<T> {
    fn push(&mut self, batch: Records<T>) -> Result<Flow> {
        self.record(StreamElement::Batch(batch))
    }

    fn control(&mut self, control: Control) -> Result<Flow> {
        self.record(StreamElement::Control(control))
    }

    fn resume(&mut self) -> Result<Flow> {
        Ok(self.0.lock().unwrap().flow)
    }
}

impl<T: Send + 'static> Stage<Records<T>> for Recorder<T> {
    fn hand_on(&mut self, _: bool) -> Result<Flow> {
        Ok(self.0.lock().unwrap().flow)
    }

    fn visit(&mut self, _: &mut dyn Visitor) -> Result<()> {
        Ok(())
    }
}

/// Takes what was recorded.
pub(crate) fn taken<T>(recorded: &Mutex<Recorded<T>>) -> Vec<Element<T>> {
    std::mem::take(&mut recorded.lock().unwrap().elements)
}

/// Writes down what a task reports.
#[derive(Default)]
pub(crate) struct Reported(Mutex<Vec<TaskEvent>>);

impl Reported {
    pub(crate) fn take(&self) -> Vec<TaskEvent> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// The events by name, acknowledgements with their number.
    pub(crate) fn names(&self) -> Vec<String> {
        let name = |event: &TaskEvent| match event {
            TaskEvent::Ack { checkpoint, .. } => format!("Ack {checkpoint}"),
            TaskEvent::Declined { checkpoint, .. } => format!("Declined {checkpoint}"),
            TaskEvent::Failed(error) => format!("Failed {error}"),
            other => format!("{other:?}"),
        };
        self.take().iter().map(name).collect()
    }
}

impl Supervisor for Reported {
    fn report(&self, _: SubtaskRef, event: TaskEvent) {
        self.0.lock().unwrap().push(event);
    }
}

type Work = Box<dyn FnOnce() + Send>;

/// Keeps background work until it is told to run it.
#[derive(Default)]
pub(crate) struct Held(Mutex<VecDeque<Work>>);

impl Held {
    /// Runs the oldest; `false` when there is none.
    pub(crate) fn run_one(&self) -> bool {
        let work = self.0.lock().unwrap().pop_front();
        work.map(|work| work()).is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl Background for Held {
    fn run(&self, work: Work) {
        self.0.lock().unwrap().push_back(work);
    }
}

/// What a task is made with, and the other ends of it.
pub(crate) struct Around {
    pub(crate) context: TaskContext,
    pub(crate) mailbox: Mailbox,
    pub(crate) wakes: Arc<Wakes>,
    pub(crate) reported: Arc<Reported>,
    pub(crate) background: Arc<Held>,
    pub(crate) stored: Arc<Files>,
}

/// Files of state, by operator: finished ones only.
#[derive(Default)]
pub(crate) struct Files(Arc<Mutex<BTreeMap<String, Vec<Bytes>>>>);

impl Files {
    /// The parts of a file.
    pub(crate) fn parts(&self, path: &str) -> Vec<Bytes> {
        self.0.lock().unwrap().get(path).cloned().unwrap_or_default()
    }
}

impl StateStore for Files {
    fn begin(&self, _: CheckpointId, uid: &OperatorUid, _: u32) -> Result<(String, Box<dyn StateUpload>)> {
        let file = File { path: uid.to_string(), parts: Vec::new(), files: self.0.clone() };
        Ok((file.path.clone(), Box::new(file)))
    }
}

struct File {
    path: String,
    parts: Vec<Bytes>,
    files: Arc<Mutex<BTreeMap<String, Vec<Bytes>>>>,
}

impl StateUpload for File {
    fn write(&mut self, part: Bytes) -> Result<()> {
        // A copy: the memory of a part is written to again.
        self.parts.push(Bytes::copy_from_slice(&part));
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.files.lock().unwrap().insert(self.path, self.parts);
        Ok(())
    }
}

/// State that an acknowledgement carries.
pub(crate) fn here(state: Option<StateData>) -> Bytes {
    match state {
        Some(StateData::Here(bytes)) => bytes,
        other => panic!("{other:?}"),
    }
}

impl Around {
    pub(crate) fn new() -> Self {
        let (wakes, waker) = Wakes::new();
        let mailbox = Mailbox::new(waker);
        let (reported, background) = (Arc::<Reported>::default(), Arc::<Held>::default());
        let stored = Arc::<Files>::default();
        let context = TaskContext {
            this: SubtaskRef { task: 0, index: 0 },
            mailbox: mailbox.clone(),
            supervisor: reported.clone(),
            background: background.clone(),
            state_store: stored.clone(),
        };
        Around { context, mailbox, wakes, reported, background, stored }
    }
}

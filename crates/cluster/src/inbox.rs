//! What the coordinator of a job is told, by its tasks, its clients and its own work in the background.

use crate::deploy::Deployment;
use crate::handle::Request;
use crate::prepare::Prepared;
use crate::snapshots::Stored;
use flugs_connector::Split;
use flugs_task::{SubtaskRef, Supervisor, TaskEvent};
use flugs_types::{Attempt, CheckpointId, Result};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

/// What the coordinator is told.
pub(crate) enum Message {
    Client(Request),
    Prepared(Result<Prepared>),
    Deployed(Attempt, Result<Deployment>),
    Task(Attempt, SubtaskRef, TaskEvent),
    Stored(Attempt, CheckpointId, SubtaskRef, Result<Stored>),
    Published(Attempt, CheckpointId, Result<()>),
    Discovered(Attempt, u32, Result<Vec<Split>>),
}

/// The coordinator's mail. Clones share it.
#[derive(Clone)]
pub(crate) struct Inbox(Arc<(Mutex<VecDeque<Message>>, Waker)>);

impl Inbox {
    /// An empty inbox whose coordinator is woken by `waker`.
    pub(crate) fn new(waker: Waker) -> Self {
        Inbox(Arc::new((Mutex::default(), waker)))
    }

    pub(crate) fn post(&self, message: Message) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(message);
        self.0.1.wake_by_ref();
    }

    pub(crate) fn take(&self) -> Option<Message> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// The tasks of one attempt report here.
pub(crate) struct Reports(pub(crate) Inbox, pub(crate) Attempt);

impl Supervisor for Reports {
    fn report(&self, from: SubtaskRef, event: TaskEvent) {
        self.0.post(Message::Task(self.1, from, event));
    }
}

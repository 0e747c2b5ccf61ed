//! The enumerators of an attempt: one for each source, on the coordinator's side.

use crate::job::JobSpec;
use bytes::Bytes;
use flugs_checkpoint::Manifest;
use flugs_connector::{EnumeratorAction, EnumeratorContext, EnumeratorEvent, Split, SplitEnumerator};
use flugs_task::{Mail, Mailbox, SubtaskRef};
use flugs_types::{Error, OperatorUid, Result, Timestamp, guarded};
use std::collections::BTreeMap;
use std::time::Duration;

struct Source {
    uid: OperatorUid,
    name: String,
    enumerator: Box<dyn SplitEnumerator>,
    wake_at: Option<Timestamp>,
}

/// What an enumerator wants that its owner must see to.
pub(crate) struct Discovery {
    /// The source's task.
    pub(crate) task: u32,
    /// The work, which may block.
    pub(crate) work: Box<dyn FnOnce() -> Result<Vec<Split>> + Send>,
}

/// See the module. Sources are known by the number of their task.
pub(crate) struct Enumerators {
    sources: BTreeMap<u32, Source>,
    mailboxes: BTreeMap<SubtaskRef, Mailbox>,
}

impl Enumerators {
    pub(crate) fn new(
        job: &JobSpec,
        restored: Option<&Manifest>,
        mailboxes: BTreeMap<SubtaskRef, Mailbox>,
    ) -> Result<Self> {
        let mut sources = BTreeMap::new();
        for task in job.graph.tasks.iter().filter(|t| t.is_source()) {
            let head = task.head();
            let factory = job.nodes.get(&head.node).and_then(|n| n.source());
            let factory = factory.ok_or_else(|| Error::bug(format!("'{}' is no source", head.name)))?;
            let state = restored.and_then(|m| m.operator(&head.uid)).and_then(|o| o.enumerator.as_ref());
            let context =
                EnumeratorContext { parallelism: task.parallelism, restored: state.map(|b| &b[..]) };
            let enumerator = guarded(|| factory.enumerator(context)).map_err(|e| e.in_source(&head.name))?;
            let source = Source { uid: head.uid.clone(), name: head.name.clone(), enumerator, wake_at: None };
            sources.insert(task.id.0, source);
        }
        Ok(Enumerators { sources, mailboxes })
    }

    /// The states of all enumerators, by uid.
    pub(crate) fn snapshot(&self) -> Result<Vec<(OperatorUid, Bytes)>> {
        let state = |s: &Source| {
            let bytes = guarded(|| s.enumerator.snapshot()).map_err(|e| e.in_source(&s.name))?;
            Ok((s.uid.clone(), Bytes::from(bytes)))
        };
        self.sources.values().map(state).collect()
    }

    pub(crate) fn start(&mut self, now: Timestamp) -> Result<Vec<Discovery>> {
        let tasks: Vec<u32> = self.sources.keys().copied().collect();
        let mut discoveries = Vec::new();
        for task in tasks {
            discoveries.extend(self.step(now, task, EnumeratorEvent::Start)?);
        }
        Ok(discoveries)
    }

    /// Wakes the enumerators whose time has come.
    pub(crate) fn wake(&mut self, now: Timestamp) -> Result<Vec<Discovery>> {
        let due = |s: &Source| s.wake_at.is_some_and(|t| t <= now);
        let due: Vec<u32> = self.sources.iter().filter(|(_, s)| due(s)).map(|(task, _)| *task).collect();
        let mut discoveries = Vec::new();
        for task in due {
            if let Some(source) = self.sources.get_mut(&task) {
                source.wake_at = None;
            }
            discoveries.extend(self.step(now, task, EnumeratorEvent::Woken)?);
        }
        Ok(discoveries)
    }

    /// The clock was set back by so much: what waits for it waits no longer than before.
    pub(crate) fn set_back(&mut self, by: Duration) {
        for wake_at in self.sources.values_mut().filter_map(|s| s.wake_at.as_mut()) {
            *wake_at = *wake_at - by;
        }
    }

    pub(crate) fn wake_at(&self) -> Option<Timestamp> {
        self.sources.values().filter_map(|s| s.wake_at).min()
    }

    pub(crate) fn step(
        &mut self,
        now: Timestamp,
        task: u32,
        event: EnumeratorEvent,
    ) -> Result<Vec<Discovery>> {
        let Some(source) = self.sources.get_mut(&task) else { return Ok(Vec::new()) };
        let actions =
            guarded(|| source.enumerator.step(now, event)).map_err(|e| e.in_source(&source.name))?;
        let mut discoveries = Vec::new();
        let post = |reader, mail| match self.mailboxes.get(&SubtaskRef { task, index: reader }) {
            Some(mailbox) => {
                mailbox.post(mail);
                Ok(())
            }
            None => {
                let wrong = format!("the enumerator gives to reader {reader}, which does not exist");
                let mend = "give to readers below the parallelism that the enumerator is made with";
                Err(Error::job(wrong).mend(mend).in_source(&source.name))
            }
        };
        for action in actions {
            match action {
                EnumeratorAction::Assign { reader, splits } => post(reader, Mail::Splits(splits))?,
                EnumeratorAction::NoMoreSplits { reader } => post(reader, Mail::NoMoreSplits)?,
                EnumeratorAction::Outstanding(outstanding) => {
                    let readers = self.mailboxes.iter().filter(|(subtask, _)| subtask.task == task);
                    readers.for_each(|(_, mailbox)| mailbox.post(Mail::Outstanding(outstanding)));
                }
                EnumeratorAction::Discover(work) => discoveries.push(Discovery { task, work }),
                EnumeratorAction::WakeAt(at) => {
                    source.wake_at = Some(source.wake_at.map_or(at, |t| t.min(at)))
                }
            }
        }
        Ok(discoveries)
    }
}

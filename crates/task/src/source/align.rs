//! Keeping the sources of a group together in event time.
//!
//! Every reader of the group shows its watermark; one that is further ahead of the slowest than the drift pauses,
//! and is woken when the slowest has moved. Readers without unread splits do not count. The decision is made where
//! the data is, at every poll, so there is no announcement interval.

use crate::watermark::Alignment;
use flugs_types::Timestamp;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

struct Member {
    /// `None` while it has nothing to read.
    watermark: Option<Timestamp>,
    paused: bool,
    waker: Waker,
}

type Members = BTreeMap<u64, Member>;

/// The alignment groups of one attempt of a job. Clones share them.
#[derive(Clone, Default)]
pub struct AlignmentGroups(Arc<Mutex<(u64, BTreeMap<String, Members>)>>);

impl AlignmentGroups {
    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<String, Members>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn join(&self, alignment: &Alignment, waker: Waker) -> Aligned {
        let mut groups = self.lock();
        groups.0 += 1;
        let id = groups.0;
        let member = Member { watermark: Some(Timestamp::MIN), paused: false, waker };
        groups.1.entry(alignment.group.clone()).or_default().insert(id, member);
        Aligned { groups: self.clone(), group: alignment.group.clone(), id, drift_max: alignment.drift_max }
    }
}

fn slowest(members: &Members) -> Option<Timestamp> {
    members.values().filter_map(|m| m.watermark).min()
}

fn wake_paused(members: &mut Members) {
    for member in members.values_mut() {
        if std::mem::take(&mut member.paused) {
            member.waker.wake_by_ref();
        }
    }
}

/// One reader's place in a group; it leaves when this is dropped.
pub(crate) struct Aligned {
    groups: AlignmentGroups,
    group: String,
    id: u64,
    drift_max: Duration,
}

impl Aligned {
    /// Shows the reader's lowest watermark (`None`: nothing to read).
    pub(crate) fn show(&self, watermark: Option<Timestamp>) {
        if let Some(members) = self.groups.lock().1.get_mut(&self.group) {
            self.show_to(members, watermark);
        }
    }

    /// The same, and says whether the reader may read on. If not, it is woken when the slowest has moved.
    pub(crate) fn may_read(&self, watermark: Option<Timestamp>) -> bool {
        let mut groups = self.groups.lock();
        let Some(members) = groups.1.get_mut(&self.group) else { return true };
        self.show_to(members, watermark);
        let paused = match (watermark, slowest(members)) {
            (Some(own), Some(slowest)) => own > slowest.saturating_add(self.drift_max),
            _ => false,
        };
        if let Some(own) = members.get_mut(&self.id) {
            own.paused = paused;
        }
        !paused
    }

    fn show_to(&self, members: &mut Members, watermark: Option<Timestamp>) {
        let before = slowest(members);
        if let Some(own) = members.get_mut(&self.id) {
            own.watermark = watermark;
        }
        if slowest(members) != before {
            wake_paused(members);
        }
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        let mut groups = self.groups.lock();
        if let Some(members) = groups.1.get_mut(&self.group) {
            members.remove(&self.id);
            wake_paused(members);
        }
    }
}

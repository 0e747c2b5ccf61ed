//! How far time had come at the last barrier.
//!
//! It is kept with the state, so that what was late stays late after a restore and no window fires twice. Each subtask writes its
//! key groups with it. In event time all subtasks have seen the same watermark at a barrier; the machine's clock may have
//! fired a window in one subtask and not yet in another, and their keys may meet in one subtask after a restore.

use flugs_state::{SnapshotTable, UnionListTable};
use flugs_task::OpenContext;
use flugs_types::{KeyGroup, KeyGroupRange, Result, Timestamp};

/// First key group, one past the last, watermark, processing time of the last tick.
type Line = (u32, u32, Timestamp, Timestamp);

/// See the module.
pub(crate) struct Reached {
    lines: UnionListTable<Line>,
    groups: KeyGroupRange,
}

impl Reached {
    pub(crate) fn open(context: &mut OpenContext<'_>) -> Result<Self> {
        Ok(Reached { lines: context.state.union_list("window.reached")?, groups: context.state.groups() })
    }

    /// The times of the old subtasks that had keys which are here now.
    fn own<T>(&self, time: impl Fn(&Line) -> T) -> impl Iterator<Item = (KeyGroupRange, T)> {
        let line = move |line: &Line| (KeyGroupRange { start: line.0, end: line.1 }, time(line));
        self.lines.items().iter().map(line).filter(|(groups, _)| groups.intersects(self.groups))
    }

    /// The watermark that all keys had reached.
    pub(crate) fn watermark(&self) -> Timestamp {
        self.own(|line| line.2).map(|(_, time)| time).min().unwrap_or(Timestamp::MIN)
    }

    /// The processing time that all keys had reached.
    pub(crate) fn ticked(&self) -> Timestamp {
        self.own(|line| line.3).map(|(_, time)| time).min().unwrap_or(Timestamp::MIN)
    }

    /// The processing time that none had passed.
    pub(crate) fn ticked_at_most(&self) -> Timestamp {
        self.own(|line| line.3).map(|(_, time)| time).max().unwrap_or(Timestamp::MIN)
    }

    /// The processing times of the old subtasks that were ahead of others.
    pub(crate) fn ahead(&self) -> Ahead {
        let all = self.ticked();
        Ahead(self.own(|line| line.3).filter(|(_, time)| *time > all).collect())
    }

    /// Notes the times for the snapshot that is about to begin.
    pub(crate) fn keep(&mut self, watermark: Timestamp, ticked: Timestamp) {
        let line = (self.groups.start, self.groups.end, watermark, ticked);
        if self.lines.items() != [line] {
            self.lines.replace([line]);
        }
    }

    pub(crate) fn table(&mut self) -> &mut dyn SnapshotTable {
        &mut self.lines
    }
}

/// Key groups for which windows have fired that have not for others.
#[derive(Default)]
pub(crate) struct Ahead(Vec<(KeyGroupRange, Timestamp)>);

impl Ahead {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether what is due at `time` was done for keys with this hash.
    pub(crate) fn was_done(&self, hash: u64, time: Timestamp) -> bool {
        let group = KeyGroup::of_hash(hash);
        self.0.iter().any(|(groups, reached)| time <= *reached && groups.contains(group))
    }

    /// Forgets those that are no longer ahead of `time`.
    pub(crate) fn catch_up(&mut self, time: Timestamp) {
        self.0.retain(|(_, reached)| *reached > time);
    }
}

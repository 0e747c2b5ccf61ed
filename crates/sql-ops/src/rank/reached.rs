//! How far event time had come, kept with the state: what was late stays late after a restore.

use flugs_state::{SnapshotTable, UnionListTable};
use flugs_task::OpenContext;
use flugs_types::{KeyGroupRange, Result, Timestamp};

/// First key group, one past the last, and the watermark they had come to at the last barrier.
type Line = (u32, u32, Timestamp);

/// The watermark of a subtask.
pub(crate) struct Reached {
    time: Timestamp,
    groups: KeyGroupRange,
    lines: UnionListTable<Line>,
}

impl Reached {
    /// Opens the state `reached`: after a restore, the least watermark of the subtasks that the key groups come from. They differ only
    /// where subtasks had seen the barrier and not yet the same watermark.
    pub(crate) fn open(context: &mut OpenContext<'_>) -> Result<Self> {
        let lines: UnionListTable<Line> = context.state.union_list("reached")?;
        let groups = context.state.groups();
        let own = lines
            .items()
            .iter()
            .filter(|(start, end, _)| KeyGroupRange { start: *start, end: *end }.intersects(groups));
        let time = own.map(|(_, _, time)| *time).min().unwrap_or(Timestamp::MIN);
        Ok(Reached { time, groups, lines })
    }

    /// The watermark.
    #[inline(always)]
    pub(crate) fn time(&self) -> Timestamp {
        self.time
    }

    /// The watermark has come here; it never goes back.
    pub(crate) fn advance(&mut self, watermark: Timestamp) {
        self.time = self.time.max(watermark);
    }

    /// Notes it for the snapshot that is about to begin.
    pub(crate) fn barrier(&mut self) {
        let line = (self.groups.start, self.groups.end, self.time);
        if self.lines.items() != [line] {
            self.lines.replace([line]);
        }
    }

    pub(crate) fn table(&mut self) -> &mut dyn SnapshotTable {
        &mut self.lines
    }
}

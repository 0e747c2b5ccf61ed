//! How far time has come: which windows are over.

use super::shape::Span;
use super::zone::LocalTime;
use flugs_state::{SnapshotTable, UnionListTable};
use flugs_task::OpenContext;
use flugs_types::{Clock, Error, KeyGroup, KeyGroupRange, Result, Timestamp};
use std::sync::Arc;

/// First key group, one past the last, and the time they had come to at the last barrier.
type Line = (u32, u32, Timestamp);

/// The time of a window operator: the watermark, or the machine's time at its last tick.
///
/// It is kept with the state, so that what was late stays late after a restore and no window fires twice. Each subtask writes its
/// key groups with it: the machine's clock may have fired a window in one subtask and not yet in another at a barrier, and their
/// keys may meet in one subtask after a restore.
pub(super) struct WindowClock {
    zone: LocalTime,
    processing: bool,
    time: Timestamp,
    reached: i64,
    lines: UnionListTable<Line>,
    groups: KeyGroupRange,
    /// Key groups for which windows have fired that have not for others, with what they had reached.
    ahead: Vec<(KeyGroupRange, i64)>,
    clock: Arc<dyn Clock>,
}

impl WindowClock {
    /// Opens the state `reached`. Windows are spans of time in the zone.
    pub(super) fn open(context: &mut OpenContext<'_>, mut zone: LocalTime, processing: bool) -> Result<Self> {
        let lines: UnionListTable<Line> = context.state.union_list("reached")?;
        let groups = context.state.groups();
        let own: Vec<(KeyGroupRange, Timestamp)> = lines
            .items()
            .iter()
            .map(|line| (KeyGroupRange { start: line.0, end: line.1 }, line.2))
            .filter(|(of, _)| of.intersects(groups))
            .collect();
        let time = own.iter().map(|(_, time)| *time).min().unwrap_or(Timestamp::MIN);
        let ahead = own.into_iter().filter(|(_, t)| *t > time).map(|(of, t)| (of, zone.reached(t))).collect();
        Ok(WindowClock {
            reached: zone.reached(time),
            zone,
            processing,
            time,
            lines,
            groups,
            ahead,
            clock: Arc::clone(context.clock),
        })
    }

    /// Windows are over whose last millisecond is at or before this.
    #[inline(always)]
    pub(super) fn reached(&self) -> i64 {
        self.reached
    }

    /// Event time has come to the watermark; by the machine's clock that says nothing. Whether time has moved.
    pub(super) fn advance(&mut self, watermark: Timestamp) -> bool {
        !self.processing && self.move_to(watermark)
    }

    /// The machine's time has come to `now`.
    pub(super) fn tick(&mut self, now: Timestamp) -> bool {
        self.processing && self.move_to(now)
    }

    /// The input has ended: windows by the machine's clock give what they have, since their time will not come.
    pub(super) fn end(&mut self) -> bool {
        self.tick(Timestamp::MAX)
    }

    fn move_to(&mut self, time: Timestamp) -> bool {
        let moves = time > self.time;
        if moves {
            self.time = time;
            self.reached = self.reached.max(self.zone.reached(time));
        }
        moves
    }

    /// Says that all windows have fired that are over.
    pub(super) fn caught_up(&mut self) {
        self.ahead.retain(|(_, reached)| *reached > self.reached);
    }

    /// Whether the window has fired for keys with this hash, before the restore.
    #[inline(always)]
    pub(super) fn has_fired(&self, hash: u64, window: Span) -> bool {
        !self.ahead.is_empty() && self.is_ahead(hash, window)
    }

    #[cold]
    fn is_ahead(&self, hash: u64, window: Span) -> bool {
        let group = KeyGroup::of_hash(hash);
        self.ahead.iter().any(|(groups, reached)| window.is_over(*reached) && groups.contains(group))
    }

    /// The local time of rows that come now by the machine's clock: after all that is over.
    pub(super) fn now(&mut self) -> i64 {
        let now = self.clock.now().as_millis();
        self.zone.local(now).max(self.reached.saturating_add(1))
    }

    /// When the machine's clock should call, for a window that ends at `end`; `None` in event time.
    pub(super) fn tick_for(&self, end: Option<i64>) -> Option<Timestamp> {
        end.filter(|_| self.processing).map(|end| self.zone.due(end))
    }

    /// The machine's time.
    pub(super) fn machine_time(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn zone(&mut self) -> &mut LocalTime {
        &mut self.zone
    }

    /// Notes the time for the snapshot that is about to begin.
    pub(super) fn barrier(&mut self) {
        let line = (self.groups.start, self.groups.end, self.time);
        if self.lines.items() != [line] {
            self.lines.replace([line]);
        }
    }

    pub(super) fn table(&mut self) -> &mut dyn SnapshotTable {
        &mut self.lines
    }
}

/// The error of an operator that was not opened.
pub(super) fn not_open() -> Error {
    Error::bug("the window operator is not open")
}

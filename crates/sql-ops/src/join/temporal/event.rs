//! The version of a table at the event time of a row.

use super::versions::Versions;
use super::{Clocked, ROWS_AT_A_TIME, put_found};
use crate::join::attach::Beside;
use crate::join::bag::{Bag, Entry, Layout};
use crate::join::spec::TemporalJoinSpec;
use crate::join::time::{check_event_time, event_times};
use crate::row::{RowBytes, row_hash};
use crate::ttl::TimeToLive;
use arrow::array::UInt64Array;
use flugs_batch::{Batch, ChangeBatch, Records};
use flugs_state::{Fuel, PaneTable, SnapshotTable};
use flugs_task::{Counter, OpenContext, Output, Progress};
use flugs_types::{Error, Result, RowKind, Timestamp};

/// Rows that wait stand in panes of this much time.
const PANE_MICROS: i64 = 20_000;
/// How many versions a watermark looks through for those that are not needed any more, in bytes of state.
const SWEEP_BYTES: usize = 64 << 10;
const LAYOUT: Layout = Layout { counted: false, tracked: false, timed: true };

/// A row by the times from which on it is valid; `None` from when it was deleted.
type History = Vec<(Timestamp, Option<RowBytes>)>;

/// A row of the left waits until the watermark, which is that of both inputs, has passed it. A version is kept until no row that is not
/// late can need it.
///
/// A row of the left that is late is joined as in Flink, with the next watermark, where a version of its time is known: then it is the
/// right one, since later ones go last. Where none is known it may have gone: beside NULLs it comes out so; else it is dropped,
/// counted (`numLateRecordsDropped`), and goes to side output 0 if the specification says so.
///
/// A version that is late is put in its place, as in Flink, and counted (`numLateVersions`): rows that have been joined already are not
/// corrected. Of versions at one time the last to come holds.
///
/// `-U` rows are not looked at: they bear the time from which the row was valid that they take back, which stays true. A `-D` ends
/// the row from its own event time on.
pub(super) struct ByEventTime {
    beside: Beside,
    time_columns: [usize; 2],
    late_output: bool,
    /// Rows that wait, by the start of their pane.
    waiting: PaneTable<RowBytes, Timestamp, Bag>,
    versions: Versions<History>,
    /// Rows that the watermark has passed, in order.
    due: Vec<Due>,
    /// How many of them are joined.
    at: usize,
    reached: Timestamp,
    /// Whether there may be more rows that `reached` has passed. A row that comes late waits for the next watermark.
    advancing: bool,
    /// How far the search for old versions has come, and whether there may be any.
    cursor: u64,
    outdates: bool,
    late: Counter,
    late_versions: Counter,
}

struct Due {
    time: i64,
    key: RowBytes,
    row: Vec<u8>,
}

impl ByEventTime {
    pub(super) fn open(
        spec: &TemporalJoinSpec,
        time_columns: [usize; 2],
        beside: Beside,
        context: &mut OpenContext<'_>,
    ) -> Result<Self> {
        check_event_time(&spec.left, time_columns[0])?;
        check_event_time(&spec.right, time_columns[1])?;
        Ok(ByEventTime {
            beside,
            time_columns,
            late_output: spec.late_output,
            waiting: context.state.panes("left")?,
            versions: Versions::open(spec.ttl, context)?,
            due: Vec::new(),
            at: 0,
            reached: Timestamp::MIN,
            advancing: false,
            cursor: 0,
            outdates: true,
            late: context.counter("numLateRecordsDropped"),
            late_versions: context.counter("numLateVersions"),
        })
    }

    /// Lets rows wait. Returns those that are too late.
    fn wait(&mut self, batch: &ChangeBatch) -> Result<Vec<u64>> {
        let times = times_of(batch, self.time_columns[0])?;
        let outer = self.beside.is_outer();
        let plan = &self.beside.plan.left;
        let keys = plan.keys(batch.rows())?;
        let rows = plan.codec.encode(&plan.columns(batch.rows()), batch.len())?;
        let mut late = Vec::new();
        for (row, time) in times.iter().enumerate().filter(|(row, _)| outer || !keys.is_null(*row)) {
            let (hash, key) = (keys.hashes[row], &keys.keys[row]);
            let is_known = || {
                let history = self.versions.get(hash, key);
                history.is_some_and(|history| history.first().is_some_and(|(from, _)| from.0 <= *time))
            };
            if *time <= self.reached.0 && !outer && !is_known() {
                late.push(row as u64);
                continue;
            }
            self.versions.used(hash, key);
            let pane = self.waiting.pane_mut(Timestamp(start_of(*time)));
            let bag = pane.get_or_insert_hashed(hash, key, || Bag::new(LAYOUT));
            bag.push(rows.row(row), 0, 1, 0, *time)?;
        }
        Ok(late)
    }

    /// Collects the rows of the first pane that the watermark has passed. Says whether there were any.
    fn collect_due(&mut self) -> bool {
        let Some((&start, _)) = self.waiting.first() else { return false };
        let upto = self.reached.0;
        if start.0 > upto {
            return false;
        }
        let ByEventTime { waiting, due, at, .. } = self;
        *at = 0;
        due.clear();
        if start.0.saturating_add(PANE_MICROS - 1) <= upto {
            let pane = waiting.take_first().map(|(_, pane)| pane);
            for (key, bag) in pane.into_iter().flatten() {
                due.extend(bag.iter().map(|entry| Due::new(&key, &entry)));
            }
        } else if let Some(pane) = waiting.existing_mut(&start) {
            let is_due = |_: &RowBytes, bag: &Bag| bag.iter().any(|entry| entry.time <= upto);
            pane.sweep(&mut 0, &mut Fuel::UNLIMITED.clone(), is_due, |key, bag| {
                bag.take_due(upto, |entry| due.push(Due::new(key, &entry)));
                bag.total() > 0
            });
            if pane.is_empty() {
                waiting.discard(&start);
            }
        }
        due.sort_by(|a, b| (a.time, &a.key).cmp(&(b.time, &b.key)));
        !due.is_empty()
    }

    /// Joins the next rows that are due.
    fn join(&mut self) -> Result<()> {
        let due = &self.due[self.at..self.due.len().min(self.at + ROWS_AT_A_TIME)];
        self.at += due.len();
        let hashes: Vec<u64> = due.iter().map(|due| row_hash(&due.key)).collect();
        hashes.iter().for_each(|hash| self.versions.prefetch(*hash));
        let found = due.iter().zip(hashes).map(|(due, hash)| {
            let version = version_at(self.versions.get(hash, &due.key)?, Timestamp(due.time))?;
            Some(version.as_slice())
        });
        let left = self.beside.plan.left.codec.decode(due.iter().map(|due| due.row.as_slice()))?;
        put_found(&mut self.beside, vec![RowKind::Insert; due.len()], left, found)
    }

    /// Drops versions that nothing needs any more, in a part of the table.
    fn prune(&mut self) {
        if self.reached == Timestamp::MAX {
            self.versions.clear();
            return;
        }
        if self.cursor == 0 && !std::mem::take(&mut self.outdates) {
            return;
        }
        let reached = self.reached;
        let mut outdates = false;
        self.versions.prune(
            &mut self.cursor,
            SWEEP_BYTES,
            |history| {
                outdates |= may_outdate(history);
                needed_from(history, reached) > 0
            },
            |history| {
                history.drain(..needed_from(history, reached));
                !history.is_empty()
            },
        );
        self.outdates |= outdates;
    }
}

impl Due {
    fn new(key: &RowBytes, entry: &Entry<'_>) -> Self {
        Due { time: entry.time, key: key.clone(), row: entry.row.to_vec() }
    }
}

impl Clocked for ByEventTime {
    fn rows(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<()> {
        if !batch.is_insert_only() {
            return Err(Error::bug("a temporal join by event time takes rows that are only added"));
        }
        let late = self.wait(&batch)?;
        if !late.is_empty() {
            self.late.add(late.len());
            if self.late_output {
                let late = batch.take(&UInt64Array::from(late))?;
                let _ = out.push_side(0, Records::untimed(vec![late]))?;
            }
        }
        Ok(())
    }

    fn changes(&mut self, batch: &ChangeBatch) -> Result<()> {
        let times = times_of(batch, self.time_columns[1])?;
        let plan = &self.beside.plan.right;
        let keys = plan.keys(batch.rows())?;
        let rows = plan.codec.encode(&plan.columns(batch.rows()), batch.len())?;
        let mut late = 0;
        for (row, time) in times.into_iter().enumerate() {
            let kind = batch.kind(row);
            if kind == RowKind::UpdateBefore || keys.is_null(row) {
                continue;
            }
            late += usize::from(time <= self.reached.0);
            let version = (kind != RowKind::Delete).then(|| rows.to_key(row));
            self.outdates = true;
            let time = Timestamp(time);
            let history = self.versions.changed(keys.hashes[row], &keys.keys[row]);
            match history.binary_search_by_key(&time, |(time, _)| *time) {
                Ok(at) => history[at].1 = version,
                Err(at) => history.insert(at, (time, version)),
            }
        }
        if late > 0 {
            self.late_versions.add(late);
        }
        Ok(())
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        while self.beside.give(out)? {
            if self.at < self.due.len() {
                self.join()?;
            } else if !self.advancing || !self.collect_due() {
                (self.due, self.at) = (Vec::new(), 0);
                if std::mem::take(&mut self.advancing) {
                    self.prune();
                }
                return Ok(Progress::Done);
            }
        }
        Ok(Progress::More)
    }

    fn advance(&mut self, watermark: Timestamp) {
        self.reached = self.reached.max(watermark);
        self.advancing = true;
    }

    fn ttl(&self) -> Option<&TimeToLive> {
        self.versions.ttl()
    }

    fn sweep(&mut self) {
        self.versions.sweep();
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        vec![&mut self.waiting, self.versions.table()]
    }
}

fn times_of(batch: &ChangeBatch, column: usize) -> Result<Vec<i64>> {
    event_times(batch.column(column).as_ref(), batch.schema().field(column).name())
}

/// Whether time alone will make some of the versions useless.
fn may_outdate(history: &History) -> bool {
    history.len() > 1 || history.iter().any(|(_, row)| row.is_none())
}

fn start_of(time: i64) -> i64 {
    time.saturating_sub(time.rem_euclid(PANE_MICROS))
}

fn version_at(history: &History, time: Timestamp) -> Option<&RowBytes> {
    let at = history.partition_point(|(from, _)| *from <= time).checked_sub(1)?;
    history[at].1.as_ref()
}

/// The first version that a row behind the watermark may need.
fn needed_from(history: &History, reached: Timestamp) -> usize {
    match history.partition_point(|(from, _)| *from <= reached).checked_sub(1) {
        // That it was deleted need not be known where nothing is older.
        Some(at) => at + usize::from(history[at].1.is_none()),
        None => 0,
    }
}

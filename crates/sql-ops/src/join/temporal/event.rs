//! The version of a table at the event time of a row.

use crate::join::bag::{Bag, Layout};
use crate::join::pairs::{Pairs, rows_of};
use crate::join::plan::{JoinPlan, NONE, PlanSpec, Rows, Selection, Side};
use crate::join::spec::{JoinType, TemporalJoinSpec};
use crate::join::time::{check_event_time, event_times};
use crate::row::{RowBytes, row_hash};
use arrow::array::UInt64Array;
use flugs_batch::{Batch, ChangeBatch, Either, Records};
use flugs_state::{Fuel, KeyedTable, PaneTable, SnapshotTable};
use flugs_task::{Counter, OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, RowKind, Timestamp};

/// Rows that wait stand in panes of this much time.
const PANE_MICROS: i64 = 20_000;
/// Rows of an output batch (tests see several).
const BATCH_ROWS: usize = if cfg!(test) { 3 } else { 4096 };
/// How many versions a watermark looks through for those that are not needed any more, in bytes of state.
const SWEEP_BYTES: usize = 64 << 10;
const LAYOUT: Layout = Layout { counted: false, tracked: false, timed: true };

/// The versions of a row by the times from which on they are valid; `None` from when it was deleted.
type Versions = Vec<(Timestamp, Option<RowBytes>)>;

/// Joins rows with the version of a table at their event time. See [`TemporalJoinSpec`].
///
/// A row of the left waits until the watermark, which is that of both inputs, has passed it. A version is kept until no row that is not
/// late can need it. A row of the left that is late is dropped: its version may be gone. It is counted (`numLateRecordsDropped`), and goes
/// to side output 0 if the specification says so.
///
/// A version that is late is put in its place, as in Flink, and counted (`numLateVersions`): rows that have been joined already are not
/// corrected. `-U` rows are not looked at. A `-D` ends the row from its own event time on.
pub struct TemporalJoin {
    spec: TemporalJoinSpec,
    opened: Option<Opened>,
}

struct Opened {
    plan: JoinPlan,
    /// Rows that wait, by the start of their pane.
    waiting: PaneTable<RowBytes, Timestamp, Bag>,
    versions: KeyedTable<RowBytes, Versions>,
    /// Rows that the watermark has passed, in order.
    due: Vec<Due>,
    at: usize,
    reached: Timestamp,
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

impl TemporalJoin {
    /// A join of this kind.
    pub fn new(spec: TemporalJoinSpec) -> Self {
        TemporalJoin { spec, opened: None }
    }

    fn opened(&mut self) -> Result<(&TemporalJoinSpec, &mut Opened)> {
        let opened = self.opened.as_mut().ok_or_else(|| Error::bug("the operator is not open"))?;
        Ok((&self.spec, opened))
    }
}

impl Opened {
    /// Lets rows wait. Returns those that are late.
    fn wait(&mut self, batch: &ChangeBatch, times: &[i64], outer: bool) -> Result<Vec<u64>> {
        let plan = &self.plan.left;
        let keys = plan.keys(batch.rows())?;
        let rows = plan.codec.encode(&plan.columns(batch.rows()), batch.len())?;
        let mut late = Vec::new();
        for (row, time) in times.iter().enumerate() {
            if *time <= self.reached.0 {
                late.push(row as u64);
            } else if outer || !keys.is_null(row) {
                let pane = self.waiting.pane_mut(Timestamp(start_of(*time)));
                let bag = pane.get_or_insert_hashed(keys.hashes[row], &keys.keys[row], || Bag::new(LAYOUT));
                bag.push(rows.row(row), 0, 1, 0, *time)?;
            }
        }
        Ok(late)
    }

    /// Takes versions in. Returns how many were late.
    fn take_versions(&mut self, batch: &ChangeBatch, times: &[i64]) -> Result<usize> {
        let plan = &self.plan.right;
        let keys = plan.keys(batch.rows())?;
        let rows = plan.codec.encode(&plan.columns(batch.rows()), batch.len())?;
        let mut late = 0;
        for (row, time) in times.iter().enumerate() {
            let kind = batch.kind(row);
            if kind == RowKind::UpdateBefore || keys.is_null(row) {
                continue;
            }
            late += usize::from(*time <= self.reached.0);
            let version = (kind != RowKind::Delete).then(|| rows.to_key(row));
            self.outdates = true;
            let time = Timestamp(*time);
            let of = self.versions.get_or_insert_hashed(keys.hashes[row], &keys.keys[row], Versions::new);
            match of.binary_search_by_key(&time, |(time, _)| *time) {
                Ok(at) => of[at].1 = version,
                Err(at) => of.insert(at, (time, version)),
            }
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
        let Opened { waiting, due, at, .. } = self;
        *at = 0;
        due.clear();
        if start.0.saturating_add(PANE_MICROS - 1) <= upto {
            let pane = waiting.take_first().map(|(_, pane)| pane);
            for (key, bag) in pane.into_iter().flatten() {
                let row = |entry: crate::join::bag::Entry<'_>| Due {
                    time: entry.time,
                    key: key.clone(),
                    row: entry.row.to_vec(),
                };
                due.extend(bag.iter().map(row));
            }
        } else if let Some(pane) = waiting.existing_mut(&start) {
            let is_due = |_: &RowBytes, bag: &Bag| bag.iter().any(|entry| entry.time <= upto);
            pane.sweep(&mut 0, &mut Fuel::UNLIMITED.clone(), is_due, |key, bag| {
                bag.take_due(upto, |entry| {
                    due.push(Due { time: entry.time, key: key.clone(), row: entry.row.to_vec() });
                });
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
    fn join(&mut self, outer: bool) -> Result<Option<ChangeBatch>> {
        let due = &self.due[self.at..self.due.len().min(self.at + BATCH_ROWS)];
        let hashes: Vec<u64> = due.iter().map(|due| row_hash(&due.key)).collect();
        hashes.iter().for_each(|hash| self.versions.prefetch(*hash));
        let (mut of, mut found) = (Vec::new(), Vec::new());
        for (row, (due, hash)) in due.iter().zip(hashes).enumerate() {
            let versions = self.versions.get_hashed(hash, &due.key);
            if let Some(version) = versions.and_then(|versions| version_at(versions, Timestamp(due.time))) {
                of.push(row as u32);
                found.push(version.as_slice());
            }
        }
        let left = self.plan.left.codec.decode(due.iter().map(|due| due.row.as_slice()))?;
        let rights = found.len();
        let right = self.plan.right.codec.decode(found)?;
        let passed = match &self.plan.condition {
            Some(condition) if rights > 0 => {
                let at = Selection::new(of.clone(), rows_of(&left));
                Some(condition.matches(Rows::at(&left, &at), Rows::all(&right), rights)?)
            }
            _ => None,
        };
        let mut matches = vec![NONE; due.len()];
        for (at, row) in of.iter().enumerate() {
            if passed.as_ref().is_none_or(|passed| passed.value(at)) {
                matches[*row as usize] = at as u32;
            }
        }
        let mut pairs = Pairs::default();
        for (row, at) in matches.into_iter().enumerate().filter(|(_, at)| outer || *at != NONE) {
            pairs.push(RowKind::Insert, row as u32, at);
        }
        self.at += due.len();
        pairs.put_out(&self.plan, Side::Left, &left, &right)
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
        self.versions.sweep(
            &mut self.cursor,
            &mut Fuel(SWEEP_BYTES),
            |_, versions| {
                outdates |= may_outdate(versions);
                needed_from(versions, reached) > 0
            },
            |_, versions| {
                versions.drain(..needed_from(versions, reached));
                !versions.is_empty()
            },
        );
        self.outdates |= outdates;
    }
}

/// Whether time alone will make some of the versions useless.
fn may_outdate(versions: &Versions) -> bool {
    versions.len() > 1 || versions.iter().any(|(_, row)| row.is_none())
}

fn start_of(time: i64) -> i64 {
    time.saturating_sub(time.rem_euclid(PANE_MICROS))
}

fn version_at(versions: &Versions, time: Timestamp) -> Option<&RowBytes> {
    let at = versions.partition_point(|(from, _)| *from <= time).checked_sub(1)?;
    versions[at].1.as_ref()
}

/// The first version that a row behind the watermark may need.
fn needed_from(versions: &Versions, reached: Timestamp) -> usize {
    match versions.partition_point(|(from, _)| *from <= reached).checked_sub(1) {
        // That it was deleted need not be known where nothing is older.
        Some(at) => at + usize::from(versions[at].1.is_none()),
        None => 0,
    }
}

impl Operator for TemporalJoin {
    type In = Either<ChangeBatch, ChangeBatch>;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        let spec = &self.spec;
        if !matches!(spec.join_type, JoinType::Inner | JoinType::Left) {
            return Err(Error::bug(format!("a temporal join cannot be {:?}", spec.join_type)));
        }
        check_event_time(&spec.left, spec.left_time)?;
        check_event_time(&spec.right, spec.right_time)?;
        let plan = JoinPlan::new(&PlanSpec {
            join_type: spec.join_type,
            left: &spec.left,
            right: &spec.right,
            keys: &spec.keys,
            condition: spec.condition.as_ref(),
            output: &spec.output,
            schema: &spec.schema,
            first: [&[], &[]],
        })?;
        self.opened = Some(Opened {
            plan,
            waiting: context.state.panes("left")?,
            versions: context.state.keyed("right")?,
            due: Vec::new(),
            at: 0,
            reached: Timestamp::MIN,
            cursor: 0,
            outdates: true,
            late: context.counter("numLateRecordsDropped"),
            late_versions: context.counter("numLateVersions"),
        });
        Ok(())
    }

    fn process(&mut self, batch: Self::In, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let (spec, opened) = self.opened()?;
        let times = |batch: &ChangeBatch, at: usize| {
            event_times(batch.column(at).as_ref(), batch.schema().field(at).name())
        };
        match batch {
            Either::Left(batch) => {
                if !batch.is_insert_only() {
                    return Err(Error::bug("a temporal join takes rows that are only added"));
                }
                let times = times(&batch, spec.left_time)?;
                let late = opened.wait(&batch, &times, spec.join_type == JoinType::Left)?;
                if !late.is_empty() {
                    opened.late.add(late.len());
                    if spec.late_output {
                        let late = batch.take(&UInt64Array::from(late))?;
                        let _ = out.push_side(0, Records::untimed(vec![late]))?;
                    }
                }
            }
            Either::Right(batch) => {
                let late = opened.take_versions(&batch, &times(&batch, spec.right_time)?)?;
                if late > 0 {
                    opened.late_versions.add(late);
                }
            }
        }
        Ok(Progress::Done)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let (spec, opened) = self.opened()?;
        let outer = spec.join_type == JoinType::Left;
        loop {
            while opened.at < opened.due.len() {
                if let Some(batch) = opened.join(outer)? {
                    let _ = out.push(batch)?;
                    if !out.is_ready() {
                        return Ok(Progress::More);
                    }
                }
            }
            if !opened.collect_due() {
                opened.due = Vec::new();
                opened.at = 0;
                opened.prune();
                return Ok(Progress::Done);
            }
        }
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let (_, opened) = self.opened()?;
        opened.reached = opened.reached.max(watermark);
        self.resume(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        match &mut self.opened {
            Some(opened) => vec![&mut opened.waiting, &mut opened.versions],
            None => Vec::new(),
        }
    }
}

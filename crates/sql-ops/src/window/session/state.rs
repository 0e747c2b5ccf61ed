//! The sessions of all keys.

use super::sessions::{Gather, KeySessions, Place};
use crate::row::{EncodedRows, RowBytes, RowCodec};
use crate::window::assign::TABLE_COLUMNS;
use crate::window::clock::WindowClock;
use crate::window::late::LateRows;
use crate::window::shape::{Span, check_length};
use crate::window::time::{WindowColumn, WindowTime, read_times, timestamps};
use crate::window::zone::LocalTime;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};
use flugs_batch::{Batch, ChangeBatch, Data};
use flugs_state::{DueIndex, KeyedTable, SnapshotTable};
use flugs_task::{OpenContext, Output};
use flugs_types::{Error, Result, Timestamp, hash_key};

/// Keys between which time is looked up are kept in spans of at least this many milliseconds.
const SPAN_MIN_MS: i64 = 10;

/// Sessions with what `C` keeps of their rows. Sessions are spans of instants, and so not cut where clocks change; only their
/// bounds are given as local times.
pub struct SessionState<C> {
    sessions: KeyedTable<RowBytes, KeySessions<C>>,
    ends: DueIndex<RowBytes>,
    pub(super) clock: WindowClock,
    late: LateRows,
    zone: LocalTime,
    local: bool,
    gap: i64,
    time: WindowTime,
    keys: Vec<usize>,
    codec: RowCodec,
    encoded: EncodedRows,
    times: Vec<i64>,
}

impl<C: Data> SessionState<C> {
    pub(super) fn open(
        context: &mut OpenContext<'_>,
        input: &Schema,
        keys: &[usize],
        gap: i64,
        time: WindowTime,
        zone: Option<&str>,
        late_output: bool,
    ) -> Result<Self> {
        check_length("SESSION", gap)?;
        let (zone, local) = time.zone(input, zone)?;
        let types: Vec<_> = keys.iter().map(|key| input.field(*key).data_type().clone()).collect();
        let clock = WindowClock::open(context, LocalTime::new(None)?, time.is_processing())?;
        let sessions: KeyedTable<RowBytes, KeySessions<C>> = context.state.keyed("sessions")?;
        let mut ends = DueIndex::new(gap.max(SPAN_MIN_MS));
        sessions.iter().for_each(|(key, of_key)| ends.push(of_key.armed(), key.clone()));
        Ok(SessionState {
            sessions,
            ends,
            clock,
            late: LateRows::open(context, late_output.then_some(0)),
            zone,
            local,
            gap,
            time,
            keys: keys.to_vec(),
            codec: RowCodec::new(&types)?,
            encoded: EncodedRows::default(),
            times: Vec::new(),
        })
    }

    /// Adds the rows of a batch to `gather`, but for late ones; gives back which these are, in order.
    pub(super) fn add<B: Send + 'static>(
        &mut self,
        batch: &ChangeBatch,
        out: &mut Output<B>,
        gather: &mut impl Gather<C>,
    ) -> Result<Vec<usize>> {
        let columns: Vec<ArrayRef> = self.keys.iter().map(|key| batch.column(*key).clone()).collect();
        self.codec.encode_into(&columns, batch.len(), &mut self.encoded)?;
        match self.time {
            WindowTime::Event { column } => {
                read_times(batch.column(column), batch.schema().field(column).name(), &mut self.times)?;
            }
            WindowTime::Processing => {
                self.times.clear();
                self.times.resize(batch.len(), self.clock.now());
            }
        }
        let (encoded, times, gap, reached) = (&self.encoded, &self.times, self.gap, self.clock.reached());
        let (mut late, mut sooner) = (Vec::new(), Vec::new());
        let key = |row| encoded.to_key(row);
        self.sessions.for_each_row(batch.len(), key, KeySessions::default, |row, sessions| {
            let own = Span::new(times[row], times[row] + gap);
            gather.begin(row);
            match sessions.place(own, reached, gather) {
                Place::Session(content, look) => {
                    gather.add(content);
                    sooner.extend(look.map(|time| (row, time)));
                }
                Place::Late => late.push(row),
            }
        });
        for (row, time) in sooner {
            self.ends.push(time, encoded.to_key(row));
        }
        for row in &late {
            let (hash, key) = (encoded.hash(*row), encoded.to_key(*row));
            if self.sessions.get_hashed(hash, &key).is_some_and(KeySessions::is_empty) {
                self.sessions.remove_hashed(hash, &key);
            }
        }
        self.late.hand_out(batch, &mut late.iter().map(|row| *row as u64).collect(), out)?;
        Ok(late)
    }

    /// Shows what is kept of all sessions of the keys of these rows of the batch that was added last.
    pub(super) fn for_each_content(&mut self, rows: &[usize], mut f: impl FnMut(&mut C)) {
        for row in rows {
            let (hash, key) = (self.encoded.hash(*row), self.encoded.to_key(*row));
            if let Some(sessions) = self.sessions.get_mut_hashed(hash, &key) {
                sessions.contents_mut().for_each(&mut f);
            }
        }
    }

    /// Of the keys.
    pub(super) fn codec(&self) -> &RowCodec {
        &self.codec
    }

    /// Takes out the next session that is over: by its end, then by the bytes of the key.
    pub(super) fn pop_over(&mut self) -> Option<(RowBytes, Span, C)> {
        loop {
            let (time, key) = self.ends.pop_due(self.clock.reached())?;
            let hash = hash_key(&key);
            let Some(sessions) = self.sessions.get_mut_hashed(hash, &key).filter(|s| s.armed() == time)
            else {
                continue;
            };
            let over = sessions.take_over(time);
            match sessions.arm() {
                Some(next) => self.ends.push(next, key.clone()),
                None => {
                    self.sessions.remove_hashed(hash, &key);
                }
            }
            if let Some((session, content)) = over {
                return Some((key, session, content));
            }
        }
    }

    /// All sessions that are over were taken out.
    pub(super) fn caught_up(&mut self) {
        self.clock.caught_up();
    }

    /// When the machine's clock should call.
    pub(super) fn next_tick(&self) -> Option<Timestamp> {
        let first = self.ends.first_time()?;
        self.clock.tick_for(Some(first.saturating_add(1)))
    }

    /// The columns of these sessions.
    pub(super) fn columns(&mut self, columns: &[WindowColumn], sessions: &[Span]) -> Vec<ArrayRef> {
        let (zone, local) = (&mut self.zone, self.local);
        let column = |column: &WindowColumn| {
            let values = sessions.iter().map(|session| match column {
                WindowColumn::Start => zone.local(session.start),
                WindowColumn::End => zone.local(session.end),
                WindowColumn::Time => session.end - 1,
            });
            timestamps(values.collect(), *column, local)
        };
        columns.iter().map(column).collect()
    }

    /// Appends the columns of window tables to the rows of these sessions.
    pub(super) fn with_windows(
        &mut self,
        rows: &ChangeBatch,
        sessions: &[Span],
        output: &SchemaRef,
    ) -> Result<ChangeBatch> {
        let mut columns = rows.rows().columns().to_vec();
        columns.extend(self.columns(&TABLE_COLUMNS, sessions));
        let columns = RecordBatch::try_new(output.clone(), columns).map_err(|e| {
            Error::bug("the columns of a windowed table are not those that were planned").caused_by(e)
        })?;
        rows.with_rows(columns)
    }

    pub(super) fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        vec![self.clock.table(), &mut self.sessions]
    }
}

//! Joins of rows of the same window.

mod meeting;

use super::attached::AttachedRows;
use super::clock::{WindowClock, not_open};
use super::shape::Span;
use super::stripes::{Stripes, take_step};
use super::time::{AttachedWindow, inserts_only};
use super::zone::LocalTime;
use crate::row::{EncodedRows, RowBytes, RowCodec, null_keys};
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion_physical_expr::PhysicalExpr;
use flugs_batch::{Barrier, Batch, ChangeBatch, Either};
use flugs_state::{PaneTable, SnapshotTable};
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, Timestamp, hash_key};
use meeting::{Guests, Meeting, Terms};
use std::collections::BTreeMap;
use std::sync::Arc;

/// So many rows of different keys are joined together.
const GUESTS_MAX: usize = 2048;

/// Which rows of a window a join gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowJoinKind {
    /// Pairs.
    Inner,
    /// Pairs, and left rows without one.
    Left,
    /// Pairs, and right rows without one.
    Right,
    /// Pairs, and rows of both sides without one.
    Full,
    /// Left rows that have a partner; left columns only.
    Semi,
    /// Left rows that have none; left columns only.
    Anti,
}

/// Joins rows of two inputs that carry the same window and equal keys, once the window is over. Takes inserts only, gives inserts
/// only. Both inputs must be partitioned by the keys.
///
/// Results come by window and key, some 2000 rows of the inputs at a time: first their pairs, then those without a partner. A window with
/// many rows of one key on both sides is given in parts, so that memory is bounded by what the inputs hold.
#[derive(Debug, Clone)]
pub struct WindowJoinSpec {
    /// The columns of the left input.
    pub left: SchemaRef,
    /// The columns of the right input.
    pub right: SchemaRef,
    /// The window columns of the left input.
    pub left_window: AttachedWindow,
    /// The window columns of the right input.
    pub right_window: AttachedWindow,
    /// The key columns of the left input; none: all rows of a window meet.
    pub left_keys: Vec<usize>,
    /// Those of the right input, of the same types in the same order.
    pub right_keys: Vec<usize>,
    /// For each key, whether NULL equals NULL (`IS NOT DISTINCT FROM`); where it does not, a NULL key has no partner.
    pub null_safe: Vec<bool>,
    /// What else must hold of a pair: a boolean expression over the left and then the right columns.
    pub condition: Option<Arc<dyn PhysicalExpr>>,
    /// Which rows come out.
    pub kind: WindowJoinKind,
    /// Whether the windows are spans of local time, and of which zone; `None`: of UTC, or over a `TIMESTAMP`.
    pub zone: Option<String>,
    /// Left and then right columns; of semi and anti joins the left ones.
    pub output: SchemaRef,
    /// Whether late rows are handed to side outputs: of the left input to 0, of the right one to 1.
    pub late_output: bool,
}

/// Rows of each window and key, in order of arrival.
type Rows = PaneTable<RowBytes, Span, Vec<RowBytes>>;

/// Carries out a [`WindowJoinSpec`].
pub struct WindowJoin {
    spec: WindowJoinSpec,
    opened: Option<Opened>,
}

struct Opened {
    clock: WindowClock,
    left: Input,
    right: Input,
    terms: Terms,
    keys: RowCodec,
    firing: Option<(Span, Stripes)>,
    /// Keys that were taken out and have not met: those of one stripe, by hash.
    waiting: std::vec::IntoIter<Waiting>,
    meeting: Option<Meeting>,
}

struct Waiting {
    left: Vec<RowBytes>,
    right: Vec<RowBytes>,
    /// Whether the key equals itself.
    meet: bool,
}

/// One of the inputs.
struct Input {
    table: Rows,
    rows: AttachedRows,
    encoded: EncodedRows,
    /// Whether rows come out that have no partner.
    keeps_lonely: bool,
}

impl Input {
    fn add(
        &mut self,
        codec: &RowCodec,
        batch: &ChangeBatch,
        never: &[usize],
        clock: &WindowClock,
        out: &mut Output<ChangeBatch>,
    ) -> Result<()> {
        inserts_only(batch, "a join within windows")?;
        self.rows.place(batch, clock, out)?;
        let columns: Vec<_> = never.iter().map(|column| batch.column(*column).clone()).collect();
        let never = null_keys(&columns).filter(|_| !self.keeps_lonely);
        codec.encode_into(batch.rows().columns(), batch.len(), &mut self.encoded)?;
        for run in &self.rows.runs {
            let pane = self.table.pane_mut(run.span);
            for row in run.rows().filter(|row| never.as_ref().is_none_or(|never| never.is_valid(*row))) {
                let (hash, key) = (self.rows.encoded.hash(row), self.rows.encoded.to_key(row));
                pane.get_or_insert_hashed(hash, &key, Vec::new).push(self.encoded.to_key(row));
            }
        }
        Ok(())
    }
}

impl WindowJoin {
    /// An operator that is not open yet.
    pub fn new(spec: WindowJoinSpec) -> Self {
        WindowJoin { spec, opened: None }
    }

    /// Those of the key columns in which NULL equals nothing.
    fn never_null(&self, keys: &[usize]) -> Vec<usize> {
        let null_safe = self.spec.null_safe.iter().copied().chain(std::iter::repeat(false));
        keys.iter().zip(null_safe).filter(|(_, safe)| !safe).map(|(key, _)| *key).collect()
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let never = self.never_null(&(0..self.spec.left_keys.len()).collect::<Vec<_>>());
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        loop {
            if opened.meeting.is_none() && !opened.gather(&never)? {
                opened.clock.caught_up();
                return Ok(Progress::Done);
            }
            while let Some(meeting) = &mut opened.meeting {
                match meeting.next(&opened.terms)? {
                    None => opened.meeting = None,
                    Some(rows) if rows.num_rows() > 0 => {
                        let _ = out.push(ChangeBatch::inserts(rows))?;
                    }
                    Some(_) => {}
                }
                if !out.is_ready() {
                    return Ok(Progress::More);
                }
            }
        }
    }
}

impl Opened {
    /// Prepares the next rows to meet. `false` where no window is over.
    fn gather(&mut self, never: &[usize]) -> Result<bool> {
        let mut guests = Guests::default();
        while guests.len() < GUESTS_MAX {
            match self.waiting.next() {
                Some(key) => guests.add(key.left, key.right, key.meet),
                None => {
                    if !self.fire(never)? {
                        break;
                    }
                }
            }
        }
        if guests.len() > 0 {
            self.meeting = Some(Meeting::new(&self.terms, guests)?);
        }
        Ok(self.meeting.is_some())
    }

    /// Takes out the next keys of a window that is over. `false` where there is none.
    fn fire(&mut self, never: &[usize]) -> Result<bool> {
        let reached = self.clock.reached();
        let first = |table: &Rows| table.namespaces().next().filter(|w| w.is_over(reached)).copied();
        let next = || first(&self.left.table).into_iter().chain(first(&self.right.table)).min();
        let Some((window, mut stripes)) = self.firing.take().or_else(|| next().map(|w| (w, Stripes::new(2))))
        else {
            return Ok(false);
        };
        let mut keys: BTreeMap<(u64, RowBytes), (Vec<RowBytes>, Vec<RowBytes>)> = BTreeMap::new();
        let ended = stripes.next(|side, cursor| {
            let input = if side == 0 { &mut self.left } else { &mut self.right };
            take_step(input.table.existing_mut(&window), cursor, |key, rows| {
                let of_key = keys.entry((hash_key(&key), key)).or_default();
                *(if side == 0 { &mut of_key.0 } else { &mut of_key.1 }) = rows;
            })
        });
        if ended {
            self.left.table.discard(&window);
            self.right.table.discard(&window);
        } else {
            self.firing = Some((window, stripes));
        }
        // NULL keys of both sides are there only where rows of both sides come out without a partner.
        let columns = match self.left.keeps_lonely && self.right.keeps_lonely && !never.is_empty() {
            true => self.keys.decode(keys.keys().map(|(_, key)| key.as_slice()))?,
            false => Vec::new(),
        };
        let columns: Vec<_> = never.iter().filter_map(|key| columns.get(*key).cloned()).collect();
        let equals_nothing = null_keys(&columns);
        let waiting = keys.into_iter().enumerate().map(|(at, ((hash, _), (left, right)))| {
            let meet = equals_nothing.as_ref().is_none_or(|nulls| nulls.is_valid(at));
            (hash, Waiting { left, right, meet })
        });
        let due = waiting.filter(|(hash, _)| !self.clock.has_fired(*hash, window)).map(|(_, key)| key);
        self.waiting = due
            .filter(|key| {
                self.left.matters(&key.left, &key.right) || self.right.matters(&key.right, &key.left)
            })
            .collect::<Vec<_>>()
            .into_iter();
        Ok(true)
    }
}

impl Input {
    /// Whether a key's rows of this side may come out.
    fn matters(&self, own: &[RowBytes], others: &[RowBytes]) -> bool {
        !own.is_empty() && (self.keeps_lonely || !others.is_empty())
    }
}

impl Operator for WindowJoin {
    type In = Either<ChangeBatch, ChangeBatch>;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        use WindowJoinKind::{Anti, Full, Left, Right};
        let spec = &self.spec;
        let types =
            |schema: &Schema| -> Vec<_> { schema.fields().iter().map(|f| f.data_type().clone()).collect() };
        let key_types = |schema: &Schema, keys: &[usize]| -> Vec<_> {
            keys.iter().map(|key| schema.field(*key).data_type().clone()).collect()
        };
        let keys = key_types(&spec.left, &spec.left_keys);
        if keys != key_types(&spec.right, &spec.right_keys) {
            return Err(Error::bug("the keys of the two inputs are not of the same types"));
        }
        let both =
            spec.left.fields().iter().chain(spec.right.fields()).map(|field| -> Field { (**field).clone() });
        let both: Vec<Field> = both.collect();
        let late = |port: usize| spec.late_output.then_some(port);
        self.opened = Some(Opened {
            clock: WindowClock::open(context, LocalTime::new(spec.zone.as_deref())?, false)?,
            left: Input {
                table: context.state.panes("left")?,
                rows: AttachedRows::open(context, &spec.left, spec.left_window, &spec.left_keys, late(0))?,
                encoded: EncodedRows::default(),
                keeps_lonely: matches!(spec.kind, Left | Full | Anti),
            },
            right: Input {
                table: context.state.panes("right")?,
                rows: AttachedRows::open(context, &spec.right, spec.right_window, &spec.right_keys, late(1))?,
                encoded: EncodedRows::default(),
                keeps_lonely: matches!(spec.kind, Right | Full),
            },
            terms: Terms {
                kind: spec.kind,
                condition: spec.condition.clone(),
                both: Arc::new(Schema::new(both)),
                output: spec.output.clone(),
                left: RowCodec::new(&types(&spec.left))?,
                right: RowCodec::new(&types(&spec.right))?,
            },
            keys: RowCodec::new(&keys)?,
            firing: None,
            waiting: Vec::new().into_iter(),
            meeting: None,
        });
        Ok(())
    }

    fn process(&mut self, batch: Self::In, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let never = match &batch {
            Either::Left(_) => self.never_null(&self.spec.left_keys),
            Either::Right(_) => self.never_null(&self.spec.right_keys),
        };
        let Opened { clock, left, right, terms, .. } = self.opened.as_mut().ok_or_else(not_open)?;
        match batch {
            Either::Left(batch) => left.add(&terms.left, &batch, &never, clock, out)?,
            Either::Right(batch) => right.add(&terms.right, &batch, &never, clock, out)?,
        }
        Ok(Progress::Done)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.give(out)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        match self.opened.as_mut().ok_or_else(not_open)?.clock.advance(watermark) {
            true => self.give(out),
            false => Ok(Progress::Done),
        }
    }

    fn barrier(&mut self, _: Barrier, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.opened.as_mut().ok_or_else(not_open)?.clock.barrier();
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.opened.as_mut().map_or_else(Vec::new, |opened| {
            vec![&mut opened.left.table, &mut opened.right.table, opened.clock.table()]
        })
    }
}

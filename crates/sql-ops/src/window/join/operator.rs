//! The operator.

use super::input::Input;
use super::meeting::{Guests, Meeting, Terms};
use super::{WindowJoinKind, WindowJoinSpec};
use crate::row::{EncodedRows, RowBytes, RowCodec, null_keys};
use crate::window::STEP_STRIPES;
use crate::window::attached::AttachedRows;
use crate::window::clock::{WindowClock, not_open};
use crate::window::shape::Span;
use crate::window::stripes::{Stripes, take_step};
use crate::window::zone::LocalTime;
use arrow::buffer::NullBuffer;
use arrow::datatypes::{Field, Schema};
use flugs_batch::{Barrier, ChangeBatch, Either};
use flugs_state::SnapshotTable;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Error, Result, Timestamp, hash_key};
use std::collections::BTreeMap;
use std::sync::Arc;

/// So many rows of different keys are joined together.
const GUESTS_MAX: usize = 2048;

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
    /// The places of keys in which NULL equals nothing.
    never_null: Vec<usize>,
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

impl WindowJoin {
    /// An operator that is not open yet.
    pub fn new(spec: WindowJoinSpec) -> Self {
        WindowJoin { spec, opened: None }
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        let mut stripes = 0;
        loop {
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
            if stripes >= STEP_STRIPES {
                return Ok(Progress::More);
            }
            if !opened.gather(&mut stripes)? {
                opened.clock.caught_up();
                return Ok(Progress::Done);
            }
        }
    }
}

impl Opened {
    /// Prepares the next rows to meet, reading no more stripes than a step may. `false` where no window is over.
    fn gather(&mut self, stripes: &mut usize) -> Result<bool> {
        let mut guests = Guests::default();
        let mut more = true;
        while guests.len() < GUESTS_MAX && *stripes < STEP_STRIPES && more {
            match self.waiting.next() {
                Some(key) => guests.add(key.left, key.right, key.meet),
                None => {
                    *stripes += 1;
                    more = self.fire()?;
                }
            }
        }
        more |= guests.len() > 0;
        if guests.len() > 0 {
            self.meeting = Some(Meeting::new(&self.terms, guests)?);
        }
        Ok(more)
    }

    /// Takes out the next keys of a window that is over. `false` where there is none.
    fn fire(&mut self) -> Result<bool> {
        let reached = self.clock.reached();
        let next = || self.left.first_over(reached).into_iter().chain(self.right.first_over(reached)).min();
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
        let nulls = self.null_keys(keys.keys().map(|(_, key)| key))?;
        let mut waiting = Vec::new();
        for (at, ((hash, _), (left, right))) in keys.into_iter().enumerate() {
            let matters = self.left.matters(&left, &right) || self.right.matters(&right, &left);
            if matters && !self.clock.has_fired(hash, window) {
                let meet = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(at));
                waiting.push(Waiting { left, right, meet });
            }
        }
        self.waiting = waiting.into_iter();
        Ok(true)
    }

    /// Which of these keys equal nothing. Such keys are kept for both inputs only where rows of both come out without a partner.
    fn null_keys<'a>(&self, keys: impl Iterator<Item = &'a RowBytes>) -> Result<Option<NullBuffer>> {
        if self.never_null.is_empty() || !self.left.keeps_lonely || !self.right.keeps_lonely {
            return Ok(None);
        }
        let columns = self.keys.decode(keys.map(RowBytes::as_slice))?;
        Ok(null_keys(&self.never_null.iter().map(|key| columns[*key].clone()).collect::<Vec<_>>()))
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
        let safe = |key: &usize| spec.null_safe.get(*key).copied().unwrap_or(false);
        let never_null: Vec<usize> = (0..keys.len()).filter(|key| !safe(key)).collect();
        let late = |port: usize| spec.late_output.then_some(port);
        self.opened = Some(Opened {
            clock: WindowClock::open(context, LocalTime::new(spec.zone.as_deref())?, false)?,
            left: Input {
                table: context.state.panes("left")?,
                rows: AttachedRows::open(context, &spec.left, spec.left_window, &spec.left_keys, late(0))?,
                encoded: EncodedRows::default(),
                never_null: never_null.iter().map(|key| spec.left_keys[*key]).collect(),
                keeps_lonely: matches!(spec.kind, Left | Full | Anti),
            },
            right: Input {
                table: context.state.panes("right")?,
                rows: AttachedRows::open(context, &spec.right, spec.right_window, &spec.right_keys, late(1))?,
                encoded: EncodedRows::default(),
                never_null: never_null.iter().map(|key| spec.right_keys[*key]).collect(),
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
            never_null,
            firing: None,
            waiting: Vec::new().into_iter(),
            meeting: None,
        });
        Ok(())
    }

    fn process(&mut self, batch: Self::In, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let Opened { clock, left, right, terms, .. } = self.opened.as_mut().ok_or_else(not_open)?;
        match batch {
            Either::Left(batch) => left.add(&terms.left, &batch, clock, out)?,
            Either::Right(batch) => right.add(&terms.right, &batch, clock, out)?,
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

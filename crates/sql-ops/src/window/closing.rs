//! Windows that keep rows and give them once they are over.

use super::clock::WindowClock;
use super::shape::Span;
use super::stripes::{Stripes, take_step};
use super::zone::LocalTime;
use super::{OUTPUT_ROWS, STEP_STRIPES};
use crate::row::{RowBytes, RowCodec};
use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::SchemaRef;
use flugs_batch::{ChangeBatch, Data};
use flugs_state::{PaneTable, SnapshotTable};
use flugs_task::{OpenContext, Output, Progress};
use flugs_types::{Error, Result, hash_key};
use std::collections::VecDeque;
use std::sync::Arc;

/// For each window and key what `V` keeps of its rows.
pub(super) struct ClosingWindows<V> {
    pub(super) panes: PaneTable<RowBytes, Span, V>,
    pub(super) clock: WindowClock,
    firing: Option<(Span, Stripes)>,
    /// Rows to give, each with its rank.
    ready: VecDeque<(RowBytes, i64)>,
}

impl<V: Data + Default> ClosingWindows<V> {
    /// Opens the state `rows`.
    pub(super) fn open(context: &mut OpenContext<'_>, zone: Option<&str>) -> Result<Self> {
        Ok(ClosingWindows {
            panes: context.state.panes("rows")?,
            clock: WindowClock::open(context, LocalTime::new(zone)?, false)?,
            firing: None,
            ready: VecDeque::new(),
        })
    }

    /// Gives the rows of all windows that are over. `rows_of` appends those of a key, each with its rank; the rank is a column where
    /// `ranked` says so.
    pub(super) fn give(
        &mut self,
        codec: &RowCodec,
        output: &SchemaRef,
        ranked: bool,
        out: &mut Output<ChangeBatch>,
        mut rows_of: impl FnMut(V, &mut VecDeque<(RowBytes, i64)>),
    ) -> Result<Progress> {
        let mut stripes = 0;
        loop {
            let mut more = true;
            while more && self.ready.len() < OUTPUT_ROWS && stripes < STEP_STRIPES {
                stripes += 1;
                more = self.fire(&mut rows_of);
            }
            if self.ready.is_empty() && !more {
                self.clock.caught_up();
                return Ok(Progress::Done);
            }
            if self.ready.is_empty() {
                return Ok(Progress::More);
            }
            let n = self.ready.len().min(OUTPUT_ROWS);
            let (rows, ranks): (Vec<RowBytes>, Vec<i64>) = self.ready.drain(..n).unzip();
            let mut columns = codec.decode(rows.iter().map(RowBytes::as_slice))?;
            if ranked {
                columns.push(Arc::new(Int64Array::from(ranks)) as ArrayRef);
            }
            let rows = RecordBatch::try_new(output.clone(), columns)
                .map_err(|e| Error::bug("stored rows are not those of the output").caused_by(e))?;
            let _ = out.push(ChangeBatch::inserts(rows))?;
            if !out.is_ready() || stripes >= STEP_STRIPES {
                return Ok(Progress::More);
            }
        }
    }

    /// Takes out the next keys of a window that is over. `false` where there is none.
    fn fire(&mut self, rows_of: &mut impl FnMut(V, &mut VecDeque<(RowBytes, i64)>)) -> bool {
        let reached = self.clock.reached();
        let next = || self.panes.namespaces().next().filter(|window| window.is_over(reached)).copied();
        let Some((window, mut stripes)) = self.firing.take().or_else(|| next().map(|w| (w, Stripes::new(1))))
        else {
            return false;
        };
        let mut stripe: Vec<(u64, RowBytes, V)> = Vec::new();
        let ended = stripes.next(|_, cursor| {
            take_step(self.panes.existing_mut(&window), cursor, |key, value| {
                let hash = hash_key(&key);
                if !self.clock.has_fired(hash, window) {
                    stripe.push((hash, key, value));
                }
            })
        });
        stripe.sort_unstable_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        stripe.into_iter().for_each(|(_, _, value)| rows_of(value, &mut self.ready));
        if ended {
            self.panes.discard(&window);
        } else {
            self.firing = Some((window, stripes));
        }
        true
    }

    pub(super) fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        vec![&mut self.panes, self.clock.table()]
    }
}

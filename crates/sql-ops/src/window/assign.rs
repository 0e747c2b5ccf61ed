//! Window table functions whose rows are used as they are.

use super::OUTPUT_ROWS;
use super::clock::not_open;
use super::shape::{Slices, Span, WindowShape};
use super::time::{WindowColumn, WindowTime, local_times, window_columns};
use super::zone::LocalTime;
use arrow::array::{RecordBatch, UInt64Array};
use arrow::datatypes::SchemaRef;
use flugs_batch::{Batch, ChangeBatch};
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Clock, Error, Result, RowKind};
use std::sync::Arc;

/// `TUMBLE`, `HOP` and `CUMULATE` as tables: each row once for each of its windows, behind it `window_start`, `window_end` and
/// `window_time`. Has no state; late rows pass. Watermarks stay: a `window_time` is never before the row's time.
///
/// Takes inserts, or changes of all four kinds. Where a row has several windows, `-U` becomes `-D` and `+U` becomes `+I`, since the two would
/// no longer stand together.
#[derive(Debug, Clone)]
pub struct WindowAssignSpec {
    /// The columns of the input.
    pub input: SchemaRef,
    /// Which windows.
    pub shape: WindowShape,
    /// By which time.
    pub time: WindowTime,
    /// The session's zone, such as `Europe/Berlin` or `+02:00`; `None` is UTC. Says nothing over a `TIMESTAMP`.
    pub zone: Option<String>,
    /// The columns of the input and the three of the window, with the names the query gives them.
    pub output: SchemaRef,
}

/// The columns that window table functions append.
pub(super) const TABLE_COLUMNS: [WindowColumn; 3] =
    [WindowColumn::Start, WindowColumn::End, WindowColumn::Time];

/// Appends the columns of these windows to the rows.
pub(super) fn with_windows(
    rows: &ChangeBatch,
    windows: &[Span],
    zone: &LocalTime,
    local: bool,
    output: &SchemaRef,
) -> Result<ChangeBatch> {
    let mut columns = rows.rows().columns().to_vec();
    columns.extend(window_columns(&TABLE_COLUMNS, windows, zone, local));
    let columns = RecordBatch::try_new(output.clone(), columns).map_err(|e| {
        Error::bug("the columns of a windowed table are not those that were planned").caused_by(e)
    })?;
    rows.with_rows(columns)
}

/// Carries out a [`WindowAssignSpec`].
pub struct WindowAssign {
    spec: WindowAssignSpec,
    slices: Slices,
    opened: Option<Opened>,
    times: Vec<i64>,
    /// A batch some of whose windows have still to be given.
    rest: Option<Rest>,
}

struct Opened {
    zone: LocalTime,
    local: bool,
    clock: Arc<dyn Clock>,
}

struct Rest {
    batch: ChangeBatch,
    /// The row whose turn it is, and the end of the last of its windows that was given.
    row: usize,
    given: i64,
}

impl WindowAssign {
    /// An operator that is not open yet.
    pub fn new(spec: WindowAssignSpec) -> Self {
        // A shape that is refused at opening is not looked at.
        let shape = match spec.shape.check() {
            Ok(()) => spec.shape,
            Err(_) => WindowShape::Tumble { size_ms: 1, offset_ms: 0 },
        };
        WindowAssign { slices: Slices::new(shape), spec, opened: None, times: Vec::new(), rest: None }
    }

    fn tumble(&mut self, batch: &ChangeBatch) -> Result<ChangeBatch> {
        let opened = self.opened.as_ref().ok_or_else(not_open)?;
        let windows: Vec<Span> = self.times.iter().map(|time| self.slices.slice(*time)).collect();
        with_windows(batch, &windows, &opened.zone, opened.local, &self.spec.output)
    }

    /// The next rows with their windows.
    fn expand(&mut self, rest: &mut Rest) -> Result<ChangeBatch> {
        let opened = self.opened.as_ref().ok_or_else(not_open)?;
        let (mut rows, mut windows) = (Vec::new(), Vec::new());
        while rows.len() < OUTPUT_ROWS && rest.row < rest.batch.len() {
            let slice = self.slices.slice(self.times[rest.row]);
            let next = match rest.given {
                i64::MIN => self.slices.first_window(slice, i64::MIN),
                end => self.slices.first_window(slice, end - 1),
            };
            match next {
                Some(window) => {
                    rest.given = window.end;
                    rows.push(rest.row as u64);
                    windows.push(window);
                }
                None => (rest.row, rest.given) = (rest.row + 1, i64::MIN),
            }
        }
        let rows = without_updates(&rest.batch.take(&UInt64Array::from(rows))?)?;
        with_windows(&rows, &windows, &opened.zone, opened.local, &self.spec.output)
    }
}

fn without_updates(batch: &ChangeBatch) -> Result<ChangeBatch> {
    let Some(kinds) = batch.kind_numbers() else { return Ok(batch.clone()) };
    let removes = |kind: &u8| *kind == RowKind::UpdateBefore as u8 || *kind == RowKind::Delete as u8;
    let kind = |kind: &u8| if removes(kind) { RowKind::Delete } else { RowKind::Insert };
    ChangeBatch::new(batch.rows().clone(), &kinds.iter().map(kind).collect::<Vec<_>>())
}

impl Operator for WindowAssign {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.spec.shape.check()?;
        let (zone, local) = self.spec.time.zone(&self.spec.input, self.spec.zone.as_deref())?;
        self.opened = Some(Opened { zone, local, clock: Arc::clone(context.clock) });
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if batch.is_empty() {
            return Ok(Progress::Done);
        }
        let opened = self.opened.as_mut().ok_or_else(not_open)?;
        let now = opened.zone.local(opened.clock.now().as_millis());
        local_times(self.spec.time, &batch, &mut opened.zone, now, &mut self.times)?;
        if self.slices.is_tumbling() {
            let _ = out.push(self.tumble(&batch)?)?;
            return Ok(Progress::Done);
        }
        self.rest = Some(Rest { batch, row: 0, given: i64::MIN });
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        while let Some(mut rest) = self.rest.take() {
            let rows = self.expand(&mut rest)?;
            if !rows.is_empty() {
                let _ = out.push(rows)?;
            }
            if rest.row < rest.batch.len() {
                self.rest = Some(rest);
                if !out.is_ready() {
                    return Ok(Progress::More);
                }
            }
        }
        Ok(Progress::Done)
    }
}

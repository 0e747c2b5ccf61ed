//! Where functions put their results: the main output and side outputs, handed on in bounded batches.

use crate::rows::RecordsRest;
use flugs_batch::Records;
use flugs_task::{Counter, OpenContext, Output};
use flugs_types::{Error, Result, Timestamp};
use std::any::Any;
use std::marker::PhantomData;

/// The most rows of a batch that a collector hands on ...
const BATCH_ROWS_MAX: usize = 4096;
/// ... and about the most bytes, as far as the rows' own size goes.
const BATCH_BYTES_MAX: usize = 64 * 1024;

/// After how many rows `T` a batch is handed on.
pub(crate) const fn batch_rows<T>() -> usize {
    let rows = BATCH_BYTES_MAX / (size_of::<T>() + size_of::<Timestamp>());
    if rows > BATCH_ROWS_MAX {
        BATCH_ROWS_MAX
    } else if rows == 0 {
        1
    } else {
        rows
    }
}

/// Names a side output of rows `T` (Flink: `OutputTag`).
///
/// Ports are counted from 0 within an operator. Rows given to a port that nobody reads are dropped.
pub struct OutputTag<T> {
    port: usize,
    rows: PhantomData<fn() -> T>,
}

impl<T> OutputTag<T> {
    /// The side output with this number.
    pub const fn new(port: usize) -> Self {
        OutputTag { port, rows: PhantomData }
    }

    /// Its number.
    pub fn port(self) -> usize {
        self.port
    }
}

impl<T> Clone for OutputTag<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for OutputTag<T> {}

/// Takes what a function makes of one row or timer, and hands it on in batches of bounded size.
///
/// A function may make any number of rows of one: they are handed on as they come. The operator stops taking further rows
/// of its input when its output asks it to.
pub struct Collector<'a, T> {
    out: &'a mut Output<Records<T>>,
    rows: Records<T>,
    /// By port.
    sides: Vec<Option<Box<dyn SideRows<T>>>>,
    time: Timestamp,
    given: usize,
    failure: Option<Error>,
}

impl<'a, T: Send + 'static> Collector<'a, T> {
    /// A collector into `out`; [`finish`](Self::finish) must be called.
    pub fn new(out: &'a mut Output<Records<T>>) -> Self {
        Collector {
            out,
            rows: Records::new(),
            sides: Vec::new(),
            time: Timestamp::MIN,
            given: 0,
            failure: None,
        }
    }

    /// Sets the event time of what is collected from now on; [`Timestamp::MIN`] is none.
    #[inline]
    pub fn set_time(&mut self, time: Timestamp) {
        self.time = time;
    }

    /// Takes a row with the event time of the row, or of the event-time timer, that the function was called with.
    #[inline]
    pub fn collect(&mut self, value: T) {
        self.collect_at(value, self.time);
    }

    /// Takes a row with an event time of its own.
    #[inline]
    pub fn collect_at(&mut self, value: T, time: Timestamp) {
        self.rows.push(value, time);
        if self.rows.len() >= batch_rows::<T>() {
            self.hand_on();
        }
    }

    /// Takes a row for a side output, with the event time that [`collect`](Self::collect) gives.
    pub fn side<S: Send + 'static>(&mut self, tag: OutputTag<S>, value: S) {
        self.side_at(tag, value, self.time);
    }

    /// Takes a row for a side output, with an event time of its own.
    pub fn side_at<S: Send + 'static>(&mut self, tag: OutputTag<S>, value: S, time: Timestamp) {
        if self.sides.len() <= tag.port {
            self.sides.resize_with(tag.port + 1, || None);
        }
        let side = self.sides[tag.port].get_or_insert_with(|| Box::new(Records::<S>::new()));
        let Some(rows) = (side.as_mut() as &mut dyn Any).downcast_mut::<Records<S>>() else {
            let rows = std::any::type_name::<S>();
            let wrong = format!("side output {} is given {rows}, and rows of another type before", tag.port);
            self.failure.get_or_insert_with(|| {
                Error::job(wrong).mend("give each side output of an operator a tag of its own")
            });
            return;
        };
        rows.push(value, time);
        if rows.len() >= batch_rows::<S>() {
            let pushed = side.hand_on(tag.port, self.out);
            self.note(pushed);
        }
    }

    /// Whether the operator may go on with its next row.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.out.is_ready() && self.failure.is_none()
    }

    fn hand_on(&mut self) {
        // Whoever filled a batch will likely fill the next.
        let room = self.rows.len();
        let rows = std::mem::replace(&mut self.rows, Records::with_capacity(room));
        self.give(rows);
    }

    fn give(&mut self, rows: Records<T>) {
        self.given += rows.len();
        let pushed = self.out.push(rows).map(|_| ());
        self.note(pushed);
    }

    fn note(&mut self, pushed: Result<()>) {
        if let Err(e) = pushed {
            self.failure.get_or_insert(e);
        }
    }

    /// Hands on what is left. Says how many rows the main output was given.
    pub fn finish(mut self) -> Result<usize> {
        if !self.rows.is_empty() {
            let rows = std::mem::take(&mut self.rows);
            self.give(rows);
        }
        for (port, side) in std::mem::take(&mut self.sides).into_iter().enumerate() {
            let pushed = side.map_or(Ok(()), |mut side| side.hand_on(port, self.out));
            self.note(pushed);
        }
        match self.failure {
            Some(e) => Err(e),
            None => Ok(self.given),
        }
    }
}

/// Rows for a side output of an operator whose main output carries `T`.
trait SideRows<T>: Any + Send {
    fn hand_on(&mut self, port: usize, out: &mut Output<Records<T>>) -> Result<()>;
}

impl<T: 'static, S: Send + 'static> SideRows<T> for Records<S> {
    fn hand_on(&mut self, port: usize, out: &mut Output<Records<T>>) -> Result<()> {
        if !self.is_empty() {
            let _ = out.push_side(port, std::mem::take(self))?;
        }
        Ok(())
    }
}

/// Calls `f` for each row that is left, until the output asks to stop.
#[inline]
pub(crate) fn for_each<T, U: Send + 'static>(
    rest: &mut RecordsRest<T>,
    out: &mut Collector<'_, U>,
    mut f: impl FnMut(T, Timestamp, &mut Collector<'_, U>) -> Result<()>,
) -> Result<()> {
    for (value, time) in rest.by_ref() {
        out.set_time(time);
        f(value, time, out)?;
        if !out.is_ready() {
            break;
        }
    }
    Ok(())
}

/// The counters of rows that every operator has.
#[derive(Default)]
pub(crate) struct Traffic(Option<(Counter, Counter)>);

impl Traffic {
    pub(crate) fn open(&mut self, context: &OpenContext<'_>) {
        self.0 = Some((context.counter("numRecordsIn"), context.counter("numRecordsOut")));
    }

    pub(crate) fn took(&self, rows: usize) {
        if let Some((rows_in, _)) = &self.0 {
            rows_in.add(rows);
        }
    }

    pub(crate) fn gave(&self, rows: usize) {
        if let Some((_, rows_out)) = &self.0 {
            rows_out.add(rows);
        }
    }
}

//! A sink that drops everything.

use crate::{Committable, Delivery, Prepared, Sink, SinkWriter, WriterContext};
use flugs_batch::{Record, Records};
use flugs_types::{CheckpointId, Result};
use std::marker::PhantomData;

/// Drops every row. What is never visible is visible exactly once.
pub struct BlackholeSink<T>(PhantomData<fn(T)>);

impl<T> BlackholeSink<T> {
    /// A sink that drops everything.
    pub fn new() -> Self {
        BlackholeSink(PhantomData)
    }
}

impl<T> Default for BlackholeSink<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Record> Sink for BlackholeSink<T> {
    type Item = T;

    fn delivery(&self) -> Delivery {
        Delivery::ExactlyOnce
    }

    fn writer(&self, _context: WriterContext, _restored: Vec<Vec<u8>>) -> Result<Box<dyn SinkWriter<T>>> {
        Ok(Box::new(Writer))
    }
}

struct Writer;

impl<T: Record> SinkWriter<T> for Writer {
    fn write(&mut self, _rows: Records<T>) -> Result<()> {
        Ok(())
    }

    fn prepare(&mut self, _checkpoint: CheckpointId, _end: bool) -> Result<Prepared> {
        Ok(Prepared::default())
    }

    fn commit(&mut self, _committables: Vec<Committable>) -> Result<()> {
        Ok(())
    }
}

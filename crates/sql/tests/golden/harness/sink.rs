//! A sink that tests look into.

use flugs_batch::{ChangeBatch, Records};
use flugs_connector::{Committable, Delivery, Prepared, Sink, SinkWriter, WriterContext};
use flugs_table::{ChangelogMode, TableSink};
use flugs_types::{CheckpointId, Error, Result};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct Written {
    /// Of checkpoints that are not complete, by the id of the commit.
    staged: BTreeMap<u64, Vec<ChangeBatch>>,
    committed: Vec<ChangeBatch>,
}

/// A sink that shows what a checkpoint covers, once.
#[derive(Clone, Default)]
pub struct Collected(Arc<Mutex<Written>>);

impl Collected {
    /// All that complete checkpoints cover, in order.
    pub fn committed(&self) -> Vec<ChangeBatch> {
        self.0.lock().expect("written").committed.clone()
    }
}

impl TableSink for Collected {
    fn changelog_mode(&self, query: ChangelogMode) -> ChangelogMode {
        match query {
            ChangelogMode::Append => ChangelogMode::Append,
            _ => ChangelogMode::Retract,
        }
    }

    fn parallelism(&self) -> Option<u32> {
        Some(1)
    }

    fn sink(&self, _: bool) -> Result<Box<dyn Sink<Item = ChangeBatch>>> {
        Ok(Box::new(self.clone()))
    }
}

impl Sink for Collected {
    type Item = ChangeBatch;

    fn delivery(&self) -> Delivery {
        Delivery::ExactlyOnce
    }

    fn writer(&self, _: WriterContext, _: Vec<Vec<u8>>) -> Result<Box<dyn SinkWriter<ChangeBatch>>> {
        Ok(Box::new(Writer { written: self.0.clone(), open: Vec::new() }))
    }
}

struct Writer {
    written: Arc<Mutex<Written>>,
    /// Since the last barrier.
    open: Vec<ChangeBatch>,
}

impl SinkWriter<ChangeBatch> for Writer {
    fn write(&mut self, rows: Records<ChangeBatch>) -> Result<()> {
        self.open.extend(rows.values);
        Ok(())
    }

    fn prepare(&mut self, _: CheckpointId, _: bool) -> Result<Prepared> {
        let mut written = self.written.lock().expect("written");
        let id = written.staged.last_key_value().map_or(0, |(id, _)| id + 1);
        written.staged.insert(id, std::mem::take(&mut self.open));
        Ok(Prepared { committables: vec![Committable(id.to_be_bytes().to_vec())], state: Vec::new() })
    }

    fn commit(&mut self, committables: Vec<Committable>) -> Result<()> {
        let mut written = self.written.lock().expect("written");
        for Committable(id) in committables {
            let id = u64::from_be_bytes(id.try_into().map_err(|_| Error::bug("an id of a commit"))?);
            // A second commit of one id finds it empty.
            if let Some(batches) = written.staged.get_mut(&id).map(std::mem::take) {
                written.committed.extend(batches);
            }
        }
        Ok(())
    }
}

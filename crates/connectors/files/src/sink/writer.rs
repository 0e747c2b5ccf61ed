//! The writer of one subtask.

use super::FileSink;
use super::buckets::Buckets;
use super::files::{self, OpenFile, PartFiles};
use super::names::bucket_folder;
use flugs_batch::Records;
use flugs_connector::{Committable, Prepared, SinkWriter, WriterContext};
use flugs_formats::{Encode, OutputFormat};
use flugs_types::{CheckpointId, Clock, Result, Timestamp};
use std::sync::Arc;

pub(super) struct FileWriter<F: OutputFormat> {
    encoder: F::Encoder,
    buckets: Buckets<F::Item>,
    clock: Arc<dyn Clock>,
    files: PartFiles<()>,
}

impl<F: OutputFormat> FileWriter<F> {
    pub(super) fn new(sink: &FileSink<F>, context: &WriterContext, restored: &[Vec<u8>]) -> Result<Self> {
        Ok(FileWriter {
            encoder: sink.format.encoder(),
            buckets: sink.buckets.clone(),
            clock: Arc::clone(&context.clock),
            files: PartFiles::new(&sink.config, context, restored.iter().map(Vec::as_slice))?,
        })
    }

    /// Takes out the bucket's open file, or creates one, which begins with `first`.
    fn take(&mut self, bucket: &str, first: &F::Item, now: Timestamp) -> Result<OpenFile<()>> {
        let (encoder, nested) = (&mut self.encoder, self.buckets.nested);
        self.files.take(
            bucket,
            |folder| bucket_folder(folder, bucket, nested),
            |buffer| encoder.header(first, buffer),
            now,
        )
    }
}

impl<F: OutputFormat> SinkWriter<F::Item> for FileWriter<F> {
    fn write(&mut self, rows: Records<F::Item>) -> Result<()> {
        let now = self.clock.now();
        let (mut bucket, mut present) = (String::new(), String::new());
        // Rows of one bucket often come together: its file is looked up once for such a run.
        let mut file: Option<OpenFile<()>> = None;
        for (row, time) in rows.iter() {
            self.buckets.name(row, time, &mut bucket);
            if bucket != present
                && let Some(file) = file.take()
            {
                self.files.give_back(std::mem::take(&mut present), file);
            }
            let mut taken = match file.take() {
                Some(file) => file,
                None => {
                    present.clone_from(&bucket);
                    self.take(&bucket, row, now)?
                }
            };
            self.encoder.encode(row, taken.buffer())?;
            taken.appended(now)?;
            if self.files.is_full(&taken) {
                self.files.finish(taken)?;
            } else {
                file = Some(taken);
            }
        }
        if let Some(file) = file {
            self.files.give_back(present, file);
        }
        Ok(())
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.files.next_tick()
    }

    fn tick(&mut self, now: Timestamp) -> Result<()> {
        self.files.tick(now)
    }

    fn prepare(&mut self, _checkpoint: CheckpointId, end: bool) -> Result<Prepared> {
        let (finished, open) = self.files.prepare(end)?;
        Ok(Prepared {
            committables: finished.iter().map(|pending| Committable(pending.encode())).collect(),
            state: open.iter().map(|pending| pending.encode()).collect(),
        })
    }

    fn commit(&mut self, committables: Vec<Committable>) -> Result<()> {
        files::commit(&committables)
    }
}

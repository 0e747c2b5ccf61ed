//! The writer of one subtask.

use super::FileSink;
use super::buckets::Buckets;
use super::names::{Author, PartNames, PartPath, bucket_folder};
use super::part::{Finished, Part, Rolling};
use super::pending::{Pending, sync_folders};
use crate::{Compression, failure};
use flugs_batch::Records;
use flugs_connector::{Committable, Prepared, SinkWriter, WriterContext};
use flugs_formats::{Encode, OutputFormat};
use flugs_types::{CheckpointId, Clock, Result, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) struct FileWriter<F: OutputFormat> {
    folder: PathBuf,
    encoder: F::Encoder,
    buckets: Buckets<F::Item>,
    rolling: Rolling,
    compression: Compression,
    rolls_on_checkpoint: bool,
    open_buckets_max: usize,
    names: PartNames,
    author: Author,
    clock: Arc<dyn Clock>,
    /// The number of the next file.
    next_number: u64,
    /// One file for each bucket, by the bucket's name.
    open: BTreeMap<String, Part>,
    /// Files that wait for the next barrier.
    finished: Vec<Finished>,
    /// Folders with entries that are not forced to disk yet.
    changed_folders: BTreeSet<PathBuf>,
    /// No open file ends by time before this.
    next_tick: Option<Timestamp>,
}

impl<F: OutputFormat> FileWriter<F> {
    pub(super) fn new(sink: &FileSink<F>, context: &WriterContext, restored: &[Vec<u8>]) -> Result<Self> {
        let mut finished = Vec::new();
        for state in restored {
            let pending = Pending::decode(state)?;
            if pending.adopt()? {
                finished.push(Finished::of_checkpoint(pending));
            }
        }
        let mut writer = FileWriter {
            folder: sink.absolute_folder()?,
            encoder: sink.format.encoder(),
            buckets: sink.buckets.clone(),
            rolling: sink.rolling,
            compression: sink.compression,
            rolls_on_checkpoint: sink.roll_on_checkpoint || sink.compression.ends_with_checkpoint(),
            open_buckets_max: sink.open_buckets_max,
            names: sink.names(&context.job, &context.uid)?,
            author: Author {
                subtask: context.subtask,
                generation: context.generation,
                attempt: context.attempt,
            },
            clock: Arc::clone(&context.clock),
            next_number: 0,
            open: BTreeMap::new(),
            finished,
            changed_folders: BTreeSet::new(),
            next_tick: None,
        };
        // A folder that cannot be written to is told at the start, not with the first row.
        let folder = writer.folder.clone();
        writer.create_folder(&folder)?;
        Ok(writer)
    }

    /// Takes out the bucket's open file, or creates one, which begins with `first`.
    fn take_part(&mut self, bucket: &str, first: &F::Item, now: Timestamp) -> Result<Part> {
        if let Some(part) = self.open.remove(bucket) {
            return Ok(part);
        }
        if self.open.len() >= self.open_buckets_max {
            self.finish_longest_waiting()?;
        }
        let mut part = self.create(bucket, now)?;
        self.encoder.header(first, part.buffer())?;
        let ends_at = part.ends_at(&self.rolling);
        self.next_tick = Some(self.next_tick.map_or(ends_at, |tick| tick.min(ends_at)));
        Ok(part)
    }

    fn create(&mut self, bucket: &str, now: Timestamp) -> Result<Part> {
        let folder = bucket_folder(&self.folder, bucket, self.buckets.nested);
        self.create_folder(&folder)?;
        loop {
            let name = self.names.name(self.author, self.next_number);
            self.next_number += 1;
            let path = PartPath { folder: folder.clone(), name };
            if let Some(part) = Part::create(path, self.compression, now)? {
                self.changed_folders.insert(folder);
                return Ok(part);
            }
        }
    }

    fn create_folder(&mut self, folder: &Path) -> Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        std::fs::create_dir_all(folder).map_err(|e| failure::writing(folder, e))?;
        let parents = folder.ancestors().skip(1).take_while(|parent| parent.starts_with(&self.folder));
        self.changed_folders.extend(parents.map(Path::to_owned));
        self.changed_folders.extend(self.folder.parent().map(Path::to_owned));
        Ok(())
    }

    fn finish_longest_waiting(&mut self) -> Result<()> {
        let longest =
            self.open.iter().min_by_key(|(_, part)| part.last_row()).map(|(bucket, _)| bucket.clone());
        match longest.and_then(|bucket| self.open.remove(&bucket)) {
            Some(part) => self.finish(part),
            None => Ok(()),
        }
    }

    fn finish(&mut self, part: Part) -> Result<()> {
        self.finished.push(part.finish()?);
        Ok(())
    }

    fn write_row(&mut self, part: &mut Part, row: &F::Item, now: Timestamp) -> Result<()> {
        self.encoder.encode(row, part.buffer())?;
        part.appended(now)
    }

    fn reset_next_tick(&mut self) {
        self.next_tick = self.open.values().map(|part| part.ends_at(&self.rolling)).min();
    }
}

impl<F: OutputFormat> SinkWriter<F::Item> for FileWriter<F> {
    fn write(&mut self, rows: Records<F::Item>) -> Result<()> {
        let now = self.clock.now();
        let (mut bucket, mut present) = (String::new(), String::new());
        // Rows of one bucket often come together: its file is looked up once for such a run.
        let mut part: Option<Part> = None;
        for (row, time) in rows.iter() {
            self.buckets.name(row, time, &mut bucket);
            if bucket != present
                && let Some(part) = part.take()
            {
                self.open.insert(std::mem::take(&mut present), part);
            }
            let mut taken = match part.take() {
                Some(part) => part,
                None => {
                    present.clone_from(&bucket);
                    self.take_part(&bucket, row, now)?
                }
            };
            self.write_row(&mut taken, row, now)?;
            if taken.is_full(&self.rolling) {
                self.finish(taken)?;
            } else {
                part = Some(taken);
            }
        }
        self.open.extend(part.map(|part| (present, part)));
        Ok(())
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.next_tick
    }

    fn tick(&mut self, now: Timestamp) -> Result<()> {
        let rolling = self.rolling;
        let due: Vec<Part> =
            self.open.extract_if(.., |_, part| part.ends_at(&rolling) <= now).map(|(_, part)| part).collect();
        for part in due {
            self.finish(part)?;
        }
        self.reset_next_tick();
        Ok(())
    }

    fn prepare(&mut self, _checkpoint: CheckpointId, end: bool) -> Result<Prepared> {
        let mut state = Vec::new();
        if end || self.rolls_on_checkpoint {
            for (_, part) in std::mem::take(&mut self.open) {
                self.finish(part)?;
            }
            self.next_tick = None;
        } else {
            for part in self.open.values_mut() {
                state.push(part.sync()?.encode());
            }
        }
        sync_folders(&mut self.changed_folders)?;
        let committables =
            self.finished.drain(..).map(|finished| Committable(finished.into_pending().encode())).collect();
        Ok(Prepared { committables, state })
    }

    fn commit(&mut self, committables: Vec<Committable>) -> Result<()> {
        let mut folders = BTreeSet::new();
        for committable in committables {
            let pending = Pending::decode(&committable.0)?;
            pending.commit()?;
            // Also where it was visible already: the rename may not be on disk yet.
            folders.insert(pending.path.folder);
        }
        sync_folders(&mut folders)
    }
}

//! The open and finished files of one writer, whatever is in them.

use super::config::SinkConfig;
use super::names::{Author, PartNames, PartPath};
use super::part::{Finished, Part, Rolling};
use super::pending::{Pending, sync_folders};
use crate::{Compression, failure};
use flugs_connector::{Committable, WriterContext};
use flugs_types::{Result, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What a file's contents need beside the bytes that are appended.
pub(crate) trait Contents: Send {
    /// Appends what stands at the end of the file.
    fn end(&mut self, out: &mut Vec<u8>) -> Result<()>;
}

/// Files of records, which end with the last one.
impl Contents for () {
    fn end(&mut self, _out: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}

/// An open file.
pub(crate) struct OpenFile<C> {
    part: Part,
    pub(crate) contents: C,
}

impl<C: Contents> OpenFile<C> {
    /// Where to append.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        self.part.buffer()
    }

    /// Contents and where they are appended to.
    #[cfg(feature = "table-base")]
    pub(crate) fn parts(&mut self) -> (&mut C, &mut Vec<u8>) {
        (&mut self.contents, self.part.buffer())
    }

    /// Something was appended.
    pub(crate) fn appended(&mut self, now: Timestamp) -> Result<()> {
        self.part.appended(now)
    }

    fn finish(mut self) -> Result<Finished> {
        self.contents.end(self.part.buffer())?;
        self.part.finish()
    }
}

/// The files of a writer: one is open for each bucket.
pub(crate) struct PartFiles<C> {
    folder: PathBuf,
    rolling: Rolling,
    compression: Compression,
    rolls_on_checkpoint: bool,
    open_buckets_max: usize,
    names: PartNames,
    author: Author,
    /// The number of the next file.
    next_number: u64,
    /// One file for each bucket, by the bucket's name.
    open: BTreeMap<String, OpenFile<C>>,
    /// Files that wait for the next barrier.
    finished: Vec<Finished>,
    /// Folders with entries that are not forced to disk yet.
    changed_folders: BTreeSet<PathBuf>,
    /// No open file ends by time before this.
    next_tick: Option<Timestamp>,
}

impl<C: Contents> PartFiles<C> {
    pub(crate) fn new<'s>(
        config: &SinkConfig,
        context: &WriterContext,
        restored: impl IntoIterator<Item = &'s [u8]>,
    ) -> Result<Self> {
        let mut finished = Vec::new();
        for state in restored {
            let pending = Pending::decode(state)?;
            if pending.adopt()? {
                finished.push(Finished::of_checkpoint(pending));
            }
        }
        let mut files = PartFiles {
            folder: config.absolute_folder()?,
            rolling: config.rolling,
            compression: config.compression,
            rolls_on_checkpoint: config.roll_on_checkpoint || config.compression.ends_with_checkpoint(),
            open_buckets_max: config.open_buckets_max,
            names: config.names(&context.job, &context.uid)?,
            author: Author {
                subtask: context.subtask,
                generation: context.generation,
                attempt: context.attempt,
            },
            next_number: 0,
            open: BTreeMap::new(),
            finished,
            changed_folders: BTreeSet::new(),
            next_tick: None,
        };
        // A folder that cannot be written to is told at the start, not with the first row.
        let folder = files.folder.clone();
        files.create_folder(&folder)?;
        Ok(files)
    }

    /// The folder of the sink.
    #[cfg(feature = "table-base")]
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Takes out the bucket's open file, or creates one in `folder`. It is to be given back or finished.
    pub(crate) fn take(
        &mut self,
        bucket: &str,
        folder: impl FnOnce(&Path) -> PathBuf,
        contents: impl FnOnce(&mut Vec<u8>) -> Result<C>,
        now: Timestamp,
    ) -> Result<OpenFile<C>> {
        if let Some(file) = self.open.remove(bucket) {
            return Ok(file);
        }
        if self.open.len() >= self.open_buckets_max {
            self.finish_longest_waiting()?;
        }
        let mut part = self.create(folder(&self.folder), now)?;
        let contents = contents(part.buffer())?;
        let ends_at = part.ends_at(&self.rolling);
        self.next_tick = Some(self.next_tick.map_or(ends_at, |tick| tick.min(ends_at)));
        Ok(OpenFile { part, contents })
    }

    /// Gives a file back.
    pub(crate) fn give_back(&mut self, bucket: String, file: OpenFile<C>) {
        self.open.insert(bucket, file);
    }

    /// Whether a file has reached its size.
    pub(crate) fn is_full(&self, file: &OpenFile<C>) -> bool {
        file.part.is_full(&self.rolling)
    }

    pub(crate) fn finish(&mut self, file: OpenFile<C>) -> Result<()> {
        self.finished.push(file.finish()?);
        Ok(())
    }

    /// Ends the open file of a bucket, if there is one.
    #[cfg(feature = "table-base")]
    pub(crate) fn finish_bucket(&mut self, bucket: &str) -> Result<()> {
        match self.open.remove(bucket) {
            Some(file) => self.finish(file),
            None => Ok(()),
        }
    }

    fn create(&mut self, folder: PathBuf, now: Timestamp) -> Result<Part> {
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
            self.open.iter().min_by_key(|(_, file)| file.part.last_row()).map(|(bucket, _)| bucket.clone());
        match longest.and_then(|bucket| self.open.remove(&bucket)) {
            Some(file) => self.finish(file),
            None => Ok(()),
        }
    }

    pub(crate) fn next_tick(&self) -> Option<Timestamp> {
        self.next_tick
    }

    /// Ends the files whose time has come.
    pub(crate) fn tick(&mut self, now: Timestamp) -> Result<()> {
        let rolling = self.rolling;
        let due: Vec<OpenFile<C>> = self
            .open
            .extract_if(.., |_, file| file.part.ends_at(&rolling) <= now)
            .map(|(_, file)| file)
            .collect();
        for file in due {
            self.finish(file)?;
        }
        self.next_tick = self.open.values().map(|file| file.part.ends_at(&self.rolling)).min();
        Ok(())
    }

    /// Forces everything to disk. Gives the finished files, which are to be committed, and what is still open.
    pub(crate) fn prepare(&mut self, end: bool) -> Result<(Vec<Pending>, Vec<Pending>)> {
        let mut open = Vec::new();
        if end || self.rolls_on_checkpoint {
            for (_, file) in std::mem::take(&mut self.open) {
                self.finish(file)?;
            }
            self.next_tick = None;
        } else {
            for file in self.open.values_mut() {
                open.push(file.part.sync()?);
            }
        }
        sync_folders(&mut self.changed_folders)?;
        Ok((self.finished.drain(..).map(Finished::into_pending).collect(), open))
    }

    /// Keeps files that were given by [`prepare`](Self::prepare) for a later one.
    #[cfg(feature = "table-base")]
    pub(crate) fn keep(&mut self, finished: Vec<Pending>) {
        self.finished.extend(finished.into_iter().map(Finished::of_checkpoint));
    }
}

/// Makes files visible.
pub(crate) fn commit(committables: &[Committable]) -> Result<()> {
    let mut folders = BTreeSet::new();
    for committable in committables {
        let pending = Pending::decode(&committable.0)?;
        pending.commit()?;
        // Also where it was visible already: the rename may not be on disk yet.
        folders.insert(pending.path.folder);
    }
    sync_folders(&mut folders)
}

//! The writer of one subtask.

use super::commit::{self, WHOLE_VERSION, Waiting};
use super::sink::FileTableSink;
use crate::sink::files::{self, Contents, OpenFile, PartFiles};
use crate::sink::pending::{self, sync_folders};
use crate::source::discovery::Discovery;
use crate::{Compression, codec, failure};
use arrow::array::{RecordBatch, UInt64Array};
use arrow::compute::partition;
use flugs_batch::{Batch, ChangeBatch, Data, Records};
use flugs_connector::{Committable, Prepared, SinkWriter, WriterContext};
use flugs_formats::columns::RowText;
use flugs_table::RecordEncoder;
use flugs_types::{CheckpointId, Clock, Error, Result, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The first byte of a state or committable that lists files to be removed.
pub(super) const OVERWRITTEN_VERSION: u8 = 4;

/// What files hold besides records.
pub(super) enum FileContents {
    Records,
    #[cfg(feature = "parquet")]
    Parquet(Box<super::parquet::ParquetFile>),
}

impl Contents for FileContents {
    fn end(&mut self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            FileContents::Records => {
                let _ = out;
                Ok(())
            }
            #[cfg(feature = "parquet")]
            FileContents::Parquet(file) => file.end(out),
        }
    }
}

pub(super) struct TableWriter {
    sink: FileTableSink,
    /// None where files have no records.
    encoder: Option<Box<dyn RecordEncoder>>,
    files: PartFiles<FileContents>,
    /// The partition columns and the others, by their index.
    key_columns: Vec<usize>,
    other_columns: Vec<usize>,
    waiting: Option<Waiting>,
    overwrites: Option<Overwrites>,
    clock: Arc<dyn Clock>,
}

/// Rows of one partition.
struct Group {
    values: Vec<Option<String>>,
    ranges: Vec<Range<usize>>,
}

impl TableWriter {
    pub(super) fn new(
        sink: &FileTableSink,
        overwrite: bool,
        context: &WriterContext,
        restored: &[Vec<u8>],
    ) -> Result<Self> {
        let table = &sink.table;
        let keys: Vec<String> = table.partitions.keys().iter().map(|key| key.name().clone()).collect();
        let is_key = |name: &str| table.partitions.position(name).is_some();
        let index = |name: &String| {
            table.schema.index_of(name).map_err(|_| Error::bug(format!("there is no column {name}")))
        };
        let key_columns = keys.iter().map(index).collect::<Result<_>>()?;
        let fields = table.schema.fields().iter().enumerate();
        let other_columns = fields.filter(|(_, field)| !is_key(field.name())).map(|(i, _)| i).collect();
        let of_files =
            restored.iter().map(Vec::as_slice).filter(|state| state.first() == Some(&pending::VERSION));
        let files = PartFiles::new(&sink.config(), context, of_files)?;
        let waiting = match &sink.write.commit {
            Some(options) => Some(Waiting::new(options.clone(), keys, restored)?),
            None => None,
        };
        let overwrites = if overwrite { Some(Overwrites::new(files.folder(), restored)?) } else { None };
        Ok(TableWriter {
            encoder: sink.encoder()?,
            sink: sink.clone(),
            files,
            key_columns,
            other_columns,
            waiting,
            overwrites,
            clock: Arc::clone(&context.clock),
        })
    }

    fn write_batch(&mut self, batch: &ChangeBatch, now: Timestamp) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let others = batch
            .rows()
            .project(&self.other_columns)
            .map_err(|e| Error::bug("a batch has other columns than its table").caused_by(e))?;
        let rows = batch.with_rows(others)?;
        if self.key_columns.is_empty() {
            return self.write_rows("", &rows, now);
        }
        for (folder, group) in self.groups(batch.rows())? {
            if let Some(waiting) = &mut self.waiting {
                waiting.add(&folder, &group.values, now)?;
            }
            let of_group = match &group.ranges[..] {
                [range] => rows.slice(range.start, range.len()),
                ranges => {
                    let indices = ranges.iter().cloned().flatten().map(|row| row as u64);
                    rows.take(&UInt64Array::from_iter_values(indices))?
                }
            };
            self.write_rows(&folder, &of_group, now)?;
        }
        Ok(())
    }

    /// The rows of each partition, by its folder.
    fn groups(&self, rows: &RecordBatch) -> Result<BTreeMap<String, Group>> {
        let columns: Vec<_> = self.key_columns.iter().map(|&key| rows.column(key).clone()).collect();
        let runs = partition(&columns)
            .map_err(|e| Error::job("a table cannot be partitioned by columns of this type").caused_by(e))?;
        let text = RowText::new(rows);
        let mut groups: BTreeMap<String, Group> = BTreeMap::new();
        for range in runs.ranges() {
            let value = |&key: &usize| {
                (!rows.column(key).is_null(range.start)).then(|| {
                    let mut out = String::new();
                    text.value(&mut out, key, range.start);
                    out
                })
            };
            let values: Vec<Option<String>> = self.key_columns.iter().map(value).collect();
            let folder = self.sink.table.partitions.folder(&values);
            groups.entry(folder).or_insert_with(|| Group { values, ranges: Vec::new() }).ranges.push(range);
        }
        Ok(groups)
    }

    fn write_rows(&mut self, folder: &str, rows: &ChangeBatch, now: Timestamp) -> Result<()> {
        let (sink, is_records) = (&self.sink, self.encoder.is_some());
        let into = |root: &Path| if folder.is_empty() { root.to_owned() } else { root.join(folder) };
        let mut file = self.files.take(folder, into, |_| new_contents(sink, is_records), now)?;
        if let Some(overwrites) = &mut self.overwrites {
            overwrites.touched(folder);
        }
        write_into(self.encoder.as_deref_mut(), &mut file, rows)?;
        file.appended(now)?;
        if self.files.is_full(&file) {
            self.files.finish(file)
        } else {
            self.files.give_back(folder.to_owned(), file);
            Ok(())
        }
    }

    fn folder_of(&self, partition: &str) -> PathBuf {
        self.files.folder().join(partition)
    }
}

fn new_contents(sink: &FileTableSink, is_records: bool) -> Result<FileContents> {
    if is_records {
        return Ok(FileContents::Records);
    }
    #[cfg(feature = "parquet")]
    {
        let file = super::parquet::ParquetFile::new(&sink.table.in_files, &sink.table.options)?;
        Ok(FileContents::Parquet(Box::new(file)))
    }
    #[cfg(not(feature = "parquet"))]
    {
        let _ = sink;
        Err(Error::bug("files without records and without parquet"))
    }
}

fn write_into(
    encoder: Option<&mut (dyn RecordEncoder + 'static)>,
    file: &mut OpenFile<FileContents>,
    rows: &ChangeBatch,
) -> Result<()> {
    let (contents, buffer) = file.parts();
    match (contents, encoder) {
        (FileContents::Records, Some(encoder)) => encoder.encode(rows, buffer),
        (FileContents::Records, None) => Err(Error::bug("records without an encoder")),
        #[cfg(feature = "parquet")]
        (FileContents::Parquet(file), _) => file.write(rows.rows(), buffer),
    }
}

impl SinkWriter<ChangeBatch> for TableWriter {
    fn write(&mut self, rows: Records<ChangeBatch>) -> Result<()> {
        let now = self.clock.now();
        rows.values.iter().try_for_each(|batch| self.write_batch(batch, now))
    }

    fn advance(&mut self, watermark: Timestamp) -> Result<()> {
        if let Some(waiting) = &mut self.waiting {
            waiting.advance(watermark);
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
        let now = self.clock.now();
        let whole = self.waiting.as_mut().map(|waiting| waiting.take_whole(now, end)).unwrap_or_default();
        for partition in &whole {
            self.files.finish_bucket(partition)?;
        }
        let (finished, open) = self.files.prepare(end)?;
        let mut state: Vec<Vec<u8>> = open.iter().map(|pending| pending.encode()).collect();
        let mut committables = Vec::new();
        match &mut self.overwrites {
            // Nothing is seen before the end, and then what was there before goes.
            Some(overwrites) if !end => {
                state.extend(finished.iter().map(|pending| pending.encode()));
                state.extend(overwrites.states());
                self.files.keep(finished);
            }
            Some(overwrites) => {
                committables.push(overwrites.committable(!self.key_columns.is_empty()));
                committables.extend(finished.iter().map(|pending| pending.encode()));
            }
            None => committables.extend(finished.iter().map(|pending| pending.encode())),
        }
        if let Some(waiting) = &self.waiting {
            committables
                .extend(whole.iter().map(|partition| waiting.committable(&self.folder_of(partition))));
            state.extend(waiting.states());
        }
        Ok(Prepared { committables: committables.into_iter().map(Committable).collect(), state })
    }

    fn commit(&mut self, committables: Vec<Committable>) -> Result<()> {
        let version = |committable: &Committable| committable.0.first().copied();
        let mut folders = BTreeSet::new();
        for committable in committables.iter().filter(|c| version(c) == Some(OVERWRITTEN_VERSION)) {
            folders.extend(remove(&committable.0)?);
        }
        let (others, of_files): (Vec<_>, Vec<_>) = committables
            .into_iter()
            .filter(|c| version(c) != Some(OVERWRITTEN_VERSION))
            .partition(|c| version(c) == Some(WHOLE_VERSION));
        files::commit(&of_files)?;
        for committable in others {
            folders.insert(commit::commit(&committable.0)?);
        }
        sync_folders(&mut folders)
    }
}

/// The files that stood in the table when the job began, and are to go from the partitions that it writes.
struct Overwrites {
    root: PathBuf,
    before: Vec<String>,
    /// Partitions that were written.
    touched: BTreeSet<String>,
}

impl Overwrites {
    fn new(root: &Path, restored: &[Vec<u8>]) -> Result<Self> {
        let mut overwrites =
            Overwrites { root: root.to_owned(), before: Vec::new(), touched: BTreeSet::new() };
        let mut is_restored = !restored.is_empty();
        for state in restored.iter().filter(|state| state.first() == Some(&OVERWRITTEN_VERSION)) {
            let (before, touched) =
                codec::decode("the overwritten files", OVERWRITTEN_VERSION, state, |input| {
                    Ok((Vec::<String>::decode(input)?, Vec::<String>::decode(input)?))
                })?;
            overwrites.before.extend(before);
            overwrites.touched.extend(touched);
            is_restored = true;
        }
        if !is_restored {
            let everything = Discovery {
                path: root.to_owned(),
                compression: Compression::None,
                split_bytes: None,
                may_be_empty: true,
                looks_again: false,
                filter: None,
            };
            overwrites.before = everything.files()?.into_iter().map(|file| file.path).collect();
        }
        Ok(overwrites)
    }

    fn touched(&mut self, partition: &str) {
        if !self.touched.contains(partition) {
            self.touched.insert(partition.to_owned());
        }
    }

    fn encoded(&self, files: Vec<String>, touched: Vec<String>) -> Vec<u8> {
        let mut out = codec::versioned(OVERWRITTEN_VERSION);
        files.encode(&mut out);
        touched.encode(&mut out);
        out
    }

    fn states(&self) -> Vec<Vec<u8>> {
        vec![self.encoded(self.before.clone(), self.touched.iter().cloned().collect())]
    }

    /// The files to be removed: those of written partitions; all of a table that has none.
    fn committable(&self, is_partitioned: bool) -> Vec<u8> {
        let is_touched = |path: &&String| {
            let folder = Path::new(path).parent().unwrap_or(&self.root);
            self.touched.iter().any(|partition| self.root.join(partition) == folder)
        };
        let gone = self.before.iter().filter(|path| !is_partitioned || is_touched(path));
        self.encoded(gone.cloned().collect(), Vec::new())
    }
}

/// Removes files; those that are gone already are no error.
fn remove(committable: &[u8]) -> Result<BTreeSet<PathBuf>> {
    let files = codec::decode("the overwritten files", OVERWRITTEN_VERSION, committable, |input| {
        let files = Vec::<String>::decode(input)?;
        Vec::<String>::decode(input)?;
        Ok(files)
    })?;
    let mut folders = BTreeSet::new();
    for file in files {
        let path = PathBuf::from(file);
        match fs::remove_file(&path) {
            Ok(()) => folders.extend(path.parent().map(Path::to_owned)),
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(failure::writing(&path, e)),
        }
    }
    Ok(folders)
}

//! A table of files that is written.

use super::factory::{Contents, Described};
use super::options::WriteOptions;
use super::writer::TableWriter;
use crate::sink::config::SinkConfig;
use crate::sink::pending;
use flugs_batch::ChangeBatch;
use flugs_connector::{Committable, Delivery, Sink, SinkWriter, WriterContext};
use flugs_table::{ChangelogMode, FieldPath, FormatContext, RecordEncoder, TableSink};
use flugs_types::Result;
use std::sync::Arc;

/// A table of files.
#[derive(Clone)]
pub(super) struct FileTableSink {
    pub(super) table: Arc<Described>,
    pub(super) write: Arc<WriteOptions>,
}

impl FileTableSink {
    pub(super) fn new(table: Described, write: WriteOptions) -> Result<Self> {
        let sink = FileTableSink { table: Arc::new(table), write: Arc::new(write) };
        // Tells wrong options before the first row.
        sink.encoder()?;
        Ok(sink)
    }

    /// What writes records; none where files have no records.
    pub(super) fn encoder(&self) -> Result<Option<Box<dyn RecordEncoder>>> {
        let Some(format) = self.table.contents.format() else { return Ok(None) };
        let in_files = &self.table.in_files;
        let columns: Vec<FieldPath> =
            in_files.fields().iter().map(|field| FieldPath(vec![field.name().clone()])).collect();
        let context = FormatContext {
            table: &self.table.name,
            physical: in_files,
            columns: &columns,
            schema: in_files,
            options: &self.table.options,
        };
        format.encoder(context).map(Some)
    }

    pub(super) fn config(&self) -> SinkConfig {
        let extension = match &self.table.contents {
            Contents::Rows(format) => format.extension(),
            #[cfg(feature = "parquet")]
            Contents::Parquet => super::parquet::NAME,
        };
        let mut config = SinkConfig::new(self.table.files.path.clone(), extension);
        config.rolling.bytes = self.write.roll_bytes.max(1);
        config.rolling.open = self.write.roll_after;
        config.rolling.inactive = self.write.roll_inactive;
        config.roll_on_checkpoint = self.table.contents.format().is_none();
        config
    }
}

impl TableSink for FileTableSink {
    fn changelog_mode(&self, _query: ChangelogMode) -> ChangelogMode {
        self.table.contents.changelog_mode()
    }

    fn parallelism(&self) -> Option<u32> {
        // One alone sees that all rows of a partition are written.
        if self.write.commit.is_some() { Some(1) } else { self.write.parallelism }
    }

    fn supports_overwrite(&self) -> bool {
        true
    }

    fn sink(&self, overwrite: bool) -> Result<Box<dyn Sink<Item = ChangeBatch>>> {
        Ok(Box::new(Writers { sink: self.clone(), overwrite }))
    }
}

struct Writers {
    sink: FileTableSink,
    overwrite: bool,
}

impl Sink for Writers {
    type Item = ChangeBatch;

    fn delivery(&self) -> Delivery {
        Delivery::ExactlyOnce
    }

    fn remove_orphans(
        &self,
        context: &WriterContext,
        states: &[Vec<u8>],
        committables: &[Committable],
    ) -> Result<()> {
        let is_file = |bytes: &[u8]| bytes.first() == Some(&pending::VERSION);
        let states: Vec<Vec<u8>> = states.iter().filter(|state| is_file(state)).cloned().collect();
        let committables: Vec<Committable> =
            committables.iter().filter(|committable| is_file(&committable.0)).cloned().collect();
        self.sink.config().remove_left_over(context, &states, &committables)
    }

    fn writer(
        &self,
        context: WriterContext,
        restored: Vec<Vec<u8>>,
    ) -> Result<Box<dyn SinkWriter<ChangeBatch>>> {
        Ok(Box::new(TableWriter::new(&self.sink, self.overwrite, &context, &restored)?))
    }
}

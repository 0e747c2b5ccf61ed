//! The SQL connectors `filesystem` and `side-input`: files and folders as tables.
//!
//! | option | default | |
//! | --- | --- | --- |
//! | `path` | | a file, a folder or a pattern with `*` and `?`; also `file://...` |
//! | `format` | | `csv`, `json`, `debezium-json`, `raw`, `parquet` (`side-input`: `csv`) |
//! | `source.monitor-interval` | none | looks for new files so often and never ends; without it the table is read once |
//! | `source.path.regex-pattern` | none | only files whose whole path matches this are read |
//! | `partition.default-name` | `__DEFAULT_PARTITION__` | the folder name of NULL |
//! | `sink.rolling-policy.file-size` | `128mb` | a file ends at this size |
//! | `sink.rolling-policy.rollover-interval` | `30min` | a file is open for at most so long |
//! | `sink.rolling-policy.inactivity-interval` | `30min` | a file ends when no row came for so long |
//! | `sink.rolling-policy.check-interval` | `1min` | taken for compatibility: files end when they are due |
//! | `sink.parallelism` | the job's | how many writers there are |
//! | `sink.partition-commit.trigger` | `process-time` | `process-time`: by the time of a partition's first row; `partition-time`: by the time in its name, compared with the watermark |
//! | `sink.partition-commit.delay` | `0 s` | how long after that time |
//! | `sink.partition-commit.policy.kind` | none | `success-file` |
//! | `sink.partition-commit.success-file.name` | `_SUCCESS` | its name |
//! | `sink.partition-commit.watermark-time-zone` | `UTC` | `UTC` alone |
//! | `partition.time-extractor.kind` | `default` | `default` alone |
//! | `partition.time-extractor.timestamp-pattern` | the first partition column | `$dt $hm:00`: where the time in a name stands |
//! | `partition.time-extractor.timestamp-formatter` | none | its letters: `yyyy`, `MM`, `dd`, `HH`, `mm`, `ss` and others that stand for themselves |
//! | `auto-compaction` | `false` | `true` is refused |
//! | `lookup.full-cache.periodic-reload.interval` | none | how often a table that rows are looked up in is read again; also `lookup.cache.ttl` |
//!
//! `side-input` has those of reading alone.
//!
//! Partitioned tables (`PARTITIONED BY (dt, hm)`) stand in folders `dt=2013-01-01/hm=10%3A00`, whose names give the columns; files of
//! partitions that a query's conditions leave out are not opened. Metadata columns are `file.path`, `file.name`, `file.size` and
//! `file.modification-time`. `.gz` and `.zst` files are decompressed.
//!
//! Where order matters (a watermark, a changelog), one reader reads all files in the order of their paths; otherwise all readers read
//! files, and ranges of large ones, as they come. Rows are written exactly once, as [`FileSink`](crate::FileSink) does. With a
//! partition-commit policy there is one writer: only it knows when a partition is whole. `INSERT OVERWRITE` removes what
//! stood in the written partitions (the whole table where it has none) when the job has ended.

mod commit;
mod factory;
mod lookup;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod partitions;
mod plan;
mod rows;
mod sink;
mod source;
#[cfg(test)]
mod tests;
mod writer;

pub use factory::{FileTables, SideInputTables};
#[cfg(feature = "parquet")]
pub use parquet::ParquetFormat;

use flugs_table::Registry;

/// Adds the connectors, and the format `parquet` where it is built in.
pub fn register(registry: &mut Registry) {
    registry.add_connector(FileTables).add_connector(SideInputTables);
    #[cfg(feature = "parquet")]
    registry.add_format(ParquetFormat);
}

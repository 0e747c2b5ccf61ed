//! Sources and exactly-once sinks over local files and folders (and what is mounted as such).
//!
//! [`FileSource`] reads files in parallel, once or for ever; [`FileSink`] writes files that appear whole, once
//! the checkpoint that covers their rows is complete. Both take any format of `flugs-formats`. Nothing here
//! blocks a task on a read; writes go to the system's page cache and are forced to disk at barriers.
//!
//! ```
//! use flugs_files::{Buckets, Compression, FileSink, FileSource};
//! use flugs_formats::{Csv, Lines};
//!
//! let lines = FileSource::new("logs/*/part-*.txt.gz", Lines::new());
//! let cities = FileSource::new("cities.csv", Csv::<(String, u64)>::new().null("NA")).max_record_bytes(1 << 20);
//! let by_hour = FileSink::new("out", Lines::new())
//!     .buckets(Buckets::event_hour())
//!     .compression(Compression::Gzip);
//! # let _ = (lines, cities, by_hour);
//! ```

mod codec;
mod compression;
mod failure;
mod sink;
mod source;
#[cfg(feature = "table-base")]
pub mod table;

pub use compression::Compression;
pub use sink::{Buckets, FileSink};
pub use source::FileSource;

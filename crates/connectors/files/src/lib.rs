//! Sources and exactly-once sinks over local files and folders (and what is mounted as such).
//!
//! [`FileSource`] reads files in parallel, once or for ever; [`FileSink`] writes files that appear whole, once
//! the checkpoint that covers their rows is complete. Both take any format of `flugs-formats`. Nothing here
//! blocks a task on a read; writes go to the system's page cache and are forced to disk at barriers.

mod codec;
mod compression;
mod failure;
mod sink;
mod source;

pub use compression::Compression;
pub use sink::{Buckets, FileSink};
pub use source::FileSource;

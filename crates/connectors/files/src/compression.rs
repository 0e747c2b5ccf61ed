//! Compressed files.

use crate::failure;
use flugs_types::{Error, Result};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Not at all.
    None,
    /// For reading, by the extension: `.gz` and `.zst` (or `.zstd`) are compressed, others are not. For writing: not
    /// at all.
    #[default]
    Auto,
    /// gzip (RFC 1952); members one behind the other are read as one.
    Gzip,
    /// Zstandard (RFC 8878). Needs the feature `zstd`.
    Zstd,
}

const INPUT_BUFFER_BYTES: usize = 64 << 10;

impl Compression {
    /// What `Auto` means for this path.
    pub(crate) fn of(self, path: &str) -> Self {
        match self {
            Compression::Auto if path.ends_with(".gz") => Compression::Gzip,
            Compression::Auto if path.ends_with(".zst") || path.ends_with(".zstd") => Compression::Zstd,
            Compression::Auto => Compression::None,
            other => other,
        }
    }

    /// What file names end with, a dot included.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Compression::None | Compression::Auto => "",
            Compression::Gzip => ".gz",
            Compression::Zstd => ".zst",
        }
    }

    /// Whether output can only be made durable by ending the file.
    pub(crate) fn ends_with_checkpoint(self) -> bool {
        matches!(self, Compression::Gzip | Compression::Zstd)
    }

    /// An error where this build cannot do it.
    pub(crate) fn check(self) -> Result<()> {
        if self == Compression::Zstd && !cfg!(feature = "zstd") {
            return Err(Error::job("this build reads and writes no Zstandard files")
                .mend("build with the feature `zstd`"));
        }
        Ok(())
    }

    /// The uncompressed bytes of `file`. `self` is resolved by [`of`](Self::of).
    pub(crate) fn read(self, file: File, path: &Path) -> Result<Box<dyn Read + Send>> {
        self.check()?;
        match self {
            Compression::None | Compression::Auto => Ok(Box::new(file)),
            Compression::Gzip => {
                let input = BufReader::with_capacity(INPUT_BUFFER_BYTES, file);
                Ok(Box::new(flate2::bufread::MultiGzDecoder::new(input)))
            }
            Compression::Zstd => zstd_reader(file).map_err(|e| failure::reading(path, e)),
        }
    }
}

#[cfg(feature = "zstd")]
fn zstd_reader(file: File) -> std::io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(zstd::stream::read::Decoder::new(file)?))
}

#[cfg(not(feature = "zstd"))]
fn zstd_reader(_file: File) -> std::io::Result<Box<dyn Read + Send>> {
    Err(std::io::ErrorKind::Unsupported.into())
}

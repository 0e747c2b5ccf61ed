//! Bytes on their way to disk, compressed or not.

use crate::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{self, Write};

/// A file that counts what is written to it.
pub(super) struct Counted {
    file: File,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Where a part's bytes go.
pub(super) enum Output {
    Plain(Counted),
    Gzip(Box<GzEncoder<Counted>>),
    #[cfg(feature = "zstd")]
    Zstd(Box<zstd::stream::write::Encoder<'static, Counted>>),
}

impl Output {
    /// Writes to an empty file.
    pub(super) fn new(file: File, compression: Compression) -> io::Result<Self> {
        let file = Counted { file, bytes: 0 };
        match compression {
            Compression::None | Compression::Auto => Ok(Output::Plain(file)),
            Compression::Gzip => {
                Ok(Output::Gzip(Box::new(GzEncoder::new(file, flate2::Compression::default()))))
            }
            #[cfg(feature = "zstd")]
            Compression::Zstd => {
                let encoder = zstd::stream::write::Encoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                Ok(Output::Zstd(Box::new(encoder)))
            }
            #[cfg(not(feature = "zstd"))]
            Compression::Zstd => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// How many bytes the file has.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Output::Plain(file) => file.bytes,
            Output::Gzip(encoder) => encoder.get_ref().bytes,
            #[cfg(feature = "zstd")]
            Output::Zstd(encoder) => encoder.get_ref().bytes,
        }
    }

    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Output::Plain(file) => file.write_all(bytes),
            Output::Gzip(encoder) => encoder.write_all(bytes),
            #[cfg(feature = "zstd")]
            Output::Zstd(encoder) => encoder.write_all(bytes),
        }
    }

    /// Forces an uncompressed file to disk and gives its length.
    pub(super) fn sync(&mut self) -> io::Result<u64> {
        let Output::Plain(file) = self else { return Err(io::ErrorKind::Unsupported.into()) };
        file.file.sync_data()?;
        Ok(file.bytes)
    }

    /// Ends the file, forces it to disk and gives its length.
    pub(super) fn finish(self) -> io::Result<u64> {
        let file = match self {
            Output::Plain(file) => file,
            Output::Gzip(encoder) => encoder.finish()?,
            #[cfg(feature = "zstd")]
            Output::Zstd(encoder) => encoder.finish()?,
        };
        file.file.sync_data()?;
        Ok(file.bytes)
    }
}

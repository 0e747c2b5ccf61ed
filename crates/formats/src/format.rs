//! What a format is.

use crate::Framing;
use flugs_batch::Record;
use flugs_types::Result;
use std::fmt;

/// How records are read from bytes.
pub trait InputFormat: Clone + Send + Sync + 'static {
    /// What one record becomes.
    type Item: Record;
    /// Decodes the records of one file or connection.
    type Decoder: Decode<Self::Item>;

    /// Where records end.
    fn framing(&self) -> Framing;

    /// Whether the first record of each file names the columns and is no row.
    fn has_header(&self) -> bool {
        false
    }

    /// Whether a record (without its line end) stands for nothing and is passed over.
    fn is_blank(&self, record: &[u8]) -> bool {
        record.is_empty()
    }

    /// A decoder for a file whose first record is `header`, which is given where
    /// [`has_header`](Self::has_header) says so and the file is not empty.
    fn decoder(&self, header: Option<&[u8]>) -> Result<Self::Decoder, DecodeError>;
}

/// Turns the bytes of a record into a value.
pub trait Decode<T>: Send + 'static {
    /// Decodes one record, given without its line end.
    fn decode(&mut self, record: &[u8]) -> Result<T, DecodeError>;
}

/// How records are written as bytes.
pub trait OutputFormat: Clone + Send + Sync + 'static {
    /// What is written.
    type Item: Record;
    /// Encodes the records of a writer, which may write several files.
    type Encoder: Encode<Self::Item>;

    /// The usual extension of file names, without a dot.
    fn extension(&self) -> &'static str;

    /// An encoder.
    fn encoder(&self) -> Self::Encoder;
}

/// Turns values into records.
pub trait Encode<T>: Send + 'static {
    /// Appends what stands before the first record of each file. `first` is that record.
    fn header(&mut self, first: &T, out: &mut Vec<u8>) -> Result<()> {
        let _ = (first, out);
        Ok(())
    }

    /// Appends a record with its line end. After an error `out` is as it was.
    fn encode(&mut self, value: &T, out: &mut Vec<u8>) -> Result<()>;
}

/// Why a record cannot be decoded: what was wrong (and what was expected), and where in the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    message: String,
    place: Option<String>,
}

impl DecodeError {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        DecodeError { message: message.into(), place: None }
    }

    /// Adds where in the record it is, such as `column 12`. A second call is ignored.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place.get_or_insert_with(|| place.into());
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{} ({place})", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for DecodeError {}

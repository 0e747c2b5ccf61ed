//! Formats: records of bytes to columns and back.

use crate::options::{OptionSpec, Options};
use arrow::datatypes::SchemaRef;
use flugs_batch::ChangeBatch;
use flugs_types::Result;

use crate::connector::{ChangelogMode, FieldPath};

/// Where a format's records end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordFraming {
    /// At the end of each line.
    Lines,
    /// At the end of each line that is not inside of a quoted field.
    QuotedLines {
        /// Separates fields: a quote counts only at the start of one.
        delimiter: u8,
        /// Opens and closes a field; doubled within one it stands for itself.
        quote: u8,
    },
}

/// What a decoder or encoder is made from.
#[derive(Clone, Copy)]
pub struct FormatContext<'a> {
    /// `catalog.database.table`, for messages.
    pub table: &'a str,
    /// All physical columns of the table (those of a record by position, in CSV).
    pub physical: &'a SchemaRef,
    /// What is to be decoded, with the names and types of `schema`; for encoders all of `physical`.
    pub columns: &'a [FieldPath],
    /// Names and types of the decoded columns.
    pub schema: &'a SchemaRef,
    /// The table's options; those of the format have its name before them (`csv.field-delimiter`).
    pub options: &'a Options,
}

/// Makes decoders and encoders of one format.
pub trait FormatFactory: Send + Sync {
    /// What stands behind `'format' =`.
    fn identifier(&self) -> &'static str;

    /// The options that it knows, without its name before them.
    fn options(&self) -> &'static [OptionSpec];

    /// What decoded rows do.
    fn changelog_mode(&self) -> ChangelogMode {
        ChangelogMode::Append
    }

    /// Where records end, under a table's options.
    fn framing(&self, options: &Options) -> Result<RecordFraming> {
        let _ = options;
        Ok(RecordFraming::Lines)
    }

    /// What names of files end with, without a dot.
    fn extension(&self) -> &'static str {
        self.identifier()
    }

    /// A decoder; each split has its own.
    fn decoder(&self, context: FormatContext<'_>) -> Result<Box<dyn RecordDecoder>>;

    /// An encoder; each writer has its own.
    fn encoder(&self, context: FormatContext<'_>) -> Result<Box<dyn RecordEncoder>>;
}

/// A record and where in a chunk of bytes it stands.
pub type BytesAt<'a> = &'a [u8];

/// A record that cannot be decoded, or not wholly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeFailure {
    /// Which of the records given, counted from 0.
    pub record: usize,
    /// What was wrong, what was expected, and where in the record.
    pub message: String,
    /// Whether there is a row of it all the same, with NULL for what could not be decoded: then it is counted, and is not malformed.
    pub has_row: bool,
}

/// Turns records into columns.
pub trait RecordDecoder: Send {
    /// Decodes records, given without their line ends. Rows come in the order of their records; the good ones of a chunk come even
    /// where others fail. With `ignore-parse-errors` the failures are those that are to be counted, not to fail the job.
    fn decode(&mut self, records: &[BytesAt<'_>]) -> Result<(ChangeBatch, Vec<DecodeFailure>)>;

    /// Whether failures are to be skipped and counted instead of failing the job.
    fn ignores_failures(&self) -> bool {
        false
    }
}

/// Turns columns into records.
pub trait RecordEncoder: Send {
    /// What the format can write.
    fn changelog_mode(&self) -> ChangelogMode {
        ChangelogMode::Append
    }

    /// Appends a record, with its line end, for each row. After an error `out` is as it was.
    fn encode(&mut self, batch: &ChangeBatch, out: &mut Vec<u8>) -> Result<()>;
}

//! CSV after RFC 4180, with the usual freedoms: delimiter, quote, null literal, header or none.

mod fields;
mod read;
mod row;
#[cfg(test)]
mod tests;

pub use read::CsvDecoder;
pub use row::CsvEncoder;

use crate::{DecodeError, Framing, InputFormat, OutputFormat};
use flugs_batch::Record;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// How fields are written and told apart.
#[derive(Debug, Clone)]
struct Dialect {
    delimiter: u8,
    quote: Option<u8>,
    null: Arc<[u8]>,
}

#[derive(Debug, Clone)]
enum Columns {
    /// The first record of each file names them.
    Header,
    /// There is no header: fields go by position.
    Positions,
    /// There is no header, and these are the names.
    Named(Arc<[String]>),
}

/// Records of fields, read and written by the type's serde implementation.
///
/// A struct's fields are found by the names in the header (columns that the struct lacks are ignored) or, with
/// [`headerless`](Self::headerless), by position. `Option` fields are `None` where the field is empty or, outside
/// of quotes, equal to the [null literal](Self::null); another type sees an empty field there. Empty lines are
/// passed over.
///
/// Quoted fields may hold line breaks. Whoever knows that none does says so by
/// [`single_line`](Self::single_line): then large files are read in parallel ranges.
pub struct Csv<T> {
    dialect: Dialect,
    columns: Columns,
    flexible: bool,
    single_line: bool,
    item: PhantomData<fn() -> T>,
}

impl<T> Csv<T> {
    /// Commas, double quotes, a header, and no null literal beside the empty field.
    pub fn new() -> Self {
        Csv {
            dialect: Dialect { delimiter: b',', quote: Some(b'"'), null: Arc::from(&b""[..]) },
            columns: Columns::Header,
            flexible: false,
            single_line: false,
            item: PhantomData,
        }
    }

    /// Separates fields by this byte.
    #[must_use]
    pub fn delimiter(mut self, delimiter: u8) -> Self {
        self.dialect.delimiter = delimiter;
        self
    }

    /// Quotes fields with this byte.
    #[must_use]
    pub fn quote(mut self, quote: u8) -> Self {
        self.dialect.quote = Some(quote);
        self
    }

    /// No byte quotes: each is a part of its field.
    #[must_use]
    pub fn no_quotes(mut self) -> Self {
        self.dialect.quote = None;
        self
    }

    /// What stands for "no value" (`NA`, `\N`) where it is not in quotes.
    #[must_use]
    pub fn null(mut self, literal: &str) -> Self {
        self.dialect.null = Arc::from(literal.as_bytes());
        self
    }

    /// Files have no header: fields go by position.
    #[must_use]
    pub fn headerless(mut self) -> Self {
        self.columns = Columns::Positions;
        self
    }

    /// Files have no header; these are the names of the columns.
    #[must_use]
    pub fn columns<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.columns = Columns::Named(names.into_iter().map(Into::into).collect());
        self
    }

    /// Records may have fewer or more fields than there are columns.
    #[must_use]
    pub fn flexible(mut self) -> Self {
        self.flexible = true;
        self
    }

    /// No field has a line break inside, so files may be read in ranges. A quoted line break then
    /// makes two malformed records.
    #[must_use]
    pub fn single_line(mut self) -> Self {
        self.single_line = true;
        self
    }
}

impl<T> Default for Csv<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for Csv<T> {
    fn clone(&self) -> Self {
        Csv { dialect: self.dialect.clone(), columns: self.columns.clone(), item: PhantomData, ..*self }
    }
}

impl<T> fmt::Debug for Csv<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Csv")
            .field("dialect", &self.dialect)
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}

impl<T: Record + DeserializeOwned> InputFormat for Csv<T> {
    type Item = T;
    type Decoder = CsvDecoder;

    fn framing(&self) -> Framing {
        match self.dialect.quote {
            Some(quote) if !self.single_line => Framing::Quoted { delimiter: self.dialect.delimiter, quote },
            _ => Framing::Lines,
        }
    }

    fn has_header(&self) -> bool {
        matches!(self.columns, Columns::Header)
    }

    fn decoder(&self, header: Option<&[u8]>) -> Result<CsvDecoder, DecodeError> {
        let names = match (&self.columns, header) {
            (Columns::Header, Some(header)) => Some(read::header_names(&self.dialect, header)?),
            (Columns::Named(names), _) => Some(names.iter().collect()),
            (Columns::Header, None) | (Columns::Positions, _) => None,
        };
        Ok(CsvDecoder::new(self.dialect.clone(), names, self.flexible))
    }
}

impl<T: Record + Serialize> OutputFormat for Csv<T> {
    type Item = T;
    type Encoder = CsvEncoder;

    fn extension(&self) -> &'static str {
        "csv"
    }

    fn encoder(&self) -> CsvEncoder {
        CsvEncoder::new(self.dialect.clone(), self.has_header_row())
    }
}

impl<T> Csv<T> {
    fn has_header_row(&self) -> bool {
        matches!(self.columns, Columns::Header)
    }
}

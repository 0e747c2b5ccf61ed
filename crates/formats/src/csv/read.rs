//! From records to values.

use super::Dialect;
use super::fields::split;
use crate::{Decode, DecodeError};
use csv::{ByteRecord, StringRecord};
use serde::de::DeserializeOwned;

/// How much of a field a message shows.
const SHOWN_CHARS_MAX: usize = 40;

/// Reads CSV records.
#[derive(Debug)]
pub struct CsvDecoder {
    dialect: Dialect,
    names: Option<StringRecord>,
    flexible: bool,
    /// Reused from record to record.
    fields: Option<ByteRecord>,
    unescaped: Vec<u8>,
}

impl CsvDecoder {
    pub(super) fn new(dialect: Dialect, names: Option<StringRecord>, flexible: bool) -> Self {
        CsvDecoder { dialect, names, flexible, fields: None, unescaped: Vec::new() }
    }

    fn convert<T: DeserializeOwned>(&self, fields: &StringRecord) -> Result<T, DecodeError> {
        if let Some(names) = &self.names
            && names.len() != fields.len()
            && !self.flexible
        {
            return Err(DecodeError::new(format!(
                "{} fields expected as in the header, {} found",
                names.len(),
                fields.len()
            )));
        }
        fields.deserialize(self.names.as_ref()).map_err(|e| self.explain(&e, fields))
    }

    #[cold]
    fn explain(&self, error: &csv::Error, fields: &StringRecord) -> DecodeError {
        let csv::ErrorKind::Deserialize { err, .. } = error.kind() else {
            return DecodeError::new(error.to_string());
        };
        let message = err.kind().to_string();
        let Some(index) = err.field().and_then(|i| usize::try_from(i).ok()) else {
            return DecodeError::new(message);
        };
        let message = match fields.get(index) {
            Some(field) => {
                let shown: String = field.chars().take(SHOWN_CHARS_MAX).collect();
                format!("'{shown}' does not fit: {message}")
            }
            None => message,
        };
        let place = match self.names.as_ref().and_then(|names| names.get(index)) {
            Some(name) => format!("field {} `{name}`", index + 1),
            None => format!("field {}", index + 1),
        };
        DecodeError::new(message).at(place)
    }
}

impl<T: DeserializeOwned> Decode<T> for CsvDecoder {
    fn decode(&mut self, record: &[u8]) -> Result<T, DecodeError> {
        let mut fields = self.fields.take().unwrap_or_default();
        split(&self.dialect, record, &mut fields, &mut self.unescaped)?;
        let fields = utf8(fields)?;
        let value = self.convert(&fields);
        self.fields = Some(fields.into_byte_record());
        value
    }
}

/// The names in a header.
pub(super) fn header_names(dialect: &Dialect, header: &[u8]) -> Result<StringRecord, DecodeError> {
    let mut fields = ByteRecord::new();
    split(dialect, header, &mut fields, &mut Vec::new())?;
    utf8(fields)
}

fn utf8(fields: ByteRecord) -> Result<StringRecord, DecodeError> {
    StringRecord::from_byte_record(fields).map_err(|e| {
        let at = e.utf8_error();
        DecodeError::new("UTF-8 expected; convert the file's encoding")
            .at(format!("field {}", at.field() + 1))
    })
}

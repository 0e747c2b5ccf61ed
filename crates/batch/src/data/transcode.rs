//! Reading bytes under another schema than the one that wrote them.
use super::{DecodeError, Schema};
/// placeholder
pub struct Transcoder;
/// placeholder
pub fn transcode(_writer: &Schema, _reader: &Schema) -> Result<Transcoder, DecodeError> {
    Ok(Transcoder)
}

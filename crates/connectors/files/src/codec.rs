//! The bytes of splits, enumerator states and committables: a version, then fields as `flugs_batch::data`
//! lays them out.

use flugs_batch::Data;
use flugs_batch::data::{DecodeError, Reader};
use flugs_types::{Error, Result};

/// Starts an encoding of this version.
pub(crate) fn versioned(version: u8) -> Vec<u8> {
    vec![version]
}

/// Decodes all of `bytes`, written as `version`, by `fields`. `what` names them in the error.
pub(crate) fn decode<T>(
    what: &str,
    version: u8,
    bytes: &[u8],
    fields: impl FnOnce(&mut Reader<'_>) -> Result<T, DecodeError>,
) -> Result<T> {
    let mut reader = Reader::new(bytes);
    let found = u8::decode(&mut reader).map_err(|e| damaged(what, &e))?;
    if found != version {
        return Err(Error::state(format!("{what} has version {found}, this build reads version {version}"))
            .mend("restore with the version of Flugs that wrote it, or a later one"));
    }
    let value = fields(&mut reader).map_err(|e| damaged(what, &e))?;
    reader.finish().map_err(|e| damaged(what, &e))?;
    Ok(value)
}

fn damaged(what: &str, error: &DecodeError) -> Error {
    Error::state(format!("{what} in the checkpoint is damaged: {error}"))
        .mend("restore from another checkpoint, or with the version of Flugs that wrote this one")
}

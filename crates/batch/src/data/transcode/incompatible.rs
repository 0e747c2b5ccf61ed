//! Why two schemas do not fit.

use crate::data::Schema;
use flugs_types::Error;
use std::fmt;

/// The schema of stored bytes does not fit the schema that they are to be read as.
///
/// Displays as the field and the reason, then both schemas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incompatible(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    misfit: Misfit,
    writer: Schema,
    reader: Schema,
}

/// One place at which two schemas differ in a way that cannot be bridged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Misfit {
    pub(super) path: String,
    pub(super) reason: String,
}

impl Incompatible {
    pub(super) fn new(misfit: Misfit, writer: &Schema, reader: &Schema) -> Self {
        Incompatible(Box::new(Inner { misfit, writer: writer.clone(), reader: reader.clone() }))
    }

    /// The place, such as `order.lines[].price`; empty for the value itself. `[]` is an element of a list, set or
    /// array or a value of a map, `[key]` a key of a map.
    pub fn path(&self) -> &str {
        &self.0.misfit.path
    }

    /// What does not fit there.
    pub fn reason(&self) -> &str {
        &self.0.misfit.reason
    }
}

impl fmt::Display for Incompatible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { misfit, writer, reader } = &*self.0;
        match misfit.path.as_str() {
            "" => f.write_str(&misfit.reason)?,
            path => write!(f, "{path}: {}", misfit.reason)?,
        }
        write!(f, "\nthe snapshot has\n{writer}\nthe job wants\n{reader}")
    }
}

impl std::error::Error for Incompatible {}

impl From<Incompatible> for Error {
    fn from(e: Incompatible) -> Error {
        Error::state(e.to_string()).mend(
            "keep the field's old type and add a new field with #[data(default)] beside it, \
             or start without this state",
        )
    }
}

//! Names of tables, views and functions.

use flugs_types::{Error, Result};
use std::fmt;

/// The full name of a table, view or function.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectPath {
    /// The catalog.
    pub catalog: String,
    /// The database in it.
    pub database: String,
    /// The name in the database.
    pub name: String,
}

impl ObjectPath {
    /// Whether both are in one database.
    pub fn is_beside(&self, other: &ObjectPath) -> bool {
        self.catalog == other.catalog && self.database == other.database
    }

    /// The same with the name in lower case, as functions are kept.
    #[must_use]
    pub fn lower_name(mut self) -> Self {
        self.name = self.name.to_lowercase();
        self
    }

    /// As SQL writes it.
    pub fn quoted(&self) -> String {
        let quote = |part: &str| format!("`{}`", part.replace('`', "``"));
        [&self.catalog, &self.database, &self.name].map(|part| quote(part)).join(".")
    }
}

impl fmt::Display for ObjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.catalog, self.database, self.name)
    }
}

/// Where names without catalog and database are looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Current {
    /// The current catalog.
    pub catalog: String,
    /// The current database.
    pub database: String,
}

impl Current {
    /// A name of one to three parts as a full path.
    pub fn resolve(&self, parts: &[String]) -> Result<ObjectPath> {
        let (catalog, database, name) = match parts {
            [name] => (&self.catalog, &self.database, name),
            [database, name] => (&self.catalog, database, name),
            [catalog, database, name] => (catalog, database, name),
            _ => {
                return Err(Error::job(format!("'{}' is no name of a table or function", parts.join(".")))
                    .mend("write name, database.name or catalog.database.name"));
            }
        };
        Ok(ObjectPath { catalog: catalog.clone(), database: database.clone(), name: name.clone() })
    }
}

//! Connectors and formats by name.

use crate::connector::TableFactory;
use crate::format::FormatFactory;
use crate::options::nearest;
use flugs_types::{Error, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The connectors and formats that a program knows.
#[derive(Clone, Default)]
pub struct Registry {
    connectors: BTreeMap<&'static str, Arc<dyn TableFactory>>,
    formats: BTreeMap<&'static str, Arc<dyn FormatFactory>>,
}

impl Registry {
    /// One that knows nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a connector; one of the same name before is replaced.
    pub fn add_connector(&mut self, connector: impl TableFactory + 'static) -> &mut Self {
        self.connectors.insert(connector.identifier(), Arc::new(connector));
        self
    }

    /// Adds a format; one of the same name before is replaced.
    pub fn add_format(&mut self, format: impl FormatFactory + 'static) -> &mut Self {
        self.formats.insert(format.identifier(), Arc::new(format));
        self
    }

    /// The connector of a name.
    pub fn connector(&self, name: &str) -> Result<&Arc<dyn TableFactory>> {
        found(&self.connectors, "connector", name)
    }

    /// The format of a name.
    pub fn format(&self, name: &str) -> Result<&Arc<dyn FormatFactory>> {
        found(&self.formats, "format", name)
    }

    /// The names of all connectors.
    pub fn connectors(&self) -> impl Iterator<Item = &'static str> {
        self.connectors.keys().copied()
    }
}

fn found<'r, T>(known: &'r BTreeMap<&'static str, T>, what: &str, name: &str) -> Result<&'r T> {
    known.get(name).ok_or_else(|| {
        let names = known.keys().copied();
        let error = Error::job(format!("there is no {what} '{name}'"));
        match nearest(name, names.clone()) {
            Some(near) => error.mend(format!("did you mean '{near}'?")),
            None => error.mend(format!("known: {}", names.collect::<Vec<_>>().join(", "))),
        }
    })
}

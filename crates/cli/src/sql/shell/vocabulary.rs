//! The names that a shell can complete, as the session knows them now.

use super::words::KEYWORDS;
use flugs_sql::catalog::CatalogObject;
use flugs_sql::{KeyUse, SESSION_KEYS, SqlEnvironment};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Names by what they name.
#[derive(Default)]
pub struct Names {
    /// Tables and views with their columns.
    pub tables: BTreeMap<String, Vec<String>>,
    /// Functions, in upper case.
    pub functions: BTreeSet<String>,
    /// Catalogs and databases.
    pub spaces: BTreeSet<String>,
}

/// Shared between the shell and its editor.
#[derive(Clone)]
pub struct Vocabulary(Arc<Mutex<Names>>);

impl Vocabulary {
    /// The names of a session.
    pub fn shared(session: &SqlEnvironment) -> Self {
        let words = Vocabulary(Arc::default());
        let functions = session.functions().docs().flat_map(|doc| {
            let all = std::iter::once(&doc.name).chain(&doc.aliases);
            all.filter(|name| doc.is_called(name)).cloned()
        });
        let plain = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        words.lock().functions = functions.filter(plain).collect();
        words.refresh(session);
        words
    }

    /// Sees what statements have made since.
    pub fn refresh(&self, session: &SqlEnvironment) {
        let mut names = self.lock();
        let catalogs = session.catalogs();
        let current = catalogs.current();
        names.functions.extend(catalogs.function_names().iter().map(|name| name.to_uppercase()));
        names.tables = catalogs.objects(&current.catalog, &current.database).map_or_else(
            |_| BTreeMap::new(),
            |objects| {
                objects
                    .into_iter()
                    .map(|(name, (object, _))| (name.to_owned(), column_names(object)))
                    .collect()
            },
        );
        names.spaces = catalogs.catalog_names().map(str::to_owned).collect();
        if let Ok(catalog) = catalogs.catalog(&current.catalog) {
            names.spaces.extend(catalog.databases.keys().cloned());
        }
    }

    /// The names as they are now.
    pub fn lock(&self) -> MutexGuard<'_, Names> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names without a session, for tests.
    #[cfg(test)]
    pub fn of(names: Names) -> Self {
        Vocabulary(Arc::new(Mutex::new(names)))
    }
}

/// The keywords.
pub fn keywords() -> impl Iterator<Item = &'static str> {
    KEYWORDS.iter().copied()
}

/// The keys that can be set.
pub fn option_keys() -> impl Iterator<Item = &'static str> {
    let settable = SESSION_KEYS.iter().filter(|key| key.usage == KeyUse::Used);
    settable.map(|key| key.spec.key)
}

fn column_names(object: &CatalogObject) -> Vec<String> {
    match object {
        CatalogObject::Table(table) => table.columns.iter().map(|column| column.name.clone()).collect(),
        CatalogObject::View(view) => view.columns.iter().map(|(name, _)| name.clone()).collect(),
    }
}

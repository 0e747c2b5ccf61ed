//! What names mean: catalogs, databases, tables, views and functions, in memory.
//!
//! A [`Catalogs`] is what a session knows. It is plain data that can be cloned: planning reads a snapshot of it. Names are
//! case sensitive, as in Flink; temporary objects hide others of the same name.

mod names;
mod objects;
#[cfg(test)]
mod tests;

pub use names::{Current, ObjectPath};
pub use objects::{
    CatalogColumn, CatalogFunction, CatalogObject, CatalogTable, CatalogView, ColumnKind, TableKind,
    Watermark,
};

use flugs_table::nearest;
use flugs_types::{Error, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The name of the catalog that is there in the beginning.
pub const DEFAULT_CATALOG: &str = "default_catalog";
/// The name of the database that is there in the beginning.
pub const DEFAULT_DATABASE: &str = "default_database";

/// A database.
#[derive(Debug, Clone, Default)]
pub struct Database {
    /// Tables and views by name.
    pub objects: BTreeMap<String, Arc<CatalogObject>>,
    /// Functions by lower-case name.
    pub functions: BTreeMap<String, Arc<CatalogFunction>>,
    /// Its comment.
    pub comment: Option<String>,
    /// Its properties.
    pub properties: BTreeMap<String, String>,
}

/// A catalog.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// Databases by name.
    pub databases: BTreeMap<String, Database>,
    /// The options it was made with.
    pub options: BTreeMap<String, String>,
    /// Its comment.
    pub comment: Option<String>,
}

/// All that a session knows by name.
#[derive(Debug, Clone)]
pub struct Catalogs {
    catalogs: BTreeMap<String, Catalog>,
    /// Temporary tables and views.
    temporary: BTreeMap<ObjectPath, Arc<CatalogObject>>,
    /// Temporary functions of a database, by path with lower-case name.
    temporary_functions: BTreeMap<ObjectPath, Arc<CatalogFunction>>,
    /// Temporary system functions, by lower-case name.
    system_functions: BTreeMap<String, Arc<CatalogFunction>>,
    /// Where names without catalog and database are looked up.
    current: Current,
}

impl Default for Catalogs {
    fn default() -> Self {
        let catalog = Catalog {
            databases: [(DEFAULT_DATABASE.to_owned(), Database::default())].into(),
            ..Catalog::default()
        };
        Catalogs {
            catalogs: [(DEFAULT_CATALOG.to_owned(), catalog)].into(),
            temporary: BTreeMap::new(),
            temporary_functions: BTreeMap::new(),
            system_functions: BTreeMap::new(),
            current: Current { catalog: DEFAULT_CATALOG.to_owned(), database: DEFAULT_DATABASE.to_owned() },
        }
    }
}

fn missing<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let error = Error::job(format!("there is no {what} '{name}'"));
    match nearest(name, known) {
        Some(near) => error.mend(format!("did you mean '{near}'?")),
        None => {
            error.mend("SHOW TABLES, SHOW DATABASES, SHOW CATALOGS and SHOW FUNCTIONS list what there is")
        }
    }
}

fn exists(what: &str, name: impl std::fmt::Display) -> Error {
    Error::job(format!("{what} '{name}' exists already")).mend("drop it first, or add IF NOT EXISTS")
}

impl Catalogs {
    /// Where names without catalog and database are looked up.
    pub fn current(&self) -> &Current {
        &self.current
    }

    /// The names of all catalogs.
    pub fn catalog_names(&self) -> impl Iterator<Item = &str> {
        self.catalogs.keys().map(String::as_str)
    }

    /// A catalog.
    pub fn catalog(&self, name: &str) -> Result<&Catalog> {
        self.catalogs.get(name).ok_or_else(|| missing("catalog", name, self.catalog_names()))
    }

    /// A database of a catalog.
    pub fn database(&self, catalog: &str, database: &str) -> Result<&Database> {
        let of = self.catalog(catalog)?;
        of.databases
            .get(database)
            .ok_or_else(|| missing("database", database, of.databases.keys().map(String::as_str)))
    }

    /// A database of a catalog, to be changed.
    pub fn database_mut(&mut self, catalog: &str, database: &str) -> Result<&mut Database> {
        self.database(catalog, database)?;
        let of = self.catalogs.get_mut(catalog).and_then(|c| c.databases.get_mut(database));
        of.ok_or_else(|| Error::bug("the database was there"))
    }

    /// Makes a catalog the current one, with its `default` database or its first.
    pub fn use_catalog(&mut self, name: &str) -> Result<()> {
        let catalog = self.catalog(name)?;
        let database = if catalog.databases.contains_key("default") {
            "default".to_owned()
        } else {
            catalog.databases.keys().next().cloned().unwrap_or_default()
        };
        self.current = Current { catalog: name.to_owned(), database };
        Ok(())
    }

    /// Makes a database the current one.
    pub fn use_database(&mut self, catalog: &str, database: &str) -> Result<()> {
        self.database(catalog, database)?;
        self.current = Current { catalog: catalog.to_owned(), database: database.to_owned() };
        Ok(())
    }

    /// Adds a catalog.
    pub fn create_catalog(&mut self, name: &str, catalog: Catalog) -> Result<()> {
        if self.catalogs.contains_key(name) {
            return Err(exists("catalog", name));
        }
        self.catalogs.insert(name.to_owned(), catalog);
        Ok(())
    }

    /// Removes a catalog, which must not be the current one.
    pub fn drop_catalog(&mut self, name: &str) -> Result<()> {
        self.catalog(name)?;
        if self.current.catalog == name {
            return Err(
                Error::job(format!("catalog '{name}' is in use")).mend("USE CATALOG another one first")
            );
        }
        self.catalogs.remove(name);
        self.temporary.retain(|path, _| path.catalog != name);
        self.temporary_functions.retain(|path, _| path.catalog != name);
        Ok(())
    }

    /// Adds a database.
    pub fn create_database(&mut self, catalog: &str, name: &str, database: Database) -> Result<()> {
        self.catalog(catalog)?;
        let of = self.catalogs.get_mut(catalog).ok_or_else(|| Error::bug("the catalog was there"))?;
        if of.databases.contains_key(name) {
            return Err(exists("database", name));
        }
        of.databases.insert(name.to_owned(), database);
        Ok(())
    }

    /// Removes a database, which must be empty unless `cascade`.
    pub fn drop_database(&mut self, catalog: &str, name: &str, cascade: bool) -> Result<()> {
        let database = self.database(catalog, name)?;
        let holds = !database.objects.is_empty() || !database.functions.is_empty();
        if holds && !cascade {
            return Err(Error::job(format!("database '{name}' is not empty")).mend("add CASCADE"));
        }
        if self.current.catalog == catalog && self.current.database == name {
            return Err(Error::job(format!("database '{name}' is in use")).mend("USE another one first"));
        }
        if let Some(of) = self.catalogs.get_mut(catalog) {
            of.databases.remove(name);
        }
        Ok(())
    }

    /// A name of one to three parts as a full path.
    pub fn resolve(&self, parts: &[String]) -> Result<ObjectPath> {
        self.current.resolve(parts)
    }

    /// The table or view of a path, temporary ones first.
    pub fn object(&self, path: &ObjectPath) -> Result<&Arc<CatalogObject>> {
        if let Some(object) = self.temporary.get(path) {
            return Ok(object);
        }
        let database = self.database(&path.catalog, &path.database)?;
        database.objects.get(&path.name).ok_or_else(|| {
            let here = self.temporary.keys().filter(|t| t.is_beside(path)).map(|t| t.name.as_str());
            missing("table or view", &path.name, database.objects.keys().map(String::as_str).chain(here))
        })
    }

    /// Whether the object of a path is temporary.
    pub fn is_temporary(&self, path: &ObjectPath) -> bool {
        self.temporary.contains_key(path)
    }

    /// Adds a table or view. `replace` takes the place of one that is there.
    pub fn create_object(
        &mut self,
        path: ObjectPath,
        object: CatalogObject,
        temporary: bool,
        replace: bool,
    ) -> Result<()> {
        let objects = if temporary {
            if !replace && self.temporary.contains_key(&path) {
                return Err(exists("temporary table or view", &path));
            }
            self.temporary.insert(path, Arc::new(object));
            return Ok(());
        } else {
            &mut self.database_mut(&path.catalog, &path.database)?.objects
        };
        if !replace && objects.contains_key(&path.name) {
            return Err(exists("table or view", &path));
        }
        objects.insert(path.name, Arc::new(object));
        Ok(())
    }

    /// Puts an object in the place of the one that the path now names, temporary or not.
    pub fn alter_object(&mut self, path: &ObjectPath, object: CatalogObject) -> Result<()> {
        let temporary = self.is_temporary(path);
        self.object(path)?;
        self.create_object(path.clone(), object, temporary, true)
    }

    /// Removes a table or view.
    pub fn drop_object(&mut self, path: &ObjectPath, temporary: bool) -> Result<Arc<CatalogObject>> {
        if temporary {
            let here = self.temporary.keys().map(|t| t.name.as_str());
            let error = missing("temporary table or view", &path.name, here);
            return self.temporary.remove(path).ok_or(error);
        }
        if self.temporary.contains_key(path) {
            return Err(
                Error::job(format!("a temporary object hides '{path}'")).mend("DROP TEMPORARY it first")
            );
        }
        let known = self.object(path)?.clone();
        self.database_mut(&path.catalog, &path.database)?.objects.remove(&path.name);
        Ok(known)
    }

    /// All tables and views of a database by name, with whether each is temporary.
    pub fn objects(
        &self,
        catalog: &str,
        database: &str,
    ) -> Result<BTreeMap<&str, (&Arc<CatalogObject>, bool)>> {
        let of = self.database(catalog, database)?;
        let mut all: BTreeMap<&str, _> =
            of.objects.iter().map(|(name, object)| (name.as_str(), (object, false))).collect();
        let here =
            self.temporary.iter().filter(|(path, _)| path.catalog == catalog && path.database == database);
        all.extend(here.map(|(path, object)| (path.name.as_str(), (object, true))));
        Ok(all)
    }

    /// The user's function of a name: temporary system functions, then temporary ones, then those of the database.
    pub fn function(&self, parts: &[String]) -> Option<&Arc<CatalogFunction>> {
        let lower: Vec<String> = match parts.split_last() {
            Some((name, before)) => before.iter().cloned().chain([name.to_lowercase()]).collect(),
            None => return None,
        };
        if let [name] = &lower[..]
            && let Some(function) = self.system_functions.get(name)
        {
            return Some(function);
        }
        let path = self.resolve(&lower).ok()?;
        self.temporary_functions
            .get(&path)
            .or_else(|| self.database(&path.catalog, &path.database).ok()?.functions.get(&path.name))
    }

    /// The user's functions that a name without catalog and database can mean.
    pub fn function_names(&self) -> Vec<String> {
        let current = &self.current;
        let mut names: Vec<String> = self.system_functions.keys().cloned().collect();
        let here = |path: &&ObjectPath| path.catalog == current.catalog && path.database == current.database;
        names.extend(self.temporary_functions.keys().filter(here).map(|path| path.name.clone()));
        if let Ok(database) = self.database(&current.catalog, &current.database) {
            names.extend(database.functions.keys().cloned());
        }
        names.sort();
        names.dedup();
        names
    }

    /// Adds a temporary system function.
    pub fn create_system_function(
        &mut self,
        name: &str,
        function: CatalogFunction,
        replace: bool,
    ) -> Result<()> {
        let name = name.to_lowercase();
        if !replace && self.system_functions.contains_key(&name) {
            return Err(exists("function", name));
        }
        self.system_functions.insert(name, Arc::new(function));
        Ok(())
    }

    /// Adds a function.
    pub fn create_function(
        &mut self,
        path: ObjectPath,
        function: CatalogFunction,
        temporary: bool,
        replace: bool,
    ) -> Result<()> {
        let path = path.lower_name();
        if temporary {
            if !replace && self.temporary_functions.contains_key(&path) {
                return Err(exists("function", &path));
            }
            self.temporary_functions.insert(path, Arc::new(function));
            return Ok(());
        }
        let functions = &mut self.database_mut(&path.catalog, &path.database)?.functions;
        if !replace && functions.contains_key(&path.name) {
            return Err(exists("function", &path));
        }
        functions.insert(path.name, Arc::new(function));
        Ok(())
    }

    /// Removes a function.
    pub fn drop_function(&mut self, path: &ObjectPath, temporary: bool, system: bool) -> Result<()> {
        let path = path.clone().lower_name();
        let removed = if system {
            self.system_functions.remove(&path.name)
        } else if temporary {
            self.temporary_functions.remove(&path)
        } else {
            self.database_mut(&path.catalog, &path.database)?.functions.remove(&path.name)
        };
        let names = self.function_names();
        removed.map(|_| ()).ok_or_else(|| missing("function", &path.name, names.iter().map(String::as_str)))
    }
}

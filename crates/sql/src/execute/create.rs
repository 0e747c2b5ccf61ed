//! `CREATE` statements.

use super::Executed;
use crate::environment::SqlEnvironment;
use crate::failure::{Outcome, placed, semantic};
use crate::result::TableResult;
use flugs_sql_parser::{
    CreateCatalog, CreateDatabase, CreateFunction, CreateTable, CreateView, FunctionLanguage, Insert,
    OptionEntry, Query, Span, SqlError,
};
use flugs_sql_plan::catalog::{Catalog, CatalogFunction, CatalogObject, Database};
use std::collections::BTreeMap;

impl SqlEnvironment {
    pub(super) fn create_table(&mut self, create: &CreateTable) -> Executed {
        let planner = self.planner()?;
        let path = planner.path(&create.name)?;
        if create.if_not_exists && self.catalogs.object(&path).is_ok() {
            return Ok(TableResult::ok());
        }
        let table = planner.declared_table(create)?;
        let before = self.catalogs.clone();
        self.catalogs
            .create_object(path, CatalogObject::Table(table), create.temporary, create.or_replace)
            .map_err(|e| placed(e, create.name.span()))?;
        let Some(query) = &create.query else { return Ok(TableResult::ok()) };
        // The table of a query that cannot be started is not left behind.
        self.fill(create, query).inspect_err(|_| self.catalogs = before)
    }

    /// Starts the job of `CREATE TABLE ... AS`.
    fn fill(&mut self, create: &CreateTable, query: &Query) -> Executed {
        let insert = Insert {
            target: create.name.clone(),
            overwrite: false,
            partition: Vec::new(),
            columns: self.planner()?.columns(query)?.iter().map(|c| named(&c.name)).collect(),
            source: query.clone(),
            hints: Vec::new(),
            conflict: None,
            span: query.span,
        };
        self.insert(&[insert])
    }

    pub(super) fn create_view(&mut self, create: &CreateView) -> Executed {
        let planner = self.planner()?;
        let path = planner.path(&create.name)?;
        if create.if_not_exists && self.catalogs.object(&path).is_ok() {
            return Ok(TableResult::ok());
        }
        let view = planner.declared_view(create)?;
        self.catalogs
            .create_object(path, CatalogObject::View(view), create.temporary, create.or_replace)
            .map_err(|e| placed(e, create.name.span()))?;
        Ok(TableResult::ok())
    }

    pub(super) fn create_function(&mut self, create: &CreateFunction) -> Executed {
        if !create.resources.is_empty() || !is_rust(create.language.as_ref()) {
            let error = SqlError::unsupported("functions of other languages are not supported");
            return Err(error
                .at(create.name.span())
                .help("write it in Rust, register it with the session, and name it here: CREATE FUNCTION f AS 'name'")
                .into());
        }
        let function = self.registered(&create.class, create.name.span())?;
        let path = self.path_of(&create.name)?;
        let parts: Vec<String> = create.name.parts().map(str::to_owned).collect();
        if create.if_not_exists && self.catalogs.function(&parts).is_some() {
            return Ok(TableResult::ok());
        }
        let made = match create.system {
            true => self.catalogs.create_system_function(create.name.object(), function, false),
            false => self.catalogs.create_function(path, function, create.temporary, false),
        };
        made.map_err(|e| placed(e, create.name.span()))?;
        Ok(TableResult::ok())
    }

    /// The function that the program registered under a name, under another.
    pub(super) fn registered(&self, class: &str, span: Span) -> Outcome<CatalogFunction> {
        if self.functions.doc(class).is_some() || self.catalogs.function(&[class.to_owned()]).is_some() {
            return Ok(CatalogFunction::Alias { target: class.to_owned() });
        }
        let error = semantic(format!("no function is registered as '{class}'")).at(span);
        Err(match self.functions.nearest(class) {
            Some(near) => error.help(format!("did you mean '{near}'?")).into(),
            None => {
                error.help("a program registers functions with its session before its statements run").into()
            }
        })
    }

    pub(super) fn create_catalog(&mut self, create: CreateCatalog) -> Executed {
        if create.if_not_exists && self.catalogs.catalog(&create.name.value).is_ok() {
            return Ok(TableResult::ok());
        }
        let mut options = properties(&create.options);
        match options.get("type").map(String::as_str) {
            Some("generic_in_memory") | None => {}
            Some(other) => {
                let kind = create
                    .options
                    .iter()
                    .find(|o| o.key == "type")
                    .map_or(create.name.span, |o| o.value_span);
                let error =
                    SqlError::unsupported(format!("there are no catalogs of type '{other}'")).at(kind);
                return Err(error.help("the known type is 'generic_in_memory'").into());
            }
        }
        options.entry("type".to_owned()).or_insert_with(|| "generic_in_memory".to_owned());
        let default = options.get("default-database").cloned().unwrap_or_else(|| "default".to_owned());
        let catalog =
            Catalog { databases: [(default, Database::default())].into(), options, comment: create.comment };
        self.catalogs.create_catalog(&create.name.value, catalog).map_err(|e| placed(e, create.name.span))?;
        Ok(TableResult::ok())
    }

    pub(super) fn create_database(&mut self, create: CreateDatabase) -> Executed {
        let (catalog, name) = self.database_of(&create.name)?;
        if create.if_not_exists && self.catalogs.database(&catalog, &name).is_ok() {
            return Ok(TableResult::ok());
        }
        let properties = properties(&create.options);
        let database = Database { comment: create.comment, properties, ..Database::default() };
        self.catalogs
            .create_database(&catalog, &name, database)
            .map_err(|e| placed(e, create.name.span()))?;
        Ok(TableResult::ok())
    }
}

/// Whether functions of this language are those that the program registered.
pub(super) fn is_rust(language: Option<&FunctionLanguage>) -> bool {
    match language {
        None => true,
        Some(FunctionLanguage::Other(name)) => name == "RUST",
        Some(_) => false,
    }
}

/// A name of one part.
fn named(name: &str) -> flugs_sql_parser::Name {
    flugs_sql_parser::Name(vec![flugs_sql_parser::Ident::new(name)])
}

/// Keys and values of a `WITH`.
pub(super) fn properties(entries: &[OptionEntry]) -> BTreeMap<String, String> {
    entries.iter().map(|o| (o.key.clone(), o.value.clone())).collect()
}

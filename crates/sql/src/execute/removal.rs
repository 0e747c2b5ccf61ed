//! `DROP` statements.

use super::Executed;
use crate::environment::SqlEnvironment;
use crate::failure::{Outcome, placed, semantic};
use crate::result::TableResult;
use flugs_sql_parser::{Drop, DropKind, Name, SqlError};
use flugs_sql_plan::catalog::CatalogObject;

impl SqlEnvironment {
    pub(super) fn drop_named(&mut self, drop: &Drop) -> Executed {
        match drop.kind {
            DropKind::Catalog => self.drop_catalog(drop),
            DropKind::Database => self.drop_database(drop),
            DropKind::Table | DropKind::View => self.drop_object(drop),
            DropKind::Function => self.drop_function(drop),
        }?;
        Ok(TableResult::ok())
    }

    fn drop_catalog(&mut self, drop: &Drop) -> Outcome<()> {
        let name = drop.name.object();
        if drop.if_exists && self.catalogs.catalog(name).is_err() {
            return Ok(());
        }
        Ok(self.catalogs.drop_catalog(name).map_err(|e| placed(e, drop.name.span()))?)
    }

    fn drop_database(&mut self, drop: &Drop) -> Outcome<()> {
        let (catalog, name) = self.database_of(&drop.name)?;
        if drop.if_exists && self.catalogs.database(&catalog, &name).is_err() {
            return Ok(());
        }
        Ok(self
            .catalogs
            .drop_database(&catalog, &name, drop.cascade)
            .map_err(|e| placed(e, drop.name.span()))?)
    }

    fn drop_object(&mut self, drop: &Drop) -> Outcome<()> {
        let path = self.path_of(&drop.name)?;
        let object = match self.catalogs.object(&path) {
            Err(_) if drop.if_exists => return Ok(()),
            found => found.map_err(|e| placed(e, drop.name.span()))?,
        };
        match (object.as_ref(), drop.kind) {
            (CatalogObject::Table(_), DropKind::View) => {
                return Err(kind(&drop.name, "a table", "DROP TABLE").into());
            }
            (CatalogObject::View(_), DropKind::Table) => {
                return Err(kind(&drop.name, "a view", "DROP VIEW").into());
            }
            _ => {}
        }
        if drop.temporary && drop.if_exists && !self.catalogs.is_temporary(&path) {
            return Ok(());
        }
        self.catalogs.drop_object(&path, drop.temporary).map_err(|e| placed(e, drop.name.span()))?;
        Ok(())
    }

    fn drop_function(&mut self, drop: &Drop) -> Outcome<()> {
        let path = self.path_of(&drop.name)?;
        match self.catalogs.drop_function(&path, drop.temporary, drop.system) {
            Err(_) if drop.if_exists => Ok(()),
            Err(_) if self.functions.doc(drop.name.object()).is_some() => {
                Err(semantic(format!("{} is a built-in function, and stays", drop.name))
                    .at(drop.name.span())
                    .into())
            }
            done => Ok(done.map_err(|e| placed(e, drop.name.span()))?),
        }
    }
}

fn kind(name: &Name, is: &str, instead: &str) -> SqlError {
    semantic(format!("{name} is {is}")).at(name.span()).help(format!("write {instead}"))
}

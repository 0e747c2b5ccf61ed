//! Statements, one function for each kind.

mod alter;
mod create;
mod describe;
mod removal;
mod run;
mod show;

use crate::environment::SqlEnvironment;
use crate::failure::{Outcome, placed};
use crate::result::TableResult;
use flugs_sql_parser::{Name, SqlError, Statement};
use flugs_sql_plan::catalog::ObjectPath;

/// What running a statement gives.
pub(crate) type Executed = Outcome<TableResult>;

impl SqlEnvironment {
    pub(crate) fn run(&mut self, statement: Statement) -> Executed {
        match statement {
            Statement::Query(query) => self.query(&query),
            Statement::Insert(insert) => self.insert(&[insert]),
            Statement::StatementSet(inserts) => self.insert(&inserts),
            Statement::CreateTable(create) => self.create_table(&create),
            Statement::CreateView(create) => self.create_view(&create),
            Statement::CreateFunction(create) => self.create_function(&create),
            Statement::CreateCatalog(create) => self.create_catalog(create),
            Statement::CreateDatabase(create) => self.create_database(create),
            Statement::AlterTable(alter) => self.alter_table(&alter),
            Statement::AlterView(alter) => self.alter_view(&alter),
            Statement::AlterFunction(alter) => self.alter_function(&alter),
            Statement::AlterCatalog(alter) => self.alter_catalog(alter),
            Statement::AlterDatabase(alter) => self.alter_database(alter),
            Statement::Drop(drop) => self.drop_named(&drop),
            Statement::Explain(explain) => self.explain_statement(&explain),
            Statement::Describe(describe) => self.describe(&describe),
            Statement::Show(show) => self.show(&show),
            Statement::UseCatalog(name) => {
                self.catalogs.use_catalog(&name.value).map_err(|e| placed(e, name.span))?;
                Ok(TableResult::ok())
            }
            Statement::UseDatabase(name) => {
                let (catalog, database) = self.database_of(&name)?;
                self.catalogs.use_database(&catalog, &database).map_err(|e| placed(e, name.span()))?;
                Ok(TableResult::ok())
            }
            Statement::Set { key, value } => {
                self.set(&key, &value)?;
                Ok(TableResult::ok())
            }
            Statement::ShowOptions => self.show_options(),
            Statement::Reset(Some(key)) => {
                self.options.reset(&key)?;
                Ok(TableResult::ok())
            }
            Statement::Reset(None) => {
                self.options.reset_all();
                Ok(TableResult::ok())
            }
            Statement::StopJob(stop) => self.stop_job(&stop),
            Statement::Analyze(analyze) => {
                Err(no("ANALYZE TABLE", "plans do not look at statistics").at(analyze.table.span()).into())
            }
            Statement::Truncate(name) => {
                Err(no("TRUNCATE TABLE", "connectors only add to tables").at(name.span()).into())
            }
            Statement::Delete(delete) => {
                Err(no("DELETE", "connectors only add to tables").at(delete.table.span()).into())
            }
            Statement::Update(update) => {
                Err(no("UPDATE", "connectors only add to tables").at(update.table.span()).into())
            }
            Statement::Help | Statement::Quit | Statement::Clear => {
                Err(SqlError::unsupported("this is a command of the shell, not a statement").into())
            }
        }
    }

    /// The catalog and database of a name of one or two parts.
    pub(crate) fn database_of(&self, name: &Name) -> Outcome<(String, String)> {
        let parts: Vec<&str> = name.parts().collect();
        match parts[..] {
            [database] => Ok((self.catalogs.current().catalog.clone(), database.to_owned())),
            [catalog, database] => Ok((catalog.to_owned(), database.to_owned())),
            _ => Err(crate::failure::semantic(format!("{name} is no name of a database"))
                .at(name.span())
                .help("write database or catalog.database")
                .into()),
        }
    }

    /// The full path of a name of a table, view or function.
    pub(crate) fn path_of(&self, name: &Name) -> Outcome<ObjectPath> {
        let parts: Vec<String> = name.parts().map(str::to_owned).collect();
        Ok(self.catalogs.resolve(&parts).map_err(|e| placed(e, name.span()))?)
    }
}

fn no(what: &str, why: &str) -> SqlError {
    SqlError::unsupported(format!("{what} is not supported: {why}"))
}

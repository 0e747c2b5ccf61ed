//! A session: what names mean, what is set, and statements that are run.

use crate::builder::ProgramBuilder;
use crate::collect::{CollectTable, Handover, TableResult};
use flugs_api::Environment;
use flugs_cluster::JobHandle;
use flugs_sql_functions::FunctionRegistry;
use flugs_sql_parser::{Insert, Query, SqlError, Statement, split};
use flugs_sql_plan::catalog::{CatalogObject, Catalogs};
use flugs_sql_plan::plan::Plan;
use flugs_sql_plan::{PlanConfig, Planner, lower};
use flugs_table::Registry;
use flugs_types::{Error, Result};
use std::sync::Arc;

/// A SQL session.
pub struct SqlEnvironment {
    catalogs: Catalogs,
    functions: Arc<FunctionRegistry>,
    registry: Arc<Registry>,
    config: PlanConfig,
}

impl SqlEnvironment {
    /// A session that knows these connectors and formats.
    pub fn new(registry: Registry) -> Self {
        SqlEnvironment {
            catalogs: Catalogs::default(),
            functions: Arc::new(FunctionRegistry::builtin()),
            registry: Arc::new(registry),
            config: PlanConfig::default(),
        }
    }

    /// The options of planning.
    pub fn config_mut(&mut self) -> &mut PlanConfig {
        &mut self.config
    }

    fn planner(&self) -> Planner {
        Planner::new(
            Arc::new(self.catalogs.clone()),
            self.functions.clone(),
            self.registry.clone(),
            self.config.clone(),
        )
    }

    /// Runs a script: each statement is waited for. `each` is given the result of every statement that has rows.
    pub fn execute_script(&mut self, text: &str, mut each: impl FnMut(TableResult) -> Result<()>) -> Result<()> {
        for piece in split(text) {
            let parsed = piece.parse().map_err(|e| e.into_error(text))?;
            let result = self.execute(parsed.statement, text)?;
            if result.columns().is_empty() {
                result.wait()?;
            } else {
                each(result)?;
            }
        }
        Ok(())
    }

    /// Runs a statement; jobs are started and not waited for. `text` is what it was parsed from, for errors.
    pub fn execute(&mut self, statement: Statement, text: &str) -> Result<TableResult> {
        let planner = self.planner();
        let shown = |e: SqlError| e.into_error(text);
        match statement {
            Statement::CreateTable(create) => {
                let path = planner.path(&create.name).map_err(shown)?;
                if create.if_not_exists && self.catalogs.object(&path).is_ok() {
                    return Ok(TableResult::ok());
                }
                let table = planner.declared_table(&create).map_err(shown)?;
                self.catalogs.create_object(path, CatalogObject::Table(table), create.temporary, false)?;
                Ok(TableResult::ok())
            }
            Statement::CreateView(create) => {
                let path = planner.path(&create.name).map_err(shown)?;
                let view = planner.declared_view(&create).map_err(shown)?;
                self.catalogs.create_object(path, CatalogObject::View(view), create.temporary, create.or_replace)?;
                Ok(TableResult::ok())
            }
            Statement::Insert(insert) => self.insert(&planner, &[insert]).map_err(|e| e.shown(text)),
            Statement::StatementSet(inserts) => self.insert(&planner, &inserts).map_err(|e| e.shown(text)),
            Statement::Query(query) => self.query(&planner, &query).map_err(|e| e.shown(text)),
            other => Err(Error::job(format!("{other:?} is not supported yet"))),
        }
    }

    fn insert(&self, planner: &Planner, inserts: &[Insert]) -> std::result::Result<TableResult, Failure> {
        let plan = planner.inserts(inserts)?;
        Ok(TableResult::of_job(self.start(&plan, "insert")?))
    }

    fn query(&self, planner: &Planner, query: &Query) -> std::result::Result<TableResult, Failure> {
        let handover = Handover::default();
        let columns = planner.columns(query)?;
        let plan = planner.query(query, Arc::new(CollectTable(handover.clone())))?;
        Ok(TableResult::of_query(columns, handover, self.start(&plan, "query")?))
    }

    fn start(&self, plan: &Plan, name: &str) -> Result<JobHandle> {
        let program = Environment::new(name);
        program.set_parallelism(self.config.parallelism);
        lower(plan, &self.config, &mut ProgramBuilder(&program))?;
        program.execute_async()
    }
}

/// A mistake in the text, or anything else.
enum Failure {
    Sql(SqlError),
    Other(Error),
}

impl Failure {
    fn shown(self, text: &str) -> Error {
        match self {
            Failure::Sql(e) => e.into_error(text),
            Failure::Other(e) => e,
        }
    }
}

impl From<SqlError> for Failure {
    fn from(e: SqlError) -> Self {
        Failure::Sql(e)
    }
}

impl From<Error> for Failure {
    fn from(e: Error) -> Self {
        Failure::Other(e)
    }
}

//! A session without jobs: declares what a script declares, and plans the rest.

use flugs_batch::ChangeBatch;
use flugs_connector::Sink;
use flugs_sql_functions::FunctionRegistry;
use flugs_sql_parser::{Statement, parse_script};
use flugs_sql_plan::catalog::{CatalogObject, Catalogs};
use flugs_sql_plan::plan::Plan;
use flugs_sql_plan::{PlanConfig, PlanResult, Planner};
use flugs_table::{
    ChangelogMode, LookupSource, OptionSpec, Registry, TableContext, TableFactory, TableSink, TableSource,
};
use flugs_types::{Error, Result};
use std::sync::Arc;

/// What names mean, and statements over them.
#[derive(Clone)]
pub struct Session {
    catalogs: Catalogs,
    functions: Arc<FunctionRegistry>,
    registry: Arc<Registry>,
    /// What is planned by.
    pub config: PlanConfig,
}

impl Session {
    /// A session that knows what `script` declares.
    pub fn new(script: &str) -> Self {
        let mut registry = Registry::new();
        flugs_nexmark::table::register(&mut registry);
        flugs_tables::register(&mut registry);
        registry.add_connector(Log);
        let functions = Arc::new(FunctionRegistry::builtin());
        let config = PlanConfig { parallelism: 2, ..PlanConfig::default() };
        let (catalogs, registry) = (Catalogs::default(), Arc::new(registry));
        let mut session = Session { catalogs, functions, registry, config };
        if let Err(e) = session.plan(script) {
            panic!("{}", e.render(script));
        }
        session
    }

    fn planner(&self) -> Planner {
        let (catalogs, config) = (Arc::new(self.catalogs.clone()), self.config.clone());
        Planner::new(catalogs, self.functions.clone(), self.registry.clone(), config)
    }

    /// Declares and plans the statements of a script, as far as the first mistake.
    pub fn plan(&mut self, script: &str) -> PlanResult<()> {
        self.jobs(script).map(drop)
    }

    /// The plans of a script's jobs.
    pub fn jobs(&mut self, script: &str) -> PlanResult<Vec<Plan>> {
        let mut plans = Vec::new();
        for parsed in parse_script(script)? {
            let planner = self.planner();
            match parsed.statement {
                Statement::CreateTable(create) => {
                    let (path, table) = (planner.path(&create.name)?, planner.declared_table(&create)?);
                    let _ = self.catalogs.create_object(path, CatalogObject::Table(table), false, true);
                }
                Statement::CreateView(create) => {
                    let (path, view) = (planner.path(&create.name)?, planner.declared_view(&create)?);
                    let _ = self.catalogs.create_object(path, CatalogObject::View(view), false, true);
                }
                Statement::Insert(insert) => plans.push(planner.inserts(&[insert])?),
                Statement::StatementSet(inserts) => plans.push(planner.inserts(&inserts)?),
                Statement::Query(query) => {
                    planner.columns(&query)?;
                    plans.push(planner.query(&query, Arc::new(Anything))?);
                }
                _ => {}
            }
        }
        Ok(plans)
    }
}

/// Takes whatever a query gives.
struct Anything;

impl TableSink for Anything {
    fn changelog_mode(&self, query: ChangelogMode) -> ChangelogMode {
        query
    }

    fn sink(&self, _: bool) -> Result<Box<dyn Sink<Item = ChangeBatch>>> {
        Err(Error::job("nothing is run here"))
    }
}

/// A connector that takes inserts alone, cannot be read and knows no options.
struct Log;

impl TableFactory for Log {
    fn identifier(&self) -> &'static str {
        "log"
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[]
    }

    fn source(&self, table: TableContext<'_>) -> Result<Box<dyn TableSource>> {
        Err(Error::job(format!("table '{}' cannot be read", table.name)).mend("a log is written"))
    }

    fn sink(&self, _: TableContext<'_>) -> Result<Box<dyn TableSink>> {
        Ok(Box::new(Inserts))
    }

    fn lookup(&self, table: TableContext<'_>, _: &[usize]) -> Result<Box<dyn LookupSource>> {
        Err(Error::job(format!("table '{}' cannot be read", table.name)))
    }
}

struct Inserts;

impl TableSink for Inserts {
    fn changelog_mode(&self, _: ChangelogMode) -> ChangelogMode {
        ChangelogMode::Append
    }

    fn sink(&self, _: bool) -> Result<Box<dyn Sink<Item = ChangeBatch>>> {
        Err(Error::job("nothing is run here"))
    }
}

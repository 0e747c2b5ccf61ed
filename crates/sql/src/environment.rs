//! A session: what names mean, what is set, which jobs run.

use crate::execute::Executed;
use crate::failure::{Failure, placed, rendered, string_in};
use crate::jobs::Jobs;
use crate::options::SessionOptions;
use crate::result::{SqlJob, TableResult};
use crate::stream::Program;
use flugs_cluster::Runtime;
use flugs_sql_functions::FunctionRegistry;
use flugs_sql_parser::{Describe, Parsed, Piece, Statement, parse_statement, split};
use flugs_sql_plan::catalog::Catalogs;
use flugs_sql_plan::{PlanConfig, Planner};
use flugs_table::Registry;
use flugs_types::Result;
use std::sync::Arc;

/// Is told what a user should know beside results: state without a bound, options without an effect.
pub type WarningListener = Arc<dyn Fn(&str) + Send + Sync>;

/// A SQL session: it knows catalogs, functions, connectors and options, and runs statements one after the other.
pub struct SqlEnvironment {
    pub(crate) catalogs: Catalogs,
    pub(crate) functions: Arc<FunctionRegistry>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) config: PlanConfig,
    pub(crate) options: SessionOptions,
    pub(crate) jobs: Jobs,
    /// What jobs that write tables run on; made when the first starts.
    pub(crate) runtime: Option<Runtime>,
    pub(crate) warnings: Option<WarningListener>,
    /// The program that streams are of, where there is one.
    pub(crate) program: Option<Program>,
}

impl SqlEnvironment {
    /// A session that knows these connectors and formats.
    pub fn new(registry: Registry) -> Self {
        SqlEnvironment {
            catalogs: Catalogs::default(),
            functions: Arc::new(FunctionRegistry::builtin()),
            registry: Arc::new(registry),
            config: PlanConfig::default(),
            options: SessionOptions::default(),
            jobs: Jobs::default(),
            runtime: None,
            warnings: None,
            program: None,
        }
    }

    /// The options of planning where the session's own do not say otherwise.
    pub fn config_mut(&mut self) -> &mut PlanConfig {
        &mut self.config
    }

    /// The options of the session.
    pub fn options(&self) -> &SessionOptions {
        &self.options
    }

    /// Sets an option, as `SET 'key' = 'value'` does.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        if let Some(note) = self.options.set(key, value)? {
            self.warn(&note);
        }
        Ok(())
    }

    /// What names mean.
    pub fn catalogs(&self) -> &Catalogs {
        &self.catalogs
    }

    /// The functions that queries may call, beside those that statements made.
    pub fn functions(&self) -> &FunctionRegistry {
        &self.functions
    }

    /// The connectors and formats.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Who is told warnings from now on; nobody before.
    pub fn on_warning(&mut self, listener: impl Fn(&str) + Send + Sync + 'static) {
        self.warnings = Some(Arc::new(listener));
    }

    /// Runs jobs that write tables on this runtime. Queries whose rows are read here always have one of their own, so that a reader
    /// who takes his time holds up no other job.
    pub fn set_runtime(&mut self, runtime: Runtime) {
        self.runtime = Some(runtime);
    }

    /// The jobs of the session, oldest first.
    pub fn jobs(&self) -> impl Iterator<Item = &SqlJob> {
        self.jobs.all()
    }

    pub(crate) fn warn(&self, text: &str) {
        if let Some(listener) = &self.warnings {
            listener(text);
        }
    }

    pub(crate) fn planner(&self) -> Result<Planner> {
        self.planner_of(|_| {})
    }

    /// A planner whose options are changed last.
    pub(crate) fn planner_of(&self, change: impl FnOnce(&mut PlanConfig)) -> Result<Planner> {
        let mut config = self.config.clone();
        if let Some(program) = &self.program {
            config.parallelism = program.env.parallelism();
        }
        let mut config = self.options.plan_config(&config)?;
        change(&mut config);
        Ok(Planner::new(
            Arc::new(self.catalogs.clone()),
            self.functions.clone(),
            self.registry.clone(),
            config,
        ))
    }

    /// Runs one statement. A job is started and not waited for, unless `table.dml-sync` says so.
    pub fn execute_sql(&mut self, text: &str) -> Result<TableResult> {
        let parsed = parse_statement(text).map_err(|e| rendered(&e, text))?;
        self.execute_parsed(parsed, text)
    }

    /// Runs a piece of a script; the places of its errors are those in the whole text.
    pub fn execute_piece(&mut self, piece: &Piece<'_>, text: &str) -> Result<TableResult> {
        let parsed = piece.parse().map_err(|e| rendered(&e, text))?;
        self.execute_parsed(parsed, text)
    }

    fn execute_parsed(&mut self, parsed: Parsed, text: &str) -> Result<TableResult> {
        // These statements hold strings without their places.
        let strings = match &parsed.statement {
            Statement::Set { key, value } => vec![value.clone(), key.clone()],
            Statement::Reset(Some(key)) => vec![key.clone()],
            Statement::StopJob(stop) => vec![stop.id.clone()],
            Statement::Describe(Describe::Job(id)) => vec![id.clone()],
            _ => Vec::new(),
        };
        let executed: Executed = self.run(parsed.statement);
        executed.map_err(|e| match e {
            Failure::Other(e) if e.kind() == flugs_types::ErrorKind::Job => {
                match string_in(&e, &strings, &parsed.text, parsed.span) {
                    Some(span) => rendered(&placed(e, span), text),
                    None => e,
                }
            }
            other => other.shown(text),
        })
    }

    /// Runs a script. Bounded jobs are waited for one after the other, the others at the end. `each` is given the result of every
    /// statement that has rows. The first error ends the script.
    pub fn execute_script(
        &mut self,
        text: &str,
        mut each: impl FnMut(TableResult) -> Result<()>,
    ) -> Result<()> {
        let mut running = Vec::new();
        for piece in split(text) {
            let result = self.execute_piece(&piece, text)?;
            if !result.columns().is_empty() {
                each(result)?;
            } else if result.job().is_some_and(|job| !job.is_bounded) {
                running.push(result);
            } else {
                result.wait()?;
            }
        }
        running.into_iter().try_for_each(|result| result.wait().map(|_| ()))
    }

    /// Runs a statement that was parsed from `text`, which errors show.
    pub fn execute(&mut self, statement: Statement, text: &str) -> Result<TableResult> {
        let executed: Executed = self.run(statement);
        executed.map_err(|e: Failure| e.shown(text))
    }
}

impl Drop for SqlEnvironment {
    fn drop(&mut self) {
        self.jobs.all().filter(|job| !job.handle.status().is_terminal()).for_each(|job| job.handle.cancel());
    }
}

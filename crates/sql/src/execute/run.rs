//! Statements that plan: queries, inserts, EXPLAIN; and jobs.

use super::Executed;
use crate::builder::ProgramBuilder;
use crate::collect::{CollectTable, Handover};
use crate::environment::SqlEnvironment;
use crate::failure::Outcome;
use crate::options::JobSettings;
use crate::result::{SqlJob, TableResult};
use crate::stream::expect_no_streams;
use flugs_api::Environment;
use flugs_cluster::Runtime;
use flugs_sql_parser::{Explain, ExplainDetail, Insert, Query, SqlError, Statement, StopJob};
use flugs_sql_plan::plan::{Op, Plan};
use flugs_sql_plan::{PlanConfig, Planner, explain, is_bounded, lower, warnings};
use std::sync::Arc;

impl SqlEnvironment {
    pub(super) fn query(&mut self, query: &Query) -> Executed {
        let planner = self.planner()?;
        let handover = Handover::default();
        let columns = planner.columns(query)?;
        let plan = planner.query(query, Arc::new(CollectTable(handover.clone())))?;
        let append_only = plan.sinks.iter().all(|sink| {
            let node = plan.node(*sink);
            node.inputs.iter().all(|input| plan.node(*input).changes.is_append())
        });
        let name = self.options.get("pipeline.name").unwrap_or("collect").to_owned();
        let program = Environment::new(&*name);
        JobSettings::apply_to_query(&program);
        program.runtime(&Runtime::with_workers(workers()));
        let job = self.start(&plan, planner.config(), &program, name)?;
        Ok(TableResult::of_query(columns, append_only, self.options.zone(), handover, job))
    }

    pub(super) fn insert(&mut self, inserts: &[Insert]) -> Executed {
        let planner = self.planner()?;
        let plan = planner.inserts(inserts)?;
        self.write(&planner, &plan)
    }

    /// Starts a job that writes tables.
    pub(super) fn write(&mut self, planner: &Planner, plan: &Plan) -> Executed {
        let name = self.options.get("pipeline.name").map_or_else(|| job_name(plan), str::to_owned);
        let program = Environment::new(&*name);
        JobSettings::of(&self.options)?.apply(&program)?;
        program.runtime(self.runtime.get_or_insert_with(|| Runtime::with_workers(workers())));
        let job = self.start(plan, planner.config(), &program, name)?;
        if self.options.flag("table.dml-sync") {
            job.handle.wait()?;
        }
        Ok(TableResult::of_job(job))
    }

    fn start(
        &mut self,
        plan: &Plan,
        config: &PlanConfig,
        program: &Environment,
        name: String,
    ) -> Outcome<SqlJob> {
        expect_no_streams(plan)?;
        warnings(plan, config).iter().for_each(|warning| self.warn(warning));
        program.set_parallelism(config.parallelism);
        lower(plan, config, &mut ProgramBuilder(program))?;
        let bounded = plan.sinks.iter().all(|sink| is_bounded(plan, *sink));
        Ok(self.jobs.add(name, bounded, program.execute_async()?))
    }

    pub(super) fn explain_statement(&mut self, statement: &Explain) -> Executed {
        let planner = self.planner()?;
        let text = explained(&planner, &statement.statement, &statement.details)?;
        Ok(TableResult::of_text("result", text)?)
    }

    pub(super) fn stop_job(&mut self, stop: &StopJob) -> Executed {
        let job = self.jobs.find(&stop.id)?.clone();
        let status = job.handle.status();
        if status.is_terminal() {
            let error = flugs_types::Error::job(format!("job '{}' is {status} already", stop.id));
            return Err(error.into());
        }
        match (stop.savepoint, stop.drain) {
            (true, drain) => {
                let path = job.handle.stop_with_savepoint(drain).wait()?;
                Ok(TableResult::of_text("savepoint path", path)?)
            }
            (false, true) => {
                job.handle.drain();
                job.handle.wait()?;
                Ok(TableResult::ok())
            }
            (false, false) => {
                job.handle.cancel();
                job.handle.wait()?;
                Ok(TableResult::ok())
            }
        }
    }
}

/// A query that is read here has workers of its own; two at least, so that one that waits for the reader does not hold up the job's
/// end.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(2, |n| n.get().max(2))
}

/// `insert-into_` and the tables, as Flink names jobs.
fn job_name(plan: &Plan) -> String {
    let tables = plan.sinks.iter().filter_map(|sink| match &plan.node(*sink).op {
        Op::Sink(sink) => Some(sink.table.as_str()),
        _ => None,
    });
    format!("insert-into_{}", tables.collect::<Vec<_>>().join(","))
}

fn explained(planner: &Planner, statement: &Statement, details: &[ExplainDetail]) -> Outcome<String> {
    let plan = match statement {
        Statement::Query(query) => planner.query(query, Arc::new(CollectTable(Handover::default())))?,
        Statement::Insert(insert) => planner.inserts(std::slice::from_ref(insert))?,
        Statement::StatementSet(inserts) => planner.inserts(inserts)?,
        Statement::CreateTable(create) if create.query.is_some() => {
            let query =
                create.query.as_ref().ok_or_else(|| flugs_types::Error::bug("the query was there"))?;
            planner.query(query, Arc::new(CollectTable(Handover::default())))?
        }
        _ => return Err(SqlError::unsupported("EXPLAIN is for queries, inserts and statement sets").into()),
    };
    Ok(explain(&plan, planner.config(), details))
}

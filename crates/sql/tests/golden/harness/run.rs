//! Ways to run a script: all its statements, the last of which is a query.

use crate::harness::sink::Collected;
use crate::harness::table::{DEATH, InputTable, RowTables};
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use flugs_api::Environment;
use flugs_batch::{Batch, ChangeBatch};
use flugs_checkpoint::MemoryStore;
use flugs_cluster::{JobHandle, Restore, Runtime};
use flugs_graph::{Edge, Node, NodeId};
use flugs_sql_functions::FunctionRegistry;
use flugs_sql_functions::cast::to_display_string;
use flugs_sql_functions::temporal::Zone;
use flugs_sql_parser::{Query, SqlError, Statement, split};
use flugs_sql_plan::catalog::{CatalogObject, Catalogs};
use flugs_sql_plan::plan::Plan;
use flugs_sql_plan::{AggregatePhases, JobBuilder, PlanConfig, Planner, RuntimeMode, lower};
use flugs_table::Registry;
use flugs_task::{EdgeFactory, NodeFactory};
use flugs_types::{Error, Result, RowKind};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How a script is run.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    /// Streaming or batch.
    pub mode: RuntimeMode,
    /// Subtasks.
    pub parallelism: u32,
    /// Rows of a batch of a source.
    pub batch_rows: usize,
    /// A stop with a savepoint at half of the rows, and then this parallelism.
    pub resume: Option<u32>,
    /// Whether it dies after a checkpoint at half of the rows, and some rows later, in place of that stop.
    pub killed: bool,
    /// In how many phases aggregates are computed.
    pub phases: AggregatePhases,
    /// Rows of a bundle of aggregates, where there are bundles.
    pub bundle: Option<u64>,
    /// Over how many buckets distinct values are spread, where they are.
    pub buckets: Option<NonZeroU32>,
}

impl Way {
    /// Of this mode, parallelism and rows of a batch, and nothing else.
    pub fn new(mode: RuntimeMode, parallelism: u32, batch_rows: usize) -> Self {
        let phases = AggregatePhases::Auto;
        Way {
            mode,
            parallelism,
            batch_rows,
            resume: None,
            killed: false,
            phases,
            bundle: None,
            buckets: None,
        }
    }
}

/// What a run gives.
pub struct Outcome {
    /// The rows of the table that the result is, sorted.
    pub rows: Vec<String>,
    /// All changes in order.
    pub changes: Vec<(RowKind, String)>,
    /// How many of them came before the stop, where the job was stopped and went on.
    pub stopped: Option<usize>,
}

struct Program<'e>(&'e Environment);

impl JobBuilder for Program<'_> {
    fn node(&mut self, node: Node, factory: Arc<dyn NodeFactory>) -> NodeId {
        self.0.add_node(node, factory)
    }

    fn edge(&mut self, edge: Edge, factory: Arc<dyn EdgeFactory>) {
        self.0.add_edge(edge, factory);
    }
}

/// A session over tables from text.
pub struct Session {
    catalogs: Catalogs,
    functions: Arc<FunctionRegistry>,
    registry: Arc<Registry>,
    /// The options of what is planned from now on.
    pub config: PlanConfig,
    /// Its tables.
    pub connector: RowTables,
    runtime: Runtime,
    way: Way,
}

impl Session {
    /// A session with these tables.
    pub fn new(tables: &[InputTable], zone: &str, way: Way, runtime: &Runtime) -> Self {
        let named: BTreeMap<_, _> = tables.iter().map(|t| (t.name.clone(), t.clone())).collect();
        let mut registry = Registry::new();
        flugs_tables::register(&mut registry);
        flugs_files::table::register(&mut registry);
        flugs_formats::columns::register(&mut registry);
        let tables = Arc::new(Mutex::new(named));
        let written = Arc::default();
        let connector = RowTables { tables, batch_rows: way.batch_rows, gate: Arc::default(), written };
        registry.add_connector(connector.clone());
        let config = PlanConfig {
            mode: way.mode,
            parallelism: way.parallelism,
            time_zone: zone.to_owned(),
            aggregate_phases: way.phases,
            distinct_buckets: way.buckets,
            mini_batch: way.bundle.map(|rows| (rows, Duration::from_millis(20))),
            ..PlanConfig::default()
        };
        Session {
            catalogs: Catalogs::default(),
            functions: Arc::new(FunctionRegistry::builtin()),
            registry: Arc::new(registry),
            config,
            connector,
            runtime: runtime.clone(),
            way,
        }
    }

    /// What plans the session's statements.
    pub fn planner(&self, parallelism: u32) -> Planner {
        let config = PlanConfig { parallelism, ..self.config.clone() };
        Planner::new(Arc::new(self.catalogs.clone()), self.functions.clone(), self.registry.clone(), config)
    }

    /// Runs all statements; gives the result of the last one, a query.
    pub fn run(&mut self, script: &str) -> Result<Outcome> {
        let mut outcome = Outcome { rows: Vec::new(), changes: Vec::new(), stopped: None };
        for piece in split(script) {
            let parsed = piece.parse().map_err(|e| e.into_error(script))?;
            if let Some(rows) = self.statement(parsed.statement, script)? {
                outcome = rows;
            }
        }
        Ok(outcome)
    }

    /// Runs a statement; gives the result of a query.
    pub fn statement(&mut self, statement: Statement, script: &str) -> Result<Option<Outcome>> {
        let planner = self.planner(self.way.parallelism);
        let shown = |e: SqlError| e.into_error(script);
        match statement {
            Statement::CreateTable(create) => {
                let path = planner.path(&create.name).map_err(shown)?;
                let table = planner.declared_table(&create).map_err(shown)?;
                self.catalogs.create_object(path, CatalogObject::Table(table), create.temporary, false)?;
            }
            Statement::CreateView(create) => {
                let path = planner.path(&create.name).map_err(shown)?;
                let view = planner.declared_view(&create).map_err(shown)?;
                self.catalogs.create_object(
                    path,
                    CatalogObject::View(view),
                    create.temporary,
                    create.or_replace,
                )?;
            }
            Statement::Insert(insert) => {
                let plan = planner.inserts(&[insert]).map_err(shown)?;
                self.program(&plan, self.way.parallelism)?.execute()?;
            }
            Statement::StatementSet(inserts) => {
                let plan = planner.inserts(&inserts).map_err(shown)?;
                self.program(&plan, self.way.parallelism)?.execute()?;
            }
            Statement::Query(query) => return self.query(&query, script).map(Some),
            _ => return Err(Error::job("the harness has no such statement")),
        }
        Ok(None)
    }

    /// The job of a plan.
    pub fn program(&self, plan: &Plan, parallelism: u32) -> Result<Environment> {
        let program = Environment::new("golden");
        program.set_parallelism(parallelism).runtime(&self.runtime).checkpoint_interval(None);
        program.restart_strategy(flugs_cluster::RestartStrategy::None);
        let config = PlanConfig { parallelism, ..self.config.clone() };
        lower(plan, &config, &mut Program(&program))?;
        Ok(program)
    }

    fn planned(
        &self,
        query: &Query,
        script: &str,
        parallelism: u32,
        into: &Collected,
    ) -> Result<Environment> {
        let planner = self.planner(parallelism);
        let plan = planner.query(query, Arc::new(into.clone())).map_err(|e| e.into_error(script))?;
        self.program(&plan, parallelism)
    }

    fn query(&self, query: &Query, script: &str) -> Result<Outcome> {
        let written = Collected::default();
        let scans = &self.connector.gate.scans;
        scans.store(0, Ordering::SeqCst);
        let program = self.planned(query, script, self.way.parallelism, &written)?;
        let Some(resumed) = self.way.resume.filter(|_| scans.load(Ordering::SeqCst) > 0) else {
            program.execute()?;
            return outcome(&written, None);
        };
        let store = Arc::new(MemoryStore::default());
        let restore = match self.way.killed {
            false => Restore::Path(self.stopped(&program, &store)?),
            true if self.killed(&program, &store)? => Restore::Latest,
            true => return outcome(&written, None),
        };
        let before = written.committed().iter().map(Batch::len).sum();
        let program = self.planned(query, script, resumed, &written)?;
        program.checkpoint_store(store).restore(restore);
        program.execute()?;
        outcome(&written, Some(before))
    }

    /// Runs a job until half of each table is read, and stops it; gives the path of its savepoint.
    pub fn stopped(&self, program: &Environment, store: &Arc<MemoryStore>) -> Result<String> {
        let job = self.half(program, store)?;
        let savepoint = job.stop_with_savepoint(false).wait();
        job.wait()?;
        self.connector.gate.closed.store(false, Ordering::SeqCst);
        savepoint
    }

    /// Runs a job until half of each table is read, takes a checkpoint, and lets it die of the rows behind: what it keeps of them and
    /// what it wrote of them is lost. False where it had ended before.
    fn killed(&self, program: &Environment, store: &Arc<MemoryStore>) -> Result<bool> {
        let gate = &self.connector.gate;
        let job = self.half(program, store)?;
        let checkpoint = job.trigger_checkpoint().wait();
        gate.deadly.store(checkpoint.is_ok(), Ordering::SeqCst);
        gate.closed.store(false, Ordering::SeqCst);
        let ended = job.wait();
        gate.deadly.store(false, Ordering::SeqCst);
        match ended {
            Err(error) if error.to_string().contains(DEATH) => Ok(true),
            Err(error) => Err(error),
            Ok(_) => Ok(false),
        }
    }

    /// A job that has read half of each table, or has ended.
    fn half(&self, program: &Environment, store: &Arc<MemoryStore>) -> Result<JobHandle> {
        let gate = &self.connector.gate;
        program.checkpoint_store(store.clone());
        gate.held.store(0, Ordering::SeqCst);
        gate.closed.store(true, Ordering::SeqCst);
        let job = program.execute_async()?;
        let scans = gate.scans.load(Ordering::SeqCst);
        for _ in 0..5000 {
            if gate.held.load(Ordering::SeqCst) >= scans || job.status().is_terminal() {
                break;
            }
            job.wait_until(Duration::from_millis(1), |_| false);
        }
        Ok(job)
    }
}

/// Runs a script over tables; a panic is a failure as any other.
pub fn attempt(
    tables: &[InputTable],
    zone: &str,
    way: Way,
    script: &str,
    runtime: &Runtime,
) -> std::result::Result<Outcome, String> {
    let run = || Session::new(tables, zone, way, runtime).run(script).map_err(|e| e.to_string());
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_or_else(|_| Err("PANIC".to_owned()))
}

/// The rows of a batch as text.
pub fn text(batch: &ChangeBatch) -> Result<Vec<(RowKind, String)>> {
    let shown = |e| Error::job("a row cannot be shown").caused_by(e);
    let time = Some("%Y-%m-%d %H:%M:%S%.f");
    let options = FormatOptions::new()
        .with_null("NULL")
        .with_timestamp_format(time)
        .with_timestamp_tz_format(time)
        .with_time_format(Some("%H:%M:%S%.f"));
    let schema = batch.rows().schema();
    let arrays = batch.rows().columns().iter().zip(schema.fields());
    let arrays = arrays.map(|(array, field)| match field.data_type() {
        DataType::Interval(_) => Ok(Arc::new(to_display_string(array, field, &Zone::UTC)?) as ArrayRef),
        _ => Ok(array.clone()),
    });
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    let columns = arrays.iter().map(|c| ArrayFormatter::try_new(c, &options).map_err(shown));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let mut lines = Vec::new();
    for row in 0..batch.len() {
        let mut values = Vec::new();
        for column in &columns {
            let value = column.value(row).try_to_string().map_err(shown)?;
            values.push(value.trim().to_owned());
        }
        lines.push((batch.kind(row), values.join(" | ")));
    }
    Ok(lines)
}

fn outcome(written: &Collected, stopped: Option<usize>) -> Result<Outcome> {
    let mut changes = Vec::new();
    for batch in written.committed() {
        changes.extend(text(&batch)?);
    }
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for (kind, row) in &changes {
        let count = counts.entry(row).or_default();
        *count += if kind.is_addition() { 1 } else { -1 };
        if *count < 0 {
            return Err(Error::bug(format!("a row was taken back before it was given: {row}")));
        }
    }
    let rows = counts.iter().flat_map(|(row, count)| std::iter::repeat_n((*row).to_owned(), *count as usize));
    Ok(Outcome { rows: rows.collect(), changes, stopped })
}

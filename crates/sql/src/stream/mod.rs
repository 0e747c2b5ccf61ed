//! Streams of a program as tables, and tables as streams of the program.
//!
//! A session that was made with [`SqlEnvironment::of_program`] adds what it plans to that program, so that one job goes from streams
//! to SQL and back, with one `execute`, one watermark and the checkpoints of the program over all of it. State of SQL's operators
//! stands under the digest of what they compute, as in other jobs of SQL.

mod reading;
mod schema;
mod writing;

pub use schema::StreamSchema;

use crate::builder::ProgramBuilder;
use crate::environment::SqlEnvironment;
use crate::failure::{Outcome, rendered};
use crate::table::Table;
use flugs_api::{DataStream, Environment};
use flugs_batch::Data;
use flugs_graph::NodeId;
use flugs_sql_parser::{Statement, parse_statement};
use flugs_sql_plan::catalog::{CatalogObject, ObjectPath, TableKind};
use flugs_sql_plan::plan::{Op, Plan};
use flugs_sql_plan::{
    PlanConfig, RuntimeMode, ScanSource, StreamInput, StreamTarget, Uids, lower_into, warnings,
};
use flugs_sql_types::SqlRow;
use flugs_table::{ChangelogMode, Registry};
use flugs_types::{Error, Result, RowKind};
use reading::StreamTable;
use std::sync::Arc;
use writing::StreamRows;

/// The program of a session, and what the session has added to it.
pub(crate) struct Program {
    pub(crate) env: Environment,
    uids: Uids,
    /// How many streams became tables without a name.
    unnamed: u32,
    /// How many tables became streams.
    streams: u32,
}

impl SqlEnvironment {
    /// A session whose tables may be streams of a program, and whose queries may become streams of it (Flink:
    /// `StreamTableEnvironment.create`).
    ///
    /// What [`to_stream`](Self::to_stream) and [`attach_sql`](Self::attach_sql) add runs when the program is executed, in streaming
    /// mode, with the program's parallelism unless the session's options say another, and with its checkpoints. Queries that
    /// [`execute_sql`](Self::execute_sql) runs are jobs of their own, as in any session, and cannot read the program's streams.
    pub fn of_program(program: &Environment, registry: Registry) -> Self {
        let mut session = SqlEnvironment::new(registry);
        session.program =
            Some(Program { env: program.clone(), uids: Uids::default(), unnamed: 0, streams: 0 });
        session
    }

    /// A stream as a table that grows: each row is an insert (Flink: `fromDataStream`). Its columns are those of the rows, see
    /// [`SqlRow`].
    pub fn from_stream<T: Data + SqlRow>(&mut self, stream: &DataStream<T>) -> Result<Table> {
        self.from_stream_with(stream, StreamSchema::new())
    }

    /// Likewise, with columns of time, computed columns, a key or a name.
    pub fn from_stream_with<T: Data + SqlRow>(
        &mut self,
        stream: &DataStream<T>,
        schema: StreamSchema,
    ) -> Result<Table> {
        let table = StreamTable::new(stream, ChangelogMode::Append, |row: T| (RowKind::Insert, row));
        self.add_stream::<T>(stream.environment(), Arc::new(table), ChangelogMode::Append, schema)
    }

    /// A stream of changes as a table that they describe (Flink: `fromChangelogStream`). `mode` says which kinds come:
    /// [`Upsert`](ChangelogMode::Upsert) needs a [primary key](StreamSchema::primary_key).
    ///
    /// ```
    /// # use flugs_api::Environment; use flugs_connector::MemorySink; use flugs_sql::{SqlEnvironment, StreamSchema};
    /// # use flugs_table::{ChangelogMode, Registry}; use flugs_types::RowKind;
    /// # fn main() -> flugs_types::Result<()> {
    /// let env = Environment::new("stock");
    /// let changes = [("nuts", 5i64), ("bolts", 7), ("nuts", 3)];
    /// let changes = changes.map(|(part, n)| (RowKind::UpdateAfter, (part.to_owned(), n)));
    /// let changes = env.from_collection(changes);
    /// let mut sql = SqlEnvironment::of_program(&env, Registry::new());
    /// let schema = StreamSchema::new().name("stock").primary_key(["f0"]);
    /// sql.from_changelog_stream(&changes, schema, ChangelogMode::Upsert)?;
    /// let all = sql.sql_query("SELECT SUM(f1) FROM stock")?;
    ///
    /// let out = MemorySink::new();
    /// sql.to_changelog_stream::<(Option<i64>,)>(&all)?.sink_to(out.clone(), "out");
    /// env.execute()?;
    /// assert_eq!(out.rows().last(), Some(&(RowKind::Insert, (Some(10),)))); // the nuts are 3 by now
    /// # Ok(()) }
    /// ```
    pub fn from_changelog_stream<T: Data + SqlRow>(
        &mut self,
        stream: &DataStream<(RowKind, T)>,
        schema: StreamSchema,
        mode: ChangelogMode,
    ) -> Result<Table> {
        let table = StreamTable::new(stream, mode, |change: (RowKind, T)| change);
        self.add_stream::<T>(stream.environment(), Arc::new(table), mode, schema)
    }

    fn add_stream<T: SqlRow>(
        &mut self,
        of: &Environment,
        input: Arc<dyn StreamInput>,
        mode: ChangelogMode,
        schema: StreamSchema,
    ) -> Result<Table> {
        let program = self.program()?;
        if !program.env.is_same(of) {
            return Err(Error::job("the stream is one of another program than the session's")
                .mend("make the session with SqlEnvironment::of_program of the stream's environment"));
        }
        let name = schema.name.clone().unwrap_or_else(|| {
            program.unnamed += 1;
            format!("$stream_{}", program.unnamed)
        });
        let planner = self.planner()?;
        let path = self.catalogs.resolve(std::slice::from_ref(&name))?;
        let kind = TableKind::Inline(ScanSource::Stream(input));
        let mut table = schema.table(T::fields(), mode, kind, self.catalogs.current().clone())?;
        let failed = |e| rendered(&e, "");
        planner.settle_table(&path, &mut table, &[]).map_err(failed)?;
        planner.check_table(&path, &table).map_err(failed)?;
        self.catalogs.create_object(path.clone(), CatalogObject::Table(table), true, false)?;
        self.table_at(&path)
    }

    fn table_at(&self, path: &ObjectPath) -> Result<Table> {
        self.table(&path.quoted())
    }

    /// A table that grows as a stream of rows (Flink: `toDataStream`): the columns of a struct are the query's of these names, those of
    /// a tuple the query's in order. Where one of them is a row-time attribute, that is the event time of the rows; the watermark
    /// goes on in any case.
    ///
    /// A query that updates or deletes rows is an error: see [`to_changelog_stream`](Self::to_changelog_stream).
    ///
    /// ```
    /// # use flugs_api::Environment; use flugs_connector::MemorySink; use flugs_sql::{SqlEnvironment, StreamSchema};
    /// # use flugs_table::{ChangelogMode, Registry}; use flugs_types::RowKind;
    /// # fn main() -> flugs_types::Result<()> {
    /// let env = Environment::new("doubles");
    /// let numbers = env.from_collection([1i64, 2, 3]);
    /// let mut sql = SqlEnvironment::of_program(&env, Registry::new());
    /// sql.from_stream_with(&numbers, StreamSchema::new().name("numbers"))?;
    /// let doubles = sql.sql_query("SELECT f0 * 2 FROM numbers WHERE f0 > 1")?;
    ///
    /// let out = MemorySink::new();
    /// sql.to_stream::<i64>(&doubles)?.map(|n| n + 1).sink_to(out.clone(), "out");
    /// env.execute()?;
    /// assert_eq!(out.rows(), [5, 7]);
    /// # Ok(()) }
    /// ```
    pub fn to_stream<T: Data + SqlRow>(&mut self, table: &Table) -> Result<DataStream<T>> {
        let output = Arc::new(StreamRows::new(|_, row: T| row));
        let node = self.add_query(table, "ToStream", T::fields(), T::NAMED, false, output)?;
        Ok(DataStream::from_node(&self.program()?.env, node, 0))
    }

    /// Any table as a stream of its changes (Flink: `toChangelogStream`): `+I`, `-U`, `+U` and `-D`, each with the whole row. Changes of
    /// one row come in order, from one subtask, as long as the stream is not rebalanced.
    pub fn to_changelog_stream<T: Data + SqlRow>(
        &mut self,
        table: &Table,
    ) -> Result<DataStream<(RowKind, T)>> {
        let output = Arc::new(StreamRows::new(|kind, row: T| (kind, row)));
        let node = self.add_query(table, "ToChangelogStream", T::fields(), T::NAMED, true, output)?;
        Ok(DataStream::from_node(&self.program()?.env, node, 0))
    }

    fn add_query(
        &mut self,
        table: &Table,
        name: &str,
        columns: Vec<flugs_sql_types::RowField>,
        by_name: bool,
        takes_changes: bool,
        output: Arc<dyn flugs_sql_plan::StreamOutput>,
    ) -> Result<NodeId> {
        let program = self.program()?;
        program.streams += 1;
        let name = format!("{name}_{}", program.streams);
        let target = StreamTarget { name, columns, by_name, takes_changes, output };
        let planner = self.planner()?;
        let planned = planner.query_to_stream(table.query(), &target);
        let plan = planned.map_err(|e| rendered(&e, table.text()))?;
        let nodes = self.add_plan(&plan, planner.config())?;
        nodes.first().copied().ok_or_else(|| Error::bug("the query ends in a stream"))
    }

    /// Adds an `INSERT` or a statement set to the program (Flink: `attachAsDataStream`): it runs when the program is executed.
    pub fn attach_sql(&mut self, text: &str) -> Result<()> {
        self.program()?;
        let parsed = parse_statement(text).map_err(|e| rendered(&e, text))?;
        let inserts = match parsed.statement {
            Statement::Insert(insert) => vec![insert],
            Statement::StatementSet(inserts) => inserts,
            _ => {
                return Err(Error::job("this statement is no INSERT and no statement set")
                    .mend("run it with execute_sql, or make a stream of a query with to_stream"));
            }
        };
        let planner = self.planner_of(|config| config.mode = RuntimeMode::Streaming)?;
        let plan = planner.inserts(&inserts).map_err(|e| rendered(&e, text))?;
        self.add_plan(&plan, planner.config()).map(|_| ())
    }

    fn add_plan(&mut self, plan: &Plan, config: &PlanConfig) -> Result<Vec<NodeId>> {
        warnings(plan, config).iter().for_each(|warning| self.warn(warning));
        let program = self.program()?;
        lower_into(plan, config, &mut ProgramBuilder(&program.env), &mut program.uids)
    }

    fn program(&mut self) -> Result<&mut Program> {
        self.program.as_mut().ok_or_else(|| {
            Error::job("the session has no program whose streams it could read or add to")
                .mend("make it with SqlEnvironment::of_program(&env, registry)")
        })
    }
}

/// Refuses a plan that is to be a job of its own and reads streams of the program.
pub(crate) fn expect_no_streams(plan: &Plan) -> Outcome<()> {
    let stream = plan.reachable().into_iter().find_map(|id| match &plan.node(id).op {
        Op::Scan(scan) if matches!(scan.source, ScanSource::Stream(_)) => Some(scan.table.clone()),
        _ => None,
    });
    match stream {
        None => Ok(()),
        Some(table) => Err(Error::job(format!(
            "'{table}' is a stream of the program, and this statement would be a job of its own"
        ))
        .mend("make a stream of the query with to_stream, or add the INSERT to the program with attach_sql")
        .into()),
    }
}

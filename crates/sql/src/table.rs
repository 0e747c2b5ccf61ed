//! Queries as values, views of them, and functions of the program.

use crate::environment::SqlEnvironment;
use crate::failure::{Failure, rendered};
use crate::result::TableResult;
use crate::row::Row;
use flugs_sql_functions::table::{
    AggregateFunction, AsyncClosure, AsyncScalar, DynamicScalar, Returned, Row as FunctionRow, ScalarClosure,
    TableClosure, TableFunction, aggregate, async_function, async_scalar, dynamic_scalar, scalar, table,
};
use flugs_sql_parser::{CreateView, Ident, Name, Query, Statement, parse_statement};
use flugs_sql_plan::OutputColumn;
use flugs_sql_plan::catalog::CatalogFunction;
use flugs_types::{Error, Result};
use std::sync::Arc;

/// A query that was checked and not run: what is in it is looked up again when it is.
#[derive(Debug, Clone)]
pub struct Table {
    query: Query,
    columns: Vec<OutputColumn>,
}

impl Table {
    /// Its columns, by what names meant when it was made.
    pub fn columns(&self) -> &[OutputColumn] {
        &self.columns
    }

    pub(crate) fn query(&self) -> &Query {
        &self.query
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.query.text
    }
}

impl SqlEnvironment {
    /// A query as a table.
    pub fn sql_query(&self, text: &str) -> Result<Table> {
        let parsed = parse_statement(text).map_err(|e| rendered(&e, text))?;
        let Statement::Query(query) = parsed.statement else {
            return Err(Error::job("this statement is no query").mend("run it with execute_sql"));
        };
        let columns = self.planner()?.columns(&query).map_err(|e| rendered(&e, text))?;
        Ok(Table { query, columns })
    }

    /// A table or view of the session; the name has one to three parts, as in SQL.
    pub fn table(&self, name: &str) -> Result<Table> {
        self.sql_query(&format!("SELECT * FROM {name}"))
    }

    /// Runs a table's query; its rows come from the result.
    pub fn run_table(&mut self, table: &Table) -> Result<TableResult> {
        self.execute(Statement::Query(table.query.clone()), &table.query.text)
    }

    /// Runs a table's query to its end; gives its changes in order, all of them in memory.
    pub fn collect(&mut self, table: &Table) -> Result<Vec<Row>> {
        Ok(self.run_table(table)?.collect()?.iter().flat_map(Row::of).collect())
    }

    /// The plan of a table's query, as `EXPLAIN` shows it.
    pub fn explain(&mut self, table: &Table) -> Result<String> {
        let statement = Statement::Query(table.query.clone());
        let explain = flugs_sql_parser::Explain { details: Vec::new(), statement: Box::new(statement) };
        let mut result = self.execute(Statement::Explain(explain), &table.query.text)?;
        let row = result.rows().next().ok_or_else(|| Error::bug("EXPLAIN gave nothing"))?;
        Ok(row.get_at::<String>(0)?.unwrap_or_default())
    }

    /// Lets queries name a table; one of the same name before is replaced.
    pub fn create_temporary_view(&mut self, name: &str, table: &Table) -> Result<()> {
        let create = CreateView {
            name: Name(vec![Ident::new(name)]),
            temporary: true,
            if_not_exists: false,
            or_replace: true,
            columns: Vec::new(),
            comment: None,
            query: table.query.clone(),
        };
        self.execute(Statement::CreateView(create), &table.query.text).map(|_| ())
    }

    /// Lets queries call a closure on the values of a row: `register_scalar("twice", |n: i64| n * 2)`. A function of the same name is
    /// hidden, a built-in one too.
    pub fn register_scalar<F, A, R>(&mut self, name: &str, function: F) -> Result<()>
    where
        F: ScalarClosure<A, R>,
        R: Returned,
    {
        self.register(name, CatalogFunction::Scalar(Arc::new(scalar(name, function))))
    }

    /// Likewise, a scalar function of any types.
    pub fn register_dynamic_scalar(&mut self, function: Arc<dyn DynamicScalar>) -> Result<()> {
        let name = function.name().to_owned();
        self.register(&name, CatalogFunction::Scalar(Arc::new(dynamic_scalar(function))))
    }

    /// Likewise, a closure that gives rows with these columns, for `LATERAL TABLE(name(...))`.
    pub fn register_table<F, A, R>(&mut self, name: &str, columns: &[&str], function: F) -> Result<()>
    where
        F: TableClosure<A, R>,
        R: FunctionRow + 'static,
        A: 'static,
    {
        self.register_table_function(table(name, columns.iter().copied(), function))
    }

    /// Likewise, a function over columns that gives rows.
    pub fn register_table_function(&mut self, function: Arc<dyn TableFunction>) -> Result<()> {
        let name = function.name().to_owned();
        self.register(&name, CatalogFunction::Table(function))
    }

    /// Likewise, an aggregate function, for `GROUP BY`, windows and `OVER`, also with `DISTINCT` and `FILTER`: see
    /// [`AggregateFunction`]. What a query needs of it and it does not have ([`RETRACTS`](AggregateFunction::RETRACTS),
    /// [`MERGES`](AggregateFunction::MERGES)) is an error of the query, before anything runs.
    pub fn register_aggregate<F: AggregateFunction>(&mut self, name: &str, function: F) -> Result<()> {
        self.register(name, CatalogFunction::Aggregate(Arc::new(aggregate(name, function))))
    }

    /// Likewise, a scalar function that waits for something outside: a closure on the values of a row that gives a future.
    ///
    /// Calls of many rows are under way at a time, and their order is kept. `table.exec.async-scalar.*` says how many, how long and how
    /// often. What waits is part of a checkpoint; after a failure it is asked again. Futures are polled on the task: one
    /// that needs a runtime is to be spawned there, and its handle awaited.
    ///
    /// ```
    /// # use flugs_sql::SqlEnvironment; use flugs_table::Registry; use flugs_types::Result;
    /// # fn main() -> Result<()> {
    /// let mut sql = SqlEnvironment::new(Registry::new());
    /// sql.register_async("user_name", |id: i64| async move { Ok::<_, flugs_types::Error>(format!("user {id}")) })?;
    /// let table = sql.sql_query("SELECT user_name(7)")?;
    /// assert_eq!(sql.collect(&table)?[0].get_at::<String>(0)?.as_deref(), Some("user 7"));
    /// # Ok(()) }
    /// ```
    pub fn register_async<F, A, R>(&mut self, name: &str, function: F) -> Result<()>
    where
        F: AsyncClosure<A, R>,
        R: Returned + 'static,
        A: 'static,
    {
        self.register(name, CatalogFunction::Scalar(Arc::new(async_scalar(name, function))))
    }

    /// Likewise, one over columns of one row.
    pub fn register_async_function(&mut self, function: Arc<dyn AsyncScalar>) -> Result<()> {
        let name = function.name().to_owned();
        self.register(&name, CatalogFunction::Scalar(Arc::new(async_function(function))))
    }

    fn register(&mut self, name: &str, function: CatalogFunction) -> Result<()> {
        let registered = self.catalogs.create_system_function(name, function, true);
        registered.map_err(|e| Failure::Other(e).shown(""))
    }
}

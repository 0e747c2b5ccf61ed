//! From a parsed query to an optimized logical plan.
//!
//! [`Binder`] is a snapshot of all that names mean. Binding is DataFusion's, with our tables, functions, types and relations; what
//! comes out still has DataFusion's nodes, and ours from [`nodes`] where it has none.

mod calls;
mod casts;
mod check;
pub(crate) mod common;
mod context;
pub(crate) mod group_windows;
mod grouping;
pub(crate) mod hints;
mod intervals;
mod lateral;
mod leftovers;
mod limits;
mod literals;
mod multisets;
mod names;
pub(crate) mod nodes;
pub(crate) mod options;
mod outer_fields;
mod qualifiers;
mod relation;
mod scalars;
mod singles;
mod syntax;
mod tables;
mod text;
mod ties;
mod tuples;
mod typing;
pub(crate) mod views;

pub(crate) use names::MARK;
pub(crate) use syntax::field_of;
pub(crate) use tables::{SourceTable, is_updating};

use crate::catalog::{CatalogObject, CatalogTable, Catalogs, ColumnKind, Current, ObjectPath, TableKind};
use crate::error::{PlanResult, lower, planning, semantic};
use crate::optimize::optimize;
use crate::stream::ScanSource;
use context::Context;
use datafusion_common::config::ConfigOptions;
use datafusion_common::{DFSchema, DataFusionError};
use datafusion_expr::{Expr, LogicalPlan};
use datafusion_sql::planner::{PlannerContext, SqlToRel};
use flugs_sql_functions::FunctionRegistry;
use flugs_sql_parser::{Expression, Hints, Query, SqlError};
use flugs_table::Registry;
use std::sync::Arc;
use text::parse_expression;

/// All that a query's names and options mean.
#[derive(Clone)]
pub(crate) struct Binder {
    pub(crate) catalogs: Arc<Catalogs>,
    /// Where names are looked up.
    pub(crate) current: Current,
    pub(crate) functions: Arc<FunctionRegistry>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) options: Arc<ConfigOptions>,
    /// The hints of the query that is bound.
    pub(crate) hints: Arc<Hints>,
    /// What those behind `SELECT` say of its relations.
    pub(crate) relations: Arc<hints::RelationHints>,
    /// Views that are being expanded, so that one that refers to itself is an error.
    pub(crate) expanding: Vec<ObjectPath>,
    /// Those that are bound already.
    pub(crate) views: Arc<views::Views>,
}

impl std::fmt::Debug for Binder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Binder")
    }
}

/// DataFusion's options for a session in this zone.
pub(crate) fn options(time_zone: &str) -> Arc<ConfigOptions> {
    Arc::new(context::options(time_zone))
}

impl Binder {
    /// Binds and optimizes a query.
    pub(crate) fn query(&self, query: &Query) -> PlanResult<LogicalPlan> {
        self.optimized(self.bound(query)?)
    }

    /// Optimizes a plan that is bound.
    pub(crate) fn optimized(&self, plan: LogicalPlan) -> PlanResult<LogicalPlan> {
        let plan = views::expand(plan).map_err(planning)?;
        let plan = optimize(plan, &self.options).map_err(planning)?;
        leftovers::check(&plan)?;
        Ok(plan)
    }

    /// Binds a query, with Flink's types. Views in it are nodes, see [`views`].
    pub(crate) fn bound(&self, query: &Query) -> PlanResult<LogicalPlan> {
        let relations = Arc::new(hints::of_relations(&query.ast, &query.hints)?);
        let binder = Binder { hints: Arc::new(query.hints.clone()), relations, ..self.clone() };
        let mut ast = query.ast.as_ref().clone();
        check::calls(&ast, &self.functions)?;
        group_windows::rewrite_auxiliary(&mut ast);
        literals::rewrite(&mut ast);
        calls::rewrite(&mut ast, &self.catalogs.current().database);
        tuples::rewrite(&mut ast);
        casts::rewrite(&mut ast);
        names::rewrite(&mut ast);
        let plan = names::settle(binder.named(ast)?).map_err(planning)?;
        let plan = lateral::expand(plan).map_err(planning)?;
        let plan = ties::unsorted(plan).map_err(planning)?;
        let plan = limits::expand(plan, &self.functions).map_err(planning)?;
        let plan = ties::lift(plan).map_err(planning)?;
        leftovers::check_bound(&plan)?;
        let plan = singles::expand(plan, &self.functions).map_err(planning)?;
        let plan = multisets::expand(plan, &self.functions).map_err(planning)?;
        let plan = typing::apply(plan).map_err(planning)?;
        let plan = group_windows::expand(plan).map_err(planning)?;
        let plan = grouping::expand(plan).map_err(planning)?;
        let plan = scalars::expand(plan).map_err(planning)?;
        check::plan(&plan)?;
        hints::check_heeded(&plan)?;
        Ok(plan)
    }

    /// Binds an expression over columns of `schema`.
    pub(crate) fn expression(&self, expression: &Expression, schema: &DFSchema) -> PlanResult<Expr> {
        let context = Context::new(self);
        let planner = SqlToRel::new_with_options(&context, parser_options(&self.options));
        let mut ast = expression.ast.clone();
        literals::rewrite(&mut ast);
        calls::rewrite(&mut ast, &self.catalogs.current().database);
        let bound = planner.sql_to_expr(ast, schema, &mut PlannerContext::new());
        let bound =
            bound.map_err(|e| context.fieldless(&e).map_or_else(|| planning(e), |(_, error)| error))?;
        typing::typed(bound, schema).map_err(planning)
    }

    /// Binds the text of an expression that a table declares.
    fn declared(&self, text: &str, schema: &DFSchema, what: &str) -> PlanResult<Expr> {
        let parsed = parse_expression(text).map_err(|e| within(e, what))?;
        self.expression(&parsed, schema).map_err(|e| within(e, what))
    }

    /// The same with names looked up where an object was declared.
    fn at(&self, current: &Current) -> Binder {
        Binder { current: current.clone(), ..self.clone() }
    }

    /// The plan of a table, or the node of a view.
    pub(crate) fn object(
        &self,
        path: &ObjectPath,
        object: &CatalogObject,
        hints: &[(String, String)],
    ) -> PlanResult<LogicalPlan> {
        match object {
            CatalogObject::Table(table) => self.table(path, table, hints),
            CatalogObject::View(_) if !hints.is_empty() => {
                Err(semantic(format!("'{path}' is a view, and a view has no options"))
                    .help("remove the OPTIONS hint"))
            }
            CatalogObject::View(view) => self.view(path, view),
        }
    }

    /// Binds what a table declares: its computed columns and its watermark. Whether its connector can be read is no matter of its
    /// declaration.
    pub(crate) fn declaration(&self, path: &ObjectPath, table: &CatalogTable) -> PlanResult<LogicalPlan> {
        let kind = match &table.kind {
            TableKind::Inline(_) => table.kind.clone(),
            TableKind::Connector => TableKind::Inline(ScanSource::Table(Arc::new(tables::Unread))),
        };
        let unread = CatalogTable { kind, ..table.clone() };
        self.table(path, &unread, &[])
    }

    /// The types of a table's computed columns, which need no connector.
    pub(crate) fn computed_type(
        &self,
        table: &CatalogTable,
        text: &str,
    ) -> PlanResult<flugs_sql_types::SqlType> {
        use datafusion_expr::ExprSchemable;
        let schema = tables::base_schema(table).map_err(planning)?;
        let expr = self.at(&table.current).declared(text, &schema, "a computed column")?;
        let expr = tables::coerced(expr, &schema).map_err(planning)?;
        let (_, field) = expr.to_field(&schema).map_err(planning)?;
        flugs_sql_types::from_field(&field).map_err(lower)
    }
}

fn within(mut error: SqlError, what: &str) -> SqlError {
    // The place is one of another text.
    error.span = None;
    error.message = format!("{} (in {what})", error.message);
    error
}

fn parser_options(options: &ConfigOptions) -> datafusion_sql::planner::ParserOptions {
    datafusion_sql::planner::ParserOptions::from(&options.sql_parser)
}

/// An error of ours inside of DataFusion's.
pub(crate) fn inside(e: SqlError) -> DataFusionError {
    DataFusionError::External(Box::new(e))
}

/// Whether a column can be written.
pub(crate) fn is_written(kind: &ColumnKind) -> bool {
    match kind {
        ColumnKind::Physical => true,
        ColumnKind::Computed(_) => false,
        ColumnKind::Metadata { is_virtual, .. } => !is_virtual,
    }
}

//! Relations of a `FROM` that DataFusion does not plan: window and other table functions, `FOR SYSTEM_TIME AS OF`, hints.

use crate::bind::hints::{self, Said};
use crate::bind::nodes::{
    AsOfNode, FunctionRef, FunctionScanNode, HintedNode, WindowKind, WindowNode, column_of,
};
use crate::bind::{Binder, inside, names, tuples};
use crate::catalog::CatalogFunction;
use crate::error::{lower, semantic, unsupported};
use crate::plan::CorrelateFn;
use arrow::datatypes::FieldRef;
use datafusion_common::{Column, DFSchema, Result, TableReference};
use datafusion_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion_expr::{Expr, ExprSchemable, Extension, LogicalPlan, LogicalPlanBuilder};
use flugs_sql_functions::TableFunction;
use flugs_sql_parser::{Span, SqlError, SqlErrorKind, WindowKind as ParsedWindow, WindowTvf};
use flugs_sql_types::{SqlType, from_field, to_field};
use sqlparser::ast::{
    self, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, Spanned, TableAlias, TableFactor,
    TableVersion,
};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Plans Flink's relations.
#[derive(Debug)]
pub(crate) struct FlinkRelations {
    binder: Binder,
    /// Relations with hints that are being planned without them.
    open: Mutex<HashSet<Span>>,
}

fn planned(plan: LogicalPlan, alias: Option<TableAlias>) -> Result<RelationPlanning> {
    Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))))
}

fn extension<N: datafusion_expr::UserDefinedLogicalNodeCore>(node: N) -> LogicalPlan {
    LogicalPlan::Extension(Extension { node: Arc::new(node) })
}

impl RelationPlanner for FlinkRelations {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        if let Some(tvf) = WindowTvf::of(&relation) {
            let alias = tvf
                .alias
                .cloned()
                .unwrap_or_else(|| alias_of(&ObjectName::from(vec![window_name(tvf.kind)])));
            let alias = Some(alias);
            return planned(window(&tvf, context)?, alias);
        }
        if let Some((at, said)) = self.said_of(&relation) {
            let input = context.plan(relation)?;
            self.opened().remove(&at);
            return planned(extension(HintedNode { input, said }), None);
        }
        match relation {
            TableFactor::Derived { lateral, subquery, alias: Some(alias), sample } => {
                let at = subquery.span();
                let subquery =
                    context.plan(TableFactor::Derived { lateral, subquery, alias: None, sample })?;
                let settled = names::settle(subquery)?;
                tuples::check_width(&alias, settled.schema(), at)?;
                planned(settled, Some(alias))
            }
            TableFactor::Table { ref version, ref alias, .. } if version.is_some() => {
                self.versioned(relation.clone(), alias.clone(), context)
            }
            TableFactor::Table { ref name, ref alias, args: None, .. } => match self.hinted(name)? {
                Some(plan) => planned(plan, Some(alias.clone().unwrap_or_else(|| alias_of(name)))),
                None => Ok(RelationPlanning::Original(Box::new(relation))),
            },
            TableFactor::Function { name, args, alias, .. } => self.function(&name, &args, alias, context),
            TableFactor::TableFunction { expr: ast::Expr::Function(call), alias } => {
                let FunctionArguments::List(list) = call.args else {
                    return Err(inside(semantic(format!(
                        "table function {} takes arguments in parentheses",
                        call.name
                    ))));
                };
                self.function(&call.name, &list.args, alias, context)
            }
            TableFactor::UNNEST { array_exprs, alias, with_ordinality, .. } => {
                let args = array_exprs.into_iter().map(|e| context.sql_to_expr(e, &DFSchema::empty()));
                let args = args.collect::<Result<Vec<_>>>()?;
                scan("UNNEST", CorrelateFn::Unnest { with_ordinality }, args, alias, Span::empty())
            }
            TableFactor::MatchRecognize { .. } => Err(inside(
                unsupported("MATCH_RECOGNIZE is not supported yet")
                    .help("patterns of few rows can be found by LAG and LEAD over (PARTITION BY ... ORDER BY time), or by a join of the table with itself"),
            )),
            other => Ok(RelationPlanning::Original(Box::new(other))),
        }
    }
}

impl FlinkRelations {
    pub(crate) fn new(binder: Binder) -> Self {
        FlinkRelations { binder, open: Mutex::default() }
    }

    fn opened(&self) -> MutexGuard<'_, HashSet<Span>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What hints say of a relation that is not being planned already, which begins.
    fn said_of(&self, relation: &TableFactor) -> Option<(Span, Said)> {
        let (at, _) = hints::named(relation)?;
        let said = self.binder.relations.get(&at)?;
        self.opened().insert(at).then(|| (at, said.clone()))
    }

    /// The table of a name with the options of its hints, where it has some.
    fn hinted(&self, name: &ObjectName) -> Result<Option<LogicalPlan>> {
        let options = hints::table_options(self.binder.hints.of_table(name)).map_err(inside)?;
        if options.is_empty() {
            return Ok(None);
        }
        let parts: Vec<String> =
            name.0.iter().filter_map(|part| part.as_ident()).map(|ident| ident.value.clone()).collect();
        self.binder
            .planned(&parts, &options)
            .map(|table| Some(table.plan))
            .map_err(|e| inside(e.at(name.span())))
    }

    /// A table as it was at a time of the other side.
    fn versioned(
        &self,
        mut relation: TableFactor,
        alias: Option<TableAlias>,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let TableFactor::Table { version, alias: own, name, .. } = &mut relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let Some(TableVersion::ForSystemTimeAsOf(time)) = version.take() else {
            return Err(inside(unsupported(format!("this version of table {name}"))));
        };
        let alias = alias.unwrap_or_else(|| alias_of(name));
        *own = None;
        let time = match &time {
            ast::Expr::Identifier(ident) => column_of(std::slice::from_ref(&ident.value)),
            ast::Expr::CompoundIdentifier(idents) => {
                column_of(&idents.iter().map(|ident| ident.value.clone()).collect::<Vec<_>>())
            }
            ast::Expr::Function(_) => Some(context.sql_to_expr(time.clone(), &DFSchema::empty())?),
            _ => None,
        };
        let Some(time) = time else {
            let error = semantic("FOR SYSTEM_TIME AS OF takes a time attribute of the other table");
            return Err(inside(error.help("write FOR SYSTEM_TIME AS OF o.ts, or ... AS OF PROCTIME()")));
        };
        let input = context.plan(relation)?;
        planned(extension(AsOfNode { input, time }), Some(alias))
    }

    fn function(
        &self,
        name: &ObjectName,
        args: &[FunctionArg],
        alias: Option<TableAlias>,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let parts: Vec<String> =
            name.0.iter().filter_map(|part| part.as_ident()).map(|ident| ident.value.clone()).collect();
        let function = self.table_function(&parts).ok_or_else(|| {
            let shown = parts.join(".");
            let error = SqlError::new(SqlErrorKind::Name, format!("there is no table function '{shown}'"));
            let error = error.at(name.span());
            inside(match self.binder.functions.nearest(&shown) {
                Some(near) => error.help(format!("did you mean '{near}'?")),
                None => error.help("SHOW FUNCTIONS lists all that there are"),
            })
        })?;
        let args = args.iter().map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(e))
            | FunctionArg::Named { arg: FunctionArgExpr::Expr(e), .. } => {
                context.sql_to_expr(e.clone(), &DFSchema::empty())
            }
            other => Err(inside(unsupported(format!("argument {other} of a table function")))),
        });
        let args = args.collect::<Result<Vec<_>>>()?;
        scan(&parts.join("."), CorrelateFn::Function(function), args, alias, name.span())
    }

    fn table_function(&self, parts: &[String]) -> Option<Arc<dyn TableFunction>> {
        if let Some(function) = self.binder.catalogs.function(parts) {
            match function.as_ref() {
                CatalogFunction::Table(function) => return Some(function.clone()),
                CatalogFunction::Alias { target } => return self.binder.functions.table(target).cloned(),
                _ => {}
            }
        }
        match parts {
            [name] => self.binder.functions.table(name).cloned(),
            _ => None,
        }
    }
}

/// The last part of a name as its alias.
fn alias_of(name: &ObjectName) -> TableAlias {
    let ident = name.0.last().and_then(|part| part.as_ident()).cloned();
    TableAlias {
        explicit: false,
        name: ident.unwrap_or_else(|| ast::Ident::new("t")),
        columns: Vec::new(),
        at: None,
    }
}

/// The rows that a function makes, under the names of the alias.
fn scan(
    name: &str,
    function: CorrelateFn,
    args: Vec<Expr>,
    alias: Option<TableAlias>,
    span: Span,
) -> Result<RelationPlanning> {
    let schema = DFSchema::empty();
    let type_of = |e: &Expr| -> Result<SqlType> {
        let (_, field) = crate::bind::typing::typed(e.clone(), &schema)?.to_field(&schema)?;
        from_field(&field).map_err(|e| inside(lower(e).at(span)))
    };
    let types = args.iter().map(type_of).collect::<Result<Vec<_>>>()?;
    let made = function.columns(&types).map_err(|e| inside(lower(e).at(span)))?;
    let made: Vec<FieldRef> = made.iter().map(|f| Arc::new(to_field(&f.name, &f.sql_type))).collect();
    let names: Vec<String> =
        alias.iter().flat_map(|a| &a.columns).map(|column| column.name.value.clone()).collect();
    if !names.is_empty() && names.len() != made.len() {
        let error = semantic(format!("{name} gives {} columns, and {} are named", made.len(), names.len()));
        return Err(inside(error.at(span).help("name all of them, or none")));
    }
    let qualifier = alias.map(|a| TableReference::bare(a.name.value));
    let renamed = made.iter().enumerate().map(|(i, field)| {
        let field = match names.get(i) {
            Some(name) => Arc::new(field.as_ref().clone().with_name(name)),
            None => field.clone(),
        };
        (qualifier.clone(), field)
    });
    let schema = DFSchema::new_with_metadata(renamed.collect(), Default::default())?;
    let node = FunctionScanNode {
        name: name.to_owned(),
        function: FunctionRef(function),
        args,
        input: LogicalPlanBuilder::empty(true).build()?,
        schema: Arc::new(schema),
    };
    planned(extension(node), None)
}

/// The name of a window's rows where they have no alias: without any, names beside those of a subquery would be ambiguous.
fn window_name(kind: ParsedWindow) -> ast::Ident {
    ast::Ident::new(match kind {
        ParsedWindow::Tumble { .. } => "tumble",
        ParsedWindow::Hop { .. } => "hop",
        ParsedWindow::Cumulate { .. } => "cumulate",
        ParsedWindow::Session { .. } => "session",
    })
}

fn window(tvf: &WindowTvf<'_>, context: &mut dyn RelationPlannerContext) -> Result<LogicalPlan> {
    let input = context.plan(tvf.input.clone())?;
    let schema = input.schema().clone();
    let time = context.sql_to_expr(tvf.time_column.clone(), &schema)?;
    let partition = tvf.partition_by.iter().map(|e| context.sql_to_expr((*e).clone(), &schema));
    let partition = partition.collect::<Result<Vec<_>>>()?;
    let offset = tvf.offset_ms;
    let kind = match tvf.kind {
        ParsedWindow::Tumble { size_ms } => WindowKind::Tumble { size: size_ms, offset },
        ParsedWindow::Hop { slide_ms, size_ms } => {
            multiple("HOP", "slide", size_ms, slide_ms, tvf.span)?;
            WindowKind::Hop { size: size_ms, slide: slide_ms, offset }
        }
        ParsedWindow::Cumulate { step_ms, size_ms } => {
            multiple("CUMULATE", "step", size_ms, step_ms, tvf.span)?;
            WindowKind::Cumulate { size: size_ms, step: step_ms, offset }
        }
        ParsedWindow::Session { gap_ms } => WindowKind::Session { gap: gap_ms },
    };
    let Expr::Column(Column { .. }) = &time else {
        return Err(inside(semantic("DESCRIPTOR takes a column").at(tvf.span)));
    };
    // The window's columns are of no table, and neither are those of its input any more.
    let columns = schema.iter().map(|(qualifier, field)| {
        Expr::Column(Column::new(qualifier.cloned(), field.name())).alias(field.name())
    });
    let time_name = match &time {
        Expr::Column(column) => column.name.clone(),
        _ => String::new(),
    };
    let bare = |e: Expr| match e {
        Expr::Column(column) => Expr::Column(Column::new_unqualified(column.name)),
        other => other,
    };
    let partition = partition.into_iter().map(bare).collect();
    let input = LogicalPlanBuilder::from(input).project(columns.collect::<Vec<_>>())?.build()?;
    Ok(extension(WindowNode::new(input, Expr::Column(Column::new_unqualified(time_name)), kind, partition)?))
}

fn multiple(name: &str, what: &str, size: i64, step: i64, span: Span) -> Result<()> {
    if size % step == 0 {
        return Ok(());
    }
    let error = semantic(format!("the size of {name} ({size} ms) is no multiple of its {what} ({step} ms)"));
    Err(inside(error.at(span).help(format!("choose a {what} of which the size is a multiple"))))
}

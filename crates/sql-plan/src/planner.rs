//! What a session asks of planning.

use crate::bind::{Binder, hints, is_written};
use crate::catalog::{CatalogObject, CatalogTable, CatalogView, Catalogs, ObjectPath};
use crate::changelog::settle;
use crate::config::{PlanConfig, RuntimeMode};
use crate::convert::sink::{SinkColumn, Target};
use crate::convert::streams::StreamTarget;
use crate::convert::user_functions::check_user_functions;
use crate::convert::{Converter, push_down};
use crate::error::{PlanResult, lower, placed, planning, semantic, unsupported};
use crate::explain::is_bounded;
use crate::plan::{NodeId, Plan};
use datafusion_common::DFSchema;
use datafusion_expr::LogicalPlan;
use flugs_sql_functions::FunctionRegistry;
use flugs_sql_parser::{Insert, Query, SqlError, SqlErrorKind};
use flugs_sql_types::{SqlType, TimeKind, from_field};
use flugs_table::{Registry, TableSink, nearest};
use std::sync::Arc;

/// Plans statements over a snapshot of catalogs, functions and connectors.
#[derive(Clone)]
pub struct Planner {
    binder: Binder,
    config: PlanConfig,
}

/// A column of a query's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputColumn {
    /// Its name; `EXPR$n` where the query gives none.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// Whether it is a time attribute.
    pub time: Option<TimeKind>,
}

/// What planning may take of the stack: plans are as deep as queries are nested, their views included, and who walks them calls itself.
const STACK_BYTES: usize = 128 << 20;

fn with_stack<T>(planned: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK_BYTES, STACK_BYTES, planned)
}

impl Planner {
    /// A planner over these.
    pub fn new(
        catalogs: Arc<Catalogs>,
        functions: Arc<FunctionRegistry>,
        registry: Arc<Registry>,
        config: PlanConfig,
    ) -> Self {
        let options = crate::bind::options(&config.time_zone);
        let binder = Binder {
            current: catalogs.current().clone(),
            catalogs,
            functions,
            registry,
            options,
            hints: Arc::default(),
            relations: Arc::default(),
            expanding: Vec::new(),
            views: Arc::default(),
        };
        Planner { binder, config }
    }

    /// The snapshot that it looks names up in.
    pub fn catalogs(&self) -> &Catalogs {
        &self.binder.catalogs
    }

    /// The options it plans by.
    pub fn config(&self) -> &PlanConfig {
        &self.config
    }

    /// The columns of a query's result.
    pub fn columns(&self, query: &Query) -> PlanResult<Vec<OutputColumn>> {
        let columns = || {
            let logical = self.binder.query(query)?;
            let mut plan = Plan::default();
            let node = self.converter(&mut plan).convert(&logical)?;
            output_columns(&logical, &plan, node)
        };
        with_stack(columns).map_err(|e| placed(e, &query.text, query.span))
    }

    /// The columns of a table or view, in order.
    pub fn columns_of(&self, path: &ObjectPath) -> PlanResult<Vec<OutputColumn>> {
        let object = self.binder.catalogs.object(path).map_err(lower)?.clone();
        self.columns_of_object(path, &object)
    }

    /// The type of a computed column of a table that is being declared.
    pub fn computed_type(&self, table: &CatalogTable, expression: &str) -> PlanResult<SqlType> {
        self.binder.computed_type(table, expression)
    }

    /// Checks a table that is being declared: its computed columns and its watermark.
    pub fn check_table(&self, path: &ObjectPath, table: &CatalogTable) -> PlanResult<()> {
        self.binder.declaration(path, table).map(|_| ())
    }

    /// Checks a view that is being declared; gives its columns.
    pub fn view_columns(&self, path: &ObjectPath, view: &CatalogView) -> PlanResult<Vec<OutputColumn>> {
        self.columns_of_object(path, &CatalogObject::View(view.clone()))
    }

    fn columns_of_object(&self, path: &ObjectPath, object: &CatalogObject) -> PlanResult<Vec<OutputColumn>> {
        with_stack(|| {
            let logical = match object {
                CatalogObject::Table(table) => self.binder.declaration(path, table)?,
                CatalogObject::View(_) => self.binder.optimized(self.binder.object(path, object, &[])?)?,
            };
            let mut plan = Plan::default();
            let node = self.converter(&mut plan).convert(&logical)?;
            output_columns(&logical, &plan, node)
        })
    }

    /// Plans inserts as one job.
    pub fn inserts(&self, inserts: &[Insert]) -> PlanResult<Plan> {
        let planned = || {
            self.in_mode(|plan| {
                for insert in inserts {
                    let sink = self.insert(plan, insert)?;
                    plan.sinks.push(sink);
                }
                Ok(())
            })
        };
        with_stack(planned).map_err(|e| of_insert(e, inserts))
    }

    /// Plans in the mode that is set: batch only where all inputs end.
    fn in_mode(&self, fill: impl Fn(&mut Plan) -> PlanResult<()>) -> PlanResult<Plan> {
        let planned = |batch: bool| {
            let mut plan = Plan::new(batch, self.config.zone());
            fill(&mut plan)?;
            if !batch {
                plan = crate::late::route(self, &plan)?;
            }
            self.finished(plan)
        };
        let bounded = |plan: &Plan| plan.sinks.iter().all(|sink| is_bounded(plan, *sink));
        match self.config.mode {
            RuntimeMode::Streaming => planned(false),
            RuntimeMode::Automatic => {
                let streaming = planned(false)?;
                if bounded(&streaming) { planned(true) } else { Ok(streaming) }
            }
            RuntimeMode::Batch => {
                let plan = planned(true)?;
                match bounded(&plan) {
                    true => Ok(plan),
                    false => Err(semantic("batch mode needs inputs that end, and one of these does not")
                        .help(
                            "SET 'execution.runtime-mode' = 'streaming', or bound the source by its options",
                        )),
                }
            }
        }
    }

    /// Plans a query whose rows go to a sink of the program, with the query's columns.
    pub fn query(&self, query: &Query, sink: Arc<dyn TableSink>) -> PlanResult<Plan> {
        let planned = || {
            let logical = self.binder.query(query)?;
            self.in_mode(|plan| {
                let mut converter = self.converter(plan);
                let node = converter.convert(&logical)?;
                let given = converter.give(node, "result", sink.clone());
                plan.sinks.push(given);
                Ok(())
            })
        };
        with_stack(planned).map_err(|e| placed(e, &query.text, query.span))
    }

    /// Plans a query whose rows become a stream of the program. Streams go on, so this is never batch mode.
    pub fn query_to_stream(&self, query: &Query, target: &StreamTarget) -> PlanResult<Plan> {
        let planned = || {
            let logical = self.binder.query(query)?;
            let mut plan = Plan::new(false, self.config.zone());
            let mut converter = self.converter(&mut plan);
            let node = converter.convert(&logical)?;
            let names: Vec<String> =
                output_columns(&logical, &plan, node)?.into_iter().map(|column| column.name).collect();
            let given = self.converter(&mut plan).give_stream(node, &names, target)?;
            plan.sinks.push(given);
            self.finished(crate::late::route(self, &plan)?)
        };
        with_stack(planned).map_err(|e| placed(e, &query.text, query.span))
    }

    /// What is left to be settled when all statements are converted.
    fn finished(&self, plan: Plan) -> PlanResult<Plan> {
        let mut plan = push_down(&plan).map_err(lower)?;
        crate::malformed::route(self, &mut plan)?;
        settle(&mut plan)?;
        check_user_functions(&plan)?;
        Ok(plan)
    }

    pub(crate) fn binder(&self) -> &Binder {
        &self.binder
    }

    pub(crate) fn converter<'p>(&'p self, plan: &'p mut Plan) -> Converter<'p> {
        Converter { plan, binder: &self.binder, config: &self.config }
    }

    fn insert(&self, plan: &mut Plan, insert: &Insert) -> PlanResult<NodeId> {
        let parts: Vec<String> = insert.target.parts().map(str::to_owned).collect();
        let path = self.binder.catalogs.resolve(&parts).map_err(|e| lower(e).at(insert.target.span()))?;
        let object =
            self.binder.catalogs.object(&path).map_err(|e| lower(e).at(insert.target.span()))?.clone();
        let CatalogObject::Table(table) = object.as_ref() else {
            return Err(semantic(format!("'{path}' is a view, and a view cannot be written"))
                .at(insert.target.span())
                .help("write to the table that it reads"));
        };
        if insert.conflict.is_some() {
            return Err(unsupported("ON CONFLICT").at(insert.span));
        }
        let source = |e| placed(e, &insert.source.text, insert.source.span);
        let logical = self.binder.query(&insert.source).map_err(source)?;
        let width = logical.schema().fields().len();
        let columns = self.targets(insert, &path, table, width)?;
        let hints = hints::table_options(&insert.hints)?;
        let options = table.options.overlaid(&hints.into_iter().collect());
        let target = Target { path: &path, table, options, overwrite: insert.overwrite, columns };
        let mut converter = self.converter(plan);
        let node = converter.convert(&logical).map_err(source)?;
        converter.write(node, &target).map_err(|e| e.at(insert.target.span()))
    }

    /// What each written column of the target takes.
    fn targets(
        &self,
        insert: &Insert,
        path: &ObjectPath,
        table: &CatalogTable,
        width: usize,
    ) -> PlanResult<Vec<SinkColumn>> {
        let written: Vec<_> = table.columns.iter().filter(|c| is_written(&c.kind)).collect();
        let known = |name: &str| -> PlanResult<usize> {
            written.iter().position(|c| c.name == name).ok_or_else(|| {
                let error = SqlError::new(
                    SqlErrorKind::Name,
                    format!("table '{path}' has no column '{name}' to be written"),
                );
                match nearest(name, written.iter().map(|c| c.name.as_str())) {
                    Some(near) => error.help(format!("did you mean '{near}'?")),
                    None => error,
                }
            })
        };
        let mut columns: Vec<Option<SinkColumn>> = vec![None; written.len()];
        for entry in &insert.partition {
            let at = known(&entry.column.value).map_err(|e| e.at(entry.column.span))?;
            if let Some(value) = &entry.value {
                let text = value.to_string();
                let expression =
                    flugs_sql_parser::Expression { ast: value.clone(), text, span: entry.column.span };
                let constant = self.binder.expression(&expression, &DFSchema::empty())?;
                let sql_type = &written[at].sql_type;
                let from = {
                    use datafusion_expr::ExprSchemable;
                    let (_, field) = constant.to_field(&DFSchema::empty()).map_err(planning)?;
                    from_field(&field).map_err(lower)?
                };
                let constant = crate::convert::sink::fitting(constant, &from, sql_type).ok_or_else(|| {
                    semantic(format!(
                        "the value of partition column '{}' is no {sql_type}",
                        entry.column.value
                    ))
                    .at(entry.column.span)
                })?;
                columns[at] = Some(SinkColumn::Constant(constant));
            }
        }
        let places: Vec<usize> = if insert.columns.is_empty() {
            (0..written.len()).filter(|at| columns[*at].is_none()).collect()
        } else {
            let place = |name: &flugs_sql_parser::Name| known(name.object()).map_err(|e| e.at(name.span()));
            insert.columns.iter().map(place).collect::<PlanResult<_>>()?
        };
        if places.len() != width {
            let names = places.iter().map(|p| written[*p].name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(semantic(format!(
                "the query gives {width} columns, and {} are written to '{path}' ({names})",
                places.len()
            ))
            .at(insert.target.span())
            .help("select as many, or name those that are written: INSERT INTO t (a, b) SELECT ..."));
        }
        for (from, place) in places.iter().enumerate() {
            if columns[*place].replace(SinkColumn::Query(from)).is_some() {
                return Err(semantic(format!("column '{}' is written twice", written[*place].name))
                    .at(insert.span)
                    .help("name each column once"));
            }
        }
        for (column, place) in written.iter().zip(&columns) {
            if place.is_none() && !column.sql_type.nullable {
                return Err(semantic(format!(
                    "column '{}' of '{path}' is NOT NULL and is given no value",
                    column.name
                ))
                .at(insert.target.span())
                .help(format!("give it a value: INSERT INTO t ({}, ...) SELECT ...", column.name)));
            }
        }
        Ok(columns.into_iter().map(|c| c.unwrap_or(SinkColumn::Null)).collect())
    }
}

/// What is wrong with the inserts of a job, at the target that it is about.
fn of_insert(e: SqlError, inserts: &[Insert]) -> SqlError {
    let named = |insert: &&Insert| e.message.contains(&format!("{}'", insert.target.object()));
    match inserts.iter().find(named).or(inserts.first()) {
        Some(insert) => e.at(insert.target.span()),
        None => e,
    }
}

fn output_columns(logical: &LogicalPlan, plan: &Plan, node: NodeId) -> PlanResult<Vec<OutputColumn>> {
    let fields = &plan.node(node).fields;
    let columns = logical.schema().fields().iter().zip(fields).map(|(field, planned)| {
        let name = field.name().clone();
        Ok(OutputColumn { name, sql_type: from_field(&planned.field).map_err(lower)?, time: planned.time })
    });
    columns.collect()
}

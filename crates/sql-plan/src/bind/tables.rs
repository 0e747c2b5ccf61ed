//! Tables as plans: a scan of physical and metadata columns, the computed ones over it, and the watermark.

use crate::bind::nodes::WatermarkNode;
use crate::bind::{Binder, options, within};
use crate::catalog::{CatalogColumn, CatalogObject, CatalogTable, ColumnKind, ObjectPath, TableKind};
use crate::error::{PlanResult, lower, planning, semantic};
use crate::plan::{LateRoute, Malformed};
use crate::stream::{SOURCE_WATERMARK, ScanSource};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion_common::{Column, DFSchema, Result, TableReference};
use datafusion_expr::simplify::SimplifyContext;
use datafusion_expr::{
    Expr, ExprSchemable, Extension, LogicalPlan, LogicalPlanBuilder, TableSource as DataFusionSource,
};
use datafusion_optimizer::simplify_expressions::ExprSimplifier;
use flugs_connector::Boundedness;
use flugs_sql_parser::{SqlError, SqlErrorKind};
use flugs_sql_types::{LogicalType, from_field, to_field};
use flugs_table::{
    ChangelogMode, OnMalformed, Options, ScanRequest, TableContext, TableFactory, TableScan, TableSource,
};
use std::sync::Arc;

/// A catalog's table as a table of DataFusion's.
pub(crate) struct SourceTable {
    pub(crate) path: ObjectPath,
    pub(crate) source: ScanSource,
    pub(crate) table: Arc<CatalogTable>,
    pub(crate) options: Options,
    /// What is said of its late rows.
    pub(crate) late: Option<LateRoute>,
    /// What becomes of records of it that cannot be read.
    pub(crate) malformed: Malformed,
    /// Physical and metadata columns, in the order of the declaration.
    pub(crate) schema: SchemaRef,
}

impl DataFusionSource for SourceTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// In the place of a connector where a table is looked at, not read.
pub(super) struct Unread;

impl TableSource for Unread {
    fn boundedness(&self) -> Boundedness {
        Boundedness::Bounded
    }

    fn scan(&self, _: &ScanRequest) -> flugs_types::Result<TableScan> {
        Err(flugs_types::Error::bug("a table that is only looked at is read"))
    }
}

/// Whether the rows of a source are changes.
pub(crate) fn is_updating(source: &ScanSource) -> bool {
    source.changelog_mode() != ChangelogMode::Append
}

/// A plan in the place of a table.
pub(crate) struct PlannedTable {
    pub(crate) schema: SchemaRef,
    pub(crate) plan: LogicalPlan,
}

impl DataFusionSource for PlannedTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn get_logical_plan(&'_ self) -> Option<std::borrow::Cow<'_, LogicalPlan>> {
        Some(std::borrow::Cow::Borrowed(&self.plan))
    }
}

fn is_base(column: &&CatalogColumn) -> bool {
    !matches!(column.kind, ColumnKind::Computed(_))
}

fn base(table: &CatalogTable) -> SchemaRef {
    let columns = table.columns.iter().filter(is_base);
    Arc::new(Schema::new(columns.map(|c| to_field(&c.name, &c.sql_type)).collect::<Vec<_>>()))
}

/// The columns that computed ones may use.
pub(super) fn base_schema(table: &CatalogTable) -> Result<DFSchema> {
    DFSchema::try_from(base(table))
}

/// The expression with its arguments converted to the types that its functions take.
pub(super) fn coerced(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let context = SimplifyContext::builder().with_schema(Arc::new(schema.clone())).build();
    ExprSimplifier::new(context).coerce(expr, schema)
}

/// The options of a table under those of a hint.
pub(crate) fn effective(table: &CatalogTable, hints: &[(String, String)]) -> Options {
    table.options.overlaid(&hints.iter().cloned().collect())
}

fn check_watermark(text: &str, expr: &Expr, schema: &DFSchema) -> PlanResult<()> {
    let help = "write the row-time column and how far rows may be out of order: ts - INTERVAL '5' SECOND";
    let field = coerced(expr.clone(), schema).and_then(|expr| Ok(expr.to_field(schema)?.1));
    let field = field.map_err(|e| within(planning(e), "the watermark of the table").help(help))?;
    match from_field(&field).map_err(lower)?.kind {
        LogicalType::Timestamp(0..=3) | LogicalType::TimestampLtz(0..=3) => Ok(()),
        other => {
            let takes = "it must be a TIMESTAMP(p) or TIMESTAMP_LTZ(p), p from 0 to 3";
            let message = format!("the watermark '{text}' is {other}: {takes}");
            Err(SqlError::new(SqlErrorKind::Type, message).help(help))
        }
    }
}

impl Binder {
    /// What reads a table.
    fn source(&self, path: &ObjectPath, table: &CatalogTable, options: &Options) -> PlanResult<ScanSource> {
        if let TableKind::Inline(source) = &table.kind {
            return Ok(source.clone());
        }
        let made = self.connected(path, table, options, |factory, context| factory.source(context))?;
        Ok(ScanSource::Table(made.into()))
    }

    /// What the table's connector makes of it, once its options are known to be right.
    pub(crate) fn connected<T>(
        &self,
        path: &ObjectPath,
        table: &CatalogTable,
        options: &Options,
        make: impl FnOnce(&dyn TableFactory, TableContext<'_>) -> flugs_types::Result<T>,
    ) -> PlanResult<T> {
        if let TableKind::Inline(_) = &table.kind {
            return Err(semantic(format!("table '{path}' is a stream of the program"))
                .help("it can be read, and nothing else: write to a table that a connector makes"));
        }
        let connector = options.get("connector").ok_or_else(|| {
            semantic(format!("table '{path}' has no connector"))
                .help("add 'connector' = '...' to its WITH options")
        })?;
        let name = path.to_string();
        let schema = table.physical();
        let context = TableContext { name: &name, schema: &schema, options, registry: &self.registry };
        let factory = self.registry.connector(connector).map_err(lower)?;
        options::check(&self.registry, factory.as_ref(), options, &name)?;
        make(factory.as_ref(), context).map_err(lower)
    }

    /// The plan of a table.
    pub(super) fn table(
        &self,
        path: &ObjectPath,
        table: &CatalogTable,
        hints: &[(String, String)],
    ) -> PlanResult<LogicalPlan> {
        let options = effective(table, hints);
        let place = |option: &str| match hints.iter().any(|(key, _)| key == option) {
            true => (self.clone(), true),
            // Names in a table's own options are looked up where it was declared.
            false => (self.at(&table.current), false),
        };
        let late = late_route(&options, place("late"))?;
        let source = self.source(path, table, &options)?;
        let malformed = malformed(path, table, &options, &source, &place(OnMalformed::KEY).0)?;
        let scanned = SourceTable {
            path: path.clone(),
            source,
            table: Arc::new(table.clone()),
            options,
            late,
            malformed,
            schema: base(table),
        };
        let scan = LogicalPlanBuilder::scan(TableReference::bare(path.name.clone()), Arc::new(scanned), None)
            .and_then(LogicalPlanBuilder::build)
            .map_err(planning)?;
        let plan = self.with_computed(path, table, scan)?;
        self.with_watermark(path, table, plan)
    }

    /// The table of a name that an option has.
    fn named_in_option(&self, name: &str) -> PlanResult<ObjectPath> {
        let parts: Vec<String> = name.split('.').map(str::to_owned).collect();
        let path = self.current.resolve(&parts).map_err(lower)?;
        self.catalogs.object(&path).map_err(lower)?;
        Ok(path)
    }

    /// A table that some rows beside the query's result are written to.
    pub(crate) fn table_beside(&self, path: &ObjectPath, what: &str) -> PlanResult<CatalogTable> {
        match self.catalogs.object(path).map_err(lower)?.as_ref() {
            CatalogObject::Table(table) => Ok(table.clone()),
            CatalogObject::View(_) => {
                Err(semantic(format!("{what} cannot be written to '{path}', which is a view"))
                    .help("name a table that the view reads"))
            }
        }
    }

    fn with_computed(
        &self,
        path: &ObjectPath,
        table: &CatalogTable,
        scan: LogicalPlan,
    ) -> PlanResult<LogicalPlan> {
        if table.columns.iter().all(|c| is_base(&c)) {
            return Ok(scan);
        }
        let binder = self.at(&table.current);
        let mut exprs = Vec::new();
        for column in &table.columns {
            exprs.push(match &column.kind {
                ColumnKind::Computed(text) => {
                    let what = format!("the computed column '{}' of {path}", column.name);
                    binder.declared(text, scan.schema(), &what)?.alias(&column.name)
                }
                _ => Expr::Column(Column::new_unqualified(&column.name)),
            });
        }
        LogicalPlanBuilder::from(scan).project(exprs).and_then(LogicalPlanBuilder::build).map_err(planning)
    }

    fn with_watermark(
        &self,
        path: &ObjectPath,
        table: &CatalogTable,
        plan: LogicalPlan,
    ) -> PlanResult<LogicalPlan> {
        let Some(declared) = &table.watermark else { return Ok(plan) };
        let what = format!("the watermark of {path}");
        let found = plan.schema().qualified_field_with_unqualified_name(&declared.column);
        let (qualifier, field) = found.map_err(planning)?;
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        let watermark = match &table.kind {
            TableKind::Inline(ScanSource::Stream(_)) if declared.expression == SOURCE_WATERMARK => {
                column.clone()
            }
            _ => {
                let watermark =
                    self.at(&table.current).declared(&declared.expression, plan.schema(), &what)?;
                check_watermark(&declared.expression, &watermark, plan.schema())?;
                watermark
            }
        };
        let node = WatermarkNode { input: plan, column, watermark };
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
    }

    /// A table or view by name, as DataFusion looks for it.
    pub(super) fn planned(&self, parts: &[String], hints: &[(String, String)]) -> PlanResult<PlannedTable> {
        let path = self.current.resolve(parts).map_err(lower)?;
        let object = self.catalogs.object(&path).map_err(lower)?;
        let plan = self.object(&path, object, hints)?;
        Ok(PlannedTable { schema: Arc::new(plan.schema().as_arrow().clone()), plan })
    }
}

/// Where late rows of a table go: what its options say, or a hint, with names as they are looked up there.
fn late_route(options: &Options, (place, is_hint): (Binder, bool)) -> PlanResult<Option<LateRoute>> {
    let Some(to) = options::late(options)? else { return Ok(None) };
    let to = to.map(|name| place.named_in_option(name)).transpose()?;
    Ok(Some(LateRoute { to, is_hint }))
}

/// What becomes of records of a table that cannot be read: what its options say, with names as they are looked up in `place`, or
/// else its format.
fn malformed(
    path: &ObjectPath,
    table: &CatalogTable,
    options: &Options,
    source: &ScanSource,
    place: &Binder,
) -> PlanResult<Malformed> {
    let said = OnMalformed::of(options).map_err(lower)?;
    // A table that is only declared is not connected.
    let is_read = !matches!(table.kind, TableKind::Inline(_));
    if is_read && !source.reports_malformed() && !matches!(said, None | Some(OnMalformed::Fail)) {
        return Err(semantic(format!(
            "table '{path}' has no records that a format decodes, so that none of it can be malformed"
        ))
        .help("leave 'malformed' out"));
    }
    match said {
        None if source.skips_malformed() => Ok(Malformed::Skip),
        None | Some(OnMalformed::Fail) => Ok(Malformed::Fail),
        Some(OnMalformed::Skip) => Ok(Malformed::Skip),
        Some(OnMalformed::Route(name)) => match place.named_in_option(&name)? {
            to if to == *path => Err(semantic(format!(
                "malformed records of '{path}' cannot go to the table that they are of"
            ))
            .help("name another table: 'malformed' = 'route:TABLE'")),
            to => {
                let table = place.table_beside(&to, "malformed records")?;
                crate::malformed::columns_of(&to, &table)?;
                Ok(Malformed::Route(to))
            }
        },
    }
}

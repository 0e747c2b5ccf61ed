//! What DataFusion's SQL planner asks: tables, functions, options.

use crate::bind::{Binder, inside, relation::FlinkRelations, syntax::FlinkSyntax};
use crate::catalog::CatalogFunction;
use arrow::datatypes::{DataType, Field, FieldRef, SchemaRef};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{DataFusionError, Result, TableReference};
use datafusion_expr::planner::{ContextProvider, ExprPlanner, RelationPlanner, TypePlanner};
use datafusion_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF, TableSource, WindowUDF};
use flugs_sql_functions::FunctionKind;
use flugs_sql_parser::{SqlError, cast_type, cast_unit};
use flugs_sql_types::to_field;
use std::sync::Arc;

/// Options of DataFusion's that make it plan as Flink does.
pub(crate) fn options(time_zone: &str) -> ConfigOptions {
    let mut options = ConfigOptions::new();
    options.sql_parser.enable_ident_normalization = false;
    options.sql_parser.parse_float_as_decimal = true;
    options.sql_parser.collect_spans = true;
    // NULL is smaller than all values.
    options.sql_parser.default_null_ordering = "nulls_min".to_owned();
    options.optimizer.enable_physical_uncorrelated_scalar_subquery = false;
    options.optimizer.skip_failed_rules = false;
    options.execution.time_zone = Some(time_zone.to_owned());
    options
}

/// A binder as a context of DataFusion's.
pub(crate) struct Context<'b> {
    binder: &'b Binder,
    relations: Vec<Arc<dyn RelationPlanner>>,
    exprs: Vec<Arc<dyn ExprPlanner>>,
    syntax: Arc<FlinkSyntax>,
}

impl<'b> Context<'b> {
    pub(crate) fn new(binder: &'b Binder) -> Self {
        let syntax = Arc::new(FlinkSyntax::new(binder.functions.clone()));
        Context {
            binder,
            relations: vec![Arc::new(FlinkRelations::new(binder.clone()))],
            exprs: vec![syntax.clone()],
            syntax,
        }
    }

    /// Where an error is of a field of a column that has none: the column, and what to say of it.
    pub(super) fn fieldless(&self, error: &DataFusionError) -> Option<(String, SqlError)> {
        let is_of_field = error.find_root().strip_backtrace().contains("could not parse compound identifier");
        is_of_field.then(|| self.syntax.fieldless()).flatten()
    }

    fn user(&self, name: &str) -> Option<&Arc<CatalogFunction>> {
        let parts: Vec<String> = name.split('.').map(|part| part.trim_matches('`').to_owned()).collect();
        let function = self.binder.catalogs.function(&parts)?;
        match function.as_ref() {
            CatalogFunction::Alias { target } => {
                self.binder.catalogs.function(std::slice::from_ref(target)).or(Some(function))
            }
            _ => Some(function),
        }
    }
}

/// The key of a cast's field under which the unit of `INTERVAL unit` stands.
pub(super) const UNIT_KEY: &str = "flugs.unit";

/// The types that the parser has read.
#[derive(Debug)]
struct FlinkTypes;

impl TypePlanner for FlinkTypes {
    fn plan_type_field(&self, data_type: &sqlparser::ast::DataType) -> Result<Option<FieldRef>> {
        let unit = |mut field: Field| {
            if let Some(unit) = cast_unit(data_type) {
                field.metadata_mut().insert(UNIT_KEY.to_owned(), unit.to_owned());
            }
            Arc::new(field)
        };
        Ok(cast_type(data_type).map(|t| unit(to_field("cast", &t))))
    }
}

impl ContextProvider for Context<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        match self.binder.planned(&name.to_vec(), &[]) {
            Ok(table) => Ok(Arc::new(table)),
            Err(e) => Err(inside(e)),
        }
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &self.exprs
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        &self.relations
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(Arc::new(FlinkTypes))
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        if let Some(function) = self.user(name) {
            return match function.as_ref() {
                CatalogFunction::Scalar(function) => Some(function.clone()),
                CatalogFunction::Alias { target } => self.binder.functions.scalar(target).cloned(),
                _ => None,
            };
        }
        // A field of a row is taken by one function, which push-down knows, however it is written.
        crate::bind::group_windows::function(name)
            .or_else(|| crate::bind::casts::function(name))
            .or_else(|| self.binder.functions.scalar(name).cloned())
    }

    fn get_higher_order_meta(&self, _: &str) -> Option<Arc<HigherOrderUDF>> {
        None
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        if let Some(function) = self.user(name) {
            return match function.as_ref() {
                CatalogFunction::Aggregate(function) => Some(function.clone()),
                CatalogFunction::Alias { target } => self.binder.functions.aggregate(target).cloned(),
                _ => None,
            };
        }
        self.binder.functions.aggregate(name).cloned()
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        self.binder.functions.window(name).cloned()
    }

    fn get_variable_type(&self, _: &[String]) -> Option<DataType> {
        None
    }

    fn create_cte_work_table(&self, name: &str, _: SchemaRef) -> Result<Arc<dyn TableSource>> {
        datafusion_common::not_impl_err!("WITH RECURSIVE {name}: recursive queries")
    }

    fn options(&self) -> &ConfigOptions {
        &self.binder.options
    }

    fn udf_names(&self) -> Vec<String> {
        let mut names = self.binder.functions.names(FunctionKind::Scalar);
        names.extend(self.binder.catalogs.function_names());
        names
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.binder.functions.names(FunctionKind::Aggregate)
    }

    fn udwf_names(&self) -> Vec<String> {
        self.binder.functions.names(FunctionKind::Window)
    }
}

//! Syntax that DataFusion leaves to extensions: field access, constructors, and their like.

use crate::bind::{inside, intervals};
use arrow::datatypes::{DataType, Field};
use datafusion_common::{DFSchema, Result, ScalarValue, TableReference, plan_err};
use datafusion_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr};
use datafusion_expr::{Expr, ExprSchemable, GetFieldAccess, expr::ScalarFunction};
use flugs_sql_functions::FunctionRegistry;
use flugs_sql_parser::{SqlError, SqlErrorKind};
use flugs_sql_types::from_field;
use sqlparser::ast::BinaryOperator;
use std::sync::{Arc, Mutex, PoisonError};

/// Plans them by functions of Flink's.
#[derive(Debug)]
pub(crate) struct FlinkSyntax {
    functions: Arc<FunctionRegistry>,
    /// The last column that a field was taken of although it has none: DataFusion does not pass on what is said of it.
    fieldless: Mutex<Option<(String, SqlError)>>,
}

impl FlinkSyntax {
    pub(crate) fn new(functions: Arc<FunctionRegistry>) -> Self {
        FlinkSyntax { functions, fieldless: Mutex::default() }
    }

    /// The column that a field was taken of although it has none, and what to say of it.
    pub(crate) fn fieldless(&self) -> Option<(String, SqlError)> {
        self.fieldless.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn call(&self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        match self.functions.scalar(name) {
            Some(function) => Ok(Expr::ScalarFunction(ScalarFunction::new_udf(function.clone(), args))),
            None => plan_err!("function '{name}' is missing"),
        }
    }

    fn planned<T>(&self, name: &str, args: Vec<Expr>) -> Result<PlannerResult<T>> {
        Ok(PlannerResult::Planned(self.call(name, args)?))
    }
}

/// A field of a row.
pub(crate) fn field_of(row: Expr, name: &str) -> Expr {
    let name = Expr::Literal(ScalarValue::from(name), None);
    Expr::ScalarFunction(ScalarFunction::new_udf(datafusion_functions::core::get_field(), vec![row, name]))
}

fn no_fields(column: &Field, names: &[String]) -> SqlError {
    let (name, path) = (column.name(), names.join("."));
    let is = from_field(column).map_or_else(|_| String::new(), |sql_type| format!(" {sql_type}"));
    let message = format!("there is no '{name}.{path}' here: '{name}' is no table but a column{is}");
    SqlError::new(SqlErrorKind::Name, message)
        .help("before a dot stands the name or alias of a table, or a ROW")
}

impl ExprPlanner for FlinkSyntax {
    fn plan_field_access(
        &self,
        access: RawFieldAccessExpr,
        _: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let RawFieldAccessExpr { field_access, expr } = access;
        match field_access {
            GetFieldAccess::NamedStructField { name } => match name.try_as_str().flatten() {
                Some(field) => Ok(PlannerResult::Planned(field_of(expr, field))),
                None => self.planned("item", vec![expr, Expr::Literal(name, None)]),
            },
            GetFieldAccess::ListIndex { key } => self.planned("item", vec![expr, *key]),
            GetFieldAccess::ListRange { .. } => {
                plan_err!("an array is sliced with ARRAY_SLICE, not with [a:b]")
            }
        }
    }

    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        if expr.op == BinaryOperator::Multiply
            && let (Ok(left), Ok(right)) = (expr.left.get_type(schema), expr.right.get_type(schema))
            && let Some(turned) = intervals::is_multiple(&left, &right)
        {
            let RawBinaryExpr { left, right, .. } = expr;
            let args = if turned { vec![right, left] } else { vec![left, right] };
            return self.planned("interval_times", args);
        }
        Ok(PlannerResult::Original(expr))
    }

    fn plan_compound_identifier(
        &self,
        field: &Field,
        qualifier: Option<&TableReference>,
        nested_names: &[String],
    ) -> Result<PlannerResult<Vec<Expr>>> {
        if !matches!(field.data_type(), DataType::Struct(_) | DataType::Map(..) | DataType::Null) {
            let error = no_fields(field, nested_names);
            let found = (field.name().clone(), error.clone());
            *self.fieldless.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
            return Err(inside(error));
        }
        let column = Expr::Column(datafusion_common::Column::new(qualifier.cloned(), field.name()));
        let field = nested_names.iter().fold(column, |row, name| field_of(row, name));
        // A column that is made of a field is called like it.
        Ok(PlannerResult::Planned(match nested_names.last() {
            Some(name) => field.alias(name),
            None => field,
        }))
    }

    fn plan_array_literal(&self, exprs: Vec<Expr>, _: &DFSchema) -> Result<PlannerResult<Vec<Expr>>> {
        self.planned("array", exprs)
    }

    fn plan_make_map(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        self.planned("map", args)
    }

    fn plan_struct_literal(&self, args: Vec<Expr>, _: bool) -> Result<PlannerResult<Vec<Expr>>> {
        self.planned("row", args)
    }

    fn plan_position(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        self.planned("position", args)
    }

    fn plan_extract(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        self.planned("extract", args)
    }

    fn plan_substring(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        self.planned("substring", args)
    }

    fn plan_overlay(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        self.planned("overlay", args)
    }
}

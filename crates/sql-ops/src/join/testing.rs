//! Schemas and conditions of joins in tests.

use arrow::datatypes::{Schema, SchemaRef};
use datafusion_expr::Operator as Op;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{Column, binary};
use std::sync::Arc;

/// The columns of the left and then those of the right.
pub(super) fn concatenation(left: &SchemaRef, right: &SchemaRef) -> Schema {
    Schema::new(left.fields().iter().chain(right.fields()).cloned().collect::<Vec<_>>())
}

/// The output's columns, all of which may be NULL.
pub(super) fn nullable(all: &Schema, output: &[usize]) -> SchemaRef {
    let fields = output.iter().map(|at| all.field(*at).clone().with_nullable(true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// A column.
pub(super) fn column(schema: &Schema, at: usize) -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new(schema.field(at).name(), at))
}

/// A comparison of two columns.
pub(super) fn compare(schema: &Schema, left: usize, op: Op, right: usize) -> Arc<dyn PhysicalExpr> {
    binary(column(schema, left), op, column(schema, right), schema).unwrap()
}

//! Each join type against nested loops over the folded inputs, and the changes of single cases.

mod cases;
mod expiry;
mod twin;

use super::*;
use crate::join::{InputUniqueness, JoinKey, JoinType};
use crate::testing::schema;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion_expr::Operator as Op;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{Column, binary};

pub(super) fn input(columns: &str, mode: ChangelogMode, unique: InputUniqueness) -> JoinInput {
    JoinInput { schema: schema(columns), mode, unique, ttl: None }
}

pub(super) fn concatenation(left: &SchemaRef, right: &SchemaRef) -> Schema {
    Schema::new(left.fields().iter().chain(right.fields()).cloned().collect::<Vec<_>>())
}

/// A join on column 0 of both whose output is all columns.
pub(super) fn join(join_type: JoinType, left: JoinInput, right: JoinInput) -> RegularJoinSpec {
    let all = concatenation(&left.schema, &right.schema);
    let width = if join_type.is_left_only() { left.schema.fields().len() } else { all.fields().len() };
    let output: Vec<usize> = (0..width).collect();
    RegularJoinSpec {
        join_type,
        keys: vec![JoinKey { left: 0, right: 0, null_safe: false }],
        condition: None,
        schema: nullable(&all, &output),
        output,
        left,
        right,
        emit_update_before: true,
        retract_on_expiry: false,
    }
}

/// The output's columns, all of which may be NULL.
pub(super) fn nullable(all: &Schema, output: &[usize]) -> SchemaRef {
    let fields = output.iter().map(|at| all.field(*at).clone().with_nullable(true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// A comparison of two columns of the concatenation.
pub(super) fn compare(spec: &RegularJoinSpec, left: usize, op: Op, right: usize) -> Arc<dyn PhysicalExpr> {
    let all = concatenation(&spec.left.schema, &spec.right.schema);
    let column = |at: usize| Arc::new(Column::new(all.field(at).name(), at)) as Arc<dyn PhysicalExpr>;
    binary(column(left), op, column(right), &all).unwrap()
}

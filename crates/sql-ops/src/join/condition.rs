//! What must be true of a pair besides equal keys.

use super::plan::{Rows, Side};
use crate::calc::evaluate_filter;
use arrow::array::{Array, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::cmp::eq;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::utils::collect_columns;
use flugs_types::{Error, Result};
use std::sync::Arc;

/// A condition over pairs of stored rows, evaluated for many pairs at once.
pub(super) struct Condition {
    /// Over the columns of `inputs` alone.
    expr: Option<Arc<dyn PhysicalExpr>>,
    schema: SchemaRef,
    inputs: Vec<(Side, usize)>,
    /// Stored columns of the left and the right of which one is NULL or both are equal (`NOT IN`).
    null_aware: Option<(usize, usize)>,
}

impl Condition {
    /// The columns of the concatenation of both inputs that a condition needs, in order.
    pub(super) fn columns(expr: &Arc<dyn PhysicalExpr>) -> Vec<usize> {
        let mut columns: Vec<usize> = collect_columns(expr).iter().map(Column::index).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// `place` tells where a column of the concatenation is stored.
    pub(super) fn new(
        expr: Option<&Arc<dyn PhysicalExpr>>,
        schemas: [&SchemaRef; 2],
        null_aware: Option<(usize, usize)>,
        place: impl Fn(usize) -> Result<(Side, usize)>,
    ) -> Result<Self> {
        let columns = expr.map(Self::columns).unwrap_or_default();
        let width = schemas[0].fields().len();
        let field = |column: usize| match column.checked_sub(width) {
            None => schemas[0].fields()[column].clone(),
            Some(right) => schemas[1].fields()[right].clone(),
        };
        let schema = Arc::new(Schema::new(columns.iter().map(|column| field(*column)).collect::<Vec<_>>()));
        let inputs = columns.iter().map(|column| place(*column)).collect::<Result<_>>()?;
        let expr = match expr {
            Some(expr) => Some(over(expr, &columns)?),
            None => None,
        };
        Ok(Condition { expr, schema, inputs, null_aware })
    }

    /// For which of `pairs` pairs it is true.
    pub(super) fn matches(&self, left: Rows<'_>, right: Rows<'_>, pairs: usize) -> Result<BooleanBuffer> {
        let mut matches = None;
        if let Some(expr) = &self.expr {
            let column = |(side, at): &(Side, usize)| match side {
                Side::Left => left.column(*at),
                Side::Right => right.column(*at),
            };
            let columns = self.inputs.iter().map(column).collect::<Result<_>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(pairs));
            let rows = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
                .map_err(|e| Error::bug("the columns of a join's condition").caused_by(e))?;
            matches = Some(is_true(&evaluate_filter(expr, &rows)?));
        }
        if let Some((l, r)) = self.null_aware {
            let equal = eq(&left.column(l)?, &right.column(r)?)
                .map_err(|e| Error::job("the operands of NOT IN cannot be compared").caused_by(e))?;
            let not_false = match equal.nulls() {
                None => equal.values().clone(),
                Some(nulls) => equal.values() | &!nulls.inner(),
            };
            matches = Some(match matches {
                Some(matches) => &matches & &not_false,
                None => not_false,
            });
        }
        Ok(matches.unwrap_or_else(|| BooleanBuffer::new_set(pairs)))
    }
}

fn is_true(values: &BooleanArray) -> BooleanBuffer {
    match values.nulls() {
        None => values.values().clone(),
        Some(nulls) => values.values() & nulls.inner(),
    }
}

/// The expression over only these columns, which are in order.
fn over(expr: &Arc<dyn PhysicalExpr>, columns: &[usize]) -> Result<Arc<dyn PhysicalExpr>> {
    let moved = expr.clone().transform_down(|node| {
        let place = node.downcast_ref::<Column>().and_then(|column| {
            columns.binary_search(&column.index()).ok().map(|at| Column::new(column.name(), at))
        });
        Ok(match place {
            Some(column) => Transformed::yes(Arc::new(column) as Arc<dyn PhysicalExpr>),
            None => Transformed::no(node),
        })
    });
    moved
        .map(|moved| moved.data)
        .map_err(|e| Error::bug("the columns of a join's condition cannot be moved").caused_by(e))
}

//! Binary expressions that are evaluated in a way of their own; in all else they are DataFusion's.

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::BinaryExpr;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

/// How the value of a binary expression is found.
pub(crate) trait Evaluation: fmt::Debug + Clone + Eq + Hash + Send + Sync + 'static {
    /// The values for these rows.
    fn evaluate(&self, expr: &BinaryExpr, rows: &RecordBatch) -> Result<ColumnarValue>;
}

/// A binary expression and how it is evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Binary<E> {
    expr: BinaryExpr,
    evaluation: E,
}

impl<E: Evaluation> Binary<E> {
    pub(crate) fn new(expr: BinaryExpr, evaluation: E) -> Self {
        Binary { expr, evaluation }
    }

    pub(crate) fn operator(&self) -> Operator {
        *self.expr.op()
    }
}

/// The expression with another evaluation of those binary parts for which there is one.
pub(crate) fn special<E: Evaluation>(
    expr: Arc<dyn PhysicalExpr>,
    mut evaluation: impl FnMut(&BinaryExpr) -> Result<Option<E>>,
) -> Result<Arc<dyn PhysicalExpr>> {
    let rewritten = expr.transform_up(|part| {
        let Some(binary) = part.downcast_ref::<BinaryExpr>() else { return Ok(Transformed::no(part)) };
        Ok(match evaluation(binary)? {
            Some(evaluation) => Transformed::yes(Arc::new(Binary::new(binary.clone(), evaluation)) as _),
            None => Transformed::no(part),
        })
    });
    Ok(rewritten?.data)
}

impl<E: Evaluation> fmt::Display for Binary<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}

impl<E: Evaluation> PhysicalExpr for Binary<E> {
    fn data_type(&self, input: &Schema) -> Result<DataType> {
        self.expr.data_type(input)
    }

    fn nullable(&self, input: &Schema) -> Result<bool> {
        self.expr.nullable(input)
    }

    fn return_field(&self, input: &Schema) -> Result<FieldRef> {
        self.expr.return_field(input)
    }

    fn evaluate(&self, rows: &RecordBatch) -> Result<ColumnarValue> {
        self.evaluation.evaluate(&self.expr, rows)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.expr.children()
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let [left, right] = <[_; 2]>::try_from(children)
            .map_err(|_| DataFusionError::Internal("a binary expression has two sides".to_owned()))?;
        let expr = BinaryExpr::new(left, self.operator(), right);
        Ok(Arc::new(Binary::new(expr, self.evaluation.clone())))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt_sql(f)
    }
}

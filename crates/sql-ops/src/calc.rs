//! Filters and projections.

use crate::failure::evaluate;
use arrow::array::{Array, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::utils::collect_columns;
use flugs_batch::{Batch, ChangeBatch};
use flugs_task::{Operator, Output, Progress};
use flugs_types::{Error, Result, RowKind};
use std::sync::Arc;

/// What a [`Calc`] does.
#[derive(Debug, Clone)]
pub struct CalcSpec {
    /// Rows for which it is not true are left out. Over the input's columns.
    pub filter: Option<Arc<dyn PhysicalExpr>>,
    /// The columns of the output, over the input's columns. Evaluated for the rows that pass the filter alone.
    pub projections: Vec<Arc<dyn PhysicalExpr>>,
    /// Names and types of the output.
    pub schema: SchemaRef,
}

/// Filters rows and computes columns.
///
/// Where the filter lets one row of an update pass and not the other, that one becomes `-D` or `+I`: the row leaves or enters the
/// result. (In Flink it stays a lone `-U` or `+U`, which means the same where all four kinds are understood. Here `-U` may be
/// dropped behind a filter too.) Pairs are recognized within a batch, where operators and edges keep them together.
///
/// An expression that fails ends the job with an error of kind `Data` that names it. The rows before that which it failed for are
/// given out.
pub struct Calc {
    /// Before the filter's columns are cut.
    filter: Option<Arc<dyn PhysicalExpr>>,
    /// The input columns that the projections need.
    needed: Vec<usize>,
    /// Over the columns that are needed.
    projections: Vec<Arc<dyn PhysicalExpr>>,
    schema: SchemaRef,
}

impl Calc {
    /// A filter and projections.
    pub fn new(spec: CalcSpec) -> Self {
        let mut needed: Vec<usize> =
            spec.projections.iter().flat_map(collect_columns).map(|column| column.index()).collect();
        needed.sort_unstable();
        needed.dedup();
        let projections = spec.projections.iter().map(|p| over_columns(p, &needed)).collect();
        Calc { filter: spec.filter, needed, projections, schema: spec.schema }
    }

    /// The rows that pass, projected; `None` where there is none.
    pub fn apply(&self, batch: ChangeBatch) -> Result<Option<ChangeBatch>> {
        if batch.is_empty() {
            return Ok(None);
        }
        let keep = match &self.filter {
            Some(filter) => Some(evaluate_filter(filter, batch.rows())?),
            None => None,
        };
        let rows = batch.rows();
        let cut = rows.project(&self.needed).map_err(|e| Error::bug("a column is missing").caused_by(e))?;
        let cut = batch.with_rows(cut)?;
        let passed = match keep {
            Some(keep) if keep.null_count() > 0 || keep.has_false() => {
                if !keep.has_true() {
                    return Ok(None);
                }
                cut_updates(&cut, &keep)?.filter(&keep)?
            }
            _ => cut,
        };
        let projected = self.project(passed.rows())?;
        passed.with_rows(projected).map(Some)
    }

    /// What the rows before the first that fails give. They are given out as if rows came one by one: a batch is no promise.
    fn before_failure(&self, batch: &ChangeBatch) -> Option<ChangeBatch> {
        let (mut good, mut bad) = (0, batch.len());
        while good + 1 < bad {
            let middle = good + (bad - good) / 2;
            match self.apply(batch.slice(0, middle)) {
                Ok(_) => good = middle,
                Err(_) => bad = middle,
            }
        }
        // Half an update is none.
        if good > 0 && batch.kind(good - 1) == RowKind::UpdateBefore {
            good -= 1;
        }
        self.apply(batch.slice(0, good)).ok().flatten()
    }

    fn project(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.projections.iter().map(|expr| evaluate(expr, rows)).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(|e| Error::bug("computed columns are not of the types that were planned").caused_by(e))
    }
}

impl Operator for Calc {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let applied = match self.apply(batch.clone()) {
            Ok(applied) => applied,
            Err(error) => {
                if let Some(before) = self.before_failure(&batch) {
                    let _ = out.push(before)?;
                }
                return Err(error);
            }
        };
        if let Some(batch) = applied {
            let _ = out.push(batch)?;
        }
        Ok(Progress::Done)
    }
}

/// The expression over only these columns of its input.
fn over_columns(expr: &Arc<dyn PhysicalExpr>, columns: &[usize]) -> Arc<dyn PhysicalExpr> {
    let moved = expr.clone().transform_down(|node| {
        let place = node.downcast_ref::<Column>().and_then(|column| {
            columns.binary_search(&column.index()).ok().map(|at| Column::new(column.name(), at))
        });
        Ok(match place {
            Some(column) => Transformed::yes(Arc::new(column) as Arc<dyn PhysicalExpr>),
            None => Transformed::no(node),
        })
    });
    moved.map_or_else(|_| expr.clone(), |moved| moved.data)
}

/// For which rows the filter is true; not those for which it is NULL.
pub fn evaluate_filter(filter: &Arc<dyn PhysicalExpr>, rows: &RecordBatch) -> Result<BooleanArray> {
    let value = evaluate(filter, rows)?;
    value
        .as_boolean_opt()
        .cloned()
        .ok_or_else(|| Error::bug(format!("the condition {filter} gives {}", value.data_type())))
}

/// Where one row of an update passes and not the other, that one is a deletion or an insertion.
fn cut_updates(batch: &ChangeBatch, keep: &BooleanArray) -> Result<ChangeBatch> {
    let Some(numbers) = batch.kind_numbers() else { return Ok(batch.clone()) };
    let passes = |row: usize| keep.is_valid(row) && keep.value(row);
    let is = |row: usize, kind: RowKind| numbers[row] == kind as u8;
    let mut kinds: Option<Vec<RowKind>> = None;
    for row in 1..batch.len() {
        let pair = is(row - 1, RowKind::UpdateBefore) && is(row, RowKind::UpdateAfter);
        if pair && passes(row - 1) != passes(row) {
            let kinds = kinds.get_or_insert_with(|| (0..batch.len()).map(|row| batch.kind(row)).collect());
            (kinds[row - 1], kinds[row]) = (RowKind::Delete, RowKind::Insert);
        }
    }
    match kinds {
        Some(kinds) => ChangeBatch::new(batch.rows().clone(), &kinds),
        None => Ok(batch.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Driver, changes, schema, text};
    use arrow::datatypes::Schema;
    use datafusion_common::ScalarValue;
    use datafusion_expr::Operator as Op;
    use datafusion_physical_expr::expressions::{binary, col, lit};
    use flugs_types::ErrorKind;

    fn filtered(
        input: &Schema,
        filter: Option<(&str, Op, i64)>,
        projections: Vec<Arc<dyn PhysicalExpr>>,
        output: &str,
    ) -> Calc {
        let filter = filter
            .map(|(column, op, value)| binary(col(column, input).unwrap(), op, lit(value), input).unwrap());
        Calc::new(CalcSpec { filter, projections, schema: schema(output) })
    }

    #[test]
    fn rows_are_filtered_and_columns_computed() {
        let input = schema("unused STRING, a BIGINT, b BIGINT");
        let sum = binary(col("a", &input).unwrap(), Op::Plus, col("b", &input).unwrap(), &input).unwrap();
        let calc = filtered(
            &input,
            Some(("a", Op::Gt, 1)),
            vec![sum, lit(ScalarValue::Utf8View(Some("x".into()))), col("b", &input).unwrap()],
            "sum BIGINT, x STRING, b BIGINT",
        );
        let batch = changes(&input, "+I | s | 1 | 2\n-D | s | 3 | 4\n+I | s | NULL | 5\n+I | s | 5 | NULL");
        assert_eq!(text(&calc.apply(batch).unwrap().unwrap()), "-D | 7 | x | 4\n+I | NULL | x | NULL");
        let none = changes(&input, "+I | s | 1 | 2\n+I | s | NULL | 2");
        assert!(calc.apply(none).unwrap().is_none());
        let mut driver = Driver::new(calc).unwrap();
        driver.push(changes(&input, "+I | s | 2 | 2\n+I | s | 0 | 2")).unwrap();
        assert_eq!(driver.take_text(), "+I | 4 | x | 2");
    }

    #[test]
    fn columns_are_handed_on_without_a_copy() {
        let input = schema("a BIGINT, b BIGINT");
        let calc = filtered(&input, Some(("a", Op::Gt, 0)), vec![col("b", &input).unwrap()], "b BIGINT");
        let batch = changes(&input, "+I | 1 | 2\n+U | 3 | 4");
        let result = calc.apply(batch.clone()).unwrap().unwrap();
        assert!(Arc::ptr_eq(result.column(0), batch.column(1)));
        assert_eq!(text(&result), "+I | 2\n+U | 4");
        let nothing = filtered(&input, None, vec![], "");
        assert_eq!(nothing.apply(batch).unwrap().unwrap().len(), 2);
    }

    #[test]
    fn half_an_update_is_an_insertion_or_a_deletion() {
        let input = schema("a BIGINT");
        let calc = filtered(&input, Some(("a", Op::Lt, 10)), vec![col("a", &input).unwrap()], "a BIGINT");
        let batch =
            changes(&input, "-U | 1\n+U | 10\n-U | 10\n+U | 2\n-U | 2\n+U | 3\n-U | 11\n+U | 12\n+U | 4");
        assert_eq!(text(&calc.apply(batch).unwrap().unwrap()), "-D | 1\n+I | 2\n-U | 2\n+U | 3\n+U | 4");
    }

    #[test]
    fn an_expression_that_fails_is_named() {
        let input = schema("a BIGINT, b BIGINT");
        let ratio = binary(col("a", &input).unwrap(), Op::Divide, col("b", &input).unwrap(), &input).unwrap();
        let calc = filtered(&input, None, vec![ratio], "r BIGINT");
        let mut driver = Driver::new(calc).unwrap();
        let error = driver
            .push(changes(&input, "+I | 4 | 2\n+I | 9 | 3\n-U | 4 | 1\n+U | 1 | 0\n+I | 1 | 1"))
            .unwrap_err();
        assert_eq!(driver.take_text(), "+I | 2\n+I | 3");
        assert_eq!(error.kind(), ErrorKind::Data);
        assert!(
            error.to_string().starts_with("bad data: division by zero: a / b, where a is 1, b is 0 (at "),
            "{error}"
        );
    }
}

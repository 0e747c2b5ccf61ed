//! How rows of both inputs are kept, compared and put out.

use super::not_in::NotIn;
use crate::bounded::spec::HashJoinSpec;
use crate::bounded::spill::Record;
use crate::calc::evaluate_filter;
use crate::join::{JoinKey, JoinType};
use crate::rank::columns::types_of;
use crate::rank::outgoing::record_batch;
use crate::row::{RowCodec, null_keys};
use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::cmp::eq;
use arrow::compute::take;
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::utils::collect_columns;
use flugs_batch::ChangeBatch;
use flugs_types::{Error, Result};
use std::sync::Arc;

/// One of the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// How rows of one input are kept.
pub(super) struct SidePlan {
    keys: Vec<usize>,
    /// Those of them that match nothing where they are NULL.
    strict: Vec<usize>,
    key_codec: RowCodec,
    /// The columns that are kept.
    stored: Vec<usize>,
    codec: RowCodec,
}

/// See the module.
pub(super) struct Plan {
    pub(super) join_type: JoinType,
    left: SidePlan,
    right: SidePlan,
    condition: Option<Condition>,
    /// Stored columns that are compared as `NOT IN` does.
    compared: Option<(usize, usize)>,
    output: Vec<(Side, usize)>,
    schema: SchemaRef,
}

struct Condition {
    /// Over the columns of `inputs` alone.
    expr: Arc<dyn PhysicalExpr>,
    inputs: Vec<(Side, usize)>,
    schema: SchemaRef,
}

impl Plan {
    pub(super) fn new(spec: &HashJoinSpec) -> Result<Self> {
        check(spec)?;
        let mut keys = spec.keys.clone();
        let mut compared = None;
        let width = spec.left.fields().len();
        let mut needed = spec.output.clone();
        if NotIn::of(spec).is_some() {
            keys.iter_mut().for_each(|key| key.null_safe = false);
        } else if spec.join_type == JoinType::LeftAntiNullAware {
            let last =
                keys.pop().ok_or_else(|| Error::bug("a null-aware join compares a pair of columns"))?;
            compared = Some(last);
            needed.extend([last.left, width + last.right]);
        }
        let of_condition = spec.condition.as_ref().map(columns_of).unwrap_or_default();
        needed.extend(&of_condition);
        needed.sort_unstable();
        needed.dedup();
        let (left, right): (Vec<usize>, Vec<usize>) = needed.iter().partition(|column| **column < width);
        let right: Vec<usize> = right.into_iter().map(|column| column - width).collect();
        let place = |column: usize| {
            let (side, stored, column) = match column.checked_sub(width) {
                None => (Side::Left, &left, column),
                Some(column) => (Side::Right, &right, column),
            };
            let at = stored.binary_search(&column);
            at.map(|at| (side, at)).map_err(|_| Error::bug(format!("a join does not keep column {column}")))
        };
        let places =
            |columns: &[usize]| columns.iter().map(|column| place(*column)).collect::<Result<Vec<_>>>();
        let condition = match &spec.condition {
            Some(expr) => Some(Condition {
                expr: over(expr, &of_condition)?,
                inputs: places(&of_condition)?,
                schema: concatenated(spec, &of_condition)?,
            }),
            None => None,
        };
        let compared = match compared {
            Some(key) => Some((place(key.left)?.1, place(width + key.right)?.1)),
            None => None,
        };
        let output = places(&spec.output)?;
        Ok(Plan {
            join_type: spec.join_type,
            condition,
            compared,
            output,
            schema: spec.schema.clone(),
            left: SidePlan::new(&spec.left, &keys, |key| key.left, left)?,
            right: SidePlan::new(&spec.right, &keys, |key| key.right, right)?,
        })
    }

    fn side(&self, side: Side) -> &SidePlan {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }

    /// Whether rows of this input without a match are given.
    pub(super) fn keeps_unmatched(&self, side: Side) -> bool {
        match side {
            Side::Left => self.join_type.pads_left() || self.is_anti(),
            Side::Right => self.join_type.pads_right(),
        }
    }

    pub(super) fn is_anti(&self) -> bool {
        matches!(self.join_type, JoinType::LeftAnti | JoinType::LeftAntiNullAware)
    }

    /// Whether it is enough to know of a row of the left that it has a match.
    pub(super) fn is_left_only(&self) -> bool {
        self.join_type.is_left_only()
    }

    /// Whether equal keys make a match.
    pub(super) fn matches_by_key(&self) -> bool {
        self.condition.is_none() && self.compared.is_none()
    }

    /// Gives each row as a record of its key and what is kept of it, with whether it can match anything and the hash of the key.
    pub(super) fn encode(
        &self,
        side: Side,
        rows: &RecordBatch,
        mut give: impl FnMut(Record<'_>, bool, u64) -> Result<()>,
    ) -> Result<()> {
        let plan = self.side(side);
        let pick = |columns: &[usize]| -> Vec<ArrayRef> {
            columns.iter().map(|column| rows.column(*column).clone()).collect()
        };
        let keys = plan.key_codec.encode(&pick(&plan.keys), rows.num_rows())?;
        let nulls = null_keys(&pick(&plan.strict));
        let stored = plan.codec.encode(&pick(&plan.stored), rows.num_rows())?;
        for row in 0..rows.num_rows() {
            let matchable = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            give(Record { key: keys.row(row), value: stored.row(row) }, matchable, keys.hash(row))?;
        }
        Ok(())
    }

    /// What was kept of these rows.
    pub(super) fn decode<'a>(
        &self,
        side: Side,
        rows: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Vec<ArrayRef>> {
        self.side(side).codec.decode(rows)
    }

    /// Which of these pairs with equal keys match; `None`: all.
    pub(super) fn matches(
        &self,
        left: (&[ArrayRef], &UInt32Array),
        right: (&[ArrayRef], &UInt32Array),
    ) -> Result<Option<BooleanBuffer>> {
        let column = |&(side, at): &(Side, usize)| match side {
            Side::Left => pick(&left.0[at], left.1),
            Side::Right => pick(&right.0[at], right.1),
        };
        let mut matches = None;
        if let Some(condition) = &self.condition {
            let columns = condition.inputs.iter().map(column).collect::<Result<_>>()?;
            let rows = record_batch(&condition.schema, columns, left.1.len())?;
            matches = Some(is_true(&evaluate_filter(&condition.expr, &rows)?));
        }
        if let Some((l, r)) = self.compared {
            let equal = eq(&column(&(Side::Left, l))?, &column(&(Side::Right, r))?)
                .map_err(|e| Error::job("the operands of NOT IN cannot be compared").caused_by(e))?;
            let not_false = match equal.nulls() {
                None => equal.values().clone(),
                Some(nulls) => equal.values() | &!nulls.inner(),
            };
            matches = Some(matches.map_or(not_false.clone(), |matches| &matches & &not_false));
        }
        Ok(matches)
    }

    /// Rows of the output, of pairs in which a row may be NULL: beside columns that are not there all are.
    pub(super) fn put_out(
        &self,
        left: Option<(&[ArrayRef], &UInt32Array)>,
        right: Option<(&[ArrayRef], &UInt32Array)>,
        rows: usize,
    ) -> Result<ChangeBatch> {
        let column = |(&(side, at), field): (&(Side, usize), &FieldRef)| {
            let of = if side == Side::Left { left } else { right };
            match of {
                Some((columns, rows)) => pick(&columns[at], rows),
                None => Ok(arrow::array::new_null_array(field.data_type(), rows)),
            }
        };
        let columns = self.output.iter().zip(self.schema.fields()).map(column).collect::<Result<_>>()?;
        record_batch(&self.schema, columns, rows).map(ChangeBatch::inserts)
    }
}

impl SidePlan {
    fn new(
        schema: &SchemaRef,
        keys: &[JoinKey],
        column: impl Fn(&JoinKey) -> usize,
        stored: Vec<usize>,
    ) -> Result<Self> {
        let strict = keys.iter().filter(|key| !key.null_safe).map(&column).collect();
        let keys: Vec<usize> = keys.iter().map(&column).collect();
        Ok(SidePlan {
            key_codec: RowCodec::new(&types_of(schema, &keys)?)?,
            keys,
            strict,
            codec: RowCodec::new(&types_of(schema, &stored)?)?,
            stored,
        })
    }
}

fn pick(column: &ArrayRef, rows: &UInt32Array) -> Result<ArrayRef> {
    take(column, rows, None).map_err(|e| Error::bug("a join has a row that is not there").caused_by(e))
}

fn is_true(values: &BooleanArray) -> BooleanBuffer {
    match values.nulls() {
        None => values.values().clone(),
        Some(nulls) => values.values() & nulls.inner(),
    }
}

fn columns_of(expr: &Arc<dyn PhysicalExpr>) -> Vec<usize> {
    let mut columns: Vec<usize> = collect_columns(expr).iter().map(Column::index).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// The expression over only these columns, which are in order.
fn over(expr: &Arc<dyn PhysicalExpr>, columns: &[usize]) -> Result<Arc<dyn PhysicalExpr>> {
    let moved = expr.clone().transform_down(|node| {
        let column = node.downcast_ref::<Column>();
        let place = column.and_then(|column| {
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

/// These columns of the concatenation of both inputs.
fn concatenated(spec: &HashJoinSpec, columns: &[usize]) -> Result<SchemaRef> {
    let fields: Vec<FieldRef> = spec.left.fields().iter().chain(spec.right.fields()).cloned().collect();
    let field = |column: &usize| {
        let field = fields.get(*column).cloned();
        field
            .ok_or_else(|| Error::bug(format!("a join's condition uses column {column} of {}", fields.len())))
    };
    Ok(Arc::new(Schema::new(columns.iter().map(field).collect::<Result<Vec<_>>>()?)))
}

/// What the planner must have seen to.
fn check(spec: &HashJoinSpec) -> Result<()> {
    for key in &spec.keys {
        let left = types_of(&spec.left, &[key.left])?;
        let right = types_of(&spec.right, &[key.right])?;
        if left != right {
            return Err(Error::bug(format!("a join compares {} with {}", left[0], right[0]))
                .mend("cast both columns to one type before the join"));
        }
    }
    if spec.output.len() != spec.schema.fields().len() {
        return Err(Error::bug("a join's output and its schema differ in length"));
    }
    let width = spec.left.fields().len();
    let all = if spec.join_type.is_left_only() { width } else { width + spec.right.fields().len() };
    match spec.output.iter().find(|column| **column >= all) {
        Some(column) => Err(Error::bug(format!("a join has no output column {column}"))),
        None => Ok(()),
    }
}

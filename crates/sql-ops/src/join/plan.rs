//! How the columns of both inputs are keyed, stored, compared and put out.

use super::condition::Condition;
use super::spec::{JoinKey, JoinType};
use crate::row::{EncodedRows, RowBytes, RowCodec, null_keys};
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::compute::take;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion_physical_expr::PhysicalExpr;
use flugs_batch::ChangeBatch;
use flugs_types::{Error, Result, RowKind};
use std::sync::Arc;

/// One of the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

impl Side {
    pub(super) fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }
}

/// Stands for no row.
pub(super) const NONE: u32 = u32::MAX;

/// What a join is planned from.
pub(super) struct PlanSpec<'a> {
    pub(super) join_type: JoinType,
    pub(super) left: &'a SchemaRef,
    pub(super) right: &'a SchemaRef,
    pub(super) keys: &'a [JoinKey],
    pub(super) condition: Option<&'a Arc<dyn PhysicalExpr>>,
    pub(super) output: &'a [usize],
    pub(super) schema: &'a SchemaRef,
    /// Columns of the left and of the right that stand first in stored rows.
    pub(super) first: [&'a [usize]; 2],
}

/// See the module.
pub(super) struct JoinPlan {
    pub(super) left: SidePlan,
    pub(super) right: SidePlan,
    pub(super) condition: Option<Condition>,
    /// For each output column its input and its place among that input's stored columns.
    output: Vec<(Side, usize)>,
    schema: SchemaRef,
}

/// See the module.
pub(super) struct SidePlan {
    /// The columns of the join key that rows are stored by.
    keys: Vec<usize>,
    key_codec: RowCodec,
    /// Those of them that match nothing where they are NULL.
    strict: Vec<usize>,
    /// The columns of a stored row.
    stored: Vec<usize>,
    pub(super) codec: RowCodec,
    /// How many of them stand before all others.
    first: usize,
    first_codec: RowCodec,
    /// Whether each stored column is put out too.
    put_out: Vec<bool>,
}

/// The keys of a batch.
pub(super) struct Keys {
    pub(super) keys: Vec<RowBytes>,
    pub(super) hashes: Vec<u64>,
    /// The rows that match nothing because their key is NULL.
    pub(super) nulls: Option<NullBuffer>,
}

impl Keys {
    pub(super) fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }
}

impl JoinPlan {
    pub(super) fn new(spec: &PlanSpec<'_>) -> Result<Self> {
        let width = spec.left.fields().len();
        check(spec)?;
        let mut keys = spec.keys;
        let mut null_aware = None;
        if spec.join_type == JoinType::LeftAntiNullAware {
            let (last, correlating) = keys
                .split_last()
                .ok_or_else(|| Error::bug("a null-aware join compares a pair of columns"))?;
            (keys, null_aware) = (correlating, Some(last));
        }
        let mut needed = [spec.first[0].to_vec(), spec.first[1].to_vec()];
        let mut need = |column: usize| {
            let (side, column) = if column < width { (0, column) } else { (1, column - width) };
            if !needed[side].contains(&column) {
                needed[side].push(column);
            }
        };
        spec.output.iter().for_each(|column| need(*column));
        spec.condition.map(Condition::columns).unwrap_or_default().into_iter().for_each(&mut need);
        null_aware.iter().for_each(|key| {
            need(key.left);
            need(width + key.right);
        });
        let place = |column: usize| {
            let (side, of, column) =
                if column < width { (Side::Left, 0, column) } else { (Side::Right, 1, column - width) };
            let at = needed[of].iter().position(|stored| *stored == column);
            at.map(|at| (side, at)).ok_or_else(|| Error::bug("a column of a join is not stored"))
        };
        let output = spec.output.iter().map(|column| place(*column)).collect::<Result<Vec<_>>>()?;
        let null_aware = match null_aware {
            Some(key) => Some((place(key.left)?.1, place(width + key.right)?.1)),
            None => None,
        };
        let condition = if spec.condition.is_some() || null_aware.is_some() {
            Some(Condition::new(spec.condition, [spec.left, spec.right], null_aware, place)?)
        } else {
            None
        };
        let put_out = |side: Side, stored: &[usize]| {
            (0..stored.len()).map(|at| output.contains(&(side, at))).collect::<Vec<bool>>()
        };
        let [left, right] = needed;
        let put_out = [put_out(Side::Left, &left), put_out(Side::Right, &right)];
        let [left_out, right_out] = put_out;
        Ok(JoinPlan {
            left: SidePlan::new(spec, Side::Left, keys, left, left_out)?,
            right: SidePlan::new(spec, Side::Right, keys, right, right_out)?,
            condition,
            output,
            schema: spec.schema.clone(),
        })
    }

    pub(super) fn side(&self, side: Side) -> &SidePlan {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }

    /// Rows of the output: each of a row of the left and one of the right, [`NONE`] being NULLs.
    pub(super) fn put_out(&self, left: Rows<'_>, right: Rows<'_>, kinds: &[RowKind]) -> Result<ChangeBatch> {
        let mut columns = Vec::with_capacity(self.output.len());
        for &(side, at) in &self.output {
            columns.push(match side {
                Side::Left => left.column(at)?,
                Side::Right => right.column(at)?,
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(kinds.len()));
        let rows = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(|e| Error::bug("joined columns are not of the types that were planned").caused_by(e))?;
        if kinds.iter().all(|kind| *kind == RowKind::Insert) {
            return Ok(ChangeBatch::inserts(rows));
        }
        ChangeBatch::new(rows, kinds)
    }
}

/// What the planner must have seen to.
fn check(spec: &PlanSpec<'_>) -> Result<()> {
    let width = spec.left.fields().len();
    let all = width + spec.right.fields().len();
    let column_type = |schema: &SchemaRef, at: usize| {
        let field = schema.fields().get(at);
        field
            .map(|field| field.data_type().clone())
            .ok_or_else(|| Error::bug(format!("a join names column {at} of {}", schema.fields().len())))
    };
    for key in spec.keys {
        let (left, right) = (column_type(spec.left, key.left)?, column_type(spec.right, key.right)?);
        if left != right {
            return Err(Error::bug(format!("a join compares {left} with {right}"))
                .mend("cast both columns to one type before the join"));
        }
    }
    if spec.output.len() != spec.schema.fields().len() {
        return Err(Error::bug("a join's output and its schema differ in length"));
    }
    match spec.output.iter().find(|c| **c >= if spec.join_type.is_left_only() { width } else { all }) {
        Some(column) => Err(Error::bug(format!("a join has no output column {column}"))),
        None => Ok(()),
    }
}

impl SidePlan {
    fn new(
        spec: &PlanSpec<'_>,
        side: Side,
        keys: &[JoinKey],
        stored: Vec<usize>,
        put_out: Vec<bool>,
    ) -> Result<Self> {
        let (schema, first) = match side {
            Side::Left => (spec.left, spec.first[0]),
            Side::Right => (spec.right, spec.first[1]),
        };
        let column = |key: &JoinKey| if side == Side::Left { key.left } else { key.right };
        let types = |columns: &[usize]| -> Vec<DataType> {
            columns.iter().map(|column| schema.field(*column).data_type().clone()).collect()
        };
        let strict = keys.iter().filter(|key| !key.null_safe).map(column).collect();
        let keys: Vec<usize> = keys.iter().map(column).collect();
        Ok(SidePlan {
            key_codec: RowCodec::new(&types(&keys))?,
            keys,
            strict,
            codec: RowCodec::new(&types(&stored))?,
            first: first.len(),
            first_codec: RowCodec::new(&types(first))?,
            put_out,
            stored,
        })
    }

    /// The join keys of a batch.
    pub(super) fn keys(&self, rows: &RecordBatch) -> Result<Keys> {
        let columns = pick(rows, &self.keys);
        let encoded = self.key_codec.encode(&columns, rows.num_rows())?;
        Ok(Keys {
            keys: (0..encoded.len()).map(|row| encoded.to_key(row)).collect(),
            hashes: encoded.hashes().to_vec(),
            nulls: null_keys(&pick(rows, &self.strict)),
        })
    }

    /// The stored columns of a batch.
    pub(super) fn columns(&self, rows: &RecordBatch) -> Vec<ArrayRef> {
        pick(rows, &self.stored)
    }

    /// Encodes the columns that stand first alone; the bytes are the start of those of the whole row.
    pub(super) fn encode_first(&self, columns: &[ArrayRef], rows: usize) -> Result<EncodedRows> {
        self.first_codec.encode(&columns[..self.first], rows)
    }

    /// Whether no column is stored, so that rows of a key are all equal.
    pub(super) fn is_bare(&self) -> bool {
        self.stored.is_empty()
    }

    /// The stored columns that are put out, where others are stored too: two rows may differ and give the same.
    pub(super) fn shown(&self, columns: &[ArrayRef]) -> Option<Vec<ArrayRef>> {
        if self.put_out.iter().all(|out| *out) {
            return None;
        }
        Some(columns.iter().zip(&self.put_out).filter(|(_, out)| **out).map(|(c, _)| c.clone()).collect())
    }
}

fn pick(rows: &RecordBatch, columns: &[usize]) -> Vec<ArrayRef> {
    columns.iter().map(|column| rows.column(*column).clone()).collect()
}

/// Rows of one input, in some order, some perhaps more than once or not at all.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    columns: &'a [ArrayRef],
    at: &'a Selection,
}

impl<'a> Rows<'a> {
    pub(super) fn all(columns: &'a [ArrayRef]) -> Self {
        Rows { columns, at: &Selection::All }
    }

    pub(super) fn at(columns: &'a [ArrayRef], at: &'a Selection) -> Self {
        Rows { columns, at }
    }

    pub(super) fn column(&self, place: usize) -> Result<ArrayRef> {
        let column = &self.columns[place];
        match self.at {
            Selection::All => Ok(column.clone()),
            Selection::Nulls(rows) => Ok(new_null_array(column.data_type(), *rows)),
            Selection::Some(at) => {
                take(column, at, None).map_err(|e| Error::bug("rows of a join are missing").caused_by(e))
            }
        }
    }
}

/// Which rows of an input.
pub(super) enum Selection {
    /// All in order.
    All,
    /// So many NULLs.
    Nulls(usize),
    /// These, or NULL.
    Some(UInt32Array),
}

impl Selection {
    /// Of `rows` rows these, [`NONE`] being NULLs.
    pub(super) fn new(mut at: Vec<u32>, rows: usize) -> Self {
        if at.len() == rows && at.iter().zip(0..).all(|(at, row)| *at == row) {
            return Selection::All;
        }
        if !at.contains(&NONE) {
            return Selection::Some(at.into());
        }
        let nulls = NullBuffer::from_iter(at.iter().map(|at| *at != NONE));
        if nulls.null_count() == at.len() {
            return Selection::Nulls(at.len());
        }
        at.iter_mut().filter(|at| **at == NONE).for_each(|at| *at = 0);
        Selection::Some(UInt32Array::new(ScalarBuffer::from(at), Some(nulls)))
    }
}

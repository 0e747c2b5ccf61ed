//! Aggregate functions that users write.

use super::value::{Returned, type_of};
use super::widening::widened;
use crate::support::to_datafusion;
use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::{Result, not_impl_err};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{AggregateUDF, AggregateUDFImpl, Signature, TypeSignature, Volatility};
use flugs_batch::Data;
use flugs_sql_types::{
    AggregatedRow, Cell, RowColumns, SqlRow, SqlType, UserAggregate, UserFunction, to_field,
};
use flugs_types::{Error, guarded};
use std::sync::Arc;

/// An aggregate function (Flink: `AggregateFunction`).
///
/// ```
/// use flugs_sql_functions::table::AggregateFunction;
/// use flugs_types::Result;
///
/// /// The mean of values by their weights.
/// struct WeightedMean;
///
/// impl AggregateFunction for WeightedMean {
///     type Row = (f64, i64);
///     type Accumulator = (f64, i64);
///     type Value = Option<f64>;
///     const RETRACTS: bool = true;
///     const MERGES: bool = true;
///
///     fn create(&self) -> (f64, i64) {
///         (0.0, 0)
///     }
///
///     fn accumulate(&self, sums: &mut (f64, i64), (value, weight): (f64, i64)) -> Result<()> {
///         sums.0 += value * weight as f64;
///         sums.1 += weight;
///         Ok(())
///     }
///
///     fn retract(&self, sums: &mut (f64, i64), (value, weight): (f64, i64)) -> Result<()> {
///         self.accumulate(sums, (value, -weight))
///     }
///
///     fn merge(&self, sums: &mut (f64, i64), other: (f64, i64)) -> Result<()> {
///         *sums = (sums.0 + other.0, sums.1 + other.1);
///         Ok(())
///     }
///
///     fn value(&self, (sum, weights): &(f64, i64)) -> Option<f64> {
///         (*weights != 0).then(|| sum / *weights as f64)
///     }
/// }
/// ```
///
/// Accumulators are kept with the operator's state. A query whose function has another name, other types or an accumulator of
/// another [`Data::schema`] starts with none.
pub trait AggregateFunction: Send + Sync + 'static {
    /// The arguments: a tuple of their types, or the type of a single one. Rows with a NULL for an argument that is no `Option` are
    /// passed over.
    type Row: SqlRow;

    /// What is kept of a group.
    type Accumulator: Data;

    /// The value of a group: of a type of columns, or an `Option` of one.
    type Value: Returned;

    /// Whether [`retract`](Self::retract) is there. Needed where the input updates or deletes rows, and for `OVER` with a frame that
    /// rows leave; such queries are refused otherwise, as in Flink.
    const RETRACTS: bool = false;

    /// Whether [`merge`](Self::merge) is there. Needed for windows that share rows or grow together (`HOP`, `CUMULATE`, `SESSION`), and
    /// in batch mode; such queries are refused otherwise. Other aggregations are done in one phase without it.
    const MERGES: bool = false;

    /// The accumulator of a group without rows.
    fn create(&self) -> Self::Accumulator;

    /// Adds a row. An error fails the job.
    fn accumulate(&self, accumulator: &mut Self::Accumulator, row: Self::Row) -> flugs_types::Result<()>;

    /// Takes back a row that was added.
    fn retract(&self, accumulator: &mut Self::Accumulator, row: Self::Row) -> flugs_types::Result<()> {
        let _ = (accumulator, row);
        Err(Error::user("the function says that it takes rows back, and has no `retract`"))
    }

    /// Adds all that another accumulator has, whose rows came later.
    fn merge(
        &self,
        accumulator: &mut Self::Accumulator,
        other: Self::Accumulator,
    ) -> flugs_types::Result<()> {
        let _ = (accumulator, other);
        Err(Error::user("the function says that it merges accumulators, and has no `merge`"))
    }

    /// The value of a group.
    fn value(&self, accumulator: &Self::Accumulator) -> Self::Value;
}

/// An [`AggregateFunction`] over bytes and columns.
struct Typed<F> {
    name: String,
    function: F,
}

impl<F: AggregateFunction> Typed<F> {
    /// The accumulator of these bytes; of none a new one.
    fn decoded(&self, bytes: &[u8]) -> flugs_types::Result<F::Accumulator> {
        if bytes.is_empty() {
            return guarded(|| Ok(self.function.create()));
        }
        F::Accumulator::from_bytes(&bytes[1..])
            .map_err(|e| Error::bug(format!("an accumulator of {} cannot be read", self.name)).caused_by(e))
    }

    fn encoded(accumulator: &F::Accumulator, into: &mut Vec<u8>) {
        into.clear();
        // That there is one, even where its encoding takes no bytes.
        into.push(1);
        accumulator.encode(into);
    }

    /// The rows that have all arguments which are never NULL.
    fn whole(columns: &[ArrayRef], rows: &[AggregatedRow]) -> Vec<AggregatedRow> {
        let fields = F::Row::fields();
        let needed = fields.iter().zip(columns).filter(|(field, _)| !field.sql_type.nullable);
        let nulls = needed.fold(None, |nulls, (_, column)| {
            NullBuffer::union(nulls.as_ref(), column.logical_nulls().as_ref())
        });
        let is_whole = |row: &&AggregatedRow| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row.row));
        rows.iter().filter(is_whole).copied().collect()
    }

    fn values_of(
        &self,
        columns: &[ArrayRef],
        rows: &[AggregatedRow],
    ) -> flugs_types::Result<Vec<Option<F::Row>>> {
        let indices: UInt32Array = rows.iter().map(|row| row.row as u32).collect();
        let picked = columns.iter().map(|column| take(column, &indices, None));
        let picked: Vec<ArrayRef> = picked
            .collect::<Result<_, _>>()
            .map_err(|e| Error::bug("the rows of an aggregate are not there").caused_by(e))?;
        F::Row::rows(&RowColumns::new(&picked, rows.len()))
    }
}

impl<F: AggregateFunction> UserAggregate for Typed<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn arguments(&self) -> Vec<SqlType> {
        F::Row::fields().into_iter().map(|field| field.sql_type).collect()
    }

    fn result(&self) -> SqlType {
        type_of::<F::Value>()
    }

    fn layout(&self) -> String {
        F::Accumulator::schema().to_string()
    }

    fn retracts(&self) -> bool {
        F::RETRACTS
    }

    fn merges(&self) -> bool {
        F::MERGES
    }

    fn accumulate(
        &self,
        accumulators: &mut [Vec<u8>],
        columns: &[ArrayRef],
        rows: &[AggregatedRow],
    ) -> flugs_types::Result<()> {
        let rows = Self::whole(columns, rows);
        let values = self.values_of(columns, &rows)?;
        let mut at_work: Vec<Option<F::Accumulator>> = accumulators.iter().map(|_| None).collect();
        for (row, value) in rows.iter().zip(values) {
            let Some(value) = value else { continue };
            let slot = &mut at_work[row.accumulator];
            if slot.is_none() {
                *slot = Some(self.decoded(&accumulators[row.accumulator])?);
            }
            let Some(accumulator) = slot else { continue };
            guarded(|| match row.retracted {
                false => self.function.accumulate(accumulator, value),
                true => self.function.retract(accumulator, value),
            })
            .map_err(|e| e.at(self.name.clone()))?;
        }
        for (accumulator, bytes) in at_work.iter().zip(accumulators) {
            if let Some(accumulator) = accumulator {
                Self::encoded(accumulator, bytes);
            }
        }
        Ok(())
    }

    fn merge(&self, accumulator: &mut Vec<u8>, other: &[u8]) -> flugs_types::Result<()> {
        let (mut into, other) = (self.decoded(accumulator)?, self.decoded(other)?);
        guarded(|| self.function.merge(&mut into, other)).map_err(|e| e.at(self.name.clone()))?;
        Self::encoded(&into, accumulator);
        Ok(())
    }

    fn values(&self, accumulators: &mut dyn Iterator<Item = &[u8]>) -> flugs_types::Result<ArrayRef> {
        let value = |bytes: &[u8]| {
            let accumulator = self.decoded(bytes)?;
            guarded(|| self.function.value(&accumulator).into_value()).map_err(|e| e.at(self.name.clone()))
        };
        let values = accumulators.map(value).collect::<flugs_types::Result<Vec<_>>>()?;
        <F::Value as Returned>::Of::column(values)
    }
}

/// The function object of an [`AggregateFunction`].
pub fn aggregate<F: AggregateFunction>(name: &str, function: F) -> AggregateUDF {
    let function = UserFunction::new(Arc::new(Typed { name: name.to_owned(), function }));
    let arguments = TypeSignature::OneOf(vec![TypeSignature::Nullary, TypeSignature::UserDefined]);
    let signature = Signature::new(arguments, Volatility::Immutable);
    AggregateUDF::from(UserAggregateFunction { function, signature })
}

/// A user's function among DataFusion's; the operators take the [`UserFunction`] out of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UserAggregateFunction {
    function: UserFunction,
    signature: Signature,
}

impl UserAggregateFunction {
    /// The function of this object, where it is a user's.
    pub fn of(udf: &AggregateUDF) -> Option<&UserAggregateFunction> {
        let inner: &dyn std::any::Any = udf.inner().as_ref();
        inner.downcast_ref()
    }

    /// The user's function.
    pub fn function(&self) -> &UserFunction {
        &self.function
    }
}

impl AggregateUDFImpl for UserAggregateFunction {
    fn name(&self) -> &str {
        self.function.get().name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        widened(self.name(), given, &self.function.get().arguments()).map_err(to_datafusion)
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        let fields: Vec<FieldRef> =
            given.iter().map(|t| Arc::new(Field::new("x", t.clone(), true))).collect();
        Ok(self.return_field(&fields)?.data_type().clone())
    }

    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        let given: Vec<DataType> = fields.iter().map(|field| field.data_type().clone()).collect();
        self.coerce_types(&given)?;
        Ok(Arc::new(to_field(self.name(), &self.function.get().result())))
    }

    fn accumulator(&self, _args: AccumulatorArgs<'_>) -> Result<Box<dyn datafusion_expr::Accumulator>> {
        not_impl_err!("{} is carried out by the streaming operators", self.name())
    }

    fn state_fields(&self, _args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        not_impl_err!("{} is carried out by the streaming operators", self.name())
    }
}

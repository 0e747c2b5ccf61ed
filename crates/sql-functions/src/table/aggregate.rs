//! Aggregate functions that users write.

use crate::support::to_datafusion;
use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::{Result, ScalarValue, not_impl_err};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{AggregateUDF, AggregateUDFImpl, Signature, TypeSignature, Volatility};
use flugs_sql_types::{SqlType, from_field, to_field};
use flugs_types::Error;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What an aggregate function keeps for a group: values of the types that [`UserAggregate::accumulator`] gives, in that order.
/// They are stored with the operator's state, so the types are part of a job's savepoints.
pub type Accumulator = Vec<ScalarValue>;

/// An aggregate function over single values.
///
/// Values and accumulators are of the types that the function itself named. Functions that cannot take rows back are refused
/// where the input changes or disappears.
pub trait UserAggregate: fmt::Debug + Send + Sync + 'static {
    /// Its name.
    fn name(&self) -> &str;

    /// The type of its value for arguments of these types. An error where it does not take them.
    fn result_type(&self, arguments: &[SqlType]) -> flugs_types::Result<SqlType>;

    /// The types of its accumulator for arguments of these types.
    fn accumulator(&self, arguments: &[SqlType]) -> flugs_types::Result<Vec<SqlType>>;

    /// The accumulator of a group without rows.
    fn create(&self, arguments: &[SqlType]) -> flugs_types::Result<Accumulator>;

    /// Adds a row.
    fn accumulate(&self, accumulator: &mut Accumulator, row: &[ScalarValue]) -> flugs_types::Result<()>;

    /// Whether [`retract`](Self::retract) works.
    fn retracts(&self) -> bool {
        false
    }

    /// Takes a row back that was added before.
    fn retract(&self, _accumulator: &mut Accumulator, _row: &[ScalarValue]) -> flugs_types::Result<()> {
        Err(Error::user(format!("{} cannot take rows back", self.name())))
    }

    /// Whether [`merge`](Self::merge) works: session windows and aggregation in two phases need it.
    fn merges(&self) -> bool {
        false
    }

    /// Adds all that another accumulator has.
    fn merge(&self, _accumulator: &mut Accumulator, _other: &[ScalarValue]) -> flugs_types::Result<()> {
        Err(Error::user(format!("{} cannot merge", self.name())))
    }

    /// The value of a group.
    fn value(&self, accumulator: &[ScalarValue]) -> flugs_types::Result<ScalarValue>;
}

/// The function object of a [`UserAggregate`], for planning.
pub fn aggregate(function: Arc<dyn UserAggregate>) -> AggregateUDF {
    let arguments = TypeSignature::OneOf(vec![TypeSignature::Nullary, TypeSignature::UserDefined]);
    let signature = Signature::new(arguments, Volatility::Immutable);
    AggregateUDF::from(UserAggregateFunction { function, signature })
}

/// A user's function among DataFusion's; the operators take the [`UserAggregate`] out of it.
#[derive(Debug, Clone)]
pub struct UserAggregateFunction {
    function: Arc<dyn UserAggregate>,
    signature: Signature,
}

impl UserAggregateFunction {
    /// The function of this object, where it is a user's.
    pub fn of(udf: &AggregateUDF) -> Option<&UserAggregateFunction> {
        let inner: &dyn std::any::Any = udf.inner().as_ref();
        inner.downcast_ref()
    }

    /// The user's function.
    pub fn function(&self) -> &Arc<dyn UserAggregate> {
        &self.function
    }
}

impl PartialEq for UserAggregateFunction {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.function, &other.function)
    }
}

impl Eq for UserAggregateFunction {}

impl Hash for UserAggregateFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.name().hash(state);
    }
}

impl AggregateUDFImpl for UserAggregateFunction {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        Ok(given.to_vec())
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        let fields: Vec<FieldRef> =
            given.iter().map(|t| Arc::new(arrow::datatypes::Field::new("x", t.clone(), true))).collect();
        Ok(self.return_field(&fields)?.data_type().clone())
    }

    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        let types =
            fields.iter().map(|f| from_field(f).map_err(to_datafusion)).collect::<Result<Vec<_>>>()?;
        let result = self.function.result_type(&types).map_err(|e| to_datafusion(e.at(self.name())))?;
        Ok(Arc::new(to_field(self.name(), &result)))
    }

    fn accumulator(&self, _args: AccumulatorArgs<'_>) -> Result<Box<dyn datafusion_expr::Accumulator>> {
        not_impl_err!("{} is carried out by the streaming operators", self.name())
    }

    fn state_fields(&self, _args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        not_impl_err!("{} is carried out by the streaming operators", self.name())
    }
}

//! Scalar functions of any types, value by value.

use crate::support::{planning_error, to_datafusion};
use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};
use flugs_sql_types::{SqlType, from_field, to_field};
use flugs_types::guarded;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A scalar function over single values, of any types.
pub trait DynamicScalar: fmt::Debug + Send + Sync + 'static {
    /// Its name.
    fn name(&self) -> &str;

    /// The type of its value for arguments of these types. An error where it does not take them.
    fn result_type(&self, arguments: &[SqlType]) -> flugs_types::Result<SqlType>;

    /// Whether equal arguments always give equal values.
    fn is_deterministic(&self) -> bool {
        true
    }

    /// The value for the arguments of a row, NULLs among them. It is of the type that [`result_type`](Self::result_type) gave.
    fn eval(&self, arguments: &[ScalarValue]) -> flugs_types::Result<ScalarValue>;
}

/// The function object of a [`DynamicScalar`].
pub fn dynamic_scalar(function: Arc<dyn DynamicScalar>) -> ScalarUDF {
    let volatility = if function.is_deterministic() { Volatility::Immutable } else { Volatility::Volatile };
    let arguments = TypeSignature::OneOf(vec![TypeSignature::Nullary, TypeSignature::UserDefined]);
    ScalarUDF::new_from_impl(Dynamic { function, signature: Signature::new(arguments, volatility) })
}

#[derive(Debug)]
struct Dynamic {
    function: Arc<dyn DynamicScalar>,
    signature: Signature,
}

impl PartialEq for Dynamic {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.function, &other.function)
    }
}

impl Eq for Dynamic {}

impl Hash for Dynamic {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.name().hash(state);
    }
}

impl ScalarUDFImpl for Dynamic {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        Ok(given.to_vec())
    }

    fn return_type(&self, _given: &[DataType]) -> Result<DataType> {
        Err(planning_error(format!("the type of {} follows from its arguments' fields", self.name())))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types = args
            .arg_fields
            .iter()
            .map(|f| from_field(f).map_err(to_datafusion))
            .collect::<Result<Vec<_>>>()?;
        let result = self.function.result_type(&types).map_err(|e| to_datafusion(e.at(self.name())))?;
        Ok(Arc::new(to_field(self.name(), &result)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = args.args.iter().map(|a| a.to_array(args.number_rows)).collect::<Result<Vec<_>>>()?;
        let mut values = Vec::with_capacity(args.number_rows);
        let mut row_values = Vec::with_capacity(columns.len());
        for row in 0..args.number_rows {
            row_values.clear();
            for column in &columns {
                row_values.push(ScalarValue::try_from_array(column, row)?);
            }
            let value =
                guarded(|| self.function.eval(&row_values)).map_err(|e| to_datafusion(e.at(self.name())))?;
            values.push(if value.is_null() {
                ScalarValue::try_from(args.return_field.data_type())?
            } else {
                value
            });
        }
        if values.is_empty() {
            return Ok(ColumnarValue::Array(arrow::array::new_empty_array(args.return_field.data_type())));
        }
        let column = ScalarValue::iter_to_array(values)?;
        if column.data_type() != args.return_field.data_type() {
            let (promised, given) = (args.return_field.data_type(), column.data_type());
            let message = format!("{} promised values of {promised}, but gave {given}", self.name());
            return Err(to_datafusion(flugs_types::Error::user(message)));
        }
        Ok(ColumnarValue::Array(column))
    }
}

//! Which arguments fit the types of a function's parameters.

use crate::support::Parameter;
use arrow::datatypes::{DataType, TimeUnit};
use flugs_sql_types::{LTZ, LogicalType, SqlType, from_arrow};
use flugs_types::{Error, Result};

/// The types to which arguments of these types are widened for parameters of those; an error where one does not fit.
pub(super) fn widened(name: &str, given: &[DataType], wanted: &[SqlType]) -> Result<Vec<DataType>> {
    let written = || wanted.iter().map(|t| t.kind.to_string()).collect::<Vec<_>>().join(", ");
    if given.len() != wanted.len() {
        return Err(Error::job(format!("{name} takes ({})", written())));
    }
    let widen = |(given, wanted): (&DataType, &SqlType)| {
        accepted(wanted, given).ok_or_else(|| {
            let given = from_arrow(given).map_or_else(|_| given.to_string(), |t| t.to_string());
            Error::job(format!("{name} takes ({}), not {given} for {}", written(), wanted.kind))
        })
    };
    given.iter().zip(wanted).map(widen).collect()
}

fn accepted(wanted: &SqlType, given: &DataType) -> Option<DataType> {
    use LogicalType::{Array, Decimal, Map, Multiset, Row};
    match &wanted.kind {
        // Of these the type itself is taken alone.
        Array(_) | Map(..) | Multiset(_) | Row(_) | Decimal(..) => {
            let own = wanted.kind.to_arrow();
            (*given == DataType::Null || *given == own).then_some(own)
        }
        _ => parameter(wanted).accept(given),
    }
}

/// What fits a parameter of this type.
pub(super) fn parameter(sql_type: &SqlType) -> Parameter {
    use LogicalType as T;
    match sql_type.kind {
        T::Boolean => Parameter::Boolean,
        T::TinyInt => Parameter::Other("TINYINT", |given| integer(given, DataType::Int8)),
        T::SmallInt => Parameter::Other("SMALLINT", |given| integer(given, DataType::Int16)),
        T::Int => Parameter::Int,
        T::BigInt => Parameter::BigInt,
        T::Float => Parameter::Other("FLOAT", |given| {
            matches!(given, DataType::Null | DataType::Float32 | DataType::Int8 | DataType::Int16)
                .then_some(DataType::Float32)
        }),
        T::Double => Parameter::Double,
        T::TimestampLtz(_) => Parameter::Other("TIMESTAMP_LTZ", |given| {
            matches!(given, DataType::Null | DataType::Timestamp(_, Some(_)))
                .then(|| DataType::Timestamp(TimeUnit::Microsecond, Some(LTZ.into())))
        }),
        T::VarBinary(_) => Parameter::Bytes,
        _ => Parameter::String,
    }
}

fn integer(given: &DataType, to: DataType) -> Option<DataType> {
    let narrower = match to {
        DataType::Int8 => matches!(given, DataType::Int8),
        _ => matches!(given, DataType::Int8 | DataType::Int16),
    };
    (narrower || *given == DataType::Null).then_some(to)
}

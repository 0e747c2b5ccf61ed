//! An aggregate function for planning.

use super::Meaning;
use crate::support::{planning_error, to_datafusion};
use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::{Result, ScalarValue, not_impl_err};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{Accumulator, AggregateUDFImpl, Signature, TypeSignature, Volatility};
use flugs_sql_types::{AggregateKind, LogicalType, SqlType, from_field, to_field};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Names, arguments and types; there is no accumulator.
#[derive(Debug, Clone)]
pub(super) struct PlannedFunction {
    name: String,
    aliases: Vec<String>,
    usage: &'static str,
    meaning: Meaning,
    signature: Signature,
}

impl PlannedFunction {
    pub(super) fn new(name: &str, aliases: &[&str], usage: &'static str, meaning: Meaning) -> Self {
        // COUNT(*) and GROUP_ID() have no arguments.
        let any = TypeSignature::OneOf(vec![TypeSignature::Nullary, TypeSignature::UserDefined]);
        PlannedFunction {
            name: name.to_lowercase(),
            aliases: aliases.iter().map(|a| a.to_lowercase()).collect(),
            usage,
            meaning,
            signature: Signature::new(any, Volatility::Immutable),
        }
    }

    pub(super) fn meaning(&self) -> &Meaning {
        &self.meaning
    }

    /// The type of the result, and an error where the arguments do not fit.
    fn result(&self, arguments: &[SqlType]) -> Result<SqlType> {
        let Meaning::Kind(kind) = &self.meaning else {
            return Ok(LogicalType::BigInt.not_null());
        };
        let called_as =
            |e: flugs_types::Error| to_datafusion(e.mend(format!("it is called as {}", self.usage)));
        match (kind, arguments) {
            (AggregateKind::Listagg { .. }, [text]) => {
                kind.result_type(std::slice::from_ref(text)).map_err(called_as)
            }
            (AggregateKind::Listagg { .. }, [text, separator]) if separator.kind.is_character() => {
                kind.result_type(std::slice::from_ref(text)).map_err(called_as)
            }
            (AggregateKind::Percentile { .. }, [value, fractions, frequency @ ..]) => {
                let array = matches!(fractions.kind, LogicalType::Array(_));
                let columns: Vec<SqlType> = std::iter::once(value).chain(frequency).cloned().collect();
                AggregateKind::Percentile { fractions: Vec::new(), array }
                    .result_type(&columns)
                    .map_err(called_as)
            }
            (AggregateKind::Listagg { .. } | AggregateKind::Percentile { .. }, _) => {
                Err(planning_error(format!("{} is called as {}", self.name.to_uppercase(), self.usage)))
            }
            _ => kind.result_type(arguments).map_err(called_as),
        }
    }
}

impl PartialEq for PlannedFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.meaning == other.meaning
    }
}

impl Eq for PlannedFunction {}

impl Hash for PlannedFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// The types in which arguments are seen: strings and bytes have one each.
pub(super) fn seen_as(given: &DataType) -> DataType {
    match given {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => DataType::Binary,
        other => other.clone(),
    }
}

pub(super) fn sql_types(fields: &[FieldRef]) -> Result<Vec<SqlType>> {
    fields.iter().map(|field| from_field(field).map_err(to_datafusion)).collect()
}

impl AggregateUDFImpl for PlannedFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        Ok(given.iter().map(seen_as).collect())
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        let fields: Vec<FieldRef> =
            given.iter().map(|t| Arc::new(arrow::datatypes::Field::new("x", t.clone(), true))).collect();
        Ok(self.return_field(&fields)?.data_type().clone())
    }

    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        Ok(Arc::new(to_field(&self.name, &self.result(&sql_types(fields)?)?)))
    }

    fn is_nullable(&self) -> bool {
        !matches!(self.meaning, Meaning::Grouping | Meaning::Kind(AggregateKind::Count | AggregateKind::Sum0))
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        if self.is_nullable() { ScalarValue::try_from(data_type) } else { ScalarValue::new_zero(data_type) }
    }

    fn supports_null_handling_clause(&self) -> bool {
        use AggregateKind::{ArrayAgg, FirstValue, LastValue};
        matches!(&self.meaning, Meaning::Kind(FirstValue { .. } | LastValue { .. } | ArrayAgg { .. }))
    }

    fn accumulator(&self, _args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        not_impl_err!("{} is carried out by the streaming operators", self.name)
    }

    fn state_fields(&self, _args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        not_impl_err!("{} is carried out by the streaming operators", self.name)
    }
}

//! Calls taken apart into plain data and columns.

use super::Meaning;
use super::function::PlannedFunction;
use super::window::PlannedWindowFunction;
use crate::support::{planning_error, to_datafusion};
use crate::table::UserAggregateFunction;
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::expr::{AggregateFunction, NullTreatment, ScalarFunction, WindowFunction};
use datafusion_expr::{AggregateUDF, Expr, WindowFunctionDefinition};
use flugs_sql_types::{AggregateKind, Fraction, WindowKind};

/// What an aggregate call is to do, and over which columns.
#[derive(Debug, Clone)]
pub struct PlannedAggregate {
    /// The function with its constants.
    pub kind: AggregateKind,
    /// The expressions of its columns, in the order that the kind has them.
    pub arguments: Vec<Expr>,
}

/// What a call before `OVER` is to do, and over which columns.
#[derive(Debug, Clone)]
pub struct PlannedWindow {
    /// The function with its constants.
    pub kind: WindowKind,
    /// The expressions of its columns, in the order that the kind has them.
    pub arguments: Vec<Expr>,
}

/// Takes an aggregate call apart. `DISTINCT`, `FILTER` and `ORDER BY` stay with the call. An error for functions of other
/// registries, for `GROUPING` and its like, and where a parameter is no constant.
pub fn plan_aggregate(call: &AggregateFunction) -> Result<PlannedAggregate> {
    let distinct = call.params.distinct;
    aggregate(&call.func, &call.params.args, call.params.null_treatment, distinct)
}

/// Takes a call before `OVER` apart. The partition, the order and the frame stay with the call.
pub fn plan_window(call: &WindowFunction) -> Result<PlannedWindow> {
    let args = &call.params.args;
    match &call.fun {
        WindowFunctionDefinition::AggregateUDF(function) => {
            let (nulls, distinct) = (call.params.null_treatment, call.params.distinct);
            let PlannedAggregate { kind, arguments } = aggregate(function, args, nulls, distinct)?;
            Ok(PlannedWindow { kind: WindowKind::Aggregate(kind), arguments })
        }
        WindowFunctionDefinition::WindowUDF(function) => {
            let inner: &dyn std::any::Any = function.inner().as_ref();
            match inner.downcast_ref::<PlannedWindowFunction>() {
                Some(planned) => window(planned.kind(), args, call.params.null_treatment),
                None => Err(planning_error(format!(
                    "{} is not known before OVER",
                    function.name().to_uppercase()
                ))),
            }
        }
    }
}

fn aggregate(
    function: &AggregateUDF,
    args: &[Expr],
    nulls: Option<NullTreatment>,
    distinct: bool,
) -> Result<PlannedAggregate> {
    let name = function.name().to_uppercase();
    let inner: &dyn std::any::Any = function.inner().as_ref();
    let Some(planned) = inner.downcast_ref::<PlannedFunction>() else {
        if let Some(user) = UserAggregateFunction::of(function) {
            let kind = AggregateKind::User(user.function().clone());
            return Ok(PlannedAggregate { kind, arguments: args.to_vec() });
        }
        return Err(planning_error(format!("the aggregate function {name} is not known")));
    };
    let Meaning::Kind(kind) = planned.meaning() else {
        return Err(planning_error(format!("{name} is only known beside GROUP BY")));
    };
    let mut arguments = args.to_vec();
    let kind = match kind {
        AggregateKind::Count if !distinct => {
            // COUNT(*) and COUNT(1) count rows.
            arguments
                .retain(|a| !matches!(a, Expr::Literal(value, _) if !value.is_null()) && !is_wildcard(a));
            AggregateKind::Count
        }
        AggregateKind::Listagg { separator } => match arguments.get(1).map(constant) {
            None => AggregateKind::Listagg { separator: separator.clone() },
            Some(Some(
                ScalarValue::Utf8View(Some(text))
                | ScalarValue::Utf8(Some(text))
                | ScalarValue::LargeUtf8(Some(text)),
            )) => {
                arguments.truncate(1);
                AggregateKind::Listagg { separator: text }
            }
            _ => return Err(planning_error("the separator of LISTAGG is to be a string literal")),
        },
        AggregateKind::Percentile { .. } => {
            if arguments.len() < 2 {
                return Err(planning_error("PERCENTILE takes a value and a fraction"));
            }
            let (fractions, array) = fractions(&arguments.remove(1))?;
            AggregateKind::Percentile { fractions, array }
        }
        kind => with_nulls(kind, nulls),
    };
    Ok(PlannedAggregate { kind, arguments })
}

/// The function with `IGNORE NULLS` or `RESPECT NULLS`, where it heeds them.
fn with_nulls(kind: &AggregateKind, nulls: Option<NullTreatment>) -> AggregateKind {
    match kind {
        AggregateKind::FirstValue { ignore_nulls } => {
            AggregateKind::FirstValue { ignore_nulls: ignored(nulls, *ignore_nulls) }
        }
        AggregateKind::LastValue { ignore_nulls } => {
            AggregateKind::LastValue { ignore_nulls: ignored(nulls, *ignore_nulls) }
        }
        AggregateKind::ArrayAgg { ignore_nulls } => {
            AggregateKind::ArrayAgg { ignore_nulls: ignored(nulls, *ignore_nulls) }
        }
        kind => kind.clone(),
    }
}

fn ignored(treatment: Option<NullTreatment>, default: bool) -> bool {
    match treatment {
        None => default,
        Some(NullTreatment::IgnoreNulls) => true,
        Some(NullTreatment::RespectNulls) => false,
    }
}

#[allow(deprecated, reason = "wildcards stand in plans until they are expanded")]
fn is_wildcard(argument: &Expr) -> bool {
    matches!(argument, Expr::Wildcard { .. })
}

fn window(kind: &WindowKind, args: &[Expr], nulls: Option<NullTreatment>) -> Result<PlannedWindow> {
    let number = |i: usize, what: &str| -> Result<i64> {
        let value = args.get(i).and_then(constant).map(|value| value.cast_to(&DataType::Int64));
        match value.transpose()? {
            Some(ScalarValue::Int64(Some(value))) => Ok(value),
            _ => Err(planning_error(format!("{what} is to be an integer literal"))),
        }
    };
    let positive = |i: usize, what: &str| -> Result<u64> {
        let value = number(i, what)?;
        u64::try_from(value)
            .ok()
            .filter(|value| *value > 0)
            .ok_or_else(|| planning_error(format!("{what} is to be greater than 0, not {value}")))
    };
    let offset = |of: &str| if args.len() > 1 { number(1, &format!("the offset of {of}")) } else { Ok(1) };
    // The value and its default, without the offset between them.
    let values: Vec<Expr> =
        args.iter().enumerate().filter(|(i, _)| *i != 1).map(|(_, a)| a.clone()).collect();
    let (kind, arguments) = match kind {
        WindowKind::Ntile { .. } => {
            (WindowKind::Ntile { buckets: positive(0, "the number of buckets of NTILE")? }, Vec::new())
        }
        WindowKind::Lead { .. } => (WindowKind::Lead { offset: offset("LEAD")? }, values),
        WindowKind::Lag { .. } => (WindowKind::Lag { offset: offset("LAG")? }, values),
        WindowKind::NthValue { .. } => {
            (WindowKind::NthValue { n: positive(1, "the position of NTH_VALUE")? }, values)
        }
        WindowKind::Aggregate(kind) => (WindowKind::Aggregate(with_nulls(kind, nulls)), args.to_vec()),
        kind => (kind.clone(), Vec::new()),
    };
    Ok(PlannedWindow { kind, arguments })
}

/// The value of a constant, also behind an alias or a cast.
fn constant(expression: &Expr) -> Option<ScalarValue> {
    match expression {
        Expr::Literal(value, _) => Some(value.clone()),
        Expr::Alias(alias) => constant(&alias.expr),
        Expr::Cast(cast) => constant(&cast.expr)?.cast_to(cast.field.data_type()).ok(),
        Expr::Negative(inner) => constant(inner)?.arithmetic_negate().ok(),
        _ => None,
    }
}

/// The fractions of a `PERCENTILE`, and whether they are an array.
fn fractions(expression: &Expr) -> Result<(Vec<Fraction>, bool)> {
    let not_constant = || planning_error("the fractions of PERCENTILE are to be literals between 0 and 1");
    let of_array = |array: &ArrayRef| -> Result<Vec<Fraction>> {
        (0..array.len()).map(|i| fraction(&ScalarValue::try_from_array(array, i)?)).collect()
    };
    if let Expr::ScalarFunction(ScalarFunction { func, args }) = expression
        && matches!(func.name().to_lowercase().as_str(), "array" | "make_array")
    {
        let each = |a: &Expr| fraction(&constant(a).ok_or_else(not_constant)?);
        return Ok((args.iter().map(each).collect::<Result<_>>()?, true));
    }
    match constant(expression).ok_or_else(not_constant)? {
        ScalarValue::List(list) if list.len() == 1 && list.is_valid(0) => {
            Ok((of_array(&list.value(0))?, true))
        }
        value => Ok((vec![fraction(&value)?], false)),
    }
}

fn fraction(value: &ScalarValue) -> Result<Fraction> {
    match value.cast_to(&DataType::Float64)? {
        ScalarValue::Float64(Some(value)) => Fraction::new(value).map_err(to_datafusion),
        _ => Err(planning_error("a fraction of PERCENTILE is NULL")),
    }
}

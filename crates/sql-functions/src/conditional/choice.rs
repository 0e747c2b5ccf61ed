//! `IF`, `IFNULL`, `COALESCE`, `NULLIF`, `GREATEST`, `LEAST`.

use crate::registry::Category;
use crate::support::{
    Call, Definition, Parameter, Types, common_type, planning_error, to_datafusion, type_name,
};
use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::kernels::{cmp, zip::zip};
use arrow::datatypes::{DataType, Field};
use datafusion_common::Result;
use datafusion_expr::{Expr, when};
use flugs_sql_types::{LogicalType, from_field};
use std::cmp::Ordering;

pub(super) fn definitions() -> Vec<Definition> {
    use Parameter::{Any, Boolean};
    let function = |name: &str, usage, text, body: fn(&Call<'_>) -> Result<ArrayRef>| {
        Definition::new(Category::Conditional, name, usage, text, body)
    };
    vec![
        function("IF", "IF(condition, yes, no)", "`yes` where the condition holds, else `no`.", choose)
            .takes(&[Boolean, Any, Any])
            .coerced_by(|types| Ok([vec![types[0].clone()], alike(&types[1..])?].concat()))
            .returns_by(|types| common(types, 1))
            .nullable_by(|_| false)
            .rewritten(|args| {
                let [condition, yes, no] = exactly(args)?;
                when(condition, yes).otherwise(no)
            }),
        function("IFNULL", "IFNULL(value, instead)", "The value, or `instead` where it is NULL.", coalesce)
            .takes(&[Any, Any])
            .coerced_by(alike)
            .returns_by(|types| common(types, 0))
            .null_if_all()
            .rewritten(first_of),
        function("COALESCE", "COALESCE(value, ...)", "The first value that is not NULL.", coalesce)
            .takes(&[Any])
            .repeats(Any)
            .coerced_by(alike)
            .returns_by(|types| common(types, 0))
            .null_if_all()
            .rewritten(first_of),
        function("NULLIF", "NULLIF(value, other)", "NULL where both are equal, else the value.", null_if)
            .takes(&[Any, Any])
            .coerced_by(|types| alike(types).map(|_| types.to_vec()))
            .returns_argument(0)
            .nullable(),
        function("GREATEST", "GREATEST(value, ...)", "The greatest value; NULL where one is NULL.", |call| {
            extreme(call, Ordering::Greater)
        })
        .takes(&[Any])
        .repeats(Any)
        .coerced_by(alike)
        .returns_by(|types| common(types, 0)),
        function("LEAST", "LEAST(value, ...)", "The least value; NULL where one is NULL.", |call| {
            extreme(call, Ordering::Less)
        })
        .takes(&[Any])
        .repeats(Any)
        .coerced_by(alike)
        .returns_by(|types| common(types, 0)),
    ]
}

/// The type that all values are widened to, for each of them.
fn alike(types: &[DataType]) -> Result<Vec<DataType>> {
    let mut all = DataType::Null;
    for one in types {
        all = common_type(&all, one).ok_or_else(|| {
            planning_error(format!(
                "{} and {} have no type in common; CAST one of them",
                type_name(&all),
                type_name(one)
            ))
        })?;
    }
    Ok(vec![all; types.len()])
}

/// The type of the arguments from `first` on, which are alike but for lengths and precisions.
fn common(types: &Types<'_>, first: usize) -> Result<LogicalType> {
    let kinds = types.types[first..].iter().map(|t| &t.kind).filter(|k| **k != LogicalType::Null);
    let mut all: Option<LogicalType> = None;
    for kind in kinds {
        all = Some(match (all, kind) {
            (None, kind) => kind.clone(),
            (Some(all), kind) if all == *kind => all,
            (
                Some(LogicalType::Char(a) | LogicalType::VarChar(a)),
                LogicalType::Char(b) | LogicalType::VarChar(b),
            ) => LogicalType::VarChar(a.max(*b)),
            (
                Some(LogicalType::Binary(a) | LogicalType::VarBinary(a)),
                LogicalType::Binary(b) | LogicalType::VarBinary(b),
            ) => LogicalType::VarBinary(a.max(*b)),
            (Some(LogicalType::Timestamp(a)), LogicalType::Timestamp(b)) => LogicalType::Timestamp(a.max(*b)),
            (Some(LogicalType::TimestampLtz(a)), LogicalType::TimestampLtz(b)) => {
                LogicalType::TimestampLtz(a.max(*b))
            }
            (Some(LogicalType::Time(a)), LogicalType::Time(b)) => LogicalType::Time(a.max(*b)),
            (Some(all), _) => {
                // Alike in Arrow: what else differs is the nullability inside.
                from_field(&Field::new("", all.to_arrow(), true)).map_err(to_datafusion)?.kind
            }
        });
    }
    Ok(all.unwrap_or(LogicalType::Null))
}

fn exactly<const N: usize>(args: Vec<Expr>) -> Result<[Expr; N]> {
    args.try_into().map_err(|_| planning_error(format!("{N} arguments are expected")))
}

/// `CASE WHEN a IS NOT NULL THEN a ... ELSE last END`.
fn first_of(mut args: Vec<Expr>) -> Result<Expr> {
    let Some(last) = args.pop() else { return Err(planning_error("COALESCE takes at least 1 argument")) };
    let mut args = args.into_iter();
    let Some(first) = args.next() else { return Ok(last) };
    let mut case = when(first.clone().is_not_null(), first);
    for value in args {
        case = case.when(value.clone().is_not_null(), value);
    }
    case.otherwise(last)
}

fn choose(call: &Call<'_>) -> Result<ArrayRef> {
    let condition = call.booleans(0);
    // A condition that is NULL does not hold.
    let mask: BooleanArray = (0..call.rows).map(|row| Some(condition.get(row) == Some(true))).collect();
    Ok(zip(&mask, &call.array(1)?, &call.array(2)?)?)
}

fn coalesce(call: &Call<'_>) -> Result<ArrayRef> {
    let mut chosen = call.array(call.len() - 1)?;
    for i in (0..call.len() - 1).rev() {
        let value = call.array(i)?;
        let mask = match value.logical_nulls() {
            Some(nulls) => BooleanArray::new(nulls.into_inner(), None),
            None => {
                chosen = value;
                continue;
            }
        };
        chosen = zip(&mask, &value, &chosen)?;
    }
    Ok(chosen)
}

fn null_if(call: &Call<'_>) -> Result<ArrayRef> {
    let value = call.array(0)?;
    let Some(common) = common_type(call.type_of(0), call.type_of(1)) else { return Ok(value) };
    let (left, right) =
        (arrow::compute::cast(&value, &common)?, arrow::compute::cast(&call.array(1)?, &common)?);
    if common == DataType::Null {
        return Ok(value);
    }
    let equal = compare(&left, &right, |ordering| ordering == Ordering::Equal)?;
    Ok(arrow::compute::nullif(&value, &equal)?)
}

/// Row by row; NULL where one side is NULL.
fn compare(left: &ArrayRef, right: &ArrayRef, holds: fn(Ordering) -> bool) -> Result<BooleanArray> {
    if !left.data_type().is_nested() {
        let (equal, less) = (holds(Ordering::Equal), holds(Ordering::Less));
        return Ok(match (equal, less) {
            (true, _) => cmp::eq(left, right)?,
            (false, true) => cmp::lt(left, right)?,
            (false, false) => cmp::gt(left, right)?,
        });
    }
    let comparator = arrow::array::make_comparator(left, right, arrow::compute::SortOptions::default())?;
    let row = |i| (left.is_valid(i) && right.is_valid(i)).then(|| holds(comparator(i, i)));
    Ok((0..left.len()).map(row).collect())
}

fn extreme(call: &Call<'_>, wanted: Ordering) -> Result<ArrayRef> {
    let mut chosen = call.array(0)?;
    for i in 1..call.len() {
        let value = call.array(i)?;
        if chosen.data_type() == &DataType::Null {
            return Ok(chosen);
        }
        let better = match wanted {
            Ordering::Less => compare(&value, &chosen, |o| o == Ordering::Less)?,
            _ => compare(&value, &chosen, |o| o == Ordering::Greater)?,
        };
        // Where one is NULL, the other comes and goes again: all are looked at below.
        let mask = BooleanArray::from_iter(better.iter().map(|b| Some(b == Some(true))));
        chosen = zip(&mask, &value, &chosen)?;
    }
    let Some(nulls) = call.nulls() else { return Ok(chosen) };
    let is_null = BooleanArray::new(!nulls.inner(), None);
    Ok(arrow::compute::nullif(&chosen, &is_null)?)
}

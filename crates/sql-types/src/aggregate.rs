//! Which aggregate and ranking functions there are, as plain data, and the types of their results.
//!
//! The planner makes these from calls, the operators carry them out. Types are Flink 2.3's: a `SUM` of integers keeps the
//! type, an `AVG` of integers truncates, and so do variances and deviations. What an aggregate over no rows gives is NULL, but for the counts, so that the results
//! of all others may be NULL whatever their arguments are.

use crate::sql_type::{LogicalType, SqlType};
use crate::user_aggregate::UserFunction;
use flugs_types::{Error, Result};
use std::hash::{Hash, Hasher};

/// An aggregate function with the parameters that are constants of a query.
///
/// Arguments are columns; their order is that of each variant's text. Whether a call is `DISTINCT` or has a `FILTER` is said
/// beside the kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AggregateKind {
    /// `COUNT(*)` without arguments, else the rows none of whose arguments is NULL.
    Count,
    /// `SUM(x)`: integers wrap; NULL where every value was NULL.
    Sum,
    /// `SUM` that is 0 over no values: the second phase of a split count.
    Sum0,
    /// `AVG(x)`: of integers truncated towards zero.
    Avg,
    /// `MIN(x)`.
    Min,
    /// `MAX(x)`.
    Max,
    /// `STDDEV_POP(x)`.
    StddevPop,
    /// `STDDEV_SAMP(x)`: NULL over fewer than two values.
    StddevSamp,
    /// `VAR_POP(x)`.
    VarPop,
    /// `VAR_SAMP(x)`, `VARIANCE(x)`: NULL over fewer than two values.
    VarSamp,
    /// `COLLECT(x)`: a multiset without the NULLs.
    Collect,
    /// `LISTAGG(x[, separator])`: in order of arrival, without the NULLs.
    Listagg {
        /// What stands between two values.
        separator: String,
    },
    /// `FIRST_VALUE(x)`: of the first row in order of arrival.
    FirstValue {
        /// Whether rows with NULL are passed over, as in a `GROUP BY`.
        ignore_nulls: bool,
    },
    /// `LAST_VALUE(x)`: of the last row in order of arrival.
    LastValue {
        /// Whether rows with NULL are passed over, as in a `GROUP BY`.
        ignore_nulls: bool,
    },
    /// `ARRAY_AGG(x)`: in order of arrival.
    ArrayAgg {
        /// Whether NULLs are left out (`IGNORE NULLS`); kept by default.
        ignore_nulls: bool,
    },
    /// `PERCENTILE(x, fraction(s)[, frequency])`: exact, interpolated between neighbours. The column of the frequency, where
    /// there is one, is the second argument.
    Percentile {
        /// Which percentiles.
        fractions: Vec<Fraction>,
        /// Whether the call has an array of fractions, and so gives an array.
        array: bool,
    },
    /// `JSON_OBJECTAGG(KEY k VALUE v)`: two arguments.
    JsonObjectAgg {
        /// Whether members with NULL are left out (`ABSENT ON NULL`); written as `null` by default.
        absent_on_null: bool,
    },
    /// `JSON_ARRAYAGG(x)`.
    JsonArrayAgg {
        /// Whether NULLs are left out (`ABSENT ON NULL`), as by default.
        absent_on_null: bool,
    },
    /// `BITMAP_BUILD_AGG(x)`: the bitmap of integers.
    BitmapBuild,
    /// `BITMAP_BUILD_CARDINALITY_AGG(x)`.
    BitmapBuildCardinality,
    /// `BITMAP_AND_AGG(bitmap)`.
    BitmapAnd,
    /// `BITMAP_AND_CARDINALITY_AGG(bitmap)`.
    BitmapAndCardinality,
    /// `BITMAP_OR_AGG(bitmap)`.
    BitmapOr,
    /// `BITMAP_OR_CARDINALITY_AGG(bitmap)`.
    BitmapOrCardinality,
    /// `BITMAP_XOR_AGG(bitmap)`.
    BitmapXor,
    /// `BITMAP_XOR_CARDINALITY_AGG(bitmap)`.
    BitmapXorCardinality,
    /// `SINGLE_VALUE(x)`: of a scalar subquery; a second row is an error.
    SingleValue,
    /// An aggregate function of the program.
    User(UserFunction),
}

/// A number from 0 to 1 that can be compared and hashed.
#[derive(Debug, Clone, Copy)]
pub struct Fraction(f64);

impl Fraction {
    /// A fraction; an error outside [0, 1].
    pub fn new(value: f64) -> Result<Self> {
        if (0.0..=1.0).contains(&value) {
            // -0.0 is 0.0.
            return Ok(Fraction(value + 0.0));
        }
        Err(Error::job(format!("PERCENTILE takes fractions from 0 to 1, not {value}")))
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl PartialEq for Fraction {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Fraction {}

impl Hash for Fraction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl AggregateKind {
    /// The function's name in SQL.
    pub fn name(&self) -> &str {
        match self {
            AggregateKind::Count => "COUNT",
            AggregateKind::Sum => "SUM",
            AggregateKind::Sum0 => "$SUM0",
            AggregateKind::Avg => "AVG",
            AggregateKind::Min => "MIN",
            AggregateKind::Max => "MAX",
            AggregateKind::StddevPop => "STDDEV_POP",
            AggregateKind::StddevSamp => "STDDEV_SAMP",
            AggregateKind::VarPop => "VAR_POP",
            AggregateKind::VarSamp => "VAR_SAMP",
            AggregateKind::Collect => "COLLECT",
            AggregateKind::Listagg { .. } => "LISTAGG",
            AggregateKind::FirstValue { .. } => "FIRST_VALUE",
            AggregateKind::LastValue { .. } => "LAST_VALUE",
            AggregateKind::ArrayAgg { .. } => "ARRAY_AGG",
            AggregateKind::Percentile { .. } => "PERCENTILE",
            AggregateKind::JsonObjectAgg { .. } => "JSON_OBJECTAGG",
            AggregateKind::JsonArrayAgg { .. } => "JSON_ARRAYAGG",
            AggregateKind::BitmapBuild => "BITMAP_BUILD_AGG",
            AggregateKind::BitmapBuildCardinality => "BITMAP_BUILD_CARDINALITY_AGG",
            AggregateKind::BitmapAnd => "BITMAP_AND_AGG",
            AggregateKind::BitmapAndCardinality => "BITMAP_AND_CARDINALITY_AGG",
            AggregateKind::BitmapOr => "BITMAP_OR_AGG",
            AggregateKind::BitmapOrCardinality => "BITMAP_OR_CARDINALITY_AGG",
            AggregateKind::BitmapXor => "BITMAP_XOR_AGG",
            AggregateKind::BitmapXorCardinality => "BITMAP_XOR_CARDINALITY_AGG",
            AggregateKind::SingleValue => "SINGLE_VALUE",
            AggregateKind::User(function) => function.get().name(),
        }
    }

    /// The type of the result over arguments of these types. An error where the function does not take them.
    pub fn result_type(&self, arguments: &[SqlType]) -> Result<SqlType> {
        use AggregateKind as K;
        let wrong = || self.refuse(arguments);
        let kinds: Vec<&LogicalType> = arguments.iter().map(|a| &a.kind).collect();
        let number = |t: &LogicalType| t.is_numeric() || *t == LogicalType::Null;
        Ok(match (self, &kinds[..]) {
            (K::Count, _) => LogicalType::BigInt.not_null(),
            (K::Sum, [t]) => sum_type(t).ok_or_else(wrong)?.nullable(),
            (K::Sum0, [t]) => sum_type(t).ok_or_else(wrong)?.not_null(),
            (K::Avg, [t]) => avg_type(t).ok_or_else(wrong)?.nullable(),
            (K::Min | K::Max, [t]) if is_ordered(t) => (*t).clone().nullable(),
            (K::StddevPop | K::StddevSamp | K::VarPop | K::VarSamp, [t]) if number(t) => {
                avg_type(t).ok_or_else(wrong)?.nullable()
            }
            (K::Collect, [_]) => LogicalType::Multiset(Box::new(arguments[0].clone())).nullable(),
            (K::Listagg { .. }, [t]) if t.is_character() || **t == LogicalType::Null => {
                LogicalType::STRING.nullable()
            }
            (K::FirstValue { .. } | K::LastValue { .. } | K::SingleValue, [t]) => (*t).clone().nullable(),
            (K::ArrayAgg { .. }, [_]) => LogicalType::Array(Box::new(arguments[0].clone())).nullable(),
            (K::Percentile { array, .. }, [t, frequency @ ..])
                if number(t) && frequency.len() < 2 && frequency.iter().all(|f| is_integer(f)) =>
            {
                match array {
                    true => LogicalType::Array(Box::new(LogicalType::Double.nullable())).nullable(),
                    false => LogicalType::Double.nullable(),
                }
            }
            (K::JsonObjectAgg { .. }, [key, _]) if key.is_character() => LogicalType::STRING.nullable(),
            (K::JsonArrayAgg { .. }, [_]) => LogicalType::STRING.nullable(),
            (K::BitmapBuild, [t]) if is_integer(t) => LogicalType::BYTES.nullable(),
            (K::BitmapBuildCardinality, [t]) if is_integer(t) => LogicalType::BigInt.nullable(),
            (K::BitmapAnd | K::BitmapOr | K::BitmapXor, [t]) if is_bitmap(t) => LogicalType::BYTES.nullable(),
            (K::BitmapAndCardinality | K::BitmapOrCardinality | K::BitmapXorCardinality, [t])
                if is_bitmap(t) =>
            {
                LogicalType::BigInt.nullable()
            }
            (K::User(function), _) => function.get().result(),
            _ => return Err(wrong()),
        })
    }

    fn refuse(&self, arguments: &[SqlType]) -> Error {
        let types: Vec<String> = arguments.iter().map(|a| a.kind.to_string()).collect();
        Error::job(format!("{} does not take ({})", self.name(), types.join(", "))).mend(match self {
            AggregateKind::Sum | AggregateKind::Sum0 | AggregateKind::Avg => {
                "it takes one number or interval"
            }
            AggregateKind::Min | AggregateKind::Max => "it takes one value of a type that has an order",
            AggregateKind::Listagg { .. } => "cast the argument to STRING",
            AggregateKind::JsonObjectAgg { .. } => "the key is a string: cast it to STRING",
            AggregateKind::BitmapBuild | AggregateKind::BitmapBuildCardinality => "cast the argument to INT",
            _ => "cast the argument to a number",
        })
    }
}

fn is_integer(kind: &LogicalType) -> bool {
    use LogicalType::{BigInt, Int, Null, SmallInt, TinyInt};
    matches!(kind, TinyInt | SmallInt | Int | BigInt | Null)
}

fn is_bitmap(kind: &LogicalType) -> bool {
    matches!(kind, LogicalType::VarBinary(_) | LogicalType::Binary(_) | LogicalType::Null)
}

fn is_ordered(kind: &LogicalType) -> bool {
    use LogicalType::{Array, Map, Multiset, Row};
    !matches!(kind, Array(_) | Map(..) | Multiset(_) | Row(_))
}

fn sum_type(kind: &LogicalType) -> Option<LogicalType> {
    match kind {
        LogicalType::Decimal(_, scale) => Some(LogicalType::Decimal(38, *scale)),
        LogicalType::IntervalYearMonth | LogicalType::IntervalDaySecond | LogicalType::Null => {
            Some(kind.clone())
        }
        kind => kind.is_numeric().then(|| kind.clone()),
    }
}

fn avg_type(kind: &LogicalType) -> Option<LogicalType> {
    match kind {
        LogicalType::Decimal(_, scale) => Some(LogicalType::Decimal(38, (*scale).max(6))),
        kind => sum_type(kind),
    }
}

/// A function that stands before `OVER` and is no aggregate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WindowKind {
    /// `ROW_NUMBER()`.
    RowNumber,
    /// `RANK()`: with gaps.
    Rank,
    /// `DENSE_RANK()`: without gaps.
    DenseRank,
    /// `CUME_DIST()`.
    CumeDist,
    /// `PERCENT_RANK()`.
    PercentRank,
    /// `NTILE(n)`.
    Ntile {
        /// How many buckets; above 0.
        buckets: u64,
    },
    /// `LEAD(x[, offset[, default]])`; the default is the second argument.
    Lead {
        /// How many rows ahead.
        offset: i64,
    },
    /// `LAG(x[, offset[, default]])`; the default is the second argument.
    Lag {
        /// How many rows back.
        offset: i64,
    },
    /// `NTH_VALUE(x, n)`.
    NthValue {
        /// Which row of the frame, from 1.
        n: u64,
    },
    /// An aggregate over the frame.
    Aggregate(AggregateKind),
}

impl WindowKind {
    /// The function's name in SQL.
    pub fn name(&self) -> &str {
        match self {
            WindowKind::RowNumber => "ROW_NUMBER",
            WindowKind::Rank => "RANK",
            WindowKind::DenseRank => "DENSE_RANK",
            WindowKind::CumeDist => "CUME_DIST",
            WindowKind::PercentRank => "PERCENT_RANK",
            WindowKind::Ntile { .. } => "NTILE",
            WindowKind::Lead { .. } => "LEAD",
            WindowKind::Lag { .. } => "LAG",
            WindowKind::NthValue { .. } => "NTH_VALUE",
            WindowKind::Aggregate(kind) => kind.name(),
        }
    }

    /// The type of the result over arguments of these types. An error where the function does not take them.
    pub fn result_type(&self, arguments: &[SqlType]) -> Result<SqlType> {
        use WindowKind as K;
        Ok(match (self, arguments) {
            (K::RowNumber | K::Rank | K::DenseRank, []) => LogicalType::BigInt.not_null(),
            (K::Ntile { .. }, []) => LogicalType::BigInt.not_null(),
            (K::CumeDist | K::PercentRank, []) => LogicalType::Double.not_null(),
            (K::Lead { .. } | K::Lag { .. }, [value, default]) => {
                SqlType { kind: value.kind.clone(), nullable: value.nullable || default.nullable }
            }
            (K::Lead { .. } | K::Lag { .. } | K::NthValue { .. }, [value]) => value.kind.clone().nullable(),
            (K::Aggregate(kind), _) => kind.result_type(arguments)?,
            _ => {
                return Err(Error::job(format!(
                    "{} does not take {} arguments",
                    self.name(),
                    arguments.len()
                )));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LogicalType::{BigInt, Date, Decimal, Double, Float, Int, SmallInt, TinyInt};

    #[test]
    fn results_have_the_types_of_flink() {
        let nullable = |kind: &LogicalType| kind.clone().nullable();
        let sums = [
            (TinyInt, TinyInt),
            (Int, Int),
            (BigInt, BigInt),
            (Float, Float),
            (Decimal(10, 2), Decimal(38, 2)),
        ];
        for (of, result) in sums {
            assert_eq!(AggregateKind::Sum.result_type(&[of.clone().not_null()]).unwrap(), nullable(&result));
            assert_eq!(AggregateKind::Sum0.result_type(&[nullable(&of)]).unwrap(), result.not_null());
        }
        let averages = [
            (SmallInt, SmallInt),
            (Double, Double),
            (Decimal(10, 2), Decimal(38, 6)),
            (Decimal(20, 9), Decimal(38, 9)),
        ];
        for (of, result) in averages {
            assert_eq!(AggregateKind::Avg.result_type(&[nullable(&of)]).unwrap(), nullable(&result));
        }
        let one = |kind: AggregateKind, of: SqlType| kind.result_type(&[of]).unwrap().to_string();
        assert_eq!(AggregateKind::Count.result_type(&[]).unwrap().to_string(), "BIGINT NOT NULL");
        assert_eq!(one(AggregateKind::Max, Date.not_null()), "DATE");
        assert_eq!(one(AggregateKind::StddevPop, Int.nullable()), "INT");
        assert_eq!(one(AggregateKind::VarSamp, Float.nullable()), "FLOAT");
        assert_eq!(one(AggregateKind::VarPop, Decimal(3, 2).nullable()), "DECIMAL(38, 6)");
        assert_eq!(one(AggregateKind::Collect, Int.not_null()), "MULTISET<INT NOT NULL>");
        assert_eq!(
            one(AggregateKind::Listagg { separator: ",".into() }, LogicalType::Char(3).nullable()),
            "STRING"
        );
        let kept = AggregateKind::ArrayAgg { ignore_nulls: false };
        assert_eq!(one(kept, Int.nullable()), "ARRAY<INT>");
        assert_eq!(one(AggregateKind::ArrayAgg { ignore_nulls: true }, Int.nullable()), "ARRAY<INT>");
        let half = vec![Fraction::new(0.5).unwrap()];
        assert_eq!(
            one(AggregateKind::Percentile { fractions: half.clone(), array: false }, Int.nullable()),
            "DOUBLE"
        );
        assert_eq!(
            one(AggregateKind::Percentile { fractions: half, array: true }, Int.nullable()),
            "ARRAY<DOUBLE>"
        );
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let refused = AggregateKind::Sum.result_type(&[LogicalType::STRING.nullable()]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "job error: SUM does not take (STRING); it takes one number or interval"
        );
        assert!(AggregateKind::Min.result_type(&[]).is_err());
        assert!(
            AggregateKind::Max
                .result_type(&[LogicalType::Array(Box::new(Int.nullable())).nullable()])
                .is_err()
        );
        assert!(Fraction::new(1.5).is_err() && Fraction::new(f64::NAN).is_err());
        assert!(WindowKind::Rank.result_type(&[Int.nullable()]).is_err());
    }

    #[test]
    fn a_default_keeps_a_lag_from_being_null() {
        let lag = WindowKind::Lag { offset: 1 };
        assert_eq!(lag.result_type(&[Int.not_null()]).unwrap(), Int.nullable());
        assert_eq!(lag.result_type(&[Int.not_null(), Int.not_null()]).unwrap(), Int.not_null());
    }
}

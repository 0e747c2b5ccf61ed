//! Comparisons that are more than an operator of DataFusion's: `LIKE` and `SIMILAR TO` with Flink's escapes,
//! `BETWEEN SYMMETRIC`.

mod like;
mod similar;

#[cfg(test)]
mod tests;

use crate::registry::{Category, FunctionDoc, FunctionKind, FunctionRegistry};
use crate::string::java_pattern::PatternCache;
use crate::support::{Call, Definition, Parameter};
use datafusion_expr::{Expr, and, or};
use flugs_sql_types::LogicalType;
use like::Like;

pub(crate) fn register(registry: &mut FunctionRegistry) {
    registry.define(
        Definition::new(
            Category::Comparison,
            "LIKE",
            "string LIKE pattern [ESCAPE character]",
            "Whether the whole string matches; _ stands for any character, % for any number of them. As a function: LIKE(string, pattern[, escape]).",
            like::evaluate,
        )
        .takes(&[Parameter::String, Parameter::String])
        .optionally(&[Parameter::String])
        .returns(LogicalType::Boolean),
    );
    let cache = PatternCache::default();
    registry.define(
        Definition::new(
            Category::Comparison,
            "SIMILAR_TO",
            "string SIMILAR TO pattern [ESCAPE character]",
            "Whether the whole string matches an SQL regular expression. As a function: SIMILAR_TO(string, pattern[, escape]).",
            move |call: &Call<'_>| similar::evaluate(call, &cache),
        )
        .takes(&[Parameter::String, Parameter::String])
        .optionally(&[Parameter::String])
        .returns_by(|types| similar::check(types).map(|()| LogicalType::Boolean)),
    );
    for (category, usage, text) in OPERATORS {
        registry.document(FunctionDoc::new(FunctionKind::Scalar, *category, usage, usage, text));
    }
}

/// `value BETWEEN SYMMETRIC one AND other`.
pub fn between_symmetric(value: Expr, one: Expr, other: Expr) -> Expr {
    or(value.clone().between(one.clone(), other.clone()), value.between(other, one))
}

/// `value NOT BETWEEN SYMMETRIC one AND other`.
pub fn not_between_symmetric(value: Expr, one: Expr, other: Expr) -> Expr {
    and(value.clone().not_between(one.clone(), other.clone()), value.not_between(other, one))
}

/// What the parser and the planner know without a function.
const OPERATORS: &[(Category, &str, &str)] = &[
    (Category::Comparison, "value1 = value2", "Whether they are equal; NULL where one is NULL."),
    (Category::Comparison, "value1 <> value2", "Whether they differ; NULL where one is NULL."),
    (Category::Comparison, "value1 < value2", "Whether the first is less; also >, <=, >=."),
    (Category::Comparison, "value IS [NOT] NULL", "Whether it is NULL."),
    (
        Category::Comparison,
        "value1 IS [NOT] DISTINCT FROM value2",
        "Whether they differ, NULL being equal to NULL.",
    ),
    (
        Category::Comparison,
        "value1 [NOT] BETWEEN [ASYMMETRIC | SYMMETRIC] value2 AND value3",
        "Whether it lies between them, both included; SYMMETRIC in either order.",
    ),
    (
        Category::Comparison,
        "value [NOT] IN (value, ...)",
        "Whether it is one of them; also of the rows of a query.",
    ),
    (Category::Auxiliary, "CURRENT_DATABASE()", "The database in which the session looks names up."),
    (Category::Comparison, "EXISTS (query)", "Whether the query has a row."),
    (Category::Logical, "boolean1 AND boolean2", "Whether both hold, in three-valued logic."),
    (Category::Logical, "boolean1 OR boolean2", "Whether one holds, in three-valued logic."),
    (Category::Logical, "NOT boolean", "Whether it does not hold; NULL stays NULL."),
    (Category::Logical, "boolean IS [NOT] TRUE", "Whether it is TRUE; also FALSE and UNKNOWN."),
    (Category::Arithmetic, "numeric1 + numeric2", "The sum; integers wrap. Also -, *."),
    (
        Category::Arithmetic,
        "numeric1 / numeric2",
        "The quotient, whole for integers; by zero is an error for exact numbers.",
    ),
    (Category::Arithmetic, "numeric1 % numeric2", "The remainder, with the sign of the first."),
    (Category::String, "string1 || string2", "One behind the other; NULL where one is NULL."),
    (
        Category::Conditional,
        "CASE value WHEN value1 THEN result1 ... [ELSE result] END",
        "The result of the first equal value.",
    ),
    (
        Category::Conditional,
        "CASE WHEN condition1 THEN result1 ... [ELSE result] END",
        "The result of the first condition that holds.",
    ),
    (
        Category::Conversion,
        "CAST(value AS type)",
        "The value in another type; an error where it means nothing there.",
    ),
    (
        Category::Conversion,
        "TRY_CAST(value AS type)",
        "The value in another type; NULL where it means nothing there.",
    ),
];

/// The escape character of a call, if there is one.
fn escape_of(text: Option<&str>) -> datafusion_common::Result<Option<char>> {
    let Some(text) = text else { return Ok(None) };
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(escape), None) => Ok(Some(escape)),
        _ => Err(crate::support::data_error(format!("an escape is one character, not '{text}'"))),
    }
}

/// An escape before something that has no special meaning.
fn wrong_escape(pattern: &str) -> datafusion_common::DataFusionError {
    crate::support::data_error(format!(
        "in the pattern '{pattern}' an escape stands before a character that needs none"
    ))
}

impl Like {
    /// The pattern of one row.
    fn of_row(pattern: &str, escape: Option<&str>) -> datafusion_common::Result<Like> {
        Like::compile(pattern, escape_of(escape)?).ok_or_else(|| wrong_escape(pattern))
    }
}

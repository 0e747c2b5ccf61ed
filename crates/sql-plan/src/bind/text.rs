//! Texts that a catalog keeps: queries of views, expressions of columns.

use crate::error::semantic;
use flugs_sql_parser::{Expression, Query, SqlError, Statement, parse_statement};
use sqlparser::ast::{SelectItem, SetExpr};

/// The query of a view.
pub(crate) fn parse_query(text: &str) -> Result<Query, SqlError> {
    match parse_statement(text)?.statement {
        Statement::Query(query) => Ok(query),
        _ => Err(semantic("a query was expected")),
    }
}

/// A query of fixed form, whose parts are to be replaced.
pub(super) fn form(text: &str) -> Box<sqlparser::ast::Query> {
    parse_query(text).expect("the form is a query").ast
}

/// An expression of a column.
pub(crate) fn parse_expression(text: &str) -> Result<Expression, SqlError> {
    let query = parse_query(&format!("SELECT {text}"))?;
    let span = query.span;
    if let SetExpr::Select(select) = *query.ast.body
        && let [SelectItem::UnnamedExpr(ast)] = &select.projection[..]
    {
        return Ok(Expression { ast: ast.clone(), text: text.to_owned(), span });
    }
    Err(semantic("an expression was expected"))
}

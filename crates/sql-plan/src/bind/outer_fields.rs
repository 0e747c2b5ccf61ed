//! Fields of rows of the query around, as in `UNNEST(t.r.items)`: DataFusion knows columns alone there.
//!
//! Where it says so of a column, what stands behind that column in a name becomes calls that take fields.

use crate::bind::calls::call;
use crate::bind::names::has_table;
use datafusion_common::{Column, DataFusionError};
use sqlparser::ast::{self, Expr, Ident, Value, VisitMut, VisitorMut};
use std::ops::ControlFlow;

/// How many parts of a name DataFusion looks for outside of a query.
const PARTS: usize = 4;

/// Rewrites the fields that this error is about. Says whether there are any.
pub(super) fn rewrite(query: &mut ast::Query, error: &DataFusionError) -> bool {
    let DataFusionError::NotImplemented(message) = error.find_root() else { return false };
    let of = match message.split_once("not yet supported for OuterReferenceColumn ") {
        Some((_, name)) => {
            let Column { relation, name, .. } = Column::from_qualified_name(name.trim());
            let qualifier = relation.map(|relation| relation.to_vec()).unwrap_or_default();
            Some(qualifier.into_iter().chain([name]).collect())
        }
        None if message.starts_with("compound identifier: ") => None,
        None => return false,
    };
    let mut fields = Fields { of, scopes: Vec::new(), any: false };
    let _ = VisitMut::visit(query, &mut fields);
    fields.any
}

struct Fields {
    /// The column and what qualifies it; none for all names that are too long.
    of: Option<Vec<String>>,
    /// The queries from the outermost to the one that is looked at.
    scopes: Vec<ast::SetExpr>,
    any: bool,
}

impl Fields {
    /// How many parts of a name are those of the column.
    fn parts_of_column(&self, parts: &[Ident]) -> Option<usize> {
        let Some(column) = &self.of else { return (parts.len() > PARTS).then_some(PARTS) };
        (1..parts.len()).rev().find(|n| {
            let name = parts[..*n].iter().map(|ident| &ident.value);
            let is_column = *n <= column.len() && column[column.len() - n..].iter().eq(name);
            is_column && (*n > 1 || !self.scopes.iter().any(|query| has_table(query, &parts[0].value)))
        })
    }
}

impl VisitorMut for Fields {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        self.scopes.push(query.body.as_ref().clone());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<()> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let Some(n) = self.parts_of_column(parts)
        {
            let fields = parts.split_off(n);
            let column = match &parts[..] {
                [only] => Expr::Identifier(only.clone()),
                _ => Expr::CompoundIdentifier(std::mem::take(parts)),
            };
            *expr = fields.into_iter().fold(column, |row, field| {
                let name = Value::SingleQuotedString(field.value).with_span(field.span);
                call(Ident::with_span(field.span, "get_field"), vec![row, Expr::Value(name)])
            });
            self.any = true;
        }
        ControlFlow::Continue(())
    }
}

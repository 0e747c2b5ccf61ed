//! Tables whose name is also that of a column: in `SELECT 1 FROM c WHERE c.a = a.id`, within a query of a table `a`, `a.id` is that
//! table's column, though `c` has a column `a`.
//!
//! DataFusion looks for a column of the innermost query first, and for its field. Where that column has no fields the table gets a
//! name that no column has, which messages do not show.

use crate::bind::names::{MARK, has_table};
use crate::bind::{Binder, context::Context, outer_fields, parser_options};
use crate::error::{PlanResult, planning};
use datafusion_expr::LogicalPlan;
use datafusion_sql::planner::SqlToRel;
use sqlparser::ast::{
    self, Expr, Ident, Select, SelectItem, SelectItemQualifiedWildcardKind as Kind, TableAlias, TableFactor,
    VisitMut, VisitorMut,
};
use std::ops::ControlFlow;

impl Binder {
    /// Binds what names mean in a query that is rewritten.
    pub(super) fn named(&self, mut query: ast::Query) -> PlanResult<LogicalPlan> {
        loop {
            let context = Context::new(self);
            let planner = SqlToRel::new_with_options(&context, parser_options(&self.options));
            let statement = ast::Statement::Query(Box::new(query.clone()));
            let error = match planner.sql_statement_to_plan(statement) {
                Ok(plan) => return Ok(plan),
                Err(error) => error,
            };
            match context.fieldless(&error) {
                Some((column, _)) if rename(&mut query, &column) => {}
                Some((_, error)) => return Err(error),
                None if outer_fields::rewrite(&mut query, &error) => {}
                None => return Err(planning(error)),
            }
        }
    }
}

/// Gives tables of this name, and what is called by it, another name. Says whether there are any.
fn rename(query: &mut ast::Query, name: &str) -> bool {
    let mut renamed = Renamed { name, scopes: Vec::new(), any: false };
    let _ = VisitMut::visit(query, &mut renamed);
    renamed.any
}

struct Renamed<'n> {
    name: &'n str,
    /// Whether a table has the name, for each query from the outermost to the one that is looked at.
    scopes: Vec<bool>,
    any: bool,
}

impl Renamed<'_> {
    fn is_table(&self, ident: &Ident) -> bool {
        ident.value == self.name && self.scopes.contains(&true)
    }
}

impl VisitorMut for Renamed<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        self.scopes.push(has_table(&query.body, self.name));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<()> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(Kind::ObjectName(name), _) = item
                && let [ast::ObjectNamePart::Identifier(ident)] = &mut name.0[..]
                && self.is_table(ident)
            {
                ident.value.push(MARK);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { alias: Some(alias), .. }
            | TableFactor::Derived { alias: Some(alias), .. }
            | TableFactor::TableFunction { alias: Some(alias), .. }
            | TableFactor::Function { alias: Some(alias), .. }
            | TableFactor::UNNEST { alias: Some(alias), .. }
                if alias.name.value == self.name =>
            {
                alias.name.value.push(MARK);
                self.any = true;
            }
            TableFactor::Table { name, alias: alias @ None, .. } => {
                let last = name.0.last().and_then(|part| part.as_ident());
                if let Some(ident) = last.filter(|ident| ident.value == self.name) {
                    let name = Ident { value: format!("{}{MARK}", ident.value), ..ident.clone() };
                    *alias = Some(TableAlias { explicit: false, name, columns: Vec::new(), at: None });
                    self.any = true;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let Some(first) = parts.first_mut()
            && self.is_table(first)
        {
            first.value.push(MARK);
        }
        ControlFlow::Continue(())
    }
}

//! The names of a query's columns, as Flink gives them.
//!
//! An expression without a name is `EXPR$n`, `n` being its place; of equal names all but the first get a number behind. DataFusion
//! takes no equal names at all, so each `SELECT` is rewritten before it is bound. What a star brings is known when it is bound:
//! columns beside one have marks on their names, which [`settle`] takes off where the query ends.

use crate::bind::syntax::field_of;
use crate::bind::text::form;
use arrow::datatypes::DataType;
use datafusion_common::{Result, plan_err};
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use sqlparser::ast::{
    self, Ident, Select, SelectItem, SelectItemQualifiedWildcardKind as Kind, SetExpr, TableAlias,
    TableFactor, Visit, VisitMut, VisitorMut,
};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// No name of a query has it.
pub(crate) const MARK: char = '\u{1}';

/// What the name of a row begins with whose fields are the columns.
const FIELDS: &str = "\u{1}*";

/// Gives every column of every `SELECT` a name of its own, and an alias to every subquery whose names must be settled.
pub(super) fn rewrite<T: VisitMut + Visit>(query: &mut T) {
    let _ = VisitMut::visit(query, &mut Names { subqueries: 0 });
}

struct Names {
    subqueries: usize,
}

impl VisitorMut for Names {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        name_columns(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Derived { subquery, alias: alias @ None, .. } = factor
            && is_settled_late(&subquery.body)
        {
            *alias = Some(alias_of(Ident::new(format!("$subquery{}", self.subqueries))));
            self.subqueries += 1;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
        for cte in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            within_from(&mut cte.query, &cte.alias.name);
        }
        ControlFlow::Continue(())
    }
}

fn alias_of(name: Ident) -> TableAlias {
    TableAlias { explicit: false, name, columns: Vec::new(), at: None }
}

/// `SELECT * FROM (query) AS name` in place of a query with stars: its names are settled as those of a subquery.
fn within_from(query: &mut ast::Query, name: &Ident) {
    if !is_settled_late(&query.body) {
        return;
    }
    let mut outer = form("SELECT * FROM (SELECT 1) AS name");
    if let SetExpr::Select(select) = outer.body.as_mut()
        && let TableFactor::Derived { subquery, alias, .. } = &mut select.from[0].relation
    {
        *alias = Some(alias_of(name.clone()));
        **subquery = std::mem::replace(query, form("SELECT 1").as_ref().clone());
    }
    *query = *outer;
}

/// Whether the names of a query's columns are known when it is bound: those of several tables by a star, those beside a star,
/// the fields of a row, those of `VALUES`.
fn is_settled_late(query: &SetExpr) -> bool {
    match query {
        SetExpr::Select(select) => {
            let several = select.from.len() > 1 || select.from.iter().any(|from| !from.joins.is_empty());
            let many = several || select.projection.len() > 1;
            select.projection.iter().any(|item| match item {
                SelectItem::Wildcard(_) => many,
                SelectItem::QualifiedWildcard(..) => true,
                SelectItem::ExprWithAlias { alias, .. } => alias.value.starts_with(MARK),
                _ => false,
            })
        }
        SetExpr::SetOperation { left, .. } => is_settled_late(left),
        SetExpr::Query(query) => is_settled_late(&query.body),
        SetExpr::Values(_) => true,
        _ => false,
    }
}

fn is_star(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}

fn name_columns(select: &mut Select) {
    let beside_star = select.projection.iter().any(is_star);
    let tables = tables_of(select);
    for (at, item) in select.projection.iter_mut().enumerate() {
        if let Some(row) = row_of(item, &tables) {
            let alias = Ident::with_quote('`', format!("{FIELDS}{at}"));
            *item = SelectItem::ExprWithAlias { expr: row, alias };
        }
    }
    let mut used: HashSet<String> = HashSet::new();
    for (at, item) in select.projection.iter_mut().enumerate() {
        let (expr, given) = match item {
            SelectItem::UnnamedExpr(expr) => (expr, None),
            SelectItem::ExprWithAlias { alias, .. } if alias.value.starts_with(FIELDS) => continue,
            SelectItem::ExprWithAlias { expr, alias } => (expr, Some(&*alias)),
            _ => continue,
        };
        let named = given.map(|alias| alias.value.clone()).or_else(|| name_of(expr));
        let name = match &named {
            Some(name) if beside_star && given.is_none() && is_column(expr, &tables) => {
                let mut marked = format!("{name}{MARK}");
                while used.contains(&marked) {
                    marked.push(MARK);
                }
                marked
            }
            Some(name) => free(name, &used),
            None if beside_star => format!("{MARK}{at}"),
            None => free(&format!("EXPR${at}"), &used),
        };
        used.insert(name.clone());
        if named.as_ref() == Some(&name) {
            continue;
        }
        let alias = match given {
            Some(alias) => Ident { value: name, ..alias.clone() },
            None => Ident::with_quote('`', name),
        };
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
    }
}

/// The row whose fields an item such as `t.r.*` means.
fn row_of(item: &SelectItem, tables: &HashSet<String>) -> Option<ast::Expr> {
    let SelectItem::QualifiedWildcard(kind, _) = item else { return None };
    let name = match kind {
        Kind::Expr(row) => return Some(row.clone()),
        Kind::ObjectName(name) => name,
    };
    let mut parts: Vec<Ident> = name.0.iter().filter_map(|part| part.as_ident().cloned()).collect();
    if parts.last().is_none_or(|last| tables.contains(&last.value)) {
        return None;
    }
    match parts.len() {
        1 => parts.pop().map(ast::Expr::Identifier),
        _ => Some(ast::Expr::CompoundIdentifier(parts)),
    }
}

/// The name that an expression has by itself.
fn name_of(expr: &ast::Expr) -> Option<String> {
    match expr {
        ast::Expr::Identifier(ident) => Some(ident.value.clone()),
        ast::Expr::CompoundIdentifier(parts) => parts.last().map(|ident| ident.value.clone()),
        ast::Expr::Nested(inner) => name_of(inner),
        _ => None,
    }
}

/// Whether an expression is a column of one of these tables, and no field of one.
fn is_column(expr: &ast::Expr, tables: &HashSet<String>) -> bool {
    match expr {
        ast::Expr::Identifier(_) => true,
        ast::Expr::CompoundIdentifier(parts) => {
            parts.iter().rev().nth(1).is_some_and(|table| tables.contains(&table.value))
        }
        ast::Expr::Nested(inner) => is_column(inner, tables),
        _ => false,
    }
}

/// The names by which the columns of a `FROM` may be called.
pub(super) fn tables_of(select: &Select) -> HashSet<String> {
    let mut found = HashSet::new();
    select.from.iter().for_each(|from| tables_in(from, &mut found));
    found
}

/// Whether a `SELECT` of a query names a table like this.
pub(super) fn has_table(query: &SetExpr, name: &str) -> bool {
    match query {
        SetExpr::Select(select) => tables_of(select).contains(name),
        SetExpr::SetOperation { left, right, .. } => has_table(left, name) || has_table(right, name),
        SetExpr::Query(query) => has_table(&query.body, name),
        _ => false,
    }
}

fn tables_in(from: &ast::TableWithJoins, found: &mut HashSet<String>) {
    for factor in std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)) {
        let name = match factor {
            TableFactor::Table { alias: Some(alias), .. }
            | TableFactor::Derived { alias: Some(alias), .. }
            | TableFactor::TableFunction { alias: Some(alias), .. }
            | TableFactor::Function { alias: Some(alias), .. }
            | TableFactor::UNNEST { alias: Some(alias), .. } => Some(alias.name.value.clone()),
            TableFactor::Table { name, .. } => {
                name.0.last().and_then(|part| part.as_ident()).map(|ident| ident.value.clone())
            }
            TableFactor::NestedJoin { table_with_joins, .. } => {
                tables_in(table_with_joins, found);
                None
            }
            _ => None,
        };
        found.extend(name);
    }
}

/// The name, with a number behind where it is taken.
fn free(name: &str, used: &HashSet<String>) -> String {
    if !used.contains(name) {
        return name.to_owned();
    }
    (0..).map(|n| format!("{name}{n}")).find(|n| !used.contains(n)).unwrap_or_default()
}

/// The plan of a whole query with the columns and names that it has outside.
pub(super) fn settle(plan: LogicalPlan) -> Result<LogicalPlan> {
    let is_values = matches!(plan, LogicalPlan::Values(_));
    let mut used = HashSet::new();
    let mut columns = Vec::new();
    let mut is_same = true;
    for (column, field) in plan.schema().columns().into_iter().zip(plan.schema().fields()) {
        let (of, column) = (column.name.clone(), Expr::Column(column));
        let parts = match (field.name().starts_with(FIELDS), field.data_type()) {
            (true, DataType::Struct(fields)) => {
                fields.iter().map(|f| (field_of(column.clone(), f.name()), f.name().clone())).collect()
            }
            (true, _) => return plan_err!("only a table and a row have columns that `.*` means"),
            (false, _) => vec![(column, of.trim_end_matches(MARK).to_owned())],
        };
        for (expr, name) in parts {
            let name = match is_values || name.starts_with(MARK) {
                true => free(&format!("EXPR${}", columns.len()), &used),
                false => free(&name, &used),
            };
            is_same &= name == of;
            columns.push(if name == of { expr } else { expr.alias(&name) });
            used.insert(name);
        }
    }
    if is_same {
        return Ok(plan);
    }
    LogicalPlanBuilder::from(plan).project(columns)?.build()
}

//! Hints: which there are, and what those behind a `SELECT` say of the relations of its `FROM`.
//!
//! Tables of a query carry `OPTIONS` themselves. What `STATE_TTL` and `LOOKUP` say of a relation goes along with it as a
//! [`HintedNode`], to the join or `GROUP BY` that reads it. A hint that nothing heeds is an error.

mod retry;

use crate::bind::nodes::{HintedNode, TemporalJoinNode};
use crate::error::{PlanResult, semantic, unsupported};
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_expr::{Expr, LogicalPlan};
use flugs_sql_ops::join::LookupRetry;
use flugs_sql_parser::{Hint, Hints, OptionEntry, Span, SqlError, SqlErrorKind};
use flugs_table::{Options, nearest};
use retry::RetrySaid;
use sqlparser::ast::{self, SetExpr, TableFactor, TableWithJoins, Visit, Visitor};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::time::Duration;

/// Hints that stand behind the name of a table.
const OF_TABLES: [&str; 1] = ["OPTIONS"];
/// Hints that stand behind `SELECT` and name relations of its `FROM`.
const OF_SELECTS: [&str; 7] =
    ["STATE_TTL", "LOOKUP", "BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP", "MULTI_JOIN"];
/// The options of `LOOKUP`.
const OF_LOOKUPS: [&str; 10] = [
    "table",
    "async",
    "output-mode",
    "capacity",
    "timeout",
    "retry-predicate",
    "retry-strategy",
    "fixed-delay",
    "max-attempts",
    "shuffle",
];

/// What hints say of a relation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Said {
    /// `STATE_TTL`: how long rows of it are kept after their last change; no time at all is for ever.
    pub(crate) ttl: Option<Duration>,
    /// `LOOKUP`, and where it stands.
    pub(crate) lookup: Option<LookupSaid>,
    /// Where the relation is named by `STATE_TTL`.
    pub(crate) ttl_at: Option<Span>,
}

/// What `LOOKUP` says of a table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LookupSaid {
    /// Whether rows are distributed by the key that is looked up.
    pub(crate) shuffle: bool,
    /// Whether rows that are not found are looked up again.
    pub(crate) retry: Option<LookupRetry>,
    pub(crate) at: Span,
}

/// What is said of the relations of a query, by where their names stand.
pub(crate) type RelationHints = HashMap<Span, Said>;

/// The options that hints give a table.
pub(crate) fn table_options<'h>(
    hints: impl IntoIterator<Item = &'h Hint>,
) -> PlanResult<Vec<(String, String)>> {
    let mut options = Vec::new();
    for hint in hints {
        match hint.name.as_str() {
            "OPTIONS" => options.extend(hint.options.iter().map(|o| (o.key.clone(), o.value.clone()))),
            other if OF_SELECTS.contains(&other) => {
                return Err(semantic(format!("the hint {other} stands behind SELECT, not behind a table"))
                    .at(hint.span)
                    .help(format!("write SELECT /*+ {other}(...) */ ...")));
            }
            other => return Err(unknown(other, hint.span)),
        }
    }
    Ok(options)
}

/// Where a relation of a `FROM` has the name that hints call it by, and that name in its parts.
pub(crate) fn named(relation: &TableFactor) -> Option<(Span, Vec<String>)> {
    let alias = match relation {
        TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } => alias.as_ref(),
        _ => return None,
    };
    match (alias, relation) {
        (Some(alias), _) => Some((alias.name.span, vec![alias.name.value.clone()])),
        (None, TableFactor::Table { name, .. }) => {
            let idents: Vec<_> = name.0.iter().filter_map(|part| part.as_ident()).collect();
            let parts = idents.iter().map(|ident| ident.value.clone()).collect();
            Some((idents.last()?.span, parts))
        }
        _ => None,
    }
}

/// What the hints behind each `SELECT` of a query say.
pub(crate) fn of_relations(query: &ast::Query, hints: &Hints) -> PlanResult<RelationHints> {
    struct Selects<'h> {
        hints: &'h Hints,
        said: RelationHints,
    }
    impl Visitor for Selects<'_> {
        type Break = SqlError;
        fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<SqlError> {
            match selects(&query.body, &mut |select| of_select(select, self.hints, &mut self.said)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            }
        }
    }
    let mut found = Selects { hints, said: HashMap::new() };
    match query.visit(&mut found) {
        ControlFlow::Continue(()) => Ok(found.said),
        ControlFlow::Break(error) => Err(error),
    }
}

fn selects(body: &SetExpr, of: &mut impl FnMut(&ast::Select) -> PlanResult<()>) -> PlanResult<()> {
    match body {
        SetExpr::Select(select) => of(select),
        SetExpr::SetOperation { left, right, .. } => {
            selects(left, of)?;
            selects(right, of)
        }
        _ => Ok(()),
    }
}

fn of_select(select: &ast::Select, hints: &Hints, said: &mut RelationHints) -> PlanResult<()> {
    let mut relations = Vec::new();
    select.from.iter().for_each(|from| factors(from, &mut relations));
    let find = |name: &str, span: Span, hint: &str| -> PlanResult<Span> {
        let called =
            |parts: &[String]| parts.join(".") == name || parts.last().is_some_and(|last| last == name);
        let found = relations.iter().find(|(_, parts)| called(parts));
        found.map(|(at, _)| *at).ok_or_else(|| {
            let error = semantic(format!("the hint {hint} names '{name}', which FROM does not")).at(span);
            let names = relations.iter().filter_map(|(_, parts)| parts.last()).map(String::as_str);
            match nearest(name, names) {
                Some(near) => error.help(format!("did you mean '{near}'?")),
                None => error.help("name a table, view or alias of the FROM behind this SELECT"),
            }
        })
    };
    for hint in hints.of_select(select) {
        match hint.name.as_str() {
            "STATE_TTL" => {
                if hint.options.is_empty() || !hint.arguments.is_empty() {
                    return Err(semantic("the hint STATE_TTL takes relations and lengths of time")
                        .at(hint.span)
                        .help("write STATE_TTL('t' = '1 d')"));
                }
                for entry in &hint.options {
                    let of = said.entry(find(&entry.key, entry.key_span, "STATE_TTL")?).or_default();
                    (of.ttl, of.ttl_at) = (Some(duration(entry)?), Some(entry.key_span));
                }
            }
            "LOOKUP" => {
                let (table, of_table) = lookup(hint)?;
                let found = find(table, of_table.at, "LOOKUP")?;
                said.entry(found).or_default().lookup = Some(of_table);
            }
            // How a join of bounded inputs is carried out: it gives the same rows.
            other if OF_SELECTS.contains(&other) => {
                for name in &hint.arguments {
                    find(name, hint.span, other)?;
                }
            }
            "OPTIONS" => {
                return Err(semantic(
                    "the hint OPTIONS stands behind the name of a table, not behind SELECT",
                )
                .at(hint.span)
                .help("write FROM t /*+ OPTIONS('key' = 'value') */"));
            }
            other => return Err(unknown(other, hint.span)),
        }
    }
    Ok(())
}

fn factors(from: &TableWithJoins, relations: &mut Vec<(Span, Vec<String>)>) {
    let joined = from.joins.iter().map(|join| &join.relation);
    for relation in std::iter::once(&from.relation).chain(joined) {
        match relation {
            TableFactor::NestedJoin { table_with_joins, .. } => factors(table_with_joins, relations),
            other => relations.extend(named(other)),
        }
    }
}

fn duration(entry: &OptionEntry) -> PlanResult<Duration> {
    let mut options = Options::new();
    options.set(&entry.key, &entry.value);
    match options.duration(&entry.key) {
        Ok(ttl) => Ok(ttl.unwrap_or_default()),
        Err(_) => Err(semantic(format!("'{}' is no length of time", entry.value))
            .at(entry.value_span)
            .help("write it as '1 d', '12 h' or '30 min'; '0 s' is for ever")),
    }
}

/// The table of a `LOOKUP`, and what is said of it.
fn lookup(hint: &Hint) -> PlanResult<(&str, LookupSaid)> {
    let (mut table, mut shuffle, mut retry) = (None, false, RetrySaid::default());
    for entry in &hint.options {
        let truth = || match entry.value.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(semantic(format!(
                "'{}' of LOOKUP is 'true' or 'false', not '{}'",
                entry.key, entry.value
            ))
            .at(entry.value_span)),
        };
        match entry.key.as_str() {
            "table" => table = Some((entry.value.as_str(), entry.value_span)),
            "shuffle" => shuffle = truth()?,
            "async" if !truth()? => {}
            "async" | "output-mode" | "capacity" | "timeout" => {
                let why = "rows are looked up many at a time, in their order";
                return Err(unsupported(format!("'{}' of the hint LOOKUP: {why}", entry.key))
                    .at(entry.key_span)
                    .help("leave it out, or write 'async' = 'false'; 'shuffle' = 'true' sends equal keys to one subtask"));
            }
            "retry-predicate" | "retry-strategy" | "fixed-delay" | "max-attempts" => retry.take(entry)?,
            other => {
                let error =
                    SqlError::new(SqlErrorKind::Name, format!("the hint LOOKUP has no option '{other}'"))
                        .at(entry.key_span);
                return Err(match nearest(other, OF_LOOKUPS) {
                    Some(near) => error.help(format!("did you mean '{near}'?")),
                    None => error.help("it has 'table', 'async', 'shuffle', and those of retries"),
                });
            }
        }
    }
    let (table, at) = table.ok_or_else(|| {
        semantic("the hint LOOKUP names no table").at(hint.span).help("write LOOKUP('table' = 'name')")
    })?;
    Ok((table, LookupSaid { shuffle, retry: retry.settled(hint.span)?, at }))
}

fn unknown(name: &str, span: Span) -> SqlError {
    let error = SqlError::new(SqlErrorKind::Name, format!("there is no hint {name}")).at(span);
    let known = OF_TABLES.into_iter().chain(OF_SELECTS);
    match nearest(name, known.clone()) {
        Some(near) => error.help(format!("did you mean {near}?")),
        None => error.help(format!("hints are {}", known.collect::<Vec<_>>().join(", "))),
    }
}

/// Refuses hints that no join and no `GROUP BY` of the query heeds.
pub(crate) fn check_heeded(plan: &LogicalPlan) -> PlanResult<()> {
    let (mut said, mut kept, mut looked_up) = (Vec::new(), HashSet::new(), HashSet::new());
    let mut heeds = |plan: &LogicalPlan, lookup: bool| {
        let heeded = if lookup { &mut looked_up } else { &mut kept };
        heeded.extend(hint_of(plan).cloned());
    };
    let walked = plan.apply_with_subqueries(|node| {
        match node {
            LogicalPlan::Join(join) => {
                heeds(&join.left, false);
                heeds(&join.right, false);
            }
            LogicalPlan::Aggregate(aggregate) => heeds(&aggregate.input, false),
            LogicalPlan::Distinct(distinct) => heeds(distinct.input(), false),
            LogicalPlan::Filter(filter) if has_subquery(&filter.predicate)? => heeds(&filter.input, false),
            LogicalPlan::Extension(extension) => {
                let node = extension.node.as_any();
                if let Some(hinted) = node.downcast_ref::<HintedNode>() {
                    said.push(hinted.said.clone());
                } else if let Some(join) = node.downcast_ref::<TemporalJoinNode>() {
                    heeds(&join.right, true);
                }
            }
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map_err(crate::error::planning)?;
    for said in said {
        if let Some(at) = said.ttl_at.filter(|_| !kept.contains(&said)) {
            return Err(semantic(
                "the hint STATE_TTL names what no join and no GROUP BY of this SELECT reads",
            )
            .at(at)
            .help("leave it out, or SET 'table.exec.state.ttl'"));
        }
        if let Some(lookup) = said.lookup.as_ref().filter(|_| !looked_up.contains(&said)) {
            return Err(semantic("the hint LOOKUP names a table that is not looked up")
                .at(lookup.at)
                .help("look it up: JOIN t FOR SYSTEM_TIME AS OF o.proctime"));
        }
    }
    Ok(())
}

fn has_subquery(expr: &Expr) -> datafusion_common::Result<bool> {
    expr.exists(|e| Ok(matches!(e, Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_))))
}

/// What is said of a relation, below names, choices of columns and filters.
pub(crate) fn hint_of(plan: &LogicalPlan) -> Option<&Said> {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => hint_of(&alias.input),
        LogicalPlan::Projection(projection) => hint_of(&projection.input),
        LogicalPlan::Filter(filter) => hint_of(&filter.input),
        LogicalPlan::Extension(extension) => {
            extension.node.as_any().downcast_ref::<HintedNode>().map(|hinted| &hinted.said)
        }
        _ => None,
    }
}

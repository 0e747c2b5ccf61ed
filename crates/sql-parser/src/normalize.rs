//! What a parsed query looks like.
//!
//! Queries and expressions are `sqlparser`'s tree, but many forms of Flink's SQL come out as ordinary calls or as another node, so that
//! whoever plans them meets few shapes. Spans of identifiers and literals are those of the text that was parsed. In this list `f(..)` is
//! an `Expr::Function` of one unquoted name with unnamed arguments; strings in it are literals.
//!
//! # Names and literals
//!
//! | text | shape |
//! | --- | --- |
//! | `COUNT(x)`, `Count(x)` | the name is `count`: names of one part without quotes are in lower case; `cat.db.F(x)` and `` `F`(x) `` keep theirs |
//! | `CURRENT_TIMESTAMP`, `LOCALTIME` ... without parentheses | a function of that name in lower case with `FunctionArguments::None` |
//! | `'it''s'`, `e'a\n'`, `U&'\0041'`, `N'x'` | `Value::SingleQuotedString`, unescaped; `X'45F0'` stays `Value::HexStringLiteral` |
//! | `DATE 'x'`, `TIME 'x'`, `TIMESTAMP 'x'` | `CAST('x' AS DATE)`, `TIME(n)`, `TIMESTAMP(n)`, n being the digits behind the second; the text was checked |
//! | `INTERVAL '1-2' YEAR TO MONTH` and its like | `Expr::Interval` of the string `'14'` and the field `Month` |
//! | `INTERVAL '1 02:00:00.5' DAY TO SECOND` and its like | `Expr::Interval` of the string of milliseconds and the field `Millisecond`; [`crate::interval_of`] reads both |
//! | `(a - b) DAY TO SECOND`, `(a - b) YEAR TO MONTH` and their likes | `interval_between('SECOND', b, a)`, `interval_between('MONTH', b, a)` |
//! | `CAST(x AS t)`, `TRY_CAST(x AS t)` | `Expr::Cast` with a `DataType::Custom` that [`crate::cast_type`] turns into a `SqlType`; of `INTERVAL unit` [`crate::cast_unit`] has the unit |
//! | `ARRAY[a, b]`, `MAP[k, v]`, `ROW(a, b)`, `(a, b)` | `array(a, b)`, `map(k, v)`, `row(a, b)`, `row(a, b)` (also on the left of `IN`) |
//! | `a[i]`, `m['k']`, `t.c[1].f` | `item(a, i)`, `item(m, 'k')`, `get_field(item(t.c, 1), 'f')` |
//! | `f(x).a`, `(r).a` | `get_field(f(x), 'a')` |
//! | `t.c`, `r.f`, `t.r.f` | `Expr::CompoundIdentifier`: which part is a table only name resolution knows |
//! | `r.*`, `t.r.*` in a projection | `SelectItem::QualifiedWildcard` of an `ObjectName`, as for `t.*`; `f(x).*` of an `Expr` |
//!
//! # Functions and operators
//!
//! | text | shape |
//! | --- | --- |
//! | `FLOOR(t TO HOUR)`, `CEIL(t TO DAY)`, `CEILING(x)` | `floor(t, 'HOUR')`, `ceil(t, 'DAY')`, `ceil(x)` |
//! | `EXTRACT(YEAR FROM t)` | `extract('YEAR', t)` |
//! | `TIMESTAMPADD(DAY, n, t)`, `TIMESTAMPDIFF(DAY, a, b)` | `timestampadd('DAY', n, t)`, `timestampdiff('DAY', a, b)`; units are singular and in upper case |
//! | `POSITION(a IN b)` | `position(a, b)` |
//! | `OVERLAY(s PLACING r FROM i FOR n)` | `overlay(s, r, i, n)`, or without `n` |
//! | `TRIM(s)`, `TRIM(BOTH x FROM s)`, `LEADING`, `TRAILING` | `btrim(s)`, `btrim(s, x)`, `ltrim(s, x)`, `rtrim(s, x)` |
//! | `SUBSTRING(s FROM i FOR n)` | `substring(s, i, n)`, or without `n`; `SUBSTR(..)` stays `substr(..)` |
//! | `JSON_VALUE(j, p RETURNING t a ON EMPTY b ON ERROR)` | `json_value(j, p, 'type', 'NULL' or 'ERROR' or 'DEFAULT', default or NULL, the same two for errors)`: always 7 arguments; the type is `'STRING'` unless said |
//! | `JSON_QUERY(j, p RETURNING t WITH WRAPPER a ON EMPTY b ON ERROR)` | `json_query(j, p, 'type', 'WITHOUT' or 'CONDITIONAL' or 'UNCONDITIONAL', on empty, on error)`; the last two are `'NULL'`, `'ERROR'`, `'EMPTY ARRAY'` or `'EMPTY OBJECT'` |
//! | `JSON_EXISTS(j, p e ON ERROR)` | `json_exists(j, p, 'FALSE' or 'TRUE' or 'UNKNOWN' or 'ERROR')` |
//! | `JSON_OBJECT(KEY k VALUE v, ...)` | `json_object_null_on_null(k, v, ...)` or `json_object_absent_on_null(..)` |
//! | `JSON_ARRAY(a, ...)` | `json_array_absent_on_null(a, ...)` or `json_array_null_on_null(..)` |
//! | `JSON_OBJECTAGG(k VALUE v)`, `JSON_ARRAYAGG(x)` | `json_objectagg_null_on_null(k, v)` or `.._absent_on_null`, `json_arrayagg_absent_on_null(x)` or `.._null_on_null`, with their `FILTER` and `OVER` |
//! | `x IS JSON`, `IS JSON VALUE`, `SCALAR`, `ARRAY`, `OBJECT` | `is_json_value(x)`, `is_json_scalar(x)`, `is_json_array(x)`, `is_json_object(x)`, under `NOT` where negated |
//! | `x BETWEEN SYMMETRIC a AND b` | `(x BETWEEN a AND b OR x BETWEEN b AND a)`; negated: `AND` of the two `NOT BETWEEN`; `ASYMMETRIC` vanishes |
//! | `a SIMILAR TO p ESCAPE e` | `similar_to(a, p)` or `similar_to(a, p, 'e')`, under `NOT` where negated |
//! | `(a, b) OVERLAPS (c, d)` | `overlaps(a, b, c, d)` |
//! | `a OR b OR c ...`, long chains of `AND` or `OR` | balanced trees, so that depth stays small |
//! | `LISTAGG(x, s)`, `agg(DISTINCT x) FILTER (WHERE c)`, `WITHIN GROUP`, `OVER`, group windows such as `TUMBLE_START(ts, i)`, `IS TRUE`, `IS DISTINCT FROM`, `LIKE .. ESCAPE`, `= ANY (..)` | as `sqlparser` has them |
//!
//! # Tables
//!
//! | text | shape |
//! | --- | --- |
//! | `TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), i))`, also without `TABLE(..)`, with named arguments, over subqueries, `HOP`, `CUMULATE`, `SESSION` | `TableFactor::TableFunction` of a call with all arguments named (`DATA`, `TIMECOL`, `SIZE` ...), which [`crate::WindowTvf::of`] reads |
//! | `TABLE t PARTITION BY k` as an argument of any table function | `table_argument((SELECT * FROM t), k, ...)`, which [`crate::TableArgument::of`] reads |
//! | `TABLE(f(x))`, `f(x)` in a `FROM` | `TableFactor::TableFunction` of the call |
//! | `LATERAL TABLE(f(x)) AS s(a)`, also behind a `JOIN` | `TableFactor::Function` with `lateral`, the name `f` and its arguments |
//! | `UNNEST(a) WITH ORDINALITY AS t(x, i)` | `TableFactor::UNNEST` |
//! | `t FOR SYSTEM_TIME AS OF o.ts AS r` | `TableFactor::Table` with `version: ForSystemTimeAsOf(o.ts)` |
//! | `t /*+ OPTIONS(..) */`, `SELECT /*+ .. */` | hints are beside the tree: [`crate::Hints`] |
//! | `t MATCH_RECOGNIZE (..)` | `TableFactor::MatchRecognize`; its `WITHIN` is [`crate::Query::match_within`], a reluctant quantifier such as `+?` is the repetition `AtMostOne` around the repetition |
//!
//! # Queries
//!
//! | text | shape |
//! | --- | --- |
//! | `FETCH FIRST n ROWS ONLY` | the limit of `LimitClause::LimitOffset` |
//! | `GROUP BY (a, b)`, `GROUP BY ()` | `GROUP BY a, b`; `GROUPING SETS (())` |
//! | `a UNION ALL b UNION ALL c ...`, long chains of `UNION ALL` or `UNION` | balanced trees |
//! | `GROUPING SETS`, `ROLLUP`, `CUBE`, `QUALIFY`, `WINDOW w AS (..)`, `VALUES`, `WITH`, set operations | as `sqlparser` has them |

use crate::cursor::{call, text};
use crate::diagnostic::SqlError;
use crate::window;
use sqlparser::ast::{
    self, AccessExpr, BinaryOperator, Distinct, Expr, FunctionArg, FunctionArgExpr, FunctionArguments,
    GroupByExpr, Ident, JoinConstraint, JoinOperator, LimitClause, ObjectName, Select, SelectItem, SetExpr,
    SetOperator, Spanned, Subscript, TableFactor, UnaryOperator, Value, ValueWithSpan, VisitMut, VisitorMut,
};
use sqlparser::tokenizer::Span;
use std::mem;
use std::ops::ControlFlow;

/// How deep an expression or query may be when it is normalized.
pub(crate) const MAX_DEPTH: usize = 256;

/// Normalizes a query.
pub(crate) fn query(query: &mut ast::Query) -> Result<(), SqlError> {
    run(query)
}

/// Normalizes an expression.
pub(crate) fn expression(expr: &mut Expr) -> Result<(), SqlError> {
    run(expr)
}

fn run(tree: &mut impl VisitMut) -> Result<(), SqlError> {
    match tree.visit(&mut Normalizer { depth: 0 }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Normalizer {
    depth: usize,
}

type Flow = ControlFlow<Box<SqlError>>;

fn flow(result: Result<(), SqlError>) -> Flow {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(Box::new(error)),
    }
}

impl Normalizer {
    fn enter(&mut self, span: impl Fn() -> Span) -> Flow {
        self.depth += 1;
        match self.depth > MAX_DEPTH {
            true => flow(Err(too_deep().at(span()))),
            false => ControlFlow::Continue(()),
        }
    }
}

/// The error of a statement that nests too deeply.
pub(crate) fn too_deep() -> SqlError {
    let levels = crate::limits::MAX_NESTING;
    SqlError::unsupported(format!(
        "this is nested too deeply: at most {levels} levels, and {MAX_DEPTH} operators other than AND and OR in a row"
    ))
    .help("split it by views or WITH; put parentheses around parts of a long sum")
}

impl VisitorMut for Normalizer {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &mut ast::Query) -> Flow {
        self.enter(Span::empty)?;
        flow(query_clauses(query))
    }

    fn post_visit_query(&mut self, _query: &mut ast::Query) -> Flow {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> Flow {
        flow(select_clauses(select).and_then(|()| select_names(select)))
    }

    fn pre_visit_relation(&mut self, name: &mut ObjectName) -> Flow {
        let idents = name.0.iter().filter_map(|part| part.as_ident());
        flow(names(idents, Span::empty()))
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> Flow {
        flow(table_factor(factor))
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> Flow {
        self.enter(Span::empty)?;
        balance(expr);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> Flow {
        self.depth -= 1;
        flow(rewrite(expr))
    }

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> Flow {
        flow(match &value.value {
            Value::Placeholder(_) => {
                Err(SqlError::unsupported("parameters are not supported").at(value.span))
            }
            _ => Ok(()),
        })
    }
}

/// `FETCH`, `WITH RECURSIVE`, and set operations that Flink has not.
fn query_clauses(query: &mut ast::Query) -> Result<(), SqlError> {
    if let Some(with) = query.with.as_ref().filter(|with| with.recursive) {
        return Err(SqlError::unsupported("WITH RECURSIVE is not supported").at(with.with_token.0.span));
    }
    if let Some(fetch) = query.fetch.take() {
        let one = || Expr::Value(Value::Number("1".to_string(), false).into());
        let quantity = Some(fetch.quantity.unwrap_or_else(one));
        match &mut query.limit_clause {
            None => {
                query.limit_clause =
                    Some(LimitClause::LimitOffset { limit: quantity, offset: None, limit_by: vec![] })
            }
            Some(LimitClause::LimitOffset { limit: limit @ None, .. }) => *limit = quantity,
            Some(_) => {
                return Err(
                    SqlError::syntax("a query has LIMIT or FETCH, not both").help("remove one of them")
                );
            }
        }
    }
    balance_unions(&mut query.body);
    let mut body = &*query.body;
    let mut operations = 0;
    while let SetExpr::SetOperation { left, .. } = body {
        operations += 1;
        body = left;
    }
    match operations > MAX_DEPTH {
        true => Err(SqlError::unsupported(format!("more than {MAX_DEPTH} set operations stand in a row"))
            .help("put parentheses around some of them")),
        false => Ok(()),
    }
}

fn select_clauses(select: &mut Select) -> Result<(), SqlError> {
    let span = select.select_token.0.span;
    if matches!(select.distinct, Some(Distinct::On(_))) {
        return Err(SqlError::unsupported("DISTINCT ON is not supported")
            .at(span)
            .help("keep one row of each key by ROW_NUMBER() OVER (PARTITION BY key ORDER BY time) = 1"));
    }
    let GroupByExpr::Expressions(keys, _) = &mut select.group_by else {
        return Err(SqlError::unsupported("GROUP BY ALL is not supported").at(span).help("name the columns"));
    };
    let mut flat = Vec::with_capacity(keys.len());
    for key in mem::take(keys) {
        match key {
            Expr::Tuple(parts) if parts.is_empty() => flat.push(Expr::GroupingSets(vec![vec![]])),
            Expr::Tuple(parts) => flat.extend(parts),
            key => flat.push(key),
        }
    }
    *keys = flat;
    Ok(())
}

/// `sqlparser` takes strings for names, which would hide that a comma is missing.
fn names<'a>(idents: impl IntoIterator<Item = &'a Ident>, at: Span) -> Result<(), SqlError> {
    match idents.into_iter().find(|ident| ident.quote_style == Some('\'')) {
        Some(ident) => {
            let error = SqlError::syntax(format!("the string '{}' stands where a name is due", ident.value));
            Err(error
                .at(ident.span)
                .at(at)
                .help("a name stands in back-quotes; or is a comma missing before it?"))
        }
        None => Ok(()),
    }
}

/// The aliases and joins of a `SELECT`.
fn select_names(select: &Select) -> Result<(), SqlError> {
    for item in &select.projection {
        if let SelectItem::ExprWithAlias { expr, alias } = item
            && alias.quote_style == Some('\'')
        {
            names([alias], expr.span())?;
        }
    }
    for join in select.from.iter().flat_map(|table| &table.joins) {
        let (JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)) = &join.join_operator
        else {
            continue;
        };
        if *constraint == JoinConstraint::None {
            let span = match &join.relation {
                TableFactor::Table { name, .. } | TableFactor::Function { name, .. } => name.span(),
                _ => select.select_token.0.span,
            };
            let error = SqlError::syntax("this join has no condition").at(span);
            return Err(error.help("write ON a.x = b.x behind it, or CROSS JOIN"));
        }
    }
    let tables = select.from.iter();
    let tables = tables
        .flat_map(|table| std::iter::once(&table.relation).chain(table.joins.iter().map(|j| &j.relation)));
    for table in tables {
        if let TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. } = table
        {
            names([&alias.name], select.select_token.0.span)?;
        }
    }
    Ok(())
}

/// Chains from this length on are balanced.
const CHAIN: usize = 16;

/// Makes a balanced tree of a long chain of `AND` or `OR`, which are associative, also with NULL.
fn balance(expr: &mut Expr) {
    let Expr::BinaryOp { op, .. } = expr else { return };
    let op = op.clone();
    if !matches!(op, BinaryOperator::And | BinaryOperator::Or) {
        return;
    }
    let mut length = 0;
    let mut walk = &*expr;
    while let Expr::BinaryOp { left, op: other, .. } = walk {
        if *other != op {
            break;
        }
        length += 1;
        walk = left;
    }
    if length < CHAIN {
        return;
    }
    let mut operands = Vec::with_capacity(length + 1);
    let mut rest = mem::replace(expr, placeholder());
    loop {
        match rest {
            Expr::BinaryOp { left, op: other, right } if other == op => {
                operands.push(*right);
                rest = *left;
            }
            first => {
                operands.push(first);
                break;
            }
        }
    }
    operands.reverse();
    while operands.len() > 1 {
        let mut pairs = Vec::with_capacity(operands.len().div_ceil(2));
        let mut operands_left = operands.into_iter();
        while let Some(left) = operands_left.next() {
            pairs.push(match operands_left.next() {
                Some(right) => {
                    Expr::BinaryOp { left: Box::new(left), op: op.clone(), right: Box::new(right) }
                }
                None => left,
            });
        }
        operands = pairs;
    }
    if let Some(root) = operands.pop() {
        *expr = root;
    }
}

/// Makes a balanced tree of a long chain of `UNION ALL` or `UNION`, whose rows do not depend on which are put together first.
fn balance_unions(body: &mut SetExpr) {
    let SetExpr::SetOperation { op: SetOperator::Union, set_quantifier: quantifier, .. } = *body else {
        return;
    };
    let goes_on = |set: &SetExpr| matches!(set, SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, .. } if *set_quantifier == quantifier);
    let mut length = 0;
    let mut walk = &*body;
    while let SetExpr::SetOperation { left, .. } = walk
        && goes_on(walk)
    {
        length += 1;
        walk = left;
    }
    if length < CHAIN {
        return;
    }
    let mut inputs = Vec::with_capacity(length + 1);
    let mut rest = mem::replace(
        body,
        SetExpr::Values(ast::Values { explicit_row: false, value_keyword: false, rows: vec![] }),
    );
    while goes_on(&rest) {
        let SetExpr::SetOperation { left, right, .. } = rest else { return };
        inputs.push(*right);
        rest = *left;
    }
    inputs.push(rest);
    inputs.reverse();
    while inputs.len() > 1 {
        let mut pairs = Vec::with_capacity(inputs.len().div_ceil(2));
        let mut inputs_left = inputs.into_iter();
        while let Some(left) = inputs_left.next() {
            pairs.push(match inputs_left.next() {
                Some(right) => SetExpr::SetOperation {
                    op: SetOperator::Union,
                    set_quantifier: quantifier,
                    left: Box::new(left),
                    right: Box::new(right),
                },
                None => left,
            });
        }
        inputs = pairs;
    }
    if let Some(root) = inputs.pop() {
        *body = root;
    }
}

/// What stands in the tree while a node is taken out of it.
fn placeholder() -> Expr {
    Expr::Value(Value::Null.into())
}

/// Rewrites one node whose children are done.
fn rewrite(expr: &mut Expr) -> Result<(), SqlError> {
    match expr {
        Expr::Function(function) => return function_name(function),
        Expr::Identifier(ident) => return names([&*ident], Span::empty()),
        Expr::CompoundIdentifier(parts) => return names(&*parts, Span::empty()),
        Expr::TypedString(_) => {
            return Err(SqlError::syntax("only DATE, TIME, TIMESTAMP and INTERVAL stand before a string")
                .at(expr.span())
                .help("write CAST('..' AS type)"));
        }
        Expr::Tuple(_)
        | Expr::CompoundFieldAccess { .. }
        | Expr::SimilarTo { .. }
        | Expr::BinaryOp { op: BinaryOperator::Overlaps, .. } => {}
        _ => return Ok(()),
    }
    let span = expr.span();
    *expr = match mem::replace(expr, placeholder()) {
        Expr::Tuple(parts) => call("row", span, parts),
        Expr::CompoundFieldAccess { root, access_chain } => field_access(*root, access_chain)?,
        Expr::SimilarTo { negated, expr, pattern, escape_char } => {
            let escape = escape_char.map(Expr::Value);
            let test = call("similar_to", span, [*expr, *pattern].into_iter().chain(escape).collect());
            match negated {
                true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(test) },
                false => test,
            }
        }
        Expr::BinaryOp { left, right, .. } => overlaps(*left, *right, span)?,
        other => other,
    };
    Ok(())
}

fn function_name(function: &mut ast::Function) -> Result<(), SqlError> {
    if let FunctionArguments::Subquery(_) = function.args {
        let error = SqlError::syntax("a query as an argument stands in parentheses of its own");
        return Err(error.at(function.name.span()).help("write f((SELECT ...))"));
    }
    lower_case(&mut function.name);
    Ok(())
}

fn lower_case(name: &mut ObjectName) {
    if let [ast::ObjectNamePart::Identifier(ident)] = name.0.as_mut_slice()
        && ident.quote_style.is_none()
    {
        ident.value = ident.value.to_lowercase();
    }
}

/// `a.b[1].c`: see the table above.
fn field_access(root: Expr, chain: Vec<AccessExpr>) -> Result<Expr, SqlError> {
    if chain.len() > MAX_DEPTH {
        return Err(too_deep().at(root.span()));
    }
    let mut value = root;
    for access in chain {
        let span = value.span();
        value = match access {
            AccessExpr::Dot(Expr::Identifier(field)) => match value {
                Expr::Identifier(first) => Expr::CompoundIdentifier(vec![first, field]),
                Expr::CompoundIdentifier(mut parts) => {
                    parts.push(field);
                    Expr::CompoundIdentifier(parts)
                }
                other => call("get_field", field.span, vec![other, text(field.value.clone(), field.span)]),
            },
            AccessExpr::Subscript(Subscript::Index { index }) => call("item", span, vec![value, index]),
            AccessExpr::Subscript(_) => {
                let error = SqlError::syntax("a part of an array is not taken by `[from:to]`").at(span);
                return Err(error.help("write ARRAY_SLICE(a, from, to)"));
            }
            AccessExpr::Dot(other) => {
                return Err(SqlError::syntax("behind a point stands the name of a field").at(other.span()));
            }
        };
    }
    Ok(value)
}

fn overlaps(left: Expr, right: Expr, span: Span) -> Result<Expr, SqlError> {
    let pair = |side: Expr| match side {
        Expr::Function(function) if function.name.0.len() == 1 && function.name.to_string() == "row" => {
            let FunctionArguments::List(list) = function.args else { return None };
            let parts = list.args.into_iter().map(|arg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
                _ => None,
            });
            parts.collect::<Option<Vec<Expr>>>().filter(|parts| parts.len() == 2)
        }
        _ => None,
    };
    match (pair(left), pair(right)) {
        (Some(mut left), Some(right)) => {
            left.extend(right);
            Ok(call("overlaps", span, left))
        }
        _ => Err(SqlError::syntax("OVERLAPS compares two periods")
            .at(span)
            .help("write (start1, end1) OVERLAPS (start2, end2)")),
    }
}

fn is_name(name: &ObjectName, wanted: &str) -> bool {
    matches!(name.0.as_slice(), [part] if part.as_ident().is_some_and(
        |ident: &Ident| ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case(wanted)
    ))
}

/// Rewrites one table reference whose children are done.
fn table_factor(factor: &mut TableFactor) -> Result<(), SqlError> {
    match factor {
        TableFactor::Table { name, alias, args: args @ Some(_), with_ordinality, .. } => {
            let args = args.take().map_or(vec![], |args| args.args);
            *factor = table_function(name.clone(), args, alias.take(), *with_ordinality, false)?;
        }
        TableFactor::Function { lateral, name, args, with_ordinality, alias } if is_name(name, "TABLE") => {
            let span = name.span();
            let (lateral, with_ordinality, alias) = (*lateral, *with_ordinality, alias.take());
            match mem::take(args).as_mut_slice() {
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(inner)))] => {
                    let FunctionArguments::List(list) =
                        mem::replace(&mut inner.args, FunctionArguments::None)
                    else {
                        return Err(no_call(span));
                    };
                    *factor = table_function(inner.name.clone(), list.args, alias, with_ordinality, lateral)?;
                }
                _ => return Err(no_call(span)),
            }
        }
        TableFactor::Function { lateral, name, args, with_ordinality, alias } => {
            let args = mem::take(args);
            *factor = table_function(name.clone(), args, alias.take(), *with_ordinality, *lateral)?;
        }
        TableFactor::TableFunction { expr: Expr::Function(function), .. } => {
            return window::canonical(function);
        }
        TableFactor::TableFunction { expr, .. } => return Err(no_call(expr.span())),
        _ => {}
    }
    match factor {
        TableFactor::TableFunction { expr: Expr::Function(function), .. } => window::canonical(function),
        _ => Ok(()),
    }
}

fn no_call(span: Span) -> SqlError {
    SqlError::syntax("TABLE(...) in a FROM holds the call of a table function")
        .at(span)
        .help("write TABLE(f(x))")
}

fn table_function(
    mut name: ObjectName,
    args: Vec<FunctionArg>,
    alias: Option<ast::TableAlias>,
    with_ordinality: bool,
    lateral: bool,
) -> Result<TableFactor, SqlError> {
    if is_name(&name, "UNNEST") {
        let span = name.span();
        let array_exprs = args.into_iter().map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(expr),
            _ => Err(SqlError::syntax("UNNEST takes an array, a map or a multiset").at(span)),
        });
        let array_exprs = array_exprs.collect::<Result<Vec<_>, _>>()?;
        let (with_offset, with_offset_alias) = (false, None);
        return Ok(TableFactor::UNNEST {
            alias,
            array_exprs,
            with_offset,
            with_offset_alias,
            with_ordinality,
        });
    }
    lower_case(&mut name);
    if lateral {
        return Ok(TableFactor::Function { lateral, name, args, with_ordinality, alias });
    }
    let list = ast::FunctionArgumentList { duplicate_treatment: None, args, clauses: vec![] };
    let mut function = crate::cursor::function(Ident::new(""), vec![]);
    function.name = name;
    function.args = FunctionArguments::List(list);
    Ok(TableFactor::TableFunction { expr: Expr::Function(function), alias })
}

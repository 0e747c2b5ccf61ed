//! Forms of expressions that Flink has and `sqlparser` has not, or has in another shape: each becomes an ordinary call.
//!
//! See [`crate::normalize`] for the list of shapes.

use crate::cursor::{self, Step, accept, at, call, expect, fail, function, here, text};
use crate::token::bare_word;
use crate::{json, literal, types, words};
use flugs_sql_types::SqlType;
use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, Ident, ObjectName, ObjectNamePart, Query, SetExpr, TableAlias, TableFactor,
    UnaryOperator,
};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token};

/// The name of the custom data type that carries one of Flink's types: see [`crate::cast_type`].
pub(crate) const TYPE_NAME: &str = "flink";

/// The function that stands for `TABLE t [PARTITION BY ...] [ORDER BY ...]` as an argument.
pub(crate) const TABLE_ARGUMENT: &str = "table_argument";

/// The precedence at which a left operand of `IN` ends (that of `BETWEEN`, which the dialect keeps).
const ABOVE_IN: u8 = 20;

/// The units of time, singular.
#[rustfmt::skip]
pub(crate) const UNITS: &[&str] = &[
    "CENTURY", "DAY", "DECADE", "DOW", "DOY", "EPOCH", "HOUR", "ISODOW", "ISOYEAR", "MICROSECOND",
    "MILLENNIUM", "MILLISECOND", "MINUTE", "MONTH", "NANOSECOND", "QUARTER", "SECOND", "WEEK", "YEAR",
];

/// The expression that begins with `word` (in upper case), if it is one of ours.
pub(crate) fn prefix(p: &mut Parser, word: &str) -> Option<Step<Expr>> {
    let next = p.peek_nth_token_ref(1).token.clone();
    Some(match (word, &next) {
        ("CAST", Token::LParen) => cast(p, CastKind::Cast),
        ("TRY_CAST", Token::LParen) => cast(p, CastKind::TryCast),
        ("FLOOR", Token::LParen) => floor_or_ceil(p, "floor"),
        ("CEIL" | "CEILING", Token::LParen) => floor_or_ceil(p, "ceil"),
        ("EXTRACT", Token::LParen) => extract(p),
        ("TIMESTAMPADD", Token::LParen) => unit_first(p, "timestampadd"),
        ("TIMESTAMPDIFF", Token::LParen) => unit_first(p, "timestampdiff"),
        ("POSITION", Token::LParen) => position(p),
        ("OVERLAY", Token::LParen) => overlay(p),
        ("TRIM", Token::LParen) => trim(p),
        ("SUBSTRING", Token::LParen) => substring(p),
        ("MAP", Token::LBracket) => bracketed(p, "map"),
        ("ARRAY", Token::LBracket) => bracketed(p, "array"),
        ("INTERVAL", _) => literal::interval(p),
        ("DATE" | "TIME" | "TIMESTAMP", Token::SingleQuotedString(_)) => literal::datetime(p, word),
        ("JSON_VALUE" | "JSON_QUERY" | "JSON_EXISTS", Token::LParen)
        | ("JSON_OBJECT" | "JSON_ARRAY" | "JSON_OBJECTAGG" | "JSON_ARRAYAGG", Token::LParen) => {
            json::function(p, word)
        }
        ("TABLE", _) => table_argument(p),
        (_, Token::LParen | Token::LBracket) => return None,
        _ if words::is_reserved(word) && !words::begins_expression(word) => Err(reserved(p)),
        _ => return None,
    })
}

/// Words that go on behind an expression: where one of them begins one, that expression is missing.
#[rustfmt::skip]
const CONTINUES: &[&str] = &[
    "AND", "AS", "BETWEEN", "ELSE", "END", "EXCEPT", "FETCH", "FOR", "FROM", "HAVING", "IN", "INTERSECT",
    "IS", "JOIN", "LIKE", "LIMIT", "OFFSET", "ON", "OR", "THEN", "UNION", "USING", "WHEN", "WHERE",
    "WINDOW",
];

/// The error of a reserved word where an expression is due.
fn reserved(p: &Parser) -> ParserError {
    let token = p.peek_token_ref();
    let word = bare_word(&token.token).unwrap_or_default();
    let by = cursor::at_nth(p, 1, "BY");
    if by || CONTINUES.binary_search(&word.to_ascii_uppercase().as_str()).is_ok() {
        let comma = p.index() > 0 && p.get_current_token().token == Token::Comma;
        let help = if comma { format!("remove the comma before `{word}`") } else { String::new() };
        return fail(format!("an expression is missing before `{word}`"), token.span, help);
    }
    let help = format!("as a name it stands in back-quotes: `{word}`");
    fail(format!("`{word}` is a reserved word"), token.span, help)
}

/// The expression that goes on behind `left` with one of our operators.
pub(crate) fn infix(p: &mut Parser, left: &Expr) -> Option<Step<Expr>> {
    if at(p, "IS") {
        let negated = cursor::at_nth(p, 1, "NOT");
        let behind = if negated { 2 } else { 1 };
        if cursor::at_nth(p, behind, "JSON") {
            return Some(Ok(is_json(p, left.clone(), negated)));
        }
        return at_distinct(p).then(|| distinct(p, left.clone(), negated));
    }
    if at_units(p) {
        return Some(difference(p, left));
    }
    let negated = at(p, "NOT");
    let behind = usize::from(negated);
    if !cursor::at_nth(p, behind, "BETWEEN") {
        return None;
    }
    let symmetric = cursor::at_nth(p, behind + 1, "SYMMETRIC");
    (symmetric || cursor::at_nth(p, behind + 1, "ASYMMETRIC"))
        .then(|| between(p, left.clone(), negated, symmetric))
}

/// How `IS [NOT] DISTINCT FROM` binds: tighter than the other comparisons and looser than `+`. (In Calcite it is as tight as `+`, so that
/// `a IS DISTINCT FROM b + 1` has no meaning there.)
pub(crate) const DISTINCT_PRECEDENCE: u8 = 25;

/// At `IS [NOT] DISTINCT FROM`.
pub(crate) fn at_distinct(p: &Parser) -> bool {
    let behind = if cursor::at_nth(p, 1, "NOT") { 2 } else { 1 };
    at(p, "IS") && cursor::at_nth(p, behind, "DISTINCT") && cursor::at_nth(p, behind + 1, "FROM")
}

/// How the units behind a difference bind: tighter than all operators.
pub(crate) const UNITS_PRECEDENCE: u8 = 99;

/// At the units behind a difference, as in `(a - b) SECOND`.
pub(crate) fn at_units(p: &Parser) -> bool {
    // The units that are reserved words: others may be names of columns here.
    const UNITS: [&str; 6] = ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"];
    p.index() > 0 && p.get_current_token().token == Token::RParen && UNITS.iter().any(|unit| at(p, unit))
}

/// `(a - b) unit [TO unit]`.
fn difference(p: &mut Parser, left: &Expr) -> Step<Expr> {
    let span = here(p);
    let of_months = literal::units_of_difference(p)?;
    let units = span.union(&p.get_current_token().span);
    let Expr::Nested(inner) = left else { return Err(no_difference(span)) };
    let Expr::BinaryOp { left, op: BinaryOperator::Minus, right } = inner.as_ref() else {
        return Err(no_difference(span));
    };
    let unit = text(if of_months { "MONTH" } else { "SECOND" }, units);
    Ok(call("interval_between", units, vec![unit, right.as_ref().clone(), left.as_ref().clone()]))
}

fn no_difference(unit: Span) -> ParserError {
    let help = "write (later - earlier) DAY TO SECOND; as a name, a unit stands in back-quotes";
    fail("the unit of an interval stands behind the difference of two datetimes", unit, help)
}

/// `IS [NOT] DISTINCT FROM right`: `sqlparser` would take all that follows for the right side, `AND` and `OR` with it.
fn distinct(p: &mut Parser, left: Expr, negated: bool) -> Step<Expr> {
    for _ in 0..if negated { 4 } else { 3 } {
        p.advance_token();
    }
    let (left, right) = (Box::new(left), Box::new(p.parse_subexpr(DISTINCT_PRECEDENCE)?));
    Ok(match negated {
        true => Expr::IsNotDistinctFrom(left, right),
        false => Expr::IsDistinctFrom(left, right),
    })
}

/// `IS [NOT] JSON [VALUE | SCALAR | ARRAY | OBJECT]`.
fn is_json(p: &mut Parser, left: Expr, negated: bool) -> Expr {
    let span = here(p);
    for _ in 0..if negated { 3 } else { 2 } {
        p.advance_token();
    }
    let name = ["VALUE", "SCALAR", "ARRAY", "OBJECT"].into_iter().find(|kind| accept(p, &[kind]));
    let name = match name {
        Some("SCALAR") => "is_json_scalar",
        Some("ARRAY") => "is_json_array",
        Some("OBJECT") => "is_json_object",
        _ => "is_json_value",
    };
    let test = call(name, span, vec![left]);
    match negated {
        true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(test) },
        false => test,
    }
}

/// `[NOT] BETWEEN [A]SYMMETRIC low AND high`.
fn between(p: &mut Parser, expr: Expr, negated: bool, symmetric: bool) -> Step<Expr> {
    for _ in 0..if negated { 3 } else { 2 } {
        p.advance_token();
    }
    let plain = p.parse_between(expr, negated)?;
    let Expr::Between { expr, low, high, .. } = &plain else { return Ok(plain) };
    if !symmetric {
        return Ok(plain);
    }
    let turned = Expr::Between { expr: expr.clone(), negated, low: high.clone(), high: low.clone() };
    let op = match negated {
        true => sqlparser::ast::BinaryOperator::And,
        false => sqlparser::ast::BinaryOperator::Or,
    };
    Ok(Expr::Nested(Box::new(Expr::BinaryOp { left: Box::new(plain), op, right: Box::new(turned) })))
}

/// The word and the parenthesis of a call: the span of the word.
fn open(p: &mut Parser) -> Step<Span> {
    let span = p.next_token().span;
    p.expect_token(&Token::LParen)?;
    Ok(span)
}

fn close(p: &mut Parser) -> Step<()> {
    p.expect_token(&Token::RParen).map(|_| ())
}

/// A type of Flink as the data type of a cast, which [`crate::cast_type`] reads, with the unit of an interval that has one.
pub fn data_type(sql_type: &SqlType, unit: Option<&str>) -> DataType {
    let name = ObjectName(vec![ObjectNamePart::Identifier(Ident::new(TYPE_NAME))]);
    DataType::Custom(name, std::iter::once(sql_type.to_string()).chain(unit.map(str::to_owned)).collect())
}

fn cast(p: &mut Parser, kind: CastKind) -> Step<Expr> {
    open(p)?;
    let expr = p.parse_expr()?;
    expect(p, &["AS"])?;
    let ends = p.peek_nth_token_ref(2).token == Token::RParen;
    let unit = (at(p, "INTERVAL") && ends).then(|| bare_word(&p.peek_nth_token_ref(1).token)).flatten();
    let unit = unit.map(str::to_ascii_uppercase);
    let data_type = data_type(&types::parse(p)?, unit.as_deref());
    close(p)?;
    Ok(Expr::Cast { kind, expr: Box::new(expr), data_type, array: false, format: None })
}

/// `YEAR`, `MONTHS` ...: in upper case and singular.
pub(crate) fn unit(p: &mut Parser) -> Step<&'static str> {
    let token = p.next_token();
    let word = bare_word(&token.token).unwrap_or_default().to_ascii_uppercase();
    let word = word.strip_prefix("SQL_TSI_").unwrap_or(&word);
    let singular = word.strip_suffix('S').unwrap_or(word);
    let known = UNITS.iter().find(|unit| **unit == word || **unit == singular);
    match known {
        Some(unit) => Ok(unit),
        None => match words::nearest(word, UNITS.iter().copied()) {
            Some(near) => Err(fail(
                format!("`{word}` is no unit of time"),
                token.span,
                format!("did you mean `{near}`?"),
            )),
            None => p.expected("a unit of time like DAY or SECOND", token),
        },
    }
}

fn floor_or_ceil(p: &mut Parser, name: &str) -> Step<Expr> {
    let span = open(p)?;
    let mut args = vec![p.parse_expr()?];
    if accept(p, &["TO"]) {
        let at = here(p);
        args.push(text(unit(p)?, at));
    }
    close(p)?;
    Ok(call(name, span, args))
}

fn extract(p: &mut Parser) -> Step<Expr> {
    let span = open(p)?;
    let at = here(p);
    let unit = unit(p)?;
    expect(p, &["FROM"])?;
    let expr = p.parse_expr()?;
    close(p)?;
    Ok(call("extract", span, vec![text(unit, at), expr]))
}

fn unit_first(p: &mut Parser, name: &str) -> Step<Expr> {
    let span = open(p)?;
    let at = here(p);
    let unit = unit(p)?;
    p.expect_token(&Token::Comma)?;
    let second = p.parse_expr()?;
    p.expect_token(&Token::Comma)?;
    let third = p.parse_expr()?;
    close(p)?;
    Ok(call(name, span, vec![text(unit, at), second, third]))
}

fn position(p: &mut Parser) -> Step<Expr> {
    let span = open(p)?;
    let what = p.parse_subexpr(ABOVE_IN)?;
    expect(p, &["IN"])?;
    let whole = p.parse_expr()?;
    let mut args = vec![what, whole];
    if accept(p, &["FROM"]) {
        args.push(p.parse_expr()?);
    }
    close(p)?;
    Ok(call("position", span, args))
}

fn overlay(p: &mut Parser) -> Step<Expr> {
    let span = open(p)?;
    let mut args = vec![p.parse_expr()?];
    for word in ["PLACING", "FROM"] {
        expect(p, &[word])?;
        args.push(p.parse_expr()?);
    }
    if accept(p, &["FOR"]) {
        args.push(p.parse_expr()?);
    }
    close(p)?;
    Ok(call("overlay", span, args))
}

/// `TRIM([BOTH | LEADING | TRAILING] [x] FROM s)` is `btrim`, `ltrim` or `rtrim` of `(s, x)`; `TRIM(s)` is `btrim(s)`.
fn trim(p: &mut Parser) -> Step<Expr> {
    let span = open(p)?;
    let side = ["BOTH", "LEADING", "TRAILING"].into_iter().find(|side| accept(p, &[side]));
    let name = match side {
        Some("LEADING") => "ltrim",
        Some("TRAILING") => "rtrim",
        _ => "btrim",
    };
    let what = match side.is_some() && at(p, "FROM") {
        true => None,
        false => Some(p.parse_expr()?),
    };
    let args = match accept(p, &["FROM"]) {
        true => std::iter::once(p.parse_expr()?).chain(what).collect(),
        false => what.into_iter().collect(),
    };
    close(p)?;
    Ok(call(name, span, args))
}

fn substring(p: &mut Parser) -> Step<Expr> {
    let span = open(p)?;
    let mut args = vec![p.parse_expr()?];
    if accept(p, &["FROM"]) || p.consume_token(&Token::Comma) {
        args.push(p.parse_expr()?);
        if accept(p, &["FOR"]) || p.consume_token(&Token::Comma) {
            args.push(p.parse_expr()?);
        }
    }
    close(p)?;
    Ok(call("substring", span, args))
}

/// `ARRAY[...]` or `MAP[k, v, ...]`.
fn bracketed(p: &mut Parser, name: &str) -> Step<Expr> {
    let span = p.next_token().span;
    p.expect_token(&Token::LBracket)?;
    let args = match p.peek_token_ref().token {
        Token::RBracket => vec![],
        _ => p.parse_comma_separated(Parser::parse_expr)?,
    };
    let end = p.expect_token(&Token::RBracket)?.span;
    if name == "map" && args.len() % 2 == 1 {
        return Err(fail(
            "this map has a key without a value",
            span.union(&end),
            "write it as MAP[key, value, ...]",
        ));
    }
    Ok(call(name, span, args))
}

/// `TABLE t` or `TABLE (query)`, with `PARTITION BY` and `ORDER BY` behind it.
fn table_argument(p: &mut Parser) -> Step<Expr> {
    let span = p.next_token().span;
    let factor = match p.peek_token_ref().token {
        Token::LParen => {
            p.advance_token();
            let subquery = p.parse_query()?;
            close(p)?;
            TableFactor::Derived { lateral: false, subquery, alias: None, sample: None }
        }
        Token::Word(_) => named_table(p.parse_object_name(true)?),
        _ => return p.expected_ref("the name of a table", p.peek_token_ref()),
    };
    let mut args = vec![Expr::Subquery(Box::new(select_all(factor, span)))];
    if accept(p, &["PARTITION", "BY"]) {
        match p.consume_token(&Token::LParen) {
            true => {
                args.extend(p.parse_comma_separated(Parser::parse_expr)?);
                close(p)?;
            }
            false => args.push(p.parse_expr()?),
        }
    }
    let order_by = match accept(p, &["ORDER", "BY"]) {
        true if p.consume_token(&Token::LParen) => {
            let keys = p.parse_comma_separated(Parser::parse_order_by_expr)?;
            close(p)?;
            keys
        }
        true => vec![p.parse_order_by_expr()?],
        false => vec![],
    };
    let args = args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).collect();
    let mut call = function(Ident::with_span(span, TABLE_ARGUMENT), args);
    if let (FunctionArguments::List(list), false) = (&mut call.args, order_by.is_empty()) {
        list.clauses.push(FunctionArgumentClause::OrderBy(order_by));
    }
    Ok(Expr::Function(call))
}

/// A query in parentheses as a table argument.
pub(crate) fn of_query(subquery: Box<Query>, span: Span) -> Expr {
    let factor = TableFactor::Derived { lateral: false, subquery, alias: None, sample: None };
    call(TABLE_ARGUMENT, span, vec![Expr::Subquery(Box::new(select_all(factor, span)))])
}

fn named_table(name: ObjectName) -> TableFactor {
    TableFactor::Table {
        name,
        alias: None::<TableAlias>,
        args: None,
        with_hints: vec![],
        version: None,
        with_ordinality: false,
        partitions: vec![],
        json_path: None,
        sample: None,
        index_hints: vec![],
    }
}

/// `SELECT * FROM factor`.
fn select_all(factor: TableFactor, span: Span) -> Query {
    use sqlparser::ast::WildcardAdditionalOptions;
    use sqlparser::ast::helpers::attached_token::AttachedToken;
    use sqlparser::ast::{GroupByExpr, Select, SelectFlavor, SelectItem, TableWithJoins};
    use sqlparser::tokenizer::TokenWithSpan;
    let token = |token| AttachedToken(TokenWithSpan::new(token, span));
    let wildcard = WildcardAdditionalOptions { wildcard_token: token(Token::Mul), ..Default::default() };
    let select = Select {
        select_token: token(Token::make_keyword("SELECT")),
        optimizer_hints: vec![],
        distinct: None,
        select_modifiers: None,
        top: None,
        top_before_distinct: false,
        projection: vec![SelectItem::Wildcard(wildcard)],
        exclude: None,
        into: None,
        from: vec![TableWithJoins { relation: factor, joins: vec![] }],
        lateral_views: vec![],
        prewhere: None,
        selection: None,
        group_by: GroupByExpr::Expressions(vec![], vec![]),
        cluster_by: vec![],
        distribute_by: vec![],
        sort_by: vec![],
        having: None,
        named_window: vec![],
        window_before_qualify: false,
        qualify: None,
        value_table_mode: None,
        connect_by: vec![],
        flavor: SelectFlavor::Standard,
    };
    Query {
        with: None,
        body: Box::new(SetExpr::Select(Box::new(select))),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: vec![],
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: vec![],
    }
}

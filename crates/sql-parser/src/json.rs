//! The SQL/JSON functions and their clauses: see [`crate::normalize`] for the calls that they become.

use crate::cursor::{Step, accept, at, call, expect, fail, here, null, text};
use crate::types;
use sqlparser::ast::{Expr, WindowType};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Span, Token};

/// One of the SQL/JSON functions; the next token is its name.
pub(crate) fn function(p: &mut Parser, name: &str) -> Step<Expr> {
    let span = p.next_token().span;
    p.expect_token(&Token::LParen)?;
    match name {
        "JSON_VALUE" => value(p, span),
        "JSON_QUERY" => query(p, span),
        "JSON_EXISTS" => exists(p, span),
        "JSON_OBJECT" => object(p, span),
        "JSON_ARRAY" => array(p, span),
        "JSON_OBJECTAGG" => object_aggregate(p, span),
        _ => array_aggregate(p, span),
    }
}

fn close(p: &mut Parser) -> Step<()> {
    p.expect_token(&Token::RParen).map(|_| ())
}

/// `json, path`.
fn source(p: &mut Parser) -> Step<Vec<Expr>> {
    let json = p.parse_expr()?;
    p.expect_token(&Token::Comma)?;
    Ok(vec![json, p.parse_expr()?])
}

/// `RETURNING type`, as the text of the type.
fn returning(p: &mut Parser, args: &mut Vec<Expr>) -> Step<()> {
    let span = here(p);
    let sql_type = match accept(p, &["RETURNING"]) {
        true => types::parse(p)?.to_string(),
        false => "STRING".to_string(),
    };
    args.push(text(sql_type, span));
    Ok(())
}

/// What a function does on `EMPTY` or `ERROR`.
struct Behaviour {
    what: String,
    default: Option<Expr>,
    span: Span,
}

/// The `... ON EMPTY` and `... ON ERROR` clauses; `words` are the behaviours without a value.
fn behaviours(p: &mut Parser, words: &[&[&str]], defaults: bool) -> Step<[Option<Behaviour>; 2]> {
    let mut found = [None, None];
    loop {
        let span = here(p);
        let what = words.iter().find(|words| accept(p, words));
        let behaviour = match what {
            Some(words) => Behaviour { what: words.join(" "), default: None, span },
            None if defaults && accept(p, &["DEFAULT"]) => {
                Behaviour { what: "DEFAULT".to_string(), default: Some(p.parse_expr()?), span }
            }
            None => return Ok(found),
        };
        expect(p, &["ON"])?;
        let slot = match () {
            () if accept(p, &["EMPTY"]) => 0,
            () if accept(p, &["ERROR"]) => 1,
            () => return p.expected_ref("EMPTY or ERROR", p.peek_token_ref()),
        };
        if found[slot].is_some() || (slot == 0 && found[1].is_some()) {
            return Err(fail(
                "this clause is out of order",
                span,
                "ON EMPTY stands first, then ON ERROR, each at most once",
            ));
        }
        found[slot] = Some(behaviour);
    }
}

fn value(p: &mut Parser, span: Span) -> Step<Expr> {
    let mut args = source(p)?;
    returning(p, &mut args)?;
    for behaviour in behaviours(p, &[&["NULL"], &["ERROR"]], true)? {
        let at = behaviour.as_ref().map_or(span, |b| b.span);
        let (what, default) = behaviour.map_or(("NULL".to_string(), None), |b| (b.what, b.default));
        args.push(text(what, at));
        args.push(default.unwrap_or_else(|| null(at)));
    }
    close(p)?;
    Ok(call("json_value", span, args))
}

fn query(p: &mut Parser, span: Span) -> Step<Expr> {
    let mut args = source(p)?;
    returning(p, &mut args)?;
    let at = here(p);
    let wrapper = match () {
        () if accept(p, &["WITHOUT"]) => {
            let _ = accept(p, &["ARRAY"]);
            expect(p, &["WRAPPER"])?;
            "WITHOUT"
        }
        () if accept(p, &["WITH"]) => {
            let kind = if accept(p, &["CONDITIONAL"]) { "CONDITIONAL" } else { "UNCONDITIONAL" };
            let _ = kind == "UNCONDITIONAL" && accept(p, &["UNCONDITIONAL"]);
            let _ = accept(p, &["ARRAY"]);
            expect(p, &["WRAPPER"])?;
            kind
        }
        () => "WITHOUT",
    };
    args.push(text(wrapper, at));
    for behaviour in
        behaviours(p, &[&["NULL"], &["ERROR"], &["EMPTY", "ARRAY"], &["EMPTY", "OBJECT"]], false)?
    {
        let at = behaviour.as_ref().map_or(span, |b| b.span);
        args.push(text(behaviour.map_or("NULL".to_string(), |b| b.what), at));
    }
    close(p)?;
    Ok(call("json_query", span, args))
}

fn exists(p: &mut Parser, span: Span) -> Step<Expr> {
    let mut args = source(p)?;
    let at = here(p);
    let what = ["TRUE", "FALSE", "UNKNOWN", "ERROR"].into_iter().find(|what| accept(p, &[what]));
    if what.is_some() {
        expect(p, &["ON", "ERROR"])?;
    }
    args.push(text(what.unwrap_or("FALSE"), at));
    close(p)?;
    Ok(call("json_exists", span, args))
}

/// `NULL ON NULL` (`true`) or `ABSENT ON NULL`.
fn on_null(p: &mut Parser, default: bool) -> bool {
    match () {
        () if accept(p, &["NULL", "ON", "NULL"]) => true,
        () if accept(p, &["ABSENT", "ON", "NULL"]) => false,
        () => default,
    }
}

fn at_on_null(p: &Parser) -> bool {
    at(p, "ABSENT") || crate::cursor::at_words(p, &["NULL", "ON", "NULL"])
}

/// `[KEY] k VALUE v`, `KEY k : v` or `k : v`.
fn entry(p: &mut Parser, args: &mut Vec<Expr>) -> Step<()> {
    let _ = at(p, "KEY")
        && !matches!(p.peek_nth_token_ref(1).token, Token::Colon | Token::LParen)
        && accept(p, &["KEY"]);
    args.push(p.parse_expr()?);
    if !accept(p, &["VALUE"]) && !p.consume_token(&Token::Colon) {
        let found = here(p);
        return Err(fail("this key has no value", found, "write KEY 'name' VALUE value"));
    }
    args.push(p.parse_expr()?);
    Ok(())
}

fn object(p: &mut Parser, span: Span) -> Step<Expr> {
    let mut args = Vec::new();
    while !at_on_null(p) && p.peek_token_ref().token != Token::RParen {
        entry(p, &mut args)?;
        if !p.consume_token(&Token::Comma) {
            break;
        }
    }
    let nulls = on_null(p, true);
    close(p)?;
    Ok(call(if nulls { "json_object_null_on_null" } else { "json_object_absent_on_null" }, span, args))
}

fn array(p: &mut Parser, span: Span) -> Step<Expr> {
    let args = match at_on_null(p) || p.peek_token_ref().token == Token::RParen {
        true => vec![],
        false => p.parse_comma_separated(Parser::parse_expr)?,
    };
    let nulls = on_null(p, false);
    close(p)?;
    Ok(call(if nulls { "json_array_null_on_null" } else { "json_array_absent_on_null" }, span, args))
}

fn object_aggregate(p: &mut Parser, span: Span) -> Step<Expr> {
    let mut args = Vec::new();
    entry(p, &mut args)?;
    let nulls = on_null(p, true);
    close(p)?;
    aggregate(
        p,
        if nulls { "json_objectagg_null_on_null" } else { "json_objectagg_absent_on_null" },
        span,
        args,
    )
}

fn array_aggregate(p: &mut Parser, span: Span) -> Step<Expr> {
    let args = vec![p.parse_expr()?];
    let nulls = on_null(p, false);
    close(p)?;
    aggregate(
        p,
        if nulls { "json_arrayagg_null_on_null" } else { "json_arrayagg_absent_on_null" },
        span,
        args,
    )
}

/// What may stand behind an aggregate.
fn aggregate(p: &mut Parser, name: &str, span: Span, args: Vec<Expr>) -> Step<Expr> {
    let mut aggregate = call(name, span, args);
    let Expr::Function(function) = &mut aggregate else { return Ok(aggregate) };
    if accept(p, &["FILTER"]) {
        p.expect_token(&Token::LParen)?;
        expect(p, &["WHERE"])?;
        function.filter = Some(Box::new(p.parse_expr()?));
        close(p)?;
    }
    if accept(p, &["OVER"]) {
        function.over = Some(match p.consume_token(&Token::LParen) {
            true => WindowType::WindowSpec(p.parse_window_spec()?),
            false => WindowType::NamedWindow(p.parse_identifier()?),
        });
    }
    Ok(aggregate)
}

//! Statements that write: `INSERT`, statement sets, `UPDATE`, `DELETE`; and `ANALYZE`.

use super::{Scope, name, partition};
use crate::ast::{Analyze, Conflict, Delete, HintTarget, Insert, Name, Update};
use crate::cursor::{Step, accept, at, expect, fail, here, identifier, identifiers};
use crate::mistake;
use crate::token::is_word;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Span, Token};

pub(super) fn insert(s: &Scope<'_>, p: &mut Parser) -> Step<Insert> {
    let start = p.index();
    expect(p, &["INSERT"])?;
    let overwrite = accept(p, &["OVERWRITE"]);
    if !overwrite && !accept(p, &["INTO"]) {
        return Err(fail("INSERT misses its INTO", here(p), "write INSERT INTO, or INSERT OVERWRITE"));
    }
    let _ = accept(p, &["TABLE"]);
    let target = name(p, "the name of the table to write to")?;
    let hints = s.hints(start..p.index()).map_err(mistake::relay)?;
    let partition = partition(p)?;
    let columns = match column_list(p) {
        true => columns(p)?,
        false => vec![],
    };
    let source = s.query(p)?;
    let conflict = conflict(p)?;
    let (_, span) = s.text(start..p.index().min(s.tokens.len()));
    if let Some(hint) = hints.iter().find(|hint| matches!(hint.target, HintTarget::Select(_))) {
        return Err(fail(
            "a hint stands where it says nothing",
            hint.span,
            "put it behind the name of the table",
        ));
    }
    Ok(Insert { target, overwrite, partition, columns, source, hints, conflict, span })
}

/// Whether a parenthesis opens a list of columns and not a query.
fn column_list(p: &Parser) -> bool {
    let second = &p.peek_nth_token_ref(1).token;
    p.peek_token_ref().token == Token::LParen
        && *second != Token::LParen
        && !["SELECT", "WITH", "VALUES", "TABLE"].iter().any(|word| is_word(second, word))
}

fn columns(p: &mut Parser) -> Step<Vec<Name>> {
    p.expect_token(&Token::LParen)?;
    let columns = p.parse_comma_separated(|p| name(p, "the name of a column"))?;
    p.expect_token(&Token::RParen)?;
    Ok(columns)
}

fn conflict(p: &mut Parser) -> Step<Option<Conflict>> {
    if !accept(p, &["ON"]) {
        return Ok(None);
    }
    expect(p, &["CONFLICT", "DO"])?;
    match () {
        () if accept(p, &["NOTHING"]) => Ok(Some(Conflict::Nothing)),
        () if accept(p, &["ERROR"]) => Ok(Some(Conflict::Error)),
        () if accept(p, &["DEDUPLICATE"]) => Ok(Some(Conflict::Deduplicate)),
        () => p.expected_ref("NOTHING, ERROR or DEDUPLICATE", p.peek_token_ref()),
    }
}

/// `EXECUTE STATEMENT SET BEGIN ... END`, `BEGIN STATEMENT SET; ... END`, or `EXECUTE INSERT ...`.
pub(super) fn statement_set(s: &Scope<'_>, p: &mut Parser) -> Step<Vec<Insert>> {
    if accept(p, &["EXECUTE"]) {
        if at(p, "INSERT") {
            return insert(s, p).map(|insert| vec![insert]);
        }
        if at(p, "PLAN") {
            let error = crate::SqlError::unsupported("EXECUTE PLAN is not supported").at(here(p));
            return Err(mistake::relay(error.help("the same text always gives the same plan")));
        }
        expect(p, &["STATEMENT", "SET"])?;
        return set_body(s, p);
    }
    expect(p, &["BEGIN", "STATEMENT", "SET"])?;
    p.expect_token(&Token::SemiColon)?;
    inserts(s, p)
}

/// `BEGIN insert; ... END`.
pub(super) fn set_body(s: &Scope<'_>, p: &mut Parser) -> Step<Vec<Insert>> {
    expect(p, &["BEGIN"])?;
    inserts(s, p)
}

fn inserts(s: &Scope<'_>, p: &mut Parser) -> Step<Vec<Insert>> {
    let mut found = Vec::new();
    loop {
        while p.consume_token(&Token::SemiColon) {}
        let span = here(p);
        if accept(p, &["END"]) {
            return match found.is_empty() {
                true => Err(fail("this statement set is empty", span, "put INSERT statements into it")),
                false => Ok(found),
            };
        }
        if !at(p, "INSERT") {
            let expected = if p.peek_token_ref().token == Token::EOF { "END" } else { "INSERT or END" };
            return p.expected_ref(expected, p.peek_token_ref());
        }
        found.push(insert(s, p)?);
        if p.peek_token_ref().token != Token::SemiColon {
            return p.expected_ref("`;`", p.peek_token_ref());
        }
    }
}

pub(super) fn analyze(p: &mut Parser) -> Step<Analyze> {
    expect(p, &["ANALYZE", "TABLE"])?;
    let table = name(p, "the name of a table")?;
    let partition = partition(p)?;
    expect(p, &["COMPUTE", "STATISTICS"])?;
    let mut analyze = Analyze { table, partition, columns: vec![], all_columns: false };
    if accept(p, &["FOR"]) {
        analyze.all_columns = accept(p, &["ALL", "COLUMNS"]);
        if !analyze.all_columns {
            expect(p, &["COLUMNS"])?;
            analyze.columns = match p.peek_token_ref().token {
                Token::LParen => identifiers(p, "the name of a column")?,
                _ => p.parse_comma_separated(|p| identifier(p, "the name of a column"))?,
            };
        }
    }
    Ok(analyze)
}

pub(super) fn delete(s: &Scope<'_>, p: &mut Parser) -> Step<Delete> {
    expect(p, &["DELETE", "FROM"])?;
    let table = name(p, "the name of a table")?;
    let selection = match accept(p, &["WHERE"]) {
        true => Some(s.expression(p)?),
        false => None,
    };
    Ok(Delete { table, selection })
}

pub(super) fn update(s: &Scope<'_>, p: &mut Parser) -> Step<Update> {
    expect(p, &["UPDATE"])?;
    let table = name(p, "the name of a table")?;
    expect(p, &["SET"])?;
    let mut assignments = Vec::new();
    loop {
        let column = identifier(p, "the name of a column")?;
        p.expect_token(&Token::Eq)?;
        assignments.push((column, s.expression(p)?));
        if !p.consume_token(&Token::Comma) {
            break;
        }
    }
    let selection = match accept(p, &["WHERE"]) {
        true => Some(s.expression(p)?),
        false => None,
    };
    Ok(Update { table, assignments, selection })
}

/// The span from one place to the token that was read last.
pub(super) fn since(start: Span, p: &Parser) -> Span {
    start.union(&p.get_current_token().span)
}

//! What stands in the parentheses of `CREATE TABLE`, and `ALTER TABLE ADD` and `MODIFY` share with it.

use super::write::since;
use super::{Scope, comment, name};
use crate::ast::create::{
    Column, ColumnKind, Distribution, DistributionKind, PrimaryKey, TableSpec, Watermark,
};
use crate::cursor::{Step, accept, at, at_nth, expect, fail, here, identifier, identifiers, number, string};
use crate::types;
use sqlparser::ast::Ident;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token};

/// One entry of a table's parentheses.
pub(super) enum Entry {
    /// A column, and its `PRIMARY KEY`.
    Column(Column, Option<PrimaryKey>),
    /// `WATERMARK FOR`.
    Watermark(Watermark),
    /// `PRIMARY KEY (..)`.
    PrimaryKey(PrimaryKey),
}

/// What `CREATE TABLE` has in its parentheses.
pub(super) enum Parentheses {
    /// Columns with types, and the rest.
    Spec(TableSpec),
    /// Names only.
    Order(Vec<Ident>),
}

/// `(entry, ...)`.
pub(super) fn parentheses(s: &Scope<'_>, p: &mut Parser) -> Step<Parentheses> {
    let lonely = matches!(p.peek_nth_token_ref(2).token, Token::Comma | Token::RParen);
    if lonely && matches!(p.peek_nth_token_ref(1).token, Token::Word(_)) {
        return identifiers(p, "the name of a column").map(Parentheses::Order);
    }
    p.expect_token(&Token::LParen)?;
    let mut spec = TableSpec::default();
    if p.consume_token(&Token::RParen) {
        return Ok(Parentheses::Spec(spec));
    }
    loop {
        let span = here(p);
        match entry(s, p)? {
            Entry::Column(column, key) => {
                if spec.columns.iter().any(|other| other.name.value == column.name.value) {
                    let message = format!("the column `{}` is there twice", column.name.value);
                    return Err(fail(message, column.name.span, "rename one of them"));
                }
                spec.columns.push(column);
                if let Some(key) = key {
                    set_once(&mut spec.primary_key, key, span, "primary key")?;
                }
            }
            Entry::Watermark(watermark) => set_once(&mut spec.watermark, watermark, span, "watermark")?,
            Entry::PrimaryKey(key) => set_once(&mut spec.primary_key, key, span, "primary key")?,
        }
        if !more(p)? {
            break;
        }
    }
    Ok(Parentheses::Spec(spec))
}

/// Sets what a table has once.
pub(super) fn set_once<T>(slot: &mut Option<T>, value: T, span: Span, what: &str) -> Step<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(fail(format!("a table has one {what}"), span, "remove one of them")),
    }
}

/// Takes the comma between entries, or the parenthesis behind the last.
pub(super) fn more(p: &mut Parser) -> Step<bool> {
    match &p.peek_token_ref().token {
        Token::Comma => {
            p.advance_token();
            match p.peek_token_ref().token {
                Token::RParen => {
                    Err(fail("behind the comma a column is missing", here(p), "remove the comma before `)`"))
                }
                _ => Ok(true),
            }
        }
        Token::RParen => {
            p.advance_token();
            Ok(false)
        }
        Token::EOF => p.expected_ref("`)`", p.peek_token_ref()),
        Token::Word(_) => Err(unexpected_word(p)),
        _ => p.expected_ref("`,` or `)`", p.peek_token_ref()),
    }
}

/// A word where a comma or the end of the entries is due.
fn unexpected_word(p: &Parser) -> ParserError {
    let token = p.peek_token_ref();
    let word = token.token.to_string();
    let help = match word.to_ascii_uppercase().as_str() {
        "UNIQUE" => "the only constraint is PRIMARY KEY (..) NOT ENFORCED".to_string(),
        "DEFAULT" => "there are no default values: fill them in the INSERT by COALESCE".to_string(),
        "AUTO_INCREMENT" | "GENERATED" => "there are no generated keys".to_string(),
        "REFERENCES" | "CHECK" => "there are no such constraints".to_string(),
        "WITH" | "PARTITIONED" | "DISTRIBUTED" => format!("close the columns by `)` before `{word}`"),
        "AS" => "a computed column has no type: write c AS expression".to_string(),
        _ => match crate::words::nearest(&word, ["NOT", "NULL", "PRIMARY", "METADATA", "COMMENT", "VIRTUAL"])
        {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("is a comma missing before `{word}`?"),
        },
    };
    fail(format!("unexpected `{word}`, expected `,` or `)`"), token.span, help)
}

/// One entry.
pub(super) fn entry(s: &Scope<'_>, p: &mut Parser) -> Step<Entry> {
    if at(p, "WATERMARK") && (at_nth(p, 1, "FOR") || at_nth(p, 2, "AS")) {
        return watermark(s, p).map(Entry::Watermark);
    }
    if at(p, "CONSTRAINT") || at(p, "PRIMARY") {
        return primary_key(p).map(Entry::PrimaryKey);
    }
    for word in ["UNIQUE", "FOREIGN", "CHECK"] {
        if at(p, word) {
            return Err(fail(
                format!("{word} constraints are not supported"),
                here(p),
                "the only constraint is PRIMARY KEY (..) NOT ENFORCED",
            ));
        }
    }
    column(s, p).map(|(column, key)| Entry::Column(column, key))
}

/// `WATERMARK FOR c AS expression`.
pub(super) fn watermark(s: &Scope<'_>, p: &mut Parser) -> Step<Watermark> {
    let span = here(p);
    expect(p, &["WATERMARK"])?;
    if !accept(p, &["FOR"]) {
        return Err(fail(
            "WATERMARK misses its FOR",
            span,
            "write WATERMARK FOR ts AS ts - INTERVAL '5' SECOND",
        ));
    }
    let column = name(p, "the time column")?;
    if !accept(p, &["AS"]) {
        return Err(fail(
            "WATERMARK FOR misses its AS",
            here(p),
            "write WATERMARK FOR ts AS ts - INTERVAL '5' SECOND",
        ));
    }
    let expression = Box::new(s.expression(p)?);
    Ok(Watermark { column, expression, span })
}

/// `[CONSTRAINT n] PRIMARY KEY (..) NOT ENFORCED`.
pub(super) fn primary_key(p: &mut Parser) -> Step<PrimaryKey> {
    let name = match accept(p, &["CONSTRAINT"]) {
        true => Some(identifier(p, "the name of the constraint")?),
        false => None,
    };
    let start = here(p);
    expect(p, &["PRIMARY", "KEY"])?;
    let span = since(start, p);
    let columns = identifiers(p, "the name of a column")?;
    not_enforced(p, span)?;
    Ok(PrimaryKey { name, columns, span })
}

fn not_enforced(p: &mut Parser, span: Span) -> Step<()> {
    if accept(p, &["NOT", "ENFORCED"]) {
        return Ok(());
    }
    let message = match at(p, "ENFORCED") {
        true => "a primary key is never checked",
        false => "PRIMARY KEY misses its NOT ENFORCED",
    };
    Err(fail(message, span, "write NOT ENFORCED behind it: keys are not checked"))
}

/// A column, and the primary key that stands behind it.
pub(super) fn column(s: &Scope<'_>, p: &mut Parser) -> Step<(Column, Option<PrimaryKey>)> {
    let name = identifier(p, "the name of a column")?;
    if accept(p, &["AS"]) {
        let kind = ColumnKind::Computed(Box::new(s.expression(p)?));
        return Ok((Column { name, kind, comment: comment(p)? }, None));
    }
    if matches!(p.peek_token_ref().token, Token::Comma | Token::RParen | Token::EOF) {
        return Err(fail(
            format!("the column `{}` has no type", name.value),
            name.span,
            "write the type behind its name",
        ));
    }
    let mut sql_type = types::parse(p)?;
    if accept(p, &["METADATA"]) {
        let key = match accept(p, &["FROM"]) {
            true => Some(string(p, "the key of the metadata")?),
            false => None,
        };
        let is_virtual = accept(p, &["VIRTUAL"]);
        let kind = ColumnKind::Metadata { sql_type, key, is_virtual };
        return Ok((Column { name, kind, comment: comment(p)? }, None));
    }
    let constraint = match at(p, "CONSTRAINT") && accept(p, &["CONSTRAINT"]) {
        true => Some(identifier(p, "the name of the constraint")?),
        false => None,
    };
    let start = here(p);
    let key = match accept(p, &["PRIMARY", "KEY"]) {
        true => {
            let span = since(start, p);
            not_enforced(p, span)?;
            Some(PrimaryKey { name: constraint, columns: vec![name.clone()], span })
        }
        false if constraint.is_some() => return p.expected_ref("PRIMARY KEY", p.peek_token_ref()),
        false => None,
    };
    if accept(p, &["NOT", "NULL"]) {
        sql_type.nullable = false;
    }
    let comment = comment(p)?;
    Ok((Column { name, kind: ColumnKind::Physical(sql_type), comment }, key))
}

/// What stands behind `DISTRIBUTED` or `DISTRIBUTION`.
pub(super) fn distribution(p: &mut Parser) -> Step<Distribution> {
    let mut distribution = Distribution { kind: DistributionKind::Unknown, columns: vec![], buckets: None };
    if accept(p, &["BY"]) {
        distribution.kind = match () {
            () if accept(p, &["HASH"]) => DistributionKind::Hash,
            () if accept(p, &["RANGE"]) => DistributionKind::Range,
            () => DistributionKind::Unknown,
        };
        distribution.columns = identifiers(p, "the name of a column")?;
        if !accept(p, &["INTO"]) {
            return Ok(distribution);
        }
    } else if !accept(p, &["INTO"]) {
        return p.expected_ref("BY or INTO", p.peek_token_ref());
    }
    distribution.buckets = Some(number(p, "the number of buckets")?);
    expect(p, &["BUCKETS"])?;
    Ok(distribution)
}

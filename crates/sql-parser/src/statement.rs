//! Statements: which one it is, and what all of them have in common. Queries and expressions are `sqlparser`'s.

mod alter;
mod create;
mod show;
mod table;
mod write;

use crate::ast::{
    Describe, Drop, DropKind, Explain, ExplainDetail, Expression, Hint, Interval, Name, OptionEntry,
    PartitionEntry, Query, Statement, StopJob,
};
use crate::cursor::{Step, accept, at, at_words, expect, fail, here, identifier, string};
use crate::diagnostic::SqlError;
use crate::dialect::FlinkDialect;
use crate::limits::{self, MAX_NESTING};
use crate::script::Piece;
use crate::token::{HintComment, bare_word, is_word};
use crate::{hints, literal, mistake, normalize, words};
use sqlparser::ast::Expr;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};
use std::ops::Range;

/// Parses one statement.
pub(crate) fn parse(piece: &Piece<'_>) -> Result<Statement, SqlError> {
    if let Some(error) = mistake::foreign_token(&piece.tokens) {
        return Err(error);
    }
    limits::check(&piece.tokens)?;
    let mut scope = Scope {
        text: piece.whole,
        tokens: piece.tokens.clone(),
        bytes: piece.bytes.clone(),
        hints: piece.hints.clone(),
        within: vec![],
    };
    scope.cut_within()?;
    let dialect = FlinkDialect::for_tokens(scope.tokens.len());
    let mut p = parser(&dialect, scope.tokens.clone());
    let parsed = statement(&scope, &mut p).and_then(|statement| match p.peek_token_ref().token {
        Token::EOF => Ok(statement),
        _ => p.expected_ref("end of statement", p.peek_token_ref()),
    });
    parsed.map_err(|error| scope.innermost(error, p.index()))
}

fn parser(dialect: &FlinkDialect, tokens: Vec<TokenWithSpan>) -> Parser<'_> {
    Parser::new(dialect).with_recursion_limit(MAX_NESTING).with_tokens_with_locations(tokens)
}

/// What a statement is read from. Indices are those of the parser's tokens.
pub(crate) struct Scope<'t> {
    text: &'t str,
    tokens: Vec<TokenWithSpan>,
    bytes: Vec<Range<usize>>,
    hints: Vec<HintComment>,
    /// The `WITHIN` of each `MATCH_RECOGNIZE`, with the index of the token that it stood before.
    within: Vec<(usize, Span, Interval)>,
}

impl Scope<'_> {
    /// Takes `WITHIN INTERVAL ...` out of each `MATCH_RECOGNIZE`, whose grammar in `sqlparser` has it not.
    fn cut_within(&mut self) -> Result<(), SqlError> {
        let mut i = 0;
        while i < self.tokens.len() {
            let opens = is_word(&self.tokens[i].token, "PATTERN")
                && self.tokens.get(i + 1).is_some_and(|t| t.token == Token::LParen);
            let behind = match opens {
                true => closing(&self.tokens, i + 1).map_or(self.tokens.len(), |close| close + 1),
                false => self.tokens.len(),
            };
            if self.tokens.get(behind).is_some_and(|token| is_word(&token.token, "WITHIN")) {
                let end = (behind..self.tokens.len()).find(|i| is_word(&self.tokens[*i].token, "DEFINE"));
                let end = end.unwrap_or(self.tokens.len());
                let cut: Vec<_> = self.tokens.drain(behind..end).collect();
                self.bytes.drain(behind..end);
                for hint in self.hints.iter_mut().filter(|hint| hint.behind > behind) {
                    hint.behind = hint.behind.saturating_sub(cut.len()).max(behind);
                }
                self.within.push((behind, cut[0].span, within(&cut)?));
            }
            i += 1;
        }
        Ok(())
    }

    /// The error of the innermost query that does not parse by itself, for `sqlparser` tells of the outermost one only. A query
    /// whose parts are all right has the error at hand.
    fn innermost(&self, error: ParserError, reached: usize) -> SqlError {
        let outer = mistake::explain(error, &self.tokens, self.tokens.len(), reached);
        let opens = |i: &usize| {
            self.tokens[*i].token == Token::LParen
                && self
                    .tokens
                    .get(i + 1)
                    .is_some_and(|t| ["SELECT", "WITH", "VALUES"].iter().any(|w| is_word(&t.token, w)))
        };
        let mut parts: Vec<(usize, usize)> = (0..self.tokens.len())
            .filter(opens)
            .take(64)
            .map(|i| (i, closing(&self.tokens, i).unwrap_or(self.tokens.len())))
            .collect();
        parts.sort_by_key(|(open, close)| (*close, usize::MAX - *open));
        for (open, close) in parts {
            let dialect = FlinkDialect::for_tokens(close - open);
            let mut p = parser(&dialect, self.tokens[open + 1..close].to_vec());
            let parsed = p.parse_query().and_then(|mut query| match p.peek_token_ref().token {
                Token::EOF if close == self.tokens.len() => p.expected_ref("`)`", p.peek_token_ref()),
                Token::EOF => normalize::query(&mut query).map_err(mistake::relay),
                _ => p.expected_ref("`)`", p.peek_token_ref()),
            });
            if let Err(error) = parsed {
                return mistake::explain(error, &self.tokens, close, open + 1 + p.index());
            }
        }
        outer
    }

    /// The text of the tokens of a range.
    fn text(&self, range: Range<usize>) -> (String, Span) {
        let hints = self.hints.iter().filter(|hint| hint.behind > range.start && hint.behind == range.end);
        let (Some(first), Some(last)) =
            (self.tokens.get(range.start), self.tokens.get(range.end.wrapping_sub(1)))
        else {
            return (String::new(), Span::empty());
        };
        let end = hints.map(|hint| hint.end).fold(self.bytes[range.end - 1].end, usize::max);
        let text = self.text.get(self.bytes[range.start].start..end).unwrap_or_default();
        (text.to_string(), Span::new(first.span.start, last.span.end))
    }

    /// The hints behind the tokens of a range.
    fn hints(&self, range: Range<usize>) -> Result<Vec<Hint>, SqlError> {
        let mut found = Vec::new();
        for comment in self.hints.iter().filter(|hint| hint.behind > range.start && hint.behind <= range.end)
        {
            found.extend(hints::parse(
                comment,
                comment.behind.checked_sub(1).and_then(|i| self.tokens.get(i)),
            )?);
        }
        Ok(found)
    }

    /// A query.
    fn query(&self, p: &mut Parser) -> Step<Query> {
        let start = p.index();
        let mut ast = p.parse_query()?;
        let range = start..p.index().min(self.tokens.len());
        normalize::query(&mut ast).map_err(mistake::relay)?;
        let hints = self.hints(range.clone()).map_err(mistake::relay)?;
        hints::check(&hints, &ast).map_err(mistake::relay)?;
        let within = self.within.iter().filter(|(at, ..)| range.contains(at));
        let match_within = within.map(|(_, span, interval)| (*span, *interval)).collect();
        let (text, span) = self.text(range);
        Ok(Query { ast, hints: crate::Hints(hints), match_within, text, span })
    }

    /// An expression.
    fn expression(&self, p: &mut Parser) -> Step<Expression> {
        let start = p.index();
        let mut ast = p.parse_expr()?;
        normalize::expression(&mut ast).map_err(mistake::relay)?;
        let (text, span) = self.text(start..p.index().min(self.tokens.len()));
        Ok(Expression { ast, text, span })
    }
}

/// The index of the parenthesis that closes the one at `open`.
fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    (open..tokens.len()).find(|i| {
        match tokens[*i].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

/// The interval of `WITHIN INTERVAL ...`.
fn within(tokens: &[TokenWithSpan]) -> Result<Interval, SqlError> {
    let dialect = FlinkDialect::for_tokens(tokens.len());
    let mut p = parser(&dialect, tokens.to_vec());
    p.advance_token();
    let parsed = match at(&p, "INTERVAL") {
        true => literal::interval(&mut p),
        false => p.expected_ref("INTERVAL", p.peek_token_ref()),
    };
    let parsed =
        parsed.and_then(|expr| match (p.peek_token_ref().token.clone(), literal::interval_of(&expr)) {
            (Token::EOF, Some(interval)) => Ok(interval),
            _ => p.expected_ref("DEFINE", p.peek_token_ref()),
        });
    parsed.map_err(|error| mistake::explain(error, tokens, tokens.len(), p.index()))
}

/// The words that statements begin with.
#[rustfmt::skip]
const VERBS: &[&str] = &[
    "ALTER", "ANALYZE", "BEGIN", "CLEAR", "CREATE", "DELETE", "DESC", "DESCRIBE", "DROP", "EXECUTE", "EXIT",
    "EXPLAIN", "HELP", "INSERT", "QUIT", "REPLACE", "RESET", "SELECT", "SET", "SHOW", "STOP", "TRUNCATE",
    "UPDATE", "USE", "VALUES", "WITH",
];

fn statement(s: &Scope<'_>, p: &mut Parser) -> Step<Statement> {
    let token = p.peek_token_ref().clone();
    let verb = bare_word(&token.token).unwrap_or_default().to_ascii_uppercase();
    match verb.as_str() {
        "SELECT" | "WITH" | "VALUES" | "TABLE" => s.query(p).map(Statement::Query),
        "" if token.token == Token::LParen => s.query(p).map(Statement::Query),
        "INSERT" => write::insert(s, p).map(Statement::Insert),
        "EXECUTE" | "BEGIN" => write::statement_set(s, p).map(Statement::StatementSet),
        "CREATE" | "REPLACE" => create::create(s, p),
        "ALTER" => alter::alter(s, p),
        "DROP" => drop(p).map(Statement::Drop),
        "EXPLAIN" => explain(s, p).map(Statement::Explain),
        "DESCRIBE" | "DESC" => describe(p).map(Statement::Describe),
        "SHOW" => show::show(p).map(Statement::Show),
        "USE" => use_statement(p),
        "SET" => set(s, p),
        "RESET" => {
            p.advance_token();
            match p.peek_token_ref().token {
                Token::EOF => Ok(Statement::Reset(None)),
                _ => option_key(p).map(|key| Statement::Reset(Some(key))),
            }
        }
        "STOP" => stop_job(p).map(Statement::StopJob),
        "ANALYZE" => write::analyze(p).map(Statement::Analyze),
        "TRUNCATE" => {
            expect(p, &["TRUNCATE", "TABLE"])?;
            name(p, "the name of a table").map(Statement::Truncate)
        }
        "DELETE" => write::delete(s, p).map(Statement::Delete),
        "UPDATE" => write::update(s, p).map(Statement::Update),
        "HELP" | "QUIT" | "EXIT" | "CLEAR" => {
            p.advance_token();
            Ok(match verb.as_str() {
                "HELP" => Statement::Help,
                "CLEAR" => Statement::Clear,
                _ => Statement::Quit,
            })
        }
        _ => Err(unknown_verb(&verb, &token)),
    }
}

/// What Flink has and this engine has not, and what would do instead.
const ABSENT: &[(&str, &str, &str)] = &[
    ("LOAD", "LOAD MODULE is not supported", "all functions are built in: there is nothing to load"),
    ("UNLOAD", "UNLOAD MODULE is not supported", "all functions are built in: there is nothing to unload"),
    ("ADD", "ADD JAR is not supported", "functions are registered by the program that embeds the engine"),
    (
        "REMOVE",
        "REMOVE JAR is not supported",
        "functions are registered by the program that embeds the engine",
    ),
    ("CALL", "CALL is not supported", "there are no procedures"),
    ("COMPILE", "COMPILE PLAN is not supported", "the same text always gives the same plan"),
    ("MERGE", "MERGE is not supported", "write INSERT INTO a table with a primary key"),
    ("GRANT", "GRANT is not supported", ""),
];

fn unknown_verb(verb: &str, token: &TokenWithSpan) -> ParserError {
    if let Some((_, message, help)) = ABSENT.iter().find(|(word, ..)| *word == verb) {
        let error = SqlError::unsupported(*message).at(token.span);
        return mistake::relay(if help.is_empty() { error } else { error.help(*help) });
    }
    let help = match words::nearest(verb, VERBS.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "a statement begins with SELECT, INSERT, CREATE, SHOW ...; HELP lists them all".to_string(),
    };
    fail(format!("no statement begins with `{}`", token.token), token.span, help)
}

/// A name of one or more parts.
pub(crate) fn name(p: &mut Parser, what: &str) -> Step<Name> {
    let mut parts = vec![identifier(p, what)?];
    while p.consume_token(&Token::Period) {
        parts.push(identifier(p, what)?);
    }
    match parts.len() {
        1..=3 => Ok(Name(parts)),
        _ => Err(fail(
            "this name has more than three parts",
            Span::union_iter(parts.iter().map(|part| part.span)),
            "a name is catalog.database.object",
        )),
    }
}

/// `IF NOT EXISTS`.
fn if_not_exists(p: &mut Parser) -> Step<bool> {
    let found = accept(p, &["IF"]);
    if found {
        expect(p, &["NOT", "EXISTS"])?;
    }
    Ok(found)
}

/// `IF EXISTS`.
fn if_exists(p: &mut Parser) -> Step<bool> {
    let found = accept(p, &["IF"]);
    if found {
        expect(p, &["EXISTS"])?;
    }
    Ok(found)
}

/// `COMMENT 'text'`.
fn comment(p: &mut Parser) -> Step<Option<String>> {
    match accept(p, &["COMMENT"]) {
        true => string(p, "the comment").map(Some),
        false => Ok(None),
    }
}

/// `WITH ('k' = 'v', ...)`; nothing where there is no `WITH`.
fn with_options(p: &mut Parser) -> Step<Vec<OptionEntry>> {
    match accept(p, &["WITH"]) {
        true => options(p),
        false => Ok(vec![]),
    }
}

/// `('k' = 'v', ...)`.
fn options(p: &mut Parser) -> Step<Vec<OptionEntry>> {
    p.expect_token(&Token::LParen)?;
    let mut entries: Vec<OptionEntry> = Vec::new();
    if p.consume_token(&Token::RParen) {
        return Ok(entries);
    }
    loop {
        let entry = option(p)?;
        if entries.iter().any(|other| other.key == entry.key) {
            return Err(fail(
                format!("the option '{}' is there twice", entry.key),
                entry.key_span,
                "remove one of them",
            ));
        }
        entries.push(entry);
        match &p.peek_token_ref().token {
            Token::Comma => p.advance_token(),
            Token::RParen => break,
            Token::SingleQuotedString(_) => {
                return Err(fail(
                    "a comma is missing before this option",
                    here(p),
                    "write 'key' = 'value', 'key' = 'value'",
                ));
            }
            _ => return p.expected_ref("`,` or `)`", p.peek_token_ref()),
        }
    }
    p.expect_token(&Token::RParen)?;
    Ok(entries)
}

fn option(p: &mut Parser) -> Step<OptionEntry> {
    let key_span = here(p);
    if let Some(word) = bare_word(&p.peek_token_ref().token) {
        return Err(fail("the key of an option is a string", key_span, format!("write it as '{word}'")));
    }
    let key = string(p, "the key of an option")?;
    p.expect_token(&Token::Eq)?;
    let value_span = here(p);
    if let token @ (Token::Number(..) | Token::Word(_)) = &p.peek_token_ref().token {
        return Err(fail("the value of an option is a string", value_span, format!("write it as '{token}'")));
    }
    let value = string(p, "the value of the option")?;
    Ok(OptionEntry { key, value, key_span, value_span })
}

/// `('k', ...)`.
fn option_keys(p: &mut Parser) -> Step<Vec<String>> {
    p.expect_token(&Token::LParen)?;
    let keys = p.parse_comma_separated(|p| string(p, "the key of an option"))?;
    p.expect_token(&Token::RParen)?;
    Ok(keys)
}

/// `PARTITION (k = v, ...)`; nothing where there is no `PARTITION`.
fn partition(p: &mut Parser) -> Step<Vec<PartitionEntry>> {
    if !accept(p, &["PARTITION"]) {
        return Ok(vec![]);
    }
    p.expect_token(&Token::LParen)?;
    let entries = p.parse_comma_separated(|p| {
        let column = identifier(p, "a partition column")?;
        let value = match p.consume_token(&Token::Eq) {
            true => Some(partition_value(p)?),
            false => None,
        };
        Ok(PartitionEntry { column, value })
    })?;
    p.expect_token(&Token::RParen)?;
    Ok(entries)
}

fn partition_value(p: &mut Parser) -> Step<Expr> {
    let span = here(p);
    let mut value = p.parse_expr()?;
    normalize::expression(&mut value).map_err(mistake::relay)?;
    match value {
        Expr::Value(_) | Expr::Cast { .. } | Expr::UnaryOp { .. } => Ok(value),
        _ => {
            Err(fail("the value of a partition column is a literal", span, "write it as PARTITION (k = 'v')"))
        }
    }
}

fn drop(p: &mut Parser) -> Step<Drop> {
    p.advance_token();
    let temporary = accept(p, &["TEMPORARY"]);
    let system = temporary && accept(p, &["SYSTEM"]);
    let kinds = [
        ("CATALOG", DropKind::Catalog),
        ("DATABASE", DropKind::Database),
        ("TABLE", DropKind::Table),
        ("VIEW", DropKind::View),
        ("FUNCTION", DropKind::Function),
    ];
    let Some((_, kind)) = kinds.into_iter().find(|(word, _)| accept(p, &[word])) else {
        return p.expected_ref("TABLE, VIEW, FUNCTION, DATABASE or CATALOG", p.peek_token_ref());
    };
    let if_exists = if_exists(p)?;
    let name = name(p, "the name of what is dropped")?;
    let cascade = accept(p, &["CASCADE"]);
    let _ = !cascade && accept(p, &["RESTRICT"]);
    Ok(Drop { kind, name, temporary, system, if_exists, cascade })
}

fn explain(s: &Scope<'_>, p: &mut Parser) -> Step<Explain> {
    p.advance_token();
    let mut details = Vec::new();
    if !accept(p, &["PLAN", "FOR"]) {
        while let Some(detail) = explain_detail(p) {
            details.push(detail);
            if !p.consume_token(&Token::Comma) {
                break;
            }
        }
        let _ = accept(p, &["PLAN", "FOR"]);
    }
    let span = here(p);
    let nested = at(p, "EXPLAIN");
    let explained = match () {
        () if accept(p, &["STATEMENT", "SET"]) => Statement::StatementSet(write::set_body(s, p)?),
        () if nested => return Err(fail("EXPLAIN explains no EXPLAIN", span, "remove one of them")),
        () => statement(s, p)?,
    };
    match explained {
        Statement::Query(_) | Statement::Insert(_) | Statement::StatementSet(_) => {}
        Statement::CreateTable(ref table) if table.query.is_some() => {}
        _ => {
            let help = "EXPLAIN stands before SELECT, INSERT, STATEMENT SET or CREATE TABLE ... AS";
            return Err(fail("this statement has no plan", span, help));
        }
    }
    Ok(Explain { details, statement: Box::new(explained) })
}

fn explain_detail(p: &mut Parser) -> Option<ExplainDetail> {
    let details = [
        ("ESTIMATED_COST", ExplainDetail::EstimatedCost),
        ("CHANGELOG_MODE", ExplainDetail::ChangelogMode),
        ("JSON_EXECUTION_PLAN", ExplainDetail::JsonExecutionPlan),
        ("PLAN_ADVICE", ExplainDetail::PlanAdvice),
    ];
    details.into_iter().find(|(word, _)| accept(p, &[word])).map(|(_, detail)| detail)
}

fn describe(p: &mut Parser) -> Step<Describe> {
    p.advance_token();
    let kind = ["CATALOG", "DATABASE", "FUNCTION", "JOB"]
        .into_iter()
        .find(|kind| at(p, kind) && !matches!(p.peek_nth_token_ref(1).token, Token::EOF | Token::Period));
    if let Some(kind) = kind {
        p.advance_token();
        if kind == "JOB" {
            return string(p, "the id of the job").map(Describe::Job);
        }
        let extended = accept(p, &["EXTENDED"]);
        return Ok(match kind {
            "CATALOG" => Describe::Catalog { name: identifier(p, "the name of a catalog")?, extended },
            "DATABASE" => Describe::Database { name: name(p, "the name of a database")?, extended },
            _ => Describe::Function { name: name(p, "the name of a function")?, extended },
        });
    }
    let _ = accept(p, &["TABLE"]);
    let _ = !matches!(p.peek_nth_token_ref(1).token, Token::EOF | Token::Period) && accept(p, &["EXTENDED"]);
    name(p, "the name of a table").map(Describe::Table)
}

fn use_statement(p: &mut Parser) -> Step<Statement> {
    p.advance_token();
    if at_words(p, &["MODULES"]) {
        let error = SqlError::unsupported("USE MODULES is not supported").at(here(p));
        return Err(mistake::relay(error.help("all functions are built in")));
    }
    match accept(p, &["CATALOG"]) {
        true => identifier(p, "the name of a catalog").map(Statement::UseCatalog),
        false => name(p, "the name of a database").map(Statement::UseDatabase),
    }
}

/// `'key'`, or a key as bare words: `table.exec.state.ttl`.
fn option_key(p: &mut Parser) -> Step<String> {
    if let Token::SingleQuotedString(key) = p.peek_token_ref().token.clone() {
        p.advance_token();
        return Ok(key);
    }
    let mut key = String::new();
    loop {
        match p.peek_token_ref().token.clone() {
            Token::EOF | Token::Eq => break,
            token @ (Token::Word(_) | Token::Period | Token::Minus | Token::Number(..)) => {
                key.push_str(&token.to_string())
            }
            _ => return p.expected_ref("the key of an option", p.peek_token_ref()),
        }
        p.advance_token();
    }
    match key.is_empty() {
        true => p.expected_ref("the key of an option", p.peek_token_ref()),
        false => Ok(key),
    }
}

/// `SET 'k' = 'v'`, `SET k = v` or `SET`.
fn set(s: &Scope<'_>, p: &mut Parser) -> Step<Statement> {
    p.advance_token();
    if p.peek_token_ref().token == Token::EOF {
        return Ok(Statement::ShowOptions);
    }
    let key = option_key(p)?;
    p.expect_token(&Token::Eq)?;
    if let Token::SingleQuotedString(value) = p.peek_token_ref().token.clone() {
        p.advance_token();
        return Ok(Statement::Set { key, value });
    }
    let start = p.index();
    if p.peek_token_ref().token == Token::EOF {
        return p.expected_ref("the value of the option", p.peek_token_ref());
    }
    while p.peek_token_ref().token != Token::EOF {
        p.advance_token();
    }
    Ok(Statement::Set { key, value: s.text(start..s.tokens.len()).0 })
}

fn stop_job(p: &mut Parser) -> Step<StopJob> {
    expect(p, &["STOP", "JOB"])?;
    let mut stop = StopJob { id: string(p, "the id of the job")?, savepoint: false, drain: false };
    while accept(p, &["WITH"]) {
        match () {
            () if accept(p, &["SAVEPOINT"]) => stop.savepoint = true,
            () if accept(p, &["DRAIN"]) => stop.drain = true,
            () => return p.expected_ref("SAVEPOINT or DRAIN", p.peek_token_ref()),
        }
    }
    Ok(stop)
}

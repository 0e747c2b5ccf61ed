//! Hints: `/*+ NAME(args), NAME */` behind `SELECT` or behind a table's name.

use crate::ast::{Hint, HintTarget, OptionEntry};
use crate::cursor::{Step, fail, here};
use crate::diagnostic::SqlError;
use crate::dialect::FlinkDialect;
use crate::mistake;
use crate::token::{HintComment, is_word, tokenize};
use sqlparser::ast::{self, ObjectName, Visit, Visitor};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// The hints of a comment that stands behind `before`.
pub(crate) fn parse(comment: &HintComment, before: Option<&TokenWithSpan>) -> Result<Vec<Hint>, SqlError> {
    let target = match before {
        Some(token) if is_word(&token.token, "SELECT") => HintTarget::Select(token.span),
        Some(TokenWithSpan { token: Token::Word(_), span }) => HintTarget::Table(*span),
        _ => return Err(misplaced(comment.span)),
    };
    let mut tokens = tokenize(&comment.text);
    for token in &mut tokens.tokens {
        token.span = Span::new(shift(token.span.start, comment.start), shift(token.span.end, comment.start));
    }
    if let Some(error) = tokens.error {
        return Err(SqlError { span: None, ..error }.at(comment.span));
    }
    let dialect = FlinkDialect::for_tokens(tokens.tokens.len());
    let mut p = Parser::new(&dialect).with_tokens_with_locations(tokens.tokens.clone());
    let mut hints = Vec::new();
    while p.peek_token_ref().token != Token::EOF {
        match hint(&mut p, target) {
            Ok(hint) => hints.push(hint),
            Err(error) => {
                return Err(
                    mistake::explain(error, &tokens.tokens, tokens.tokens.len(), p.index()).at(comment.span)
                );
            }
        }
        let _ = p.consume_token(&Token::Comma);
    }
    Ok(hints)
}

/// A location counted from the start of a comment's text as one of the whole text.
fn shift(at: Location, start: Location) -> Location {
    match at.line {
        0 => at,
        1 => Location::new(start.line, start.column + at.column - 1),
        line => Location::new(start.line + line - 1, at.column),
    }
}

fn hint(p: &mut Parser, target: HintTarget) -> Step<Hint> {
    let token = p.next_token();
    let Token::Word(word) = &token.token else { return p.expected("the name of a hint", token) };
    let name = word.value.to_uppercase();
    let mut hint = Hint { name, options: vec![], arguments: vec![], span: token.span, target };
    if !p.consume_token(&Token::LParen) {
        return Ok(hint);
    }
    while p.peek_token_ref().token != Token::RParen {
        argument(p, &mut hint)?;
        if !p.consume_token(&Token::Comma) {
            break;
        }
    }
    p.expect_token(&Token::RParen)?;
    Ok(hint)
}

fn argument(p: &mut Parser, hint: &mut Hint) -> Step<()> {
    let key_span = here(p);
    let key = word_or_string(p)?;
    if !p.consume_token(&Token::Eq) {
        hint.arguments.push(key);
        return Ok(());
    }
    let value_span = here(p);
    let value = match p.peek_token_ref().token.clone() {
        Token::Number(digits, _) => {
            let (shown, span) = (digits.clone(), value_span);
            return Err(fail("the value of a hint is a string", span, format!("write it as '{shown}'")));
        }
        _ => word_or_string(p)?,
    };
    hint.options.push(OptionEntry { key, value, key_span, value_span });
    Ok(())
}

/// `'text'`, or a name of one or more parts.
fn word_or_string(p: &mut Parser) -> Step<String> {
    let token = p.next_token();
    match token.token {
        Token::SingleQuotedString(text) => Ok(text),
        Token::Number(digits, _) => Ok(digits),
        Token::Word(word) => {
            let mut name = word.value;
            while p.consume_token(&Token::Period) {
                let part = p.next_token();
                match part.token {
                    Token::Word(word) => {
                        name.push('.');
                        name.push_str(&word.value);
                    }
                    _ => return p.expected("a name", part),
                }
            }
            Ok(name)
        }
        _ => p.expected("a name or a string", token),
    }
}

fn misplaced(span: Span) -> SqlError {
    SqlError::syntax("a hint stands where it says nothing")
        .at(span)
        .help("a hint stands directly behind SELECT, or behind the name of a table and before its alias")
}

/// Refuses hints that are about no `SELECT` and no table of the query.
pub(crate) fn check(hints: &[Hint], query: &ast::Query) -> Result<(), SqlError> {
    struct Tables(HashSet<Span>);
    impl Visitor for Tables {
        type Break = ();
        fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
            self.0.extend(name.0.last().and_then(|part| part.as_ident()).map(|ident| ident.span));
            ControlFlow::Continue(())
        }
    }
    if hints.iter().all(|hint| matches!(hint.target, HintTarget::Select(_))) {
        return Ok(());
    }
    let mut tables = Tables(HashSet::new());
    let _ = query.visit(&mut tables);
    let lost =
        hints.iter().find(|hint| matches!(hint.target, HintTarget::Table(span) if !tables.0.contains(&span)));
    match lost {
        Some(hint) => Err(misplaced(hint.span)),
        None => Ok(()),
    }
}

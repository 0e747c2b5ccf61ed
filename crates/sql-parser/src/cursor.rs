//! Small steps on `sqlparser`'s parser: words by their text, since many of Flink's are no keywords there, and errors with a span.

use crate::diagnostic::SqlError;
use crate::token::{bare_word, is_word};
use crate::{mistake, words};
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName,
    ObjectNamePart, Value, ValueWithSpan,
};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token};

/// The result of a step inside of `sqlparser`.
pub(crate) type Step<T> = Result<T, ParserError>;

/// An error of ours that goes through `sqlparser`.
pub(crate) fn fail(message: impl Into<String>, span: Span, help: impl Into<String>) -> ParserError {
    let help = help.into();
    let error = SqlError::syntax(message).at(span);
    mistake::relay(if help.is_empty() { error } else { error.help(help) })
}

/// Whether the next token is this word.
pub(crate) fn at(p: &Parser, word: &str) -> bool {
    is_word(&p.peek_token_ref().token, word)
}

/// Whether the token `n` behind the next one is this word.
pub(crate) fn at_nth(p: &Parser, n: usize, word: &str) -> bool {
    is_word(&p.peek_nth_token_ref(n).token, word)
}

/// Whether these words are next.
pub(crate) fn at_words(p: &Parser, words: &[&str]) -> bool {
    words.iter().enumerate().all(|(n, word)| at_nth(p, n, word))
}

/// Takes these words if all of them are next.
pub(crate) fn accept(p: &mut Parser, words: &[&str]) -> bool {
    let found = at_words(p, words);
    if found {
        for _ in words {
            p.advance_token();
        }
    }
    found
}

/// Takes these words or fails at the first that is another.
pub(crate) fn expect(p: &mut Parser, words: &[&str]) -> Step<()> {
    for word in words {
        if !accept(p, &[word]) {
            return p.expected_ref(word, p.peek_token_ref());
        }
    }
    Ok(())
}

/// The span of the next token.
pub(crate) fn here(p: &Parser) -> Span {
    p.peek_token_ref().span
}

/// A string in single quotes.
pub(crate) fn string(p: &mut Parser, what: &str) -> Step<String> {
    let token = p.next_token();
    match token.token {
        Token::SingleQuotedString(s) => Ok(s),
        _ => p.expected(&format!("{what} in single quotes"), token),
    }
}

/// A whole number.
pub(crate) fn number(p: &mut Parser, what: &str) -> Step<u32> {
    let token = p.next_token();
    let value = match &token.token {
        Token::Number(digits, false) => digits.parse().ok(),
        _ => None,
    };
    match value {
        Some(value) => Ok(value),
        None => p.expected(what, token),
    }
}

/// An identifier, which a reserved word is only in back-quotes.
pub(crate) fn identifier(p: &mut Parser, what: &str) -> Step<Ident> {
    let token = p.next_token();
    match &token.token {
        Token::Word(word) => match bare_word(&token.token).is_some_and(words::is_reserved) {
            true => Err(fail(
                format!("`{}` is a reserved word", word.value),
                token.span,
                format!("as a name it stands in back-quotes: `{}`", word.value),
            )),
            false => Ok(word.to_ident(token.span)),
        },
        _ => p.expected(what, token),
    }
}

/// Identifiers in parentheses.
pub(crate) fn identifiers(p: &mut Parser, what: &str) -> Step<Vec<Ident>> {
    p.expect_token(&Token::LParen)?;
    let list = p.parse_comma_separated(|p| identifier(p, what))?;
    p.expect_token(&Token::RParen)?;
    Ok(list)
}

/// A call of a function with these arguments.
pub(crate) fn call(name: &str, span: Span, args: Vec<Expr>) -> Expr {
    let args = args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).collect();
    Expr::Function(function(Ident::with_span(span, name), args))
}

/// A function without any clause.
pub(crate) fn function(name: Ident, args: Vec<FunctionArg>) -> Function {
    Function {
        name: ObjectName(vec![ObjectNamePart::Identifier(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args,
            clauses: vec![],
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    }
}

/// A string literal.
pub(crate) fn text(value: impl Into<String>, span: Span) -> Expr {
    Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(value.into()), span })
}

/// The literal `NULL`.
pub(crate) fn null(span: Span) -> Expr {
    Expr::Value(ValueWithSpan { value: Value::Null, span })
}

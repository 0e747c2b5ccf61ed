//! A text of many statements.

use crate::ast::Statement;
use crate::diagnostic::SqlError;
use crate::statement;
use crate::token::{HintComment, Tokens, is_word, tokenize};
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};
use std::ops::Range;

/// The stack for a statement of the deepest nesting: `sqlparser` takes up to 180 kB for a level when it is not optimized. Only
/// what is used of it becomes memory.
const STACK_BYTES: usize = 48 << 20;

/// A statement with its place in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The statement.
    pub statement: Statement,
    /// From its first token to its last, without the semicolon.
    pub span: Span,
    /// Its text.
    pub text: String,
}

/// The text of one statement, not parsed yet. Spans in what it parses to are those of the whole text.
#[derive(Debug, Clone)]
pub struct Piece<'t> {
    /// The text without the semicolon, or what could be read of it.
    pub text: &'t str,
    /// Where it stands.
    pub span: Span,
    pub(crate) whole: &'t str,
    pub(crate) tokens: Vec<TokenWithSpan>,
    pub(crate) bytes: Vec<Range<usize>>,
    pub(crate) hints: Vec<HintComment>,
    error: Option<SqlError>,
}

impl Piece<'_> {
    /// Parses the statement.
    pub fn parse(&self) -> Result<Parsed, SqlError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let statement = stacker::maybe_grow(STACK_BYTES, STACK_BYTES, || statement::parse(self))?;
        Ok(Parsed { statement, span: self.span, text: self.text.to_string() })
    }
}

/// Parses all statements of a text; the first mistake ends it. Empty statements are left out.
pub fn parse_script(text: &str) -> Result<Vec<Parsed>, SqlError> {
    split(text).iter().map(Piece::parse).collect()
}

/// Parses a text of one statement.
pub fn parse_statement(text: &str) -> Result<Parsed, SqlError> {
    let pieces = split(text);
    match pieces.as_slice() {
        [piece] => piece.parse(),
        [] => Err(SqlError::syntax("there is no statement")),
        [first, second, ..] => {
            first.parse()?;
            Err(SqlError::syntax("there is more than one statement")
                .at(second.span)
                .help("run them one by one"))
        }
    }
}

/// Cuts a text at the semicolons between statements: not at those in strings, quoted names, comments and statement sets.
pub fn split(text: &str) -> Vec<Piece<'_>> {
    let all = tokenize(text);
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < all.tokens.len() {
        let end = statement_end(&all.tokens, start).0;
        if end > start {
            pieces.push(piece(text, &all, start..end));
        }
        start = end + 1;
    }
    if let Some(error) = all.error {
        let unfinished = all.tokens.last().is_some_and(|token| token.token != Token::SemiColon);
        match pieces.last_mut().filter(|_| unfinished) {
            Some(last) => last.error = Some(error),
            None => {
                let mut rest = piece(text, &Tokens::default(), 0..0);
                rest.span = error.span.unwrap_or_else(Span::empty);
                rest.error = Some(error);
                pieces.push(rest);
            }
        }
    }
    pieces
}

fn piece<'t>(text: &'t str, all: &Tokens, range: Range<usize>) -> Piece<'t> {
    let hints = all.hints.iter().filter(|hint| hint.behind >= range.start && hint.behind <= range.end);
    let hints: Vec<HintComment> =
        hints.map(|hint| HintComment { behind: hint.behind - range.start, ..hint.clone() }).collect();
    let (tokens, bytes) = (&all.tokens[range.clone()], &all.bytes[range]);
    let (from, to) = (bytes.first().map_or(0, |b| b.start), bytes.last().map_or(0, |b| b.end));
    let to =
        hints.iter().filter(|hint| hint.behind == tokens.len()).map(|hint| hint.end).fold(to, usize::max);
    let span = match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => Span::new(first.span.start, last.span.end),
        _ => Span::empty(),
    };
    let (tokens, bytes) = (tokens.to_vec(), bytes.to_vec());
    Piece { text: &text[from..to], span, whole: text, tokens, bytes, hints, error: None }
}

/// The index of the semicolon that ends the statement from `start` (or the number of tokens), and whether the statement is whole: not
/// an open statement set.
fn statement_end(tokens: &[TokenWithSpan], start: usize) -> (usize, bool) {
    let semicolon = |from: usize| (from..tokens.len()).find(|i| tokens[*i].token == Token::SemiColon);
    let first = semicolon(start).unwrap_or(tokens.len());
    if !opens_set(&tokens[start..first]) {
        return (first, first < tokens.len());
    }
    let end = (start + 1..tokens.len()).find(|&i| {
        let after = tokens.get(i + 1).is_none_or(|next| next.token == Token::SemiColon);
        let before = tokens[i - 1].token == Token::SemiColon || is_word(&tokens[i - 1].token, "BEGIN");
        is_word(&tokens[i].token, "END") && after && before
    });
    match end {
        Some(end) => (end + 1, end + 1 < tokens.len()),
        None => (tokens.len(), false),
    }
}

fn opens_set(statement: &[TokenWithSpan]) -> bool {
    let word = |i: usize, word: &str| statement.get(i).is_some_and(|token| is_word(&token.token, word));
    let set = |i: usize| word(i, "STATEMENT") && word(i + 1, "SET");
    match () {
        () if word(0, "BEGIN") || word(0, "EXECUTE") => set(1),
        () if word(0, "EXPLAIN") => (1..12).any(set),
        () => false,
    }
}

/// Whether a shell may hand the text on: it ends behind the semicolon of a statement (not within a string, a comment or a statement
/// set), is blank, or is one of the shell's own words. Text that can never be a statement is complete, too.
pub fn is_complete(text: &str) -> bool {
    let all = tokenize(text);
    if let Some(error) = &all.error {
        return !error.message.ends_with("has no end");
    }
    if let [only] = all.tokens.as_slice()
        && ["HELP", "QUIT", "EXIT", "CLEAR"].iter().any(|word| is_word(&only.token, word))
    {
        return true;
    }
    let mut start = 0;
    while start < all.tokens.len() {
        let (end, whole) = statement_end(&all.tokens, start);
        if !whole {
            return false;
        }
        start = end + 1;
    }
    true
}

//! The tokens of a text, without blanks and comments but with their byte ranges; hints are kept aside.

use crate::diagnostic::SqlError;
use crate::dialect::FlinkDialect;
use crate::words;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer, Whitespace};
use std::ops::Range;

/// A text in tokens.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tokens {
    /// What counts.
    pub tokens: Vec<TokenWithSpan>,
    /// The bytes of each token.
    pub bytes: Vec<Range<usize>>,
    /// The hint comments.
    pub hints: Vec<HintComment>,
    /// Why the rest of the text could not be read.
    pub error: Option<SqlError>,
}

/// A comment `/*+ ... */`.
#[derive(Debug, Clone)]
pub(crate) struct HintComment {
    /// How many tokens stand before it.
    pub behind: usize,
    /// What stands behind the plus sign.
    pub text: String,
    /// Where that begins.
    pub start: Location,
    /// Where the comment stands.
    pub span: Span,
    /// The byte behind the comment.
    pub end: usize,
}

/// Reads a text up to its end or to the first character that fits nowhere.
pub(crate) fn tokenize(text: &str) -> Tokens {
    let mut raw = Vec::new();
    let dialect = FlinkDialect::default();
    let result = Tokenizer::new(&dialect, text).tokenize_with_location_into_buf(&mut raw);
    let mut walk = Walk::new(text);
    let mut out = Tokens::default();
    for mut token in raw {
        let start = walk.to(token.span.start);
        let end = walk.to(token.span.end);
        match token.token {
            Token::Whitespace(Whitespace::MultiLineComment(comment)) => {
                if let Some(hint) = comment.strip_prefix('+') {
                    let start = Location::new(token.span.start.line, token.span.start.column + 3);
                    out.hints.push(HintComment {
                        behind: out.tokens.len(),
                        text: hint.to_string(),
                        start,
                        span: token.span,
                        end,
                    });
                }
                continue;
            }
            Token::Whitespace(_) => continue,
            Token::EscapedStringLiteral(s)
            | Token::UnicodeStringLiteral(s)
            | Token::NationalStringLiteral(s) => {
                token.token = Token::SingleQuotedString(s);
            }
            Token::Word(mut word) => {
                if word.quote_style.is_none() && !words::is_grammar_keyword(word.keyword) {
                    word.keyword = Keyword::NoKeyword;
                }
                token.token = Token::Word(word);
            }
            _ => {}
        }
        out.tokens.push(token);
        out.bytes.push(start..end);
    }
    out.error = result.err().map(|e| unreadable(&e.message, e.location, &mut walk));
    out
}

fn unreadable(message: &str, location: Location, walk: &mut Walk<'_>) -> SqlError {
    let end = Location::new(location.line, location.column.saturating_add(1));
    let span = Span::new(location, end);
    if message.contains("comment") {
        let opened = walk.rest_start();
        return SqlError::syntax("this comment has no end").at(opened).help("close it with `*/`");
    }
    if message.contains("close delimiter") {
        return SqlError::syntax("this quoted identifier has no end")
            .at(span)
            .help("close it with a back-quote");
    }
    if message.contains("nterminated") {
        return SqlError::syntax("this string has no end")
            .at(span)
            .help("close it with a single quote; a quote inside of a string is written twice");
    }
    SqlError::syntax(format!("cannot read this: {message}")).at(span)
}

/// A walk over a text that counts lines and columns as the tokenizer does.
struct Walk<'t> {
    text: &'t str,
    byte: usize,
    at: Location,
}

impl<'t> Walk<'t> {
    fn new(text: &'t str) -> Self {
        Walk { text, byte: 0, at: Location::new(1, 1) }
    }

    /// Walks forward to `to` (never backwards) and gives its byte.
    fn to(&mut self, to: Location) -> usize {
        while self.at < to {
            let Some(c) = self.text[self.byte..].chars().next() else { break };
            self.byte += c.len_utf8();
            self.at = match c {
                '\n' => Location::new(self.at.line + 1, 1),
                _ => Location::new(self.at.line, self.at.column + 1),
            };
        }
        self.byte
    }

    /// The two characters behind the last token that was read: where an unclosed comment opens.
    fn rest_start(&self) -> Span {
        Span::new(self.at, Location::new(self.at.line, self.at.column + 2))
    }
}

/// The word of a token that is not quoted.
pub(crate) fn bare_word(token: &Token) -> Option<&str> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(&word.value),
        _ => None,
    }
}

/// Whether a token is this word, in any case and without quotes.
pub(crate) fn is_word(token: &Token, word: &str) -> bool {
    bare_word(token).is_some_and(|w| w.eq_ignore_ascii_case(word))
}

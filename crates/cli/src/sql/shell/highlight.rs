//! Colours of what is typed.

use super::words::is_keyword;
use reedline::{Color, Highlighter, StyledText};

/// Colours keywords, strings, numbers, quoted names and comments.
pub struct SqlHighlighter;

/// What a part of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A keyword.
    Keyword,
    /// A string.
    Text,
    /// A name in back-quotes.
    Quoted,
    /// A number.
    Number,
    /// A comment or hint.
    Comment,
    /// All else.
    Plain,
}

impl Highlighter for SqlHighlighter {
    fn highlight(&self, line: &str, _: usize) -> StyledText {
        let mut styled = StyledText::new();
        for (part, text) in parts(line) {
            let style = match part {
                Part::Keyword => Color::Blue.bold(),
                Part::Text => Color::Green.normal(),
                Part::Quoted => Color::Cyan.normal(),
                Part::Number => Color::Magenta.normal(),
                Part::Comment => Color::DarkGray.normal(),
                Part::Plain => Color::Default.normal(),
            };
            styled.push((style, text.to_owned()));
        }
        styled
    }
}

/// The parts of a text, which together are the text.
pub fn parts(text: &str) -> Vec<(Part, &str)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (part, length) = match first {
            '\'' => (Part::Text, closed(rest, '\'')),
            '`' => (Part::Quoted, closed(rest, '`')),
            '-' if rest.starts_with("--") => (Part::Comment, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => (Part::Comment, rest.find("*/").map_or(rest.len(), |at| at + 2)),
            c if c.is_ascii_digit() => (Part::Number, run(rest, |c| c.is_ascii_alphanumeric() || c == '.')),
            c if c.is_alphabetic() || c == '_' => {
                let length = run(rest, |c| c.is_alphanumeric() || c == '_');
                let part = if is_keyword(&rest[..length]) { Part::Keyword } else { Part::Plain };
                (part, length)
            }
            c => (Part::Plain, c.len_utf8()),
        };
        parts.push((part, &rest[..length]));
        rest = &rest[length..];
    }
    parts
}

fn closed(text: &str, quote: char) -> usize {
    text[1..].find(quote).map_or(text.len(), |at| at + 2)
}

fn run(text: &str, of: impl Fn(char) -> bool) -> usize {
    text.find(|c| !of(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_text_in_order() {
        let text = "SELECT a, 'x''y', `from`, 1.5 -- c\n/* é";
        let found = parts(text);
        assert_eq!(found.iter().map(|(_, text)| *text).collect::<String>(), text);
        let of = |wanted| found.iter().filter(|(p, _)| *p == wanted).map(|(_, t)| *t).collect::<Vec<_>>();
        assert_eq!(of(Part::Keyword), ["SELECT"]);
        assert_eq!(of(Part::Text), ["'x'", "'y'"]);
        assert_eq!(of(Part::Quoted), ["`from`"]);
        assert_eq!(of(Part::Number), ["1.5"]);
        assert_eq!(of(Part::Comment), ["-- c", "/* é"]);
    }
}

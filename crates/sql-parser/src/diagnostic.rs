//! Errors with a place in the text.
//!
//! A [`Span`] is `sqlparser`'s: line and column of the first character and of the one behind the last, both from 1, counted in
//! characters of the whole text that was handed in (not of one statement). A span of zeros means that the place is unknown.

use sqlparser::tokenizer::{Location, Span};
use std::fmt::{self, Write};

/// What kind of mistake it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SqlErrorKind {
    /// The text does not follow the grammar.
    Syntax,
    /// It does, but is not supported here.
    Unsupported,
    /// A name that does not exist, or exists twice.
    Name,
    /// A type that does not fit.
    Type,
    /// Anything else that makes no sense.
    Semantic,
}

/// A mistake in SQL text: what is wrong, where, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// What is wrong, without a full stop.
    pub message: String,
    /// Where, in the text that was parsed.
    pub span: Option<Span>,
    /// One edit that would mend it, or what would fit.
    pub help: Option<String>,
    /// What kind of mistake it is.
    pub kind: SqlErrorKind,
}

/// The characters of a line that are shown on each side of the caret.
const SHOWN: usize = 100;

impl SqlError {
    /// An error of `kind` at an unknown place.
    pub fn new(kind: SqlErrorKind, message: impl Into<String>) -> Self {
        SqlError { message: message.into(), span: None, help: None, kind }
    }

    /// Text that does not follow the grammar.
    pub fn syntax(message: impl Into<String>) -> Self {
        Self::new(SqlErrorKind::Syntax, message)
    }

    /// What is not supported.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(SqlErrorKind::Unsupported, message)
    }

    /// Adds the place. The first one stays; a span of zeros is no place.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        if self.span.is_none() && span.start.line > 0 {
            self.span = Some(span);
        }
        self
    }

    /// Adds what would mend it. The first one stays.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.get_or_insert_with(|| help.into());
        self
    }

    /// The error as it is shown: message, the line with its number, a caret under the place, and the help.
    /// `text` is what was parsed; with another text the place may be wrong, but nothing else happens.
    pub fn render(&self, text: &str) -> String {
        let mut out = format!("error: {}\n", self.message);
        if let Some(span) = self.span {
            render_place(&mut out, text, span);
        }
        if let Some(help) = &self.help {
            let _ = writeln!(out, "help: {help}");
        }
        out
    }

    /// The error of the job, with the place rendered into its message.
    pub fn into_error(self, text: &str) -> flugs_types::Error {
        let mut message = self.message;
        if let Some(span) = self.span {
            message.push('\n');
            render_place(&mut message, text, span);
        }
        with_mend(message.trim_end(), self.help)
    }
}

impl From<SqlError> for flugs_types::Error {
    fn from(error: SqlError) -> Self {
        let place = error.span.map(|span| format!("line {}, column {}", span.start.line, span.start.column));
        let converted = with_mend(&error.message, error.help);
        match place {
            Some(place) => converted.at(place),
            None => converted,
        }
    }
}

fn with_mend(message: &str, help: Option<String>) -> flugs_types::Error {
    let error = flugs_types::Error::job(message);
    match help {
        Some(help) => error.mend(help),
        None => error,
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(span) = self.span {
            write!(f, " (line {}, column {})", span.start.line, span.start.column)?;
        }
        if let Some(help) = &self.help {
            write!(f, "; {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SqlError {}

/// Writes the line of `span` with a caret under it. A place behind the text is shown at the end of the last line.
fn render_place(out: &mut String, text: &str, span: Span) {
    let lines = text.split('\n').count() as u64;
    let number = span.start.line.clamp(1, lines);
    let nth = usize::try_from(number - 1).unwrap_or(usize::MAX);
    let line = text.split('\n').nth(nth).unwrap_or("").trim_end_matches('\r');
    let length = line.chars().count();
    let start = match span.start.line > lines {
        true => length,
        false => usize::try_from(span.start.column.saturating_sub(1)).unwrap_or(usize::MAX).min(length),
    };
    let end = match (span.start.line, span.end) {
        (first, Location { line, column }) if line == first => {
            usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX).min(length)
        }
        (first, Location { line, .. }) if line > first => length,
        _ => start,
    };
    let from = start.saturating_sub(SHOWN);
    let to = end.max(start + 1).min(start + SHOWN);
    let cut_left = if from > 0 { "..." } else { "" };
    let cut_right = if length > start + SHOWN { "..." } else { "" };
    let (mut shown, mut padding, mut carets) = (String::new(), String::new(), String::new());
    for (i, c) in line.chars().enumerate().skip(from).take(start + SHOWN - from) {
        let c = if c == '\t' || c.is_control() { ' ' } else { c };
        shown.push(c);
        if i < start {
            padding.extend(std::iter::repeat_n(' ', width(c)));
        } else if i < to {
            carets.extend(std::iter::repeat_n('^', width(c)));
        }
    }
    if carets.is_empty() {
        carets.push('^');
    }
    let gutter = number.to_string();
    let blank = " ".repeat(gutter.len());
    let _ = writeln!(out, "{blank} --> line {number}, column {}", start + 1);
    let _ = writeln!(out, "{blank} |");
    let _ = writeln!(out, "{gutter} | {cut_left}{shown}{cut_right}");
    let _ = writeln!(out, "{blank} | {}{padding}{carets}", " ".repeat(cut_left.len()));
}

/// The columns that a terminal takes for a character: two for East Asian wide ones and emoji, none for combining marks.
fn width(c: char) -> usize {
    match u32::from(c) {
        0x300..=0x36F | 0x200B..=0x200F | 0xFE00..=0xFE0F => 0,
        0x1100..=0x115F
        | 0x2E80..=0xA4CF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1F64F
        | 0x1F900..=0x1F9FF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u64, column: u64, to: u64) -> SqlError {
        SqlError::syntax("wrong").at(Span::new(Location::new(line, column), Location::new(line, to)))
    }

    #[test]
    fn the_caret_stands_under_the_place() {
        let shown = at(2, 8, 12).help("right").render("SELECT 1;\r\nSELECT wrng;\r\n");
        assert_eq!(
            shown,
            "error: wrong\n  --> line 2, column 8\n  |\n2 | SELECT wrng;\n  |        ^^^^\nhelp: right\n"
        );
    }

    #[test]
    fn tabs_and_wide_characters_keep_the_caret_in_place() {
        assert!(at(1, 3, 4).render("\t\tx").ends_with("1 |   x\n  |   ^\n"));
        assert!(at(1, 3, 4).render("語é+").ends_with("1 | 語é+\n  |    ^\n"));
        assert!(at(1, 1, 2).render("語").ends_with("  | ^^\n"));
    }

    #[test]
    fn places_outside_of_the_text_do_no_harm() {
        assert!(at(9, 9, 1).render("a\nbc").contains("line 2, column 3"));
        assert!(at(1, 99, 3).render("ab").ends_with("  |   ^\n"));
        assert!(at(1, 1, 1).render("").ends_with("1 | \n  | ^\n"));
        assert!(at(u64::MAX, u64::MAX, u64::MAX).render("ab").ends_with('\n'));
        assert_eq!(SqlError::syntax("wrong").at(Span::empty()).span, None);
    }

    #[test]
    fn long_lines_are_cut_on_both_sides() {
        let text = format!("{}x{}", "a".repeat(1000), "b".repeat(1000));
        let shown = at(1, 1001, 1002).render(&text);
        assert!(shown.lines().all(|line| line.len() < 230), "{shown}");
        let caret = shown.lines().last().and_then(|line| line.find('^'));
        assert_eq!(caret, shown.lines().nth(3).and_then(|line| line.find('x')));
    }

    #[test]
    fn it_is_an_error_of_the_job() {
        let error = flugs_types::Error::from(at(1, 2, 3).help("do"));
        assert_eq!(error.to_string(), "job error: wrong (at line 1, column 2); do");
        let error = at(1, 2, 3).into_error("ab");
        assert_eq!(error.message(), "wrong\n  --> line 1, column 2\n  |\n1 | ab\n  |  ^");
    }
}

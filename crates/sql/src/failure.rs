//! Errors of statements: with a place in the text where there is one.

use flugs_sql_parser::{Location, Span, SqlError, SqlErrorKind};
use flugs_types::Error;

/// A mistake in the text, or anything else.
pub(crate) enum Failure {
    /// With a place.
    Sql(SqlError),
    /// Without.
    Other(Error),
}

/// The result of a statement before its text is at hand.
pub(crate) type Outcome<T> = Result<T, Failure>;

impl Failure {
    /// The error as a user sees it: its message is the rendered mistake, with a caret into `text`.
    pub(crate) fn shown(self, text: &str) -> Error {
        match self {
            Failure::Sql(e) => rendered(&e, text),
            Failure::Other(e) => e,
        }
    }
}

impl From<SqlError> for Failure {
    fn from(e: SqlError) -> Self {
        Failure::Sql(e)
    }
}

impl From<Error> for Failure {
    fn from(e: Error) -> Self {
        Failure::Other(e)
    }
}

/// A mistake as an error of the job that shows its place.
pub(crate) fn rendered(error: &SqlError, text: &str) -> Error {
    let shown = error.render(text);
    let shown = shown.strip_prefix("error: ").unwrap_or(&shown);
    Error::job(shown.trim_end())
}

/// An error of a lower layer about what stands at a place.
pub(crate) fn placed(e: Error, span: Span) -> SqlError {
    let shown = e.to_string();
    let behind = shown.find(e.message()).map_or("", |at| &shown[at + e.message().len()..]);
    let error = SqlError::new(SqlErrorKind::Semantic, e.message()).at(span);
    match behind.split_once("; ") {
        Some((_, mend)) => error.help(mend),
        None => error,
    }
}

/// Something that makes no sense.
pub(crate) fn semantic(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlErrorKind::Semantic, message)
}

/// Where the first of these strings that an error names stands in a statement, which begins at `whole`.
pub(crate) fn string_in(error: &Error, strings: &[String], statement: &str, whole: Span) -> Option<Span> {
    let named = |text: &&String| error.message().contains(&format!("'{text}'"));
    let literal = strings.iter().find(named).map(|text| format!("'{}'", text.replace('\'', "''")))?;
    let at = statement.find(&literal)?;
    let start = behind(whole.start, &statement[..at]);
    Some(Span::new(start, behind(start, &literal)))
}

/// The place behind a text that begins at `from`.
fn behind(from: Location, text: &str) -> Location {
    text.chars().fold(from, |at, c| match c {
        '\n' => Location { line: at.line + 1, column: 1 },
        _ => Location { line: at.line, column: at.column + 1 },
    })
}

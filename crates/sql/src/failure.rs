//! Errors of statements: with a place in the text where there is one.

use flugs_sql_parser::{Span, SqlError, SqlErrorKind};
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

//! The error of every fallible call of Flugs. Its kind prescribes the reaction.

use std::error::Error as StdError;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What is to be done about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Something outside failed and may work again: the restart strategy decides.
    Transient,
    /// A record or file cannot be read: mend the data, or choose to skip or to route such records. The same
    /// record would fail again, so there is no restart.
    Data,
    /// The program or query is wrong: mend the job. Restarting cannot help.
    Job,
    /// A path, permission, disk or setting is wrong: mend the surroundings.
    Environment,
    /// User code failed or panicked: the restart strategy decides.
    User,
    /// Stored state does not fit the job, or is damaged.
    State,
    /// A newer run owns the job's checkpoints: this one must stop.
    Fenced,
    /// An invariant of Flugs itself does not hold: report it.
    Bug,
}

impl ErrorKind {
    /// Whether a restart from the last checkpoint may help.
    pub fn may_restart(self) -> bool {
        matches!(self, ErrorKind::Transient | ErrorKind::User | ErrorKind::Environment)
    }

    /// The kind in words, as it opens a printed error.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Transient => "transient failure",
            ErrorKind::Data => "bad data",
            ErrorKind::Job => "job error",
            ErrorKind::Environment => "environment error",
            ErrorKind::User => "user function failed",
            ErrorKind::State => "state error",
            ErrorKind::Fenced => "fenced",
            ErrorKind::Bug => "internal error",
        }
    }
}

struct Inner {
    kind: ErrorKind,
    message: String,
    place: Option<String>,
    mend: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync + 'static>>,
}

/// An error with its kind, its place (operator and subtask, or file and line), and how to mend it.
///
/// Displays as `kind: message`, then ` (at place)`, then `; mend` where they are known.
pub struct Error(Box<Inner>);

/// The result of every fallible call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Runs code that may be the user's. A panic in it becomes an error of kind [`ErrorKind::User`] that says what the panic said;
/// whatever the code has changed until then is to be dropped, not used.
pub fn guarded<T>(code: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(code)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(Error::user(format!("panicked: {}", text.unwrap_or("no message"))))
    })
}

impl Error {
    /// An error of `kind`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Inner { kind, message: message.into(), place: None, mend: None, source: None }))
    }

    /// Something outside failed and may work again.
    pub fn transient(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Transient, message)
    }

    /// Unreadable data.
    pub fn data(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Data, message)
    }

    /// A wrong program.
    pub fn job(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Job, message)
    }

    /// Wrong surroundings.
    pub fn environment(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Environment, message)
    }

    /// Failing user code.
    pub fn user(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::User, message)
    }

    /// Stored state that does not fit or is damaged.
    pub fn state(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::State, message)
    }

    /// A newer owner exists.
    pub fn fenced(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Fenced, message)
    }

    /// A broken invariant of Flugs itself.
    pub fn bug(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Bug, message)
    }

    /// Adds where it happened. The innermost place stays: a second call is ignored.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.0.place.get_or_insert_with(|| place.into());
        self
    }

    /// Adds what the reader can do about it. A second call is ignored.
    #[must_use]
    pub fn mend(mut self, mend: impl Into<String>) -> Self {
        self.0.mend.get_or_insert_with(|| mend.into());
        self
    }

    /// Keeps the underlying cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync + 'static>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Names the operator and subtask in front of a place that is already known. The innermost operator stays: a
    /// second call is ignored.
    #[must_use]
    pub fn in_subtask(self, operator: &str, subtask: impl fmt::Display) -> Self {
        self.within("operator '", format!("operator '{operator}', subtask {subtask}"))
    }

    /// Names the source in front of a place that is already known: for what no subtask does. A second call is ignored.
    #[must_use]
    pub fn in_source(self, source: &str) -> Self {
        self.within("source '", format!("source '{source}'"))
    }

    fn within(mut self, already: &str, outer: String) -> Self {
        self.0.place = Some(match self.0.place.take() {
            Some(place) if place.starts_with(already) => place,
            Some(place) => format!("{outer}, {place}"),
            None => outer,
        });
        self
    }

    /// What is to be done about it.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message without kind, place and mend.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What the reader can do about it.
    pub fn remedy(&self) -> Option<&str> {
        self.0.mend.as_deref()
    }

    /// Where it happened.
    pub fn place(&self) -> Option<&str> {
        self.0.place.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.kind.as_str(), self.0.message)?;
        if let Some(place) = &self.0.place {
            write!(f, " (at {place})")?;
        }
        let mut cause = self.0.source.as_deref().map(|e| e as &dyn StdError);
        while let Some(e) = cause {
            write!(f, ": {e}")?;
            cause = e.source();
        }
        if let Some(mend) = &self.0.mend {
            write!(f, "; {mend}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|e| e as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_operator_and_place_stay() {
        let error = Error::data("bad")
            .at("a.csv:3")
            .at("elsewhere")
            .in_subtask("map", "1/2")
            .in_subtask("chain", "1/2");
        assert_eq!(error.to_string(), "bad data: bad (at operator 'map', subtask 1/2, a.csv:3)");
        let error = Error::environment("none").mend("look").in_source("files").in_source("others");
        assert_eq!(error.to_string(), "environment error: none (at source 'files'); look");
    }

    #[test]
    fn a_panic_is_an_error_of_the_user() {
        assert_eq!(guarded(|| Ok(1)).ok(), Some(1));
        let number = 7;
        let error = guarded::<()>(|| panic!("boom {number}")).expect_err("it panics");
        assert_eq!((error.kind(), error.message()), (ErrorKind::User, "panicked: boom 7"));
        let error = guarded::<()>(|| std::panic::panic_any(1)).expect_err("it panics");
        assert_eq!(error.message(), "panicked: no message");
    }
}

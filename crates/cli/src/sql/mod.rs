//! `flugs sql`: scripts and the shell.

mod arguments;
mod interrupt;
mod output;
mod script;
mod shell;
mod watch;

pub use arguments::{SqlArguments, parallelism};

use crate::connectors::registry;
use arguments::Format;
use flugs_sql::SqlEnvironment;
use flugs_types::{Error, ErrorKind};
use interrupt::Interrupt;
use output::Output;
use std::io::{IsTerminal, Read, Write};
use std::process::ExitCode;

/// Runs the command.
pub fn run(arguments: SqlArguments) -> ExitCode {
    match started(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Ended::Failed(error)) => {
            tell(&shown(&error));
            ExitCode::FAILURE
        }
        Err(Ended::Usage(message)) => {
            tell(&format!("error: {message}\n\nFor more information, try '--help'."));
            ExitCode::from(2)
        }
        // Whoever reads the results has seen enough.
        Err(Ended::Closed) => ExitCode::SUCCESS,
        Err(Ended::Interrupted) => ExitCode::from(130),
    }
}

/// Why the command ended before its end.
enum Ended {
    Failed(Error),
    Usage(String),
    Closed,
    Interrupted,
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Ended::Failed(error)
    }
}

impl From<std::io::Error> for Ended {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Ended::Closed,
            _ => Ended::Failed(Error::environment("the results cannot be written").caused_by(error)),
        }
    }
}

fn started(arguments: &SqlArguments) -> Result<(), Ended> {
    let mut session = session(arguments)?;
    let interrupt = Interrupt::new()?;
    for path in &arguments.init {
        script::run(&mut session, &text_of(path)?, &mut Output::new(Format::Table), &interrupt)?;
    }
    let text = match (&arguments.execute, &arguments.file) {
        (Some(text), _) => text.clone(),
        (None, Some(path)) if path.as_os_str() == "-" => standard_input()?,
        (None, Some(path)) => text_of(path)?,
        (None, None) if std::io::stdin().is_terminal() => {
            return shell::run(&mut session, arguments.format, &interrupt);
        }
        (None, None) => standard_input()?,
    };
    script::run(&mut session, &text, &mut Output::new(arguments.format.unwrap_or(Format::Table)), &interrupt)
}

fn session(arguments: &SqlArguments) -> Result<SqlEnvironment, Ended> {
    let mut session = SqlEnvironment::new(registry());
    session.on_warning(|warning| tell(&format!("warning: {warning}")));
    let wrong = |e: Error| Ended::Usage(shown(&e).trim_start_matches("error: ").to_owned());
    for (key, value) in &arguments.options {
        session.set(key, value).map_err(wrong)?;
    }
    if let Some(mode) = arguments.mode {
        session.set("execution.runtime-mode", mode.option()).map_err(wrong)?;
    }
    if let Some(parallelism) = arguments.parallelism {
        session.set("parallelism.default", &parallelism.to_string()).map_err(wrong)?;
    }
    Ok(session)
}

fn text_of(path: &std::path::Path) -> Result<String, Ended> {
    std::fs::read_to_string(path).map_err(|e| {
        let error = Error::environment("the script cannot be read").at(path.display().to_string());
        Ended::Failed(error.caused_by(e))
    })
}

fn standard_input() -> Result<String, Ended> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|e| {
        Ended::Failed(Error::environment("the script on standard input cannot be read").caused_by(e))
    })?;
    Ok(text)
}

/// An error as a user reads it: mistakes in a text begin with `error:` and show their place.
fn shown(error: &Error) -> String {
    let text = error.to_string();
    match text.strip_prefix("job error: ") {
        Some(rest) if error.kind() == ErrorKind::Job => format!("error: {rest}"),
        _ => format!("error: {text}"),
    }
}

/// Tells the user something that is no result.
fn tell(text: &str) {
    // Where nobody listens, there is nobody to be told.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

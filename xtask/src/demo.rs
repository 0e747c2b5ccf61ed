//! `cargo xtask demo`: builds the main job and becomes it.
//!
//! The build's hundred lines become one that changes in place; errors and warnings are shown as
//! they are.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use crate::{Failure, become_program, machine, workspace};

/// What cargo says while everything is well.
const PROGRESS_WORDS: [&str; 10] = [
    "Updating",
    "Locking",
    "Adding",
    "Downloading",
    "Downloaded",
    "Blocking",
    "Compiling",
    "Building",
    "Fresh",
    "Finished",
];

pub(crate) fn run(options: &[OsString]) -> Result<(), Failure> {
    machine::require_c_compiler()?;
    let program = build()?;
    let mut job = Command::new(program);
    job.args(with_defaults(options));
    Err(become_program::replace_by(job))
}

/// The options of the job, with the shipped data and a folder of the build where none are named.
fn with_defaults(options: &[OsString]) -> Vec<OsString> {
    let defaults = [
        ("--data", workspace::root().join("examples/data")),
        ("--out", workspace::target_dir().join("demo")),
    ];
    let mut all = Vec::new();
    for (name, folder) in defaults {
        if !options.iter().any(|option| names(option, name)) {
            all.extend([OsString::from(name), folder.into_os_string()]);
        }
    }
    // Behind the defaults, so that an option that lacks its value does not swallow one.
    all.extend_from_slice(options);
    all
}

/// Whether the option is `--name` or `--name=...`.
fn names(option: &OsStr, name: &str) -> bool {
    option
        .as_encoded_bytes()
        .strip_prefix(name.as_bytes())
        .is_some_and(|rest| matches!(rest, [] | [b'=', ..]))
}

/// Builds the job; where the program is.
fn build() -> Result<PathBuf, Failure> {
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--profile", "first-run", "--package", "departures", "--bin", "departures"]);
    cargo.args(["--message-format", "json-render-diagnostics"]);
    let mut child = cargo
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| Failure::new(format!("cannot start cargo: {e}")))?;
    let messages = BufReader::new(child.stdout.take().expect("stdout is piped"));
    let progress = BufReader::new(child.stderr.take().expect("stderr is piped"));
    // Both streams are read at once: cargo would wait for ever on the one that is full.
    let program = thread::scope(|scope| {
        let program = scope
            .spawn(|| messages.lines().map_while(Result::ok).filter_map(|line| executable(&line)).last());
        show(progress);
        program.join().expect("reading lines does not panic")
    });
    let status = child.wait().map_err(|e| Failure::new(format!("cargo was lost: {e}")))?;
    if !status.success() {
        return Err(Failure::new("the demo could not be built; the compiler's words are above."));
    }
    program.ok_or_else(|| Failure::new("cargo built the demo but did not say where to"))
}

/// Shows cargo's progress as one line on a terminal, and everything else as it is.
fn show(progress: impl BufRead) {
    let terminal = io::stderr().is_terminal();
    let mut compiled = 0;
    eprintln!("building the demo (the first time takes a minute or two)");
    for line in progress.lines().map_while(Result::ok) {
        let Some(doing) = progress_of(&line) else {
            eprintln!("{}{line}", if terminal { "\r\x1b[K" } else { "" });
            continue;
        };
        compiled += usize::from(doing.starts_with("Compiling"));
        if terminal {
            let shown: String = doing.chars().take(60).collect();
            eprint!("\r\x1b[K  {compiled} crates: {shown}");
            // A line that is shown late is no reason to end the build.
            let _ = io::stderr().flush();
        }
    }
    if terminal {
        eprint!("\r\x1b[K");
    }
}

/// The line without its margin, where it only tells how far cargo is.
fn progress_of(line: &str) -> Option<&str> {
    let doing = line.trim();
    let word = doing.split(' ').next()?;
    PROGRESS_WORDS.contains(&word).then_some(doing)
}

/// The program's path, where this line of cargo's JSON messages tells it.
fn executable(line: &str) -> Option<PathBuf> {
    let (_, rest) = line.split_once(r#""executable":""#)?;
    let mut path = String::new();
    let mut chars = rest.chars();
    loop {
        match chars.next()? {
            '"' => return Some(PathBuf::from(path)),
            '\\' => path.push(chars.next()?),
            other => path.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_user_win_over_defaults() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let all = with_defaults(&words(&["--out=x", "--parallelism", "2"]));
        assert_eq!(all[0], "--data");
        assert!(PathBuf::from(&all[1]).join("departures.jsonl.gz").exists());
        assert_eq!(all[2..], words(&["--out=x", "--parallelism", "2"]));
        let both = words(&["--data", "a", "--out", "b"]);
        assert_eq!(with_defaults(&both), both);
        assert_eq!(
            with_defaults(&words(&["--output-kind", "x"])).len(),
            6,
            "a longer name is another option"
        );
    }

    #[test]
    fn progress_is_told_from_errors() {
        assert_eq!(progress_of("   Compiling serde v1.0.229"), Some("Compiling serde v1.0.229"));
        assert_eq!(progress_of("error[E0432]: unresolved import"), None);
        assert_eq!(progress_of("warning: unused variable"), None);
        assert_eq!(progress_of("   |  Compiling"), None);
        assert_eq!(progress_of(""), None);
    }

    #[test]
    fn the_program_is_found_in_cargos_messages() {
        let library = r#"{"reason":"compiler-artifact","executable":null,"fresh":true}"#;
        assert_eq!(executable(library), None);
        let program = r#"{"reason":"compiler-artifact","executable":"/t/a \"b\"/departures","fresh":true}"#;
        assert_eq!(executable(program), Some(PathBuf::from("/t/a \"b\"/departures")));
        assert_eq!(executable(r#"{"executable":"/t/dep"#), None);
    }
}

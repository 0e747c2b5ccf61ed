//! `cargo xtask test`: all that a change must pass, in the order in which it fails fastest.
//!
//! Stops at the first failure with a sentence that says what to do. The last line counts the tests.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};

use crate::{Failure, machine, workspace};

pub(crate) fn run(args: &[OsString]) -> Result<(), Failure> {
    let counts = match args {
        [] => everything()?,
        [filter] if !filter.as_encoded_bytes().starts_with(b"-") => {
            machine::require_c_compiler()?;
            tests(Some(filter))?
        }
        _ => return Err(Failure::usage("usage: cargo xtask test [FILTER]")),
    };
    println!("\n{} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped);
    Ok(())
}

fn everything() -> Result<Counts, Failure> {
    machine::require_component("fmt", "rustfmt")?;
    machine::require_component("clippy", "clippy")?;
    machine::require_c_compiler()?;
    step(
        "formatting",
        workspace::cargo().args(["fmt", "--all", "--check"]),
        "the code is not formatted: type `cargo fmt --all`.",
    )?;
    step(
        "clippy",
        workspace::cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
        "the compiler or clippy objects: mend what is named above.",
    )?;
    let counts = tests(None)?;
    step(
        "documentation",
        workspace::cargo().args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"),
        "the documentation has errors: mend what is named above.",
    )?;
    Ok(counts)
}

fn step(name: &str, command: &mut Command, mend: &str) -> Result<(), Failure> {
    announce(name, command);
    let status = command.stdin(Stdio::null()).status().map_err(|e| not_started(name, &e))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("{name} failed: {mend}"))) }
}

fn announce(name: &str, command: &Command) {
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    println!("\n== {name}: cargo {}", words.join(" "));
}

fn not_started(name: &str, error: &std::io::Error) -> Failure {
    Failure::new(format!("{name}: cargo cannot be started: {error}"))
}

/// How many tests ran, over all test programs.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

fn tests(filter: Option<&OsString>) -> Result<Counts, Failure> {
    let mut command = workspace::cargo();
    command.args(["test", "--workspace"]).args(filter);
    announce("tests", &command);
    let (counts, status) = count_tests(&mut command).map_err(|e| not_started("tests", &e))?;
    if !status.success() {
        let mend = if counts.failed > 0 {
            "type `cargo xtask test NAME` to run one of the tests named above again."
        } else {
            "a test program could not be built or ended early; its words are above."
        };
        return Err(Failure::new(format!("the tests failed: {mend}")));
    }
    if counts.passed == 0 {
        return Err(Failure::new("no test has run: no test's name contains that word."));
    }
    Ok(counts)
}

/// Runs cargo test, shows its output as it comes, and adds up the result lines.
fn count_tests(command: &mut Command) -> std::io::Result<(Counts, ExitStatus)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut counts = Counts::default();
    let mut output = BufReader::new(child.stdout.take().expect("stdout is piped"));
    let mut line = Vec::new();
    // By bytes: what a test prints need not be text.
    while output.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        print!("{text}");
        counts.add(&text);
        line.clear();
    }
    Ok((counts, child.wait()?))
}

impl Counts {
    /// Adds a line `test result: ok. 3 passed; 0 failed; 1 ignored; ...`; other lines count nothing.
    fn add(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else { return };
        let number = |name: &str| {
            let words: Vec<&str> = result.split([' ', ';', '.']).filter(|word| !word.is_empty()).collect();
            let place = words.iter().position(|word| *word == name)?;
            words.get(place.checked_sub(1)?)?.parse::<u64>().ok()
        };
        self.passed += number("passed").unwrap_or(0);
        self.failed += number("failed").unwrap_or(0);
        self.skipped += number("ignored").unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_added_up() {
        let mut counts = Counts::default();
        counts.add(
            "test result: ok. 14 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 1.5s\n",
        );
        counts.add("test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0s\n");
        counts.add("test a::test_result ... ok\n");
        counts.add("test result: \n");
        assert_eq!(counts, Counts { passed: 15, failed: 3, skipped: 2 });
    }
}

//! `cargo xtask`: the few commands that somebody needs who has just cloned the repository.
//!
//! Builds and runs through cargo, with the standard library alone, so that it is there in a second.
//! Ends with 0 when everything went well, 1 when something failed, 2 when it was called wrongly; a
//! program that it becomes (the demo, a benchmark) ends as it likes.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool speaks by printing")]

mod become_program;
mod demo;
mod machine;
mod test_command;
mod workspace;

use std::ffi::OsString;
use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask COMMAND [ARGUMENTS]

  demo [OPTIONS]   build the main job (examples/departures) and run it over examples/data;
                   OPTIONS go to the job: --data DIR, --out DIR, --parallelism N ...
                   (cargo xtask demo --help lists them)
  test             everything that a change must pass: formatting, clippy, all tests, documentation
  test FILTER      only the tests whose name contains FILTER
  bench [NAMES]    run the benchmarks of these names, or say which there are
  help             this text

CARGO_TARGET_DIR says where the build goes (default: target/ in the repository).";

/// Why a command ended early: what went wrong and what the reader can do, and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// Something that was tried did not work.
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), code: 1 }
    }

    /// The command was called wrongly.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), code: 2 }
    }
}

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\nxtask: {}", failure.message);
            ExitCode::from(failure.code)
        }
    }
}

fn run(args: &[OsString]) -> Result<(), Failure> {
    let Some((command, rest)) = args.split_first() else {
        return Err(Failure::usage(format!("no command given\n\n{HELP}")));
    };
    match command.to_str() {
        Some("demo") => demo::run(rest),
        Some("test") => test_command::run(rest),
        Some("bench") => bench(rest),
        Some("help" | "--help" | "-h") => {
            println!("{HELP}");
            Ok(())
        }
        _ => Err(Failure::usage(format!("there is no command `{}`\n\n{HELP}", command.to_string_lossy()))),
    }
}

/// Builds for the processor at hand, as the peers and loops that the figures stand beside are built; in a folder of its own,
/// so that other builds need not start anew.
fn bench(names: &[OsString]) -> Result<(), Failure> {
    machine::require_c_compiler()?;
    let mut cargo = workspace::cargo();
    if std::env::var_os("RUSTFLAGS").is_none() {
        cargo.env("RUSTFLAGS", "-C target-cpu=native").arg("--config");
        cargo.arg(format!("build.target-dir='{}'", workspace::target_dir().join("native").display()));
        cargo.env_remove("CARGO_TARGET_DIR");
    }
    cargo.args(["run", "--profile", "release", "--package", "flugs-bench", "--"]).args(names);
    Err(become_program::replace_by(cargo))
}

//! `flugs bench`: measures this machine with work that others measure, too.

mod nexmark;
mod usage;

use clap::{Args, Subcommand};
use std::io::Write;
use std::process::ExitCode;

/// Which benchmark.
#[derive(Debug, Args)]
pub struct BenchArguments {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Debug, Subcommand)]
enum Benchmark {
    /// The queries q0 to q22 of Nexmark over the 'nexmark' source, into nothing. Prints tab-separated lines.
    Nexmark(nexmark::NexmarkArguments),
}

/// Runs a benchmark.
pub fn run(arguments: &BenchArguments) -> ExitCode {
    let done = match &arguments.benchmark {
        Benchmark::Nexmark(arguments) => nexmark::run(arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

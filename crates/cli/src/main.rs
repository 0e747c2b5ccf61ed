//! The command `flugs`.
//!
//! Only results go to standard output; all else goes to standard error. A wrong command line ends with code 2, a failure with 1.

mod bench;
mod connectors;
mod sql;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Flugs: a stateful stream processor.
#[derive(Parser)]
#[command(name = "flugs", version, about, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run SQL: a script, or a shell.
    Sql(sql::SqlArguments),
    /// Measure this machine.
    Bench(bench::BenchArguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.command {
        Command::Sql(arguments) => sql::run(arguments),
        Command::Bench(arguments) => bench::run(&arguments),
    }
}

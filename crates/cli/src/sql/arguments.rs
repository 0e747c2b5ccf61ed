//! The command line of `flugs sql`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What `flugs sql` is told.
#[derive(Args)]
pub struct SqlArguments {
    /// Run the statements of this file; `-` is standard input.
    #[arg(short, long, value_name = "FILE", conflicts_with = "execute")]
    pub file: Option<PathBuf>,

    /// Run these statements.
    #[arg(short, long, value_name = "STATEMENTS")]
    pub execute: Option<String>,

    /// Run the statements of this file first. May be given more than once.
    #[arg(short, long, value_name = "FILE")]
    pub init: Vec<PathBuf>,

    /// How results are written.
    #[arg(long, value_enum)]
    pub format: Option<Format>,

    /// Whether results change as rows come, or come once at the end.
    #[arg(long, value_enum)]
    pub mode: Option<Mode>,

    /// How many subtasks operators have [default: the number of cores].
    #[arg(long, short, value_name = "N", value_parser = parallelism())]
    pub parallelism: Option<u32>,

    /// Set an option of the session. May be given more than once.
    #[arg(short = 'D', value_name = "KEY=VALUE", value_parser = key_value)]
    pub options: Vec<(String, String)>,
}

/// A number of subtasks on the command line.
pub fn parallelism() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=32_768)
}

/// How results are written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The final rows as a table with borders.
    Table,
    /// The final rows, each as a JSON object on a line.
    Json,
    /// The final rows as CSV with a header.
    Csv,
    /// Every change as a JSON object on a line: {"op":"+I","row":{...}}.
    Changelog,
}

/// How bounded inputs are run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// As streams: results change as rows come.
    Streaming,
    /// Results once, when all is read.
    Batch,
    /// Batch where all inputs are bounded.
    #[value(alias = "automatic")]
    Auto,
}

impl Mode {
    /// The value of `execution.runtime-mode`.
    pub fn option(self) -> &'static str {
        match self {
            Mode::Streaming => "streaming",
            Mode::Batch => "batch",
            Mode::Auto => "automatic",
        }
    }
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write -D key=value".to_owned()),
    }
}

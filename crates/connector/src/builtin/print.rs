//! A sink that prints.

use crate::{Committable, Delivery, Prepared, Sink, SinkWriter, WriterContext};
use flugs_batch::{Record, Records};
use flugs_types::{CheckpointId, Error, Result};
use std::fmt::{self, Debug, Display, Write as _};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Adds the lines of an item, each with the prefix before it.
type Format<T> = dyn Fn(&T, &str, &mut String) + Send + Sync;

/// Prints each row on a line, as Flink's `print()`: with the prefix `name:subtask> ` where the sink has a name and
/// is parallel, `name> ` or `subtask> ` where one of them holds (subtasks count from 1), and none otherwise.
///
/// The lines of a batch are written with one call, so lines of several writers do not mix. After a failure
/// rows are printed again. A reader of the output that stops reading stops the job.
pub struct PrintSink<T> {
    format: Arc<Format<T>>,
    name: String,
    output: Output,
}

#[derive(Clone)]
enum Output {
    Stdout,
    Stderr,
    Writer(Arc<Mutex<dyn io::Write + Send>>),
}

impl Output {
    fn write(&self, lines: &str) -> io::Result<()> {
        match self {
            Output::Stdout => write_all(&mut io::stdout().lock(), lines),
            Output::Stderr => write_all(&mut io::stderr().lock(), lines),
            Output::Writer(writer) => {
                write_all(&mut *writer.lock().unwrap_or_else(PoisonError::into_inner), lines)
            }
        }
    }
}

fn write_all(to: &mut dyn io::Write, lines: &str) -> io::Result<()> {
    to.write_all(lines.as_bytes())?;
    to.flush()
}

/// A `String` takes everything; where a `Display` fails by itself, what it wrote before stays.
fn add(line: &mut String, row: fmt::Arguments<'_>) {
    let _ = line.write_fmt(row);
}

impl<T: Record> PrintSink<T> {
    /// Prints rows by their `Display` to standard output.
    pub fn display() -> Self
    where
        T: Display,
    {
        Self::format(|row, line| add(line, format_args!("{row}")))
    }

    /// Prints rows by their `Debug` to standard output.
    pub fn debug() -> Self
    where
        T: Debug,
    {
        Self::format(|row, line| add(line, format_args!("{row:?}")))
    }

    /// Prints what `format` adds to the line, to standard output.
    pub fn format(format: impl Fn(&T, &mut String) + Send + Sync + 'static) -> Self {
        Self::lines(move |row, prefix, lines| {
            lines.push_str(prefix);
            format(row, lines);
            lines.push('\n');
        })
    }

    /// For items that are printed on any number of lines: `lines` adds them, each with the prefix before it and its line end.
    pub fn lines(lines: impl Fn(&T, &str, &mut String) + Send + Sync + 'static) -> Self {
        PrintSink { format: Arc::new(lines), name: String::new(), output: Output::Stdout }
    }

    /// Puts a name in front of each line.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Prints to standard error.
    #[must_use]
    pub fn to_stderr(mut self) -> Self {
        self.output = Output::Stderr;
        self
    }

    /// Prints to a writer, which is flushed after each batch.
    #[must_use]
    pub fn to_writer(mut self, writer: impl io::Write + Send + 'static) -> Self {
        self.output = Output::Writer(Arc::new(Mutex::new(writer)));
        self
    }
}

impl<T: Record> Sink for PrintSink<T> {
    type Item = T;

    fn delivery(&self) -> Delivery {
        Delivery::AtLeastOnce
    }

    fn writer(&self, context: WriterContext, _restored: Vec<Vec<u8>>) -> Result<Box<dyn SinkWriter<T>>> {
        let subtask = context.subtask;
        let prefix = match (self.name.as_str(), subtask.parallelism > 1) {
            ("", false) => String::new(),
            ("", true) => format!("{}> ", subtask.index + 1),
            (name, false) => format!("{name}> "),
            (name, true) => format!("{name}:{}> ", subtask.index + 1),
        };
        let (format, output) = (self.format.clone(), self.output.clone());
        Ok(Box::new(Writer { format, prefix, output, lines: String::new() }))
    }
}

struct Writer<T> {
    format: Arc<Format<T>>,
    prefix: String,
    output: Output,
    /// Kept for its capacity.
    lines: String,
}

impl<T: Record> SinkWriter<T> for Writer<T> {
    fn write(&mut self, rows: Records<T>) -> Result<()> {
        self.lines.clear();
        for row in &rows.values {
            (self.format)(row, &self.prefix, &mut self.lines);
        }
        self.output.write(&self.lines).map_err(|e| {
            Error::environment("rows cannot be printed")
                .caused_by(e)
                .mend("check where the output of this process goes (a closed pipe, a full disk)")
        })
    }

    fn prepare(&mut self, _checkpoint: CheckpointId, _end: bool) -> Result<Prepared> {
        Ok(Prepared::default())
    }

    fn commit(&mut self, _committables: Vec<Committable>) -> Result<()> {
        Ok(())
    }
}

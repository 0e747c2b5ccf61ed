//! The shell: statements are read, run, and their results shown, until QUIT.

mod complete;
mod editor;
mod highlight;
mod viewer;
mod vocabulary;
mod words;

use super::arguments::Format;
use super::interrupt::Interrupt;
use super::output::{Flowing, Output, table};
use super::{Ended, script, shown, tell};
use flugs_sql::parser::{Statement, split};
use flugs_sql::{Polled, SqlEnvironment, SqlJob, TableResult};
use flugs_types::{Clock, SystemClock};
use reedline::Signal;
use std::io::{IsTerminal, Write};
use viewer::Viewer;
use vocabulary::Vocabulary;

const GREETING: &str =
    "Flugs SQL. A statement ends with ';'. HELP; shows what can be done, QUIT; ends the shell.\n";

const HELP: &str = "\
Statements of Flink's SQL, each ended with ';':
  SELECT ...                      show a result: SET 'sql-client.execution.result-mode' = 'table' | 'changelog' | 'tableau'
  INSERT INTO t SELECT ...        start a job; SHOW JOBS lists them, STOP JOB 'id' stops one
  CREATE TABLE | VIEW | ...       declare; SHOW TABLES, DESCRIBE t, SHOW CREATE TABLE t look at it
  EXPLAIN ...                     show the plan, and what each operator keeps
  SET 'key' = 'value'             set an option; SET alone shows what is set, RESET takes it back
Commands of the shell:
  HELP  this text      CLEAR  clear the screen      QUIT or EXIT  end; running jobs are stopped
Keys:
  Tab completes, Up and Down go through the history, Ctrl-R searches it, Ctrl-C drops the line or stops what runs, Ctrl-D ends.
  In a result: q leaves, arrows and PgUp/PgDn move, g and l show the first and last page, + and - change how often it refreshes.
";

/// What the shell does after a statement.
#[derive(PartialEq)]
enum Next {
    Read,
    Quit,
}

/// Runs the shell on the terminal.
pub fn run(session: &mut SqlEnvironment, format: Option<Format>, interrupt: &Interrupt) -> Result<(), Ended> {
    let words = Vocabulary::shared(session);
    let mut editor = editor::editor(&words)?;
    write(GREETING)?;
    loop {
        words.refresh(session);
        let line = match editor.read_line(&editor::ShellPrompt) {
            Ok(Signal::Success(line)) => line,
            Ok(Signal::CtrlC) => continue,
            Ok(Signal::CtrlD) => return Ok(()),
            Ok(_) => continue,
            Err(e) => {
                let error = flugs_types::Error::environment("the terminal cannot be read");
                return Err(error.caused_by(e).into());
            }
        };
        // Whatever ends the process, what was entered is there the next time.
        if let Err(e) = editor.sync_history() {
            tell(&format!("warning: the history cannot be kept: {e}"));
        }
        interrupt.take();
        if statements(session, &line, format, interrupt)? == Next::Quit {
            return Ok(());
        }
    }
}

/// Runs the statements of a line; the first failure drops the rest of them, not the shell.
fn statements(
    session: &mut SqlEnvironment,
    line: &str,
    format: Option<Format>,
    interrupt: &Interrupt,
) -> Result<Next, Ended> {
    for piece in split(line) {
        match piece.parse().map(|parsed| parsed.statement) {
            Ok(Statement::Quit) => return Ok(Next::Quit),
            Ok(Statement::Help) => write(HELP)?,
            Ok(Statement::Clear) => write("\x1b[2J\x1b[H")?,
            _ => {
                let ran = session.execute_piece(&piece, line).map_err(Ended::from);
                match ran.and_then(|result| show(session, result, format, interrupt)) {
                    Ok(()) => {}
                    Err(Ended::Failed(error)) => {
                        tell(&shown(&error));
                        break;
                    }
                    Err(Ended::Interrupted) => break,
                    Err(other) => return Err(other),
                }
            }
        }
    }
    Ok(Next::Read)
}

/// Shows what a statement gave.
fn show(
    session: &SqlEnvironment,
    mut result: TableResult,
    format: Option<Format>,
    interrupt: &Interrupt,
) -> Result<(), Ended> {
    let started = SystemClock.monotonic();
    if result.columns().is_empty() {
        match result.job() {
            Some(job) => write(&format!("[INFO] Job {} ({}) was started.\n", job.id, job.name))?,
            None => write("[INFO] Done.\n")?,
        }
        return Ok(());
    }
    if result.job().is_none() {
        return ready(&mut result);
    }
    let mode =
        session.options().get("sql-client.execution.result-mode").unwrap_or("table").to_ascii_lowercase();
    let job = result.job().cloned();
    let shown = match (format, mode.as_str()) {
        (Some(format), _) => script::show(result, &mut Output::new(format), interrupt),
        (None, "tableau") => flow(result, interrupt),
        (None, mode) => {
            let limit = session.options().get("sql-client.execution.max-table-result.rows");
            let limit = limit.and_then(|n| n.parse::<i64>().ok()).and_then(|n| usize::try_from(n).ok());
            let rows = Viewer::of_query(result, mode == "changelog", limit.unwrap_or(usize::MAX)).show()?;
            let took = SystemClock.monotonic().saturating_sub(started);
            write(&format!("[INFO] {rows} rows, {:.3} s.\n", took.as_secs_f64()))
        }
    };
    // Formats tell it themselves.
    if format.is_none() {
        let mut dropped = job.iter().flat_map(SqlJob::dropped);
        dropped.try_for_each(|dropped| write(&format!("[WARN] {dropped}\n")))?;
    }
    shown
}

/// Shows changes below each other as they come, until there are no more or the user stops them.
fn flow(mut result: TableResult, interrupt: &Interrupt) -> Result<(), Ended> {
    let (mut flowing, header) = Flowing::begin(&result);
    write(&header)?;
    loop {
        match result.next_batch_within(script::GLANCE) {
            Polled::Batch(batch) => write(&flowing.add(&batch)?)?,
            Polled::Pending => {}
            Polled::End => break,
        }
        if interrupt.take() {
            result.cancel();
            break;
        }
    }
    let ended = result.wait();
    write(&flowing.end())?;
    ended?;
    Ok(())
}

/// Shows a result that is there already: below the line where the screen has room for it, page by page where not.
fn ready(result: &mut TableResult) -> Result<(), Ended> {
    let format = result.format();
    let mut rows = Vec::new();
    while let Some(batch) = result.next_batch() {
        rows.extend(format.text_rows(batch.rows())?);
    }
    let text = table(&format, &rows);
    let room = crossterm::terminal::size().map_or(24, |(_, height)| usize::from(height));
    if text.lines().count() + 1 > room && std::io::stdout().is_terminal() {
        Viewer::of_text(&text).show()?;
        return Ok(());
    }
    write(&format!("{text}\n\n"))
}

fn write(text: &str) -> Result<(), Ended> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

//! Scripts: statement after statement, to the end or the first failure.

use super::interrupt::Interrupt;
use super::output::Output;
use super::watch::Watch;
use super::{Ended, tell};
use flugs_sql::parser::{Statement, split};
use flugs_sql::{Polled, SqlEnvironment, SqlJob, TableResult};
use std::time::Duration;

/// How late Ctrl-C may be seen.
pub const GLANCE: Duration = Duration::from_millis(100);

/// Runs a script. Bounded jobs are waited for one after the other, the others at the end.
pub fn run(
    session: &mut SqlEnvironment,
    text: &str,
    output: &mut Output,
    interrupt: &Interrupt,
) -> Result<(), Ended> {
    let mut running = Vec::new();
    for piece in split(text) {
        match piece.parse().map(|parsed| parsed.statement) {
            Ok(Statement::Quit) => break,
            Ok(Statement::Help | Statement::Clear) => continue,
            _ => {}
        }
        let result = session.execute_piece(&piece, text)?;
        if !result.columns().is_empty() {
            show(result, output, interrupt)?;
        } else if result.job().is_some_and(|job| !job.is_bounded) {
            running.push(result);
        } else {
            wait(std::slice::from_ref(&result), interrupt)?;
        }
    }
    wait(&running, interrupt)
}

/// Writes a result to its end.
pub fn show(result: TableResult, output: &mut Output, interrupt: &Interrupt) -> Result<(), Ended> {
    let job = result.job().cloned();
    let shown = pass_on(result, output, interrupt);
    job.iter().for_each(tell_dropped);
    shown
}

fn pass_on(mut result: TableResult, output: &mut Output, interrupt: &Interrupt) -> Result<(), Ended> {
    output.begin(&result)?;
    loop {
        match result.next_batch_within(GLANCE) {
            Polled::Batch(batch) => output.add(&batch)?,
            Polled::Pending => output.flush()?,
            Polled::End => break,
        }
        if interrupt.take() {
            result.cancel();
            output.break_off()?;
            tell("the query was stopped");
            return Err(Ended::Interrupted);
        }
    }
    match result.wait() {
        Ok(_) => output.end(),
        Err(error) => {
            output.break_off()?;
            Err(error.into())
        }
    }
}

/// Waits for the jobs of statements, and tells what they get over.
fn wait(results: &[TableResult], interrupt: &Interrupt) -> Result<(), Ended> {
    let mut watches: Vec<Watch> = results.iter().map(|_| Watch::default()).collect();
    for (at, result) in results.iter().enumerate() {
        while let Some(job) = result.job() {
            if let Some(ended) = result.wait_within(GLANCE) {
                tell_dropped(job);
                ended?;
                break;
            }
            if interrupt.take() {
                job.handle.cancel();
                job.handle.wait()?;
                results[at..].iter().filter_map(TableResult::job).for_each(tell_dropped);
                tell(&format!("job {} was stopped", job.id));
                return Err(Ended::Interrupted);
            }
            for (job, watch) in results[at..].iter().map(TableResult::job).zip(&mut watches[at..]) {
                let told = job.and_then(|job| watch.look(&job.name, &job.handle.report()));
                told.iter().for_each(|told| tell(told));
            }
        }
    }
    Ok(())
}

/// Tells which rows a job could not make use of: their results are missing.
fn tell_dropped(job: &SqlJob) {
    job.dropped().iter().for_each(|dropped| tell(&format!("warning: job '{}': {dropped}", job.name)));
}

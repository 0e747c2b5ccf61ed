//! Results as tests compare them.

use flugs_sql::{Folded, RowFormat, SqlEnvironment, TableResult};
use flugs_types::Result;

/// Reads a result to its end; gives how its cells are written, and its rows with changes folded.
pub fn folded(mut result: TableResult) -> Result<(RowFormat, Folded)> {
    let format = result.format();
    let mut folded = Folded::new();
    while let Some(batch) = result.next_batch() {
        folded.add(&batch)?;
    }
    result.wait()?;
    match folded.unmatched() {
        0 => Ok((format, folded)),
        n => Err(flugs_types::Error::bug(format!("{n} rows were taken back that had not been given"))),
    }
}

/// Runs a script; gives the rows of its last result, sorted, cells between bars.
#[allow(dead_code, reason = "some tests read results one by one")]
pub fn sorted_rows(env: &mut SqlEnvironment, script: &str) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    env.execute_script(script, |result| {
        let (format, folded) = folded(result)?;
        let rows = folded.rows()?;
        lines = rows.map(|rows| format.text_rows(&rows)).transpose()?.unwrap_or_default();
        Ok(())
    })?;
    let mut lines: Vec<String> = lines.into_iter().map(|row| row.join(" | ")).collect();
    lines.sort();
    Ok(lines)
}

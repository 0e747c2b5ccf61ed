//! Results on standard output.

use super::arguments::Format;
use super::{Ended, tell};
use comfy_table::{CellAlignment, ContentArrangement, Table};
use flugs_batch::ChangeBatch;
use flugs_sql::{Folded, RowFormat, TableResult};
use std::io::{BufWriter, Stdout, Write};

/// Lines and corners of a table as Flink's client draws them.
const BORDERS: &str = "||--+-++|    ++++++";

/// Writes results, one after the other.
pub struct Output {
    format: Format,
    to: BufWriter<Stdout>,
    current: Option<Current>,
}

/// The result that is being written.
struct Current {
    format: RowFormat,
    /// Rows that may still change; none where rows are written as they come.
    folded: Option<Folded>,
}

impl Output {
    /// In this format.
    pub fn new(format: Format) -> Self {
        Output { format, to: BufWriter::new(std::io::stdout()), current: None }
    }

    /// A result begins.
    pub fn begin(&mut self, result: &TableResult) -> Result<(), Ended> {
        let format = result.format();
        if self.format == Format::Csv {
            writeln!(self.to, "{}", format.csv_header())?;
        }
        let at_once = match self.format {
            Format::Changelog => true,
            Format::Table => false,
            Format::Json | Format::Csv => result.is_append_only(),
        };
        self.current = Some(Current { format, folded: (!at_once).then(Folded::new) });
        Ok(())
    }

    /// Changes have come.
    pub fn add(&mut self, batch: &ChangeBatch) -> Result<(), Ended> {
        let Some(current) = &mut self.current else { return Ok(()) };
        if let Some(folded) = &mut current.folded {
            folded.add(batch)?;
            return Ok(());
        }
        let lines = match self.format {
            Format::Csv => current.format.csv_rows(batch.rows())?,
            _ => current.format.json_rows(batch.rows())?,
        };
        for (at, line) in lines.iter().enumerate() {
            match self.format {
                Format::Changelog => {
                    writeln!(self.to, "{{\"op\":\"{}\",\"row\":{line}}}", batch.kind(at))?;
                }
                _ => writeln!(self.to, "{line}")?,
            }
        }
        Ok(())
    }

    /// Nothing has come for a while: what was written is to be seen.
    pub fn flush(&mut self) -> Result<(), Ended> {
        Ok(self.to.flush()?)
    }

    /// The result is at its end.
    pub fn end(&mut self) -> Result<(), Ended> {
        self.finish(true)
    }

    /// No more comes, for the query failed or was stopped. What came is shown: it was right. That nothing came is no result.
    pub fn break_off(&mut self) -> Result<(), Ended> {
        self.finish(false)
    }

    fn finish(&mut self, is_whole: bool) -> Result<(), Ended> {
        let Some(Current { format, folded }) = self.current.take() else { return Ok(()) };
        if let Some(folded) = folded {
            if folded.unmatched() > 0 {
                let n = folded.unmatched();
                tell(&format!(
                    "warning: the input takes back rows that it never gave; {n} of the result are left out"
                ));
            }
            let rows = folded.rows_as_they_came()?;
            let lines = match (&rows, self.format) {
                (None, Format::Table) if !is_whole => Vec::new(),
                (rows, Format::Table) => {
                    let texts =
                        rows.as_ref().map(|rows| format.text_rows(rows)).transpose()?.unwrap_or_default();
                    vec![if is_whole { table(&format, &texts) } else { table_so_far(&format, &texts) }]
                }
                (Some(rows), Format::Csv) => format.csv_rows(rows)?,
                (Some(rows), _) => format.json_rows(rows)?,
                (None, _) => Vec::new(),
            };
            lines.iter().try_for_each(|line| writeln!(self.to, "{line}"))?;
        }
        self.flush()
    }
}

/// The width of a column of a table whose rows are shown as they come.
const FLOWING_WIDTH: usize = 20;

/// Changes as rows of a table that grows as they come, as the shell shows them: cells that are too long are cut.
pub struct Flowing {
    format: RowFormat,
    rows: u64,
}

impl Flowing {
    /// Draws the header.
    pub fn begin(result: &TableResult) -> (Self, String) {
        let flowing = Flowing { format: result.format(), rows: 0 };
        let names = flowing.line("op", flowing.format.names());
        let border = flowing.border();
        (flowing, format!("{border}\n{names}\n{border}\n"))
    }

    /// Draws changes.
    pub fn add(&mut self, batch: &ChangeBatch) -> Result<String, Ended> {
        let rows = self.format.text_rows(batch.rows())?;
        self.rows += rows.len() as u64;
        let line = |(at, row): (usize, &Vec<String>)| {
            let op = batch.kind(at).to_string();
            self.line(&op, row.iter().map(String::as_str)) + "\n"
        };
        Ok(rows.iter().enumerate().map(line).collect())
    }

    /// Draws the end.
    pub fn end(&self) -> String {
        format!("{}\nReceived a total of {} rows\n", self.border(), self.rows)
    }

    fn border(&self) -> String {
        let columns = format!("{}+", "-".repeat(FLOWING_WIDTH + 2)).repeat(self.format.names().len());
        format!("+----+{columns}")
    }

    fn line<'a>(&self, op: &str, cells: impl Iterator<Item = &'a str>) -> String {
        let mut line = format!("| {op} |");
        for cell in cells {
            let cell: String = match cell.chars().nth(FLOWING_WIDTH) {
                Some(_) => cell.chars().take(FLOWING_WIDTH - 3).chain("...".chars()).collect(),
                None => cell.to_owned(),
            };
            line.push_str(&format!(" {cell:>FLOWING_WIDTH$} |"));
        }
        line
    }
}

/// Rows as a table with their number below.
pub fn table(format: &RowFormat, rows: &[Vec<String>]) -> String {
    // A single text, such as a plan, is more than a cell.
    if let ([only], 1) = (rows, format.names().len())
        && only[0].contains('\n')
    {
        return only[0].trim_end().to_owned();
    }
    match rows.len() {
        0 => "Empty set".to_owned(),
        1 => format!("{}\n1 row in set", drawn(format, rows)),
        n => format!("{}\n{n} rows in set", drawn(format, rows)),
    }
}

/// Rows of a result that is not whole.
pub fn table_so_far(format: &RowFormat, rows: &[Vec<String>]) -> String {
    match rows.len() {
        0 => String::new(),
        1 => format!("{}\n1 row before the end of the query", drawn(format, rows)),
        n => format!("{}\n{n} rows before the end of the query", drawn(format, rows)),
    }
}

fn drawn(format: &RowFormat, rows: &[Vec<String>]) -> Table {
    let mut table = Table::new();
    table.load_preset(BORDERS).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(format.names());
    rows.iter().for_each(|row| {
        table.add_row(row);
    });
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

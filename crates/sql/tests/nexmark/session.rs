//! Runs scripts and gives their rows as text.

use crate::events::Stream;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, TimeUnit, TimestampMillisecondType};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use flugs_batch::{Batch, ChangeBatch};
use flugs_sql::SqlEnvironment;
use flugs_sql_plan::RuntimeMode;
use flugs_table::Registry;
use std::collections::HashMap;
use std::path::Path;

/// How a stream is queried.
#[derive(Clone, Copy)]
pub(crate) struct Session {
    stream: Stream,
    parallelism: u32,
    mode: RuntimeMode,
}

impl Session {
    pub(crate) fn new(stream: Stream, parallelism: u32) -> Self {
        Session { stream, parallelism, mode: RuntimeMode::Streaming }
    }

    pub(crate) fn mode(mut self, mode: RuntimeMode) -> Self {
        self.mode = mode;
        self
    }

    fn environment(&self) -> SqlEnvironment {
        let mut registry = Registry::new();
        flugs_nexmark::table::register(&mut registry);
        flugs_tables::register(&mut registry);
        flugs_files::table::register(&mut registry);
        flugs_formats::columns::register(&mut registry);
        let mut environment = SqlEnvironment::new(registry);
        environment.config_mut().parallelism = self.parallelism;
        environment.config_mut().mode = self.mode;
        environment
    }

    /// The script of a query behind that of the source. Files of q10 and q13 are in `folder`.
    fn script(&self, query: &str, folder: Option<&Path>) -> String {
        let stream = self.stream;
        let read = |name: &str| {
            let path = format!("{}/../connectors/nexmark/queries/{name}.sql", env!("CARGO_MANIFEST_DIR"));
            std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
        };
        let rate = format!(
            "'events.rate' = '{}', 'out-of-order.group' = '{}', 'base-time.ms' = '{}'",
            stream.rate, stream.group, stream.base_time_ms
        );
        let mut script = (read("ddl") + &read(query))
            .replace("${EVENTS}", &stream.events.to_string())
            .replace("'events.rate' = '${RATE}'", &rate);
        if let Some(folder) = folder {
            script = script.replace("/tmp/nexmark/q10", &folder.display().to_string());
            script = script.replace("/tmp/nexmark", &folder.display().to_string());
        }
        script
    }

    /// Runs the script of a query as it is, with files in a folder.
    pub(crate) fn run(&self, query: &str, folder: Option<&Path>) {
        if let Some(folder) = folder.filter(|_| query == "q13") {
            write_side_input(folder);
        }
        let script = self.script(query, folder);
        self.environment().execute_script(&script, |_| Ok(())).unwrap_or_else(|e| panic!("{query}: {e}"));
    }

    /// The final rows of a query.
    pub(crate) fn rows(&self, query: &str) -> Vec<String> {
        let mut counts: HashMap<String, i64> = HashMap::new();
        self.changes(query, |row, change| {
            let count = counts.entry(row).or_default();
            *count += change;
        });
        let mut rows = Vec::new();
        for (row, count) in counts {
            assert!(count >= 0, "{query}: {row} was taken back {} times more than given", -count);
            rows.extend(std::iter::repeat_n(row, count as usize));
        }
        rows
    }

    /// Gives each change of a query's result, as text and 1 or -1.
    pub(crate) fn changes(&self, query: &str, mut each: impl FnMut(String, i64)) {
        let folder = tempfile::tempdir().expect("a folder");
        write_side_input(folder.path());
        let script = self.script(query, Some(folder.path())).replace("INSERT INTO sink", "");
        let mut runs = 0;
        self.environment()
            .execute_script(&script, |mut result| {
                runs += 1;
                while let Some(batch) = result.next_batch() {
                    let text = Texts::new(&batch);
                    for row in 0..batch.len() {
                        each(text.row(row), if batch.kind(row).is_addition() { 1 } else { -1 });
                    }
                }
                result.wait()?;
                Ok(())
            })
            .unwrap_or_else(|e| panic!("{query}: {e}"));
        assert_eq!(runs, 1, "{query}: one statement has rows");
    }
}

/// Lines "k,k" as q13 says, but for no key over 2500: some bids find nothing.
fn write_side_input(folder: &Path) {
    let lines: String = (0..=2500).map(|key| format!("{key},{key}\n")).collect();
    std::fs::write(folder.join("side_input.csv"), lines).expect("the side input is written");
}

/// Rows as text: columns with `|` between, times in milliseconds.
struct Texts<'a> {
    columns: Vec<(Option<ArrayRef>, ArrayFormatter<'a>)>,
}

impl<'a> Texts<'a> {
    fn new(batch: &'a ChangeBatch) -> Self {
        const OPTIONS: FormatOptions<'static> = FormatOptions::new().with_null("NULL");
        let column = |array: &'a ArrayRef| {
            let is_time = matches!(array.data_type(), DataType::Timestamp(TimeUnit::Millisecond, _));
            let formatter = ArrayFormatter::try_new(array, &OPTIONS).expect("all types have a text");
            (is_time.then(|| array.clone()), formatter)
        };
        Texts { columns: batch.rows().columns().iter().map(column).collect() }
    }

    fn row(&self, row: usize) -> String {
        let cell = |(times, formatter): &(Option<ArrayRef>, ArrayFormatter<'_>)| match times {
            Some(times) if times.is_valid(row) => {
                times.as_primitive::<TimestampMillisecondType>().value(row).to_string()
            }
            _ => formatter.value(row).to_string(),
        };
        self.columns.iter().map(cell).collect::<Vec<_>>().join("|")
    }
}

/// Equal as multisets.
pub(crate) fn assert_same_rows(what: &str, expected: &[String], found: &[String]) {
    let mut counts: HashMap<&str, i64> = HashMap::new();
    for row in expected {
        *counts.entry(row).or_default() += 1;
    }
    for row in found {
        *counts.entry(row).or_default() -= 1;
    }
    let mut missing: Vec<&str> = counts.iter().filter(|(_, n)| **n > 0).map(|(row, _)| *row).collect();
    let mut surplus: Vec<&str> = counts.iter().filter(|(_, n)| **n < 0).map(|(row, _)| *row).collect();
    missing.sort_unstable();
    surplus.sort_unstable();
    assert!(
        missing.is_empty() && surplus.is_empty(),
        "{what}: {} rows expected, {} found; {} missing, such as {:#?}; {} surplus, such as {:#?}",
        expected.len(),
        found.len(),
        missing.len(),
        &missing[..missing.len().min(4)],
        surplus.len(),
        &surplus[..surplus.len().min(4)]
    );
}

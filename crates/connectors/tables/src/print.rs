//! `print`: rows as lines of text.

use crate::refusal;
use flugs_batch::{Batch, ChangeBatch};
use flugs_connector::{PrintSink, Sink};
use flugs_formats::columns::RowText;
use flugs_table::{
    ChangelogMode, LookupSource, OptionKind, OptionSpec, TableContext, TableFactory, TableSink, TableSource,
};
use flugs_types::Result;

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "print-identifier",
        kind: OptionKind::String,
        default: None,
        doc: "what stands before each row",
    },
    OptionSpec {
        key: "standard-error",
        kind: OptionKind::Boolean,
        default: Some("false"),
        doc: "whether to print to standard error instead of standard output",
    },
    OptionSpec {
        key: "sink.parallelism",
        kind: OptionKind::Integer,
        default: None,
        doc: "how many writers there are; the job's parallelism where it is not given",
    },
];

/// Makes the tables of `'connector' = 'print'`: a line `+I[1, a]` for each row, with the prefix that Flink gives it
/// (`identifier:subtask> `, where there is an identifier and more than one writer).
///
/// | option | default | |
/// | --- | --- | --- |
/// | `print-identifier` | none | what stands before each row |
/// | `standard-error` | `false` | print to standard error |
/// | `sink.parallelism` | the job's | how many writers there are |
#[derive(Debug, Clone, Copy)]
pub struct PrintTables;

impl TableFactory for PrintTables {
    fn identifier(&self) -> &'static str {
        "print"
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn source(&self, table: TableContext<'_>) -> Result<Box<dyn TableSource>> {
        Err(refusal::read("print", table))
    }

    fn sink(&self, table: TableContext<'_>) -> Result<Box<dyn TableSink>> {
        Ok(Box::new(PrintTable {
            identifier: table.options.get("print-identifier").unwrap_or_default().to_owned(),
            to_stderr: table.options.boolean("standard-error")?.unwrap_or(false),
            parallelism: table.options.integer("sink.parallelism")?,
        }))
    }

    fn lookup(&self, table: TableContext<'_>, _keys: &[usize]) -> Result<Box<dyn LookupSource>> {
        Err(refusal::look_up("print", table))
    }
}

struct PrintTable {
    identifier: String,
    to_stderr: bool,
    parallelism: Option<u32>,
}

impl PrintTable {
    fn lines(&self) -> PrintSink<ChangeBatch> {
        let sink = PrintSink::lines(|batch: &ChangeBatch, prefix, lines| {
            let rows = RowText::new(batch.rows());
            for row in 0..batch.len() {
                lines.push_str(prefix);
                rows.row(lines, batch.kind(row), row);
                lines.push('\n');
            }
        });
        sink.name(self.identifier.clone())
    }
}

impl TableSink for PrintTable {
    fn changelog_mode(&self, query: ChangelogMode) -> ChangelogMode {
        query
    }

    fn parallelism(&self) -> Option<u32> {
        self.parallelism
    }

    fn sink(&self, _overwrite: bool) -> Result<Box<dyn Sink<Item = ChangeBatch>>> {
        let lines = self.lines();
        Ok(Box::new(if self.to_stderr { lines.to_stderr() } else { lines }))
    }
}

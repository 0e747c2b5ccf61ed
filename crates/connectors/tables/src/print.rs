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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Table, writer_context};
    use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringViewArray};
    use flugs_batch::Records;
    use flugs_sql_types::LogicalType::{self, Int};
    use flugs_types::{RowKind, SubtaskId};
    use std::io;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn each_row_is_a_line_with_its_kind_and_the_writers_prefix() {
        let ids: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
        let names: ArrayRef = Arc::new(StringViewArray::from(vec!["a", "b c"]));
        let rows = RecordBatch::try_from_iter([("id", ids), ("name", names)]).unwrap();
        let rows = ChangeBatch::new(rows, &[RowKind::Insert, RowKind::UpdateBefore]).unwrap();
        for (identifier, parallelism, want) in [
            ("", 1, "+I[1, a]\n-U[null, b c]\n"),
            ("", 2, "1> +I[1, a]\n1> -U[null, b c]\n"),
            ("x", 2, "x:1> +I[1, a]\nx:1> -U[null, b c]\n"),
        ] {
            let paper = Paper::default();
            let table = PrintTable { identifier: identifier.to_owned(), to_stderr: false, parallelism: None };
            let sink = table.lines().to_writer(paper.clone());
            let context = flugs_connector::WriterContext {
                subtask: SubtaskId::new(0, parallelism),
                ..writer_context(1)
            };
            let mut writer = sink.writer(context, Vec::new()).unwrap();
            writer.write(Records::untimed(vec![rows.clone()])).unwrap();
            assert_eq!(String::from_utf8(paper.0.lock().unwrap().clone()).unwrap(), want);
        }
        let columns = [("id", Int), ("name", LogicalType::STRING)];
        let table = Table::new("print", &columns, &[("sink.parallelism", "1"), ("standard-error", "true")]);
        let sink = table.sink().unwrap();
        assert_eq!(sink.parallelism(), Some(1));
        assert_eq!(sink.changelog_mode(ChangelogMode::Retract), ChangelogMode::Retract);
        assert!(table.source().is_err());
        let black = Table::new("blackhole", &columns, &[]);
        assert_eq!(black.sink().unwrap().changelog_mode(ChangelogMode::Retract), ChangelogMode::Upsert);
        assert!(black.source().err().unwrap().to_string().contains("cannot be read"));
    }
}

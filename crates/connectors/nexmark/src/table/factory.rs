//! The connector: options and columns are checked, then a source is made.

use super::projection::Projection;
use super::source::NexmarkTable;
use crate::options::{KEYS, NexmarkOptions};
use flugs_sql_types::to_schema;
use flugs_table::{
    FieldPath, LookupSource, OptionKind, OptionSpec, TableContext, TableFactory, TableSink, TableSource,
};
use flugs_types::{Error, Result};

const IDENTIFIER: &str = "nexmark";

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "events.num",
        kind: OptionKind::Integer,
        default: None,
        doc: "how many events there are, of all kinds; no end where it is not given",
    },
    OptionSpec {
        key: "events.rate",
        kind: OptionKind::Integer,
        default: Some("100000"),
        doc: "how many events make a second of event time",
    },
    OptionSpec {
        key: "emit.rate",
        kind: OptionKind::Double,
        default: Some("0"),
        doc: "how many events come in a second of wall time, over all readers together; 0 is full speed",
    },
    OptionSpec {
        key: "seed",
        kind: OptionKind::Integer,
        default: Some("1"),
        doc: "another seed, other events",
    },
    OptionSpec {
        key: "base-time.ms",
        kind: OptionKind::Integer,
        default: Some("1436918400000"),
        doc: "the time of the first event, in milliseconds since the epoch",
    },
    OptionSpec {
        key: "out-of-order.group",
        kind: OptionKind::Integer,
        default: Some("1"),
        doc: "events come out of order within groups of so many",
    },
];

/// Makes the tables of `'connector' = 'nexmark'`.
#[derive(Debug, Clone, Copy)]
pub struct NexmarkTables;

impl TableFactory for NexmarkTables {
    fn identifier(&self) -> &'static str {
        IDENTIFIER
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn source(&self, table: TableContext<'_>) -> Result<Box<dyn TableSource>> {
        let given = KEYS.iter().filter_map(|key| Some((*key, table.options.get(key)?)));
        let options = NexmarkOptions::from_pairs(given).map_err(|e| e.at(format!("table {}", table.name)))?;
        let schema = to_schema(table.schema.columns.iter().map(|c| (c.name.as_str(), &c.sql_type)));
        let columns: Vec<FieldPath> =
            table.schema.columns.iter().map(|c| FieldPath(vec![c.name.clone()])).collect();
        Projection::new(&columns, schema, &[]).map_err(|e| e.at(format!("table {}", table.name)))?;
        Ok(Box::new(NexmarkTable::new(options)))
    }

    fn sink(&self, table: TableContext<'_>) -> Result<Box<dyn TableSink>> {
        Err(Error::job("a nexmark table cannot be written: its events are generated")
            .at(format!("table {}", table.name))
            .mend("write to a table of another connector, such as 'blackhole' or 'print'"))
    }

    fn lookup(&self, table: TableContext<'_>, _keys: &[usize]) -> Result<Box<dyn LookupSource>> {
        Err(Error::job("rows of a nexmark table cannot be looked up by key")
            .at(format!("table {}", table.name))
            .mend("join without FOR SYSTEM_TIME AS OF"))
    }
}

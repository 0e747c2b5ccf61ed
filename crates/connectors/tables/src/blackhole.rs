//! `blackhole`: takes everything and keeps nothing.

use crate::refusal;
use flugs_batch::ChangeBatch;
use flugs_connector::{BlackholeSink, Sink};
use flugs_table::{
    ChangelogMode, LookupSource, OptionSpec, TableContext, TableFactory, TableSink, TableSource,
};
use flugs_types::Result;

/// Makes the tables of `'connector' = 'blackhole'`. There are no options.
#[derive(Debug, Clone, Copy)]
pub struct BlackholeTables;

impl TableFactory for BlackholeTables {
    fn identifier(&self) -> &'static str {
        "blackhole"
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[]
    }

    fn source(&self, table: TableContext<'_>) -> Result<Box<dyn TableSource>> {
        Err(refusal::read("blackhole", table))
    }

    fn sink(&self, _table: TableContext<'_>) -> Result<Box<dyn TableSink>> {
        Ok(Box::new(Blackhole))
    }

    fn lookup(&self, table: TableContext<'_>, _keys: &[usize]) -> Result<Box<dyn LookupSource>> {
        Err(refusal::look_up("blackhole", table))
    }
}

struct Blackhole;

impl TableSink for Blackhole {
    /// Updates need not be made complete for nobody: as in Flink, what was before is not asked for.
    fn changelog_mode(&self, query: ChangelogMode) -> ChangelogMode {
        match query {
            ChangelogMode::Append => ChangelogMode::Append,
            ChangelogMode::Upsert | ChangelogMode::Retract => ChangelogMode::Upsert,
        }
    }

    fn supports_overwrite(&self) -> bool {
        true
    }

    fn sink(&self, _overwrite: bool) -> Result<Box<dyn Sink<Item = ChangeBatch>>> {
        Ok(Box::new(BlackholeSink::new()))
    }
}

//! SQL connectors that need nothing from outside: `blackhole`, `print`, `datagen` and `memory`, and [`RowsTable`], which reads rows
//! that are there already (`VALUES`, collected results).

mod blackhole;
mod datagen;
mod memory;
mod print;
mod refusal;
mod rows;
#[cfg(test)]
mod testing;

pub use blackhole::BlackholeTables;
pub use datagen::DatagenTables;
pub use memory::MemoryTables;
pub use print::PrintTables;
pub use rows::RowsTable;

use flugs_table::Registry;

/// Adds all connectors of this crate. Whoever is to look at the tables of `memory` adds a [`MemoryTables`] of their own behind
/// this.
pub fn register(registry: &mut Registry) {
    registry
        .add_connector(BlackholeTables)
        .add_connector(PrintTables)
        .add_connector(DatagenTables)
        .add_connector(MemoryTables::new());
}

//! SQL connectors that need nothing from outside: `blackhole`, `print`, `datagen`, `memory`, and rows that are there already.

mod blackhole;
mod print;
mod refusal;

pub use blackhole::BlackholeTables;
pub use print::PrintTables;

use flugs_table::Registry;

/// Adds all connectors of this crate.
pub fn register(registry: &mut Registry) {
    registry.add_connector(BlackholeTables).add_connector(PrintTables);
}

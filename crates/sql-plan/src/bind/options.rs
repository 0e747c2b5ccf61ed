//! Whether a table's options are those that its connector and its format know.

use crate::error::{PlanResult, lower};
use flugs_table::{Options, Registry, TableFactory};

/// Checks the options of a table: an unknown one is an error that names the nearest known one.
pub(crate) fn check(
    registry: &Registry,
    factory: &dyn TableFactory,
    options: &Options,
    table: &str,
) -> PlanResult<()> {
    let mut own = options.clone();
    own.remove("connector");
    let place = format!("table {table}");
    if factory.has_format()
        && let Some(name) = own.remove("format")
    {
        let prefix = format!("{name}.");
        let of_format = own.with_prefix(&prefix);
        for (key, _) in of_format.iter() {
            own.remove(&format!("{prefix}{key}"));
        }
        // Formats that a connector has of its own are its own to check.
        if let Ok(format) = registry.format(&name) {
            of_format.check(format.options(), &format!("format {name} of {place}")).map_err(lower)?;
        }
    }
    own.check(factory.options(), &place).map_err(lower)
}

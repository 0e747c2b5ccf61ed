//! Whether a table's options are those that its connector and its format know.

use crate::error::{PlanResult, lower, semantic};
use flugs_table::{OnMalformed, Options, Registry, TableFactory};

/// What becomes of rows of a table that come too late: said to the planner, not to a connector.
const LATE: &str = "late";

/// The table that late rows go to, as it is written, if the options say something of them: `drop` or `route:TABLE`.
pub(crate) fn late(options: &Options) -> PlanResult<Option<Option<&str>>> {
    let Some(value) = options.get(LATE).map(str::trim) else { return Ok(None) };
    if value == "drop" {
        return Ok(Some(None));
    }
    match value.strip_prefix("route:").map(str::trim).filter(|table| !table.is_empty()) {
        Some(table) => Ok(Some(Some(table))),
        None => Err(semantic(format!("the option 'late' is 'drop' or 'route:TABLE', not '{value}'"))
            .help("write 'late' = 'route:t' to have late rows written to table t")),
    }
}

/// Checks the options of a table: an unknown one is an error that names the nearest known one.
pub(crate) fn check(
    registry: &Registry,
    factory: &dyn TableFactory,
    options: &Options,
    table: &str,
) -> PlanResult<()> {
    let mut own = options.clone();
    own.remove("connector");
    own.remove(LATE);
    own.remove(OnMalformed::KEY);
    OnMalformed::of(options).map_err(lower)?;
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

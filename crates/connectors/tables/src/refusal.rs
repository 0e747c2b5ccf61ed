//! What a connector cannot do.

use flugs_table::TableContext;
use flugs_types::Error;

pub(crate) fn read(connector: &str, table: TableContext<'_>) -> Error {
    refused(connector, "read", table)
}

pub(crate) fn write(connector: &str, table: TableContext<'_>) -> Error {
    refused(connector, "written", table)
}

pub(crate) fn look_up(connector: &str, table: TableContext<'_>) -> Error {
    refused(connector, "looked up in", table)
}

fn refused(connector: &str, what: &str, table: TableContext<'_>) -> Error {
    Error::job(format!("a table of the connector '{connector}' cannot be {what}"))
        .at(format!("table {}", table.name))
}

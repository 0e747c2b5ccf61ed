//! The connectors and formats that the command knows.

use flugs_table::Registry;

/// All of them.
pub fn registry() -> Registry {
    let mut registry = Registry::new();
    flugs_tables::register(&mut registry);
    flugs_files::table::register(&mut registry);
    flugs_nexmark::table::register(&mut registry);
    flugs_socket::table::register(&mut registry);
    flugs_formats::columns::register(&mut registry);
    registry
}

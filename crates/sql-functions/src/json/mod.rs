//! JSON: documents in strings.
//!
//! The parser turns the special syntax of SQL into calls; words are string literals:
//!
//! | syntax | call |
//! | --- | --- |
//! | `JSON_EXISTS(j, p e ON ERROR)` | `json_exists(j, p, 'FALSE' or 'TRUE' or 'UNKNOWN' or 'ERROR')` |
//! | `JSON_VALUE(j, p RETURNING t a ON EMPTY b ON ERROR)` | `json_value(j, p, 'type', 'NULL' or 'ERROR' or 'DEFAULT', default, the same two for errors)` |
//! | `JSON_QUERY(j, p RETURNING t WITH w WRAPPER a ON EMPTY b ON ERROR)` | `json_query(j, p, 'type', 'WITHOUT' or 'CONDITIONAL' or 'UNCONDITIONAL', on empty, on error)` |
//! | `JSON_OBJECT(k VALUE v, ...)` | `json_object_null_on_null(k, v, ...)`, `json_object_absent_on_null(k, v, ...)` |
//! | `JSON_ARRAY(v, ...)` | `json_array_absent_on_null(v, ...)`, `json_array_null_on_null(v, ...)` |
//! | `x IS JSON`, `IS JSON SCALAR` ... | `is_json_value(x)`, `is_json_scalar(x)`, `is_json_array(x)`, `is_json_object(x)` |
//!
//! All arguments behind the path may be left out. Paths are those of [`path`]. What `JSON_OBJECT`, `JSON_ARRAY` and `JSON` give
//! is known by its field's metadata and put into other documents as it is, not as a string. Text behind a document makes it
//! invalid, where Flink looks at the first value alone; what cannot be converted to the type of `RETURNING` is an error that
//! `ON ERROR` decides about.

mod build;
mod encode;
mod filter;
mod path;
mod query;
mod value;

#[cfg(test)]
mod tests;

use crate::registry::FunctionRegistry;

/// Adds the functions of this module.
pub(crate) fn register(registry: &mut FunctionRegistry) {
    query::register(registry);
    build::register(registry);
}

/// The key of a field's metadata that says that its strings are JSON documents.
const MARK: (&str, &str) = ("flugs.json", "document");

//! The built-in functions of SQL.

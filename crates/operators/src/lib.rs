//! Typed operators: process functions, windows, joins, async I/O, broadcast.

//! Logical graphs and chained job graphs as plain data.

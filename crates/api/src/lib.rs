//! Fluent DataStream programs.

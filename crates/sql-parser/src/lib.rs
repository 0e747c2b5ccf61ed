//! Flink's SQL dialect.

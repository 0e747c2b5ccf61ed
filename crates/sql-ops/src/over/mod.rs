//! Aggregates and ranks over the rows around each row (`OVER`).

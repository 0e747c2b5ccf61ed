//! Rows with a time to live.

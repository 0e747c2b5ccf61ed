//! Top-N and deduplication.

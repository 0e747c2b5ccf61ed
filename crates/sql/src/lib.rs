//! SQL sessions.

//! Flugs.

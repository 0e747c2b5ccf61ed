//! Checkpoint stores over object stores.

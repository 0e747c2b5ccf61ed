//! Sessions: windows of a key that grow while its rows follow each other closely.

mod assign;
mod ends;
mod sessions;
mod state;

pub use assign::{SessionAssign, SessionAssignSpec};

//! Derived types: their bytes, their schemas, and old state read by new types.

#[path = "derive/evolution.rs"]
mod evolution;
#[path = "derive/shapes.rs"]
mod shapes;

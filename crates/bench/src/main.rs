//! Benchmarks that print.
fn main() {}

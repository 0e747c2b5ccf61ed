//! The command `flugs`.

fn main() {}

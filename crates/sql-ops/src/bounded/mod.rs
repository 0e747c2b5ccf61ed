//! Operators of batch mode: they see all of a bounded input, give results once, and spill to disk.

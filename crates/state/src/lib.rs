//! Typed keyed and operator state, timers, time to live and the heap backend.

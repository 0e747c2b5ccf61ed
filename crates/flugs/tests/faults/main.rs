//! Bad input and faults of all kinds: errors name the place and the mend, and what follows is exact.
#![allow(clippy::unwrap_used, reason = "what a test cannot set up fails it")]

mod damage;
mod disks;
mod files;
mod kills;
mod kit;
mod owners;
mod panics;
mod records;
mod state;

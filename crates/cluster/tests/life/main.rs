//! The life of a job: how it is cancelled, drained, started again and dropped, in each of its phases.
#![allow(clippy::unwrap_used, reason = "tests")]

mod ask;
mod cancel;
mod failure;
mod jobs;
mod scale;
mod splits;

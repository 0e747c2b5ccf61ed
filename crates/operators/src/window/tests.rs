//! Windows of every kind, under every mode of the harness, against oracles that recompute from scratch.

mod aligned;
mod errors;
mod functions;
mod harness;
mod joins;
mod oracle;
mod processing_time;
mod sessions;
mod speed;
mod triggers;

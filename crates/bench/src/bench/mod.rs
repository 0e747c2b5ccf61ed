//! The benchmarks, a file each, and the hand-written loops beside them.

pub(crate) mod checkpoint_pause;
mod folder;
pub(crate) mod hand_sum;
mod hand_table;
pub(crate) mod hand_words;
pub(crate) mod idle_jobs;
pub(crate) mod latency;
pub(crate) mod peers;
pub(crate) mod sources;
pub(crate) mod startup;
pub(crate) mod state;
pub(crate) mod tumbling_sum;
pub(crate) mod word_count;

use flugs::{Environment, Runtime};

/// A program on a runtime of its own, with this many workers and this parallelism. Workers run before any clock does.
fn environment(name: &str, workers: u64) -> Environment {
    let env = Environment::new(name);
    env.runtime(&Runtime::with_workers(workers as usize)).set_parallelism(workers as u32);
    env
}

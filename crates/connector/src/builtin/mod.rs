//! The tiny sources and sinks that need nothing from outside: generators, collections, channels into and out
//! of the embedding program, print, blackhole and memory.
//!
//! They are also the reference for the contracts of this crate: positions valid at every row, splits that
//! survive another parallelism, commits that may be repeated.

mod assign_once;
mod blackhole;
mod callback;
mod channel;
mod collection;
mod datagen;
mod draw;
mod generator;
mod index_split;
mod memory;
mod pace;
mod print;
mod sealed_batch;
#[cfg(test)]
mod sink_tests;
#[cfg(test)]
mod testing;
mod throttled;

pub use blackhole::BlackholeSink;
pub use callback::CallbackSink;
pub use channel::{ChannelSource, SendError, Sender, channel_source};
pub use collection::CollectionSource;
pub use datagen::DataGen;
pub use draw::{Draw, Zipf};
pub use generator::GeneratorSource;
pub use memory::MemorySink;
pub use print::PrintSink;
pub use sealed_batch::BatchId;
pub use throttled::Throttled;

use flugs_batch::Records;
use flugs_types::Timestamp;

/// At most so many rows in one batch of a built-in source.
const BATCH_ROWS_MAX: usize = 4096;
/// At least so many, however large a row is.
const BATCH_ROWS_MIN: usize = 64;
/// About so many bytes in one batch.
const BATCH_BYTES: usize = 64 << 10;

/// How many rows of type `T` make a batch: 64 KiB, within bounds. What rows hold on the heap is not counted.
fn batch_rows<T>() -> usize {
    (BATCH_BYTES / (size_of::<T>() + size_of::<Timestamp>())).clamp(BATCH_ROWS_MIN, BATCH_ROWS_MAX)
}

/// Moves `rows` behind those of `to`, whether or not they can be encoded.
fn append<T>(to: &mut Records<T>, mut rows: Records<T>) {
    if to.is_empty() {
        *to = rows;
        return;
    }
    to.values.append(&mut rows.values);
    to.times.append(&mut rows.times);
}

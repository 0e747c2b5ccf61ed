//! How to measure other engines on the same rows. They are no dependencies of this program.

use crate::figures::Table;
use crate::options::Options;
use flugs::Result;

const HOW: &str = "\
The peers (timely with hand-written operators, differential-dataflow, renoir) and the hand-written loops with SIMD are a
Cargo workspace of their own, so that none of them becomes a dependency. With its folder at hand:
  crates/bench/peers.sh FOLDER [EVENTS [TARGET_DIR]]
builds it with target-cpu=native and prints their lines in the columns of this table. The rows are those of
tumbling-sum, hand-sum and word-count here; run those in the same hour, on a machine that does nothing else.
Flink: see the README of the harness that runs it; its window and latency jobs have the shape of tumbling-sum and latency.";

pub(crate) fn run(_: &Options, table: &mut Table) -> Result<()> {
    table.comment(HOW);
    Ok(())
}

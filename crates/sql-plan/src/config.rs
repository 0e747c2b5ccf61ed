//! The options of a session that planning looks at.

use flugs_operators::{AsyncOptions, Retry};
use std::num::NonZeroU32;
use std::time::Duration;

/// How bounded inputs are run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RuntimeMode {
    /// As streams: results change as rows come.
    #[default]
    Streaming,
    /// Results once, when all is read. All inputs must be bounded.
    Batch,
    /// Batch where all inputs are bounded.
    Automatic,
}

/// In how many phases aggregates are computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AggregatePhases {
    /// Two where that pays: for windows, for groups in bundles, and in batch mode; the first steps aside where keys do not repeat.
    #[default]
    Auto,
    /// One.
    One,
    /// Two wherever possible.
    Two,
}

/// How functions that wait are called: `table.exec.async-scalar.*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsyncScalarConfig {
    /// How many rows of a subtask wait at a time.
    pub capacity: usize,
    /// How long a row may take, all tries together.
    pub timeout: Duration,
    /// How often a call is tried.
    pub attempts: u32,
    /// The pause between two tries.
    pub delay: Duration,
}

/// Flink's.
impl Default for AsyncScalarConfig {
    fn default() -> Self {
        AsyncScalarConfig {
            capacity: 10,
            timeout: Duration::from_secs(180),
            attempts: 3,
            delay: Duration::from_millis(100),
        }
    }
}

impl AsyncScalarConfig {
    /// For the operator that calls them.
    pub(crate) fn options<U>(&self) -> AsyncOptions<U> {
        let options = AsyncOptions::ordered().capacity(self.capacity).timeout(self.timeout);
        match self.attempts {
            0 | 1 => options,
            attempts => options.retry(Retry::fixed(attempts, self.delay)),
        }
    }
}

/// How much memory an operator of batch mode takes in a subtask before it spills, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperatorMemory {
    /// `table.exec.resource.hash-agg.memory`: of each of its two phases.
    pub aggregate: u64,
    /// `table.exec.resource.hash-join.memory`.
    pub join: u64,
    /// `table.exec.resource.sort.memory`: of all that puts rows in order.
    pub sort: u64,
}

/// 128 MiB each, as in Flink.
impl Default for OperatorMemory {
    fn default() -> Self {
        OperatorMemory { aggregate: 128 << 20, join: 128 << 20, sort: 128 << 20 }
    }
}

/// Options of planning.
#[derive(Debug, Clone)]
pub struct PlanConfig {
    /// `execution.runtime-mode`.
    pub mode: RuntimeMode,
    /// `parallelism.default` or `table.exec.resource.default-parallelism`.
    pub parallelism: u32,
    /// `table.local-time-zone`.
    pub time_zone: String,
    /// `table.exec.state.ttl`; none is for ever.
    pub state_ttl: Option<Duration>,
    /// Whether state that expires takes its results back (`table.exec.state.ttl.retract`, an option of our own).
    pub retract_on_expiry: bool,
    /// `table.exec.emit.early-fire.delay` where early firing is enabled.
    pub early_fire: Option<Duration>,
    /// `table.exec.mini-batch.*`: rows and time that a bundle may take besides a batch.
    pub mini_batch: Option<(u64, Duration)>,
    /// `table.optimizer.agg-phase-strategy`.
    pub aggregate_phases: AggregatePhases,
    /// Over how many buckets the distinct values of a group are spread: `table.optimizer.distinct-agg.split.*`, where enabled.
    pub distinct_buckets: Option<NonZeroU32>,
    /// Where late rows go, if anywhere: a table's name.
    pub late_table: Option<String>,
    /// Whether rows with NULL for a column that is NOT NULL are left out (`table.exec.sink.not-null-enforcer`), or an error.
    pub drop_nulls: bool,
    /// How functions that wait are called.
    pub async_scalar: AsyncScalarConfig,
    /// `table.exec.resource.*.memory`.
    pub memory: OperatorMemory,
}

impl Default for PlanConfig {
    fn default() -> Self {
        PlanConfig {
            mode: RuntimeMode::Streaming,
            parallelism: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
            time_zone: "UTC".to_owned(),
            state_ttl: None,
            retract_on_expiry: false,
            early_fire: None,
            mini_batch: None,
            aggregate_phases: AggregatePhases::Auto,
            distinct_buckets: None,
            late_table: None,
            drop_nulls: false,
            async_scalar: AsyncScalarConfig::default(),
            memory: OperatorMemory::default(),
        }
    }
}

impl PlanConfig {
    /// The session's zone, where it is another than UTC.
    pub fn zone(&self) -> Option<String> {
        (self.time_zone != "UTC").then(|| self.time_zone.clone())
    }
    /// How long state is kept after its last change, by a hint or the session; none is for ever.
    pub fn time_to_live(&self, hint: Option<Duration>) -> Option<Duration> {
        hint.or(self.state_ttl).filter(|ttl| !ttl.is_zero())
    }
}

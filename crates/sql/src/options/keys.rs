//! The keys of a session.

use flugs_table::{OptionKind, OptionSpec};

/// The most subtasks that an operator may have.
pub(super) const PARALLELISM_MAX: u32 = 32_768;

/// What is made of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyUse {
    /// It does what it says.
    Used,
    /// Flink's, which may be set and does nothing here; and why.
    Ignored(&'static str),
    /// Flink's, which cannot be had here; and why.
    Refused(&'static str),
    /// Another name of this key.
    Alias(&'static str),
}

/// A key of a session.
#[derive(Debug, Clone, Copy)]
pub struct SessionKey {
    /// Key, kind, default and what it does.
    pub spec: OptionSpec,
    /// What is made of it.
    pub usage: KeyUse,
}

const fn used(
    key: &'static str,
    kind: OptionKind,
    default: Option<&'static str>,
    doc: &'static str,
) -> SessionKey {
    SessionKey { spec: OptionSpec { key, kind, default, doc }, usage: KeyUse::Used }
}

const fn ignored(key: &'static str, kind: OptionKind, why: &'static str) -> SessionKey {
    SessionKey { spec: OptionSpec { key, kind, default: None, doc: why }, usage: KeyUse::Ignored(why) }
}

const fn refused(key: &'static str, why: &'static str) -> SessionKey {
    SessionKey {
        spec: OptionSpec { key, kind: OptionKind::String, default: None, doc: why },
        usage: KeyUse::Refused(why),
    }
}

const fn alias(key: &'static str, of: &'static str) -> SessionKey {
    let doc = "another name, which Flink knows too";
    SessionKey {
        spec: OptionSpec { key, kind: OptionKind::String, default: None, doc },
        usage: KeyUse::Alias(of),
    }
}

use OptionKind::{Boolean, Double, Duration, Enum, Integer, Memory, String};

const NO_GENERATED_CODE: &str = "expressions run over columns, and no code is generated";
const ONE_PROCESS: &str = "a session and its jobs are one process";
const STATE_IN_MEMORY: &str = "there is one way in which state is kept";
const NO_JARS: &str = "functions and connectors are written in Rust and built in";

/// All keys that a session knows, in order.
#[rustfmt::skip]
pub const SESSION_KEYS: &[SessionKey] = &[
    ignored("blob.server.port", String, ONE_PROCESS),
    ignored("execution.async-state.active-buffer-size", Integer, STATE_IN_MEMORY),
    ignored("execution.async-state.active-buffer-timeout", Duration, STATE_IN_MEMORY),
    ignored("execution.async-state.total-buffer-size", Integer, STATE_IN_MEMORY),
    ignored("execution.attached", Boolean, ONE_PROCESS),
    ignored("execution.batch-shuffle-mode", String, "results of bounded inputs are never kept between stages"),
    ignored("execution.batch-state-backend.enabled", Boolean, "there is one way in which rows are sorted and spilled"),
    ignored("execution.buffer-timeout", Duration, "batches go on as soon as a task has nothing else to do"),
    ignored("execution.buffer-timeout.enabled", Boolean, "batches go on as soon as a task has nothing else to do"),
    ignored("execution.buffer-timeout.interval", Duration, "batches go on as soon as a task has nothing else to do"),
    ignored("execution.checkpointing.cleaner.parallel-mode", Boolean, "a checkpoint is few files, each written whole"),
    ignored("execution.checkpointing.create-subdir", Boolean, "a checkpoint is few files, each written whole"),
    ignored("execution.checkpointing.data-inline-threshold", Memory, "a checkpoint is few files, each written whole"),
    used("execution.checkpointing.dir", String, None, "the folder of checkpoints; without one they are kept in memory"),
    ignored("execution.checkpointing.externalized-checkpoint-retention", String, "the newest checkpoints always stay"),
    ignored("execution.checkpointing.file-merging.across-checkpoint-boundary", Boolean, "a checkpoint is few files, each written whole"),
    ignored("execution.checkpointing.file-merging.enabled", Boolean, "a checkpoint is few files, each written whole"),
    ignored("execution.checkpointing.file-merging.max-file-size", Memory, "a checkpoint is few files, each written whole"),
    ignored("execution.checkpointing.file-merging.max-space-amplification", Double, "a checkpoint is few files, each written whole"),
    ignored("execution.checkpointing.file-merging.max-subtasks-per-file", Integer, "a checkpoint is few files, each written whole"),
    ignored("execution.checkpointing.file-merging.pool-blocking", Boolean, "a checkpoint is few files, each written whole"),
    ignored("execution.checkpointing.incremental", Boolean, "checkpoints are always incremental where that saves anything"),
    used("execution.checkpointing.interval", Duration, None, "from the start of a checkpoint to that of the next; without one there are none but the last"),
    ignored("execution.checkpointing.max-concurrent-checkpoints", Integer, "there is one checkpoint at a time"),
    used("execution.checkpointing.min-pause", Duration, Some("0 ms"), "from the end of a checkpoint to the start of the next, at least"),
    used("execution.checkpointing.mode", Enum(&["EXACTLY_ONCE"]), Some("EXACTLY_ONCE"), "what a checkpoint guarantees"),
    used("execution.checkpointing.num-retained", Integer, Some("3"), "how many checkpoints are kept"),
    used("execution.checkpointing.savepoint-dir", String, None, "the folder of savepoints, which must be that of checkpoints"),
    ignored("execution.checkpointing.storage", Enum(&["jobmanager", "filesystem"]), "'execution.checkpointing.dir' says where checkpoints are"),
    used("execution.checkpointing.timeout", Duration, Some("10 min"), "how long a checkpoint may take"),
    used("execution.checkpointing.tolerable-failed-checkpoints", Integer, Some("0"), "how many checkpoints in a row may fail"),
    ignored("execution.checkpointing.unaligned.enabled", Boolean, "checkpoints are aligned"),
    ignored("execution.checkpointing.write-buffer-size", Memory, "a checkpoint is few files, each written whole"),
    used("execution.runtime-mode", Enum(&["streaming", "batch", "automatic"]), Some("streaming"), "whether results change as rows come, or come once at the end"),
    alias("execution.savepoint.ignore-unclaimed-state", "execution.state-recovery.ignore-unclaimed-state"),
    alias("execution.savepoint.path", "execution.state-recovery.path"),
    ignored("execution.shutdown-on-attached-exit", Boolean, ONE_PROCESS),
    ignored("execution.sort-keyed-partition.memory", Memory, "there is one way in which rows are sorted and spilled"),
    ignored("execution.sort-partition.memory", Memory, "there is one way in which rows are sorted and spilled"),
    ignored("execution.sorted-inputs.enabled", Boolean, "there is one way in which rows are sorted and spilled"),
    ignored("execution.sorted-inputs.memory", Memory, "there is one way in which rows are sorted and spilled"),
    ignored("execution.state-recovery.claim-mode", Enum(&["NO_CLAIM", "CLAIM", "LEGACY"]), "a savepoint stays as it is"),
    used("execution.state-recovery.ignore-unclaimed-state", Boolean, Some("false"), "whether state that no operator takes may be dropped"),
    used("execution.state-recovery.path", String, None, "the checkpoint or savepoint that a job starts from, or 'latest'"),
    ignored("execution.target", String, ONE_PROCESS),
    refused("high-availability.type", ONE_PROCESS),
    ignored("jobmanager.memory.process.size", Memory, ONE_PROCESS),
    used("parallelism.default", Integer, None, "how many subtasks operators have; the number of cores where it is not set"),
    ignored("pipeline.auto-generate-uids", Boolean, "state is addressed by what it means"),
    ignored("pipeline.auto-watermark-interval", Duration, "watermarks follow the rows"),
    ignored("pipeline.closure-cleaner-level", String, "values are encoded by their types alone"),
    ignored("pipeline.force-avro", Boolean, "values are encoded by their types alone"),
    ignored("pipeline.force-kryo", Boolean, "values are encoded by their types alone"),
    ignored("pipeline.force-kryo-avro", Boolean, "values are encoded by their types alone"),
    ignored("pipeline.generic-types", Boolean, "values are encoded by their types alone"),
    refused("pipeline.jars", NO_JARS),
    ignored("pipeline.max-parallelism", Integer, "there are 32768 key groups"),
    used("pipeline.name", String, None, "the name of jobs"),
    ignored("pipeline.object-reuse", Boolean, "batches are shared, not copied"),
    ignored("pipeline.operator-chaining.enabled", Boolean, "operators are chained wherever they can be"),
    ignored("pipeline.serialization-config", String, "values are encoded by their types alone"),
    ignored("pipeline.vertex-description-mode", String, "names of operators are short"),
    ignored("pipeline.vertex-name-include-index-prefix", Boolean, "names of operators are short"),
    refused("python.files", NO_JARS),
    ignored("rest.port", Integer, ONE_PROCESS),
    alias("restart-strategy", "restart-strategy.type"),
    used("restart-strategy.exponential-delay.backoff-multiplier", Double, Some("1.5"), "by how much each delay is longer than the one before"),
    used("restart-strategy.exponential-delay.initial-backoff", Duration, Some("1 s"), "the first delay"),
    used("restart-strategy.exponential-delay.max-backoff", Duration, Some("1 min"), "the longest delay"),
    used("restart-strategy.exponential-delay.reset-backoff-threshold", Duration, Some("1 h"), "after so long without a failure the next delay is the first again"),
    used("restart-strategy.failure-rate.delay", Duration, Some("1 s"), "from a failure to the restart"),
    used("restart-strategy.failure-rate.failure-rate-interval", Duration, Some("1 min"), "the interval in which failures are counted"),
    used("restart-strategy.failure-rate.max-failures-per-interval", Integer, Some("1"), "how many failures within the interval are borne"),
    used("restart-strategy.fixed-delay.attempts", Integer, Some("1"), "how many restarts there are"),
    used("restart-strategy.fixed-delay.delay", Duration, Some("1 s"), "from a failure to the restart"),
    used("restart-strategy.type", Enum(&["none", "off", "disable", "fixed-delay", "fixeddelay", "failure-rate", "failurerate", "exponential-delay", "exponentialdelay"]), None, "what happens after a failure"),
    used("sql-client.display.print-time-cost", Boolean, Some("true"), "whether the shell says how long a query took"),
    used("sql-client.execution.max-table-result.rows", Integer, Some("1000000"), "how many rows of a changing result are kept; -1 for all"),
    used("sql-client.execution.result-mode", Enum(&["table", "changelog", "tableau"]), Some("table"), "how the shell shows results"),
    used("sql-client.verbose", Boolean, Some("false"), "whether the shell shows all that is known of an error"),
    alias("state.backend", "state.backend.type"),
    ignored("state.backend.incremental", Boolean, "checkpoints are always incremental where that saves anything"),
    ignored("state.backend.type", String, STATE_IN_MEMORY),
    alias("state.checkpoints.dir", "execution.checkpointing.dir"),
    alias("state.checkpoints.num-retained", "execution.checkpointing.num-retained"),
    alias("state.savepoints.dir", "execution.checkpointing.savepoint-dir"),
    ignored("table.catalog-modification.listeners", String, NO_JARS),
    used("table.dml-sync", Boolean, Some("false"), "whether INSERT waits for its job"),
    used("table.exec.async-scalar.max-attempts", Integer, Some("3"), "how often a call of a function that waits is tried"),
    used("table.exec.async-scalar.max-concurrent-operations", Integer, Some("10"), "how many rows of a subtask wait for functions at a time"),
    used("table.exec.async-scalar.retry-delay", Duration, Some("100 ms"), "the pause before a call is tried again"),
    used("table.exec.async-scalar.retry-strategy", Enum(&["NO_RETRY", "FIXED_DELAY"]), Some("FIXED_DELAY"), "whether calls that fail are tried again"),
    used("table.exec.async-scalar.timeout", Duration, Some("3 min"), "how long a row may wait for functions, all tries together"),
    ignored("table.exec.async-state.enabled", Boolean, STATE_IN_MEMORY),
    ignored("table.exec.delta-join.cache-enabled", Boolean, "joins run as the text has them"),
    ignored("table.exec.delta-join.left.cache-size", Integer, "joins run as the text has them"),
    ignored("table.exec.delta-join.right.cache-size", Integer, "joins run as the text has them"),
    used("table.exec.emit.early-fire.delay", Duration, None, "how often windows tell what they have, before they close"),
    used("table.exec.emit.early-fire.enabled", Boolean, Some("false"), "whether windows tell what they have before they close"),
    refused("table.exec.emit.late-fire.enabled", "a window that has closed is gone: late rows are counted, or routed to a table"),
    used("table.exec.late-rows.table", String, None, "the table to which rows go that come too late (an option of our own)"),
    ignored("table.exec.legacy-cast-behaviour", Enum(&["ENABLED", "DISABLED"]), "a failing CAST is always an error"),
    ignored("table.exec.local-hash-agg.adaptive.distinct-value-rate-threshold", Double, "a first phase steps aside by itself where it does not pay"),
    ignored("table.exec.local-hash-agg.adaptive.enabled", Boolean, "a first phase steps aside by itself where it does not pay"),
    ignored("table.exec.local-hash-agg.adaptive.sampling-threshold", Integer, "a first phase steps aside by itself where it does not pay"),
    used("table.exec.mini-batch.allow-latency", Duration, Some("0 ms"), "how long rows may wait to be handled together"),
    used("table.exec.mini-batch.enabled", Boolean, Some("false"), "whether rows wait to be handled together"),
    used("table.exec.mini-batch.size", Integer, None, "how many rows are handled together at most"),
    ignored("table.exec.operator-fusion-codegen.enabled", Boolean, NO_GENERATED_CODE),
    ignored("table.exec.rank.topn-cache-size", Integer, "all rows of a rank are in memory"),
    used("table.exec.resource.default-parallelism", Integer, Some("-1"), "how many subtasks operators of queries have; -1 for 'parallelism.default'"),
    ignored("table.exec.resource.external-buffer-memory", Memory, "there is one way in which rows are sorted and spilled"),
    used("table.exec.resource.hash-agg.memory", Memory, Some("128 mb"), "what a subtask of an aggregate may take in batch mode before it spills"),
    used("table.exec.resource.hash-join.memory", Memory, Some("128 mb"), "what a subtask of a join may take in batch mode before it spills"),
    used("table.exec.resource.sort.memory", Memory, Some("128 mb"), "what a subtask of a sort, rank or OVER may take in batch mode before it spills"),
    ignored("table.exec.simplify-operator-name-enabled", Boolean, "names of operators are short"),
    ignored("table.exec.sink.keyed-shuffle", String, "rows of a key go to one subtask of a sink wherever the plan needs it"),
    used("table.exec.sink.not-null-enforcer", Enum(&["ERROR", "DROP"]), Some("ERROR"), "what becomes of rows with NULL for a column that is NOT NULL: the job fails, or they are counted and left out"),
    ignored("table.exec.sink.upsert-materialize", Enum(&["NONE", "AUTO", "FORCE"]), "rows are put in order by key wherever the plan needs it"),
    ignored("table.exec.sort.async-merge-enabled", Boolean, "there is one way in which rows are sorted and spilled"),
    ignored("table.exec.sort.max-num-file-handles", Integer, "there is one way in which rows are sorted and spilled"),
    ignored("table.exec.source.idle-timeout", Duration, "a source says itself that it has no more to read for now; no time needs to pass"),
    ignored("table.exec.spill-compression.block-size", Memory, "there is one way in which rows are sorted and spilled"),
    ignored("table.exec.spill-compression.enabled", Boolean, "spilled rows are not compressed"),
    used("table.exec.state.ttl", Duration, Some("0 ms"), "after how long without a change state goes; 0 for never"),
    used("table.exec.state.ttl.retract", Boolean, Some("false"), "whether state that goes takes its results back (an option of our own)"),
    ignored("table.exec.uid.format", String, "state is addressed by what it means"),
    ignored("table.exec.uid.generation", String, "state is addressed by what it means"),
    ignored("table.exec.unbounded-over.version", Integer, "there is one OVER of unbounded frames"),
    ignored("table.exec.window-agg.buffer-size-limit", Integer, "there is one way in which rows are sorted and spilled"),
    ignored("table.generated-code.max-length", Integer, NO_GENERATED_CODE),
    ignored("table.generated-code.max-members", Integer, NO_GENERATED_CODE),
    used("table.local-time-zone", String, Some("UTC"), "the zone in which points in time are shown and read"),
    ignored("table.optimizer.adaptive-broadcast-join.strategy", String, "joins run as the text has them"),
    used("table.optimizer.agg-phase-strategy", Enum(&["AUTO", "ONE_PHASE", "TWO_PHASE"]), Some("AUTO"), "whether aggregates have two phases"),
    ignored("table.optimizer.bushy-join-reorder-threshold", Integer, "joins run as the text has them"),
    ignored("table.optimizer.delta-join.strategy", String, "joins run as the text has them"),
    used("table.optimizer.distinct-agg.split.bucket-num", Integer, Some("1024"), "over how many buckets the distinct values of a group are spread"),
    used("table.optimizer.distinct-agg.split.enabled", Boolean, Some("false"), "whether the distinct values of a group are spread over tasks"),
    ignored("table.optimizer.dynamic-filtering.enabled", Boolean, "joins run as the text has them"),
    ignored("table.optimizer.incremental-agg-enabled", Boolean, "a first phase steps aside by itself where it does not pay"),
    ignored("table.optimizer.join-reorder-enabled", Boolean, "joins run in the order of the text"),
    ignored("table.optimizer.join.broadcast-threshold", Integer, "joins run as the text has them"),
    ignored("table.optimizer.multi-join.enabled", Boolean, "joins run as the text has them"),
    ignored("table.optimizer.multiple-input-enabled", Boolean, "operators are chained wherever they can be"),
    ignored("table.optimizer.reuse-optimize-block-with-digest-enabled", Boolean, "equal parts of a plan are always one"),
    ignored("table.optimizer.reuse-sink-enabled", Boolean, "equal parts of a plan are always one"),
    ignored("table.optimizer.reuse-source-enabled", Boolean, "equal sources are always one"),
    ignored("table.optimizer.reuse-sub-plan-enabled", Boolean, "equal parts of a plan are always one"),
    ignored("table.optimizer.runtime-filter.enabled", Boolean, "joins run as the text has them"),
    ignored("table.optimizer.runtime-filter.max-build-data-size", Memory, "joins run as the text has them"),
    ignored("table.optimizer.runtime-filter.min-filter-ratio", Double, "joins run as the text has them"),
    ignored("table.optimizer.runtime-filter.min-probe-data-size", Memory, "joins run as the text has them"),
    ignored("table.optimizer.skewed-join-optimization.skewed-factor", Double, "joins run as the text has them"),
    ignored("table.optimizer.skewed-join-optimization.skewed-threshold", Memory, "joins run as the text has them"),
    ignored("table.optimizer.skewed-join-optimization.strategy", String, "joins run as the text has them"),
    ignored("table.optimizer.source.predicate-pushdown-enabled", Boolean, "filters go to sources wherever they can"),
    ignored("table.optimizer.source.report-statistics-enabled", Boolean, "plans do not depend on statistics"),
    ignored("table.optimizer.sql2rel.project-merge.enabled", Boolean, "projections over each other are always one"),
    ignored("table.optimizer.union-all-as-breakpoint-enabled", Boolean, "equal parts of a plan are always one"),
    ignored("table.planner", Enum(&["blink"]), "there is one planner"),
    used("table.sql-dialect", Enum(&["default"]), Some("default"), "the dialect of the text"),
    alias("table.sql-dialect.name", "table.sql-dialect"),
    ignored("taskmanager.memory.managed.size", Memory, ONE_PROCESS),
    ignored("taskmanager.memory.process.size", Memory, ONE_PROCESS),
    ignored("taskmanager.numberOfTaskSlots", Integer, "a task needs no slot"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_there_once_and_aliases_lead_somewhere() {
        let mut keys: Vec<_> = SESSION_KEYS.iter().map(|key| key.spec.key).collect();
        keys.sort_unstable();
        let all = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), all);
        for key in SESSION_KEYS {
            if let KeyUse::Alias(other) = key.usage {
                let target = SESSION_KEYS.iter().find(|k| k.spec.key == other);
                assert!(target.is_some_and(|k| !matches!(k.usage, KeyUse::Alias(_))), "{other}");
            }
        }
    }
}

//! What a session is set to: keys and values by Flink's names, checked when they are set.

mod job;
mod keys;

pub use keys::{KeyUse, SESSION_KEYS, SessionKey};

pub(crate) use job::JobSettings;

use flugs_sql_functions::temporal::Zone;
use flugs_sql_plan::{AggregatePhases, AsyncScalarConfig, PlanConfig, RuntimeMode};
use flugs_table::{OptionKind, Options, nearest};
use flugs_types::{Error, Result};
use std::num::NonZeroU32;
use std::time::Duration;

/// The options of a session. What is not set has its key's default.
#[derive(Debug, Clone, Default)]
pub struct SessionOptions(Options);

/// The key of a name, aliases followed; an error that names the nearest known key where there is none.
fn known(name: &str) -> Result<&'static SessionKey> {
    let found = SESSION_KEYS.iter().find(|key| key.spec.key == name);
    let key = found.ok_or_else(|| {
        let error = Error::job(format!("there is no option '{name}'"));
        let settable = SESSION_KEYS.iter().filter(|key| !matches!(key.usage, KeyUse::Refused(_)));
        match nearest(name, settable.map(|key| key.spec.key)) {
            Some(near) => error.mend(format!("did you mean '{near}'?")),
            None => error.mend("in the shell, Tab behind SET ' lists the keys"),
        }
    })?;
    match key.usage {
        KeyUse::Alias(other) => known(other),
        _ => Ok(key),
    }
}

impl SessionOptions {
    /// Sets an option. Gives what the user should know where Flink's option does nothing here. An error where there is no such
    /// option, the value is none of its values, or it cannot be had here.
    pub fn set(&mut self, name: &str, value: &str) -> Result<Option<String>> {
        let key = known(name)?;
        if let KeyUse::Refused(why) = key.usage {
            return Err(Error::job(format!("option '{name}' cannot be set: {why}")));
        }
        let given: Options = [(key.spec.key.to_owned(), value.to_owned())].into_iter().collect();
        given.check(&[key.spec], "").map_err(|e| Error::job(e.message()))?;
        self.check_range(key, value)?;
        self.0.set(key.spec.key, value);
        Ok(match key.usage {
            KeyUse::Ignored(why) => Some(format!("option '{name}' has no effect: {why}")),
            _ => None,
        })
    }

    fn check_range(&self, key: &SessionKey, value: &str) -> Result<()> {
        let wrong = |expected: &str| {
            Error::job(format!(
                "option '{}' has the value '{value}', and {expected} was expected",
                key.spec.key
            ))
        };
        match key.spec.key {
            "table.local-time-zone" => {
                Zone::parse(if value == "default" { "UTC" } else { value })
                    .map_err(|_| wrong("a time zone such as 'UTC', 'Europe/Berlin' or 'GMT+02:00'"))?;
            }
            "parallelism.default" => {
                let n: i64 = value.trim().parse().map_err(|_| wrong("a whole number"))?;
                if !(1..=i64::from(keys::PARALLELISM_MAX)).contains(&n) {
                    return Err(wrong("a number of subtasks from 1 to 32768"));
                }
            }
            "table.exec.resource.default-parallelism" | "sql-client.execution.max-table-result.rows" => {
                let n: i64 = value.trim().parse().map_err(|_| wrong("a whole number"))?;
                if n < -1 || n > i64::from(i32::MAX) {
                    return Err(wrong("a number from -1 on"));
                }
            }
            "execution.checkpointing.num-retained" if value.trim().parse::<usize>().is_ok_and(|n| n == 0) => {
                return Err(wrong("a number from 1 on"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes an option back to its default.
    pub fn reset(&mut self, name: &str) -> Result<()> {
        let key = known(name)?;
        self.0.remove(key.spec.key);
        Ok(())
    }

    /// Takes all options back to their defaults.
    pub fn reset_all(&mut self) {
        self.0 = Options::new();
    }

    /// What is set, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter()
    }

    /// The value of an option, its default where it is not set; `None` where it has neither, or does not exist.
    pub fn get(&self, name: &str) -> Option<&str> {
        let key = known(name).ok()?;
        self.0.get(key.spec.key).or(key.spec.default)
    }

    pub(crate) fn duration(&self, name: &str) -> Result<Option<Duration>> {
        self.one(name).duration(name)
    }

    /// An option alone, to be read.
    fn one(&self, name: &str) -> Options {
        self.get(name).map(|value| (name.to_owned(), value.to_owned())).into_iter().collect()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.get(name).and_then(|value| value.trim().parse().ok())
    }

    /// The zone of the session.
    pub fn zone(&self) -> Zone {
        self.get("table.local-time-zone").and_then(|name| Zone::parse(name).ok()).unwrap_or(Zone::UTC)
    }

    /// How functions that wait are called.
    fn async_scalar(&self, config: &mut AsyncScalarConfig) -> Result<()> {
        let of = |what: &str| format!("table.exec.async-scalar.{what}");
        let set = |what: &str| self.0.get(&of(what)).is_some();
        if set("max-concurrent-operations") {
            config.capacity = self.number(&of("max-concurrent-operations")).unwrap_or(config.capacity);
        }
        if set("timeout") {
            config.timeout = self.duration(&of("timeout"))?.unwrap_or(config.timeout);
        }
        if set("retry-delay") {
            config.delay = self.duration(&of("retry-delay"))?.unwrap_or(config.delay);
        }
        if set("max-attempts") {
            config.attempts = self.number(&of("max-attempts")).unwrap_or(config.attempts);
        }
        if self.get(&of("retry-strategy")).is_some_and(|strategy| strategy.eq_ignore_ascii_case("NO_RETRY")) {
            config.attempts = 1;
        }
        Ok(())
    }

    fn distinct_buckets(&self) -> Result<NonZeroU32> {
        let key = "table.optimizer.distinct-agg.split.bucket-num";
        self.number::<NonZeroU32>(key).ok_or_else(|| {
            let value = self.get(key).unwrap_or_default();
            Error::job(format!("'{key}' is '{value}', and there must be at least one bucket"))
                .mend(format!("SET '{key}' = '1024'"))
        })
    }

    /// What planning looks at, over `base`.
    pub(crate) fn plan_config(&self, base: &PlanConfig) -> Result<PlanConfig> {
        let mut config = base.clone();
        if self.0.get("execution.runtime-mode").is_some() {
            config.mode = match self.get("execution.runtime-mode").map(str::to_ascii_lowercase).as_deref() {
                Some("batch") => RuntimeMode::Batch,
                Some("automatic") => RuntimeMode::Automatic,
                _ => RuntimeMode::Streaming,
            };
        }
        let of_tables = self.number::<u32>("table.exec.resource.default-parallelism").filter(|n| *n > 0);
        if let Some(parallelism) = of_tables.or_else(|| self.number("parallelism.default")) {
            config.parallelism = parallelism;
        }
        if let Some(zone) = self.0.get("table.local-time-zone").filter(|zone| *zone != "default") {
            config.time_zone = zone.to_owned();
        }
        if let Some(ttl) = self.duration("table.exec.state.ttl")?.filter(|ttl| !ttl.is_zero()) {
            config.state_ttl = Some(ttl);
        }
        if self.flag("table.exec.state.ttl.retract") {
            config.retract_on_expiry = true;
        }
        let enforcer = self.0.get("table.exec.sink.not-null-enforcer");
        if let Some(enforcer) = enforcer {
            config.drop_nulls = enforcer.eq_ignore_ascii_case("DROP");
        }
        if self.flag("table.exec.emit.early-fire.enabled") {
            config.early_fire = self.duration("table.exec.emit.early-fire.delay")?;
        }
        if self.flag("table.exec.mini-batch.enabled") {
            let size = self.number::<u64>("table.exec.mini-batch.size").ok_or_else(|| {
                Error::job(
                    "'table.exec.mini-batch.enabled' is true, and 'table.exec.mini-batch.size' is not set",
                )
                .mend("SET 'table.exec.mini-batch.size' = '5000'")
            })?;
            let latency = self.duration("table.exec.mini-batch.allow-latency")?.filter(|d| !d.is_zero());
            let latency = latency.ok_or_else(|| {
                Error::job("'table.exec.mini-batch.enabled' is true, and 'table.exec.mini-batch.allow-latency' is not set")
                    .mend("SET 'table.exec.mini-batch.allow-latency' = '1 s'")
            })?;
            config.mini_batch = Some((size, latency));
        }
        self.async_scalar(&mut config.async_scalar)?;
        let memory = &mut config.memory;
        for (key, bytes) in [
            ("table.exec.resource.hash-agg.memory", &mut memory.aggregate),
            ("table.exec.resource.hash-join.memory", &mut memory.join),
            ("table.exec.resource.sort.memory", &mut memory.sort),
        ] {
            *bytes = self.one(key).memory(key)?.unwrap_or(*bytes);
        }
        if let Some(table) = self.get("table.exec.late-rows.table") {
            config.late_table = Some(table.to_owned());
        }
        let phases = self.get("table.optimizer.agg-phase-strategy").map(str::to_ascii_uppercase);
        config.aggregate_phases = match phases.as_deref() {
            Some("ONE_PHASE") => AggregatePhases::One,
            Some("TWO_PHASE") => AggregatePhases::Two,
            _ => AggregatePhases::Auto,
        };
        if self.flag("table.optimizer.distinct-agg.split.enabled") {
            config.distinct_buckets = Some(self.distinct_buckets()?);
        }
        Ok(config)
    }
}

/// The words that an option's value may be, for completion; empty where it may be anything.
pub fn values_of(key: &SessionKey) -> &'static [&'static str] {
    match key.spec.kind {
        OptionKind::Boolean => &["true", "false"],
        OptionKind::Enum(words) => words,
        _ => &[],
    }
}

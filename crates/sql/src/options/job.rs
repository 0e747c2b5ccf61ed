//! How jobs are run, by the options of a session.

use super::SessionOptions;
use flugs_api::Environment;
use flugs_checkpoint::CheckpointOptions;
use flugs_cluster::{RestartStrategy, Restore};
use flugs_storage::ObjectBlobs;
use flugs_types::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How jobs are run.
pub(crate) struct JobSettings {
    checkpoints: CheckpointOptions,
    folder: Option<PathBuf>,
    retained: usize,
    restore: Restore,
    allow_non_restored_state: bool,
    restart: Option<RestartStrategy>,
}

impl JobSettings {
    pub(crate) fn of(options: &SessionOptions) -> Result<Self> {
        let time = |key: &str, default: Duration| Ok::<_, Error>(options.duration(key)?.unwrap_or(default));
        let checkpoints = CheckpointOptions {
            interval: options.duration("execution.checkpointing.interval")?.filter(|d| !d.is_zero()),
            timeout: time("execution.checkpointing.timeout", Duration::from_secs(600))?,
            min_pause: time("execution.checkpointing.min-pause", Duration::ZERO)?,
            tolerable_failed: options
                .number("execution.checkpointing.tolerable-failed-checkpoints")
                .unwrap_or(0),
        };
        let folder = options.get("execution.checkpointing.dir").map(folder_of).transpose()?;
        let savepoints = options.get("execution.checkpointing.savepoint-dir").map(folder_of).transpose()?;
        if savepoints.is_some() && savepoints != folder {
            return Err(Error::job(
                "'execution.checkpointing.savepoint-dir' is another folder than that of checkpoints",
            )
            .mend("set 'execution.checkpointing.dir' to it: savepoints lie beside checkpoints"));
        }
        let restore = match options.get("execution.state-recovery.path") {
            None => Restore::No,
            Some("latest") => Restore::Latest,
            Some(path) => Restore::Path(inside(path, folder.as_deref())?),
        };
        if restore != Restore::No && folder.is_none() {
            return Err(Error::job("'execution.state-recovery.path' is set, and no folder of checkpoints")
                .mend("SET 'execution.checkpointing.dir' to the folder in which it is"));
        }
        Ok(JobSettings {
            checkpoints,
            folder,
            retained: options.number("execution.checkpointing.num-retained").unwrap_or(3),
            restore,
            allow_non_restored_state: options.flag("execution.state-recovery.ignore-unclaimed-state"),
            restart: restart(options)?,
        })
    }

    /// Tells a program that writes tables.
    pub(crate) fn apply(&self, program: &Environment) -> Result<()> {
        program.checkpoint_options(self.checkpoints.clone());
        program.retained_checkpoints(self.retained);
        program.restore(self.restore.clone());
        program.allow_non_restored_state(self.allow_non_restored_state);
        if let Some(folder) = &self.folder {
            program.checkpoint_store(Arc::new(ObjectBlobs::folder(folder)?));
        }
        if let Some(restart) = &self.restart {
            program.restart_strategy(restart.clone());
        }
        Ok(())
    }

    /// Tells a program whose rows are read by the session: they cannot be taken back, so it is never started again.
    pub(crate) fn apply_to_query(program: &Environment) {
        program.checkpoint_options(CheckpointOptions { interval: None, ..CheckpointOptions::default() });
        program.restart_strategy(RestartStrategy::None);
    }
}

fn restart(options: &SessionOptions) -> Result<Option<RestartStrategy>> {
    let time = |key: &str| options.duration(key).map(Option::unwrap_or_default);
    let Some(kind) = options.get("restart-strategy.type") else { return Ok(None) };
    Ok(Some(match kind.to_ascii_lowercase().as_str() {
        "fixed-delay" | "fixeddelay" => RestartStrategy::FixedDelay {
            attempts: options.number("restart-strategy.fixed-delay.attempts").unwrap_or(1),
            delay: time("restart-strategy.fixed-delay.delay")?,
        },
        "failure-rate" | "failurerate" => RestartStrategy::FailureRate {
            failures_max: options
                .number("restart-strategy.failure-rate.max-failures-per-interval")
                .unwrap_or(1),
            interval: time("restart-strategy.failure-rate.failure-rate-interval")?,
            delay: time("restart-strategy.failure-rate.delay")?,
        },
        "exponential-delay" | "exponentialdelay" => RestartStrategy::ExponentialDelay {
            initial: time("restart-strategy.exponential-delay.initial-backoff")?,
            max: time("restart-strategy.exponential-delay.max-backoff")?,
            multiplier: options
                .number("restart-strategy.exponential-delay.backoff-multiplier")
                .unwrap_or(1.5),
            reset_after: time("restart-strategy.exponential-delay.reset-backoff-threshold")?,
        },
        _ => RestartStrategy::None,
    }))
}

fn folder_of(uri: &str) -> Result<PathBuf> {
    match uri.split_once("://") {
        None => Ok(PathBuf::from(uri.strip_prefix("file:").unwrap_or(uri))),
        Some(("file", path)) => Ok(PathBuf::from(path)),
        Some((scheme, _)) => Err(Error::job(format!("there is no store for '{scheme}://' in this build"))
            .mend("give the path of a folder, or file:///path")),
    }
}

/// A path of a checkpoint within the folder of checkpoints.
fn inside(path: &str, folder: Option<&Path>) -> Result<String> {
    let given = folder_of(path)?;
    let relative = folder.and_then(|folder| given.strip_prefix(folder).ok()).unwrap_or(&given);
    if relative.is_absolute() {
        return Err(Error::job(format!("'{path}' is not in the folder of checkpoints"))
            .mend("SET 'execution.checkpointing.dir' to the folder in which it is"));
    }
    Ok(relative.display().to_string())
}

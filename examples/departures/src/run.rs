//! Running the job so that it can be killed at any moment: what is found in the output folder decides how it starts.

use crate::job::{OUTPUTS, build};
use crate::options::Options;
use crate::progress::{Progress, table};
use flugs::checkpoint::{ObjectBlobs, catalog};
use flugs::prelude::*;
use flugs::{Error, Result};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// The job's name in its checkpoint folder.
const JOB: &str = "departures";

/// From one progress line to the next.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// Runs the job to its end.
pub fn run(options: &Options) -> Result<()> {
    check_data(&options.data)?;
    let checkpoints = options.out.join("checkpoints");
    let store = Arc::new(ObjectBlobs::folder(&checkpoints)?);
    let _held = hold(&options.out)?;
    check_input(options, store.as_ref())?;
    let env = Environment::new(JOB);
    env.set_parallelism(options.parallelism)
        .checkpoint_store(store)
        .checkpoint_interval(options.checkpoint_interval)
        .restore(options.restore.clone())
        .restart_strategy(RestartStrategy::FixedDelay { attempts: 3, delay: Duration::from_secs(1) });
    build(&env, options);
    let job = env.execute_async()?;
    let mut progress = Progress::new();
    while !job.wait_until(PROGRESS_EVERY, |_| false).status.is_terminal() {
        progress.show(&job);
    }
    let seconds = progress.end();
    let report = job.wait()?;
    write!(io::stdout(), "{}", table(&options.out, &job, &report, seconds))
        .map_err(|e| Error::environment("the closing table could not be printed").caused_by(e))
}

fn check_data(data: &Path) -> Result<()> {
    for file in ["departures.jsonl.gz", "weather.jsonl.gz"] {
        if !data.join(file).is_file() {
            return Err(Error::environment(format!("there is no {file} in {}", data.display()))
                .mend("name a folder that holds departures.jsonl.gz and weather.jsonl.gz with --data"));
        }
    }
    Ok(())
}

/// Keeps a second run out of the output folder while this one is in it: what begins by removing a finished run's results must
/// not meet another that does the same. The operating system lets go when the process ends, in whatever way.
fn hold(out: &Path) -> Result<File> {
    let path = out.join("lock");
    let mend = "name a folder that this process may write to with --out";
    let failed = |e| Error::environment(format!("{} cannot be used", path.display())).caused_by(e).mend(mend);
    let file = File::create(&path).map_err(failed)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(Error::environment(format!("another run is writing to {}", out.display()))
                .mend("wait until it has ended, or name another folder with --out"))
        }
        // Where a file system knows no locks, the checkpoints' generations still tell the runs apart.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// Makes the output folder fit for this run: one that had ended starts anew; an unfinished one must be over the same data.
fn check_input(options: &Options, store: &ObjectBlobs) -> Result<()> {
    let noted = options.out.join("input");
    let data = options.data.canonicalize().unwrap_or_else(|_| options.data.clone()).display().to_string();
    let failed = |e: io::Error| {
        Error::environment(format!("{} cannot be used", noted.display())).caused_by(e).mend(
            "it says which data an unfinished run reads: put it back, or name another folder with --out",
        )
    };
    match catalog::latest(store, JOB)? {
        Some(last) if last.finished => clear(&options.out)?,
        Some(_) => {
            let of = fs::read_to_string(&noted).map_err(failed)?;
            if of != data {
                return Err(Error::environment(format!(
                    "{} holds an unfinished run over {of}",
                    options.out.display()
                ))
                .mend(format!("finish it with --data {of}, or name another folder with --out")));
            }
            return Ok(());
        }
        None => {}
    }
    fs::write(&noted, data).map_err(failed)
}

/// Removes what an earlier run that had ended left. The checkpoints go last and all at once: killed in between, this is done
/// again.
fn clear(out: &Path) -> Result<()> {
    let failed = |folder: &Path, e: io::Error| {
        Error::environment(format!("{} cannot be removed", folder.display()))
            .caused_by(e)
            .mend("it holds an earlier run's results: move it away, or name another folder with --out")
    };
    let remove = |folder: &Path| match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed(folder, e)),
        _ => Ok(()),
    };
    for folder in OUTPUTS {
        remove(&out.join(folder))?;
    }
    let (checkpoints, away) = (out.join(format!("checkpoints/{JOB}")), out.join("checkpoints/.removed"));
    remove(&away)?;
    fs::rename(&checkpoints, &away).map_err(|e| failed(&checkpoints, e))?;
    remove(&away)
}

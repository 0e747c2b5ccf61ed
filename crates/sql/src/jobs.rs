//! The jobs of a session.

use crate::result::SqlJob;
use flugs_cluster::JobHandle;
use flugs_table::nearest;
use flugs_types::{Clock, Error, Result, SystemClock, Timestamp};

/// How many ended jobs are remembered.
const ENDED_MAX: usize = 256;

struct Entry {
    job: SqlJob,
    started: Timestamp,
}

/// The jobs that statements of a session started, ended ones too as long as there are not many.
#[derive(Default)]
pub(crate) struct Jobs {
    entries: Vec<Entry>,
    started: u64,
}

impl Jobs {
    /// Takes a job in, under a new id.
    pub(crate) fn add(&mut self, name: String, is_bounded: bool, handle: JobHandle) -> SqlJob {
        self.started += 1;
        let job = SqlJob { id: format!("job-{}", self.started), name, is_bounded, handle };
        let ended = |entry: &Entry| entry.job.handle.status().is_terminal();
        if self.entries.iter().filter(|entry| ended(entry)).count() >= ENDED_MAX
            && let Some(oldest) = self.entries.iter().position(ended)
        {
            self.entries.remove(oldest);
        }
        self.entries.push(Entry { job: job.clone(), started: SystemClock.now() });
        job
    }

    /// The job of an id.
    pub(crate) fn find(&self, id: &str) -> Result<&SqlJob> {
        self.entries.iter().map(|entry| &entry.job).find(|job| job.id == id).ok_or_else(|| {
            let error = Error::job(format!("there is no job '{id}'"));
            match nearest(id, self.entries.iter().map(|entry| entry.job.id.as_str())) {
                Some(near) => error.mend(format!("did you mean '{near}'? SHOW JOBS lists them all")),
                None => error.mend("SHOW JOBS lists them all"),
            }
        })
    }

    /// All jobs, oldest first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &SqlJob> {
        self.entries.iter().map(|entry| &entry.job)
    }

    /// The jobs as `SHOW JOBS` lists them: id, name, status, start.
    pub(crate) fn rows(&self, only: Option<&str>) -> Vec<Vec<Option<String>>> {
        let wanted = self.entries.iter().filter(|entry| only.is_none_or(|id| entry.job.id == id));
        wanted
            .map(|entry| {
                let status = format!("{:?}", entry.job.handle.status()).to_uppercase();
                let started = entry.started.to_string();
                vec![Some(entry.job.id.clone()), Some(entry.job.name.clone()), Some(status), Some(started)]
            })
            .collect()
    }
}

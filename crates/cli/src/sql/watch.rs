//! What a job gets over while somebody waits for it: failures after which it is started again, and checkpoints that come to nothing.
//!
//! The first is told at once, others at growing distances, so that a job which fails for days does not fill a log.

use super::script::GLANCE;
use flugs_sql::JobReport;

/// Glances between the first two messages.
const FIRST: u32 = glances(10);
/// Glances between two messages at most. After so long without a failure the next is a first one.
const LONGEST: u32 = glances(600);

const fn glances(seconds: u32) -> u32 {
    seconds * 1000 / GLANCE.as_millis() as u32
}

/// What was told of a job.
#[derive(Debug, Default)]
pub struct Watch {
    restarts: u32,
    checkpoints_failed: u64,
    /// Glances since the last message, and that are to go by before the next.
    since: u32,
    pause: u32,
}

impl Watch {
    /// What is to be told of a job that is looked at once a [`GLANCE`].
    pub fn look(&mut self, job: &str, report: &JobReport) -> Option<String> {
        self.since = self.since.saturating_add(1);
        let (restarts, failed) = (report.restarts, report.checkpoints_failed);
        let is_new = (restarts, failed) != (self.restarts, self.checkpoints_failed);
        if !is_new || self.since < self.pause || report.status.is_terminal() {
            return None;
        }
        let cause = report.failure.as_deref().unwrap_or("its cause is not known");
        let told = if restarts > self.restarts {
            format!("warning: job '{job}' has failed and is started again (restart {restarts}): {cause}")
        } else {
            format!("warning: a checkpoint of job '{job}' has failed ({failed} so far): {cause}")
        };
        self.pause = match self.pause {
            pause if pause == 0 || self.since > pause.saturating_add(LONGEST) => FIRST,
            pause => (2 * pause).min(LONGEST),
        };
        (self.restarts, self.checkpoints_failed, self.since) = (restarts, failed, 0);
        Some(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flugs_sql::JobStatus;

    fn report(restarts: u32, checkpoints_failed: u64) -> JobReport {
        JobReport {
            status: JobStatus::Running,
            restarts,
            checkpoints: 0,
            checkpoint: None,
            checkpoint_duration: None,
            checkpoint_bytes: 0,
            checkpoints_failed,
            restored: String::new(),
            restored_from: None,
            failure: Some("the disk is full".to_owned()),
            running_since: None,
        }
    }

    #[test]
    fn the_first_at_once_and_others_at_growing_distances() {
        let mut watch = Watch::default();
        assert_eq!(watch.look("a", &report(0, 0)), None);
        let first = watch.look("a", &report(0, 1)).unwrap_or_default();
        assert_eq!(first, "warning: a checkpoint of job 'a' has failed (1 so far): the disk is full");
        // A failure a second.
        let told = (1..=3600 * 10).filter(|n| watch.look("a", &report(n / 10, 1)).is_some());
        let told: Vec<u32> = told.map(|n| n / 10).collect();
        assert_eq!(told, [10, 30, 70, 150, 310, 630, 1230, 1830, 2430, 3030]);
        assert!((0..2 * LONGEST).any(|_| watch.look("a", &report(3600, 1)).is_some()));
        (0..2 * LONGEST).for_each(|_| assert_eq!(watch.look("a", &report(3600, 1)), None));
        let again = watch.look("a", &report(3601, 1)).unwrap_or_default();
        assert!(
            again.starts_with("warning: job 'a' has failed and is started again (restart 3601)"),
            "{again}"
        );
        assert_eq!((0..200).filter(|_| watch.look("a", &report(3602, 1)).is_some()).count(), 1, "anew");
    }
}

//! Restart strategies: whether and when a failed job is started again. Pure; named as in Flink.

use flugs_types::Timestamp;
use std::collections::VecDeque;
use std::time::Duration;

/// What happens after a failure that trying again may mend. Bad data, a wrong job and state that does not fit fail a job at
/// once, whatever the strategy; so do wrong surroundings (a missing path, a full disk) before its first checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub enum RestartStrategy {
    /// The job fails.
    None,
    /// So many restarts in all, each after the same delay.
    FixedDelay {
        /// How many.
        attempts: u32,
        /// From the failure to the restart.
        delay: Duration,
    },
    /// Any number of restarts, after growing delays.
    ExponentialDelay {
        /// The first delay.
        initial: Duration,
        /// The longest one.
        max: Duration,
        /// By how much each is longer than the one before.
        multiplier: f64,
        /// After running so long without failure, the next delay is the first again.
        reset_after: Duration,
    },
    /// Restarts while there are at most so many failures within an interval.
    FailureRate {
        /// How many failures within `interval` are borne.
        failures_max: u32,
        /// The interval.
        interval: Duration,
        /// From the failure to the restart.
        delay: Duration,
    },
}

impl RestartStrategy {
    /// Flink's default where checkpoints are durable: 1 s, growing by 1.5 up to a minute, reset after an hour.
    pub fn exponential() -> Self {
        RestartStrategy::ExponentialDelay {
            initial: Duration::from_secs(1),
            max: Duration::from_secs(60),
            multiplier: 1.5,
            reset_after: Duration::from_secs(3600),
        }
    }
}

/// A strategy with its history.
#[derive(Debug, Clone)]
pub struct RestartTracker {
    strategy: RestartStrategy,
    failures: VecDeque<Timestamp>,
    count: u32,
    delay: Duration,
}

impl RestartTracker {
    /// No failures yet.
    pub fn new(strategy: RestartStrategy) -> Self {
        RestartTracker { strategy, failures: VecDeque::new(), count: 0, delay: Duration::ZERO }
    }

    /// The clock was set back by so much: failures stay as long ago as they were.
    pub fn set_back(&mut self, by: Duration) {
        self.failures.iter_mut().for_each(|failure| *failure = *failure - by);
    }

    /// The job, started at `started`, has failed at `now`: after which delay it is started again, if it is.
    pub fn failed(&mut self, started: Timestamp, now: Timestamp) -> Option<Duration> {
        self.count += 1;
        match self.strategy {
            RestartStrategy::None => None,
            RestartStrategy::FixedDelay { attempts, delay } => (self.count <= attempts).then_some(delay),
            RestartStrategy::ExponentialDelay { initial, max, multiplier, reset_after } => {
                let grown = Duration::try_from_secs_f64(self.delay.as_secs_f64() * multiplier.max(1.0));
                let grown = grown.map_or(max, |delay| delay.min(max));
                let fresh = self.delay.is_zero() || now.since(started) >= reset_after;
                self.delay = if fresh { initial.min(max) } else { grown };
                Some(self.delay)
            }
            RestartStrategy::FailureRate { failures_max, interval, delay } => {
                self.failures.push_back(now);
                while self.failures.front().is_some_and(|t| now.since(*t) > interval) {
                    self.failures.pop_front();
                }
                (self.failures.len() <= failures_max as usize).then_some(delay)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(strategy: RestartStrategy, failures: &[i64]) -> Vec<Option<u64>> {
        let mut tracker = RestartTracker::new(strategy);
        let mut started = Timestamp::EPOCH;
        let failed = failures.iter().map(|t| {
            let now = Timestamp::from_secs(*t);
            let delay = tracker.failed(started, now);
            started = now;
            delay.map(|d| d.as_millis() as u64)
        });
        failed.collect()
    }

    #[test]
    fn each_strategy() {
        let second = Duration::from_secs(1);
        assert_eq!(delays(RestartStrategy::None, &[1]), [None]);
        assert_eq!(
            delays(RestartStrategy::FixedDelay { attempts: 2, delay: second }, &[1, 2, 3]),
            [Some(1000), Some(1000), None]
        );
        assert_eq!(
            delays(RestartStrategy::exponential(), &[1, 2, 3, 4, 5000, 5001]),
            [Some(1000), Some(1500), Some(2250), Some(3375), Some(1000), Some(1500)]
        );
        let widest = RestartStrategy::ExponentialDelay {
            initial: second,
            max: Duration::MAX,
            multiplier: f64::MAX,
            reset_after: Duration::MAX,
        };
        let longest = Duration::MAX.as_millis() as u64;
        assert_eq!(delays(widest, &[1, 2, 3]), [Some(1000), Some(longest), Some(longest)]);
        let rate = RestartStrategy::FailureRate { failures_max: 2, interval: 10 * second, delay: second };
        assert_eq!(delays(rate, &[1, 5, 20, 21, 22]), [Some(1000), Some(1000), Some(1000), Some(1000), None]);
    }

    #[test]
    fn a_clock_that_is_set_back_makes_old_failures_no_younger() {
        let (second, delay) = (Duration::from_secs(1), Duration::ZERO);
        let strategy = RestartStrategy::FailureRate { failures_max: 1, interval: 10 * second, delay };
        let mut tracker = RestartTracker::new(strategy);
        let hours = |n: i64| Timestamp::from_secs(n * 3600);
        assert_eq!(tracker.failed(hours(2), hours(2)), Some(delay));
        tracker.set_back(3600 * second);
        assert_eq!(tracker.failed(hours(1), hours(1) + 20 * second), Some(delay));
        assert_eq!(tracker.failed(hours(1), hours(1) + 21 * second), None);
    }
}

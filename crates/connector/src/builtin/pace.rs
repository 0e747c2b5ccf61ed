//! When numbered rows are due under a rate.

use flugs_types::{Error, Result};
use std::time::Duration;

/// Rows that become due within this time are emitted together.
const GRAIN: Duration = Duration::from_micros(50);

/// Row `i` is due `(i - first) / rate` seconds after the first poll, whatever was emitted when: after a
/// stall all rows that have become due follow at once.
#[derive(Debug)]
pub(super) struct Pace {
    rate: f64,
    /// The monotonic time of the first poll, and the number that was next then.
    start: Option<(Duration, u64)>,
}

/// Refuses a rate at which nothing can be paced.
pub(super) fn check_rate(rate: f64) -> Result<()> {
    if rate.is_finite() && rate > 0.0 {
        return Ok(());
    }
    Err(Error::job(format!("a rate of {rate} rows a second is not possible"))
        .mend("give a positive number, or no rate for full speed"))
}

impl Pace {
    pub(super) fn new(rate: f64) -> Self {
        Pace { rate, start: None }
    }

    /// All rows below this number are due at `now`; `next` is the first that was not emitted.
    pub(super) fn due_below(&mut self, now: Duration, next: u64) -> u64 {
        let (start, first) = *self.start.get_or_insert((now, next));
        let elapsed = now.saturating_sub(start).as_secs_f64();
        // A float beyond u64 becomes u64::MAX.
        first.saturating_add((elapsed * self.rate) as u64).saturating_add(1)
    }

    /// How long after `now` to look again when `next` is not due yet: when it is, but not so soon that rows come
    /// one by one.
    pub(super) fn wait(&self, now: Duration, next: u64) -> Duration {
        let Some((start, first)) = self.start else { return Duration::ZERO };
        let seconds = next.saturating_sub(first) as f64 / self.rate;
        let due = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        start.saturating_add(due).saturating_sub(now).max(GRAIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn rows_are_due_by_the_time_since_the_first_poll() {
        let mut pace = Pace::new(1000.0);
        assert_eq!(pace.due_below(ms(5000), 70), 71);
        assert_eq!(pace.due_below(ms(5001), 71), 72);
        assert_eq!(pace.due_below(ms(6000), 72), 1071);
        assert_eq!(pace.wait(ms(6000), 1071), ms(1));
        assert_eq!(pace.wait(ms(6000), 1170), ms(100));
    }

    #[test]
    fn looks_again_no_sooner_than_the_grain() {
        let mut pace = Pace::new(1e6);
        assert_eq!(pace.due_below(ms(0), 0), 1);
        assert_eq!(pace.wait(ms(0), 1), GRAIN);
        assert_eq!(pace.due_below(GRAIN, 1), 51);
    }

    #[test]
    fn refuses_rates_that_are_none() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(check_rate(rate).is_err());
        }
        assert!(check_rate(0.001).is_ok());
    }
}

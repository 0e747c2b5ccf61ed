//! When a request is tried again.

use flugs_types::{Error, Result};
use std::sync::Arc;
use std::time::Duration;

type OnError = Arc<dyn Fn(&Error) -> bool + Send + Sync>;
type OnAnswer<U> = Arc<dyn Fn(&[U]) -> bool + Send + Sync>;

/// How often and after what pauses a request is tried, and what is a reason to. Without further words every error is one,
/// and no answer. When all tries are spent, the last error or answer counts.
pub struct Retry<U> {
    tries_max: u32,
    first: Duration,
    longest: Duration,
    factor: f64,
    on_error: OnError,
    on_answer: OnAnswer<U>,
}

impl<U> Clone for Retry<U> {
    fn clone(&self) -> Self {
        let (on_error, on_answer) = (self.on_error.clone(), self.on_answer.clone());
        Retry { on_error, on_answer, ..*self }
    }
}

impl<U> Retry<U> {
    /// Up to `tries_max` tries in all, with this pause between them.
    pub fn fixed(tries_max: u32, pause: Duration) -> Self {
        Self::exponential(tries_max, pause, pause, 1.0)
    }

    /// Up to `tries_max` tries in all. Each pause is `factor` times the one before, up to `longest`.
    pub fn exponential(tries_max: u32, first: Duration, longest: Duration, factor: f64) -> Self {
        let (on_error, on_answer): (OnError, OnAnswer<U>) = (Arc::new(|_| true), Arc::new(|_| false));
        Retry { tries_max, first, longest, factor, on_error, on_answer }
    }

    /// Only these errors are a reason to try again.
    #[must_use]
    pub fn on_error(mut self, retry: impl Fn(&Error) -> bool + Send + Sync + 'static) -> Self {
        self.on_error = Arc::new(retry);
        self
    }

    /// These answers are a reason too.
    #[must_use]
    pub fn on_answer(mut self, retry: impl Fn(&[U]) -> bool + Send + Sync + 'static) -> Self {
        self.on_answer = Arc::new(retry);
        self
    }

    /// How long to wait before the next try, if there is to be one after `tries`.
    pub(super) fn pause_after(&self, tries: u32, outcome: &Result<Vec<U>>) -> Option<Duration> {
        let wanted = match outcome {
            Ok(rows) => (self.on_answer)(rows),
            Err(error) => (self.on_error)(error),
        };
        if !wanted || tries >= self.tries_max {
            return None;
        }
        let exponent = i32::try_from(tries.saturating_sub(1)).unwrap_or(i32::MAX);
        let seconds = self.first.as_secs_f64() * self.factor.powi(exponent);
        let pause = Duration::try_from_secs_f64(seconds).unwrap_or(self.longest);
        Some(pause.min(self.longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let retry: Retry<u8> =
            Retry::exponential(6, Duration::from_millis(100), Duration::from_millis(500), 2.0)
                .on_error(|e| e.message() == "busy")
                .on_answer(|rows| rows.is_empty());
        let pauses = |outcome: Result<Vec<u8>>| {
            (1..=7).map(|tries| retry.pause_after(tries, &outcome)).collect::<Vec<_>>()
        };
        let millis = [Some(100), Some(200), Some(400), Some(500), Some(500), None, None];
        let expected = millis.map(|pause| pause.map(Duration::from_millis));
        assert_eq!(pauses(Err(Error::user("busy"))), expected);
        assert_eq!(pauses(Ok(vec![])), expected);
        assert_eq!(pauses(Err(Error::user("gone"))), [None; 7]);
        assert_eq!(pauses(Ok(vec![1])), [None; 7]);
        let endless: Retry<u8> = Retry::exponential(u32::MAX, Duration::from_secs(1), Duration::MAX, 10.0);
        assert_eq!(endless.pause_after(1 << 30, &Err(Error::user("x"))), Some(Duration::MAX));
    }
}

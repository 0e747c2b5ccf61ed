//! Where time comes from. Nothing in Flugs reads a clock that it was not handed.

use crate::Timestamp;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A source of wall-clock and monotonic time.
pub trait Clock: Send + Sync + 'static {
    /// The wall-clock time, which may jump.
    fn now(&self) -> Timestamp;
    /// Time since an arbitrary fixed point, which never goes back.
    fn monotonic(&self) -> Duration;
}

/// The operating system's clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "the one place that reads the system's wall clock")]
    fn now(&self) -> Timestamp {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX)),
            Err(before) => Timestamp(-i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX)),
        }
    }

    #[allow(clippy::disallowed_methods, reason = "the one place that reads the system's monotonic clock")]
    fn monotonic(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}

/// A clock that stands still until it is moved. Clones share the time.
#[derive(Debug, Clone, Default)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that shows `start`.
    pub fn new(start: Timestamp) -> Self {
        ManualClock(Arc::new(AtomicI64::new(start.0)))
    }

    /// Moves the clock to `to`; an earlier time than the present one is ignored.
    pub fn advance_to(&self, to: Timestamp) {
        self.0.fetch_max(to.0, Ordering::AcqRel);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Acquire))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_micros(u64::try_from(self.now().0).unwrap_or(0))
    }
}

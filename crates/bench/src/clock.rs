//! The clock of measurements.

use flugs_types::{Clock, SystemClock};

/// Monotonic nanoseconds since the first call of this process.
#[inline]
pub(crate) fn now_ns() -> u64 {
    SystemClock.monotonic().as_nanos() as u64
}

/// Seconds since an earlier [`now_ns`].
pub(crate) fn seconds_since(start_ns: u64) -> f64 {
    (now_ns() - start_ns) as f64 / 1e9
}

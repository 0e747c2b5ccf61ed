//! Time to live of state, in processing time, from its last change.
//!
//! State that is found expired counts as absent at once. What nobody asks for is taken away in rounds, four within the time to live,
//! each in slices of bounded work, one a tick; they cease where there is no state.

use flugs_state::Fuel;
use flugs_task::{Counter, OpenContext};
use flugs_types::{Clock, Timestamp};
use std::sync::Arc;
use std::time::Duration;

/// How many bytes of state a slice looks at.
const SLICE_BYTES: usize = 256 << 10;
const ROUNDS: u32 = 4;
const ROUND_MIN: Duration = Duration::from_millis(1);

/// When state of one operator expires, and when it is looked for.
pub(crate) struct TimeToLive {
    ttl: Duration,
    clock: Arc<dyn Clock>,
    expired: Counter,
    next: Option<Timestamp>,
    /// Where the running round has come to.
    cursor: u64,
}

impl TimeToLive {
    /// `restored`: there may be state already.
    pub(crate) fn new(ttl: Duration, context: &OpenContext<'_>) -> Self {
        let clock = context.clock.clone();
        let next = context.state.is_restored().then(|| clock.now());
        TimeToLive { ttl, clock, expired: context.counter("numExpiredState"), next, cursor: 0 }
    }

    /// The time to store with state that changes now: microseconds.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now().0.max(0) as u64
    }

    /// Whether state that was changed last at `changed` is no longer there.
    pub(crate) fn is_expired(&self, changed: u64) -> bool {
        let ends = Timestamp(changed as i64).saturating_add(self.ttl);
        ends <= self.clock.now()
    }

    /// State was changed.
    pub(crate) fn touched(&mut self) {
        if self.next.is_none() {
            self.next = Some(self.clock.now() + (self.ttl / ROUNDS).max(ROUND_MIN));
        }
    }

    /// State that has expired was found.
    pub(crate) fn count(&self, n: usize) {
        self.expired.add(n);
    }

    /// When [`sweep`](Self::sweep) is to be called.
    pub(crate) fn next_tick(&self) -> Option<Timestamp> {
        self.next
    }

    /// There is no state: nothing is to be looked for.
    pub(crate) fn rest(&mut self) {
        (self.next, self.cursor) = (None, 0);
    }

    /// Does a slice of a round: `slice` looks through state from the cursor on and says whether it came to the end (see
    /// `KeyedTable::sweep`).
    pub(crate) fn sweep(&mut self, slice: impl FnOnce(&Self, &mut u64, &mut Fuel) -> bool) {
        let mut cursor = self.cursor;
        let over = slice(self, &mut cursor, &mut Fuel(SLICE_BYTES));
        self.cursor = cursor;
        let now = self.clock.now();
        self.next = match over {
            false => Some(now),
            true => Some(now + (self.ttl / ROUNDS).max(ROUND_MIN)),
        };
    }
}

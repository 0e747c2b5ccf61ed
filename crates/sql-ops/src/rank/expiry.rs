//! Takes the state of keys away that have not changed for long, although nobody asks for it.
//!
//! A round looks through the table once, a slice in each tick, so that processing goes on in between. Rounds begin four times
//! within the time to live, for as long as anything can be alive; then they cease. A key that is asked for after its time and
//! before its round is as gone: whoever reads looks at [`Expiry::is_over`].

use flugs_batch::{Data, Key};
use flugs_state::{Fuel, KeyedTable};
use flugs_task::{Counter, OpenContext};
use flugs_types::Timestamp;
use std::time::Duration;

/// How many bytes of state a slice looks at.
const SLICE_BYTES: usize = 256 * 1024;
/// Rounds within a time to live ...
const ROUNDS: u32 = 4;
/// ... and the shortest time from one to the next.
const ROUND_MIN: Duration = Duration::from_millis(1);

/// A time to live by the machine's clock, from the last change of a key on.
pub(crate) struct Expiry {
    life: Duration,
    every: Duration,
    /// When the next round begins; `None` where nothing can be alive.
    next: Option<Timestamp>,
    /// When all that was touched so far will be over.
    until: Timestamp,
    cursor: u64,
    /// When the running round began.
    running: Option<Timestamp>,
    expired: Counter,
}

impl Expiry {
    /// Nothing where there is no time to live.
    pub(crate) fn open(context: &OpenContext<'_>, ttl: Option<Duration>) -> Option<Self> {
        let life = ttl?;
        let mut expiry = Expiry {
            life,
            every: (life / ROUNDS).max(ROUND_MIN),
            next: None,
            until: Timestamp::MIN,
            cursor: 0,
            running: None,
            expired: context.counter("numExpiredState"),
        };
        if context.state.is_restored() {
            expiry.touch(context.clock.now());
        }
        Some(expiry)
    }

    /// Something changes at this time.
    pub(crate) fn touch(&mut self, now: Timestamp) {
        self.until = self.until.max(now + self.life);
        self.next.get_or_insert(now + self.every);
    }

    /// Whether the time of a key is over that changed last at `touched`.
    pub(crate) fn is_over(&self, touched: Timestamp, now: Timestamp) -> bool {
        touched + self.life <= now
    }

    /// Counts a key that was found to be over.
    pub(crate) fn count(&self) {
        self.expired.add(1);
    }

    /// When [`sweep`](Self::sweep) is to be called.
    pub(crate) fn next_tick(&self) -> Option<Timestamp> {
        self.running.or(self.next)
    }

    /// Does a slice of a round, if one is running or due. `touched` tells when a key changed last, `None` of one that does not expire;
    /// `last` sees what is removed.
    pub(crate) fn sweep<K: Key, V: Data>(
        &mut self,
        table: &mut KeyedTable<K, V>,
        now: Timestamp,
        touched: impl Fn(&V) -> Option<Timestamp>,
        mut last: impl FnMut(&V),
    ) {
        if self.running.is_none() && self.next.is_some_and(|next| next <= now) {
            self.next = (now < self.until).then(|| now + self.every);
            self.running = Some(now);
        }
        if self.running.is_none() {
            return;
        }
        let (life, expired) = (self.life, &self.expired);
        let complete = table.sweep(
            &mut self.cursor,
            &mut Fuel(SLICE_BYTES),
            |_, value| touched(value).is_some_and(|touched| touched + life <= now),
            |_, value| {
                last(value);
                expired.add(1);
                false
            },
        );
        if complete {
            self.running = None;
        }
    }
}

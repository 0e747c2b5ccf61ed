//! Takes expired state away although nobody asks for it.
//!
//! A round looks through all state once, a slice in each tick, so that processing goes on in between. Rounds begin four times
//! within the shortest time to live, for as long as anything can be alive that was touched; then they cease, and an idle
//! operator whose state is all gone costs nothing.

use flugs_batch::Key;
use flugs_state::{Fuel, KeyedStore, StateTime, Ttl, TtlTime};
use flugs_task::Counter;
use flugs_types::Timestamp;
use std::time::Duration;

/// How many bytes of state a slice looks at.
const SLICE_BYTES: usize = 256 * 1024;

/// The most rounds within a time to live ...
const ROUNDS: u32 = 4;
/// ... and the shortest time from one to the next.
const ROUND_MIN: Duration = Duration::from_millis(1);

/// When rounds are due by one clock.
struct Rounds {
    every: Duration,
    /// The longest time to live.
    life: Duration,
    /// When the next round begins; `None` where nothing can be alive.
    next: Option<Timestamp>,
    /// When all that was touched so far will have expired.
    until: Timestamp,
}

impl Rounds {
    fn of(ttls: &[Ttl], clock: TtlTime) -> Option<Self> {
        let lives = || ttls.iter().filter(|ttl| ttl.time == clock).map(|ttl| ttl.duration);
        let shortest = lives().min()?;
        let every = (shortest / ROUNDS).max(ROUND_MIN);
        Some(Rounds { every, life: lives().max()?, next: None, until: Timestamp::MIN })
    }

    fn touched(&mut self, now: Timestamp) {
        if is_time(now) {
            self.until = self.until.max(now + self.life);
            self.next.get_or_insert(now + self.every);
        }
    }

    fn is_due(&self, now: Timestamp) -> bool {
        is_time(now) && self.next.is_some_and(|next| next <= now)
    }

    fn begun(&mut self, now: Timestamp) {
        self.next = (now < self.until).then(|| now + self.every);
    }
}

/// The ends of time are no times by which state expires.
fn is_time(time: Timestamp) -> bool {
    time != Timestamp::MIN && time != Timestamp::MAX
}

/// See the module.
pub(super) struct Sweeper {
    event: Option<Rounds>,
    processing: Option<Rounds>,
    /// State may be alive that was touched before the first watermark.
    unknown: bool,
    /// The bytes that the running round has yet to look at, and when it began.
    running: Option<(usize, Timestamp)>,
    expired: Counter,
}

impl Sweeper {
    pub(super) fn new(ttls: &[Ttl], restored: bool, now: Timestamp, expired: Counter) -> Self {
        let mut processing = Rounds::of(ttls, TtlTime::ProcessingTime);
        if let Some(rounds) = processing.as_mut().filter(|_| restored) {
            rounds.touched(now);
        }
        let event = Rounds::of(ttls, TtlTime::EventTime);
        Sweeper { unknown: restored && event.is_some(), event, processing, running: None, expired }
    }

    /// State may be touched at this time.
    pub(super) fn touched(&mut self, time: StateTime) {
        if let Some(rounds) = &mut self.processing {
            rounds.touched(time.processing_time);
        }
        if let Some(rounds) = &mut self.event {
            self.unknown |= time.watermark == Timestamp::MIN;
            rounds.touched(time.watermark);
        }
    }

    /// The watermark has come here.
    pub(super) fn advanced(&mut self, time: StateTime) {
        let Some(rounds) = &mut self.event else { return };
        if self.unknown && is_time(time.watermark) {
            // The first round marks what was touched at no known time.
            self.unknown = false;
            rounds.touched(time.watermark);
            rounds.next = Some(time.watermark);
        }
        if rounds.is_due(time.watermark) {
            self.running.get_or_insert((usize::MAX, time.processing_time));
        }
    }

    /// When [`sweep`](Self::sweep) is to be called.
    pub(super) fn next_tick(&self) -> Option<Timestamp> {
        match self.running {
            Some((_, began)) => Some(began),
            None => self.processing.as_ref()?.next,
        }
    }

    /// Does a slice of a round, if one is running or due.
    pub(super) fn sweep<K: Key>(&mut self, store: &mut KeyedStore<K>, time: StateTime) {
        if let Some(rounds) = self.processing.as_mut().filter(|r| r.is_due(time.processing_time)) {
            rounds.begun(time.processing_time);
            self.running = Some((usize::MAX, time.processing_time));
        }
        if let Some(rounds) = self.event.as_mut().filter(|r| r.is_due(time.watermark)) {
            rounds.begun(time.watermark);
            self.running = Some((usize::MAX, time.processing_time));
        }
        let Some((left, began)) = self.running else { return };
        // A look through a table spends what it holds, and a little for each of its parts.
        let left = left.min(store.bytes().saturating_mul(2));
        let mut fuel = Fuel(SLICE_BYTES);
        store.sweep(&mut fuel, time);
        let left = left.saturating_sub(SLICE_BYTES);
        self.running = (fuel.is_spent() && left > 0).then_some((left, began));
        self.expired.set(i64::try_from(store.expired()).unwrap_or(i64::MAX));
    }
}

//! From numbers to events, one by one and by ranges.

use crate::event::Event;
use crate::options::NexmarkOptions;
use crate::pools::Pools;
use crate::price::Prices;
use crate::random::Draws;
use crate::raw::{AUCTIONS, Base, CYCLE, Cycle, PERSONS, RawAuction, RawBid, RawEvent, RawPerson};
use crate::text::Pool;
use flugs_batch::Records;
use flugs_types::{Result, Timestamp};
use std::ops::Range;

/// Spreads the ids of a group of events over its places.
const SHUFFLE: u64 = 953;

/// Makes events from their numbers. It holds 2 MiB of shared strings.
pub struct Generator {
    pub(crate) seed: u64,
    rate: u64,
    base_ms: i64,
    group: u64,
    pub(crate) pools: Pools,
    pub(crate) prices: Prices,
}

impl Generator {
    /// The generator of events under these options; an error says which option is not possible.
    pub fn new(options: &NexmarkOptions) -> Result<Self> {
        options.check()?;
        let seed = options.seed as u64;
        Ok(Generator {
            seed,
            rate: options.events_rate,
            base_ms: options.base_time_ms,
            group: options.out_of_order_group.max(1),
            pools: Pools::new(seed),
            prices: Prices::new(),
        })
    }

    /// The event with number `index`, whole.
    pub fn event(&self, index: u64) -> Event {
        Event::new(self.raw(index), &self.pool())
    }

    /// The event with number `index`, field by field.
    #[inline]
    pub fn raw(&self, index: u64) -> RawEvent<'_> {
        let id = self.id_at(index);
        let base = self.base(id, self.time_ms(id));
        let cycle = Cycle::new(id / CYCLE);
        match id % CYCLE {
            0..PERSONS => RawEvent::Person(RawPerson { base, cycle }),
            PERSONS..4 => RawEvent::Auction(RawAuction { base, cycle }),
            _ => RawEvent::Bid(RawBid { base, cycle }),
        }
    }

    /// Which event stands at a place: ids are out of order within groups.
    #[inline(always)]
    fn id_at(&self, index: u64) -> u64 {
        match self.group {
            1 => index,
            group => index / group * group + index.wrapping_mul(SHUFFLE) % group,
        }
    }

    /// The event time of event `id` in milliseconds.
    #[inline(always)]
    pub(crate) fn time_ms(&self, id: u64) -> i64 {
        self.base_ms.wrapping_add((id.wrapping_mul(1000) / self.rate) as i64)
    }

    #[inline(always)]
    pub(crate) fn base(&self, id: u64, time_ms: i64) -> Base<'_> {
        Base { generator: self, id, draws: Draws::of_event(self.seed, id), time_ms }
    }

    fn pool(&self) -> Pool {
        Pool::new(self.pools.arena.clone())
    }

    /// Adds whole events.
    pub(crate) fn fill_events(&self, range: Range<u64>, out: &mut Records<Event>) {
        let pool = self.pool();
        for index in range {
            let event = Event::new(self.raw(index), &pool);
            let time = event.date_time();
            out.push(event, time);
        }
    }

    /// Adds what `row` makes of each event, where it makes something.
    #[inline]
    pub(crate) fn fill_some<T>(
        &self,
        range: Range<u64>,
        out: &mut Records<T>,
        row: &impl Fn(RawEvent<'_>) -> Option<T>,
    ) {
        for index in range {
            let raw = self.raw(index);
            if let Some(value) = (*row)(raw) {
                out.push(value, raw.date_time());
            }
        }
    }

    /// Adds what `row` makes of each event whose id falls into `kind` of its cycle. `build` makes the raw event.
    #[inline(always)]
    pub(crate) fn fill_kind<'a, R, T>(
        &'a self,
        kind: Range<u64>,
        range: Range<u64>,
        out: &mut Records<T>,
        build: impl Fn(Base<'a>, Cycle) -> R,
        row: &impl Fn(R) -> T,
    ) {
        let mut index = range.start;
        while index < range.end {
            let (ids, next) = self.run_of(&kind, index, range.end);
            index = next;
            if ids.is_empty() {
                continue;
            }
            let cycle = Cycle::new(ids.start / CYCLE);
            // Two passes, each over a range of known length: no check of capacity for each row. And `row` itself is
            // called, not a reference to it, and at one place only: so it is inlined, and what its columns have in
            // common is computed once.
            let mut times = self.times_from(ids.start);
            out.values.extend(ids.clone().map(|id| (*row)(build(self.base(id, times.next_ms()), cycle))));
            let mut times = self.times_from(ids.start);
            out.times.extend(ids.map(move |_| Timestamp::from_millis(times.next_ms())));
        }
    }

    /// Consecutive ids of a kind, all of one cycle, that stand from `index` on; and the next index to look at.
    #[inline(always)]
    pub(crate) fn run_of(&self, kind: &Range<u64>, index: u64, end: u64) -> (Range<u64>, u64) {
        if self.group > 1 {
            let id = self.id_at(index);
            let ids = if kind.contains(&(id % CYCLE)) { id..id + 1 } else { id..id };
            return (ids, index + 1);
        }
        let first = index / CYCLE * CYCLE;
        let next = end.min(first + CYCLE);
        (index.max(first + kind.start)..next.min(first + kind.end), next)
    }

    #[inline(always)]
    pub(crate) fn times_from(&self, id: u64) -> Times {
        let scaled = id.wrapping_mul(1000);
        Times {
            rate: self.rate,
            next_ms: self.time_ms(id),
            rest: scaled % self.rate,
            step_ms: (1000 / self.rate) as i64,
            step_rest: 1000 % self.rate,
        }
    }
}

/// The offsets within a cycle of each kind of event.
pub(crate) const PERSON_IDS: Range<u64> = 0..PERSONS;
pub(crate) const AUCTION_IDS: Range<u64> = PERSONS..PERSONS + AUCTIONS;
pub(crate) const BID_IDS: Range<u64> = PERSONS + AUCTIONS..CYCLE;

/// The times of consecutive events, by addition instead of division.
pub(crate) struct Times {
    rate: u64,
    next_ms: i64,
    /// What the division left, in units of `1 / rate`.
    rest: u64,
    step_ms: i64,
    step_rest: u64,
}

impl Times {
    #[inline(always)]
    pub(crate) fn next_ms(&mut self) -> i64 {
        let time_ms = self.next_ms;
        let rest = self.rest + self.step_rest;
        let carry = rest >= self.rate;
        self.rest = if carry { rest - self.rate } else { rest };
        self.next_ms += self.step_ms + i64::from(carry);
        time_ms
    }
}

//! Time to live: when a value of keyed state is no longer there.
//!
//! The names and the meaning are Flink's `StateTtlConfig`, and event time is added. Elements of a list and
//! entries of a map live and expire one by one.

use flugs_batch::Data;
use flugs_batch::data::{DecodeError, Field, Nesting, Reader, Schema};
use flugs_types::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a value lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ttl {
    /// The time from the last touch until the value is expired.
    pub duration: Duration,
    /// What touches a value.
    pub update: TtlUpdate,
    /// By which clock.
    pub time: TtlTime,
    /// Whether an expired value is still seen until it is swept away.
    pub visibility: TtlVisibility,
}

/// What prolongs the life of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TtlUpdate {
    /// Making and changing it.
    OnCreateAndWrite,
    /// Reading it as well.
    OnReadAndWrite,
}

/// The clock of a time to live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TtlTime {
    /// The watermark. A value that was touched before the first watermark is touched by the first one.
    /// The watermark at the end of a bounded input ([`Timestamp::MAX`]) is no time: nothing expires by it.
    EventTime,
    /// The time of the machine.
    ProcessingTime,
}

/// What is seen of expired values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TtlVisibility {
    /// Nothing: they count as absent.
    NeverReturnExpired,
    /// They are seen until they are swept away.
    ReturnExpiredIfNotCleanedUp,
}

impl Ttl {
    /// A value lives for `duration` of processing time after it was made or changed.
    pub fn new(duration: Duration) -> Self {
        Ttl {
            duration,
            update: TtlUpdate::OnCreateAndWrite,
            time: TtlTime::ProcessingTime,
            visibility: TtlVisibility::NeverReturnExpired,
        }
    }

    /// The same in event time.
    #[must_use]
    pub fn in_event_time(mut self) -> Self {
        self.time = TtlTime::EventTime;
        self
    }

    /// The same, and reading prolongs too.
    #[must_use]
    pub fn prolonged_by_reads(mut self) -> Self {
        self.update = TtlUpdate::OnReadAndWrite;
        self
    }

    /// The same, but expired values are seen until they are swept away.
    #[must_use]
    pub fn showing_expired(mut self) -> Self {
        self.visibility = TtlVisibility::ReturnExpiredIfNotCleanedUp;
        self
    }
}

/// The two clocks at one instant of an operator's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateTime {
    /// The operator's watermark.
    pub watermark: Timestamp,
    /// The machine's time.
    pub processing_time: Timestamp,
}

/// A time to live at an instant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Life {
    ttl: Ttl,
    now: Timestamp,
}

/// Why values are looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tend {
    /// Somebody reads them.
    Read,
    /// Somebody is about to change them.
    Write,
    /// Nobody asked: what is expired is removed.
    Sweep,
}

/// A touch at no known time: no watermark had come, or the state had no time to live when it was stored.
pub(crate) const UNKNOWN: Timestamp = Timestamp::MIN;

impl Life {
    pub(crate) fn new(ttl: Ttl, time: StateTime) -> Self {
        let now = match ttl.time {
            TtlTime::EventTime => time.watermark,
            TtlTime::ProcessingTime => time.processing_time,
        };
        Life { ttl, now }
    }

    fn knows_time(self) -> bool {
        self.now != Timestamp::MIN && self.now != Timestamp::MAX
    }

    /// What a value that is touched now is marked with.
    fn stamp(self) -> Timestamp {
        if self.knows_time() { self.now } else { UNKNOWN }
    }

    fn is_expired(self, touched: Timestamp) -> bool {
        touched != UNKNOWN && self.knows_time() && touched.saturating_add(self.ttl.duration) <= self.now
    }

    /// Whether a value is to be removed on this occasion.
    fn removes(self, touched: Timestamp, why: Tend) -> bool {
        self.is_expired(touched)
            && (why == Tend::Sweep || self.ttl.visibility == TtlVisibility::NeverReturnExpired)
    }

    /// Whether a value that stays is to be touched on this occasion.
    fn touches(self, touched: Timestamp, why: Tend) -> bool {
        let prolongs = why == Tend::Read && self.ttl.update == TtlUpdate::OnReadAndWrite;
        self.knows_time() && (touched == UNKNOWN || prolongs && touched != self.now)
    }
}

/// A value and when it was touched last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timed<T> {
    touched: Timestamp,
    pub(crate) value: T,
}

impl<T> Timed<T> {
    pub(crate) fn new(value: T, life: Life) -> Self {
        Timed { touched: life.stamp(), value }
    }

    pub(crate) fn touch(&mut self, life: Life) {
        self.touched = life.stamp();
    }
}

/// The name of the schema of [`Timed`]; a program cannot give its own types this name.
const TIMED: &str = "flugs::Timed";

/// The schema of the value in the schema of a [`Timed`].
pub(crate) fn timed_schema(schema: &Schema) -> Option<&Schema> {
    match schema {
        Schema::Struct { name, fields } if name == TIMED => fields.get(1).map(|field| &field.schema),
        _ => None,
    }
}

impl<T: Data> Data for Timed<T> {
    const BYTES_MIN: usize = Timestamp::BYTES_MIN + T::BYTES_MIN;

    fn schema() -> Schema {
        Self::describe(&mut Nesting::default())
    }

    fn describe(nesting: &mut Nesting) -> Schema {
        nesting.enter::<Self>(|nesting| Schema::Struct {
            name: TIMED.to_owned(),
            fields: vec![Field::of::<Timestamp>("touched", nesting), Field::of::<T>("value", nesting)],
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.touched.encode(out);
        self.value.encode(out);
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Timed { touched: Timestamp::decode(input)?, value: T::decode(input)? })
    }

    fn heap_bytes(&self) -> usize {
        self.value.heap_bytes()
    }
}

/// What tending did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tended {
    /// How many values were removed.
    pub(crate) removed: u64,
    /// Whether anything is left.
    pub(crate) keep: bool,
}

/// The state of a key that has values with a time to live in it.
pub(crate) trait Expiring: Data {
    /// Whether [`tend`](Expiring::tend) would change anything.
    fn is_due(&self, life: Life, why: Tend) -> bool;

    /// Removes what is expired and touches what is to be touched.
    fn tend(&mut self, life: Life, why: Tend) -> Tended;
}

impl<T: Data> Expiring for Timed<T> {
    fn is_due(&self, life: Life, why: Tend) -> bool {
        life.removes(self.touched, why) || life.touches(self.touched, why)
    }

    fn tend(&mut self, life: Life, why: Tend) -> Tended {
        if life.removes(self.touched, why) {
            return Tended { removed: 1, keep: false };
        }
        if life.touches(self.touched, why) {
            self.touch(life);
        }
        Tended { removed: 0, keep: true }
    }
}

/// Each element lives on its own.
impl<T: Data> Expiring for Vec<Timed<T>> {
    fn is_due(&self, life: Life, why: Tend) -> bool {
        self.iter().any(|element| element.is_due(life, why))
    }

    fn tend(&mut self, life: Life, why: Tend) -> Tended {
        let before = self.len();
        self.retain_mut(|element| element.tend(life, why).keep);
        Tended { removed: (before - self.len()) as u64, keep: !self.is_empty() }
    }
}

/// Each entry lives on its own.
impl<K: Data + Ord, V: Data> Expiring for BTreeMap<K, Timed<V>> {
    fn is_due(&self, life: Life, why: Tend) -> bool {
        self.values().any(|value| value.is_due(life, why))
    }

    fn tend(&mut self, life: Life, why: Tend) -> Tended {
        let before = self.len();
        self.retain(|_, value| value.tend(life, why).keep);
        Tended { removed: (before - self.len()) as u64, keep: !self.is_empty() }
    }
}

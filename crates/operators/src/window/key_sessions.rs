//! The open sessions of one key.

use super::time_window::TimeWindow;
use crate::AggregateFunction;
use flugs_batch::Data;
use flugs_batch::data::{DecodeError, Field, Nesting, Reader, Schema};
use flugs_types::Timestamp;

/// A session and what is kept of its rows.
type Session<Acc> = (TimeWindow, Acc);

/// Sessions that neither overlap nor touch. There is no order among `others`: rows out of order over more than a gap are rare.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeySessions<Acc> {
    /// The one that a row was added to last.
    current: Option<Session<Acc>>,
    others: Vec<Session<Acc>>,
    /// When the key's timer comes, which is not after the end of any session; [`Timestamp::MAX`] if none is set.
    armed: Timestamp,
}

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Added {
    /// It is in a session, and the timer stays.
    Within,
    /// It is in a session, and the timer must come sooner.
    Sooner(Timestamp),
    /// Its time is over.
    Late,
}

impl<Acc> KeySessions<Acc> {
    pub(crate) fn new() -> Self {
        KeySessions { current: None, others: Vec::new(), armed: Timestamp::MAX }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.current.is_none() && self.others.is_empty()
    }

    /// Adds a row whose own window is `window`.
    #[inline]
    pub(crate) fn add<A: AggregateFunction<Acc = Acc>>(
        &mut self,
        aggregate: &A,
        window: TimeWindow,
        row: &A::In,
        watermark: Timestamp,
    ) -> Added {
        if self.others.is_empty()
            && let Some((session, acc)) = &mut self.current
            && session.intersects(&window)
        {
            *session = session.cover(&window);
            aggregate.add(acc, row);
            return Added::Within;
        }
        self.add_apart(aggregate, window, row, watermark)
    }

    #[cold]
    fn add_apart<A: AggregateFunction<Acc = Acc>>(
        &mut self,
        aggregate: &A,
        window: TimeWindow,
        row: &A::In,
        watermark: Timestamp,
    ) -> Added {
        self.others.extend(self.current.take());
        let mut met: Option<Session<Acc>> = None;
        let mut cover = window;
        let mut at = 0;
        while at < self.others.len() {
            // The row's own window decides: sessions did not touch each other before.
            if !self.others[at].0.intersects(&window) {
                at += 1;
                continue;
            }
            let (session, acc) = self.others.swap_remove(at);
            cover = cover.cover(&session);
            met = Some(match met {
                None => (session, acc),
                Some((first, mut whole)) => {
                    aggregate.merge(&mut whole, acc);
                    (first, whole)
                }
            });
        }
        let mut acc = match met {
            Some((_, acc)) => acc,
            None if window.max_timestamp() <= watermark => {
                self.current = self.others.pop();
                return Added::Late;
            }
            None => aggregate.create(),
        };
        aggregate.add(&mut acc, row);
        self.current = Some((cover, acc));
        let end = cover.max_timestamp();
        if self.armed <= end && self.armed != Timestamp::MAX {
            return Added::Within;
        }
        self.armed = end;
        Added::Sooner(end)
    }

    /// Takes out the session whose last instant is `time`, at which the timer has come.
    pub(crate) fn take_ended(&mut self, time: Timestamp) -> Option<Session<Acc>> {
        self.armed = Timestamp::MAX;
        if let Some(current) = self.current.take_if(|(window, _)| window.max_timestamp() <= time) {
            self.current = self.others.pop();
            return Some(current);
        }
        let at = self.others.iter().position(|(window, _)| window.max_timestamp() <= time)?;
        Some(self.others.swap_remove(at))
    }

    /// When the key's timer comes.
    pub(crate) fn armed(&self) -> Timestamp {
        self.armed
    }

    /// Sets the timer for the first session to end; `None` if there is no session.
    pub(crate) fn arm(&mut self) -> Option<Timestamp> {
        let ends = self.current.iter().chain(&self.others).map(|(window, _)| window.max_timestamp());
        let first = ends.min()?;
        self.armed = first;
        Some(first)
    }
}

impl<Acc: Data> Data for KeySessions<Acc> {
    const BYTES_MIN: usize = 1 + 4 + Timestamp::BYTES_MIN;

    fn schema() -> Schema {
        Self::describe(&mut Nesting::default())
    }

    fn describe(nesting: &mut Nesting) -> Schema {
        nesting.enter::<Self>(|nesting| Schema::Struct {
            name: "KeySessions".to_owned(),
            fields: vec![
                Field::of::<Option<Session<Acc>>>("current", nesting),
                Field::of::<Vec<Session<Acc>>>("others", nesting),
                Field::of::<Timestamp>("armed", nesting),
            ],
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.current.encode(out);
        self.others.encode(out);
        self.armed.encode(out);
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(KeySessions {
            current: Data::decode(input)?,
            others: Data::decode(input)?,
            armed: Data::decode(input)?,
        })
    }

    fn heap_bytes(&self) -> usize {
        self.current.heap_bytes() + self.others.heap_bytes()
    }
}

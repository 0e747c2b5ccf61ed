//! The open sessions of one key.

use crate::window::shape::Span;
use flugs_batch::Data;
use flugs_batch::data::{DecodeError, Reader, Schema};

/// A session and what is kept of its rows.
type Session<C> = (Span, C);

/// Sessions that neither overlap nor touch. There is no order among `others`: rows out of order over more than a gap are rare.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KeySessions<C> {
    /// The one that a row was added to last.
    current: Option<Session<C>>,
    others: Vec<Session<C>>,
    /// When the key is looked at next, which is not after the last millisecond of any session; [`NEVER`] if there is none.
    armed: i64,
}

/// No time at all.
const NEVER: i64 = i64::MAX;

/// Where a row belongs.
pub(super) enum Place<'a, C> {
    /// To a session whose content this is; if a time is given, the key must be looked at then.
    Session(&'a mut C, Option<i64>),
    /// To a time that is over.
    Late,
}

/// Keeps rows of a batch in sessions.
pub(super) trait Gather<C> {
    /// It is this row's turn.
    fn begin(&mut self, row: usize);
    /// What is kept of no rows.
    fn create(&mut self) -> C;
    /// Puts what a later session had behind what an earlier one had.
    fn merge(&mut self, earlier: &mut C, later: C);
    /// Adds the row.
    fn add(&mut self, content: &mut C);
}

impl<C> Default for KeySessions<C> {
    fn default() -> Self {
        KeySessions { current: None, others: Vec::new(), armed: NEVER }
    }
}

impl<C> KeySessions<C> {
    pub(super) fn is_empty(&self) -> bool {
        self.current.is_none() && self.others.is_empty()
    }

    /// The session of a row whose own is `own`: sessions that it overlaps or touches become one.
    #[inline(always)]
    pub(super) fn place(&mut self, own: Span, reached: i64, gather: &mut impl Gather<C>) -> Place<'_, C> {
        let near = self.others.is_empty()
            && self.current.as_ref().is_some_and(|(session, _)| touches(*session, own));
        if !near {
            return self.place_apart(own, reached, gather);
        }
        let (session, content) = self.current.as_mut().expect("it was looked at");
        *session = cover(*session, own);
        Place::Session(content, None)
    }

    #[cold]
    fn place_apart(&mut self, own: Span, reached: i64, gather: &mut impl Gather<C>) -> Place<'_, C> {
        self.others.extend(self.current.take());
        // The row's own session decides: the others did not touch each other before.
        let mut met: Vec<Session<C>> =
            self.others.extract_if(.., |(session, _)| touches(*session, own)).collect();
        if met.is_empty() && own.is_over(reached) {
            self.current = self.others.pop();
            return Place::Late;
        }
        met.sort_by_key(|(session, _)| session.start);
        let whole = met.iter().fold(own, |whole, (session, _)| cover(whole, *session));
        let content = met.into_iter().map(|(_, content)| content).reduce(|mut earlier, later| {
            gather.merge(&mut earlier, later);
            earlier
        });
        let last = whole.end - 1;
        let sooner = last < self.armed;
        if sooner {
            self.armed = last;
        }
        let (_, content) = self.current.insert((whole, content.unwrap_or_else(|| gather.create())));
        Place::Session(content, sooner.then_some(last))
    }

    /// Takes out the session that is over at `time`, at which the key is looked at. Such sessions have the same last millisecond, if
    /// there are several, and so are one.
    pub(super) fn take_over(&mut self, time: i64) -> Option<Session<C>> {
        self.armed = NEVER;
        if let Some(current) = self.current.take_if(|(session, _)| session.is_over(time)) {
            self.current = self.others.pop();
            return Some(current);
        }
        let at = self.others.iter().position(|(session, _)| session.is_over(time))?;
        Some(self.others.swap_remove(at))
    }

    /// What is kept of all sessions.
    pub(super) fn contents_mut(&mut self) -> impl Iterator<Item = &mut C> {
        self.current.iter_mut().chain(&mut self.others).map(|(_, content)| content)
    }

    /// When the key is looked at next.
    pub(super) fn armed(&self) -> i64 {
        self.armed
    }

    /// Has the key looked at when its first session is over; `None` if there is no session.
    pub(super) fn arm(&mut self) -> Option<i64> {
        let sessions = self.current.iter().chain(&self.others);
        let first = sessions.map(|(session, _)| session.end - 1).min()?;
        self.armed = first;
        Some(first)
    }
}

fn touches(a: Span, b: Span) -> bool {
    a.start <= b.end && b.start <= a.end
}

fn cover(a: Span, b: Span) -> Span {
    Span { start: a.start.min(b.start), end: a.end.max(b.end) }
}

impl<C: Data> Data for KeySessions<C> {
    const BYTES_MIN: usize = 13;

    fn schema() -> Schema {
        <(Option<Session<C>>, Vec<Session<C>>, i64)>::schema()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.current.encode(out);
        self.others.encode(out);
        self.armed.encode(out);
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (current, others, armed) = Data::decode(input)?;
        Ok(KeySessions { current, others, armed })
    }

    fn heap_bytes(&self) -> usize {
        self.current.heap_bytes() + self.others.heap_bytes()
    }
}

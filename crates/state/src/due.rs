//! When to look at which key: an index over the times that the keys' own state holds.
//!
//! It is made anew from that state when the operator opens and is no state of its own. A key that is to be looked at sooner than it was
//! stands in it twice; the later line is known by the key's own time being another, and passed over.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Times to come and the keys to look at then, in spans: only the lines of the span that time is in are ordered.
///
/// Times are in one unit, whichever the operator counts in; `span` of [`DueIndex::new`] is in the same.
#[derive(Debug)]
pub struct DueIndex<K> {
    /// How long a span is.
    span: i64,
    spans: BTreeMap<i64, Lines<K>>,
    /// The lines of all spans up to `reached`.
    due: BinaryHeap<Reverse<(i64, K)>>,
    reached: i64,
}

/// The lines of a span.
#[derive(Debug)]
struct Lines<K> {
    /// The time of the first of them.
    first: i64,
    lines: Vec<(i64, K)>,
}

impl<K: Ord> DueIndex<K> {
    /// An empty index whose spans have this length, 1 at least.
    pub fn new(span: i64) -> Self {
        DueIndex { span, spans: BTreeMap::new(), due: BinaryHeap::new(), reached: i64::MIN }
    }

    /// Adds a key to look at at a time.
    pub fn push(&mut self, time: i64, key: K) {
        let span = time.div_euclid(self.span);
        if span <= self.reached {
            self.due.push(Reverse((time, key)));
        } else {
            let of_span = self.spans.entry(span).or_insert_with(|| Lines { first: time, lines: Vec::new() });
            of_span.first = of_span.first.min(time);
            of_span.lines.push((time, key));
        }
    }

    /// The time of the first line.
    pub fn first_time(&self) -> Option<i64> {
        let due = self.due.peek().map(|line| line.0.0);
        due.or_else(|| self.spans.first_key_value().map(|(_, span)| span.first))
    }

    /// Takes out the first line, by time and then by key, whose time is not after `upto`.
    pub fn pop_due(&mut self, upto: i64) -> Option<(i64, K)> {
        while self.due.is_empty() {
            let span = self.spans.first_entry().filter(|span| *span.key() <= upto.div_euclid(self.span))?;
            let (span, of_span) = span.remove_entry();
            self.reached = span;
            self.due = of_span.lines.into_iter().map(Reverse).collect();
        }
        if self.due.peek()?.0.0 > upto {
            return None;
        }
        self.due.pop().map(|Reverse(line)| line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn lines_come_in_order(
            span in 1i64..20,
            steps in prop::collection::vec((prop::collection::vec(0i64..100, 0..10), -60i64..140), 1..10),
        ) {
            let mut ends = DueIndex::new(span);
            let mut naive = BTreeSet::new();
            let mut upto = -60;
            for (key, (times, to)) in steps.into_iter().enumerate() {
                                for time in times {
                    if naive.insert((upto + 1 + time, key)) {
                        ends.push(upto + 1 + time, key);
                    }
                }
                prop_assert_eq!(ends.first_time(), naive.first().map(|line| line.0));
                upto = upto.max(to);
                let mut due = Vec::new();
                while naive.first().is_some_and(|line| line.0 <= upto) {
                    due.extend(naive.pop_first());
                }
                let popped: Vec<_> = std::iter::from_fn(|| ends.pop_due(upto)).collect();
                prop_assert_eq!(popped, due);
            }
        }
    }
}

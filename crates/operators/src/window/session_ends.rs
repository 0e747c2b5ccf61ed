//! When to look at which key: an index over the sessions' own timers.
//!
//! It is made anew from the sessions when the operator opens and is no state of its own. A key whose timer was set for a sooner
//! time stands in it twice; the later line is known by the session's timer being another, and passed over.

use flugs_types::Timestamp;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Times to come, in spans. Only the lines of the span that the watermark is in are ordered.
pub(crate) struct SessionEnds<K> {
    /// How long a span is, in microseconds.
    span: i64,
    spans: BTreeMap<i64, Vec<(Timestamp, K)>>,
    /// The lines of all spans up to `reached`.
    due: BinaryHeap<Reverse<(Timestamp, K)>>,
    reached: i64,
}

impl<K: Ord> SessionEnds<K> {
    pub(crate) fn new(span: i64) -> Self {
        SessionEnds { span, spans: BTreeMap::new(), due: BinaryHeap::new(), reached: i64::MIN }
    }

    pub(crate) fn push(&mut self, time: Timestamp, key: K) {
        let span = time.0.div_euclid(self.span);
        if span <= self.reached {
            self.due.push(Reverse((time, key)));
        } else {
            self.spans.entry(span).or_default().push((time, key));
        }
    }

    /// Takes out the first line, by time and then by key, whose time is not after `upto`.
    pub(crate) fn pop_due(&mut self, upto: Timestamp) -> Option<(Timestamp, K)> {
        while self.due.is_empty() {
            let span = self.spans.first_entry().filter(|span| *span.key() <= upto.0.div_euclid(self.span))?;
            let (span, lines) = span.remove_entry();
            self.reached = span;
            self.due = lines.into_iter().map(Reverse).collect();
        }
        let first = self.due.peek()?;
        if first.0.0 > upto {
            return None;
        }
        self.due.pop().map(|Reverse(line)| line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn lines_come_in_order(
            span in 1i64..20,
            steps in prop::collection::vec((prop::collection::vec(0i64..100, 0..10), -60i64..140), 1..10),
        ) {
            let mut ends = SessionEnds::new(span);
            let mut naive = std::collections::BTreeSet::new();
            let mut watermark = -60;
            for (key, (times, upto)) in steps.into_iter().enumerate() {
                for time in times {
                    let time = Timestamp(watermark + 1 + time);
                    if naive.insert((time, key)) {
                        ends.push(time, key);
                    }
                }
                watermark = watermark.max(upto);
                let mut due = Vec::new();
                while naive.first().is_some_and(|line| line.0.0 <= watermark) {
                    due.extend(naive.pop_first());
                }
                let popped: Vec<_> = std::iter::from_fn(|| ends.pop_due(Timestamp(watermark))).collect();
                prop_assert_eq!(popped, due);
            }
        }
    }
}

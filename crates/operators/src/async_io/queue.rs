//! Which answer may leave next. Pure: knows nothing of futures and clocks.

use super::AnswerOrder;
use flugs_types::Timestamp;
use std::collections::BTreeMap;

/// A row that was asked for.
pub(super) struct Asked<T> {
    pub(super) row: T,
    pub(super) time: Timestamp,
}

/// What may leave.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Leaving<U> {
    Rows(Vec<U>, Timestamp),
    Watermark(Timestamp),
}

/// Rows that were asked for and watermarks, numbered as they came.
pub(super) struct Queue<T, U> {
    order: AnswerOrder,
    next: u64,
    asked: BTreeMap<u64, Asked<T>>,
    answers: BTreeMap<u64, Vec<U>>,
    watermarks: BTreeMap<u64, Timestamp>,
}

impl<T, U> Queue<T, U> {
    pub(super) fn new(order: AnswerOrder) -> Self {
        Queue {
            order,
            next: 0,
            asked: BTreeMap::new(),
            answers: BTreeMap::new(),
            watermarks: BTreeMap::new(),
        }
    }

    /// How many rows are asked for, or answered and here.
    pub(super) fn len(&self) -> usize {
        self.asked.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.watermarks.is_empty()
    }

    /// The rows in the order in which they came.
    pub(super) fn asked(&self) -> impl Iterator<Item = &Asked<T>> {
        self.asked.values()
    }

    pub(super) fn row(&self, number: u64) -> Option<&T> {
        Some(&self.asked.get(&number)?.row)
    }

    /// Puts a row in; says its number.
    pub(super) fn ask(&mut self, row: T, time: Timestamp) -> u64 {
        self.next += 1;
        self.asked.insert(self.next, Asked { row, time });
        self.next
    }

    /// Puts a watermark behind all rows so far. One that follows another at once replaces it.
    pub(super) fn watermark(&mut self, watermark: Timestamp) {
        let last_row = self.asked.last_key_value().map_or(0, |(number, _)| *number);
        if let Some(mut last) = self.watermarks.last_entry().filter(|last| *last.key() > last_row) {
            last.insert(watermark);
            return;
        }
        self.next += 1;
        self.watermarks.insert(self.next, watermark);
    }

    /// A row is answered.
    pub(super) fn answer(&mut self, number: u64, rows: Vec<U>) {
        if self.asked.contains_key(&number) {
            self.answers.insert(number, rows);
        }
    }

    /// Takes out what may leave next.
    pub(super) fn leave(&mut self) -> Option<Leaving<U>> {
        let first_row = self.asked.first_key_value().map_or(u64::MAX, |(number, _)| *number);
        let first_watermark = self.watermarks.first_key_value().map_or(u64::MAX, |(number, _)| *number);
        if first_watermark < first_row {
            return self.watermarks.pop_first().map(|(_, watermark)| Leaving::Watermark(watermark));
        }
        let before = match self.order {
            AnswerOrder::Ordered => first_row.saturating_add(1),
            AnswerOrder::Unordered => first_watermark,
        };
        let number = *self.answers.first_key_value()?.0;
        if number >= before {
            return None;
        }
        let (asked, rows) = (self.asked.remove(&number)?, self.answers.remove(&number)?);
        Some(Leaving::Rows(rows, asked.time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Leaving::{Rows, Watermark};

    fn leaving(queue: &mut Queue<(), u8>) -> Vec<Leaving<u8>> {
        std::iter::from_fn(|| queue.leave()).collect()
    }

    /// Rows 1 and 2, a watermark, row 4.
    fn queue(order: AnswerOrder) -> Queue<(), u8> {
        let mut queue = Queue::new(order);
        queue.ask((), Timestamp(10));
        queue.ask((), Timestamp(20));
        queue.watermark(Timestamp(14));
        queue.watermark(Timestamp(15));
        queue.ask((), Timestamp(40));
        queue
    }

    #[test]
    fn ordered_answers_wait_for_those_before() {
        let mut queue = queue(AnswerOrder::Ordered);
        queue.answer(2, vec![2]);
        assert_eq!(leaving(&mut queue), []);
        queue.answer(1, vec![1, 1]);
        let expected =
            [Rows(vec![1, 1], Timestamp(10)), Rows(vec![2], Timestamp(20)), Watermark(Timestamp(15))];
        assert_eq!(leaving(&mut queue), expected);
        queue.answer(4, vec![]);
        assert_eq!(leaving(&mut queue), [Rows(vec![], Timestamp(40))]);
        assert!(queue.is_empty());
    }

    #[test]
    fn unordered_answers_wait_for_watermarks_only() {
        let mut queue = queue(AnswerOrder::Unordered);
        queue.answer(4, vec![4]);
        queue.answer(2, vec![2]);
        assert_eq!(leaving(&mut queue), [Rows(vec![2], Timestamp(20))]);
        queue.answer(1, vec![1]);
        let expected = [Rows(vec![1], Timestamp(10)), Watermark(Timestamp(15)), Rows(vec![4], Timestamp(40))];
        assert_eq!(leaving(&mut queue), expected);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_second_answer_is_dropped() {
        let mut queue = queue(AnswerOrder::Unordered);
        queue.answer(2, vec![2]);
        assert_eq!(leaving(&mut queue).len(), 1);
        queue.answer(2, vec![2]);
        assert_eq!(leaving(&mut queue), []);
    }
}

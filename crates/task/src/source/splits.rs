//! Event time of the splits of one reader.

use crate::watermark::{WatermarkGenerator, WatermarkStrategy};
use flugs_batch::{Control, Record, Records};
use flugs_connector::{Boundedness, Outstanding, SplitStatus};
use flugs_types::Timestamp;

struct SplitTime<T> {
    id: String,
    generator: Option<Box<dyn WatermarkGenerator<T>>>,
    watermark: Timestamp,
    status: SplitStatus,
}

/// The splits that a reader has, each with its watermark.
pub(super) struct Splits<T> {
    strategy: WatermarkStrategy<T>,
    splits: Vec<SplitTime<T>>,
    /// What the splits that no reader has may bring.
    outstanding: Outstanding,
    /// Whether a reader without unread splits ever leaves time to the others. One of a bounded source does not: it gets
    /// another split, whose rows may be of any time, or ends.
    may_idle: bool,
    idle: bool,
    /// How far the splits had come that were read to their ends.
    finished: Timestamp,
    /// What was said last.
    watermark: Timestamp,
}

impl<T: Record> Splits<T> {
    /// No splits; those to come may bring anything until the enumerator says otherwise.
    pub(super) fn new(strategy: WatermarkStrategy<T>, boundedness: Boundedness) -> Self {
        let may_idle = boundedness == Boundedness::Unbounded;
        Splits {
            strategy,
            splits: Vec::new(),
            outstanding: Outstanding::AnyTime,
            may_idle,
            idle: false,
            finished: Timestamp::MIN,
            watermark: Timestamp::MIN,
        }
    }

    pub(super) fn outstanding(&mut self, outstanding: Outstanding) {
        self.outstanding = outstanding;
    }

    pub(super) fn add(&mut self, id: &str, watermark: Timestamp) {
        let generator = self.strategy.new_generator();
        self.splits.push(SplitTime { id: id.to_owned(), generator, watermark, status: SplitStatus::Behind });
    }

    pub(super) fn remove(&mut self, id: &str) {
        self.finished = self.finished.max(self.watermark_of(id));
        self.splits.retain(|s| s.id != id);
    }

    pub(super) fn status(&mut self, id: &str, status: SplitStatus) {
        if let Some(split) = self.splits.iter_mut().find(|s| s.id == id) {
            split.status = status;
        }
    }

    pub(super) fn watermark_of(&self, id: &str) -> Timestamp {
        self.splits.iter().find(|s| s.id == id).map_or(Timestamp::MIN, |s| s.watermark)
    }

    /// Gives the rows their event times and follows them.
    pub(super) fn observe(&mut self, id: &str, rows: &mut Records<T>) {
        self.strategy.assign(rows);
        if self.splits.iter().all(|s| s.id != id) {
            self.add(id, Timestamp::MIN);
        }
        if let Some(split) = self.splits.iter_mut().find(|s| s.id == id) {
            split.status = SplitStatus::Behind;
            if let Some(generator) = &mut split.generator {
                split.watermark = split.watermark.max(generator.observe(rows));
            }
        }
    }

    fn behind(&self) -> impl Iterator<Item = &SplitTime<T>> {
        self.splits.iter().filter(|s| s.status == SplitStatus::Behind)
    }

    /// The lowest watermark of the splits that are behind; `None` where none is.
    pub(super) fn lowest(&self) -> Option<Timestamp> {
        self.behind().map(|s| s.watermark).min()
    }

    /// Whether there are rows again after idleness was said: then that must be said before them.
    pub(super) fn awake(&mut self) -> bool {
        let awake = self.idle && self.lowest().is_some();
        self.idle &= !awake;
        awake
    }

    /// Says what has become of the reader's event time since the last call.
    pub(super) fn combine(&mut self, mut out: impl FnMut(Control)) {
        let lowest = self.lowest();
        // Having nothing to read is no evidence while another reader's request, or the enumerator's first look, may
        // bring this one what was there all the time.
        let idle = self.may_idle && lowest.is_none() && self.outstanding == Outstanding::Nothing;
        if self.idle && !idle {
            out(Control::Active);
        }
        let known = match lowest {
            Some(lowest) => lowest,
            // All splits have reached the present end: the newest of them says how far time has come. Those that were
            // read to their own ends count where no split of a bounded source may follow.
            None => {
                let finished = if self.may_idle { self.finished } else { Timestamp::MIN };
                self.splits.iter().map(|s| s.watermark).fold(finished, Timestamp::max)
            }
        };
        if self.outstanding != Outstanding::AnyTime && known > self.watermark {
            self.watermark = known;
            out(Control::Watermark(known));
        }
        if idle && !self.idle {
            out(Control::Idle);
        }
        self.idle = idle;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(times: &[i64]) -> Records<i64> {
        times.iter().map(|t| (*t, Timestamp(*t))).collect()
    }

    fn said(splits: &mut Splits<i64>) -> Vec<Control> {
        let mut out = Vec::new();
        splits.combine(|c| out.push(c));
        out
    }

    #[test]
    fn held_then_the_minimum_then_idle_by_evidence() {
        let mut splits = Splits::new(WatermarkStrategy::monotonous(), Boundedness::Unbounded);
        splits.add("a", Timestamp::MIN);
        splits.observe("a", &mut rows(&[5, 9]));
        assert_eq!(said(&mut splits), [], "unassigned splits hold the watermark back");
        splits.add("b", Timestamp(3));
        splits.outstanding(Outstanding::Nothing);
        assert_eq!(
            said(&mut splits),
            [Control::Watermark(Timestamp(3))],
            "a restored split goes on with its watermark"
        );
        splits.observe("b", &mut rows(&[4, 7]));
        assert_eq!(said(&mut splits), [Control::Watermark(Timestamp(6))]);
        splits.status("b", SplitStatus::CaughtUp);
        assert_eq!(
            said(&mut splits),
            [Control::Watermark(Timestamp(8))],
            "a caught-up split does not hold back"
        );
        splits.status("a", SplitStatus::CaughtUp);
        assert_eq!(said(&mut splits), [Control::Idle]);
        splits.observe("b", &mut rows(&[20]));
        assert_eq!(said(&mut splits), [Control::Active, Control::Watermark(Timestamp(19))]);
    }

    #[test]
    fn nobody_is_idle_while_splits_are_outstanding_whether_or_not_they_hold_the_watermark() {
        let mut splits = Splits::new(WatermarkStrategy::monotonous(), Boundedness::Unbounded);
        assert_eq!(said(&mut splits), [], "nothing was said yet");
        splits.outstanding(Outstanding::InOrder);
        assert_eq!(said(&mut splits), [], "the first look is still to come");
        splits.add("a", Timestamp::MIN);
        splits.observe("a", &mut rows(&[5]));
        assert_eq!(said(&mut splits), [Control::Watermark(Timestamp(4))], "in order, watermarks advance");
        splits.remove("a");
        assert_eq!(said(&mut splits), [], "between two splits");
        splits.add("b", Timestamp::MIN);
        splits.outstanding(Outstanding::Nothing);
        assert_eq!(said(&mut splits), [], "a split that is not read yet is something to read");
        splits.remove("b");
        assert_eq!(said(&mut splits), [Control::Idle]);
        splits.outstanding(Outstanding::InOrder);
        assert_eq!(said(&mut splits), [Control::Active], "there is more, for whoever asks first");
        splits.outstanding(Outstanding::Nothing);
        assert_eq!(said(&mut splits), [Control::Idle], "another reader got it");
    }

    #[test]
    fn a_reader_of_a_bounded_source_waits_for_its_next_split() {
        let mut splits = Splits::new(WatermarkStrategy::monotonous(), Boundedness::Bounded);
        splits.outstanding(Outstanding::Nothing);
        splits.observe("a", &mut rows(&[5]));
        splits.remove("a");
        assert_eq!(said(&mut splits), [], "the next split's rows may be older");
    }
}

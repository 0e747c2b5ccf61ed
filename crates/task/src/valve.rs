//! The one place where watermarks and idleness of several inputs become one.
//!
//! The output watermark is the minimum over the inputs that are active, and never goes back. Inputs that are
//! idle, or have ended, do not count; when none is active and some are idle, the output is idle, and its watermark is
//! the maximum of what the idle ones have said, so that the order in which they fell idle does not matter.
//!
//! [`Timestamp::MAX`] is the end of an input's time, so an input that has said it counts as ended; and the output
//! says it only when all inputs have: an idle one may still have rows to give at its own end.

use flugs_batch::Control;
use flugs_types::Timestamp;

#[derive(Debug, Clone, Copy)]
struct Input {
    watermark: Timestamp,
    idle: bool,
    ended: bool,
}

impl Input {
    fn is_open(&self) -> bool {
        !self.ended && self.watermark < Timestamp::MAX
    }

    /// Whether it keeps an output of this watermark from going on.
    fn holds(&self, watermark: Timestamp) -> bool {
        self.is_open() && !self.idle && self.watermark <= watermark
    }
}

/// Combines the watermarks and idleness of a fixed number of inputs.
#[derive(Debug, Clone)]
pub struct Valve {
    inputs: Vec<Input>,
    watermark: Timestamp,
    idle: bool,
    /// How many inputs hold the output, so that a thousand inputs are not looked through for each that speaks.
    holding: usize,
}

impl Valve {
    /// A valve with this many inputs, all active and without a watermark.
    pub fn new(inputs: usize) -> Self {
        let input = Input { watermark: Timestamp::MIN, idle: false, ended: false };
        Valve { inputs: vec![input; inputs], watermark: Timestamp::MIN, idle: false, holding: inputs }
    }

    /// The combined watermark.
    pub fn watermark(&self) -> Timestamp {
        self.watermark
    }

    /// Input `i` has a new watermark; an older one than it had is ignored, one of an idle input makes it active.
    pub fn watermark_of(&mut self, i: usize, watermark: Timestamp, out: impl FnMut(Control)) {
        let change = |input: &mut Input| {
            input.watermark = input.watermark.max(watermark);
            input.idle = false;
        };
        self.change(i, change, out);
    }

    /// Input `i` is idle, or active again.
    pub fn idleness_of(&mut self, i: usize, idle: bool, out: impl FnMut(Control)) {
        self.change(i, |input| input.idle = idle, out);
    }

    /// Input `i` has ended.
    pub fn ended(&mut self, i: usize, out: impl FnMut(Control)) {
        self.change(i, |input| input.ended = true, out);
    }

    /// Whether all inputs have ended.
    pub fn all_ended(&self) -> bool {
        self.inputs.iter().all(|i| i.ended)
    }

    fn change(&mut self, i: usize, change: impl FnOnce(&mut Input), out: impl FnMut(Control)) {
        let input = &mut self.inputs[i];
        self.holding -= usize::from(input.holds(self.watermark));
        change(input);
        self.holding += usize::from(input.holds(self.watermark));
        // While some input holds the output, nothing that another says can move it.
        if self.holding == 0 || self.idle {
            self.combine(out);
        }
    }

    fn combine(&mut self, mut out: impl FnMut(Control)) {
        let open = || self.inputs.iter().filter(|i| i.is_open());
        let (combined, idle) = match open().filter(|i| !i.idle).map(|i| i.watermark).min() {
            Some(min) => (min, false),
            None => match open().map(|i| i.watermark).max() {
                Some(known) => (known, true),
                // All have ended: they said MAX if they had event time.
                None => (self.inputs.iter().map(|i| i.watermark).max().unwrap_or(Timestamp::MIN), false),
            },
        };
        if self.idle && !idle {
            self.idle = false;
            out(Control::Active);
        }
        if combined > self.watermark {
            self.watermark = combined;
            out(Control::Watermark(combined));
        }
        if idle && !self.idle {
            self.idle = true;
            out(Control::Idle);
        }
        self.holding = self.inputs.iter().filter(|i| i.holds(self.watermark)).count();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(t: i64) -> Timestamp {
        Timestamp(t)
    }

    #[test]
    fn the_minimum_of_the_active_inputs() {
        let (mut valve, mut out) = (Valve::new(3), Vec::new());
        valve.watermark_of(0, at(10), |c| out.push(c));
        valve.watermark_of(1, at(7), |c| out.push(c));
        assert_eq!(out, []);
        valve.watermark_of(2, at(9), |c| out.push(c));
        valve.idleness_of(1, true, |c| out.push(c));
        valve.watermark_of(1, at(8), |c| out.push(c)); // active again, but behind: nothing goes back
        valve.watermark_of(1, at(20), |c| out.push(c));
        valve.ended(2, |c| out.push(c));
        assert_eq!(out, [7, 9, 10].map(|t| Control::Watermark(at(t))));
    }

    #[test]
    fn the_order_of_falling_idle_does_not_matter() {
        let run = |order: [usize; 2]| {
            let mut valve = Valve::new(2);
            valve.watermark_of(0, at(10), |_| ());
            valve.watermark_of(1, at(20), |_| ());
            let mut out = Vec::new();
            for i in order {
                valve.idleness_of(i, true, |c| out.push(c));
            }
            (valve.watermark(), out.last().copied())
        };
        assert_eq!(run([0, 1]), run([1, 0]));
        assert_eq!(run([0, 1]), (at(20), Some(Control::Idle)));
    }

    #[test]
    fn an_end_without_event_time_says_nothing_about_time() {
        let mut valve = Valve::new(1);
        let mut out = Vec::new();
        valve.ended(0, |c| out.push(c));
        assert!(out.is_empty() && valve.all_ended());
    }

    #[test]
    fn an_idle_input_keeps_the_end_of_time_back() {
        let (mut valve, mut out) = (Valve::new(2), Vec::new());
        valve.watermark_of(0, at(5), |c| out.push(c));
        valve.watermark_of(1, at(6), |c| out.push(c));
        valve.idleness_of(1, true, |c| out.push(c));
        valve.watermark_of(0, Timestamp::MAX, |c| out.push(c));
        valve.ended(0, |c| out.push(c));
        assert_eq!(out, [Control::Watermark(at(5)), Control::Watermark(at(6)), Control::Idle]);
        out.clear();
        valve.watermark_of(1, Timestamp::MAX, |c| out.push(c));
        assert_eq!(out, [Control::Active, Control::Watermark(Timestamp::MAX)]);
    }

    #[derive(Debug, Clone, Copy)]
    enum Said {
        Watermark(i64),
        Idle,
        Active,
        Ended,
    }

    fn said() -> impl Strategy<Value = (usize, Said)> {
        let what = prop_oneof![
            4 => (0i64..20).prop_map(Said::Watermark),
            2 => Just(Said::Idle),
            1 => Just(Said::Active),
            1 => Just(Said::Watermark(i64::MAX)),
            1 => Just(Said::Ended),
        ];
        (0usize..3, what)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn what_it_says_never_goes_back_and_never_passes_an_input_that_was_never_idle(
            history in prop::collection::vec(said(), 0..40)
        ) {
            let (mut valve, mut inputs) = (Valve::new(3), [(i64::MIN, false, false); 3]);
            let mut always_active = [true; 3];
            let (mut watermark, mut idle) = (Timestamp::MIN, false);
            for (i, said) in history {
                let (time, is_idle, ended) = &mut inputs[i];
                if *ended {
                    continue;
                }
                let mut out = Vec::new();
                match said {
                    Said::Watermark(t) => {
                        (*time, *is_idle) = ((*time).max(t), false);
                        valve.watermark_of(i, at(t), |c| out.push(c));
                    }
                    Said::Idle | Said::Active => {
                        *is_idle = matches!(said, Said::Idle);
                        always_active[i] &= !*is_idle;
                        valve.idleness_of(i, *is_idle, |c| out.push(c));
                    }
                    Said::Ended => {
                        *ended = true;
                        valve.ended(i, |c| out.push(c));
                    }
                }
                for control in out {
                    match control {
                        Control::Watermark(t) => {
                            prop_assert!(t > watermark && !idle);
                            watermark = t;
                        }
                        Control::Idle | Control::Active => {
                            prop_assert_ne!(idle, control == Control::Idle);
                            idle = !idle;
                        }
                        _ => prop_assert!(false),
                    }
                }
                let open = inputs.iter().filter(|(time, _, ended)| !ended && *time < i64::MAX);
                prop_assert_eq!(idle, open.clone().count() > 0 && open.clone().all(|(_, idle, _)| *idle));
                for ((time, _, ended), always) in inputs.iter().zip(always_active) {
                    prop_assert!(!always || *ended || watermark.0 <= *time);
                }
                // No input that counts is behind for nothing: the slowest of them is reached.
                let slowest = open.filter(|(_, idle, _)| !idle).map(|(time, _, _)| *time).min();
                prop_assert!(slowest.is_none_or(|t| watermark.0 >= t));
            }
        }
    }
}

use super::*;
use crate::snapshot::tests::captured;
use crate::testing::{Element, Recorded, Recorder, barrier, control, ident, rows, taken, watermark};
use flugs_batch::Barrier;
use flugs_state::ListTable;
use proptest::prelude::*;
use std::sync::Mutex;

/// Hands its rows on one by one, and stops as its script says: after each row it takes a letter, `m` for `More`,
/// `b` for `Blocked`. It insists on the contract: nothing but `resume` until it is done.
struct Stutter {
    script: VecDeque<char>,
    todo: VecDeque<i32>,
    stopped: bool,
    seen: ListTable<i64>,
    ticks: VecDeque<i32>,
    forwards: bool,
}

impl Stutter {
    fn new(script: &str) -> Self {
        Stutter {
            script: script.chars().collect(),
            todo: VecDeque::new(),
            stopped: false,
            seen: ListTable::new("seen", Vec::new()),
            ticks: VecDeque::new(),
            forwards: true,
        }
    }

    fn go_on(&mut self, out: &mut Output<Records<i32>>) -> Result<Progress> {
        self.stopped = false;
        loop {
            let stop = self.script.pop_front();
            if let Some(stop @ ('m' | 'b')) = stop {
                self.stopped = true;
                return Ok(if stop == 'm' { Progress::More } else { Progress::Blocked });
            }
            let Some(row) = self.todo.pop_front() else { return Ok(Progress::Done) };
            self.seen.push(i64::from(row));
            let _ = out.push(Records::untimed(vec![row]))?;
        }
    }

    fn called(&mut self, out: &mut Output<Records<i32>>) -> Result<Progress> {
        assert!(!self.stopped, "called while it was stopped");
        self.go_on(out)
    }
}

impl Operator for Stutter {
    type In = Records<i32>;
    type Out = Records<i32>;

    fn process(&mut self, batch: Records<i32>, out: &mut Output<Self::Out>) -> Result<Progress> {
        if batch.values.contains(&666) {
            return Err(Error::user("the number of the beast"));
        }
        self.todo.extend(batch.values);
        self.called(out)
    }

    fn resume(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        assert!(self.stopped, "resumed while it was free");
        self.go_on(out)
    }

    fn advance(&mut self, _: Timestamp, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.called(out)
    }

    fn forwards_watermarks(&self) -> bool {
        self.forwards
    }

    fn next_tick(&self) -> Option<Timestamp> {
        (!self.ticks.is_empty()).then_some(Timestamp(0))
    }

    fn tick(&mut self, _: Timestamp, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.todo.extend(self.ticks.drain(..));
        self.called(out)
    }

    fn barrier(&mut self, _: Barrier, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.called(out)
    }

    fn end(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.called(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        vec![&mut self.seen]
    }
}

type Chain = Box<dyn Stage<Records<i32>>>;

fn link(name: &str, operator: Stutter, next: Chain) -> Chain {
    Box::new(Link::new(operator, Output::new(next, Vec::new()), ident(name)))
}

fn recorder() -> (Chain, Arc<Mutex<Recorded<i32>>>) {
    let (recorder, recorded) = Recorder::new();
    (Box::new(recorder), recorded)
}

fn give(chain: &mut Chain, element: Element<i32>) -> Flow {
    match element {
        StreamElement::Batch(batch) => chain.push(batch).unwrap(),
        StreamElement::Control(control) => chain.control(control).unwrap(),
    }
}

fn resumed(chain: &mut Chain) {
    for _ in 0..1000 {
        if chain.resume().unwrap() == Flow::Ready {
            return;
        }
    }
    panic!("never ready");
}

/// Rows one by one, so that their grouping into batches does not matter.
fn flat(elements: Vec<Element<i32>>) -> Vec<Element<i32>> {
    let one = |element: Element<i32>| match element {
        StreamElement::Batch(batch) => batch.values.into_iter().map(|row| rows([row])).collect(),
        control => vec![control],
    };
    elements.into_iter().flat_map(one).collect()
}

#[test]
fn what_comes_to_an_operator_that_has_stopped_waits_in_order() {
    let (end, recorded) = recorder();
    // The second operator stops before its first row; the first one goes on and hands on the watermark all the same.
    let mut chain = link("a", Stutter::new(""), link("b", Stutter::new("m"), end));
    assert_eq!(give(&mut chain, rows([1, 2])), Flow::Yield);
    assert_eq!(give(&mut chain, control(watermark(5))), Flow::Yield);
    assert_eq!(give(&mut chain, control(Control::Idle)), Flow::Yield);
    assert_eq!(taken(&recorded), []);
    resumed(&mut chain);
    assert_eq!(taken(&recorded), [rows([1]), rows([2]), control(watermark(5)), control(Control::Idle)]);
}

#[test]
fn an_operator_further_down_that_stopped_in_its_tick_is_resumed() {
    struct TickAll(Flow);
    impl Visitor for TickAll {
        fn link(&mut self, link: &mut dyn LinkPort) -> Result<()> {
            if link.next_tick().is_some() {
                self.0 = self.0.and(link.tick(Timestamp(0))?);
            }
            Ok(())
        }
    }
    let (end, recorded) = recorder();
    let mut ticking = Stutter::new(".b");
    ticking.ticks.extend([7, 8]);
    let mut chain = link("a", Stutter::new(""), link("b", ticking, end));
    let mut ticks = TickAll(Flow::Ready);
    chain.visit(&mut ticks).unwrap();
    assert_eq!(ticks.0, Flow::Full);
    resumed(&mut chain);
    let _ = give(&mut chain, rows([9]));
    assert_eq!(taken(&recorded), [rows([7]), rows([8]), rows([9])]);
}

#[test]
fn each_branch_of_a_tee_keeps_its_own_order() {
    let ((left, left_recorded), (right, right_recorded)) = (recorder(), recorder());
    let tee: Chain = Box::new(Tee::new(vec![
        link("left", Stutter::new(".b"), left),
        link("right", Stutter::new(""), right),
    ]));
    let mut chain = link("head", Stutter::new(""), tee);
    let given = [rows([1, 2]), control(watermark(1)), rows([3])];
    assert_eq!(give(&mut chain, given[0].clone()), Flow::Full);
    let _ = give(&mut chain, given[1].clone());
    let _ = give(&mut chain, given[2].clone());
    assert_eq!(taken(&left_recorded), [rows([1])]);
    assert_eq!(taken(&right_recorded), flat(given.to_vec()));
    resumed(&mut chain);
    assert_eq!(taken(&left_recorded), [rows([2]), control(watermark(1)), rows([3])]);
    assert_eq!(taken(&right_recorded), []);
}

#[test]
fn tables_are_frozen_behind_all_rows_before_the_barrier_and_before_all_after_it() {
    let (end, recorded) = recorder();
    let mut chain = link("a", Stutter::new(""), link("b", Stutter::new(".m"), end));
    let _ = give(&mut chain, rows([1, 2]));
    let _ = give(&mut chain, control(Control::Barrier(barrier(1))));
    let _ = give(&mut chain, rows([3]));
    resumed(&mut chain);
    let last = [rows([1]), rows([2]), control(Control::Barrier(barrier(1))), rows([3])];
    assert_eq!(taken(&recorded), last);
    assert_eq!(captured(&mut chain, "b"), [1, 2]);
}

#[test]
fn an_operator_with_watermarks_of_its_own_swallows_those_of_its_input_but_not_its_idleness() {
    let (end, recorded) = recorder();
    let mut operator = Stutter::new("");
    operator.forwards = false;
    let mut chain = link("a", operator, end);
    let passing = [Control::Idle, Control::Active, Control::Barrier(barrier(1)), Control::End];
    for item in [watermark(1)].into_iter().chain(passing) {
        assert_eq!(give(&mut chain, control(item)), Flow::Ready);
    }
    assert_eq!(taken(&recorded), passing.map(control));
}

#[test]
fn an_error_names_the_operator_that_made_it_and_no_other() {
    let (end, _) = recorder();
    let mut chain = link("a", Stutter::new(""), link("b", Stutter::new("m"), end));
    let _ = chain.push(Records::untimed(vec![1])).unwrap();
    let mut beastly = link("first", Stutter::new(""), chain);
    let error = beastly.push(Records::untimed(vec![666])).unwrap_err().to_string();
    assert_eq!(error, "user function failed: the number of the beast (at operator 'first', subtask 1/1)");
}

#[test]
fn rows_for_a_side_output_of_another_type_are_a_bug_that_is_named() {
    let side: Box<dyn SidePort> = Box::new(Side::<String>(Box::new(Discard)));
    let mut out = Output::<Records<i32>>::new(Box::new(Discard), vec![None, Some(side)]);
    assert_eq!(out.push_side(0, Records::untimed(vec![1])).unwrap(), Flow::Ready);
    assert_eq!(out.push_side(7, Records::untimed(vec![1])).unwrap(), Flow::Ready);
    let error = out.push_side(1, Records::untimed(vec![1])).unwrap_err().to_string();
    assert_eq!(error, "internal error: side output 1 does not carry i32");
}

fn element() -> impl Strategy<Value = Element<i32>> {
    prop_oneof![
        3 => prop::collection::vec(0..100, 0..4).prop_map(rows),
        1 => (0i64..100).prop_map(|t| control(watermark(t))),
        1 => Just(control(Control::Idle)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever stops whenever, and whether or not the caller heeds it: the order at the end is that of the beginning.
    #[test]
    fn the_order_survives_every_way_of_stopping(
        elements in prop::collection::vec(element(), 0..12),
        scripts in prop::collection::vec("[.mb]{0,12}", 3),
        heeds in any::<bool>(),
    ) {
        let (end, recorded) = recorder();
        let mut chain = end;
        for script in &scripts {
            chain = link("x", Stutter::new(script), chain);
        }
        for element in &elements {
            if give(&mut chain, element.clone()) != Flow::Ready && heeds {
                resumed(&mut chain);
            }
        }
        resumed(&mut chain);
        let expected: Vec<_> = flat(elements).into_iter().collect();
        prop_assert_eq!(flat(taken(&recorded)), expected);
    }
}

use super::*;
use crate::chain::{Link, Output};
use crate::channel::{Channel, ChannelEnds};
use crate::context::{Operator, Progress};
use crate::gate::{ChannelInlet, Inlet};
use crate::outlet::Outlet;
use crate::route::GlobalRoute;
use crate::testing::{
    Around, Recorded, Recorder, Wakes, barrier, control, here, ident, rows, taken, watermark,
};
use flugs_batch::{Either, Records};
use flugs_state::{ListTable, OpenState, RunReader, SnapshotTable};
use flugs_types::SubtaskId;
use std::sync::Mutex;

/// Keeps all rows as state and hands them on; blocks, ticks and is committed as the test says.
struct Keep {
    seen: ListTable<i64>,
    controls: Arc<Mutex<Controls>>,
    blocked_in_end: bool,
}

#[derive(Default)]
struct Controls {
    blocked: bool,
    tick_at: Option<Timestamp>,
    ticks: usize,
    committed: Vec<u64>,
}

impl Keep {
    fn progress(&self) -> Progress {
        if self.controls.lock().unwrap().blocked { Progress::Blocked } else { Progress::Done }
    }
}

impl Operator for Keep {
    type In = Records<i64>;
    type Out = Records<i64>;

    fn process(&mut self, batch: Records<i64>, out: &mut Output<Records<i64>>) -> Result<Progress> {
        batch.values.iter().for_each(|row| self.seen.push(*row));
        let _ = out.push(batch)?;
        Ok(self.progress())
    }

    fn resume(&mut self, out: &mut Output<Records<i64>>) -> Result<Progress> {
        let progress = self.progress();
        if progress == Progress::Done && std::mem::take(&mut self.blocked_in_end) {
            let _ = out.push(Records::untimed(vec![-1]))?;
        }
        Ok(progress)
    }

    fn end(&mut self, _: &mut Output<Records<i64>>) -> Result<Progress> {
        let progress = self.progress();
        self.blocked_in_end = progress == Progress::Blocked;
        Ok(progress)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.controls.lock().unwrap().tick_at
    }

    fn tick(&mut self, _: Timestamp, _: &mut Output<Records<i64>>) -> Result<Progress> {
        self.controls.lock().unwrap().ticks += 1;
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        vec![&mut self.seen]
    }

    fn committed(&mut self, checkpoint: CheckpointId) -> Result<()> {
        self.controls.lock().unwrap().committed.push(checkpoint.0);
        Ok(())
    }
}

type Lane = Arc<Channel<Records<i64>>>;

struct Rig {
    task: SubtaskTask<Records<i64>>,
    around: Around,
    lanes: Vec<Lane>,
    senders: Arc<Wakes>,
    controls: Arc<Mutex<Controls>>,
    out: Arc<Mutex<Recorded<i64>>>,
}

fn lanes(n: usize, around: &Around) -> (Vec<Lane>, Arc<Wakes>) {
    let (wakes, sender) = Wakes::new();
    let ends = ChannelEnds { sender, receiver: around.mailbox.waker().clone() };
    ((0..n).map(|_| Channel::new(1 << 20, ends.clone())).collect(), wakes)
}

impl Rig {
    fn new(inputs: usize) -> Self {
        let (recorder, out) = Recorder::new();
        let around = Around::new();
        let (lanes, senders) = lanes(inputs, &around);
        let controls = Arc::<Mutex<Controls>>::default();
        let task = Self::task(&around, &lanes, &controls, Box::new(recorder));
        Rig { task, around, lanes, senders, controls, out }
    }

    fn task(
        around: &Around,
        lanes: &[Lane],
        controls: &Arc<Mutex<Controls>>,
        next: Box<dyn Stage<Records<i64>>>,
    ) -> SubtaskTask<Records<i64>> {
        let inlet = |lane: &Lane| Box::new(ChannelInlet::new(lane.clone(), |b| b)) as Box<dyn Inlet<_>>;
        let seen = ListTable::new("seen", Vec::new());
        let operator = Keep { seen, controls: controls.clone(), blocked_in_end: false };
        let chain = Box::new(Link::new(operator, Output::new(next, Vec::new()), ident("keep")));
        SubtaskTask::new(around.context.clone(), Gate::new(lanes.iter().map(inlet).collect()), chain).unwrap()
    }

    fn post(&self, mail: Mail) {
        self.around.mailbox.post(mail);
    }

    fn barrier(&self, lane: usize, n: u64) {
        self.lanes[lane].send(control(Control::Barrier(barrier(n))));
    }

    /// Steps until it waits.
    fn steps(&mut self) -> Step {
        self.steps_at(Timestamp::EPOCH)
    }

    fn steps_at(&mut self, now: Timestamp) -> Step {
        let step = |_| self.task.step(now).unwrap();
        (0..1000).map(step).find(|step| *step != Step::Again).expect("it comes to rest")
    }

    fn block(&self, blocked: bool) {
        self.controls.lock().unwrap().blocked = blocked;
    }

    /// What was reported; acknowledgements as their number and the rows in the state.
    fn said(&self) -> Vec<String> {
        let said = |event: TaskEvent| match event {
            TaskEvent::Ack { checkpoint, operators } => {
                let run = RunReader::open(here(operators[0].state.clone()), "test").unwrap();
                let mut state = OpenState::new(SubtaskId::new(0, 1), vec![Arc::new(run)]);
                format!("{checkpoint}: {:?}", state.list::<i64>("seen").unwrap().items())
            }
            other => format!("{other:?}"),
        };
        self.around.reported.take().into_iter().map(said).collect()
    }
}

#[test]
fn a_checkpoint_is_acknowledged_once_whichever_comes_first_the_trigger_or_the_barriers() {
    for trigger_first in [true, false] {
        let mut rig = Rig::new(2);
        rig.lanes[0].send(rows([1]));
        rig.barrier(0, 1);
        rig.lanes[0].send(rows([2]));
        if trigger_first {
            rig.post(Mail::Trigger(barrier(1)));
        }
        assert_eq!(rig.steps(), Step::Wait);
        rig.lanes[1].send(rows([3]));
        rig.barrier(1, 1);
        assert_eq!(rig.steps(), Step::Wait);
        if !trigger_first {
            rig.post(Mail::Trigger(barrier(1)));
        }
        assert_eq!(rig.steps(), Step::Wait);
        assert_eq!(rig.said(), ["Running", "1: [1, 3]"], "the trigger first: {trigger_first}");
        rig.lanes.iter().for_each(|lane| lane.send(control(Control::End)));
        rig.steps();
        assert_eq!(rig.said(), ["Drained"], "the trigger is spent");
    }
}

#[test]
fn an_abort_releases_an_alignment_and_its_late_barriers_pass_unseen() {
    let mut rig = Rig::new(2);
    rig.barrier(0, 1);
    rig.lanes[0].send(rows([1]));
    rig.post(Mail::Trigger(barrier(1)));
    rig.steps();
    assert_eq!(taken(&rig.out), []);
    rig.post(Mail::Aborted(CheckpointId(1)));
    rig.steps();
    assert_eq!(taken(&rig.out), [rows([1])]);
    rig.barrier(1, 1);
    rig.barrier(0, 2);
    rig.barrier(1, 2);
    rig.steps();
    assert_eq!(taken(&rig.out), [control(Control::Barrier(barrier(2)))]);
    assert_eq!(rig.said(), ["Running", "2: [1]"]);
}

#[test]
fn an_abort_in_the_middle_of_a_capture_leaves_no_acknowledgement_and_the_next_one_is_whole() {
    let mut rig = Rig::new(1);
    // More than is encoded in the step itself.
    let many: Vec<i64> = (0..20_000).collect();
    rig.lanes[0].send(rows(many.clone()));
    rig.barrier(0, 1);
    rig.steps();
    assert_eq!(rig.around.background.len(), 1);
    rig.post(Mail::Aborted(CheckpointId(1)));
    rig.lanes[0].send(rows([-7]));
    rig.barrier(0, 2);
    rig.steps();
    while rig.around.background.run_one() {}
    let said = rig.said();
    // Late, and ignored by the coordinator: it was complete before it was given up.
    let second = format!("2: {:?}", many.iter().copied().chain([-7]).collect::<Vec<_>>());
    assert!(said.last() == Some(&second), "{} events", said.len());
    assert!(said.iter().filter(|s| s.starts_with("2:")).count() == 1);
}

#[test]
fn a_trigger_whose_barriers_were_overtaken_by_the_end_is_answered_by_the_drained_task() {
    let mut rig = Rig::new(1);
    rig.lanes[0].send(rows([1]));
    rig.lanes[0].send(control(Control::End));
    rig.post(Mail::Trigger(barrier(1)));
    rig.steps();
    assert_eq!(rig.said(), ["Running", "Drained", "1: [1]"]);
    rig.post(Mail::Trigger(barrier(2)));
    rig.steps();
    rig.post(Mail::Aborted(CheckpointId(2)));
    rig.post(Mail::Trigger(barrier(3)));
    rig.steps();
    assert_eq!(rig.said(), ["2: [1]", "3: [1]"]);
    rig.post(Mail::Committed(CheckpointId(3)));
    rig.post(Mail::Finish);
    assert_eq!(rig.steps(), Step::Done);
    assert_eq!(rig.controls.lock().unwrap().committed, [3]);
}

#[test]
fn barriers_and_commits_wait_for_or_pass_by_an_operator_that_is_blocked() {
    let mut rig = Rig::new(1);
    rig.block(true);
    rig.lanes[0].send(rows([1]));
    rig.barrier(0, 4);
    rig.post(Mail::Trigger(barrier(4)));
    assert_eq!(rig.steps(), Step::Wait);
    rig.post(Mail::Committed(CheckpointId(3)));
    assert_eq!(rig.steps(), Step::Wait);
    assert_eq!(rig.controls.lock().unwrap().committed, [3]);
    assert_eq!(rig.said(), ["Running"]);
    rig.block(false);
    assert_eq!(rig.steps(), Step::Wait);
    assert_eq!(rig.said(), ["4: [1]"]);
}

#[test]
fn a_task_is_drained_when_its_operators_have_digested_the_end() {
    let mut rig = Rig::new(2);
    rig.lanes[0].send(control(Control::Watermark(Timestamp::MAX)));
    rig.lanes[0].send(control(Control::End));
    rig.steps();
    assert_eq!(rig.said(), ["Running"]);
    rig.block(true);
    rig.lanes[1].send(control(Control::End));
    rig.post(Mail::Trigger(barrier(1)));
    rig.steps();
    assert_eq!(rig.said(), [""; 0]);
    rig.block(false);
    rig.steps();
    assert_eq!(rig.said(), ["Drained", "1: []"]);
    let end = taken(&rig.out);
    let tail = [rows([-1]), control(Control::End), control(Control::Barrier(barrier(1)))];
    assert!(end.ends_with(&tail), "{end:?}");
}

#[test]
fn timers_fire_when_due_and_never_after_the_end() {
    let mut rig = Rig::new(1);
    rig.controls.lock().unwrap().tick_at = Some(Timestamp(10));
    assert_eq!(rig.steps(), Step::WaitUntil(Timestamp(10)));
    assert_eq!(rig.controls.lock().unwrap().ticks, 0);
    let _ = rig.task.step(Timestamp(10)).unwrap();
    assert_eq!(rig.controls.lock().unwrap().ticks, 1);
    // The clock has gone back: the time is waited for again.
    rig.controls.lock().unwrap().tick_at = Some(Timestamp(20));
    assert_eq!(rig.steps_at(Timestamp(3)), Step::WaitUntil(Timestamp(20)));
    rig.lanes[0].send(control(Control::End));
    assert_eq!(rig.steps_at(Timestamp(30)), Step::Wait);
    assert_eq!(rig.controls.lock().unwrap().ticks, 1);
}

#[test]
fn cancel_ends_a_task_in_every_state() {
    type Prepare = fn(&mut Rig);
    let states: [(&str, Prepare); 6] = [
        ("new", |_| ()),
        ("waiting", |rig| {
            rig.steps();
        }),
        ("blocked", |rig| {
            rig.block(true);
            rig.lanes[0].send(rows([1]));
            rig.steps();
        }),
        ("aligning", |rig| {
            rig.barrier(0, 1);
            rig.steps();
        }),
        ("capturing", |rig| {
            rig.lanes[0].send(rows(0..20_000));
            rig.barrier(0, 1);
            rig.barrier(1, 1);
            rig.steps();
        }),
        ("drained", |rig| {
            rig.lanes.iter().for_each(|lane| lane.send(control(Control::End)));
            rig.steps();
        }),
    ];
    for (state, prepare) in states {
        let mut rig = Rig::new(2);
        prepare(&mut rig);
        let woken = rig.around.wakes.count();
        rig.post(Mail::Trigger(barrier(9)));
        rig.post(Mail::Cancel);
        assert!(rig.around.wakes.count() > woken);
        assert_eq!(rig.task.step(Timestamp::EPOCH).unwrap(), Step::Done, "{state}");
        let woken = rig.senders.count();
        drop(rig.task);
        assert_eq!(rig.senders.count(), woken + 2, "its senders wait for nothing ({state})");
        assert!(rig.lanes.iter().all(|lane| lane.has_credit()));
    }
}

#[test]
fn a_task_without_credit_sleeps_and_is_woken_by_its_receiver() {
    let around = Around::new();
    let (inputs, _) = lanes(1, &around);
    let ends = ChannelEnds { sender: around.mailbox.waker().clone(), receiver: Wakes::new().1 };
    let output: Lane = Channel::new(16, ends);
    let outlet = Box::new(Outlet::new(Box::new(GlobalRoute), vec![output.clone()]));
    let mut task = Rig::task(&around, &inputs, &Arc::default(), outlet);
    for i in 0..10 {
        inputs[0].send(rows([i]));
        inputs[0].send(control(watermark(i)));
    }
    inputs[0].send(control(Control::End));
    let (mut got, mut handled) = (Vec::new(), 0);
    loop {
        while task.step(Timestamp::EPOCH).unwrap() == Step::Again {}
        handled = around.wakes.count().max(handled);
        let before = got.len();
        got.extend(std::iter::from_fn(|| output.receive()));
        if got.last() == Some(&control(Control::End)) {
            break;
        }
        assert!(got.len() > before && around.wakes.count() > handled, "asleep for ever at {got:?}");
    }
    let expected: Vec<_> = (0..10).flat_map(|i| [rows([i]), control(watermark(i))]).collect();
    assert_eq!(got[..20], expected);
    assert_eq!(around.reported.names(), ["Running", "Drained"]);
}

#[test]
fn two_inputs_of_different_rows_are_told_apart_and_aligned() {
    let (_, waker) = Wakes::new();
    let ends = ChannelEnds { sender: waker.clone(), receiver: waker };
    let (left, right) =
        (Channel::<Records<i64>>::new(100, ends.clone()), Channel::<Records<String>>::new(100, ends));
    type Head = Either<Records<i64>, Records<String>>;
    let inlets: Vec<Box<dyn Inlet<Head>>> = vec![
        Box::new(ChannelInlet::new(left.clone(), Either::Left)),
        Box::new(ChannelInlet::new(right.clone(), Either::Right)),
    ];
    let mut gate = Gate::new(inlets);
    left.send(rows([1]));
    left.send(control(Control::Barrier(barrier(1))));
    left.send(rows([2]));
    right.send(rows(["a".to_owned()]));
    right.send(control(Control::Barrier(barrier(1))));
    let mut got = Vec::new();
    while let Some(element) = gate.take() {
        got.push(match element {
            StreamElement::Batch(Either::Left(batch)) => format!("{:?}", batch.values),
            StreamElement::Batch(Either::Right(batch)) => format!("{:?}", batch.values),
            StreamElement::Control(_) => "barrier".to_owned(),
        });
    }
    assert_eq!(got, ["[1]", "[\"a\"]", "barrier", "[2]"]);
}

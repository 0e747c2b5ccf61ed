use super::*;
use crate::chain::{Discard, Side};
use crate::testing::{
    Around, Element, Recorded, Recorder, barrier, control, here, ident, rows, taken, watermark,
};
use flugs_batch::StreamElement;
use flugs_connector::Outstanding;
use flugs_state::RunReader;
use flugs_types::SubtaskId;
use std::sync::Mutex;
use std::time::Duration;

enum Does {
    Emit(&'static str, &'static [i64]),
    Status(&'static str, SplitStatus),
    Finish(&'static str),
    Malformed,
    Request,
}
use Does::{Emit, Finish, Request, Status};

#[derive(Default)]
struct Script {
    polls: VecDeque<(Vec<Does>, ReaderStatus)>,
    splits: Vec<String>,
    emitted: u8,
    committed: usize,
    no_more: bool,
}

/// Does at each poll what the script says; its positions are the number of rows emitted.
struct Scripted(Arc<Mutex<Script>>);

impl SourceReader<i64> for Scripted {
    fn add_splits(&mut self, splits: Vec<Split>) -> Result<()> {
        self.0.lock().unwrap().splits.extend(splits.into_iter().map(|s| s.id));
        Ok(())
    }

    fn no_more_splits(&mut self) {
        self.0.lock().unwrap().no_more = true;
    }

    fn poll(&mut self, context: &mut PollContext, out: &mut dyn SourceOutput<i64>) -> Result<ReaderStatus> {
        let mut script = self.0.lock().unwrap();
        let Some((todo, status)) = script.polls.pop_front() else { return Ok(ReaderStatus::Waiting) };
        for does in todo {
            match does {
                Emit(split, values) => {
                    script.emitted += values.len() as u8;
                    out.emit(split, values.iter().map(|t| (*t, Timestamp(*t))).collect())?;
                }
                Status(split, status) => out.status(split, status),
                Finish(split) => {
                    script.splits.retain(|s| s != split);
                    out.finished(split);
                }
                Does::Malformed => out.malformed(Malformed {
                    split: "a".to_owned(),
                    position: "line 3".to_owned(),
                    error: "no number".to_owned(),
                    raw: b"x".to_vec(),
                })?,
                Request => context.request_split = true,
            }
        }
        Ok(status)
    }

    fn snapshot(&mut self) -> Result<Vec<Split>> {
        let script = self.0.lock().unwrap();
        let split = |id: &String| Split { id: id.clone(), payload: vec![script.emitted] };
        Ok(script.splits.iter().map(split).collect())
    }

    fn committed(&mut self) -> Result<()> {
        self.0.lock().unwrap().committed += 1;
        Ok(())
    }
}

struct Rig {
    task: SourceTask<i64>,
    around: Around,
    script: Arc<Mutex<Script>>,
    out: Arc<Mutex<Recorded<i64>>>,
    metrics: Arc<Metrics>,
}

struct Made {
    strategy: WatermarkStrategy<i64>,
    on_malformed: OnMalformed,
    groups: AlignmentGroups,
    dead: Option<Arc<Mutex<Recorded<DeadLetter>>>>,
    restored: Vec<Arc<RunReader>>,
}

impl Default for Made {
    fn default() -> Self {
        Made {
            strategy: WatermarkStrategy::monotonous(),
            on_malformed: OnMalformed::Fail,
            groups: AlignmentGroups::default(),
            dead: None,
            restored: Vec::new(),
        }
    }
}

fn split(id: &str) -> Split {
    Split { id: id.to_owned(), payload: Vec::new() }
}

impl Rig {
    fn new(made: Made) -> Self {
        let around = Around::new();
        let script = Arc::<Mutex<Script>>::default();
        let (end, out) = Recorder::new();
        let side = made.dead.map(|dead| Box::new(Side(Box::new(Recorder(dead)))) as _);
        let metrics = Arc::<Metrics>::default();
        let spec = SourceSpec {
            ident: ident("source"),
            boundedness: Boundedness::Unbounded,
            reader: Box::new(Scripted(script.clone())),
            strategy: made.strategy,
            on_malformed: made.on_malformed,
            advice: "mend it",
            metrics: metrics.clone(),
            groups: made.groups,
        };
        let mut state = OpenState::new(SubtaskId::new(0, 1), made.restored);
        let out_of_task = Output::new(Box::new(end), vec![side]);
        let task = SourceTask::new(around.context.clone(), spec, &mut state, out_of_task).unwrap();
        Rig { task, around, script, out, metrics }
    }

    /// With split `a`, and no more to come.
    fn with_a() -> Self {
        let rig = Rig::new(Made::default());
        rig.post(Mail::Splits(vec![split("a")]));
        rig.post(Mail::Outstanding(Outstanding::Nothing));
        rig
    }

    fn post(&self, mail: Mail) {
        self.around.mailbox.post(mail);
    }

    fn poll(&self, does: Vec<Does>, status: ReaderStatus) {
        self.script.lock().unwrap().polls.push_back((does, status));
    }

    fn step(&mut self) -> Step {
        self.task.step(Timestamp::EPOCH).unwrap()
    }

    /// Steps until it waits.
    fn steps(&mut self) -> Step {
        (0..100).map(|_| self.step()).find(|step| *step != Step::Again).expect("it comes to rest")
    }

    fn flow(&self, flow: Flow) {
        self.out.lock().unwrap().flow = flow;
    }

    fn taken(&self) -> Vec<Element<i64>> {
        taken(&self.out).into_iter().map(untimed).collect()
    }

    /// The positions that were acknowledged: split and rows before the cut, with its watermark.
    fn acknowledged(&self) -> Vec<(String, u8, Timestamp)> {
        while self.around.background.run_one() {}
        let events = self.around.reported.take();
        let acks = events.iter().filter_map(|event| match event {
            TaskEvent::Ack { operators, .. } => Some(here(operators[0].state.clone())),
            _ => None,
        });
        let acks: Vec<_> = acks.collect();
        assert_eq!(acks.len(), 1, "{events:?}");
        let run = Arc::new(RunReader::open(acks[0].clone(), "test").unwrap());
        let mut state = OpenState::new(SubtaskId::new(0, 1), vec![run]);
        let positions = std::mem::take(state.list::<Position>(POSITIONS).unwrap().items_mut());
        positions.into_iter().map(|(id, payload, w)| (id, payload.first().copied().unwrap_or(0), w)).collect()
    }
}

fn untimed(element: Element<i64>) -> Element<i64> {
    match element {
        StreamElement::Batch(batch) => rows(batch.values),
        control => control,
    }
}

const MAX: Control = Control::Watermark(Timestamp::MAX);

#[test]
fn splits_handed_out_behind_a_trigger_are_not_in_its_positions() {
    for blocked in [false, true] {
        let mut rig = Rig::with_a();
        rig.poll(vec![Emit("a", &[1, 2])], ReaderStatus::Waiting);
        if blocked {
            rig.flow(Flow::Full);
        }
        rig.steps();
        rig.post(Mail::Trigger(barrier(1)));
        if blocked {
            // The trigger is read while the chain takes nothing, and the next split comes in a later mail.
            rig.steps();
        }
        rig.post(Mail::Splits(vec![split("b")]));
        rig.steps();
        rig.flow(Flow::Ready);
        rig.steps();
        assert_eq!(rig.acknowledged(), [("a".to_owned(), 2, Timestamp(1))], "blocked: {blocked}");
        assert_eq!(rig.script.lock().unwrap().splits, ["a", "b"]);
    }
}

#[test]
fn a_cut_stands_exactly_behind_the_rows_before_its_position() {
    let mut rig = Rig::with_a();
    for values in [&[1, 2][..], &[3], &[4, 5]] {
        rig.poll(vec![Emit("a", values)], ReaderStatus::More);
    }
    rig.flow(Flow::Full);
    rig.steps();
    rig.post(Mail::Trigger(barrier(7)));
    rig.steps();
    rig.flow(Flow::Ready);
    rig.steps();
    let elements = rig.taken();
    let cut = elements.iter().position(|e| *e == control(Control::Barrier(barrier(7)))).unwrap();
    let before: usize = elements[..cut]
        .iter()
        .map(|e| match e {
            StreamElement::Batch(batch) => batch.len(),
            StreamElement::Control(_) => 0,
        })
        .sum();
    assert_eq!(rig.acknowledged()[0].1 as usize, before);
    assert!(before < 5, "the barrier does not wait for the reader");
}

/// A source that was restored when its split had come to 8.
fn restored() -> Rig {
    let mut rig = Rig::with_a();
    rig.poll(vec![Emit("a", &[8])], ReaderStatus::Waiting);
    rig.steps();
    rig.post(Mail::Trigger(barrier(1)));
    rig.steps();
    let TaskEvent::Ack { operators, .. } = rig.around.reported.take().pop().unwrap() else { panic!() };
    let run = RunReader::open(here(operators[0].state.clone()), "test").unwrap();
    Rig::new(Made { restored: vec![Arc::new(run)], ..Made::default() })
}

#[test]
fn a_restored_split_goes_on_with_its_position_and_watermark() {
    let mut again = restored();
    again.post(Mail::Outstanding(Outstanding::Nothing));
    again.steps();
    assert_eq!(again.script.lock().unwrap().splits, ["a"]);
    assert_eq!(again.taken(), [control(watermark(7))]);
}

#[test]
fn the_watermark_of_a_restored_split_comes_before_its_rows() {
    let mut again = restored();
    again.post(Mail::Outstanding(Outstanding::Nothing));
    again.poll(vec![Emit("a", &[3])], ReaderStatus::Waiting);
    again.steps();
    assert_eq!(again.taken(), [control(watermark(7)), rows([3])], "it was late before, too");
}

#[test]
fn an_aborted_trigger_is_not_obeyed_and_its_capture_is_not_acknowledged() {
    let mut rig = Rig::with_a();
    rig.flow(Flow::Full);
    rig.poll(vec![Emit("a", &[1])], ReaderStatus::Waiting);
    rig.steps();
    rig.post(Mail::Trigger(barrier(1)));
    rig.steps();
    rig.post(Mail::Aborted(CheckpointId(1)));
    rig.post(Mail::Trigger(barrier(2)));
    rig.flow(Flow::Ready);
    rig.steps();
    let barriers: Vec<_> = rig
        .taken()
        .into_iter()
        .filter(|e| matches!(e, StreamElement::Control(Control::Barrier(_))))
        .collect();
    assert_eq!(barriers, [control(Control::Barrier(barrier(2)))]);
    assert_eq!(rig.around.reported.names(), ["Running", "Ack 2"]);
    // Given up while the barrier is in the chain.
    rig.flow(Flow::Full);
    rig.post(Mail::Trigger(barrier(3)));
    rig.steps();
    rig.post(Mail::Aborted(CheckpointId(3)));
    rig.steps();
    rig.flow(Flow::Ready);
    rig.steps();
    assert_eq!(rig.around.reported.names(), [""; 0]);
    rig.post(Mail::Trigger(barrier(4)));
    rig.steps();
    assert_eq!(rig.around.reported.names(), ["Ack 4"]);
    rig.post(Mail::Committed(CheckpointId(4)));
    rig.steps();
    assert_eq!(rig.script.lock().unwrap().committed, 1);
}

#[test]
fn the_end_of_input_on_request_waits_for_the_chain_and_comes_once() {
    let mut rig = Rig::with_a();
    rig.flow(Flow::Full);
    rig.poll(vec![Emit("a", &[1])], ReaderStatus::More);
    rig.poll(vec![], ReaderStatus::Finished);
    rig.steps();
    rig.post(Mail::EndInput);
    rig.post(Mail::EndInput);
    rig.steps();
    assert_eq!(rig.taken(), [rows([1])]);
    assert_eq!(rig.around.reported.names(), ["Running"]);
    rig.flow(Flow::Ready);
    rig.steps();
    assert_eq!(rig.taken(), [control(MAX), control(Control::End)]);
    assert_eq!(rig.around.reported.names(), ["Running", "Drained"][1..]);
    // A drained source answers triggers, with nothing left to read.
    rig.post(Mail::Trigger(barrier(5)));
    rig.steps();
    assert_eq!(rig.acknowledged(), []);
    rig.post(Mail::Finish);
    assert_eq!(rig.step(), Step::Done);
}

#[test]
fn a_source_that_was_idle_says_so_before_its_next_rows() {
    let mut rig = Rig::with_a();
    rig.poll(vec![Emit("a", &[5]), Status("a", SplitStatus::CaughtUp)], ReaderStatus::Waiting);
    rig.steps();
    assert_eq!(rig.taken(), [rows([5]), control(watermark(4)), control(Control::Idle)]);
    rig.poll(vec![Emit("a", &[6])], ReaderStatus::More);
    rig.poll(vec![Emit("a", &[9])], ReaderStatus::Waiting);
    rig.steps();
    assert_eq!(rig.taken(), [control(Control::Active), rows([6]), rows([9]), control(watermark(8))]);
}

/// With a reader that has asked, and the enumerator's first look still to come.
fn before_the_first_look() -> Rig {
    let mut rig = Rig::new(Made::default());
    rig.post(Mail::Outstanding(Outstanding::InOrder));
    rig.poll(vec![Request], ReaderStatus::Waiting);
    rig.steps();
    assert_eq!(rig.taken(), []);
    rig
}

#[test]
fn a_reader_is_idle_only_when_the_first_look_has_nothing_for_it() {
    let mut empty = before_the_first_look();
    empty.post(Mail::Outstanding(Outstanding::Nothing));
    empty.steps();
    assert_eq!(empty.taken(), [control(Control::Idle)]);
    let mut given = before_the_first_look();
    given.post(Mail::Splits(vec![split("a")]));
    given.post(Mail::Outstanding(Outstanding::Nothing));
    given.steps();
    assert_eq!(given.taken(), [], "what it has is still to be read");
}

#[test]
fn a_reader_between_two_splits_is_not_idle() {
    let mut rig = before_the_first_look();
    rig.post(Mail::Splits(vec![split("a")]));
    rig.poll(vec![Emit("a", &[10]), Finish("a"), Request], ReaderStatus::Waiting);
    rig.steps();
    assert_eq!(rig.taken(), [rows([10]), control(watermark(9))]);
    rig.post(Mail::Splits(vec![split("b")]));
    rig.post(Mail::Outstanding(Outstanding::Nothing));
    rig.poll(vec![Emit("b", &[9, 20]), Finish("b"), Request], ReaderStatus::Waiting);
    rig.steps();
    assert_eq!(rig.taken(), [rows([9, 20]), control(watermark(19)), control(Control::Idle)]);
}

#[test]
fn a_poll_without_rows_wakes_nobody() {
    let mut rig = Rig::with_a();
    rig.poll(vec![Emit("a", &[5]), Status("a", SplitStatus::CaughtUp)], ReaderStatus::Waiting);
    rig.steps();
    rig.taken();
    rig.poll(vec![Emit("a", &[])], ReaderStatus::Waiting);
    rig.steps();
    assert_eq!(rig.taken(), []);
}

#[test]
fn splits_that_end_within_one_poll_still_move_event_time() {
    let mut rig = Rig::with_a();
    rig.poll(vec![Emit("a", &[10]), Finish("a")], ReaderStatus::Waiting);
    rig.steps();
    assert_eq!(rig.taken(), [rows([10]), control(watermark(9)), control(Control::Idle)]);
}

#[test]
fn unassigned_splits_hold_the_watermark_until_the_enumerator_lets_go() {
    let mut rig = Rig::new(Made::default());
    rig.post(Mail::Splits(vec![split("a")]));
    rig.poll(vec![Emit("a", &[5]), Request, Request], ReaderStatus::Waiting);
    rig.poll(vec![Request], ReaderStatus::Waiting);
    rig.steps();
    rig.steps();
    assert_eq!(rig.taken(), [rows([5])]);
    assert_eq!(rig.around.reported.names(), ["Running", "SplitRequested"], "asked once");
    rig.post(Mail::Outstanding(Outstanding::Nothing));
    rig.post(Mail::NoMoreSplits);
    rig.steps();
    assert_eq!(rig.taken(), [control(watermark(4))]);
    assert!(rig.script.lock().unwrap().no_more);
    assert_eq!(rig.metrics.source_watermark(), Some(Timestamp(4)));
}

#[test]
fn a_reader_that_waits_for_a_time_is_stepped_then() {
    let mut rig = Rig::with_a();
    rig.poll(vec![], ReaderStatus::WaitUntil(Timestamp(70)));
    assert_eq!(rig.steps(), Step::WaitUntil(Timestamp(70)));
    assert_eq!(rig.steps(), Step::Wait);
}

#[test]
fn each_policy_for_malformed_records() {
    let dead = Recorder::<DeadLetter>::new().1;
    for policy in [OnMalformed::Fail, OnMalformed::Skip, OnMalformed::Route] {
        let made = Made { on_malformed: policy, dead: Some(dead.clone()), ..Made::default() };
        let mut rig = Rig::new(made);
        rig.poll(vec![Emit("a", &[1]), Does::Malformed, Emit("a", &[2])], ReaderStatus::Waiting);
        let stepped = rig.task.step(Timestamp::EPOCH);
        if policy == OnMalformed::Fail {
            let error = stepped.unwrap_err().to_string();
            let place = "bad data: no number (at operator 'source', subtask 1/1, a, line 3); mend it";
            assert!(error.starts_with(place), "{error}");
            continue;
        }
        assert_eq!(rig.taken(), [rows([1, 2])]);
        assert_eq!(rig.metrics.sum(None, "numMalformedRecords"), 1);
        let letters = taken(&dead);
        assert_eq!(letters.len(), usize::from(policy == OnMalformed::Route));
    }
}

#[test]
fn rows_without_as_many_times_are_refused_and_not_cut_short() {
    let mut feed = Rig::with_a().task.feed;
    let error = feed.emit("a", Records { values: vec![1, 2], times: vec![Timestamp(1)] }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "user function failed: the reader emitted 2 rows with 1 event times (at split 'a'); \
         give each row a time; Timestamp::MIN where it has none"
    );
}

fn aligned(groups: &AlignmentGroups) -> Rig {
    let strategy = WatermarkStrategy::monotonous().with_alignment("g", Duration::from_micros(10));
    let rig = Rig::new(Made { strategy, groups: groups.clone(), ..Made::default() });
    rig.post(Mail::Outstanding(Outstanding::Nothing));
    rig
}

#[test]
fn the_faster_of_two_sources_pauses_and_has_said_how_far_it_is() {
    let groups = AlignmentGroups::default();
    let (mut fast, mut slow) = (aligned(&groups), aligned(&groups));
    slow.post(Mail::Splits(vec![split("s")]));
    fast.post(Mail::Splits(vec![split("f")]));
    slow.poll(vec![Emit("s", &[1])], ReaderStatus::Waiting);
    slow.steps();
    fast.poll(vec![Emit("f", &[100])], ReaderStatus::More);
    fast.poll(vec![Emit("f", &[200])], ReaderStatus::More);
    fast.steps();
    assert_eq!(fast.taken(), [rows([100]), control(watermark(99))], "paused, and its watermark is known");
    let woken = fast.around.wakes.count();
    slow.poll(vec![Emit("s", &[50])], ReaderStatus::Waiting);
    slow.steps();
    assert!(fast.around.wakes.count() > woken);
    fast.steps();
    assert_eq!(fast.taken(), [], "still too far ahead");
    // The slow one has reached the end of what there is: nobody waits for it.
    let woken = fast.around.wakes.count();
    slow.poll(vec![Status("s", SplitStatus::CaughtUp)], ReaderStatus::Waiting);
    slow.steps();
    assert!(fast.around.wakes.count() > woken);
    fast.steps();
    assert_eq!(fast.taken(), [rows([200]), control(watermark(199))]);
}

#[test]
fn sources_that_end_or_go_leave_their_group() {
    for ends in [true, false] {
        let groups = AlignmentGroups::default();
        let (mut fast, mut slow) = (aligned(&groups), aligned(&groups));
        slow.post(Mail::Splits(vec![split("s")]));
        slow.steps();
        fast.poll(vec![Emit("f", &[100])], ReaderStatus::More);
        fast.poll(vec![Emit("f", &[200])], ReaderStatus::Waiting);
        fast.steps();
        assert_eq!(fast.taken().len(), 2);
        let woken = fast.around.wakes.count();
        if ends {
            slow.poll(vec![], ReaderStatus::Finished);
            slow.steps();
        }
        drop(slow);
        assert!(fast.around.wakes.count() > woken);
        fast.steps();
        assert_eq!(fast.taken(), [rows([200]), control(watermark(199))]);
    }
}

#[test]
fn alignment_of_a_source_without_watermarks_stops_nobody() {
    let groups = AlignmentGroups::default();
    let strategy = WatermarkStrategy::none().with_alignment("g", Duration::ZERO);
    let mut mute = Rig::new(Made { strategy, groups: groups.clone(), ..Made::default() });
    mute.post(Mail::Splits(vec![split("m")]));
    mute.steps();
    let mut other = aligned(&groups);
    other.poll(vec![Emit("f", &[100])], ReaderStatus::More);
    other.poll(vec![Emit("f", &[200])], ReaderStatus::Waiting);
    other.steps();
    assert_eq!(other.taken(), [rows([100]), rows([200]), control(watermark(199))]);
}

#[test]
fn rows_of_a_task_without_a_reader_of_its_results_are_dropped() {
    let around = Around::new();
    let script = Arc::<Mutex<Script>>::default();
    let spec = SourceSpec {
        ident: ident("source"),
        boundedness: Boundedness::Bounded,
        reader: Box::new(Scripted(script.clone())),
        strategy: WatermarkStrategy::<i64>::none(),
        on_malformed: OnMalformed::Route,
        advice: "mend it",
        metrics: Arc::default(),
        groups: AlignmentGroups::default(),
    };
    let mut state = OpenState::new(SubtaskId::new(0, 1), Vec::new());
    let out = Output::new(Box::new(Discard), Vec::new());
    let mut task = SourceTask::new(around.context.clone(), spec, &mut state, out).unwrap();
    script.lock().unwrap().polls.push_back((vec![Emit("a", &[1]), Does::Malformed], ReaderStatus::Finished));
    while task.step(Timestamp::EPOCH).unwrap() == Step::Again {}
    assert_eq!(around.reported.names(), ["Running", "Drained"]);
}

//! Scripted cases, and generated histories under a judge that keeps all that happened.

use super::*;
use proptest::prelude::*;

const A: Subtask = Subtask { task: 0, index: 0 };
const B: Subtask = Subtask { task: 1, index: 0 };

fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

/// Runs events at given seconds; the actions of each step in words.
struct Script {
    coordinator: Coordinator<u32>,
}

impl Script {
    fn new(options: CheckpointOptions) -> Self {
        Script { coordinator: Coordinator::new(options, CheckpointId(7)) }
    }

    fn at(&mut self, second: i64, event: Event<u32>) -> Vec<String> {
        self.coordinator.step(Timestamp::from_secs(second), event).iter().map(words).collect()
    }

    fn start(&mut self) -> Vec<String> {
        self.at(0, Event::Started { subtasks: vec![B, A] })
    }

    fn ack(&mut self, second: i64, checkpoint: u64, subtask: Subtask) -> Vec<String> {
        self.at(second, Event::Ack { checkpoint: CheckpointId(checkpoint), subtask, payload: subtask.task })
    }

    fn published(&mut self, second: i64, checkpoint: u64, result: Result<()>) -> Vec<String> {
        self.at(second, Event::Published { checkpoint: CheckpointId(checkpoint), result })
    }

    fn drain(&mut self, second: i64) -> Vec<String> {
        self.at(second, Event::SubtaskFinished { subtask: A });
        self.at(second, Event::SubtaskFinished { subtask: B })
    }
}

fn words(action: &Action<u32>) -> String {
    match action {
        Action::Trigger { checkpoint, kind } => format!("trigger {kind} {checkpoint}"),
        Action::Publish { checkpoint, acks, .. } => {
            format!("publish {checkpoint} {:?}", acks.iter().map(|(s, p)| (s.task, *p)).collect::<Vec<_>>())
        }
        Action::Committed { checkpoint } => format!("committed {checkpoint}"),
        Action::Abort { checkpoint, reason } => format!("abort {checkpoint}: {reason}"),
        Action::FailJob { reason } => format!("fail: {}", reason.message()),
        Action::WakeAt(t) => format!("wake {}", t.0 / 1_000_000),
        Action::AllFinished => "finished".to_owned(),
    }
}

fn every_ten() -> CheckpointOptions {
    CheckpointOptions { interval: Some(secs(10)), timeout: secs(60), min_pause: secs(5), tolerable_failed: 1 }
}

#[test]
fn a_periodic_checkpoint_from_trigger_to_commit() {
    let mut s = Script::new(every_ten());
    assert_eq!(s.start(), ["wake 10"]);
    assert_eq!(s.at(10, Event::Tick), ["trigger checkpoint 7", "wake 70"]);
    assert!(s.ack(11, 7, B).is_empty());
    assert!(s.ack(12, 7, B).is_empty(), "twice from one is one");
    assert_eq!(s.coordinator.progress().map(|p| (p.acknowledged, p.participants)), Some((1, 2)));
    assert_eq!(s.ack(13, 7, A), ["publish 7 [(0, 0), (1, 1)]"]);
    assert_eq!(s.published(18, 7, Ok(())), ["committed 7", "wake 23"], "the pause outlasts the interval");
    assert_eq!(s.at(23, Event::Tick), ["trigger checkpoint 8", "wake 83"]);
}

#[test]
fn failures_are_tolerated_as_long_as_they_are_not_in_a_row() {
    let mut s = Script::new(every_ten());
    s.start();
    s.at(10, Event::Tick);
    let declined = |checkpoint| Event::Declined {
        checkpoint: CheckpointId(checkpoint),
        subtask: A,
        reason: "busy".into(),
    };
    assert_eq!(s.at(11, declined(7)), ["abort 7: declined by subtask 0 of task 0: busy", "wake 20"]);
    assert!(s.at(12, declined(7)).is_empty());
    s.at(20, Event::Tick);
    s.ack(20, 8, A);
    s.ack(20, 8, B);
    assert_eq!(s.published(20, 8, Ok(())), ["committed 8", "wake 30"]);
    s.at(30, Event::Tick);
    s.ack(31, 9, B);
    assert_eq!(
        s.at(90, Event::Tick),
        ["abort 9: not acknowledged within 60s by subtask 0 of task 0", "wake 95"]
    );
    s.at(95, Event::Tick);
    s.ack(96, 10, A);
    s.ack(96, 10, B);
    let end = s.published(97, 10, Err(Error::environment("disk full")));
    assert_eq!(end[0], "abort 10: not published: environment error: disk full");
    assert!(
        end[1].starts_with("fail: 2 checkpoints in a row failed and 1 are tolerated; the last, 10,"),
        "{end:?}"
    );
    assert!(s.at(200, Event::Tick).is_empty());
}

#[test]
fn a_newer_owner_ends_the_job_at_once() {
    let mut s = Script::new(CheckpointOptions { tolerable_failed: 99, ..every_ten() });
    s.start();
    s.at(10, Event::Tick);
    s.ack(10, 7, A);
    s.ack(10, 7, B);
    let actions = s.coordinator.step(
        Timestamp::from_secs(11),
        Event::Published {
            checkpoint: CheckpointId(7),
            result: Err(Error::fenced("generation 2 is fenced by 3")),
        },
    );
    assert!(
        matches!(&actions[..], [Action::Abort { .. }, Action::FailJob { reason }] if reason.kind() == ErrorKind::Fenced)
    );
}

#[test]
fn the_final_checkpoint_waits_for_the_running_one_and_is_retried() {
    let mut s = Script::new(every_ten());
    s.start();
    s.at(10, Event::Tick);
    assert!(s.drain(11).is_empty());
    s.ack(12, 7, A);
    s.ack(12, 7, B);
    assert_eq!(s.published(12, 7, Ok(())), ["committed 7", "trigger final 8", "wake 72"]);
    assert_eq!(
        s.at(13, Event::Declined { checkpoint: CheckpointId(8), subtask: B, reason: "no".into() }),
        ["abort 8: declined by subtask 0 of task 1: no", "wake 18"]
    );
    assert!(
        s.at(14, Event::TriggerRequested { kind: Kind::Checkpoint }).is_empty(),
        "the final one supersedes it"
    );
    assert_eq!(s.at(18, Event::Tick), ["trigger final 9", "wake 78"]);
    s.ack(19, 9, A);
    s.ack(19, 9, B);
    assert_eq!(s.published(20, 9, Ok(())), ["committed 9", "finished"]);
    assert!(s.at(21, Event::TriggerRequested { kind: Kind::Savepoint }).is_empty());
}

#[test]
fn without_a_pause_the_final_checkpoint_is_retried_after_growing_delays() {
    let options = CheckpointOptions { min_pause: Duration::ZERO, tolerable_failed: 12, ..every_ten() };
    let mut coordinator = Coordinator::<u32>::new(options, CheckpointId(1));
    let mut now = Timestamp::EPOCH;
    coordinator.step(now, Event::Started { subtasks: vec![A] });
    coordinator.step(now, Event::SubtaskFinished { subtask: A });
    let mut delays = Vec::new();
    for checkpoint in (1..=10).map(CheckpointId) {
        let decline = Event::Declined { checkpoint, subtask: A, reason: "no".into() };
        let actions = coordinator.step(now, decline);
        let [Action::Abort { .. }, Action::WakeAt(at)] = actions[..] else { panic!("{actions:?}") };
        delays.push((at.0 - now.0) / 1000);
        assert!(
            coordinator.step(Timestamp(at.0 - 1), Event::Tick).iter().all(|a| matches!(a, Action::WakeAt(_)))
        );
        now = at;
        let actions = coordinator.step(now, Event::Tick);
        assert!(matches!(actions[0], Action::Trigger { kind: Kind::Final, .. }), "{actions:?}");
    }
    assert_eq!(delays, [50, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000], "in milliseconds");
}

#[test]
fn savepoints_come_on_request_and_their_failure_is_no_failure_of_the_job() {
    let mut s = Script::new(CheckpointOptions { tolerable_failed: 0, interval: None, ..every_ten() });
    s.at(0, Event::TriggerRequested { kind: Kind::Savepoint });
    assert_eq!(s.start(), ["trigger savepoint 7", "wake 60"]);
    s.at(1, Event::TriggerRequested { kind: Kind::Savepoint });
    s.at(1, Event::TriggerRequested { kind: Kind::Savepoint });
    let end = s.at(60, Event::Tick);
    assert!(
        end[0]
            .starts_with("abort 7: not acknowledged within 60s by subtask 0 of task 0, subtask 0 of task 1")
    );
    assert_eq!(end[1..], ["trigger savepoint 8", "wake 120"], "two requests are served by one");
    s.ack(61, 8, A);
    s.ack(61, 8, B);
    assert_eq!(s.published(62, 8, Ok(())), ["committed 8"]);
}

#[test]
fn a_stop_gives_up_what_is_collecting_and_awaits_what_is_publishing() {
    let mut s = Script::new(every_ten());
    s.start();
    s.at(10, Event::Tick);
    assert_eq!(s.at(11, Event::Stop), ["abort 7: the job is being stopped"]);
    let mut s = Script::new(every_ten());
    s.start();
    s.at(10, Event::Tick);
    s.ack(11, 7, A);
    s.ack(11, 7, B);
    assert!(s.at(12, Event::Stop).is_empty());
    assert_eq!(s.published(13, 7, Ok(())), ["committed 7"]);
    assert!(s.at(100, Event::Tick).is_empty());
}

#[test]
fn a_publication_that_fails_after_the_stop_does_not_fail_the_job() {
    let mut s = Script::new(CheckpointOptions { tolerable_failed: 0, ..every_ten() });
    s.start();
    s.at(10, Event::Tick);
    s.ack(11, 7, A);
    s.ack(11, 7, B);
    s.at(12, Event::Stop);
    assert_eq!(
        s.published(13, 7, Err(Error::transient("slow"))),
        ["abort 7: not published: transient failure: slow"]
    );
    assert!(s.at(14, Event::TriggerRequested { kind: Kind::Savepoint }).is_empty());
}

#[test]
fn a_publication_never_times_out() {
    let mut s = Script::new(every_ten());
    s.start();
    s.at(10, Event::Tick);
    s.ack(11, 7, A);
    s.ack(11, 7, B);
    assert!(s.at(10_000, Event::Tick).is_empty());
    assert_eq!(s.published(10_001, 7, Ok(())), ["committed 7", "wake 10006"]);
}

#[test]
fn a_clock_set_back_stops_nothing() {
    let mut s = Script::new(every_ten());
    s.start();
    assert_eq!(s.at(-3600, Event::Tick), ["wake -3590"]);
    assert_eq!(s.at(-3590, Event::Tick), ["trigger checkpoint 7", "wake -3530"]);
}

#[test]
fn a_clock_set_back_does_not_delay_the_next_try_of_the_final_checkpoint() {
    let mut s = Script::new(every_ten());
    s.start();
    assert_eq!(s.drain(1), ["trigger final 7", "wake 61"]);
    s.at(2, Event::Declined { checkpoint: CheckpointId(7), subtask: A, reason: "no".into() });
    assert_eq!(s.at(-3600, Event::Tick), ["wake -3595"]);
    assert_eq!(s.at(-3595, Event::Tick), ["trigger final 8", "wake -3535"]);
}

#[test]
fn a_job_of_no_subtasks_finishes() {
    let mut s = Script::new(every_ten());
    let actions = s.at(0, Event::Started { subtasks: vec![] });
    assert_eq!(actions, ["trigger final 7", "publish 7 []"]);
    assert_eq!(s.published(1, 7, Ok(())), ["committed 7", "finished"]);
}

/// One thing that the generated world does.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Wait(u64),
    WaitForAlarm,
    StepBack(u64),
    Ack { subtask: u32, age: u64 },
    Decline { subtask: u32, age: u64 },
    Finish(u32),
    Request(Kind),
    Publish { outcome: u8, age: u64 },
    Stop,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let age = || prop_oneof![9 => Just(0u64), 1 => 1u64..3];
    let deed = prop_oneof![
        4 => (0u64..4_000_000).prop_map(Deed::Wait),
        4 => Just(Deed::WaitForAlarm),
        1 => (1u64..5_000_000).prop_map(Deed::StepBack),
        14 => (0u32..4, age()).prop_map(|(subtask, age)| Deed::Ack { subtask, age }),
        1 => (0u32..4, age()).prop_map(|(subtask, age)| Deed::Decline { subtask, age }),
        3 => (0u32..4).prop_map(Deed::Finish),
        1 => prop_oneof![Just(Kind::Checkpoint), Just(Kind::Savepoint), Just(Kind::Final)].prop_map(Deed::Request),
        8 => (0u8..20, age()).prop_map(|(outcome, age)| Deed::Publish { outcome, age }),
        1 => prop_oneof![8 => Just(Deed::WaitForAlarm), 1 => Just(Deed::Stop)],
    ];
    prop::collection::vec(deed, 1..120)
}

fn options() -> impl Strategy<Value = CheckpointOptions> {
    let micros = |n: u64| Duration::from_micros(n);
    let up_to = |n: u64| prop_oneof![1 => Just(0), 5 => 0..n];
    (prop::option::of(up_to(3_000_000)), up_to(4_000_000), up_to(2_000_000), 0u32..4).prop_map(
        move |(interval, timeout, pause, tolerable_failed)| CheckpointOptions {
            interval: interval.map(micros),
            timeout: micros(timeout),
            min_pause: micros(pause),
            tolerable_failed,
        },
    )
}

/// The naive twin: it keeps the whole history and judges each step by what must hold of histories.
struct Judge {
    options: CheckpointOptions,
    coordinator: Coordinator<u64>,
    participants: u32,
    now: i64,
    alarm: Option<i64>,
    open: Option<(u64, Kind)>,
    opened: i64,
    last_start: i64,
    last_end: i64,
    final_failed: i64,
    publishing: bool,
    acked: BTreeMap<u32, u64>,
    finished: BTreeSet<u32>,
    last_id: u64,
    in_row: u32,
    ended: bool,
    stopped: bool,
    payload: u64,
    wanted: [bool; 2],
    committed: Vec<u64>,
}

impl Judge {
    fn new(options: CheckpointOptions, participants: u32) -> Self {
        let coordinator = Coordinator::new(options.clone(), CheckpointId(1));
        let mut judge = Judge {
            options,
            coordinator,
            participants,
            now: 0,
            alarm: None,
            open: None,
            opened: 0,
            last_start: 0,
            last_end: i64::MIN / 2,
            final_failed: i64::MIN / 2,
            publishing: false,
            acked: BTreeMap::new(),
            finished: BTreeSet::new(),
            last_id: 0,
            in_row: 0,
            ended: false,
            stopped: false,
            payload: 0,
            wanted: [false; 2],
            committed: Vec::new(),
        };
        let subtasks = (0..participants).map(|index| Subtask { task: 0, index }).collect();
        judge.step(Event::Started { subtasks });
        judge
    }

    fn is_open(&self, checkpoint: CheckpointId) -> bool {
        self.open.is_some_and(|(id, _)| id == checkpoint.0)
    }

    fn step(&mut self, event: Event<u64>) {
        let mut answer = None;
        match &event {
            Event::Ack { checkpoint, subtask, payload }
                if subtask.index < self.participants && !self.publishing && self.is_open(*checkpoint) =>
            {
                self.acked.entry(subtask.index).or_insert(*payload);
            }
            Event::SubtaskFinished { subtask } if subtask.index < self.participants => {
                self.finished.insert(subtask.index);
            }
            Event::Published { checkpoint, result } if self.publishing && self.is_open(*checkpoint) => {
                answer = Some(result.as_ref().map(drop).map_err(Error::kind));
            }
            Event::TriggerRequested { kind: Kind::Checkpoint } => self.wanted[0] = true,
            Event::TriggerRequested { kind: Kind::Savepoint } => self.wanted[1] = true,
            Event::Tick => self.alarm = None,
            _ => {}
        }
        let stop = matches!(event, Event::Stop);
        self.stopped |= stop;
        let ended = self.ended;
        let actions = self.coordinator.step(Timestamp(self.now), event);
        assert!(!ended || actions.is_empty(), "nothing follows the end: {actions:?}");
        let must_answer = answer.is_some();
        for action in actions {
            assert!(!self.ended || matches!(action, Action::AllFinished), "{action:?} after the end");
            self.judge(action, &mut answer, stop);
        }
        assert!(!(must_answer && answer.is_some()), "the answer to a publication ends it");
        self.judge_waiting();
    }

    fn judge(&mut self, action: Action<u64>, answer: &mut Option<Result<(), ErrorKind>>, stop: bool) {
        match action {
            Action::Trigger { checkpoint, kind } => {
                assert_eq!(self.open, None, "one at a time");
                assert!(checkpoint.0 > self.last_id && !self.stopped);
                match kind {
                    Kind::Final => {
                        assert_eq!(self.finished.len() as u32, self.participants);
                        assert!(self.now >= self.final_failed + 50_000, "tried again without a pause");
                    }
                    Kind::Savepoint => assert!(std::mem::take(&mut self.wanted[1])),
                    Kind::Checkpoint => {
                        if !std::mem::take(&mut self.wanted[0]) {
                            let interval =
                                self.options.interval.expect("asked for, or periodic").as_micros() as i64;
                            let pause = self.options.min_pause.as_micros() as i64;
                            assert!(
                                self.now >= self.last_start + interval && self.now >= self.last_end + pause
                            );
                        }
                        self.last_start = self.now;
                    }
                }
                self.last_id = checkpoint.0;
                self.open = Some((checkpoint.0, kind));
                self.opened = self.now;
                self.acked.clear();
            }
            Action::Publish { checkpoint, kind, acks } => {
                assert!(self.open == Some((checkpoint.0, kind)) && !self.publishing);
                let expected: Vec<(u32, u64)> = self.acked.iter().map(|(s, p)| (*s, *p)).collect();
                assert_eq!(expected.len() as u32, self.participants, "all have acknowledged");
                assert_eq!(acks.iter().map(|(s, p)| (s.index, *p)).collect::<Vec<_>>(), expected);
                self.publishing = true;
            }
            Action::Committed { checkpoint } => {
                assert_eq!(answer.take(), Some(Ok(())), "committed only once the manifest is there");
                let (id, kind) = self.open.take().unwrap();
                assert_eq!(id, checkpoint.0);
                assert!(self.committed.last().is_none_or(|&last| last < id));
                self.committed.push(id);
                self.publishing = false;
                self.last_end = self.now;
                self.in_row = 0;
                self.ended = kind == Kind::Final;
            }
            Action::Abort { checkpoint, .. } => {
                let (id, kind) = self.open.take().unwrap();
                assert_eq!(id, checkpoint.0);
                self.last_end = self.now;
                if kind == Kind::Final {
                    self.final_failed = self.now;
                }
                if self.publishing {
                    assert!(matches!(answer, Some(Err(_))), "what is publishing is not given up");
                    self.publishing = false;
                }
                if !stop && !self.stopped && kind != Kind::Savepoint {
                    self.in_row += 1;
                }
            }
            Action::FailJob { reason } => {
                let fenced = answer.take() == Some(Err(ErrorKind::Fenced));
                assert_eq!(fenced, reason.kind() == ErrorKind::Fenced);
                assert!(fenced || self.in_row > self.options.tolerable_failed);
                assert_eq!(self.open, None);
                self.ended = true;
            }
            Action::AllFinished => assert!(self.ended && self.committed.last() == Some(&self.last_id)),
            Action::WakeAt(t) => {
                assert!(t.0 > self.now, "never in the past");
                self.alarm = Some(t.0);
            }
        }
        if matches!(answer, Some(Err(kind)) if *kind != ErrorKind::Fenced) && self.open.is_none() {
            *answer = None;
        }
    }

    /// What must hold between two steps.
    fn judge_waiting(&mut self) {
        self.ended |= self.stopped && self.open.is_none();
        assert!(self.ended || self.in_row <= self.options.tolerable_failed);
        if self.ended {
            assert_eq!(self.open, None, "each trigger has ended");
            return;
        }
        let progress = self.coordinator.progress();
        assert_eq!(progress.map(|p| (p.checkpoint.0, p.kind)), self.open);
        assert!(self.open.is_some() || !self.wanted[1], "a savepoint starts at once where none is under way");
        if self.publishing || self.stopped {
            return;
        }
        if self.open.is_some() {
            let patience = (self.options.timeout.as_micros() as i64).max(1);
            assert!(self.now < self.opened + patience, "late ones are given up");
        }
        if self.open.is_some()
            || self.options.interval.is_some()
            || self.finished.len() as u32 == self.participants
        {
            assert!(
                self.alarm.is_some_and(|t| t > self.now),
                "something will happen: {:?} at {}",
                self.alarm,
                self.now
            );
        }
    }

    fn act(&mut self, deed: Deed) {
        let subtask = |index| Subtask { task: 0, index };
        match deed {
            Deed::Wait(us) => {
                // A driver brings the tick when it is due, not later.
                self.now = self.alarm.unwrap_or(i64::MAX).min(self.now + us as i64);
                self.step(Event::Tick);
            }
            Deed::WaitForAlarm => {
                self.now = self.alarm.unwrap_or(self.now);
                self.step(Event::Tick);
            }
            Deed::StepBack(us) => {
                self.now -= us as i64;
                for time in
                    [&mut self.opened, &mut self.last_start, &mut self.last_end, &mut self.final_failed]
                {
                    *time -= us as i64;
                }
                self.step(Event::Tick);
            }
            Deed::Ack { subtask: index, age } => {
                self.payload += 1;
                let checkpoint = CheckpointId(self.last_id.saturating_sub(age));
                self.step(Event::Ack { checkpoint, subtask: subtask(index), payload: self.payload });
            }
            Deed::Decline { subtask: index, age } => {
                let checkpoint = CheckpointId(self.last_id.saturating_sub(age));
                self.step(Event::Declined { checkpoint, subtask: subtask(index), reason: "no".into() });
            }
            Deed::Finish(index) => self.step(Event::SubtaskFinished { subtask: subtask(index) }),
            Deed::Request(kind) => self.step(Event::TriggerRequested { kind }),
            Deed::Publish { outcome, age } => {
                let checkpoint = CheckpointId(self.last_id.saturating_sub(age));
                let result = match outcome {
                    0 => Err(Error::fenced("newer")),
                    1..4 => Err(Error::transient("slow")),
                    _ => Ok(()),
                };
                self.step(Event::Published { checkpoint, result });
            }
            Deed::Stop => self.step(Event::Stop),
        }
    }

    /// From here on all goes well: the job must end, and soon.
    fn finish(&mut self) {
        for index in 0..self.participants {
            self.act(Deed::Finish(index));
        }
        for _ in 0..20 {
            if self.ended {
                return;
            }
            if self.open.is_none() {
                self.act(Deed::WaitForAlarm);
            }
            for index in 0..self.participants {
                self.act(Deed::Ack { subtask: index, age: 0 });
            }
            self.act(Deed::Publish { outcome: 9, age: 0 });
        }
        panic!("the job does not end");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn histories_hold_what_the_protocol_promises(
        options in options(), participants in 0u32..4, deeds in deeds(),
    ) {
        let mut judge = Judge::new(options, participants);
        for deed in deeds {
            judge.act(deed);
        }
        judge.finish();
    }
}

use super::*;
use flugs_batch::{BarrierKind, Records};
use flugs_types::Timestamp;
use proptest::prelude::*;

struct Fake(Arc<std::sync::Mutex<VecDeque<StreamElement<Records<i32>>>>>);
impl Inlet<Records<i32>> for Fake {
    fn receive(&mut self) -> Option<StreamElement<Records<i32>>> {
        self.0.lock().unwrap().pop_front()
    }
    fn is_empty(&self) -> bool {
        self.0.lock().unwrap().is_empty()
    }
    fn close(&mut self) {}
}

fn barrier(n: u64) -> Control {
    Control::Barrier(Barrier { checkpoint: CheckpointId(n), kind: BarrierKind::Checkpoint })
}

fn rows(x: i32) -> StreamElement<Records<i32>> {
    StreamElement::Batch(Records::untimed(vec![x]))
}

type Queue = Arc<std::sync::Mutex<VecDeque<StreamElement<Records<i32>>>>>;

fn gate() -> (Gate<Records<i32>>, Vec<Queue>) {
    gate_of(2)
}

fn gate_of(channels: usize) -> (Gate<Records<i32>>, Vec<Queue>) {
    let queues: Vec<Queue> = (0..channels).map(|_| Queue::default()).collect();
    (Gate::new(queues.iter().map(|q| Box::new(Fake(q.clone())) as Box<dyn Inlet<_>>).collect()), queues)
}

fn all(gate: &mut Gate<Records<i32>>) -> Vec<StreamElement<Records<i32>>> {
    std::iter::from_fn(|| gate.take()).collect()
}

#[test]
fn rows_behind_a_barrier_wait_for_the_other_channel() {
    let (mut gate, queues) = gate();
    queues[0].lock().unwrap().extend([rows(1), StreamElement::Control(barrier(1)), rows(2)]);
    queues[1].lock().unwrap().extend([rows(3)]);
    assert_eq!(all(&mut gate), [rows(1), rows(3)]);
    assert!(gate.is_empty());
    queues[1].lock().unwrap().extend([StreamElement::Control(barrier(1)), rows(4)]);
    assert_eq!(all(&mut gate), [StreamElement::Control(barrier(1)), rows(2), rows(4)]);
}

#[test]
fn an_ended_channel_counts_as_aligned_and_an_abort_releases() {
    let (mut gate, queues) = gate();
    queues[0].lock().unwrap().extend([StreamElement::Control(barrier(1)), rows(1)]);
    assert_eq!(all(&mut gate), []);
    gate.abort(CheckpointId(1));
    assert_eq!(all(&mut gate), [rows(1)]);
    queues[0].lock().unwrap().extend([StreamElement::Control(barrier(2))]);
    queues[1]
        .lock()
        .unwrap()
        .extend([StreamElement::Control(barrier(1)), StreamElement::Control(Control::End)]);
    assert_eq!(all(&mut gate), [StreamElement::Control(barrier(2))]);
    queues[0].lock().unwrap().extend([
        StreamElement::Control(Control::Watermark(Timestamp::MAX)),
        StreamElement::Control(Control::End),
    ]);
    let end = [Control::Watermark(Timestamp::MAX), Control::End].map(StreamElement::Control);
    assert_eq!(all(&mut gate), end);
}

#[test]
fn channels_are_taken_in_turn() {
    let (mut gate, queues) = gate();
    queues[0].lock().unwrap().extend([rows(1), rows(2), rows(3)]);
    queues[1].lock().unwrap().extend([rows(4), rows(5)]);
    assert_eq!(all(&mut gate), [rows(1), rows(4), rows(2), rows(5), rows(3)]);
}

/// What one channel brings: rows are numbers, barriers are negative.
#[derive(Debug, Clone)]
struct Script {
    items: Vec<i32>,
    ends: bool,
}

const CHECKPOINTS: i32 = 4;

/// Rows in between the barriers 1 to 4, of which those in `skipped` may be missing; it may end early.
fn script(skipped: Vec<bool>) -> impl Strategy<Value = Script> {
    let segments = prop::collection::vec(0..3, CHECKPOINTS as usize + 1);
    (segments, prop::collection::vec(any::<bool>(), CHECKPOINTS as usize), 0..=CHECKPOINTS + 3).prop_map(
        move |(segments, skips, last)| {
            let mut items = Vec::new();
            for (segment, n) in segments.iter().zip(1..) {
                items.extend((0..*segment).map(|_| 0));
                if n > CHECKPOINTS {
                    break;
                }
                if n > last {
                    return Script { items, ends: true };
                }
                if !(skipped[n as usize - 1] && skips[n as usize - 1]) {
                    items.push(-n);
                }
            }
            Script { items, ends: last > CHECKPOINTS }
        },
    )
}

#[derive(Debug, Clone)]
struct History {
    scripts: Vec<Script>,
    /// Checkpoints that are given up.
    aborted: Vec<bool>,
    /// Below 100 the channel that delivers next, from there on the checkpoint to give up.
    order: Vec<usize>,
}

fn history() -> impl Strategy<Value = History> {
    let aborted = prop::collection::vec(any::<bool>(), CHECKPOINTS as usize);
    (aborted, 1usize..4).prop_flat_map(|(aborted, channels)| {
        let scripts = prop::collection::vec(script(aborted.clone()), channels);
        let step = prop_oneof![6 => 0..channels, 1 => 100..100 + CHECKPOINTS as usize];
        (scripts, Just(aborted), prop::collection::vec(step, 0..80))
            .prop_map(|(scripts, aborted, order)| History { scripts, aborted, order })
    })
}

/// What has come out, against what the scripts say.
struct Seen<'a> {
    scripts: &'a [Script],
    /// Rows of each channel so far.
    rows: Vec<usize>,
    barriers: Vec<i32>,
    given_up: i32,
    ended: bool,
}

impl Seen<'_> {
    fn take(&mut self, element: StreamElement<Records<i32>>) {
        assert!(!self.ended);
        match element {
            StreamElement::Batch(batch) => self.rows[batch.values[0] as usize] += 1,
            StreamElement::Control(Control::Barrier(barrier)) => self.barrier(barrier.checkpoint.0 as i32),
            StreamElement::Control(Control::End) => self.ended = true,
            StreamElement::Control(other) => panic!("{other:?}"),
        }
    }

    /// Of each channel exactly the rows before its barrier have come, or all where it ended before.
    fn barrier(&mut self, n: i32) {
        assert!(n > self.given_up);
        assert!(self.barriers.last().is_none_or(|last| n > *last));
        self.barriers.push(n);
        for (script, seen) in self.scripts.iter().zip(&self.rows) {
            let cut = script.items.iter().position(|item| *item == -n);
            assert!(cut.is_some() || script.ends);
            let before = &script.items[..cut.unwrap_or(script.items.len())];
            assert_eq!(*seen, before.iter().filter(|item| **item == 0).count());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn alignment_agrees_with_the_scripts_of_the_channels(history in history()) {
        let channels = history.scripts.len();
        let (mut gate, queues) = gate_of(channels);
        let mut next = vec![0; channels];
        let mut seen = Seen {
            scripts: &history.scripts,
            rows: vec![0; channels],
            barriers: Vec::new(),
            given_up: 0,
            ended: false,
        };
        // At the end all is delivered and all that is given up is given up.
        let rest = (100..100 + CHECKPOINTS as usize).chain((0..channels).cycle().take(channels * 20));
        for step in history.order.iter().copied().chain(rest) {
            if let Some(n) = step.checked_sub(100) {
                // As a coordinator does it: one after the other, and none that was completed.
                if history.aborted[n] && !seen.barriers.contains(&(n as i32 + 1)) && n as i32 >= seen.given_up {
                    seen.given_up = n as i32 + 1;
                    gate.abort(CheckpointId(n as u64 + 1));
                }
            } else {
                let (script, at) = (&history.scripts[step], &mut next[step]);
                let element = match script.items.get(*at) {
                    Some(0) => Some(rows(step as i32)),
                    Some(n) => Some(StreamElement::Control(barrier(-n as u64))),
                    None if *at == script.items.len() && script.ends => Some(StreamElement::Control(Control::End)),
                    None => None,
                };
                *at += 1;
                queues[step].lock().unwrap().extend(element);
            }
            while let Some(element) = gate.take() {
                seen.take(element);
            }
            assert!(gate.is_empty());
        }
        prop_assert_eq!(seen.ended, history.scripts.iter().all(|s| s.ends));
        for (script, rows) in history.scripts.iter().zip(&seen.rows) {
            prop_assert_eq!(script.items.iter().filter(|i| **i == 0).count(), *rows, "stuck");
        }
        for n in (1..=CHECKPOINTS).filter(|n| !history.aborted[*n as usize - 1] && *n > seen.given_up) {
            let comes = history.scripts.iter().any(|s| s.items.contains(&-n));
            prop_assert_eq!(seen.barriers.contains(&n), comes, "checkpoint {}", n);
        }
    }
}

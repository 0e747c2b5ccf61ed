use super::*;
use crate::chain::{Discard, Link, LinkPort, Stage};
use crate::metrics::Metrics;
use crate::snapshot::tests::state_of;
use crate::testing::{Held, Wakes, ident};
use flugs_batch::{Control, Flow, Push};
use flugs_connector::{Delivery, Prepared};
use flugs_state::{OpenState, RunReader};
use flugs_types::{Attempt, Background, Clock, Generation, ManualClock, SubtaskId};
use std::sync::Mutex;

/// Writes down what its writer is asked for.
#[derive(Clone, Default)]
struct Noted(Arc<Mutex<Vec<String>>>);

impl Noted {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

struct Writer(Noted, u64);

impl Sink for Noted {
    type Item = i64;

    fn delivery(&self) -> Delivery {
        Delivery::ExactlyOnce
    }

    fn writer(&self, _: WriterContext, restored: Vec<Vec<u8>>) -> Result<Box<dyn SinkWriter<i64>>> {
        self.note(format!("open {restored:?}"));
        Ok(Box::new(Writer(self.clone(), 0)))
    }
}

impl SinkWriter<i64> for Writer {
    fn write(&mut self, rows: Records<i64>) -> Result<()> {
        self.1 += rows.len() as u64;
        Ok(())
    }

    fn prepare(&mut self, checkpoint: CheckpointId, end: bool) -> Result<Prepared> {
        self.0.note(format!("prepare {checkpoint}{}", if end { " at the end" } else { "" }));
        let rows = std::mem::take(&mut self.1);
        let committables = (rows > 0).then(|| Committable(vec![checkpoint.0 as u8, rows as u8]));
        Ok(Prepared {
            committables: committables.into_iter().collect(),
            state: vec![vec![checkpoint.0 as u8]],
        })
    }

    fn commit(&mut self, committables: Vec<Committable>) -> Result<()> {
        let all: Vec<_> = committables.into_iter().map(|c| c.0).collect();
        self.0.note(format!("commit {all:?}"));
        Ok(())
    }
}

fn open(sink: &Noted, restored: Vec<Arc<RunReader>>) -> Link<SinkOperator<i64>> {
    let ident = ident("sink");
    let mut operator = SinkOperator::new(Arc::new(sink.clone()));
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::default());
    let background: Arc<dyn Background> = Arc::<Held>::default();
    let mut state = OpenState::new(SubtaskId::new(0, 1), restored);
    operator
        .open(&mut OpenContext {
            job: "job",
            ident: &ident,
            state: &mut state,
            clock: &clock,
            background: &background,
            waker: &Wakes::new().1,
            generation: Generation(1),
            attempt: Attempt(1),
            metrics: &Arc::<Metrics>::default(),
        })
        .unwrap();
    Link::new(operator, Output::new(Box::new(Discard), Vec::new()), ident)
}

fn write(link: &mut Link<SinkOperator<i64>>, rows: usize) {
    assert_eq!(link.push(Records::untimed(vec![0; rows])).unwrap(), Flow::Ready);
}

/// The barrier passes; gives the state as it is stored.
fn barrier(link: &mut Link<SinkOperator<i64>>, n: u64, kind: BarrierKind) -> Arc<RunReader> {
    let _ = link.control(Control::Barrier(Barrier { checkpoint: CheckpointId(n), kind })).unwrap();
    let chain: &mut dyn Stage<Records<i64>> = link;
    Arc::new(RunReader::open(state_of(chain, "sink"), "test").unwrap())
}

#[test]
fn what_an_aborted_checkpoint_covered_is_committed_with_the_next_complete_one_and_once() {
    let sink = Noted::default();
    let mut link = open(&sink, Vec::new());
    write(&mut link, 3);
    barrier(&mut link, 1, BarrierKind::Checkpoint);
    write(&mut link, 4);
    barrier(&mut link, 2, BarrierKind::Savepoint);
    write(&mut link, 5);
    barrier(&mut link, 3, BarrierKind::Checkpoint);
    sink.take();
    link.committed(CheckpointId(2)).unwrap();
    assert_eq!(sink.take(), ["commit [[1, 3], [2, 4]]"]);
    link.committed(CheckpointId(2)).unwrap();
    assert_eq!(sink.take(), [""; 0]);
    link.committed(CheckpointId(3)).unwrap();
    assert_eq!(sink.take(), ["commit [[3, 5]]"]);
}

#[test]
fn a_restored_sink_commits_first_what_its_checkpoint_holds_and_goes_on_from_its_state() {
    let sink = Noted::default();
    let mut link = open(&sink, Vec::new());
    write(&mut link, 3);
    barrier(&mut link, 1, BarrierKind::Checkpoint);
    write(&mut link, 4);
    // The commit of the first comes behind the second barrier: the second's state holds both.
    let run = barrier(&mut link, 2, BarrierKind::Checkpoint);
    link.committed(CheckpointId(1)).unwrap();
    sink.take();
    let mut again = open(&sink, vec![run]);
    assert_eq!(sink.take(), ["open [[2]]", "commit [[1, 3], [2, 4]]"]);
    // Nothing of it is in the next checkpoint.
    let next = barrier(&mut again, 3, BarrierKind::Checkpoint);
    sink.take();
    open(&sink, vec![next]);
    assert_eq!(sink.take(), ["open [[3]]"]);
}

#[test]
fn after_the_end_each_barrier_prepares_for_good() {
    let sink = Noted::default();
    let mut link = open(&sink, Vec::new());
    write(&mut link, 1);
    let _ = link.control(Control::End).unwrap();
    sink.take();
    // A periodic checkpoint of a job whose other inputs go on, then the final one, which is tried twice.
    barrier(&mut link, 1, BarrierKind::Checkpoint);
    barrier(&mut link, 2, BarrierKind::Final);
    barrier(&mut link, 3, BarrierKind::Final);
    link.committed(CheckpointId(3)).unwrap();
    let end = "at the end";
    assert_eq!(
        sink.take(),
        [
            &format!("prepare 1 {end}"),
            &format!("prepare 2 {end}"),
            &format!("prepare 3 {end}"),
            "commit [[1, 1]]"
        ]
    );
}

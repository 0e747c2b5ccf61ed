//! The life of a job as its owner sees it, and programs that make no sense.

use crate::seconds;
use flugs::checkpoint::{MemoryStore, catalog};
use flugs::prelude::*;
use std::sync::Arc;

const LONG: Duration = seconds(30);

/// Numbers the rows of each remainder by three, from a channel that the test writes to.
fn counting(
    store: &Arc<MemoryStore>,
    restore: Restore,
    counts: &MemorySink<(u64, u64)>,
) -> (Sender<u64>, JobHandle) {
    let env = Environment::new("counting");
    env.set_parallelism(2).checkpoint_store(store.clone()).checkpoint_interval(None).restore(restore);
    let (sender, source) = channel_source(16);
    env.from_source(source, WatermarkStrategy::none(), "numbers")
        .uid("numbers")
        .stream()
        .key_by(|n| n % 3)
        .count()
        .uid("counts")
        .sink_to(counts.clone(), "out")
        .uid("out");
    (sender, env.execute_async().unwrap())
}

fn savepoint(job: &JobHandle) {
    let before = job.report().checkpoints;
    job.trigger_savepoint();
    assert!(job.wait_until(LONG, |report| report.checkpoints > before).checkpoints > before);
}

#[test]
fn savepoint_cancel_restore_drain() {
    let (store, counts) = (Arc::new(MemoryStore::default()), MemorySink::new());
    let (numbers, job) = counting(&store, Restore::No, &counts);
    [1, 4].iter().for_each(|n| numbers.send(*n).unwrap());
    savepoint(&job);
    job.cancel();
    assert_eq!(job.wait().unwrap().status, JobStatus::Canceled);
    assert_eq!(counts.take().values, [(1, 1), (1, 2)]);

    let saved = catalog::list(store.as_ref(), "counting").unwrap().pop().unwrap().path;
    for restore in [Restore::Latest, Restore::Path(saved)] {
        let (numbers, job) = counting(&store, restore, &counts);
        numbers.send(7).unwrap();
        savepoint(&job);
        job.drain();
        let report = job.wait().unwrap();
        assert_eq!(report.status, JobStatus::Finished);
        assert!(report.restored_from.is_some());
        assert_eq!(counts.take().values, [(1, 3)], "two rows were counted before the savepoint");
    }
}

fn refused(program: impl Fn(&Environment)) -> String {
    let env = Environment::new("refused");
    program(&env);
    env.execute().unwrap_err().to_string()
}

#[test]
fn programs_that_make_no_sense() {
    let a_union = |env: &Environment| env.from_collection([1u64]).union(&env.from_collection([2]));
    let named = refused(|env| drop(a_union(env).uid("both").print()));
    assert!(named.contains("union") && named.contains("before the union"), "{named}");
    let side = refused(|env| drop(a_union(env).side_output::<u64>(0).print()));
    assert!(side.contains("side output"), "{side}");
    let strangers = refused(|env| {
        let other = Environment::new("other").from_collection([2u64]);
        env.from_collection([1u64]).connect(&other).map(|n| n, |n| n).print();
    });
    assert!(strangers.contains("different environments"), "{strangers}");
    let session_of_nothing = refused(|env| {
        let windows =
            env.from_collection([1u64]).key_by(|n| *n).window(EventTimeSessionWindows::with_gap(seconds(0)));
        windows.count().print();
    });
    assert!(session_of_nothing.contains("gap"), "{session_of_nothing}");
}

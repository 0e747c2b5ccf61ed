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

fn savepoint(job: &JobHandle) -> String {
    job.trigger_savepoint().wait_for(LONG).expect("in time").unwrap()
}

#[test]
fn savepoint_cancel_restore_drain() {
    let (store, counts) = (Arc::new(MemoryStore::default()), MemorySink::new());
    let (numbers, job) = counting(&store, Restore::No, &counts);
    [1, 4].iter().for_each(|n| numbers.send(*n).unwrap());
    let saved = savepoint(&job);
    assert_eq!(saved, catalog::list(store.as_ref(), "counting").unwrap().pop().unwrap().path);
    job.cancel();
    assert_eq!(job.wait().unwrap().status, JobStatus::Canceled);
    assert_eq!(counts.take().values, [(1, 1), (1, 2)]);

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

/// Counts 50,000 keys into an exactly-once sink, and returns the report with the number of rows.
fn counted(prepare: impl Fn(&Environment)) -> (flugs::JobReport, usize) {
    let env = Environment::new("keys");
    env.set_parallelism(2).checkpoint_interval(None);
    prepare(&env);
    let counts = MemorySink::new();
    env.from_collection(0..50_000u64).key_by(|n| *n).count().sink_to(counts.clone(), "out");
    (env.execute().unwrap(), counts.take().values.len())
}

#[test]
fn checkpoints_that_nobody_can_start_from_hold_no_state() {
    let (report, rows) = counted(|_| {});
    assert_eq!((report.status, rows), (JobStatus::Finished, 50_000));
    assert!(report.checkpoint_bytes < 1000, "{}", report.checkpoint_bytes);
    let (report, rows) = counted(|env| {
        env.restart_strategy(RestartStrategy::exponential());
    });
    assert_eq!(rows, 50_000);
    assert!(report.checkpoint_bytes > 50_000 * 16, "a restart needs it: {}", report.checkpoint_bytes);
    let (report, _) = counted(|env| {
        env.checkpoint_store(Arc::new(MemoryStore::default()));
    });
    assert!(report.checkpoint_bytes > 50_000 * 16, "another run may need it: {}", report.checkpoint_bytes);
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
    let never = |words: String| {
        assert!(words.contains("no trigger") && words.contains("GlobalWindows::end_of_stream()"), "{words}");
    };
    let keyed = |env: &Environment| env.from_collection([1u64]).key_by(|n| *n);
    never(refused(|env| drop(keyed(env).window(GlobalWindows::new()).count().print())));
    never(refused(|env| {
        let windows = keyed(env).window(GlobalWindows::new()).evictor(CountEvictor::of(3));
        windows.allowed_lateness(seconds(1)).reduce(|sum, n| *sum += n).print();
    }));
    never(refused(|env| {
        keyed(env).co_group(&keyed(env)).window(GlobalWindows::new()).join(|a, b| a + b).print();
    }));
    let env = Environment::new("with a trigger");
    keyed(&env).window(GlobalWindows::new()).trigger(CountTrigger::of(1)).count().print();
    let joined = keyed(&env).co_group(&keyed(&env)).window(GlobalWindows::new());
    joined.trigger(CountTrigger::of(1)).join(|a, b| a + b).print();
    env.job_graph().unwrap();
    let session_of_nothing = refused(|env| {
        let windows =
            env.from_collection([1u64]).key_by(|n| *n).window(EventTimeSessionWindows::with_gap(seconds(0)));
        windows.count().print();
    });
    assert!(session_of_nothing.contains("gap"), "{session_of_nothing}");
}

//! State that does not fit the job any more: both sides are printed, and what is allowed goes on.

use crate::kit::{assert_says, environment, failure, leave_unfinished};
use flugs::checkpoint::MemoryStore;
use flugs::operators::{Collector, KeyedContext, KeyedProcessFunction, OpenKeyed};
use flugs::prelude::*;
use flugs::state::ValueState;
use flugs::{Error, ErrorKind, JobReport, Result};
use std::sync::Arc;

#[derive(Debug, Clone, Default, Data)]
struct Visits {
    count: u64,
}

mod with_more {
    use super::*;

    #[derive(Debug, Clone, Data)]
    pub(super) struct Visits {
        pub(super) count: u64,
        #[data(default)]
        pub(super) note: String,
    }

    #[derive(Debug, Clone, Data)]
    pub(super) struct WithoutDefault {
        pub(super) count: u64,
        pub(super) note: String,
    }
}

/// Remembers something of each key, and gives what it makes of it.
struct Remember<V: Data> {
    name: &'static str,
    change: fn(Option<&V>) -> (V, u64),
}

struct Remembering<K, V: Data> {
    state: ValueState<V>,
    change: fn(Option<&V>) -> (V, u64),
    key: std::marker::PhantomData<fn(K)>,
}

impl<K: Key, V: Data + Clone> KeyedProcessFunction for Remembering<K, V> {
    type Key = K;
    type In = u64;
    type Out = u64;

    fn process(&mut self, _: u64, cx: &mut KeyedContext<'_, K>, out: &mut Collector<'_, u64>) -> Result<()> {
        let (value, said) = (self.change)(self.state.get(cx));
        self.state.set(cx, value);
        out.collect(said);
        Ok(())
    }
}

const ROWS: u64 = 400;

/// The numbers, each under a key of its own but for the first and the second half, which share theirs.
fn program<K: Key, V: Data + Clone>(
    env: &Environment,
    uid: &str,
    key: fn(u64) -> K,
    remember: Remember<V>,
) -> MemorySink<u64> {
    let sink = MemorySink::new();
    let source = GeneratorSource::new(Some(ROWS), |i| i).rate(4000.0);
    let Remember { name, change } = remember;
    env.from_source(source, WatermarkStrategy::none(), "numbers")
        .uid("numbers")
        .stream()
        .key_by(move |i| key(i % (ROWS / 2)))
        .process_with(move |open: &mut OpenKeyed<'_, '_, K>| {
            Ok(Remembering { state: open.value(name)?, change, key: std::marker::PhantomData })
        })
        .name("remembering")
        .uid(uid)
        .sink_to(sink.clone(), "sink")
        .uid("sink");
    sink
}

fn count(visits: Option<&Visits>) -> (Visits, u64) {
    let count = visits.map_or(0, |v| v.count) + 1;
    (Visits { count }, count)
}

/// A store with a checkpoint of the job as it was, after about a third of the rows.
fn before() -> MemoryStore {
    let store = MemoryStore::new();
    let env = environment(Arc::new(store.clone()));
    program(&env, "remember", |i| i, Remember { name: "visits", change: count });
    leave_unfinished(&env, 8, 0);
    store
}

fn refused<K: Key, V: Data + Clone>(
    uid: &str,
    key: fn(u64) -> K,
    name: &'static str,
    change: fn(Option<&V>) -> (V, u64),
) -> Error {
    let env = environment(Arc::new(before()));
    program(&env, uid, key, Remember { name, change });
    let error = failure(&env);
    assert_eq!(error.kind(), ErrorKind::State, "{error}");
    error
}

fn allowed<K: Key, V: Data + Clone>(
    uid: &str,
    name: &'static str,
    key: fn(u64) -> K,
    change: fn(Option<&V>) -> (V, u64),
) -> JobReport {
    let env = environment(Arc::new(before()));
    env.allow_non_restored_state(true);
    program(&env, uid, key, Remember { name, change });
    let report = env.execute().unwrap();
    assert!(report.restored_from.is_some());
    report
}

const HEAD: &str = "operator 'remembering', subtask ";

#[test]
fn another_type_of_value() {
    let error =
        refused("remember", |i| i, "visits", |text: Option<&String>| (text.cloned().unwrap_or_default(), 0));
    assert_says(
        &error,
        &[
            "state error: ",
            "the stored state 'visits' does not fit the one of the program",
            "stored: ",
            "Visits",
            "count",
            "program: ",
            "string",
            HEAD,
            "; keep the types of this state",
        ],
    );
}

#[test]
fn another_type_of_key() {
    let error = refused("remember", |i| i.to_string(), "visits", count);
    assert_says(
        &error,
        &[
            "the stored state 'visits' does not fit",
            "its keys",
            "stored: ",
            "u64",
            "program: ",
            "string",
            HEAD,
            "; keep the types",
        ],
    );
}

#[test]
fn a_state_that_is_gone() {
    let error = refused("remember", |i| i, "calls", count);
    assert_says(
        &error,
        &[
            "the checkpoint holds state 'visits'",
            "which the job does not open (it opens: ",
            "calls",
            HEAD,
            "allow non-restored state",
        ],
    );
    allowed("remember", "calls", |i| i, count);
}

#[test]
fn an_operator_of_another_uid() {
    let error = refused("recall", |i| i, "visits", count);
    assert_says(
        &error,
        &[
            "has state that the job does not take",
            "new       remembering (uid recall): starts without state",
            "dropped   remembering (uid remember): ",
            "no operator has this uid",
            "give the operators the uids under which their state is stored, or allow non-restored state",
        ],
    );
    let report = allowed("recall", "visits", |i| i, count);
    assert!(report.restored.contains("dropped   remembering (uid remember)"), "{}", report.restored);
}

#[test]
fn fields_that_are_new_need_a_default() {
    use with_more::{Visits as More, WithoutDefault};
    let error = refused(
        "remember",
        |i| i,
        "visits",
        |v: Option<&WithoutDefault>| {
            let count = v.map_or(0, |v| v.count) + 1;
            (WithoutDefault { count, note: v.map_or_else(String::new, |v| v.note.clone()) }, count)
        },
    );
    assert_says(
        &error,
        &[
            "does not fit",
            "note",
            "no #[data(default)]",
            "stored: ",
            "program: ",
            HEAD,
            "add a default to new fields",
        ],
    );

    let env = environment(Arc::new(before()));
    let remember = |v: Option<&More>| {
        let count = v.map_or(0, |v| v.count) + 1;
        (More { count, note: v.map_or_else(|| "new".to_owned(), |v| v.note.clone()) }, count)
    };
    let sink = program(&env, "remember", |i| i, Remember { name: "visits", change: remember });
    env.execute().unwrap();
    // What had been counted before the restore is counted on: no key is met more than twice, and half of the rows are second visits.
    let rows = sink.rows();
    assert_eq!(rows.iter().filter(|&&n| n == 2).count() as u64, ROWS / 2);
    assert!(rows.iter().all(|n| [1, 2].contains(n)));
}

//! State of SQL's operators and of the stream's survives failures and another parallelism, and nothing is lost or doubled.

use crate::functions::registered;
use crate::{Order, order, second, session};
use flugs_api::Environment;
use flugs_checkpoint::MemoryStore;
use flugs_cluster::{JobHandle, Restore};
use flugs_connector::{MemorySink, Sender, channel_source};
use flugs_sql::StreamSchema;
use flugs_task::WatermarkStrategy;
use flugs_testkit::{TestJob, TestSource};
use flugs_types::{RowKind, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;

type Total = (String, Option<f64>);

/// Sums by customer, and how often each sum has changed, counted by a stream.
fn program(
    source: &TestSource<Order>,
    sums: &MemorySink<(RowKind, Total)>,
    changes: &MemorySink<(String, u64)>,
) -> TestJob {
    let (orders, sums, changes) = (source.clone(), sums.clone(), changes.clone());
    TestJob::with_parallelism(2, move |env| {
        let mut sql = session(env);
        let stream = orders.stream(env, "orders").filter(|order| order.amount >= 0.0);
        sql.from_stream_with(&stream, StreamSchema::new().name("orders").rowtime("ts")).unwrap();
        let totals = "SELECT customer, SUM(amount) FROM orders GROUP BY customer";
        let totals = sql.sql_query(totals).unwrap();
        let totals = sql.to_changelog_stream::<Total>(&totals).unwrap();
        totals.sink_to(sums.clone(), "sums").uid("sums");
        totals
            .filter(|(kind, _)| kind.is_addition())
            .map(|(_, (customer, _))| customer)
            .key_by(|customer| customer.clone())
            .count()
            .uid("changes")
            .sink_to(changes.clone(), "changes")
            .uid("changed");
    })
    .unwrap()
}

fn folded(changes: impl IntoIterator<Item = (RowKind, Total)>, into: &mut BTreeMap<String, Option<f64>>) {
    for (kind, (customer, total)) in changes {
        if kind.is_addition() {
            into.insert(customer, total);
        } else if into.get(&customer) == Some(&total) {
            into.remove(&customer);
        }
    }
}

#[test]
fn a_job_of_both_is_killed_and_rescaled() {
    let (source, sums, changes) = (TestSource::<Order>::new(), MemorySink::new(), MemorySink::new());
    let mut job = program(&source, &sums, &changes);
    let customers = ["ann", "bob", "cid", "dot"];
    let mut totals = BTreeMap::new();
    let mut counted: BTreeMap<String, u64> = BTreeMap::new();
    let push = |n: i64, job: &mut TestJob| {
        let customer = customers[n as usize % customers.len()];
        source.push_at(order(n, customer, n as f64), second(n));
        source.push_at(order(n, customer, -1.0), second(n));
        job.run().unwrap();
    };
    (0..8).for_each(|n| push(n, &mut job));
    job.checkpoint().unwrap();
    (8..12).for_each(|n| push(n, &mut job));
    job.fail_and_restore().unwrap();
    job.checkpoint().unwrap();
    job.rescale(3).unwrap();
    (12..16).for_each(|n| push(n, &mut job));
    job.checkpoint().unwrap();
    job.rescale(1).unwrap();
    (16..20).for_each(|n| push(n, &mut job));
    source.watermark(Timestamp::from_secs(100));
    source.end();
    job.finish().unwrap();
    folded(sums.take().values, &mut totals);
    // ann has 0 + 4 + 8 + 12 + 16, the others 5 more each.
    let expected: BTreeMap<String, Option<f64>> =
        customers.iter().enumerate().map(|(i, c)| ((*c).to_owned(), Some(40.0 + 5.0 * i as f64))).collect();
    assert_eq!(totals, expected);
    for (customer, n) in changes.take().values {
        let last = counted.entry(customer).or_default();
        *last = n.max(*last);
    }
    assert_eq!(counted.values().copied().collect::<Vec<_>>(), [5, 5, 5, 5], "every order changed a sum once");
}

/// Means by key with a function of the program, on threads, with a name that a function that waits gives.
fn means(
    store: &Arc<MemoryStore>,
    restore: Restore,
    parallelism: u32,
    out: &MemorySink<(RowKind, Total)>,
) -> (Sender<(String, i64)>, JobHandle) {
    let env = Environment::new("means");
    env.set_parallelism(parallelism).checkpoint_store(store.clone());
    env.checkpoint_interval(None).restore(restore);
    let (sender, source) = channel_source(16);
    let items = env.from_source(source, WatermarkStrategy::none(), "items").uid("items").stream();
    let mut sql = session(&env);
    registered(&mut sql);
    sql.register_async("full_name", |name: String| async move { format!("Mr. {name}") }).unwrap();
    sql.from_stream_with(&items, StreamSchema::new().name("items")).unwrap();
    let means = sql.sql_query(
        "SELECT n, weighted_mean(w, w) FROM (SELECT full_name(f0) AS n, f1 AS w FROM items) AS named GROUP BY n",
    );
    sql.to_changelog_stream::<(Option<String>, Option<f64>)>(&means.unwrap())
        .unwrap()
        .map(|(kind, (name, mean))| (kind, (name.unwrap_or_default(), mean)))
        .sink_to(out.clone(), "out")
        .uid("out");
    (sender, env.execute_async().unwrap())
}

#[test]
fn a_savepoint_is_restored_at_other_parallelisms() {
    let (store, out) = (Arc::new(MemoryStore::default()), MemorySink::new());
    let (items, job) = means(&store, Restore::No, 2, &out);
    let names = ["ann", "bob", "cid", "dot", "eve"];
    let send = |items: &Sender<(String, i64)>, weight: i64| {
        names.iter().for_each(|name| items.send(((*name).to_owned(), weight)).unwrap());
    };
    send(&items, 10);
    send(&items, 20);
    let first = job.trigger_savepoint().wait().unwrap();
    job.cancel();
    job.wait().unwrap();
    let mut totals = BTreeMap::new();
    folded(out.take().values, &mut totals);
    // Each weight counts itself often: (100 + 400) / 30.
    assert_eq!(totals.values().copied().collect::<Vec<_>>(), [Some(500.0 / 30.0); 5]);
    let (items, job) = means(&store, Restore::Path(first), 3, &out);
    send(&items, 30);
    let second = job.trigger_savepoint().wait().unwrap();
    job.cancel();
    job.wait().unwrap();
    let (items, job) = means(&store, Restore::Path(second), 1, &out);
    send(&items, 40);
    job.trigger_savepoint().wait().unwrap();
    job.drain();
    job.wait().unwrap();
    folded(out.take().values, &mut totals);
    let expected: BTreeMap<String, Option<f64>> =
        names.iter().map(|name| (format!("Mr. {name}"), Some(3_000.0 / 100.0))).collect();
    assert_eq!(totals, expected);
}

//! Functions that wait, in queries.

use crate::session;
use flugs_api::Environment;
use flugs_connector::MemorySink;
use flugs_sql::{SqlEnvironment, StreamSchema};
use flugs_testkit::{TestJob, TestSource};
use flugs_types::{Error, Result, RowKind};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// A service that answers when the test says so.
#[derive(Clone, Default)]
struct Service(Arc<Mutex<Desk>>);

#[derive(Default)]
struct Desk {
    /// How often each number was asked for.
    asked: BTreeMap<i64, u32>,
    answers: BTreeMap<i64, String>,
    wakers: Vec<Waker>,
}

struct Question {
    service: Service,
    number: i64,
}

impl Future for Question {
    type Output = Result<String>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<String>> {
        let mut desk = self.service.0.lock().unwrap();
        match desk.answers.get(&self.number) {
            Some(answer) => Poll::Ready(Ok(answer.clone())),
            None => {
                desk.wakers.push(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Service {
    fn ask(&self, number: i64) -> Question {
        *self.0.lock().unwrap().asked.entry(number).or_default() += 1;
        Question { service: self.clone(), number }
    }

    fn answer(&self, number: i64) {
        let mut desk = self.0.lock().unwrap();
        desk.answers.insert(number, format!("user {number}"));
        desk.wakers.drain(..).for_each(Waker::wake);
    }

    fn asked(&self) -> Vec<(i64, u32)> {
        self.0.lock().unwrap().asked.iter().map(|(number, times)| (*number, *times)).collect()
    }
}

fn registered(env: &Environment, service: &Service) -> SqlEnvironment {
    let mut sql = session(env);
    let service = service.clone();
    sql.register_async("user_name", move |id: i64| service.ask(id)).unwrap();
    sql
}

type Named = (i64, String);

#[test]
fn answers_keep_the_order_and_what_waits_is_asked_again_after_a_failure() {
    let (service, source, out) = (Service::default(), TestSource::<i64>::new(), MemorySink::new());
    let (desk, numbers, sink) = (service.clone(), source.clone(), out.clone());
    let mut job = TestJob::start(move |env| {
        let mut sql = registered(env, &desk);
        sql.set("table.exec.async-scalar.max-concurrent-operations", "3").unwrap();
        let numbers = numbers.stream(env, "numbers");
        sql.from_stream_with(&numbers, StreamSchema::new().name("numbers")).unwrap();
        let query = "SELECT f0 * 10, UPPER(user_name(f0)) || '!' FROM numbers WHERE f0 <> 2";
        let named = sql.sql_query(query).unwrap();
        sql.to_stream::<(i64, Option<String>)>(&named)
            .unwrap()
            .map(|(n, name)| (n, name.unwrap_or_default()))
            .sink_to(sink.clone(), "out")
            .uid("out");
    })
    .unwrap();
    (1..=6).for_each(|n| source.push(n));
    job.run().unwrap();
    assert_eq!(
        service.asked(),
        [(1, 1), (3, 1), (4, 1)],
        "three at a time, and none that the filter leaves out"
    );
    service.answer(3);
    job.run().unwrap();
    assert_eq!(service.asked().len(), 3, "3 waits for 1");
    service.answer(1);
    job.checkpoint().unwrap();
    let named = |n: i64| -> Named { (n * 10, format!("USER {n}!")) };
    assert_eq!(out.take().values, [named(1), named(3)]);
    assert_eq!(service.asked(), [(1, 1), (3, 1), (4, 1), (5, 1), (6, 1)]);
    job.fail_and_restore().unwrap();
    job.run().unwrap();
    assert_eq!(
        service.asked(),
        [(1, 1), (3, 1), (4, 2), (5, 2), (6, 2)],
        "what was answered is not asked again"
    );
    [6, 5, 4].iter().for_each(|n| service.answer(*n));
    job.rescale(2).unwrap();
    source.end();
    job.finish().unwrap();
    let mut rest = out.take().values;
    rest.sort();
    assert_eq!(rest, [named(4), named(5), named(6)]);
}

/// The changes of a query over numbers, where all answers are there.
fn changes<R>(query: &str, numbers: Vec<i64>, settings: &[(&str, &str)]) -> Result<Vec<(RowKind, R)>>
where
    R: flugs_batch::Data + flugs_sql_types::SqlRow,
{
    let env = Environment::new("waiting");
    env.set_parallelism(1);
    let (service, out) = (Service::default(), MemorySink::new());
    (0..100).for_each(|n| service.answer(n));
    let mut sql = registered(&env, &service);
    sql.register_async("double", |n: Option<i64>| async move { n.map(|n| n * 2) })?;
    let tries = Arc::new(Mutex::new(BTreeMap::<i64, u32>::new()));
    sql.register_async("shaky", move |n: i64| {
        let mut tries = tries.lock().unwrap();
        let tries = tries.entry(n).or_default();
        *tries += 1;
        let answer = if *tries < 3 { Err(Error::transient("busy")) } else { Ok(i64::from(*tries)) };
        async move { answer }
    })?;
    sql.register_async("never", |_: i64| std::future::pending::<i64>())?;
    settings.iter().try_for_each(|(key, value)| sql.set(key, value))?;
    sql.from_stream_with(&env.from_collection(numbers), StreamSchema::new().name("numbers"))?;
    let table = sql.sql_query(query)?;
    sql.to_changelog_stream::<R>(&table)?.sink_to(out.clone(), "out");
    env.execute()?;
    Ok(out.rows())
}

fn rows<R: flugs_batch::Data + flugs_sql_types::SqlRow>(query: &str, numbers: Vec<i64>) -> Vec<R> {
    changes(query, numbers, &[]).unwrap().into_iter().map(|(_, row)| row).collect()
}

#[test]
fn calls_stand_in_filters_in_each_other_and_before_aggregates() {
    let filtered = "SELECT f0 FROM numbers WHERE user_name(f0) = 'user 2' OR f0 = 4";
    assert_eq!(rows::<(i64,)>(filtered, vec![1, 2, 3, 4]), [(2,), (4,)]);
    let nested = "SELECT double(double(f0) + 1), double(f0), double(CAST(NULL AS BIGINT)) FROM numbers";
    assert_eq!(
        rows::<(Option<i64>, Option<i64>, Option<i64>)>(nested, vec![5]),
        [(Some(22), Some(10), None)]
    );
    let grouped = "SELECT user_name(f0), COUNT(*) FROM numbers GROUP BY user_name(f0)";
    let last = rows::<(Option<String>, i64)>(grouped, vec![7, 7, 7]).pop();
    assert_eq!(last, Some((Some("user 7".to_owned()), 3)));
    let joined =
        "SELECT a.f0, b.n FROM numbers AS a JOIN (SELECT double(f0) AS n FROM numbers) AS b ON a.f0 = b.n";
    assert_eq!(rows::<(i64, Option<i64>)>(joined, vec![2, 3, 4]), [(4, Some(4))]);
}

#[test]
fn changes_pass_in_order() {
    let query = "SELECT double(n) FROM (SELECT COUNT(*) AS n FROM numbers)";
    let last = changes::<(Option<i64>,)>(query, vec![1, 2, 3], &[]).unwrap().pop().unwrap();
    assert_eq!(last.1, (Some(6),));
}

#[test]
fn calls_are_tried_again_and_timed_out() {
    let shaky = "SELECT shaky(f0) FROM numbers";
    let tries = |settings: &[(&str, &str)]| changes::<(i64,)>(shaky, vec![8], settings);
    assert_eq!(tries(&[]).unwrap(), [(RowKind::Insert, (3,))]);
    let once = tries(&[("table.exec.async-scalar.retry-strategy", "NO_RETRY")]).unwrap_err().to_string();
    assert!(once.contains("busy") && once.contains("shaky"), "{once}");
    let twice = tries(&[("table.exec.async-scalar.max-attempts", "2")]).unwrap_err().to_string();
    assert!(twice.contains("busy"), "{twice}");
    let timeout = [("table.exec.async-scalar.timeout", "50 ms")];
    let late = changes::<(i64,)>("SELECT never(f0) FROM numbers", vec![1], &timeout).unwrap_err().to_string();
    assert!(late.contains("never") && late.contains("table.exec.async-scalar.timeout"), "{late}");
}

#[test]
fn where_a_call_cannot_stand_it_is_refused() {
    let refused = |query: &str, words: &[&str]| {
        let error = changes::<(i64,)>(query, vec![1], &[]).unwrap_err().to_string();
        words.iter().for_each(|word| assert!(error.contains(word), "'{word}' in: {error}"));
    };
    let condition =
        "SELECT a.f0 FROM numbers AS a JOIN numbers AS b ON a.f0 = b.f0 AND double(a.f0 + b.f0) > 1";
    refused(condition, &["double", "waits"]);
    refused("SELECT n FROM (VALUES (double(1))) AS t(n)", &["double", "waits"]);
    refused("SELECT double('a') FROM numbers", &["double takes (BIGINT)", "STRING"]);
}

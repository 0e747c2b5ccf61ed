//! What is done row by row, how rows are spread over subtasks, and requests to outside services.

use crate::{Event, R, Wait, results, seconds};
use flugs::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const ROWS: [Event; 4] = [R('a', 3, 0), R('b', 7, 0), R('a', 1, 0), R('a', 5, 0)];

#[test]
fn rolling_results_by_key() {
    let of_a =
        |rows: Vec<(char, i64)>| rows.into_iter().filter(|r| r.0 == 'a').map(|r| r.1).collect::<Vec<_>>();
    let keyed = |rows: DataStream<(char, i64)>| rows.key_by(|row| row.0);
    assert_eq!(of_a(results(&ROWS, move |r| keyed(r).reduce(|sum, row| sum.1 += row.1))), [3, 4, 9]);
    assert_eq!(of_a(results(&ROWS, move |r| keyed(r).sum(|row| &mut row.1))), [3, 4, 9]);
    assert_eq!(of_a(results(&ROWS, move |r| keyed(r).min(|row| &mut row.1))), [3, 1, 1]);
    assert_eq!(of_a(results(&ROWS, move |r| keyed(r).max(|row| &mut row.1))), [3, 3, 5]);
    assert_eq!(of_a(results(&ROWS, move |r| keyed(r).min_by(|row| row.1))), [3, 1, 1]);
    assert_eq!(of_a(results(&ROWS, move |r| keyed(r).max_by(|row| row.1))), [3, 3, 5]);
    let latest = results(&ROWS, move |r| keyed(r).aggregate(Max::of(|row: &(char, i64)| row.1)));
    assert_eq!(latest, [('a', Some(3)), ('b', Some(7)), ('a', Some(3)), ('a', Some(5))]);
    assert_eq!(results(&ROWS, move |r| keyed(r).count()), [('a', 1), ('b', 1), ('a', 2), ('a', 3)]);
}

#[test]
fn rows_that_cannot_be_mapped_fail_the_job() {
    let env = Environment::new("fails");
    let map = |n: i64| if n == 2 { Err(flugs::Error::data("two")) } else { Ok(n) };
    env.from_collection([1, 2]).try_map(map).sink_to(MemorySink::new(), "out");
    assert!(env.execute().unwrap_err().to_string().contains("two"));
}

/// Rows with the subtask that got them.
#[derive(Clone, Default)]
struct Where(u64);

impl ProcessFunction for Where {
    type In = u64;
    type Out = (u64, u64);

    fn open(&mut self, open: &mut OpenFunction<'_, '_>) -> flugs::Result<()> {
        self.0 = u64::from(open.subtask().index);
        Ok(())
    }

    fn process(
        &mut self,
        n: u64,
        _: &mut Context<'_>,
        out: &mut Collector<'_, (u64, u64)>,
    ) -> flugs::Result<()> {
        out.collect((n, self.0));
        Ok(())
    }
}

/// Which of three subtasks got each of the rows 0 to 5.
fn spread(by: impl Fn(&DataStream<u64>) -> DataStream<u64>) -> Vec<(u64, u64)> {
    let env = Environment::new("spread");
    let out = MemorySink::new();
    env.set_parallelism(3);
    by(&env.from_collection(0..6u64)).process(Where::default()).parallelism(3).sink_to(out.clone(), "out");
    env.execute().unwrap();
    let mut rows = out.rows();
    rows.sort_unstable();
    rows
}

#[test]
fn exchanges() {
    let subtasks = |by: fn(&DataStream<u64>) -> DataStream<u64>| {
        spread(by).into_iter().map(|(_, subtask)| subtask).collect::<Vec<_>>()
    };
    assert_eq!(subtasks(|s| s.global()), [0; 6]);
    assert_eq!(
        subtasks(|s| s.partition_custom(|n, of| if *n == 0 { of - 1 } else { 1 })),
        [2, 1, 1, 1, 1, 1]
    );
    assert_eq!(subtasks(|s| s.broadcast()), [0, 1, 2].repeat(6));
    for by in [DataStream::rebalance, DataStream::rescale, DataStream::clone] {
        let mut dealt = subtasks(by);
        dealt.sort_unstable();
        assert_eq!(dealt, [0, 0, 1, 1, 2, 2]);
    }
    let error = || {
        let env = Environment::new("nowhere");
        let nowhere = env.from_collection([1u64]).partition_custom(|_, of| of);
        nowhere.map(|n| n).parallelism(2).sink_to(MemorySink::new(), "out");
        env.execute().unwrap_err().to_string()
    };
    assert!(error().contains("2"), "{}", error());
}

/// Answers each row with its value: that of 7 never, that of 1 at the second try.
fn asked(options: AsyncOptions<i64>) -> Vec<i64> {
    let events = [&ROWS[..], &[Wait(1), Wait(1), Wait(1)]].concat();
    results(&events, move |rows| {
        let tries = Arc::new(AtomicU32::new(0));
        rows.async_process(options.clone(), move || {
            let tries = tries.clone();
            AsyncClosure::new(move |(_, n): (char, i64)| {
                let fails = n == 1 && tries.fetch_add(1, Ordering::Relaxed) == 0;
                async move {
                    match n {
                        7 => std::future::pending().await,
                        _ if fails => Err(flugs::Error::transient("busy")),
                        n => Ok(vec![n]),
                    }
                }
            })
            .on_timeout(|(_, n)| Ok(vec![-n]))
        })
    })
}

#[test]
fn requests_to_outside_services() {
    let with = |options: AsyncOptions<i64>| {
        options.timeout(seconds(2)).retry(Retry::fixed(2, Duration::from_millis(500)))
    };
    assert_eq!(asked(with(AsyncOptions::ordered())), [3, -7, 1, 5]);
    assert_eq!(asked(with(AsyncOptions::unordered())), [3, 5, 1, -7]);
    assert_eq!(asked(with(AsyncOptions::unordered().capacity(1))), [3, -7, 1, 5]);
}

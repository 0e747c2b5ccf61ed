//! Requests answered by hand, in any order, late, wrongly or never.

use super::*;
use flugs_batch::Records;
use flugs_testkit::{Case, HarnessBuilder, OperatorHarness};
use flugs_types::Timestamp;
use futures::channel::oneshot;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

type Answer = Result<Vec<u32>>;

/// A service whose answers a test gives by hand.
#[derive(Clone, Default)]
struct Service(Arc<Mutex<BTreeMap<u32, Vec<oneshot::Sender<Answer>>>>>);

impl Service {
    fn function(&self) -> impl AsyncFunction<In = u32, Out = u32> + use<> {
        AsyncClosure::new(self.request())
    }

    fn request(&self) -> impl FnMut(u32) -> BoxFuture<'static, Answer> + Send + use<> {
        let service = self.clone();
        move |row| {
            let (answer, waiting) = oneshot::channel();
            service.0.lock().unwrap().entry(row).or_default().push(answer);
            async move { waiting.await.unwrap_or_else(|_| Err(Error::user("the service hung up"))) }.boxed()
        }
    }

    /// Answers the oldest open request for this row.
    fn answer(&self, row: u32, answer: Answer) {
        let request = {
            let mut open = self.0.lock().unwrap();
            let requests = open.get_mut(&row).expect("the row is asked for");
            let request = requests.remove(0);
            if requests.is_empty() {
                open.remove(&row);
            }
            request
        };
        // A request that timed out is dropped.
        let _ = request.send(answer);
    }

    fn open(&self) -> Vec<u32> {
        self.0.lock().unwrap().keys().copied().collect()
    }
}

fn at(rows: &[(i64, u32)]) -> Vec<(u32, Timestamp)> {
    rows.iter().map(|(time, row)| (*row, Timestamp(*time))).collect()
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn ordered_answers_leave_in_order() {
    let service = Service::default();
    let mut harness =
        OperatorHarness::new(AsyncOperator::new(service.function(), AsyncOptions::ordered())).unwrap();
    harness.push(at(&[(1, 1), (2, 2)])).unwrap();
    harness.watermark(Timestamp(2)).unwrap();
    harness.push(at(&[(3, 3)])).unwrap();
    assert_eq!(service.open(), [1, 2, 3]);
    service.answer(3, Ok(vec![30]));
    service.answer(2, Ok(vec![20, 21]));
    assert!(harness.take_woken());
    harness.poll().unwrap();
    assert!(harness.output().is_empty());
    assert_eq!(harness.watermarks(), []);
    service.answer(1, Ok(vec![]));
    harness.poll().unwrap();
    assert_eq!(harness.output(), at(&[(2, 20), (2, 21), (3, 30)]).into_iter().collect::<Records<_>>());
    assert_eq!(harness.watermarks(), [Timestamp(2)]);
}

#[test]
fn a_full_operator_blocks_its_input_and_the_end_waits() {
    let service = Service::default();
    let options = AsyncOptions::unordered().capacity(2);
    let mut harness = OperatorHarness::new(AsyncOperator::new(service.function(), options)).unwrap();
    harness.push(at(&[(1, 1), (2, 2), (3, 3)])).unwrap();
    assert!(harness.is_blocked());
    assert_eq!(service.open(), [1, 2]);
    service.answer(2, Ok(vec![2]));
    harness.poll().unwrap();
    assert!(!harness.is_blocked());
    assert_eq!(service.open(), [1, 3]);
    harness.end().unwrap();
    assert!(harness.is_blocked());
    service.answer(3, Ok(vec![3]));
    harness.poll().unwrap();
    assert!(harness.is_blocked());
    service.answer(1, Ok(vec![1]));
    harness.poll().unwrap();
    assert!(!harness.is_blocked());
    assert_eq!(harness.output().values, [2, 3, 1]);
}

#[test]
fn a_barrier_does_not_wait_and_a_restored_operator_asks_again() {
    let service = Service::default();
    let options = || AsyncOptions::ordered().capacity(2);
    let mut old = OperatorHarness::new(AsyncOperator::new(service.function(), options())).unwrap();
    old.push(at(&[(1, 1), (2, 2)])).unwrap();
    service.answer(2, Ok(vec![2]));
    old.poll().unwrap();
    let snapshot = old.snapshot().unwrap();
    drop(old);
    let service = Service::default();
    let builder = HarnessBuilder::new().restore([snapshot]);
    let mut new = builder.open(AsyncOperator::new(service.function(), options())).unwrap();
    new.poll().unwrap();
    // Both again, the second was not handed on; and no more than the capacity.
    assert_eq!(service.open(), [1, 2]);
    new.push(at(&[(3, 3)])).unwrap();
    assert!(new.is_blocked());
    service.answer(1, Ok(vec![10]));
    service.answer(2, Ok(vec![20]));
    new.poll().unwrap();
    service.answer(3, Ok(vec![30]));
    new.poll().unwrap();
    assert_eq!(new.output(), at(&[(1, 10), (2, 20), (3, 30)]).into_iter().collect::<Records<_>>());
    assert_eq!(new.stored_entries().unwrap(), 0);
}

#[test]
fn a_request_that_takes_too_long_fails_or_falls_back() {
    let service = Service::default();
    let options = || AsyncOptions::ordered().timeout(millis(100));
    let mut failing = OperatorHarness::new(AsyncOperator::new(service.function(), options())).unwrap();
    failing.push(at(&[(1, 1)])).unwrap();
    failing.set_processing_time(Timestamp::from_millis(99)).unwrap();
    let error = failing.set_processing_time(Timestamp::from_millis(100)).unwrap_err();
    assert_eq!(error.kind(), flugs_types::ErrorKind::Transient);

    let service = Service::default();
    let function = AsyncClosure::new(service.request()).on_timeout(|row| Ok(vec![row + 1000]));
    let mut harness = OperatorHarness::new(AsyncOperator::new(function, options().capacity(1))).unwrap();
    harness.push(at(&[(1, 1), (2, 2)])).unwrap();
    assert!(harness.is_blocked());
    assert_eq!(harness.next_tick(), Some(Timestamp::from_millis(100)));
    // Blocked operators get their timeouts too.
    harness.set_processing_time(Timestamp::from_millis(150)).unwrap();
    assert_eq!(harness.output().values, [1001]);
    assert_eq!(harness.counter("numAsyncTimeouts").get(), 1);
    service.answer(1, Ok(vec![1]));
    service.answer(2, Ok(vec![2]));
    harness.poll().unwrap();
    assert_eq!(harness.output().values, [2]);
    assert_eq!(harness.next_tick(), None);
}

#[test]
fn failures_are_tried_again() {
    let service = Service::default();
    let retry = Retry::fixed(3, millis(10)).on_error(|e| e.message() == "busy").on_answer(|r| r.is_empty());
    let options = AsyncOptions::ordered().timeout(millis(1000)).retry(retry);
    let mut harness = OperatorHarness::new(AsyncOperator::new(service.function(), options)).unwrap();
    harness.push(at(&[(1, 1), (2, 2)])).unwrap();
    service.answer(1, Err(Error::user("busy")));
    service.answer(2, Ok(vec![]));
    harness.poll().unwrap();
    assert!(service.open().is_empty());
    assert_eq!(harness.next_tick(), Some(Timestamp::from_millis(10)));
    harness.set_processing_time(Timestamp::from_millis(10)).unwrap();
    service.answer(1, Ok(vec![10]));
    service.answer(2, Ok(vec![]));
    harness.poll().unwrap();
    assert_eq!(harness.output().values, [10]);
    harness.set_processing_time(Timestamp::from_millis(20)).unwrap();
    // The third and last: what it says counts.
    service.answer(2, Ok(vec![]));
    harness.poll().unwrap();
    assert!(harness.output().is_empty());
    assert_eq!(harness.next_tick(), None);
    assert_eq!(harness.counter("numAsyncRetries").get(), 3);
    harness.push(at(&[(3, 3)])).unwrap();
    service.answer(3, Err(Error::user("broken")));
    assert_eq!(harness.poll().unwrap_err().message(), "broken");
}

/// Is ready at the second look.
async fn soon<T>(value: T) -> T {
    let mut looked = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut looked, true) {
            return std::task::Poll::Ready(());
        }
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
    value
}

#[test]
fn answers_are_the_same_in_every_way() {
    for options in [AsyncOptions::<u32>::ordered(), AsyncOptions::unordered()] {
        let out = Case::new(move || {
            let function = AsyncClosure::new(|row: u32| soon(Ok(vec![row; row as usize % 3])));
            AsyncOperator::new(function, options.clone().capacity(3))
        })
        .unordered()
        .batch(at(&[(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]).into_iter().collect())
        .watermark(Timestamp(4))
        .batch(at(&[(6, 7)]).into_iter().collect())
        .end()
        .run();
        let mut first = out[0].clone();
        first.sort();
        assert_eq!(first, ["1 1", "2 2", "2 2", "4 4", "5 5", "5 5"]);
        assert_eq!(out[1], ["6 7"]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Answers come in any order; watermarks separate the rows.
    #[test]
    fn no_answer_passes_a_watermark(
        acts in prop::collection::vec((0..4u8, any::<prop::sample::Index>()), 1..60),
        ordered: bool,
    ) {
        let service = Service::default();
        let options = if ordered { AsyncOptions::ordered() } else { AsyncOptions::unordered() };
        let mut harness =
            OperatorHarness::new(AsyncOperator::new(service.function(), options.capacity(1000))).unwrap();
        let (mut rows, mut watermark) = (0u32, 0i64);
        // What must have left before each watermark.
        let mut before: Vec<(i64, u32)> = Vec::new();
        let mut left = Vec::new();
        let mut seen = 0;
        let mut look = |harness: &mut OperatorHarness<_>, before: &[(i64, u32)]| {
            left.extend(harness.output().values);
            for mark in &harness.watermarks()[seen..] {
                let rows = before.iter().find(|(at, _)| *at == mark.0).expect("a watermark that was sent").1;
                assert!((0..rows).all(|row| left.contains(&row)), "{mark:?} came before {left:?}");
                seen += 1;
            }
            left.clone()
        };
        for (act, index) in acts {
            match act {
                0 | 1 => {
                    harness.push(at(&[(i64::from(rows), rows)])).unwrap();
                    rows += 1;
                }
                2 => {
                    watermark += 1;
                    before.push((watermark, rows));
                    harness.watermark(Timestamp(watermark)).unwrap();
                }
                _ => {
                    let open = service.open();
                    if !open.is_empty() {
                        let row = open[index.index(open.len())];
                        service.answer(row, Ok(vec![row]));
                        harness.poll().unwrap();
                    }
                }
            }
            let left = look(&mut harness, &before);
            // No row of a later part before a watermark that has not left.
            let last = harness.watermarks().last().map_or(0, |mark| mark.0);
            if let Some((_, limit)) = before.iter().find(|(at, _)| *at > last) {
                prop_assert!(left.iter().all(|row| row < limit));
            }
        }
        for row in service.open() {
            service.answer(row, Ok(vec![row]));
        }
        harness.poll().unwrap();
        let mut left = look(&mut harness, &before);
        prop_assert!(!ordered || left.is_sorted());
        left.sort_unstable();
        prop_assert_eq!(left, (0..rows).collect::<Vec<_>>());
        prop_assert_eq!(harness.watermarks().last().map_or(0, |t| t.0), watermark);
    }
}

use super::cell::{Cell, Queue};
use super::*;
use flugs_types::{Clock, ManualClock, SystemClock};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// A task of a closure; its last event goes to whoever listens.
struct Closure<F> {
    step: F,
    last: Sender<TaskEvent>,
}

impl<F: FnMut(Timestamp) -> Result<Step> + Send> Task for Closure<F> {
    fn step(&mut self, now: Timestamp) -> Result<Step> {
        (self.step)(now)
    }

    fn name(&self) -> String {
        "closure".to_owned()
    }

    fn obituary(&self) -> Obituary {
        let last = self.last.clone();
        Box::new(move |event| drop(last.send(event)))
    }
}

fn task(
    step: impl FnMut(Timestamp) -> Result<Step> + Send + 'static,
) -> (Box<dyn Task>, Receiver<TaskEvent>) {
    let (last, ended) = channel();
    (Box::new(Closure { step, last }), ended)
}

const SOON: Duration = Duration::from_secs(20);

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

fn ping_pong(scheduler: &dyn Scheduler, rounds: u64) {
    let slots = [scheduler.slot(0), scheduler.slot(1)];
    let ball = Arc::new(AtomicU64::new(0));
    let ends: Vec<_> = (0..2)
        .map(|side: u64| {
            let (ball, other) = (ball.clone(), slots[1 - side as usize].waker());
            let (task, ended) = task(move |_| {
                // Relaxed: that the ball is seen is the scheduler's affair.
                let at = ball.load(Ordering::Relaxed);
                if at >= rounds {
                    other.wake_by_ref();
                    return Ok(Step::Done);
                }
                if at % 2 == side {
                    ball.store(at + 1, Ordering::Relaxed);
                    other.wake_by_ref();
                }
                Ok(Step::Wait)
            });
            slots[side as usize].start(task);
            ended
        })
        .collect();
    for ended in ends {
        assert!(
            matches!(ended.recv_timeout(SOON), Ok(TaskEvent::Gone)),
            "at {}",
            ball.load(Ordering::SeqCst)
        );
    }
}

#[test]
fn no_wake_is_lost_in_a_long_ping_pong_between_two_workers() {
    ping_pong(&Pool::new(2, clock()), 100_000);
}

#[test]
fn nor_on_one_worker_nor_between_threads() {
    ping_pong(&Pool::new(1, clock()), 20_000);
    ping_pong(&ThreadPerTask::new(clock()), 5_000);
}

#[test]
fn the_last_of_many_wakes_from_everywhere_is_answered() {
    const WAKERS: u64 = 4;
    const EACH: u64 = 5_000;
    let pool = Pool::new(2, clock());
    let posted = Arc::new(AtomicU64::new(0));
    let slot = pool.slot(0);
    let seen = posted.clone();
    let (task, ended) = task(move |_| {
        Ok(if seen.load(Ordering::Relaxed) == WAKERS * EACH { Step::Done } else { Step::Wait })
    });
    slot.start(task);
    std::thread::scope(|scope| {
        for _ in 0..WAKERS {
            scope.spawn(|| {
                let waker = slot.waker();
                for _ in 0..EACH {
                    posted.fetch_add(1, Ordering::Relaxed);
                    waker.wake_by_ref();
                }
            });
        }
    });
    assert!(matches!(ended.recv_timeout(SOON), Ok(TaskEvent::Gone)));
}

#[test]
fn a_timer_wakes_its_task_and_an_earlier_one_comes_first() {
    for scheduler in
        [Box::new(Pool::new(1, clock())) as Box<dyn Scheduler>, Box::new(ThreadPerTask::new(clock()))]
    {
        let slot = scheduler.slot(0);
        let mut waits = vec![20, 5];
        let mut until = Timestamp::MIN;
        let (task, ended) = task(move |now| {
            assert!(now >= until, "woken by nobody");
            let Some(wait) = waits.pop() else { return Ok(Step::Done) };
            until = now + Duration::from_millis(wait);
            Ok(Step::WaitUntil(until))
        });
        slot.start(task);
        assert!(matches!(ended.recv_timeout(SOON), Ok(TaskEvent::Gone)));
    }
}

#[test]
fn others_take_what_waits_behind_a_task_that_blocks() {
    let pool = Pool::new(2, clock());
    let (release, blocked) = channel::<()>();
    let (started, has_started) = channel();
    let (blocking, _kept) = task(move |_| {
        started.send(()).unwrap();
        let _ = blocked.recv_timeout(SOON);
        Ok(Step::Done)
    });
    pool.slot(0).start(blocking);
    has_started.recv_timeout(SOON).unwrap();
    // Let the other worker fall asleep: it is asked to come, not found awake by chance.
    std::thread::park_timeout(Duration::from_millis(20));
    let (other, ended) = task(|_| Ok(Step::Done));
    pool.slot(0).start(other);
    assert!(matches!(ended.recv_timeout(Duration::from_secs(2)), Ok(TaskEvent::Gone)));
    release.send(()).unwrap();
}

#[test]
fn work_of_a_worker_that_never_comes_is_done_by_another() {
    // Its first worker is held up for as long as the test takes, as if it had no thread.
    let pool = Pool::new(2, clock());
    let (release, blocked) = channel::<()>();
    let (blocking, _kept) = task(move |_| {
        let _ = blocked.recv_timeout(SOON);
        Ok(Step::Done)
    });
    pool.slot(0).start(blocking);
    let rounds = 200;
    let ends: Vec<_> = (0..10)
        .map(|_| {
            let slot = pool.slot(0);
            let (own, mut left) = (slot.waker(), rounds);
            let (task, ended) = task(move |_| {
                left -= 1;
                // Woken by itself, as by a neighbour in the stream.
                own.wake_by_ref();
                Ok(if left == 0 { Step::Done } else { Step::Wait })
            });
            slot.start(task);
            ended
        })
        .collect();
    for ended in ends {
        assert!(matches!(ended.recv_timeout(SOON / 4), Ok(TaskEvent::Gone)));
    }
    drop(release);
}

#[test]
fn a_failed_task_is_dropped_before_anybody_is_told() {
    struct Held(Arc<AtomicUsize>);
    impl Drop for Held {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
            panic!("in the middle of dropping");
        }
    }
    let pool = Pool::new(1, clock());
    for panics in [true, false] {
        let dropped = Arc::new(AtomicUsize::new(0));
        let held = Held(dropped.clone());
        let (task, ended) = task(move |_| {
            let _ = &held;
            if panics {
                panic!("out of {}", "luck");
            }
            Err(Error::data("unreadable"))
        });
        pool.slot(0).start(task);
        let Ok(TaskEvent::Failed(error)) = ended.recv_timeout(SOON) else { panic!("it fails") };
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
        let said =
            if panics { "user function failed: panicked: out of luck" } else { "bad data: unreadable" };
        assert_eq!(error.to_string(), said);
    }
    // The worker has survived both.
    let (task, ended) = task(|_| Ok(Step::Done));
    pool.slot(0).start(task);
    assert!(matches!(ended.recv_timeout(SOON), Ok(TaskEvent::Gone)));
}

#[test]
fn a_pool_is_dropped_with_tasks_that_wake_others_as_they_go() {
    struct WakesOnDrop(Waker, Arc<AtomicUsize>);
    impl Drop for WakesOnDrop {
        fn drop(&mut self) {
            self.0.wake_by_ref();
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let pool = Pool::new(2, clock());
    let slots: Vec<_> = (0..64).map(|i| pool.slot(i)).collect();
    for (i, slot) in slots.iter().enumerate() {
        let held = WakesOnDrop(slots[(i + 1) % 64].waker(), dropped.clone());
        let (task, _) = task(move |_| {
            let _ = &held;
            Ok(Step::Again)
        });
        slot.start(task);
    }
    drop(slots);
    drop(pool);
    assert_eq!(dropped.load(Ordering::SeqCst), 64);
}

/// Keeps what is queued.
#[derive(Default)]
struct Queued(Mutex<Vec<Arc<Cell>>>);

impl Queue for Queued {
    fn enqueue(&self, cell: Arc<Cell>) {
        self.0.lock().unwrap().push(cell);
    }
}

#[test]
fn waiting_in_turn_for_a_near_and_a_far_time_sets_the_far_one_once() {
    let queue = Arc::new(Queued::default());
    let cell = Cell::new(queue.clone(), 0);
    let mut step = 0;
    let (task, _) = task(move |now| {
        step += 1;
        let far = Timestamp(1_000_000);
        Ok(Step::WaitUntil(if step % 2 == 0 { far } else { now + Duration::from_micros(10) }))
    });
    cell::CellSlot(cell.clone()).start(task);
    let time = ManualClock::default();
    let mut set = Vec::new();
    for _ in 0..100 {
        for cell in std::mem::take(&mut *queue.0.lock().unwrap()) {
            set.extend(cell.run(time.now()));
        }
        time.advance_to(time.now() + Duration::from_micros(10));
        set.retain(|at| {
            let due = *at <= time.now();
            if due {
                cell.timer_fired(*at);
            }
            !due
        });
        // The task is woken by something else as well.
        CellWaker::wake(&cell);
    }
    assert!(set.len() <= 2, "{set:?}");
    assert!(set.contains(&Timestamp(1_000_000)));
}

struct CellWaker;

impl CellWaker {
    fn wake(cell: &Arc<Cell>) {
        Waker::from(cell.clone()).wake();
    }
}

/// The system's clock, which can be set back.
struct SetBack(AtomicU64);

impl Clock for SetBack {
    fn now(&self) -> Timestamp {
        SystemClock.now() - Duration::from_secs(self.0.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        SystemClock.monotonic()
    }
}

#[test]
fn a_clock_that_is_set_back_makes_nobody_sleep_longer() {
    type Make = fn(Arc<dyn Clock>) -> Box<dyn Scheduler>;
    let makes: [Make; 2] =
        [|clock| Box::new(Pool::new(1, clock)), |clock| Box::new(ThreadPerTask::new(clock))];
    for make in makes {
        let clock = Arc::new(SetBack(AtomicU64::new(0)));
        let scheduler = make(clock.clone());
        let mut waited = false;
        let (task, ended) = task(move |now| {
            if std::mem::replace(&mut waited, true) {
                return Ok(Step::Done);
            }
            clock.0.store(3600, Ordering::SeqCst);
            Ok(Step::WaitUntil(now + Duration::from_millis(5)))
        });
        scheduler.slot(0).start(task);
        assert!(matches!(ended.recv_timeout(Duration::from_secs(5)), Ok(TaskEvent::Gone)));
    }
}

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

const SOON: Duration = Duration::from_secs(20);

/// Work that says that it has begun and waits to be let go.
fn blocking(begun: &Sender<()>) -> (Work, Sender<()>) {
    let (go, wait) = channel();
    let begun = begun.clone();
    let work = move || {
        begun.send(()).unwrap();
        let _ = wait.recv_timeout(SOON);
    };
    (Box::new(work), go)
}

fn began(begun: &Receiver<()>, n: usize) {
    (0..n).for_each(|_| begun.recv_timeout(SOON).unwrap());
}

#[test]
fn work_that_blocks_holds_up_no_other_until_all_threads_are_taken() {
    let pool = BackgroundPool::new(3);
    let (begin, begun) = channel();
    let (works, goes): (Vec<_>, Vec<_>) = (0..4).map(|_| blocking(&begin)).unzip();
    works.into_iter().for_each(|work| pool.run(work));
    began(&begun, 3);
    assert!(begun.recv_timeout(Duration::from_millis(20)).is_err(), "a fourth thread");
    goes[0].send(()).unwrap();
    began(&begun, 1);
    drop(goes);
}

#[test]
fn a_thread_serves_again_also_after_a_panic() {
    let pool = BackgroundPool::new(1);
    let (done, all_done) = channel();
    for i in 0..100 {
        let done = done.clone();
        pool.run(Box::new(move || {
            done.send(i).unwrap();
            assert!(i % 3 != 0, "every third");
        }));
    }
    let order: Vec<i32> = (0..100).map(|_| all_done.recv_timeout(SOON).unwrap()).collect();
    assert_eq!(order, (0..100).collect::<Vec<_>>());
}

#[test]
fn work_that_was_handed_over_is_done_although_the_pool_is_gone() {
    let done = Arc::new(AtomicUsize::new(0));
    let (last, ended) = channel::<()>();
    let pool = BackgroundPool::new(2);
    for _ in 0..50 {
        let (done, last) = (done.clone(), last.clone());
        pool.run(Box::new(move || {
            done.fetch_add(1, Ordering::SeqCst);
            drop(last);
        }));
    }
    drop((pool, last));
    assert!(ended.recv_timeout(SOON).is_err(), "all have let go");
    assert_eq!(done.load(Ordering::SeqCst), 50);
}

#[test]
fn work_may_hand_over_work_and_own_the_pool() {
    let pool = Arc::new(BackgroundPool::new(1));
    let (done, ended) = channel();
    let own = pool.clone();
    pool.run(Box::new(move || {
        own.run(Box::new(move || done.send(()).unwrap()));
        drop(own);
    }));
    drop(pool);
    ended.recv_timeout(SOON).unwrap();
}

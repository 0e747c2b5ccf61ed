//! Reading ahead on background threads through a hand-over of bounded size.
//!
//! A task polls; each poll sees to it that at most one piece of background work is under way, which pulls one
//! item and ends. So no background thread is held longer than one pull takes, a slow task stops its input after
//! [`AHEAD`] items, and a dropped feed lets the work under way end and does no more.

use flugs_types::{Background, Error, Result};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// How many items wait at most.
const AHEAD: usize = 2;

/// Something that blocks to get the next item.
pub trait Pull: Send + 'static {
    /// What it gets.
    type Item: Send + 'static;

    /// Gets one item of bounded size, in bounded time; `None` at the end. It is not called again after the
    /// end or an error.
    fn pull(&mut self) -> Result<Option<Self::Item>>;
}

/// Pulls items in the background, a few ahead of who takes them.
pub struct Feed<P: Pull> {
    shared: Arc<Shared<P>>,
}

struct Shared<P: Pull>(Mutex<State<P>>);

struct State<P: Pull> {
    /// At rest between two pulls; none while one is under way and after the end.
    idle: Option<P>,
    items: VecDeque<Result<Option<P::Item>>>,
}

impl<P: Pull> Shared<P> {
    fn lock(&self) -> MutexGuard<'_, State<P>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P: Pull> Feed<P> {
    /// A feed that has not started: the first poll starts it.
    pub fn new(pull: P) -> Self {
        Feed { shared: Arc::new(Shared(Mutex::new(State { idle: Some(pull), items: VecDeque::new() }))) }
    }

    /// The next item if there is one already: `Some(Ok(None))` is the end. `None` says that the waker will be
    /// called. Nothing follows the end or an error.
    pub fn poll(&self, background: &dyn Background, waker: &Waker) -> Option<Result<Option<P::Item>>> {
        let (item, idle) = {
            let mut state = self.shared.lock();
            let item = state.items.pop_front();
            let idle = if state.items.len() < AHEAD { state.idle.take() } else { None };
            (item, idle)
        };
        if let Some(pull) = idle {
            let mut job = Job { shared: Arc::clone(&self.shared), waker: waker.clone(), pull: Some(pull) };
            background.run(Box::new(move || job.run()));
        }
        item
    }
}

/// One pull. Should it be dropped without an end (a panic, a pool that shuts down), the feed learns of it.
struct Job<P: Pull> {
    shared: Arc<Shared<P>>,
    waker: Waker,
    pull: Option<P>,
}

impl<P: Pull> Job<P> {
    fn run(&mut self) {
        // The feed was dropped: nobody waits.
        if Arc::strong_count(&self.shared) == 1 {
            self.pull = None;
            return;
        }
        let Some(pull) = &mut self.pull else { return };
        let item = pull.pull();
        let pull = self.pull.take().filter(|_| matches!(item, Ok(Some(_))));
        self.deliver(item, pull);
    }

    fn deliver(&self, item: Result<Option<P::Item>>, idle: Option<P>) {
        let mut state = self.shared.lock();
        state.items.push_back(item);
        state.idle = idle;
        drop(state);
        self.waker.wake_by_ref();
    }
}

impl<P: Pull> Drop for Job<P> {
    fn drop(&mut self) {
        if self.pull.is_some() {
            self.deliver(Err(Error::bug("a background read ended without a result")), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    type Work = Box<dyn FnOnce() + Send>;

    /// Keeps work until it is told to run it.
    #[derive(Default)]
    struct Held(Mutex<VecDeque<Work>>);

    impl Background for Held {
        fn run(&self, work: Work) {
            self.0.lock().unwrap().push_back(work);
        }
    }

    impl Held {
        fn run_one(&self) -> bool {
            let work = self.0.lock().unwrap().pop_front();
            work.map(|work| work()).is_some()
        }
    }

    struct Count(u32);

    impl Pull for Count {
        type Item = u32;

        fn pull(&mut self) -> Result<Option<u32>> {
            self.0 += 1;
            assert!(self.0 != 13, "unlucky");
            Ok((self.0 <= 5).then_some(self.0))
        }
    }

    #[test]
    fn a_feed_gives_all_in_order_and_the_end() {
        let (held, feed) = (Held::default(), Feed::new(Count(0)));
        let seen = RefCell::new(Vec::new());
        loop {
            match feed.poll(&held, Waker::noop()) {
                Some(Ok(Some(n))) => seen.borrow_mut().push(n),
                Some(Ok(None)) => break,
                Some(Err(e)) => panic!("{e}"),
                None => assert!(held.run_one(), "somebody must be at work"),
            }
        }
        assert_eq!(*seen.borrow(), [1, 2, 3, 4, 5]);
        assert!(feed.poll(&held, Waker::noop()).is_none() && !held.run_one());
    }

    #[test]
    fn a_slow_taker_stops_the_reading() {
        let (held, feed) = (Held::default(), Feed::new(Count(0)));
        assert!(feed.poll(&held, Waker::noop()).is_none());
        assert!(held.run_one());
        assert!(!held.run_one(), "the next pull comes with the next poll");
        drop(feed);
    }

    #[test]
    fn a_dropped_feed_pulls_no_more_and_a_lost_pull_is_told() {
        let (held, feed) = (Held::default(), Feed::new(Count(12)));
        let _ = feed.poll(&held, Waker::noop());
        drop(feed);
        assert!(held.run_one(), "would panic if it pulled");
        let feed = Feed::new(Count(0));
        let _ = feed.poll(&held, Waker::noop());
        held.0.lock().unwrap().clear();
        assert!(feed.poll(&held, Waker::noop()).unwrap().is_err());
    }
}

//! The operator that asks.

use super::queue::{Leaving, Queue};
use super::{AsyncFunction, AsyncOptions};
use crate::collector::{Collector, Traffic};
use crate::rows::{RecordsRest, Rows};
use flugs_batch::{Barrier, Records};
use flugs_state::{ListTable, SnapshotTable};
use flugs_task::{Counter, OpenContext, Operator, Output, Progress};
use flugs_types::{Clock, Error, Result, Timestamp};
use futures::future::{AbortHandle, Abortable, BoxFuture};
use futures::stream::{FuturesUnordered, StreamExt};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Where one row's request stands. A row whose answer is in the queue has none.
struct Attempt {
    tries: u32,
    deadline: Timestamp,
    step: Step,
}

enum Step {
    /// It is to be asked for as soon as there is room.
    Due,
    /// It is asked for; aborting drops the request.
    Asked(AbortHandle),
    /// It is to be asked for again then.
    Pausing(Timestamp),
}

/// A request with the number of its row and of the try.
struct Request<U> {
    number: u64,
    tries: u32,
    answer: BoxFuture<'static, Result<Vec<U>>>,
}

impl<U> Future for Request<U> {
    type Output = (u64, u32, Result<Vec<U>>);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (number, tries) = (self.number, self.tries);
        self.answer.as_mut().poll(context).map(|answer| (number, tries, answer))
    }
}

/// What an opened operator has.
struct Opened<T> {
    clock: Arc<dyn Clock>,
    waker: Waker,
    /// Written at barriers: the rows whose answers have not left.
    table: ListTable<(Timestamp, T)>,
    timeouts: Counter,
    retries: Counter,
}

/// Asks an outside service for rows without stopping the stream.
///
/// Requests are futures, polled on the task; one that needs a runtime of its own is spawned there by the function, which
/// returns the handle. Rows that are not answered and handed on are operator state: a barrier does not wait for answers, and
/// a restored job asks again, so a service must bear to be asked twice. While more rows wait than there is
/// [capacity](AsyncOptions::capacity) for, the input waits. Watermarks are held back behind the requests before them; that the input
/// is idle is not handed on.
pub struct AsyncOperator<F: AsyncFunction> {
    function: F,
    options: AsyncOptions<F::Out>,
    queue: Queue<F::In, F::Out>,
    attempts: BTreeMap<u64, Attempt>,
    /// Rows whose step is `Due`, in order.
    due: VecDeque<u64>,
    /// How many rows' step is `Asked`.
    running: usize,
    requests: FuturesUnordered<Abortable<Request<F::Out>>>,
    /// Deadlines and ends of pauses. A row that is answered has none.
    alarms: BTreeSet<(Timestamp, u64)>,
    rest: RecordsRest<F::In>,
    ending: bool,
    opened: Option<Opened<F::In>>,
    input_idle: bool,
    said_idle: bool,
    traffic: Traffic,
}

impl<F: AsyncFunction> AsyncOperator<F> {
    /// An operator that asks by `function`.
    pub fn new(function: F, options: AsyncOptions<F::Out>) -> Self {
        AsyncOperator {
            function,
            queue: Queue::new(options.order),
            options,
            attempts: BTreeMap::new(),
            due: VecDeque::new(),
            running: 0,
            requests: FuturesUnordered::new(),
            alarms: BTreeSet::new(),
            rest: RecordsRest::default(),
            ending: false,
            opened: None,
            input_idle: false,
            said_idle: false,
            traffic: Traffic::default(),
        }
    }

    fn opened(&mut self) -> Result<&mut Opened<F::In>> {
        self.opened.as_mut().ok_or_else(|| Error::bug("the operator is not open"))
    }

    /// Does all that can be done now.
    fn go_on(&mut self, out: &mut Output<Records<F::Out>>) -> Result<Progress> {
        let now = self.opened()?.clock.now();
        loop {
            self.ring(now)?;
            let asked = self.ask(now);
            let answered = self.take_answers(now)?;
            if !self.hand_on(out)? {
                return Ok(Progress::More);
            }
            if !asked && !answered {
                break;
            }
        }
        let waits = !Records::is_done(&self.rest) || (self.ending && !self.queue.is_empty());
        Ok(if waits { Progress::Blocked } else { Progress::Done })
    }

    /// Puts a row in line.
    fn admit(&mut self, row: F::In, time: Timestamp, now: Timestamp) {
        let number = self.queue.ask(row, time);
        let deadline = self.options.timeout.map_or(Timestamp::MAX, |timeout| now + timeout);
        if deadline != Timestamp::MAX {
            self.alarms.insert((deadline, number));
        }
        self.attempts.insert(number, Attempt { tries: 0, deadline, step: Step::Due });
        self.due.push_back(number);
    }

    /// Begins requests as far as there is room. Says whether it began any.
    fn ask(&mut self, now: Timestamp) -> bool {
        while self.queue.len() < self.options.capacity {
            let Some((row, time)) = self.rest.next() else { break };
            self.admit(row, time, now);
        }
        let mut began = false;
        while self.running < self.options.capacity {
            let Some(number) = self.due.pop_front() else { break };
            let (Some(attempt), Some(row)) = (self.attempts.get_mut(&number), self.queue.row(number)) else {
                continue;
            };
            let answer = self.function.request(row.clone());
            let (handle, registration) = AbortHandle::new_pair();
            attempt.tries += 1;
            attempt.step = Step::Asked(handle);
            let request = Request { number, tries: attempt.tries, answer };
            self.requests.push(Abortable::new(request, registration));
            self.running += 1;
            began = true;
        }
        began
    }

    /// Polls the requests that woke the task. Says whether any was answered.
    fn take_answers(&mut self, now: Timestamp) -> Result<bool> {
        let waker = self.opened()?.waker.clone();
        let mut context = Context::from_waker(&waker);
        let mut any = false;
        while let Poll::Ready(Some(answer)) = self.requests.poll_next_unpin(&mut context) {
            // Aborted requests come out too.
            let Ok((number, tries, answer)) = answer else { continue };
            if self.attempts.get(&number).is_some_and(|attempt| attempt.tries == tries) {
                self.running -= 1;
                self.answered(number, answer, now)?;
                any = true;
            }
        }
        Ok(any)
    }

    fn answered(&mut self, number: u64, answer: Result<Vec<F::Out>>, now: Timestamp) -> Result<()> {
        let Some(attempt) = self.attempts.get_mut(&number) else { return Ok(()) };
        let pause = self.options.retry.as_ref().and_then(|retry| retry.pause_after(attempt.tries, &answer));
        if let Some(pause) = pause {
            attempt.step = Step::Pausing(now + pause);
            self.alarms.insert((now + pause, number));
            self.opened()?.retries.add(1);
            return Ok(());
        }
        self.settle(number, answer?);
        Ok(())
    }

    /// A row has its answer.
    fn settle(&mut self, number: u64, answer: Vec<F::Out>) {
        if let Some(attempt) = self.attempts.remove(&number) {
            self.alarms.remove(&(attempt.deadline, number));
            match attempt.step {
                Step::Pausing(until) => drop(self.alarms.remove(&(until, number))),
                Step::Due => self.due.retain(|due| *due != number),
                Step::Asked(_) => {}
            }
        }
        self.queue.answer(number, answer);
    }

    /// Ends what has come to its deadline, and lets what paused be due.
    fn ring(&mut self, now: Timestamp) -> Result<()> {
        while let Some(&(at, number)) = self.alarms.first().filter(|(at, _)| *at <= now) {
            self.alarms.pop_first();
            let Some(attempt) = self.attempts.get_mut(&number) else { continue };
            if attempt.deadline > at {
                attempt.step = Step::Due;
                self.due.push_back(number);
                continue;
            }
            if let Step::Asked(handle) = &attempt.step {
                handle.abort();
                self.running -= 1;
            }
            let Some(row) = self.queue.row(number).cloned() else { continue };
            self.opened()?.timeouts.add(1);
            let answer = self.function.timed_out(row)?;
            self.settle(number, answer);
        }
        Ok(())
    }

    /// Hands on what may leave. Says whether the output would take more.
    fn hand_on(&mut self, out: &mut Output<Records<F::Out>>) -> Result<bool> {
        let mut rows = Collector::new(&mut *out);
        while rows.is_ready() {
            match self.queue.leave() {
                Some(Leaving::Rows(answer, time)) => {
                    answer.into_iter().for_each(|row| rows.collect_at(row, time));
                }
                Some(Leaving::Watermark(watermark)) => {
                    self.traffic.gave(rows.finish()?);
                    let _ = out.watermark(watermark)?;
                    rows = Collector::new(&mut *out);
                }
                None => break,
            }
        }
        self.traffic.gave(rows.finish()?);
        if self.input_idle && !self.said_idle && self.queue.is_empty() && Records::is_done(&self.rest) {
            self.said_idle = true;
            let _ = out.idleness(true)?;
        }
        Ok(out.is_ready())
    }
}

impl<F: AsyncFunction> Operator for AsyncOperator<F> {
    type In = Records<F::In>;
    type Out = Records<F::Out>;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.traffic.open(context);
        let mut table: ListTable<(Timestamp, F::In)> = context.state.list("async.requests")?;
        let now = context.clock.now();
        for (time, row) in std::mem::take(table.items_mut()) {
            self.admit(row, time, now);
        }
        self.opened = Some(Opened {
            clock: context.clock.clone(),
            waker: context.waker.clone(),
            table,
            timeouts: context.counter("numAsyncTimeouts"),
            retries: context.counter("numAsyncRetries"),
        });
        Ok(())
    }

    fn process(&mut self, batch: Records<F::In>, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.traffic.took(batch.len());
        self.rest = batch.into_rest();
        self.go_on(out)
    }

    fn resume(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.go_on(out)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.queue.watermark(watermark);
        self.go_on(out)
    }

    /// They leave from the queue, behind the answers to the rows before them.
    fn forwards_watermarks(&self) -> bool {
        false
    }

    /// Idle once all rows are answered, active before the next.
    fn idleness(&mut self, idle: bool, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.input_idle = idle;
        if !idle && std::mem::take(&mut self.said_idle) {
            let _ = out.idleness(false)?;
        }
        self.go_on(out)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.alarms.first().map(|(at, _)| *at)
    }

    fn tick(&mut self, _: Timestamp, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.go_on(out)
    }

    fn polls(&self) -> bool {
        true
    }

    fn poll(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.go_on(out)
    }

    fn barrier(&mut self, _: Barrier, _: &mut Output<Self::Out>) -> Result<Progress> {
        let rows: Vec<_> = self.queue.asked().map(|asked| (asked.time, asked.row.clone())).collect();
        self.opened()?.table.replace(rows);
        Ok(Progress::Done)
    }

    fn end(&mut self, out: &mut Output<Self::Out>) -> Result<Progress> {
        self.ending = true;
        self.go_on(out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.opened.iter_mut().map(|opened| &mut opened.table as &mut dyn SnapshotTable).collect()
    }
}

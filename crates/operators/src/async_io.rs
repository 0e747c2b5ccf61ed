//! Requests to outside services whose answers are waited for without stopping the stream.
//!
//! Requests are futures, polled on the task itself whenever they wake it; a future that needs a runtime of its own is
//! spawned there by the function, which returns the handle. What is asked for and not yet answered and handed on is operator
//! state: a barrier does not wait for answers, and a restored job asks again. So a service must bear to be asked twice.
//!
//! Ordered, answers leave in the order of their rows. Unordered, they leave as they come, but never past a watermark.
//! In both ways the watermark is held back behind the requests before it.

mod operator;
mod queue;
mod retry;

pub use operator::AsyncOperator;
pub use retry::Retry;

use flugs_batch::{Data, Record};
use flugs_types::{Error, Result};
use futures::future::{BoxFuture, FutureExt};
use std::future::Future;
use std::marker::PhantomData;
use std::time::Duration;

/// Asks for something, row by row (Flink: `AsyncFunction`).
pub trait AsyncFunction: Send + 'static {
    /// The rows that it asks for.
    type In: Data;
    /// The rows that it makes of the answers.
    type Out: Record;

    /// Begins to ask for a row; also when the job was restored, and when it is tried again.
    fn request(&mut self, row: Self::In) -> BoxFuture<'static, Result<Vec<Self::Out>>>;

    /// What stands for the answer of a request that took too long. By default the job fails.
    fn timed_out(&mut self, row: Self::In) -> Result<Vec<Self::Out>> {
        let _ = row;
        Err(too_slow())
    }
}

type Fallback<T, U> = Box<dyn FnMut(T) -> Result<Vec<U>> + Send>;

/// An [`AsyncFunction`] of closures.
pub struct AsyncClosure<T, U, F> {
    request: F,
    timed_out: Option<Fallback<T, U>>,
    types: PhantomData<fn(T) -> U>,
}

impl<T, U, F, A> AsyncClosure<T, U, F>
where
    F: FnMut(T) -> A + Send + 'static,
    A: Future<Output = Result<Vec<U>>> + Send + 'static,
{
    /// Asks by this closure.
    pub fn new(request: F) -> Self {
        AsyncClosure { request, timed_out: None, types: PhantomData }
    }

    /// Makes by this closure what stands for an answer that took too long.
    #[must_use]
    pub fn on_timeout(mut self, timed_out: impl FnMut(T) -> Result<Vec<U>> + Send + 'static) -> Self {
        self.timed_out = Some(Box::new(timed_out));
        self
    }
}

impl<T, U, F, A> AsyncFunction for AsyncClosure<T, U, F>
where
    T: Data,
    U: Record,
    F: FnMut(T) -> A + Send + 'static,
    A: Future<Output = Result<Vec<U>>> + Send + 'static,
{
    type In = T;
    type Out = U;

    fn request(&mut self, row: T) -> BoxFuture<'static, Result<Vec<U>>> {
        (self.request)(row).boxed()
    }

    fn timed_out(&mut self, row: T) -> Result<Vec<U>> {
        match &mut self.timed_out {
            Some(timed_out) => timed_out(row),
            None => Err(too_slow()),
        }
    }
}

/// In which order answers leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerOrder {
    /// In the order of the rows that were asked for.
    Ordered,
    /// As they come, but never past a watermark.
    Unordered,
}

/// How an [`AsyncOperator`] asks.
pub struct AsyncOptions<U> {
    pub(crate) order: AnswerOrder,
    pub(crate) capacity: usize,
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry: Option<Retry<U>>,
}

impl<U> Clone for AsyncOptions<U> {
    fn clone(&self) -> Self {
        AsyncOptions { retry: self.retry.clone(), ..*self }
    }
}

impl<U> AsyncOptions<U> {
    /// Answers leave in the order of their rows. Up to 100 requests at a time, no timeout, no retries.
    pub fn ordered() -> Self {
        AsyncOptions { order: AnswerOrder::Ordered, capacity: 100, timeout: None, retry: None }
    }

    /// The same, but answers leave as they come.
    pub fn unordered() -> Self {
        AsyncOptions { order: AnswerOrder::Unordered, ..Self::ordered() }
    }

    /// How many rows may be asked for, or wait to leave, at a time in each subtask; at least 1. Where there are more, the
    /// input waits.
    #[must_use]
    pub fn capacity(mut self, capacity: usize) -> Self {
        self.capacity = capacity.max(1);
        self
    }

    /// How long a row may take, all tries together.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// When and how often a request is tried again.
    #[must_use]
    pub fn retry(mut self, retry: Retry<U>) -> Self {
        self.retry = Some(retry);
        self
    }
}

fn too_slow() -> Error {
    Error::transient("a request took longer than its timeout")
        .mend("raise the timeout, or give rows to stand for the missing answer")
}

#[cfg(test)]
mod tests;

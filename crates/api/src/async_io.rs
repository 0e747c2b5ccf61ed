//! Requests to outside services.

use crate::stream::DataStream;
use flugs_batch::Data;
use flugs_operators::{AsyncClosure, AsyncFunction, AsyncOperator, AsyncOptions};
use flugs_types::Result;
use std::future::Future;

impl<T: Data> DataStream<T> {
    /// Asks for each row by a future, and makes any number of rows of the answer, while up to
    /// [`capacity`](AsyncOptions::capacity) requests are under way. The order of the answers, the timeout and the retries are
    /// options. After a failure what was not answered is asked again.
    ///
    /// Futures are polled on the task: one that needs a runtime is to be spawned there, and its handle returned.
    ///
    /// ```
    /// # use flugs_types::Result;
    /// # use flugs_api::Environment; use flugs_connector::MemorySink; use flugs_operators::{AsyncOptions, Retry};
    /// # use std::time::Duration;
    /// # fn main() -> flugs_types::Result<()> {
    /// async fn look_up(id: u32) -> Result<Vec<String>> {
    ///     // Ask a database, a model, a web service ...
    ///     Ok(vec![format!("user {id}")])
    /// }
    ///
    /// let env = Environment::new("enrich");
    /// let users = MemorySink::new();
    /// let options = AsyncOptions::ordered()
    ///     .timeout(Duration::from_secs(5))
    ///     .retry(Retry::fixed(3, Duration::from_millis(100)));
    /// env.from_collection([7u32, 8]).async_flat_map(options, look_up).sink_to(users.clone(), "users");
    /// env.execute()?;
    /// assert_eq!(users.rows(), ["user 7", "user 8"]);
    /// # Ok(()) }
    /// ```
    pub fn async_flat_map<U: Data, A>(
        &self,
        options: AsyncOptions<U>,
        request: impl FnMut(T) -> A + Clone + Send + Sync + 'static,
    ) -> DataStream<U>
    where
        A: Future<Output = Result<Vec<U>>> + Send + 'static,
    {
        self.async_process(options, move || AsyncClosure::new(request.clone()))
    }

    /// The same by a function that `make` makes for each subtask, such as one that says what stands for an answer that took too
    /// long: [`AsyncClosure::on_timeout`].
    pub fn async_process<F>(
        &self,
        options: AsyncOptions<F::Out>,
        make: impl Fn() -> F + Send + Sync + 'static,
    ) -> DataStream<F::Out>
    where
        F: AsyncFunction<In = T>,
        F::Out: Data,
    {
        self.transform("async", true, move || AsyncOperator::new(make(), options.clone()))
    }
}

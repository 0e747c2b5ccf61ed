//! The results of a window of many keys on their way out.

use super::OUTPUT_ROWS;
use super::reached::Ahead;
use super::time_window::TimeWindow;
use crate::collector::Traffic;
use flugs_batch::{Key, Record, Records};
use flugs_task::Output;
use flugs_types::{Result, hash_key};

/// Makes result rows and hands them on in bounded batches.
pub(crate) struct Results<'a, F, O> {
    window: TimeWindow,
    emit: &'a mut F,
    ahead: &'a Ahead,
    traffic: &'a Traffic,
    out: &'a mut Output<Records<O>>,
    rows: Records<O>,
    pushed: Result<()>,
}

impl<'a, F, O: Record> Results<'a, F, O> {
    pub(crate) fn new(
        window: TimeWindow,
        emit: &'a mut F,
        ahead: &'a Ahead,
        traffic: &'a Traffic,
        out: &'a mut Output<Records<O>>,
    ) -> Self {
        Results { window, emit, ahead, traffic, out, rows: Records::new(), pushed: Ok(()) }
    }

    #[inline]
    pub(crate) fn give<K: Key, R>(&mut self, key: &K, result: impl FnOnce() -> R)
    where
        F: FnMut(&K, TimeWindow, R) -> O,
    {
        let time = self.window.max_timestamp();
        if !self.ahead.is_empty() && self.ahead.was_done(hash_key(key), time) {
            return;
        }
        self.rows.push((self.emit)(key, self.window, result()), time);
        if self.rows.len() >= OUTPUT_ROWS {
            self.hand_on();
        }
    }

    fn hand_on(&mut self) {
        if self.pushed.is_ok() && !self.rows.is_empty() {
            self.traffic.gave(self.rows.len());
            self.pushed = self.out.push(std::mem::take(&mut self.rows)).map(|_| ());
        }
    }

    pub(crate) fn finish(mut self) -> Result<()> {
        self.hand_on();
        self.pushed
    }
}

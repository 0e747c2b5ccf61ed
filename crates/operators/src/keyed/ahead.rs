//! Walks keyed rows so that the state of the rows to come is on its way from memory before it is needed.

use super::{KeyedContext, KeyedRuntime};
use crate::collector::Collector;
use crate::key::KeySelector;
use crate::rows::RecordsRest;
use flugs_types::{Result, hash_key};

/// For how many rows keys are taken out ahead.
const ROWS_AHEAD: usize = 64;

/// From how much state on fetching ahead pays: what is smaller lies in the processor's caches anyway.
const FETCHED_BYTES_MIN: usize = 512 * 1024;

/// Calls `f` for each row that is left with the context of its key, until the output asks to stop.
#[inline]
pub(super) fn for_each_keyed<T, S: KeySelector<T>, U: Send + 'static>(
    rest: &mut RecordsRest<T>,
    selector: &S,
    runtime: &mut KeyedRuntime<S::Key>,
    out: &mut Collector<'_, U>,
    mut f: impl FnMut(T, &mut KeyedContext<'_, S::Key>, &mut Collector<'_, U>) -> Result<()>,
) -> Result<()> {
    let fetches = runtime.store.bytes() >= FETCHED_BYTES_MIN;
    let mut ahead = Vec::with_capacity(rest.values().len().min(ROWS_AHEAD));
    loop {
        let rows = rest.values();
        ahead.clear();
        ahead.extend(rows.iter().take(ROWS_AHEAD).map(|row| {
            let key = selector.key(row);
            let hash = hash_key(&key);
            (key, hash)
        }));
        if ahead.is_empty() {
            return Ok(());
        }
        if fetches {
            ahead.iter().for_each(|(_, hash)| runtime.store.prefetch(*hash));
        }
        for ((key, hash), (value, time)) in ahead.iter().zip(rest.by_ref()) {
            out.set_time(time);
            f(value, &mut runtime.context(key, *hash, time), out)?;
            if !out.is_ready() {
                return Ok(());
            }
        }
    }
}

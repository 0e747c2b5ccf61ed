//! Groups that another run of the job has stored, with or without a time to live.

use super::engine::Aggregator;
use super::state::AggState;
use crate::row::RowBytes;
use crate::ttl::TimeToLive;
use flugs_state::KeyedTable;
use flugs_types::{Error, Result};

/// Gives groups that were stored without a time of their last change one, and takes it from them where none is wanted any more:
/// `time` is the place of that word.
pub(super) fn fit_stored(
    aggregator: &Aggregator,
    groups: &mut KeyedTable<RowBytes, AggState>,
    time: usize,
    ttl: Option<&TimeToLive>,
) -> Result<()> {
    let wanted = aggregator.new_state().words().len();
    let mut other = None;
    groups.retain(|_, state| {
        match (state.words().len(), ttl) {
            (stored, _) if stored == wanted => {}
            (stored, Some(ttl)) if stored + 1 == wanted => {
                let now = ttl.now();
                state.edit_words(|words| words.insert(time, now));
            }
            (stored, None) if stored == wanted + 1 => {
                state.edit_words(|words| {
                    words.remove(time);
                });
            }
            (stored, _) => other = Some(stored),
        }
        true
    });
    match other {
        None => Ok(()),
        Some(stored) => Err(Error::state(format!(
            "the stored groups have accumulators of {stored} words, those of the query have {wanted}"
        ))
        .mend("keep the aggregates of the query as they were, or let the job start without this state")),
    }
}

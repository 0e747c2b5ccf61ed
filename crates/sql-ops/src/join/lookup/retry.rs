//! Look-ups that are made again for rows for which nothing was found.
//!
//! As where Flink looks up row by row, those behind wait: rows stay in their order, and so do barriers.

use super::{Found, asked, calculated, lookup};
use crate::join::spec::LookupJoinSpec;
use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::{concat_batches, take_record_batch};
use flugs_types::{Error, Result, Timestamp};
use std::time::Duration;

/// When rows are looked up again, for which a table has no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LookupRetry {
    /// From one look-up to the next.
    pub delay: Duration,
    /// How often, behind the first time.
    pub attempts: u32,
}

/// Rows of which some are looked up again.
pub(super) struct Waiting {
    found: Vec<Found>,
    missing: Vec<u32>,
    attempts: u32,
    pub(super) until: Timestamp,
}

impl LookupRetry {
    /// What is found for `left`; none where it is to be asked again later, as `waiting` says.
    pub(super) fn find(
        self,
        spec: &LookupJoinSpec,
        left: &RecordBatch,
        waiting: &mut Option<Waiting>,
        now: Timestamp,
    ) -> Result<Option<Found>> {
        let mut open = match waiting.take() {
            None => Waiting { found: Vec::new(), missing: asked(spec, left)?, attempts: 0, until: now },
            Some(open) if now < open.until => {
                *waiting = Some(open);
                return Ok(None);
            }
            Some(open) => Waiting { attempts: open.attempts + 1, ..open },
        };
        let (rows, of) = lookup(spec, left, &open.missing)?;
        open.missing.retain(|row| of.binary_search(row).is_err());
        open.found.push((rows, of));
        if open.missing.is_empty() || open.attempts >= self.attempts {
            return calculated(spec, together(open.found)?).map(Some);
        }
        open.until = now + self.delay;
        *waiting = Some(open);
        Ok(None)
    }
}

/// What was found at several times, in the order of the rows that it is for.
fn together(mut found: Vec<Found>) -> Result<Found> {
    if found.len() == 1
        && let Some(only) = found.pop()
    {
        return Ok(only);
    }
    let schema = found.first().map(|(rows, _)| rows.schema());
    let schema = schema.ok_or_else(|| Error::bug("a look-up was not made"))?;
    let misfit = |e| Error::bug("the rows of several look-ups do not fit each other").caused_by(e);
    let rows = concat_batches(&schema, found.iter().map(|(rows, _)| rows)).map_err(misfit)?;
    let mut order: Vec<(u32, u32)> = found.iter().flat_map(|(_, of)| of).copied().zip(0..).collect();
    order.sort_unstable();
    let (of, places): (Vec<u32>, Vec<u32>) = order.into_iter().unzip();
    Ok((take_record_batch(&rows, &UInt32Array::from(places)).map_err(misfit)?, of))
}

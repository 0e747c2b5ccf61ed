//! What the hint `LOOKUP` says of rows that are not found: all of `retry-predicate`, `retry-strategy`, `fixed-delay` and `max-attempts`, or
//! nothing.

use super::duration;
use crate::error::{PlanResult, semantic};
use flugs_sql_ops::join::LookupRetry;
use flugs_sql_parser::{OptionEntry, Span};
use std::time::Duration;

/// What was said so far.
#[derive(Default)]
pub(super) struct RetrySaid {
    any: bool,
    predicate: bool,
    strategy: bool,
    delay: Option<Duration>,
    attempts: Option<u32>,
}

impl RetrySaid {
    /// Takes one of the options.
    pub(super) fn take(&mut self, entry: &OptionEntry) -> PlanResult<()> {
        self.any = true;
        let known = |only: &str| match entry.value.eq_ignore_ascii_case(only) {
            true => Ok(true),
            false => {
                let error = semantic(format!("'{}' of LOOKUP is '{only}', not '{}'", entry.key, entry.value));
                Err(error.at(entry.value_span))
            }
        };
        match entry.key.as_str() {
            "retry-predicate" => self.predicate = known("lookup_miss")?,
            "retry-strategy" => self.strategy = known("fixed_delay")?,
            "fixed-delay" => self.delay = Some(duration(entry)?),
            _ => {
                let attempts = entry.value.trim().parse().ok().filter(|attempts| *attempts > 0);
                self.attempts = Some(attempts.ok_or_else(|| {
                    semantic(format!("'{}' of LOOKUP is a number from 1, not '{}'", entry.key, entry.value))
                        .at(entry.value_span)
                })?);
            }
        }
        Ok(())
    }

    /// When rows are looked up again, if they are.
    pub(super) fn settled(self, hint: Span) -> PlanResult<Option<LookupRetry>> {
        match self {
            RetrySaid { any: false, .. } => Ok(None),
            RetrySaid { predicate: true, strategy: true, delay: Some(delay), attempts: Some(attempts), .. } => {
                Ok(Some(LookupRetry { delay, attempts }))
            }
            _ => Err(semantic("the hint LOOKUP says in part when rows are looked up again").at(hint).help(
                "write 'retry-predicate' = 'lookup_miss', 'retry-strategy' = 'fixed_delay', 'fixed-delay' = '10 s', \
                 'max-attempts' = '3', or none of them",
            )),
        }
    }
}

//! Compiled patterns: matched in linear time wherever that is possible, by backtracking where a pattern needs what Java has beyond that.

use crate::support::data_error;
use datafusion_common::Result;
use std::ops::Range;

/// How many steps a match may take that goes back: what Java would spend hours on is an error.
const STEPS_MAX: usize = 1_000_000;

/// A compiled pattern.
#[derive(Debug)]
pub(crate) enum Pattern {
    /// In linear time.
    Linear(regex::Regex),
    /// With look-around, back-references, atomic groups or possessive repetitions.
    Backtracking(Box<fancy_regex::Regex>),
}

/// Why a pattern is not compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is no pattern in Java, either.
    Invalid,
    /// Java has it.
    Unsupported,
}

fn too_long(pattern: &fancy_regex::Regex) -> datafusion_common::DataFusionError {
    data_error(format!(
        "the pattern '{}' takes more than {STEPS_MAX} steps on a string: write it without nested repetitions, look-around and \
         back-references",
        pattern.as_str()
    ))
}

impl Pattern {
    /// Compiled for matches in linear time.
    pub(super) fn linear(pattern: &str, bytes_max: usize) -> std::result::Result<Pattern, Refused> {
        let built = regex::RegexBuilder::new(pattern).crlf(true).size_limit(bytes_max).build();
        built.map(Pattern::Linear).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => Refused::Unsupported,
            _ => Refused::Invalid,
        })
    }

    /// Compiled for matches that go back.
    pub(super) fn backtracking(pattern: &str, bytes_max: usize) -> std::result::Result<Pattern, Refused> {
        let mut builder = fancy_regex::RegexBuilder::new(pattern);
        let built = builder.crlf(true).backtrack_limit(STEPS_MAX).delegate_size_limit(bytes_max).build();
        built.map(|regex| Pattern::Backtracking(Box::new(regex))).map_err(|error| match error {
            fancy_regex::Error::ParseError(..) => Refused::Invalid,
            _ => Refused::Unsupported,
        })
    }

    /// Whether some part of the text matches.
    pub(crate) fn is_match(&self, text: &str) -> Result<bool> {
        match self {
            Pattern::Linear(pattern) => Ok(pattern.is_match(text)),
            Pattern::Backtracking(pattern) => pattern.is_match(text).map_err(|_| too_long(pattern)),
        }
    }

    /// The first part that matches.
    pub(crate) fn find(&self, text: &str) -> Result<Option<Range<usize>>> {
        match self {
            Pattern::Linear(pattern) => Ok(pattern.find(text).map(|found| found.range())),
            Pattern::Backtracking(pattern) => pattern
                .find(text)
                .map(|found| found.map(|found| found.range()))
                .map_err(|_| too_long(pattern)),
        }
    }

    /// The parts that match, one behind the other.
    pub(crate) fn find_iter<'p, 't>(&'p self, text: &'t str) -> Matches<'p, 't> {
        match self {
            Pattern::Linear(pattern) => Matches::Linear(pattern.find_iter(text)),
            Pattern::Backtracking(pattern) => Matches::Backtracking(pattern, pattern.find_iter(text)),
        }
    }

    /// How many groups there are, with the whole.
    pub(crate) fn captures_len(&self) -> usize {
        match self {
            Pattern::Linear(pattern) => pattern.captures_len(),
            Pattern::Backtracking(pattern) => pattern.captures_len(),
        }
    }

    /// What a group matched in the first part that matches.
    pub(crate) fn group<'t>(&self, text: &'t str, group: usize) -> Result<Option<&'t str>> {
        Ok(match self {
            Pattern::Linear(pattern) => {
                pattern.captures(text).and_then(|captures| Some(captures.get(group)?.as_str()))
            }
            Pattern::Backtracking(pattern) => {
                let captures = pattern.captures(text).map_err(|_| too_long(pattern))?;
                captures.and_then(|captures| Some(captures.get(group)?.as_str()))
            }
        })
    }

    /// What a group matched in each part that matches.
    pub(crate) fn group_of_each<'t>(
        &self,
        text: &'t str,
        group: usize,
        mut each: impl FnMut(Option<&'t str>),
    ) -> Result<()> {
        match self {
            Pattern::Linear(pattern) => {
                let found = pattern.captures_iter(text);
                found.for_each(|captures| each(captures.get(group).map(|found| found.as_str())));
            }
            Pattern::Backtracking(pattern) => {
                for captures in pattern.captures_iter(text) {
                    let captures = captures.map_err(|_| too_long(pattern))?;
                    each(captures.get(group).map(|found| found.as_str()));
                }
            }
        }
        Ok(())
    }
}

/// See [`Pattern::find_iter`].
pub(crate) enum Matches<'p, 't> {
    Linear(regex::Matches<'p, 't>),
    Backtracking(&'p fancy_regex::Regex, fancy_regex::Matches<'p, 't, str>),
}

impl Iterator for Matches<'_, '_> {
    type Item = Result<Range<usize>>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Matches::Linear(matches) => matches.next().map(|found| Ok(found.range())),
            Matches::Backtracking(pattern, matches) => {
                matches.next().map(|found| found.map(|found| found.range()).map_err(|_| too_long(pattern)))
            }
        }
    }
}

//! `LIKE`.

use crate::support::Call;
use arrow::array::ArrayRef;
use datafusion_common::Result;
use memchr::memmem;

/// A compiled pattern.
pub(super) enum Like {
    Equals(String),
    /// A beginning and an end that do not overlap, with anything between them.
    Edges(String, String),
    Contains(Box<memmem::Finder<'static>>),
    General(Vec<Piece>),
}

#[derive(Clone, PartialEq)]
pub(super) enum Piece {
    Text(String),
    /// `_`.
    One,
    /// `%`.
    Any,
}

impl Like {
    /// None where the escape stands before something else than `_`, `%` or itself. Without an escape there is no way to mean
    /// `_` or `%` themselves; a backslash is a character like any other.
    pub(super) fn compile(pattern: &str, escape: Option<char>) -> Option<Like> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut rest = pattern.chars();
        while let Some(c) = rest.next() {
            let special = match c {
                c if Some(c) == escape => {
                    text.push(rest.next().filter(|c| matches!(c, '_' | '%') || Some(*c) == escape)?);
                    continue;
                }
                '_' => Piece::One,
                '%' => Piece::Any,
                c => {
                    text.push(c);
                    continue;
                }
            };
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            if special != Piece::Any || pieces.last() != Some(&Piece::Any) {
                pieces.push(special);
            }
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Some(match &pieces[..] {
            [] => Like::Equals(String::new()),
            [Piece::Text(text)] => Like::Equals(text.clone()),
            [Piece::Any] => Like::Edges(String::new(), String::new()),
            [Piece::Text(start), Piece::Any] => Like::Edges(start.clone(), String::new()),
            [Piece::Any, Piece::Text(end)] => Like::Edges(String::new(), end.clone()),
            [Piece::Text(start), Piece::Any, Piece::Text(end)] => Like::Edges(start.clone(), end.clone()),
            [Piece::Any, Piece::Text(part), Piece::Any] => {
                Like::Contains(Box::new(memmem::Finder::new(part).into_owned()))
            }
            _ => Like::General(pieces),
        })
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        match self {
            Like::Equals(all) => text == all,
            Like::Edges(start, end) => {
                text.len() >= start.len() + end.len() && text.starts_with(start) && text.ends_with(end)
            }
            Like::Contains(finder) => finder.find(text.as_bytes()).is_some(),
            Like::General(pieces) => general(text, pieces),
        }
    }
}

/// Goes back to the last `%` only: what it had matched before needs no other try.
fn general(text: &str, pieces: &[Piece]) -> bool {
    let (mut rest, mut at) = (text, 0);
    let mut retry: Option<(&str, usize)> = None;
    loop {
        let next = match pieces.get(at) {
            None if rest.is_empty() => return true,
            None => None,
            Some(Piece::Any) => {
                at += 1;
                retry = Some((rest, at));
                continue;
            }
            Some(Piece::One) => rest.chars().next().map(|c| &rest[c.len_utf8()..]),
            Some(Piece::Text(part)) => rest.strip_prefix(part.as_str()),
        };
        if let Some(next) = next {
            (rest, at) = (next, at + 1);
            continue;
        }
        let Some((from, piece)) = retry else { return false };
        let Some(c) = from.chars().next() else { return false };
        let from = &from[c.len_utf8()..];
        retry = Some((from, piece));
        (rest, at) = (from, piece);
    }
}

pub(super) fn evaluate(call: &Call<'_>) -> Result<ArrayRef> {
    let (texts, patterns) = (call.strings(0), call.strings(1));
    let escapes = (call.len() > 2).then(|| call.strings(2));
    let mut last: Option<((&str, Option<&str>), Like)> = None;
    call.collect_booleans(|row| {
        let (Some(text), Some(pattern)) = (texts.get(row), patterns.get(row)) else { return Ok(None) };
        let escape = match escapes {
            Some(escapes) => match escapes.get(row) {
                Some(escape) => Some(escape),
                None => return Ok(None),
            },
            None => None,
        };
        if last.as_ref().is_none_or(|(of, _)| *of != (pattern, escape)) {
            last = Some(((pattern, escape), Like::of_row(pattern, escape)?));
        }
        Ok(last.as_ref().map(|(_, like)| like.matches(text)))
    })
}

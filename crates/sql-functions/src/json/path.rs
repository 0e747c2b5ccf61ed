//! Paths into JSON documents, as Flink has them: `lax $.a[0]['b c']`.
//!
//! The language is Jayway's JsonPath: members, elements (negative ones from the end), lists and ranges of them, wildcards,
//! `..` for everything below, and filters. A path is definite where it leads to at most one value; others give a list.
//! Without a word in front a path is strict: what is missing is an error. In a lax one it is nothing.

use super::filter::Filter;
use super::value::Json;
use flugs_types::{Error, Result};

/// How a path takes what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Strict,
    Lax,
}

/// A compiled path.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) mode: Mode,
    steps: Vec<Step>,
    definite: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Step {
    Members(Vec<String>),
    Elements(Vec<i64>),
    Range(Option<i64>, Option<i64>),
    All,
    /// The value itself and everything below it.
    Below,
    Filter(Filter),
}

/// What a path leads to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Found {
    /// Something that has to be there is not; the text says what.
    Error(String),
    Nothing,
    Value(Json),
}

impl Path {
    /// Compiles a path; an error says what is wrong with it.
    pub(crate) fn compile(text: &str) -> Result<Path> {
        let trimmed = text.trim_start();
        let mode_of = |word: &str| {
            let start = trimmed.get(..word.len())?;
            let rest = trimmed.get(word.len()..)?;
            (start.eq_ignore_ascii_case(word) && rest.starts_with(char::is_whitespace)).then_some(rest)
        };
        let (mode, rest) = match (mode_of("strict"), mode_of("lax")) {
            (Some(rest), _) => (Mode::Strict, rest),
            (_, Some(rest)) => (Mode::Lax, rest),
            _ => (Mode::Strict, text),
        };
        let mut scanner = Scanner { text: rest.trim(), at: 0 };
        let steps = scanner.path(b'$').ok_or_else(|| {
            Error::job(format!("'{text}' is no path into JSON, at '{}'", &scanner.text[scanner.at..]))
                .mend("write a path such as '$.a.b', '$.a[0]' or 'lax $.a[*].b'")
        })?;
        let definite = is_definite(&steps);
        Ok(Path { mode, steps, definite })
    }

    /// What this path leads to in a document; none is a text that is no JSON.
    pub(crate) fn find(&self, document: Option<&Json>) -> Found {
        let lax = self.mode == Mode::Lax;
        match document {
            None if lax => return Found::Nothing,
            None => return Found::Error("the text is not valid JSON".to_owned()),
            Some(Json::Null) => return Found::Error("the JSON document is null".to_owned()),
            Some(_) => {}
        }
        let mut values: Vec<&Json> = document.into_iter().collect();
        for (i, step) in self.steps.iter().enumerate() {
            let upstream_definite = is_definite(&self.steps[..i]);
            let last = i + 1 == self.steps.len();
            let mut next = Vec::new();
            for value in values {
                if let Err(missing) = step.apply(value, upstream_definite, last, &mut next)
                    && !lax
                {
                    return Found::Error(missing);
                }
            }
            values = next;
        }
        if !self.definite {
            return Found::Value(Json::Array(values.into_iter().cloned().collect()));
        }
        match values.first() {
            // A null is as if it was not there.
            Some(Json::Null) => Found::Nothing,
            Some(value) => Found::Value((*value).clone()),
            None if lax => Found::Nothing,
            None => Found::Error("the path leads to nothing".to_owned()),
        }
    }
}

pub(super) fn is_definite(steps: &[Step]) -> bool {
    steps.iter().all(|step| match step {
        Step::Members(names) => names.len() == 1,
        Step::Elements(positions) => positions.len() == 1,
        _ => false,
    })
}

impl Step {
    /// Adds what is one step from `value`. An error says what should be there and is not.
    fn apply<'j>(
        &self,
        value: &'j Json,
        upstream_definite: bool,
        last: bool,
        out: &mut Vec<&'j Json>,
    ) -> std::result::Result<(), String> {
        let demand = |what: &str| if upstream_definite { Err(what.to_owned()) } else { Ok(()) };
        match (self, value) {
            (Step::Members(names), Json::Object(_)) => {
                for name in names {
                    match value.member(name) {
                        Some(member) => out.push(member),
                        None if !last && names.len() == 1 => {
                            return demand(&format!("there is no member '{name}'"));
                        }
                        None => {}
                    }
                }
                Ok(())
            }
            (Step::Members(names), _) => {
                demand(&format!("there is no object with a member '{}'", names.join("', '")))
            }
            (Step::Elements(positions), Json::Array(elements)) => {
                for position in positions {
                    let from_start = if *position < 0 { elements.len() as i64 + position } else { *position };
                    out.extend(usize::try_from(from_start).ok().and_then(|i| elements.get(i)));
                }
                Ok(())
            }
            (Step::Range(start, end), Json::Array(elements)) => {
                let length = elements.len() as i64;
                let place =
                    |bound: i64| (if bound < 0 { bound + length } else { bound }).clamp(0, length) as usize;
                let (start, end) = (start.map_or(0, place), end.map_or(elements.len(), place));
                out.extend(elements.get(start..end).unwrap_or_default());
                Ok(())
            }
            (Step::Elements(_) | Step::Range(..), _) => {
                demand("there is no array whose elements could be taken")
            }
            (Step::All, _) => {
                out.extend(children(value));
                Ok(())
            }
            (Step::Below, _) => {
                let mut stack = vec![value];
                while let Some(value) = stack.pop() {
                    out.push(value);
                    let at = stack.len();
                    stack.extend(children(value));
                    stack[at..].reverse();
                }
                Ok(())
            }
            (Step::Filter(filter), Json::Object(_)) => {
                out.extend(Some(value).filter(|v| filter.holds(v)));
                Ok(())
            }
            (Step::Filter(filter), _) => {
                out.extend(children(value).filter(|v| filter.holds(v)));
                Ok(())
            }
        }
    }
}

fn children(value: &Json) -> impl Iterator<Item = &Json> {
    let (elements, members) = match value {
        Json::Array(elements) => (Some(elements), None),
        Json::Object(members) => (None, Some(members)),
        _ => (None, None),
    };
    elements.into_iter().flatten().chain(members.into_iter().flatten().map(|(_, value)| value))
}

/// The values that steps lead to, missing ones left out.
pub(super) fn follow<'j>(steps: &[Step], value: &'j Json) -> Vec<&'j Json> {
    let mut values = vec![value];
    for step in steps {
        let mut next = Vec::new();
        for value in values {
            let _ = step.apply(value, false, false, &mut next);
        }
        values = next;
    }
    values
}

/// Reads paths and filters.
pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl Scanner<'_> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    pub(super) fn skip_space(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// A whole path that begins with `root`.
    fn path(&mut self, root: u8) -> Option<Vec<Step>> {
        let steps = self.steps(root)?;
        (self.at == self.text.len()).then_some(steps)
    }

    /// A path that begins with `root`, as far as it goes.
    pub(super) fn steps(&mut self, root: u8) -> Option<Vec<Step>> {
        self.take(root).then_some(())?;
        let mut steps = Vec::new();
        loop {
            match self.peek() {
                Some(b'.') => {
                    self.at += 1;
                    if self.take(b'.') {
                        steps.push(Step::Below);
                    }
                    match self.peek()? {
                        // Flink's documentation has '$.[''a b'']'.
                        b'[' => steps.push(self.bracket()?),
                        b'*' => {
                            self.at += 1;
                            steps.push(Step::All);
                        }
                        _ => steps.push(Step::Members(vec![self.name()?])),
                    }
                }
                Some(b'[') => steps.push(self.bracket()?),
                _ => return Some(steps),
            }
        }
    }

    fn name(&mut self) -> Option<String> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| ".[]()=<>!&|, ".contains(c) || c.is_whitespace()).unwrap_or(rest.len());
        self.at += end;
        (end > 0).then(|| rest[..end].to_owned())
    }

    fn bracket(&mut self) -> Option<Step> {
        self.at += 1;
        self.skip_space();
        let step = match self.peek()? {
            b'*' => {
                self.at += 1;
                Step::All
            }
            b'\'' | b'"' => Step::Members(self.list(Scanner::quoted)?),
            b'?' => {
                self.at += 1;
                Step::Filter(Filter::scan(self)?)
            }
            b':' => self.range(None)?,
            _ => {
                let first = self.integer()?;
                self.skip_space();
                match self.peek()? {
                    b':' => self.range(Some(first))?,
                    b',' => {
                        self.at += 1;
                        let mut positions = vec![first];
                        positions.extend(self.list(Scanner::integer)?);
                        Step::Elements(positions)
                    }
                    _ => Step::Elements(vec![first]),
                }
            }
        };
        self.skip_space();
        self.take(b']').then_some(step)
    }

    fn range(&mut self, start: Option<i64>) -> Option<Step> {
        self.at += 1;
        self.skip_space();
        let end = if self.peek()? == b']' { None } else { Some(self.integer()?) };
        Some(Step::Range(start, end))
    }

    fn list<T>(&mut self, item: fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        loop {
            self.skip_space();
            items.push(item(self)?);
            self.skip_space();
            if !self.take(b',') {
                return Some(items);
            }
        }
    }

    fn integer(&mut self) -> Option<i64> {
        let start = self.at;
        self.take(b'-');
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        self.text[start..self.at].parse().ok()
    }

    /// A text in single or double quotes; a backslash takes the next character as it is.
    pub(super) fn quoted(&mut self) -> Option<String> {
        let quote = char::from(self.peek()?);
        let mut out = String::new();
        let mut chars = self.text[self.at + 1..].char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '\\' => out.push(chars.next()?.1),
                c if c == quote => {
                    self.at += 1 + i + 1;
                    return Some(out);
                }
                c => out.push(c),
            }
        }
        None
    }
}

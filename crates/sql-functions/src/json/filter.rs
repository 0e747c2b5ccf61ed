//! Filters of paths: `[?(@.price < 10 && @.isbn)]`.

use super::path::{Scanner, Step, follow};
use super::value::Json;
use std::cmp::Ordering;

/// A condition on a value.
#[derive(Debug, Clone)]
pub(super) enum Filter {
    Any(Vec<Filter>),
    All(Vec<Filter>),
    Not(Box<Filter>),
    Exists(Vec<Step>),
    Compare(Operand, Comparison, Operand),
}

#[derive(Debug, Clone)]
pub(super) enum Operand {
    Path(Vec<Step>),
    Literal(Json),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// How deep conditions may be nested in parentheses.
const DEPTH_MAX: usize = 64;

impl Filter {
    /// Reads `(condition)`.
    pub(super) fn scan(scanner: &mut Scanner<'_>) -> Option<Filter> {
        scanner.skip_space();
        scanner.take(b'(').then_some(())?;
        let condition = any(scanner, 0)?;
        scanner.skip_space();
        scanner.take(b')').then_some(condition)
    }

    /// Whether the condition holds for a value.
    pub(super) fn holds(&self, value: &Json) -> bool {
        match self {
            Filter::Any(conditions) => conditions.iter().any(|c| c.holds(value)),
            Filter::All(conditions) => conditions.iter().all(|c| c.holds(value)),
            Filter::Not(condition) => !condition.holds(value),
            Filter::Exists(steps) => !follow(steps, value).is_empty(),
            Filter::Compare(left, comparison, right) => {
                let (left, right) = (left.of(value), right.of(value));
                let (Some(left), Some(right)) = (left, right) else {
                    return matches!(comparison, Comparison::NotEqual);
                };
                let order = compare(left, right);
                match comparison {
                    Comparison::Equal => left == right || order == Some(Ordering::Equal),
                    Comparison::NotEqual => left != right && order != Some(Ordering::Equal),
                    Comparison::Less => order == Some(Ordering::Less),
                    Comparison::LessOrEqual => order.is_some_and(Ordering::is_le),
                    Comparison::Greater => order == Some(Ordering::Greater),
                    Comparison::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
                }
            }
        }
    }
}

impl Operand {
    fn of<'j>(&'j self, value: &'j Json) -> Option<&'j Json> {
        match self {
            Operand::Path(steps) => follow(steps, value).first().copied(),
            Operand::Literal(literal) => Some(literal),
        }
    }
}

fn compare(left: &Json, right: &Json) -> Option<Ordering> {
    match (left, right) {
        (Json::Number(a), Json::Number(b)) => a.parse::<f64>().ok()?.partial_cmp(&b.parse::<f64>().ok()?),
        (Json::String(a), Json::String(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn any(scanner: &mut Scanner<'_>, depth: usize) -> Option<Filter> {
    let mut conditions = vec![all(scanner, depth)?];
    while word(scanner, "||") {
        conditions.push(all(scanner, depth)?);
    }
    Some(Filter::Any(conditions))
}

fn all(scanner: &mut Scanner<'_>, depth: usize) -> Option<Filter> {
    let mut conditions = vec![one(scanner, depth)?];
    while word(scanner, "&&") {
        conditions.push(one(scanner, depth)?);
    }
    Some(Filter::All(conditions))
}

fn word(scanner: &mut Scanner<'_>, word: &str) -> bool {
    scanner.skip_space();
    let there = scanner.text[scanner.at..].starts_with(word);
    scanner.at += if there { word.len() } else { 0 };
    there
}

fn one(scanner: &mut Scanner<'_>, depth: usize) -> Option<Filter> {
    scanner.skip_space();
    if depth > DEPTH_MAX {
        return None;
    }
    if scanner.take(b'!') {
        return Some(Filter::Not(Box::new(one(scanner, depth + 1)?)));
    }
    if scanner.take(b'(') {
        let condition = any(scanner, depth + 1)?;
        scanner.skip_space();
        return scanner.take(b')').then_some(condition);
    }
    let left = operand(scanner)?;
    // Longer signs first: each begins with a shorter one.
    let comparisons = [
        ("==", Comparison::Equal),
        ("!=", Comparison::NotEqual),
        ("<=", Comparison::LessOrEqual),
        (">=", Comparison::GreaterOrEqual),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
    ];
    match comparisons.iter().find(|(sign, _)| word(scanner, sign)) {
        Some((_, comparison)) => Some(Filter::Compare(left, *comparison, operand(scanner)?)),
        None => match left {
            Operand::Path(steps) => Some(Filter::Exists(steps)),
            Operand::Literal(_) => None,
        },
    }
}

fn operand(scanner: &mut Scanner<'_>) -> Option<Operand> {
    scanner.skip_space();
    match scanner.peek()? {
        b'@' => Some(Operand::Path(scanner.steps(b'@')?)),
        b'\'' | b'"' => Some(Operand::Literal(Json::String(scanner.quoted()?))),
        _ => {
            let rest = &scanner.text[scanner.at..];
            let end = rest.find(|c: char| c.is_whitespace() || ")&|=<>!".contains(c)).unwrap_or(rest.len());
            let literal = Json::parse(&rest[..end])?;
            scanner.at += end;
            Some(Operand::Literal(literal))
        }
    }
}

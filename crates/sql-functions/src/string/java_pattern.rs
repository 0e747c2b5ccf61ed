//! Regular expressions as Java writes them, matched by the `regex` crate, in linear time.
//!
//! Alike: literals, classes with their unions and intersections, groups (named ones, too), repetitions, alternatives, anchors,
//! flags. `\d`, `\w` and `\s` mean ASCII, `.` does not match a line's end, as in Java. Patterns with look-around, back-references,
//! atomic groups or possessive repetitions are matched by `fancy-regex`, which goes back and gives up after so many steps: no pattern can
//! stop a job. Different: `$` matches at the end of the text alone and not also before a last line end. Not supported: `\G`, `\X`, `\N`,
//! and classes of Unicode's blocks and of Java's own (`\p{InGreek}`, `\p{javaUpperCase}`).

use super::pattern::{Pattern, Refused};
use crate::support::planning_error;
use datafusion_common::Result;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// How many patterns are kept compiled.
const PATTERNS_MAX: usize = 64;
/// The most memory one compiled pattern may take.
const PATTERN_BYTES_MAX: usize = 4 << 20;

/// A compiled pattern, or why it is none.
pub(crate) type Compiled = std::result::Result<Arc<Pattern>, Refused>;

/// The patterns compiled last, shared by all subtasks of a query. Clones share.
#[derive(Debug, Default, Clone)]
pub(crate) struct PatternCache(Arc<Mutex<VecDeque<(String, Compiled)>>>);

impl PatternCache {
    /// The pattern, compiled.
    pub(crate) fn get(&self, pattern: &str) -> Compiled {
        let mut patterns = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, compiled)) = patterns.iter().find(|(known, _)| known == pattern) {
            return compiled.clone();
        }
        let compiled = compile(pattern);
        if patterns.len() == PATTERNS_MAX {
            patterns.pop_front();
        }
        patterns.push_back((pattern.to_owned(), compiled.clone()));
        compiled
    }

    /// The patterns of one batch: a row that has the pattern of the row before does not ask the cache.
    pub(crate) fn batch(&self) -> BatchPatterns<'_> {
        BatchPatterns { cache: self, last: None }
    }
}

/// See [`PatternCache::batch`].
pub(crate) struct BatchPatterns<'a> {
    cache: &'a PatternCache,
    last: Option<(String, Compiled)>,
}

impl BatchPatterns<'_> {
    /// The pattern, compiled; none where it is invalid.
    pub(crate) fn get(&mut self, pattern: &str) -> Option<&Arc<Pattern>> {
        if self.last.as_ref().is_none_or(|(known, _)| known != pattern) {
            self.last = Some((pattern.to_owned(), self.cache.get(pattern)));
        }
        self.last.as_ref().and_then(|(_, compiled)| compiled.as_ref().ok())
    }
}

/// Compiles a pattern of Java's.
pub(crate) fn compile(pattern: &str) -> Compiled {
    let translated = Translator::new(pattern).translate().ok_or(Refused::Invalid)?;
    let Translated { text, goes_back, unsupported } = translated;
    let compiled = match goes_back {
        true => Pattern::backtracking(&text, PATTERN_BYTES_MAX),
        false => Pattern::linear(&text, PATTERN_BYTES_MAX),
    };
    compiled.map(Arc::new).map_err(|refused| if unsupported { Refused::Unsupported } else { refused })
}

/// An error where a pattern, which a function's user wrote as `shown`, is one that Java has and this module has not.
pub(crate) fn check(function: &str, shown: &str, pattern: &str) -> Result<()> {
    match compile(pattern) {
        Err(Refused::Unsupported) => Err(planning_error(format!(
            "{function} does not support the pattern '{shown}'; write it without \\G, \\X, \\N, classes of blocks (\\p{{In...}}) and of Java \
             (\\p{{java...}}), and with smaller repetitions"
        ))),
        _ => Ok(()),
    }
}

/// A pattern in Rust's words.
struct Translated {
    text: String,
    /// Whether it has something that linear time does not do for.
    goes_back: bool,
    /// Whether it has something that neither engine knows.
    unsupported: bool,
}

/// Rewrites what the two dialects write differently.
struct Translator<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    out: String,
    /// How many `[` are open.
    classes: usize,
    /// Whether a repetition ends here, so that a `+` makes it possessive.
    repeated: bool,
    /// Whether a `{` is open.
    counting: bool,
    goes_back: bool,
    unsupported: bool,
}

impl<'a> Translator<'a> {
    fn new(pattern: &'a str) -> Self {
        Translator {
            rest: pattern.chars().peekable(),
            out: String::with_capacity(pattern.len() + 8),
            classes: 0,
            repeated: false,
            counting: false,
            goes_back: false,
            unsupported: false,
        }
    }

    fn translate(mut self) -> Option<Translated> {
        while let Some(c) = self.rest.next() {
            let repeated = std::mem::take(&mut self.repeated);
            match c {
                '\\' => self.escape()?,
                '[' => {
                    self.classes += 1;
                    self.out.push('[');
                    if self.rest.next_if_eq(&'^').is_some() {
                        self.out.push('^');
                    }
                }
                ']' if self.classes > 0 => {
                    self.classes -= 1;
                    self.out.push(']');
                }
                // Operators on classes here, plain characters in Java.
                '-' | '~' if self.classes > 0 && self.rest.peek() == Some(&c) => {
                    self.out.push('\\');
                    self.out.push(c);
                }
                _ if self.classes > 0 => self.out.push(c),
                '(' => self.group(),
                '+' if repeated => {
                    self.goes_back = true;
                    self.out.push('+');
                }
                _ => {
                    self.repeated = matches!(c, '*' | '+' | '?') && !repeated || c == '}' && self.counting;
                    self.counting = c == '{' || self.counting && c != '}';
                    self.out.push(c);
                }
            }
        }
        Some(Translated { text: self.out, goes_back: self.goes_back, unsupported: self.unsupported })
    }

    fn group(&mut self) {
        self.out.push('(');
        if self.rest.next_if_eq(&'?').is_none() {
            return;
        }
        self.out.push('?');
        let mut behind = self.rest.clone();
        let kind = behind.next();
        let looks_back = kind == Some('<') && matches!(behind.next(), Some('=' | '!'));
        self.goes_back |= looks_back || matches!(kind, Some('=' | '!' | '>'));
    }

    fn escape(&mut self) -> Option<()> {
        match self.rest.next()? {
            'Q' => self.quotation(),
            'd' => self.out.push_str("[0-9]"),
            'D' => self.out.push_str("[^0-9]"),
            'w' => self.out.push_str("[a-zA-Z_0-9]"),
            'W' => self.out.push_str("[^a-zA-Z_0-9]"),
            's' => self.out.push_str(r"[ \t\n\x0B\f\r]"),
            'S' => self.out.push_str(r"[^ \t\n\x0B\f\r]"),
            'h' => self.out.push_str(r"[ \t\xA0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000]"),
            'R' if self.classes == 0 => self.out.push_str(r"(?:\r\n|[\n\x0B\f\r\u0085\u2028\u2029])"),
            'Z' => self.out.push_str(r"\z"),
            'e' => self.out.push_str(r"\x1B"),
            '0' => self.octal()?,
            c @ ('1'..='9' | 'k') if self.classes == 0 => {
                self.goes_back = true;
                self.out.push('\\');
                self.out.push(c);
            }
            c @ ('G' | 'X' | 'N') => {
                self.unsupported = true;
                self.out.push('\\');
                self.out.push(c);
            }
            'p' => self.property("p")?,
            'P' => self.property("P")?,
            // In Rust these are the edges of words.
            c @ ('<' | '>') => self.out.push(c),
            c => {
                self.out.push('\\');
                self.out.push(c);
            }
        }
        Some(())
    }

    fn quotation(&mut self) {
        let mut quoted = String::new();
        while let Some(c) = self.rest.next() {
            if c == '\\' && self.rest.next_if_eq(&'E').is_some() {
                break;
            }
            quoted.push(c);
        }
        self.out.push_str(&regex::escape(&quoted));
    }

    fn octal(&mut self) -> Option<()> {
        let mut value = 0;
        let mut digits = 0;
        while digits < 3
            && let Some(digit) = self.rest.peek().and_then(|c| c.to_digit(8))
            && value * 8 + digit <= 0o377
        {
            value = value * 8 + digit;
            digits += 1;
            self.rest.next();
        }
        self.out.push_str(&format!(r"\x{value:02X}"));
        (digits > 0).then_some(())
    }

    fn property(&mut self, p: &str) -> Option<()> {
        if self.rest.next_if_eq(&'{').is_none() {
            let one = self.rest.next()?;
            self.out.push_str(&format!(r"\{p}{one}"));
            return Some(());
        }
        let name: String = std::iter::from_fn(|| self.rest.next_if(|c| *c != '}')).collect();
        self.rest.next()?;
        let negated = if p == "P" { "^" } else { "" };
        let posix =
            ["Lower", "Upper", "ASCII", "Alpha", "Digit", "Alnum", "Punct", "Graph", "Print", "Blank"];
        let posix = posix.into_iter().chain(["Cntrl", "XDigit", "Space"]).find(|known| *known == name);
        match posix {
            Some(name) => self.out.push_str(&format!("[[:{negated}{}:]]", name.to_lowercase())),
            None => {
                self.unsupported |= name.starts_with("In") || name.starts_with("java");
                let name = name.strip_prefix("Is").unwrap_or(&name);
                self.out.push_str(&format!(r"\{p}{{{name}}}"));
            }
        }
        Some(())
    }
}

/// The parts of `text` between the matches, as Java's `String.split` gives them: no empty part at the start for a match of
/// nothing there, no empty parts at the end unless `limit` says how many parts there are at most.
pub(crate) fn split<'t>(text: &'t str, pattern: &Pattern, limit: Option<usize>) -> Result<Vec<&'t str>> {
    let mut parts = Vec::new();
    let mut from = 0;
    for found in pattern.find_iter(text) {
        let found = found?;
        if limit.is_some_and(|limit| parts.len() + 1 >= limit) {
            break;
        }
        // Nothing is matched at the end of the text, either.
        if (found.start == 0 && found.end == 0) || (found.is_empty() && found.start == text.len()) {
            continue;
        }
        parts.push(&text[from..found.start]);
        from = found.end;
    }
    if parts.is_empty() {
        return Ok(vec![text]);
    }
    parts.push(&text[from..]);
    while limit.is_none() && parts.last().is_some_and(|p| p.is_empty()) {
        parts.pop();
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'t>(pattern: &str, text: &'t str) -> Option<&'t str> {
        compile(pattern).expect("a valid pattern").find(text).unwrap().map(|found| &text[found])
    }

    #[test]
    fn java_writes_patterns_in_its_own_way() {
        assert_eq!(found(r"\w+", "é ab_1"), Some("ab_1"));
        assert_eq!(found(r"[\d.]+", "x1.5"), Some("1.5"));
        assert_eq!(found(r"[^\d]+", "12ab3"), Some("ab"));
        assert_eq!(found(r"\Q.*\E+", "a.**"), Some(".**"));
        assert_eq!(found(r"\<b\>", "a<b>"), Some("<b>"));
        assert_eq!(found(r"\p{Alpha}+", "1ab2"), Some("ab"));
        assert_eq!(found(r"\P{Alpha}+", "ab12"), Some("12"));
        assert_eq!(found(r"[\p{Upper}]+", "abCD"), Some("CD"));
        assert_eq!(found(r"\p{IsGreek}+", "aβγ"), Some("βγ"));
        assert_eq!(found(r"\0101", "xA"), Some("A"));
        assert_eq!(found(r"[a--b]", "-"), Some("-"));
        assert_eq!(found("a.b", "a\rb"), None);
        assert_eq!(found("(?s)a.b", "a\rb"), Some("a\rb"));
        assert_eq!(found(r"\u0041", "xA"), Some("A"));
    }

    #[test]
    fn what_cannot_be_matched_in_linear_time_goes_back() {
        assert_eq!(found(r"(.)\1", "abbc"), Some("bb"));
        assert_eq!(found(r"(?<x>.)\k<x>", "abbc"), Some("bb"));
        assert_eq!(found("foo(?=bar)", "foobar"), Some("foo"));
        assert_eq!(found("foo(?!bar)", "foobar foob"), Some("foo"));
        assert_eq!(found("(?<=a)X", "bXaX"), Some("X"));
        assert_eq!(found("(?<!a)b", "ab"), None);
        assert_eq!(found("(?>fo*)b", "foob"), Some("foob"));
        assert_eq!(found("a*+a", "aaa"), None);
        assert_eq!(found("[a-c]{1,2}+c", "abc"), Some("abc"));
        assert_eq!(found("[a-c]{1,3}+c", "abc"), None);
        assert_eq!(found(r"a\++", "a++"), Some("a++"));
        assert_eq!(found("[*+]+", "a*+"), Some("*+"));
        for linear in ["a+?b", r"\++", "[(?=]+", "a{2}b+", "(?<n>a)", "(?i)a", r"\Q(?=\E", "(?:a)+"] {
            assert!(matches!(*compile(linear).unwrap(), Pattern::Linear(_)), "{linear}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_told_from_what_only_java_has() {
        for pattern in ["(", "[", r"\", r"\p{Nope}", "a{2", "(?=a", "(?<!"] {
            assert_eq!(compile(pattern).unwrap_err(), Refused::Invalid, "{pattern}");
        }
        for pattern in [r"\Ga", r"\p{InGreek}", r"\p{javaLowerCase}", "(a{1000}){1000}"] {
            assert_eq!(compile(pattern).unwrap_err(), Refused::Unsupported, "{pattern}");
        }
    }

    #[test]
    fn a_match_that_goes_back_too_often_is_an_error() {
        let endless = compile(r"(?=x|)(a*)*b\1$").unwrap();
        assert!(endless.is_match(&"a".repeat(5000)).is_err());
    }

    #[test]
    fn splitting_is_javas() {
        let split = |text, pattern, limit| super::split(text, &compile(pattern).unwrap(), limit).unwrap();
        assert_eq!(split("a,b,,", ",", None), ["a", "b"]);
        assert_eq!(split(",a", ",", None), ["", "a"]);
        assert_eq!(split("abc", "", None), ["a", "b", "c"]);
        assert_eq!(split("a=b=c", "=", Some(2)), ["a", "b=c"]);
        assert_eq!(split("a=", "=", Some(2)), ["a", ""]);
        assert_eq!(split("a", "=", Some(2)), ["a"]);
        assert_eq!(split(",", ",", None), Vec::<&str>::new());
    }

    #[test]
    fn the_cache_is_bounded() {
        let cache = PatternCache::default();
        for i in 0..200 {
            assert!(cache.get(&format!("a{i}")).is_ok());
        }
        assert_eq!(cache.0.lock().unwrap().len(), PATTERNS_MAX);
    }
}

//! Where in a text the mistake is that a message tells of.

use flugs_sql_parser::{Location, Span, SqlError};

/// The error with a place in `text`, which stands at `span`, where it has none: what the message names, or all of it.
pub(crate) fn placed(error: SqlError, text: &str, span: Span) -> SqlError {
    if error.span.is_some() {
        return error;
    }
    let found = find(&error.message, text, span);
    error.at(found.unwrap_or(span))
}

/// The place of what a message names, where `text`, which stands at `span`, has it: first names in quotes, then names with
/// dots, then SQL's own words.
pub(crate) fn find(message: &str, text: &str, span: Span) -> Option<Span> {
    let tokens = tokens(text);
    let wanted = quoted(message).chain(dotted(message)).chain(words(message));
    let (first, last) = wanted.into_iter().find_map(|names| {
        search(&tokens, &names).or_else(|| match names.len() {
            0 | 1 => None,
            n => search(&tokens, &names[n - 1..]),
        })
    })?;
    let at = |place: Location| match place.line {
        1 => Location::new(span.start.line, span.start.column + place.column - 1),
        line => Location::new(span.start.line + line - 1, place.column),
    };
    Some(Span::new(at(first.start), at(last.end)))
}

/// A name, a word or a sign of the text.
struct Token<'t> {
    text: &'t str,
    start: Location,
    end: Location,
}

/// The tokens of a text, without comments, string literals and space.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut line, mut column, mut at) = (1, 1, 0);
    while at < text.len() {
        let rest = &text[at..];
        let (length, trim, is_token) = token(rest);
        let part = &rest[..length];
        let start = Location::new(line, column);
        for c in part.chars() {
            match c {
                '\n' => (line, column) = (line + 1, 1),
                _ => column += 1,
            }
        }
        if is_token {
            let end = Location::new(line, column);
            found.push(Token { text: part[trim..].strip_suffix('`').unwrap_or(&part[trim..]), start, end });
        }
        at += length;
    }
    found
}

/// The length of the token at the start of a text, how much of it is a quote, and whether it counts.
fn token(text: &str) -> (usize, usize, bool) {
    let until =
        |end: &str, from: usize| text[from..].find(end).map_or(text.len(), |at| from + at + end.len());
    let first = text.chars().next().unwrap_or(' ');
    match first {
        '\'' => (until("'", 1), 0, false),
        '`' => (until("`", 1), 1, true),
        '-' if text.starts_with("--") => (until("\n", 2), 0, false),
        '/' if text.starts_with("/*") => (until("*/", 2), 0, false),
        c if is_name(c) => (text.find(|c| !is_name(c)).unwrap_or(text.len()), 0, true),
        c => (c.len_utf8(), 0, !c.is_whitespace()),
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The first run of tokens that reads as `names`: parts of a dotted name, or words one after the other. Case counts where some
/// run has just this case.
fn search<'t>(tokens: &'t [Token<'t>], names: &[String]) -> Option<(&'t Token<'t>, &'t Token<'t>)> {
    let run = |same: fn(&str, &str) -> bool| {
        (0..tokens.len()).find_map(|from| {
            let mut at = from;
            for (i, name) in names.iter().enumerate() {
                if i > 0 && tokens.get(at).is_some_and(|t| t.text == ".") {
                    at += 1;
                }
                if !tokens.get(at).is_some_and(|t| same(t.text, name)) {
                    return None;
                }
                at += 1;
            }
            Some((&tokens[from], &tokens[at - 1]))
        })
    };
    if names.is_empty() {
        return None;
    }
    run(|a, b| a == b).or_else(|| run(|a, b| a.eq_ignore_ascii_case(b)))
}

fn parts(name: &str) -> Vec<String> {
    name.split('.').map(|part| part.trim_matches('`').to_owned()).collect()
}

/// Names in single quotes, and the sign of an element.
fn quoted(message: &str) -> impl Iterator<Item = Vec<String>> {
    let inside = message.split('\'').skip(1).step_by(2);
    let is_wanted = |name: &&str| {
        *name == "[" || (!name.is_empty() && name.chars().all(|c| is_name(c) || ".`".contains(c)))
    };
    inside.filter(is_wanted).map(parts)
}

/// Names with dots in them.
fn dotted(message: &str) -> impl Iterator<Item = Vec<String>> {
    let pieces = message.split(|c: char| !is_name(c) && c != '.');
    let is_dotted = |piece: &&str| {
        piece.contains('.')
            && piece.split('.').all(|part| part.chars().next().is_some_and(|c| !c.is_numeric()))
    };
    pieces.map(|piece| piece.trim_end_matches('.')).filter(is_dotted).map(parts)
}

/// SQL's words: runs of upper-case ones, then each.
fn words(message: &str) -> impl Iterator<Item = Vec<String>> {
    let is_word = |word: &str| {
        word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit())
    };
    let mut runs: Vec<Vec<String>> = vec![Vec::new()];
    for piece in message.split(' ') {
        let word = piece.trim_matches(|c: char| !is_name(c));
        match is_word(word) && word.starts_with(|c: char| c.is_ascii_uppercase()) {
            true => runs.last_mut().into_iter().for_each(|run| run.push(word.to_owned())),
            false => runs.push(Vec::new()),
        }
        if !piece.ends_with(is_name) {
            runs.push(Vec::new());
        }
    }
    let each: Vec<Vec<String>> = runs.iter().flatten().map(|word| vec![word.clone()]).collect();
    runs.into_iter().filter(|run| run.len() > 1).chain(each)
}

#[cfg(test)]
mod tests {
    use super::find;
    use flugs_sql_parser::{Location, Span};

    fn place(message: &str, text: &str) -> Option<(u64, u64, u64)> {
        let whole = Span::new(Location::new(3, 5), Location::new(9, 9));
        find(message, text, whole).map(|s| (s.start.line, s.start.column, s.end.column))
    }

    #[test]
    fn names_are_found_in_the_text_outside_of_literals_and_comments() {
        let text = "SELECT 'abc' /* abc */ -- abc\n, o.abc, `abc` FROM t\nGROUP BY b";
        assert_eq!(place("no 'abc' here", text), Some((4, 5, 8)));
        assert_eq!(place("no 'o.abc' here", text), Some((4, 3, 8)));
        assert_eq!(place("no x.abc here", text), Some((4, 5, 8)));
        assert_eq!(place("no 'c.d.t' here", text), Some((4, 21, 22)));
        assert_eq!(place("SELECT is wrong", text), Some((3, 5, 11)));
        assert_eq!(place("what GROUP BY does", text), Some((5, 1, 9)));
        assert_eq!(place("nothing of this", text), None);
    }

    #[test]
    fn the_case_decides_where_it_can() {
        assert_eq!(place("'a'", "A a"), Some((3, 7, 8)));
        assert_eq!(place("'A'", "a"), Some((3, 5, 6)));
    }

    #[test]
    fn no_text_does_harm() {
        for text in ["", "'", "`", "/*", "--", "é'é", "``", "a."] {
            for message in ["", "'", "''", "'.'", "..", "A", "AB. CD", "'é' a.b."] {
                place(message, text);
            }
        }
    }
}

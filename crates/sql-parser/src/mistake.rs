//! From `sqlparser`'s errors, which are texts, to ours: where it is, what was expected, and which edit may mend it.

use crate::diagnostic::{SqlError, SqlErrorKind};
use crate::normalize::too_deep;
use crate::token::{bare_word, is_word};
use crate::words;
use sqlparser::parser::ParserError;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan};

/// Opens and parts the fields of an error of ours in the text of `sqlparser`'s.
const MARK: char = '\u{1}';

/// An error of ours as one of `sqlparser`'s, so that it passes through its parser.
pub(crate) fn relay(error: SqlError) -> ParserError {
    let span = error.span.unwrap_or_else(Span::empty);
    let kind = match error.kind {
        SqlErrorKind::Syntax => 's',
        SqlErrorKind::Unsupported => 'u',
        SqlErrorKind::Name => 'n',
        SqlErrorKind::Type => 't',
        SqlErrorKind::Semantic => 'm',
    };
    let (from, to) = (span.start, span.end);
    ParserError::ParserError(format!(
        "{MARK}{kind}{MARK}{}:{}:{}:{}{MARK}{}{MARK}{}",
        from.line,
        from.column,
        to.line,
        to.column,
        error.message,
        error.help.unwrap_or_default()
    ))
}

/// The error that [`relay`] has packed.
fn unpack(text: &str) -> Option<SqlError> {
    let mut fields = text.strip_prefix(MARK)?.splitn(4, MARK);
    let kind = match fields.next()? {
        "s" => SqlErrorKind::Syntax,
        "u" => SqlErrorKind::Unsupported,
        "n" => SqlErrorKind::Name,
        "t" => SqlErrorKind::Type,
        _ => SqlErrorKind::Semantic,
    };
    let mut places = fields.next()?.split(':').map(|n| n.parse().ok());
    let mut place = || Some(Location::new(places.next()??, places.next()??));
    let span = Span::new(place()?, place()?);
    let error = SqlError::new(kind, fields.next()?).at(span);
    Some(match fields.next()? {
        "" => error,
        help => error.help(help),
    })
}

/// What an error of `sqlparser` says about these tokens. `end` is the index of the token at which they end for the parser (a
/// closing parenthesis, if it saw only a part), else their number; `reached` is how far it came.
pub(crate) fn explain(error: ParserError, tokens: &[TokenWithSpan], end: usize, reached: usize) -> SqlError {
    let text = match error {
        ParserError::RecursionLimitExceeded => return too_deep().at(span_of(tokens, reached)),
        ParserError::ParserError(text) | ParserError::TokenizerError(text) => text,
    };
    if let Some(error) = unpack(&text) {
        return error.at(span_of(tokens, end));
    }
    let (text, location) = match text.rsplit_once(" at Line: ") {
        Some((text, place)) => (text, location(place)),
        None => (text.as_str(), None),
    };
    let (expected, index) =
        match text.strip_prefix("Expected: ").and_then(|text| text.rsplit_once(", found: ")) {
            Some((expected, _)) => (humane(expected), location.map_or(end, |at| index_at(tokens, at))),
            None => match text.strip_prefix("expected ") {
                Some(expected) => (
                    expected.replace(" after ", " behind "),
                    location.map_or(reached, |at| index_at(tokens, at)),
                ),
                None => {
                    let place = span_of(tokens, location.map_or(reached, |at| index_at(tokens, at)));
                    return SqlError::syntax(text.trim_end_matches('.')).at(place);
                }
            },
        };
    if let Some((slip, near)) = slip(tokens, index, &expected) {
        let found = tokens.get(slip).map(|token| shown(&token.token)).unwrap_or_default();
        let message = match slip == index {
            true => format!("unexpected {found}, expected {expected}"),
            false => format!("unexpected {found}"),
        };
        return SqlError::syntax(message).at(span_of(tokens, slip)).help(format!("did you mean `{near}`?"));
    }
    let message = match tokens.get(index) {
        Some(token) => format!("unexpected {}, expected {expected}", shown(&token.token)),
        None => format!("the statement ends too early, expected {expected}"),
    };
    let error = SqlError::syntax(message).at(span_of(tokens, index));
    match help(tokens, index, &expected) {
        Some(help) => error.help(help),
        None => error,
    }
}

fn index_at(tokens: &[TokenWithSpan], at: Location) -> usize {
    tokens.partition_point(|token| token.span.start < at)
}

/// The index of a misspelt keyword, at the place of the error or before it (where it was taken for an alias), and what it may mean.
fn slip(tokens: &[TokenWithSpan], index: usize, expected: &str) -> Option<(usize, String)> {
    let word = |i: usize| {
        tokens.get(i).and_then(|token| bare_word(&token.token)).filter(|word| !words::is_reserved(word))
    };
    if let Some(found) = word(index) {
        let due = expected.split(|c: char| !c.is_ascii_uppercase() && c != '_').filter(|word| word.len() > 2);
        if let Some(near) = words::nearest(found, due).or_else(|| words::misspelt(found)) {
            return Some((index, near.to_string()));
        }
    }
    let opens =
        ["WITH", "FOR", "IS", "NOT"].iter().any(|w| tokens.get(index).is_some_and(|t| is_word(&t.token, w)));
    let behind = opens.then_some(index + 1);
    let around = index.checked_sub(1).into_iter().chain(behind);
    around.into_iter().find_map(|i| word(i).and_then(words::misspelt).map(|near| (i, near.to_string())))
}

fn location(text: &str) -> Option<Location> {
    let (line, column) = text.split_once(", Column: ")?;
    Some(Location::new(line.parse().ok()?, column.parse().ok()?))
}

/// The place of a token, or the one behind the last.
fn span_of(tokens: &[TokenWithSpan], index: usize) -> Span {
    match (tokens.get(index), tokens.last()) {
        (Some(token), _) => token.span,
        (None, Some(last)) => {
            let end = last.span.end;
            Span::new(end, Location::new(end.line, end.column.saturating_add(1)))
        }
        (None, None) => Span::new(Location::new(1, 1), Location::new(1, 2)),
    }
}

/// A token as a message shows it, cut where it is long.
fn shown(token: &Token) -> String {
    let text = token.to_string();
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    match token {
        Token::SingleQuotedString(_) => format!("string {short}"),
        Token::Word(word) if word.quote_style.is_some() => format!("name {short}"),
        _ => format!("`{short}`"),
    }
}

/// What `sqlparser` expected, in words that its reader knows.
fn humane(expected: &str) -> String {
    match expected {
        "identifier" | "an identifier" | "an identifier or a '*' after '.'" => "a name".to_string(),
        "end of statement" => "the end of the statement".to_string(),
        "joined table" => "a table, or a query in parentheses".to_string(),
        "SELECT, VALUES, or a subquery in the query body" => {
            "SELECT, VALUES or a query in parentheses".to_string()
        }
        "IN or BETWEEN after NOT" => "IN, BETWEEN, LIKE or SIMILAR TO behind NOT".to_string(),
        "argument operator" => "`=>`".to_string(),
        "[NOT] NULL | TRUE | FALSE | DISTINCT | [form] NORMALIZED FROM after IS" => {
            "[NOT] NULL, TRUE, FALSE, UNKNOWN, JSON or DISTINCT FROM behind IS".to_string()
        }
        mark if mark.len() <= 2 && !mark.chars().any(char::is_alphanumeric) => format!("`{mark}`"),
        other => other.to_string(),
    }
}

/// The edit that may mend it, if no keyword was misspelt.
fn help(tokens: &[TokenWithSpan], index: usize, expected: &str) -> Option<String> {
    let found = tokens.get(index).map(|token| &token.token);
    let before = index.checked_sub(1).and_then(|i| tokens.get(i)).map(|token| &token.token);
    let next = tokens.get(index + 1).map(|token| &token.token);
    if before == Some(&Token::Comma) && found == Some(&Token::Comma) {
        return Some("remove one of the commas".to_string());
    }
    if before == Some(&Token::Comma) && found.is_none_or(ends_list) {
        return Some(match found {
            Some(token) => format!("remove the comma before {}", shown(token)),
            None => "remove the comma at the end".to_string(),
        });
    }
    let open = unclosed(&tokens[..index.min(tokens.len())]);
    match found {
        Some(Token::RParen) if open <= 0 => return Some("remove this `)`, or open it before".to_string()),
        None if open == 1 => return Some("add the missing `)`".to_string()),
        None if open > 1 => return Some(format!("add the {open} missing `)`")),
        Some(token) if expected.ends_with("in single quotes") => return quoted(token),
        Some(token) if expected == "`(`" && is_word(token, "SELECT") => {
            return Some("put the query in parentheses".to_string());
        }
        Some(token) if ["GROUP", "ORDER", "PARTITION"].iter().any(|word| is_word(token, word)) => {
            if let Some(word) = bare_word(token)
                && !next.is_some_and(|next| is_word(next, "BY"))
            {
                return Some(format!("write `{} BY`", word.to_ascii_uppercase()));
            }
        }
        Some(token) if is_word(token, "SYSTEM_TIME") => {
            return Some("write FOR SYSTEM_TIME AS OF time, before the alias".to_string());
        }
        Some(token) if is_word(token, "TIME") && before.is_some_and(|before| is_word(before, "AT")) => {
            return Some("AT TIME ZONE is not of Flink's SQL: write CONVERT_TZ(text, from, to)".to_string());
        }
        _ => {}
    }
    missing(tokens, index, found, before, expected)
}

/// The edit that adds what is missing.
fn missing(
    tokens: &[TokenWithSpan],
    index: usize,
    found: Option<&Token>,
    before: Option<&Token>,
    expected: &str,
) -> Option<String> {
    let word = found.and_then(bare_word).filter(|word| words::is_reserved(word));
    if let Some(word) =
        word.filter(|_| ["name", "identifier", "alias"].iter().any(|what| expected.contains(what)))
    {
        return Some(format!("as a name it stands in back-quotes: `{word}`"));
    }
    if expected == "the end of the statement" && index > 0 {
        let verb = ["SELECT", "INSERT", "CREATE", "DROP", "ALTER", "SHOW"]
            .into_iter()
            .find(|verb| found.is_some_and(|token| is_word(token, verb)));
        if let Some(verb) = verb {
            return Some(format!("is a `;` missing before `{verb}`?"));
        }
    }
    let in_list = expected == "`)`" || expected == "the end of the statement";
    let in_query =
        tokens.iter().any(|token| ["SELECT", "VALUES"].iter().any(|word| is_word(&token.token, word)));
    if let (Some(token), Some(before), true) = (found, before, in_list && in_query)
        && begins_value(token)
        && ends_value(before)
    {
        return Some(format!("is a comma or an operator missing before {}?", shown(token)));
    }
    let (first, rest) = expected.split_once(' ').unwrap_or((expected, ""));
    if first.len() > 1
        && first.bytes().all(|b| b.is_ascii_uppercase())
        && (rest.is_empty() || rest.starts_with("and "))
    {
        return Some(format!("add `{first}`"));
    }
    let mark = expected.strip_prefix('`').and_then(|mark| mark.strip_suffix('`'));
    mark.filter(|mark| mark.len() <= 2).map(|mark| format!("add `{mark}`"))
}

/// How to write a token as a string.
fn quoted(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) => Some(format!("write it as '{}'", word.value)),
        Token::Number(digits, _) => Some(format!("write it as '{digits}'")),
        _ => None,
    }
}

/// How many parentheses are open behind these tokens; negative where more were closed.
fn unclosed(tokens: &[TokenWithSpan]) -> i64 {
    tokens.iter().fold(0, |open, token| match token.token {
        Token::LParen => open + 1,
        Token::RParen => open - 1,
        _ => open,
    })
}

fn ends_list(token: &Token) -> bool {
    matches!(token, Token::RParen | Token::RBracket | Token::SemiColon)
        || ["FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION"]
            .iter()
            .any(|word| is_word(token, word))
}

fn begins_value(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.quote_style.is_some() || !words::is_reserved(&word.value),
        _ => matches!(token, Token::Number(..) | Token::SingleQuotedString(_)),
    }
}

fn ends_value(token: &Token) -> bool {
    begins_value(token) || matches!(token, Token::RParen | Token::RBracket)
}

/// The first token, or `FILTER` of another form, that no statement of Flink's has.
pub(crate) fn foreign_token(tokens: &[TokenWithSpan]) -> Option<SqlError> {
    // `sqlparser` goes on as if nothing had been there.
    let filter = tokens.windows(3).find(|next| {
        is_word(&next[0].token, "FILTER")
            && next[1].token == Token::LParen
            && !is_word(&next[2].token, "WHERE")
    });
    if let Some([_, _, condition]) = filter {
        let error = SqlError::syntax("FILTER misses its WHERE").at(condition.span);
        return Some(error.help("write FILTER (WHERE condition)"));
    }
    tokens.iter().find_map(|token| {
        let (message, help) = match &token.token {
            Token::DoubleQuotedString(text) => (
                format!("\"{text}\" stands in double quotes"),
                format!(
                    "a string stands in single quotes: '{}'; a name in back-quotes: `{text}`",
                    text.replace('\'', "''")
                ),
            ),
            Token::DoubleEq => no_operator("==", "write `=`"),
            Token::DoubleColon => no_operator("::", "write CAST(x AS type)"),
            Token::Overlap => no_operator("&&", "write AND"),
            Token::Spaceship => no_operator("<=>", "write IS NOT DISTINCT FROM"),
            Token::ExclamationMark => no_operator("!", "write NOT"),
            Token::Caret => match tokens.iter().any(|token| is_word(&token.token, "PATTERN")) {
                true => return None,
                false => no_operator("^", "write POWER(a, b)"),
            },
            Token::Char('\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}') => (
                "this is a typographic quote".to_string(),
                "a string stands in straight single quotes: 'text'".to_string(),
            ),
            Token::Char(c) => (format!("`{}` means nothing here", c.escape_debug()), "remove it".to_string()),
            _ => return None,
        };
        Some(SqlError::syntax(message).at(token.span).help(help))
    })
}

fn no_operator(operator: &str, help: &str) -> (String, String) {
    (format!("`{operator}` is no operator of Flink's SQL"), help.to_string())
}

//! What Tab offers.

use super::vocabulary::{Names, Vocabulary, keywords, option_keys};
use reedline::{Completer, CompletionResult, Span, Suggestion};

/// How many are offered at once.
const OFFERED_MAX: usize = 200;
/// Words behind which a table is named.
const BEFORE_TABLE: &[&str] =
    &["FROM", "JOIN", "INTO", "TABLE", "VIEW", "DESCRIBE", "DESC", "OVERWRITE", "COLUMNS"];

/// Completes keywords, names and the keys of options.
pub struct SqlCompleter {
    words: Vocabulary,
}

impl SqlCompleter {
    /// From these names.
    pub fn new(words: Vocabulary) -> Self {
        SqlCompleter { words }
    }

    /// Where the word before the cursor begins, and what it may become.
    pub fn offers(&self, line: &str, cursor: usize) -> (usize, Vec<String>) {
        let before = line.get(..cursor).unwrap_or(line);
        if let Some(quote) = open_quote(before) {
            let is_key =
                ["SET", "RESET"].iter().any(|word| last_word(&before[..quote]).eq_ignore_ascii_case(word));
            let typed = &before[quote + 1..];
            let keys = option_keys().filter(|key| is_key && key.starts_with(typed));
            return (quote + 1, keys.map(str::to_owned).collect());
        }
        let part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let start = before
            .rfind(|c| !part(c))
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let (typed, ahead) = (&before[start..], &before[..start]);
        let names = self.words.lock();
        if let Some(owner) = ahead.strip_suffix('.') {
            return (start, columns_of(&names, last_word(owner), typed));
        }
        let after = last_word(ahead);
        if BEFORE_TABLE.iter().any(|word| after.eq_ignore_ascii_case(word)) {
            let tables = names.tables.keys().chain(&names.spaces).filter(|name| begins(name, typed));
            return (start, tables.cloned().collect());
        }
        (start, anything(&names, typed))
    }
}

impl Completer for SqlCompleter {
    fn complete(&mut self, line: &str, pos: usize) -> CompletionResult {
        let (start, offers) = self.offers(line, pos);
        let suggestion = |value: String| Suggestion {
            value,
            span: Span { start, end: pos },
            append_whitespace: false,
            ..Suggestion::default()
        };
        CompletionResult::fresh(offers.into_iter().take(OFFERED_MAX).map(suggestion).collect::<Vec<_>>())
    }
}

/// Where the quote stands that is still open.
fn open_quote(text: &str) -> Option<usize> {
    let quotes: Vec<usize> = text.match_indices('\'').map(|(at, _)| at).collect();
    quotes.last().copied().filter(|_| quotes.len() % 2 == 1)
}

fn last_word(text: &str) -> &str {
    let text = text.trim_end();
    let start = text.rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == '`'));
    text[start.map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8))..].trim_matches('`')
}

fn begins(name: &str, typed: &str) -> bool {
    name.get(..typed.len()).is_some_and(|start| start.eq_ignore_ascii_case(typed))
}

/// The columns of a table; those of all where the name is an alias.
fn columns_of(names: &Names, table: &str, typed: &str) -> Vec<String> {
    let columns: Vec<&String> = match names.tables.get(table) {
        Some(columns) => columns.iter().collect(),
        None => names.tables.values().flatten().collect(),
    };
    let mut found: Vec<String> = columns.into_iter().filter(|name| begins(name, typed)).cloned().collect();
    found.sort();
    found.dedup();
    found
}

/// Names first, then keywords and functions, in the case in which the word was begun.
fn anything(names: &Names, typed: &str) -> Vec<String> {
    if typed.is_empty() {
        return Vec::new();
    }
    let lower = typed.chars().any(|c| c.is_ascii_lowercase());
    let cased = |word: &str| if lower { word.to_ascii_lowercase() } else { word.to_owned() };
    let mut found = columns_of(names, "", typed);
    found.extend(names.tables.keys().filter(|name| begins(name, typed)).cloned());
    found.extend(keywords().filter(|word| begins(word, typed)).map(cased));
    found.extend(names.functions.iter().filter(|name| begins(name, typed)).map(|name| cased(name)));
    let mut seen = std::collections::HashSet::new();
    found.retain(|word| seen.insert(word.clone()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completer() -> SqlCompleter {
        let mut names = Names::default();
        names.tables.insert("orders".to_owned(), vec!["id".to_owned(), "price".to_owned()]);
        names.tables.insert("other".to_owned(), vec!["place".to_owned()]);
        names.functions.insert("PERCENTILE".to_owned());
        SqlCompleter::new(Vocabulary::of(names))
    }

    fn offers(line: &str) -> Vec<String> {
        completer().offers(line, line.len()).1
    }

    #[test]
    fn tables_stand_behind_from() {
        assert_eq!(offers("SELECT * FROM o"), ["orders", "other"]);
        assert_eq!(offers("SELECT * FROM"), ["FROM"]);
        assert_eq!(offers("insert into OT"), ["other"]);
    }

    #[test]
    fn columns_stand_behind_their_table() {
        assert_eq!(offers("SELECT orders.p"), ["price"]);
        assert_eq!(offers("SELECT o.p"), ["place", "price"]);
    }

    #[test]
    fn keywords_and_functions_take_the_case_of_the_word() {
        assert_eq!(offers("sel"), ["select"]);
        assert_eq!(offers("SEL"), ["SELECT"]);
        assert_eq!(offers("SELECT perc"), ["percentile"]);
        assert!(offers("SELECT ").is_empty());
    }

    #[test]
    fn keys_of_options_stand_in_quotes() {
        let (start, keys) = completer().offers("SET 'table.exec.state", 21);
        assert_eq!(
            (start, &keys[..]),
            (5, &["table.exec.state.ttl".to_owned(), "table.exec.state.ttl.retract".to_owned()][..])
        );
        assert!(offers("SELECT 'table.exec").is_empty());
    }

    #[test]
    fn any_text_is_borne() {
        for line in ["é", "é.", "'é", "語 語", ".", "'", "SELECT `a"] {
            for at in 0..=line.len() {
                completer().offers(line, at);
            }
        }
    }
}

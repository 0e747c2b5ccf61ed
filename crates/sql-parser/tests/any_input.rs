//! No input panics, overflows the stack or takes for ever; every error can be shown.

use flugs_sql_parser::{is_complete, parse_script, split};
use proptest::prelude::*;
use std::path::PathBuf;

/// How many texts of each sort: `FLUGS_FUZZ_CASES`, or few.
fn cases() -> u32 {
    std::env::var("FLUGS_FUZZ_CASES").map_or(400, |count| count.parse().expect("a number"))
}

/// Parses a text in every way and shows the error.
fn survive(text: &str) {
    if let Err(error) = parse_script(text) {
        assert!(error.render(text).contains(&error.message));
    }
    for piece in split(text) {
        if let Err(error) = piece.parse() {
            let _ = error.into_error(text).to_string();
        }
    }
    let _ = is_complete(text);
}

/// What statements are made of, and what they are not.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "SELECT", "FROM", "WHERE", "GROUP", "BY", "ORDER", "HAVING", "JOIN", "LEFT", "LATERAL", "TABLE", "(",
    ")", "(", ")", ",", ".", ";", "*", "=", "<", ">", ">>", "<>", "'a'", "`b`", "\"c\"", "a", "t", "1",
    "1.5", "NULL", "CASE", "WHEN", "THEN", "END", "CAST", "AS", "INT", "ROW", "ARRAY", "MAP", "[", "]",
    "INTERVAL", "DAY", "TO", "SECOND", "BETWEEN", "SYMMETRIC", "AND", "OR", "NOT", "IN", "IS", "JSON",
    "EXISTS", "UNION", "ALL", "WITH", "VALUES", "INSERT", "INTO", "CREATE", "VIEW", "ALTER", "DROP", "IF",
    "PRIMARY", "KEY", "ENFORCED", "WATERMARK", "FOR", "METADATA", "TUMBLE", "DESCRIPTOR", "=>", "UNNEST",
    "ORDINALITY", "SYSTEM_TIME", "OF", "MATCH_RECOGNIZE", "PATTERN", "WITHIN", "DEFINE",
    "/*+ OPTIONS('a'='b') */", "/*+", "*/", "--", "\n", "EXECUTE", "STATEMENT", "SET", "BEGIN", "EXPLAIN",
    "SHOW", "DESCRIBE", "OVER", "PARTITION", "ROWS", "PRECEDING", "FILTER", "QUALIFY", "WINDOW", "LIMIT",
    "FETCH", "FIRST", "ONLY", "JSON_VALUE", "JSON_OBJECT", "TRIM", "EXTRACT", "FLOOR", "OVERLAPS",
    "SIMILAR", "ESCAPE", "-", "+", "||", "?", "{", "}", "::", "é", "語",
];

/// Statements to take letters and words from.
fn seeds() -> Vec<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut seeds = Vec::new();
    for folder in ["../connectors/nexmark/queries", "tests/errors"] {
        for entry in std::fs::read_dir(root.join(folder)).expect("the fixtures are there") {
            seeds.push(std::fs::read_to_string(entry.expect("a file").path()).expect("a text"));
        }
    }
    seeds.sort();
    seeds
        .iter()
        .flat_map(|text| split(text).iter().map(|piece| piece.text.to_string()).collect::<Vec<_>>())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_characters(text in "\\PC{0,80}") {
        survive(&text);
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        survive(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_words(words in proptest::collection::vec(proptest::sample::select(WORDS), 0..60)) {
        survive(&words.join(" "));
        survive(&format!("SELECT {}", words.join(" ")));
        survive(&format!("CREATE TABLE t ({}", words.join(" ")));
    }

    #[test]
    fn any_mutation(
        seed in proptest::sample::select(seeds()),
        edits in proptest::collection::vec((any::<proptest::sample::Index>(), proptest::sample::select(WORDS), 0..3usize), 1..4),
    ) {
        let mut words: Vec<&str> = seed.split(' ').collect();
        for (at, word, how) in edits {
            let at = at.index(words.len());
            match how {
                0 => words[at] = word,
                1 => words.insert(at, word),
                _ => { words.truncate(at.max(1)); }
            }
        }
        survive(&words.join(" "));
    }
}

#[test]
fn deep_and_long_input_ends_in_an_error_or_a_tree() {
    for n in [9, 60, 150, 4_000] {
        for (open, middle, close) in [
            ("(", "1", ")"),
            ("((", "1", "))"),
            ("f(", "1", ")"),
            ("CAST(", "1", " AS INT)"),
            ("CASE WHEN a THEN ", "1", " END"),
            ("NOT ", "a", ""),
            ("- ", "1", ""),
            ("ARRAY[", "1", "]"),
            ("a[", "1", "]"),
            ("(SELECT ", "1", ")"),
            ("((SELECT ", "1", "))"),
            ("EXISTS (SELECT ", "1", ")"),
            ("a IN (", "1", ")"),
            ("a IN ((", "1", "))"),
            ("x BETWEEN ", "1", " AND 2"),
            ("JSON_OBJECT('a' VALUE ", "1", ")"),
            ("TRIM(BOTH FROM ", "a", ")"),
            ("CAST(1 AS ARRAY<", "INT", ">)"),
            ("ARRAY<", "INT", ">"),
            ("1 FROM t AS t(a ARRAY<", "INT", ">"),
            ("{", "", "}"),
            ("INTERVAL ", "'1' DAY", ""),
            ("", "1", " + 1"),
            ("", "a", " OR a"),
            ("", "a", " IS NULL"),
            ("", "a", "[1]"),
            ("", "a", ".b"),
            ("", "a", ", a"),
            ("", "1", " UNION ALL SELECT 1"),
            ("", "1", " FROM t JOIN t ON a = b"),
            ("", "'", "'"),
        ] {
            let text = format!("SELECT {}{middle}{}", open.repeat(n), close.repeat(n));
            survive(&text);
            survive(&format!("SELECT {}{middle}", open.repeat(n)));
        }
        for (open, middle, close) in [
            ("(", "t", ")"),
            ("(SELECT * FROM ", "t", ")"),
            ("((SELECT * FROM ", "t", "))"),
            ("(SELECT * FROM ", "t t t", ")"),
            ("((SELECT * FROM ", "t t t", ") x)"),
            ("(((SELECT * FROM ", "t t t", ") x) y)"),
            ("(a JOIN ", "t", ")"),
            ("LATERAL ", "t", ""),
            ("TABLE(", "t", ")"),
            ("TUMBLE(TABLE ", "t", ")"),
            ("t MATCH_RECOGNIZE (PATTERN ", "A", ")"),
        ] {
            survive(&format!("SELECT * FROM {}{middle}{}", open.repeat(n), close.repeat(n)));
        }
        survive(&format!(
            "SELECT * FROM t MATCH_RECOGNIZE (PATTERN {}A{} DEFINE A AS b)",
            "(".repeat(n),
            ")".repeat(n)
        ));
        survive(&format!("CREATE TABLE t (a {}INT{})", "ROW<a ".repeat(n), ">".repeat(n)));
        survive(&format!("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A{}) DEFINE A AS b)", " | A".repeat(n)));
        survive(&format!("SELECT * FROM t AS t(a {}INT{})", "ARRAY<".repeat(n), ">".repeat(n)));
        survive(&"EXPLAIN ".repeat(n));
        survive(&format!("WITH a AS {}", "(WITH b AS ".repeat(n)));
        survive(&";".repeat(n));
    }
}

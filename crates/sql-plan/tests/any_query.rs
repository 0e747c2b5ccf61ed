//! Any text ends in a plan or in an error with its place: queries that are right, with tokens left out, doubled, swapped and
//! replaced by those of other queries.

mod support;

use proptest::prelude::*;
use proptest::sample::Index;
use support::Session;

/// Queries that are right, over the tables of [`TABLES`].
const QUERIES: &str = include_str!("queries.sql");
const TABLES: &str = include_str!("errors/tables.sql");

/// How many texts: `FLUGS_FUZZ_CASES`, or few.
fn cases() -> u32 {
    std::env::var("FLUGS_FUZZ_CASES").map_or(500, |count| count.parse().expect("a number"))
}

/// A text in tokens: words, numbers, literals, signs, with the space behind each.
fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let length = match first {
            '\'' => rest[1..].find('\'').map_or(rest.len(), |at| at + 2),
            c if word(c) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let space = rest[length..].len() - rest[length..].trim_start().len();
        found.push(&rest[..length + space]);
        rest = &rest[length + space..];
    }
    found
}

fn queries() -> Vec<&'static str> {
    QUERIES.split(';').map(str::trim).filter(|query| !query.is_empty()).collect()
}

#[derive(Debug, Clone)]
enum Mutation {
    Drop(Index),
    Double(Index),
    Swap(Index, Index),
    Take(Index, Index, Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        any::<Index>().prop_map(Mutation::Drop),
        any::<Index>().prop_map(Mutation::Double),
        any::<(Index, Index)>().prop_map(|(a, b)| Mutation::Swap(a, b)),
        any::<(Index, Index, Index)>().prop_map(|(at, query, from)| Mutation::Take(at, query, from)),
    ]
}

fn mutated(query: &str, mutations: &[Mutation]) -> String {
    let all = queries();
    let mut text = tokens(query);
    for mutation in mutations {
        if text.is_empty() {
            break;
        }
        match mutation {
            Mutation::Drop(at) => {
                text.remove(at.index(text.len()));
            }
            Mutation::Double(at) => {
                let at = at.index(text.len());
                text.insert(at, text[at]);
            }
            Mutation::Swap(a, b) => {
                let (a, b) = (a.index(text.len()), b.index(text.len()));
                text.swap(a, b);
            }
            Mutation::Take(at, query, from) => {
                let other = tokens(all[query.index(all.len())]);
                let at = at.index(text.len());
                text[at] = other[from.index(other.len())];
            }
        }
    }
    text.concat()
}

#[test]
fn the_queries_are_right() {
    let session = Session::new(TABLES);
    for query in queries() {
        if let Err(e) = session.clone().plan(query) {
            panic!("{}", e.render(query));
        }
    }
}

#[test]
fn any_text_gives_a_plan_or_an_error() {
    let session = Session::new(TABLES);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let cases = (any::<Index>(), prop::collection::vec(mutation(), 1..5));
    let all = queries();
    let outcome = runner.run(&cases, |(query, mutations)| {
        let text = mutated(all[query.index(all.len())], &mutations);
        if let Err(e) = session.clone().plan(&text) {
            prop_assert!(
                !e.message.is_empty() && e.render(&text).contains(" --> line "),
                "{}\n{}",
                text,
                e.render(&text)
            );
        }
        Ok(())
    });
    if let Err(e) = outcome {
        panic!("{e}");
    }
}

#[test]
fn chains_of_views_end_in_an_error_or_a_plan() {
    let chain = |n: usize| {
        let views: String =
            (1..=n).map(|i| format!("CREATE VIEW v{i} AS SELECT id + 1 AS id FROM v{};\n", i - 1)).collect();
        let first = "CREATE VIEW v0 AS SELECT * FROM (VALUES (1)) AS t(id);\n";
        format!("{first}{views}SELECT id FROM v{n};")
    };
    assert_eq!(support::Session::new("").jobs(&chain(127)).map(|jobs| jobs.len()).ok(), Some(1));
    let script = chain(128);
    let error = support::Session::new("").jobs(&script).expect_err("too many");
    assert!(error.message.contains("stands below 128 others"), "{}", error.render(&script));
}

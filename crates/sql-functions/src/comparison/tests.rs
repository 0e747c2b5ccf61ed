//! What Flink 2.3 gives for the same calls on patterns.

use crate::support::testing::{NULL, check, evaluate, text};

#[test]
fn patterns() {
    check(&[
        ("LIKE", vec![text("a"), text("A")], "FALSE"),
        ("LIKE", vec![text("a_c"), text("a\\_c")], "FALSE"),
        ("LIKE", vec![text("a_c"), text("a#_c"), text("#")], "TRUE"),
        ("LIKE", vec![text("abc"), text("a#_c"), text("#")], "FALSE"),
        ("LIKE", vec![text("a\\nb"), text("a%")], "TRUE"),
        ("SIMILAR_TO", vec![text("abc"), text("a(b|x)c")], "TRUE"),
        ("SIMILAR_TO", vec![text("abc"), text("a%")], "TRUE"),
        ("SIMILAR_TO", vec![text("abc"), text("b")], "FALSE"),
        ("SIMILAR_TO", vec![text("a.c"), text("a.c")], "TRUE"),
        ("SIMILAR_TO", vec![text("abc"), text("a.c")], "TRUE"),
        ("SIMILAR_TO", vec![text("abc"), text("a_c")], "TRUE"),
        ("SIMILAR_TO", vec![text("abc"), text("[a-c]+")], "TRUE"),
        ("SIMILAR_TO", vec![text("abc"), text("[[:ALPHA:]]+")], "TRUE"),
        ("SIMILAR_TO", vec![text("a%c"), text("a#%c"), text("#")], "TRUE"),
        ("SIMILAR_TO", vec![text("aab"), text("a{2}b")], "TRUE"),
        ("SIMILAR_TO", vec![text("abc"), text("a\\_c")], "FALSE"),
        ("SIMILAR_TO", vec![text("a_c"), text("a\\_c")], "FALSE"),
        ("SIMILAR_TO", vec![text("a+c"), text("a#+c"), text("#")], "TRUE"),
        ("SIMILAR_TO", vec![text(""), text("%")], "TRUE"),
        ("SIMILAR_TO", vec![text("abc"), text("(ab|cd)_")], "TRUE"),
        ("SIMILAR_TO", vec![text("abc"), text("[^x]bc")], "TRUE"),
        ("SIMILAR_TO", vec![text("a-c"), text("a[-]c")], "TRUE"),
        ("SIMILAR_TO", vec![text("abc"), text("a*")], "FALSE"),
        ("SIMILAR_TO", vec![text("abc"), text("a")], "FALSE"),
        ("LIKE", vec![text("abc"), text("ABC")], "FALSE"),
        ("LIKE", vec![text("a"), text("")], "FALSE"),
        ("LIKE", vec![text(""), text("%")], "TRUE"),
        ("LIKE", vec![text("a%b"), text("a!%b"), text("!")], "TRUE"),
        ("LIKE", vec![text("aXbXc"), text("%X%")], "TRUE"),
        ("LIKE", vec![text("世界"), text("_界")], "TRUE"),
        ("LIKE", vec![text("abc"), text("%b_")], "TRUE"),
        ("LIKE", vec![text("abcd"), text("a%c%d")], "TRUE"),
    ]);
}

#[test]
fn wrong_patterns_and_nulls() {
    check(&[
        ("LIKE", vec![text("abc"), text("a#bc"), text("#")], "error: in the pattern 'a#bc' an escape"),
        ("LIKE", vec![text("abc"), text("abc#"), text("#")], "error: in the pattern 'abc#' an escape"),
        ("LIKE", vec![text("abc"), text("abc"), text("##")], "error: an escape is one character"),
        ("LIKE", vec![text("a#"), text("a##"), text("#")], "TRUE"),
        ("SIMILAR_TO", vec![text("abc"), text("(")], "error: '(' is no pattern"),
        ("SIMILAR_TO", vec![text("a\nb"), text("a%")], "TRUE"),
    ]);
    for name in ["LIKE", "SIMILAR_TO"] {
        assert!(evaluate(name, &[NULL, text("a")]).unwrap().is_null());
        assert!(evaluate(name, &[text("a"), NULL]).unwrap().is_null());
        assert!(evaluate(name, &[text("a"), text("a"), NULL]).unwrap().is_null());
    }
}

mod property {
    use super::super::like::Like;
    use proptest::prelude::*;

    /// The obvious definition.
    fn naive(text: &[char], pattern: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            ['%', rest @ ..] => (0..=text.len()).any(|i| naive(&text[i..], rest)),
            ['_', rest @ ..] => !text.is_empty() && naive(&text[1..], rest),
            [c, rest @ ..] => text.first() == Some(c) && naive(&text[1..], rest),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn like_is_what_it_is_defined_to_be(text in "[abé]{0,8}", pattern in "[abé%_]{0,6}") {
            let like = Like::compile(&pattern, None).unwrap();
            let (t, p): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
            prop_assert_eq!(like.matches(&text), naive(&t, &p));
        }
    }
}

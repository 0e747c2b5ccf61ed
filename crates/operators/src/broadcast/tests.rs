//! Rules that change while data passes, in every way of replaying.

use super::*;
use crate::{
    KeyedBroadcastContext, KeyedBroadcastProcess, KeyedBroadcastProcessFunction, KeyedContext, OpenKeyed,
};
use flugs_state::ValueState;
use flugs_testkit::{Case, Route};
use flugs_types::{Timestamp, hash_key};

fn at<T>(rows: impl IntoIterator<Item = (i64, T)>) -> Records<T> {
    rows.into_iter().map(|(time, value)| (value, Timestamp(time))).collect()
}

type Word = (u64, String);

fn words(rows: &[(i64, u64, &str)]) -> Either<Records<Word>, Records<Rule>> {
    Either::Left(at(rows.iter().map(|(time, key, word)| (*time, (*key, (*word).to_owned())))))
}

/// Translate a word, or no longer.
type Rule = (String, Option<String>);

fn rules(rows: &[(i64, &str, Option<&str>)]) -> Either<Records<Word>, Records<Rule>> {
    let rule =
        |(time, from, to): &(i64, &str, Option<&str>)| (*time, ((*from).to_owned(), to.map(str::to_owned)));
    Either::Right(at(rows.iter().map(rule)))
}

fn route(batch: &Either<Records<Word>, Records<Rule>>) -> Route {
    match batch {
        Either::Left(words) => Route::Key(hash_key(&words.values[0].0)),
        Either::Right(_) => Route::All,
    }
}

struct Translate {
    rules: BroadcastState<String, String>,
}

impl BroadcastProcessFunction for Translate {
    type In = Word;
    type Broadcast = Rule;
    type Out = String;

    fn process(
        &mut self,
        (_, word): Word,
        states: &BroadcastStates,
        _: &mut Context<'_>,
        out: &mut Collector<String>,
    ) -> Result<()> {
        out.collect(self.rules.get(states, &word).cloned().unwrap_or(word));
        Ok(())
    }

    fn process_broadcast(
        &mut self,
        (from, to): Rule,
        states: &mut BroadcastStates,
        _: &mut Context<'_>,
        _: &mut Collector<String>,
    ) -> Result<()> {
        match to {
            Some(to) => self.rules.put(states, from, to),
            None => self.rules.remove(states, &from),
        };
        Ok(())
    }
}

#[test]
fn rules_are_read_by_the_data() {
    let out =
        Case::new(|| BroadcastProcess::opened_by(|open| Ok(Translate { rules: open.broadcast("rules")? })))
            .route(route)
            .batch(words(&[(1, 1, "a")]))
            .batch(rules(&[(2, "a", Some("A")), (2, "b", Some("B"))]))
            .batch(words(&[(3, 1, "a"), (4, 2, "b"), (5, 3, "c")]))
            .watermark(Timestamp(5))
            .batch(rules(&[(6, "a", None)]))
            .batch(words(&[(7, 1, "a"), (8, 2, "b")]))
            .end()
            .run();
    assert_eq!(out[0], ["1 \"a\"", "3 \"A\"", "4 \"B\"", "5 \"c\""]);
    assert_eq!(out[1], ["7 \"a\"", "8 \"B\""]);
}

/// Counts the words of a key that have a rule; a rule that is taken away resets all counts.
struct CountRuled {
    rules: BroadcastState<String, String>,
    count: ValueState<u64>,
}

impl CountRuled {
    fn open(open: &mut OpenBroadcast<'_, OpenKeyed<'_, '_, u64>>) -> Result<Self> {
        Ok(CountRuled { rules: open.broadcast("rules")?, count: open.value("count")? })
    }
}

impl KeyedBroadcastProcessFunction for CountRuled {
    type Key = u64;
    type In = Word;
    type Broadcast = Rule;
    type Out = (u64, u64);

    fn process(
        &mut self,
        (key, word): Word,
        states: &BroadcastStates,
        cx: &mut KeyedContext<'_, u64>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()> {
        // Rules are borrowed while the keyed state changes.
        for (_, _) in self.rules.iter(states).filter(|(from, _)| **from == word) {
            let count = self.count.get_or_insert_with(cx, || 0);
            *count += 1;
            out.collect((key, *count));
        }
        Ok(())
    }

    fn process_broadcast(
        &mut self,
        (from, to): Rule,
        states: &mut BroadcastStates,
        cx: &mut KeyedBroadcastContext<'_, u64>,
        _: &mut Collector<Self::Out>,
    ) -> Result<()> {
        match to {
            Some(to) => drop(self.rules.put(states, from, to)),
            None => {
                self.rules.remove(states, &from);
                let count = self.count;
                cx.apply_to_keyed_state(count, |access| count.clear(access));
            }
        }
        Ok(())
    }
}

#[test]
fn a_rule_can_change_the_state_of_all_keys() {
    let out = Case::new(|| KeyedBroadcastProcess::opened_by(CountRuled::open, |word: &Word| word.0))
        .route(route)
        .batch(rules(&[(0, "a", Some("")), (0, "b", Some(""))]))
        .batch(words(&[(1, 1, "a"), (2, 1, "b"), (3, 2, "a"), (4, 1, "c")]))
        .watermark(Timestamp(5))
        .batch(words(&[(6, 2, "b")]))
        .batch(rules(&[(7, "a", None)]))
        .batch(words(&[(8, 1, "b"), (9, 2, "a"), (10, 2, "b")]))
        .end()
        .run();
    assert_eq!(out[0], ["1 (1, 1)", "2 (1, 2)", "3 (2, 1)"]);
    assert_eq!(out[1], ["6 (2, 2)", "8 (1, 1)", "10 (2, 1)"]);
}

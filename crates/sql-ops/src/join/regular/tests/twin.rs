//! Random changelogs into every join, and nested loops over what they fold into.

use super::*;
use crate::testing::{Compare, Driver, Folded, Step, changes, fold, fold_by_key, replay, text};
use proptest::prelude::*;

/// Key, value and unique number.
type Row = (Option<i64>, Option<i64>, i64);
type Batches = Either<ChangeBatch, ChangeBatch>;

const LEFT: &str = "k BIGINT, v BIGINT, id BIGINT NOT NULL";
const RIGHT: &str = "j BIGINT, w BIGINT, no BIGINT NOT NULL";

/// One of the inputs as it grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `+I` alone, equal rows too.
    Append,
    /// All kinds, equal rows too.
    Bag,
    /// All kinds, the last column is unique.
    Numbered,
    /// `+I`, `+U` and `-D`, one row a key.
    Upserts,
    /// All kinds, one row a key.
    OneAKey,
}

impl Kind {
    fn input(self, columns: &str) -> JoinInput {
        let (mode, unique) = match self {
            Kind::Append => (ChangelogMode::Append, InputUniqueness::None),
            Kind::Bag => (ChangelogMode::Retract, InputUniqueness::None),
            Kind::Numbered => (ChangelogMode::Retract, InputUniqueness::HasUniqueKey(vec![2])),
            Kind::Upserts => (ChangelogMode::Upsert, InputUniqueness::KeyIsUnique),
            Kind::OneAKey => (ChangelogMode::Retract, InputUniqueness::KeyIsUnique),
        };
        input(columns, mode, unique)
    }
}

/// A random choice: which row of those that are there, and a key and value for a new one.
type Choice = (u8, usize, Option<i64>, Option<i64>);

/// A table, the changelog that made it, and what makes it.
struct Table {
    kind: Kind,
    rows: Vec<Row>,
    next: i64,
}

impl Table {
    /// The next change, as lines of text.
    fn change(&mut self, (what, which, key, value): Choice) -> String {
        let cell = |v: Option<i64>| v.map_or("NULL".to_owned(), |v| v.to_string());
        let line = |kind: &str, row: Row| format!("{kind} | {} | {} | {}\n", cell(row.0), cell(row.1), row.2);
        let unique = matches!(self.kind, Kind::Upserts | Kind::OneAKey);
        let key = if unique { Some(key.unwrap_or(0)) } else { key };
        let number = if matches!(self.kind, Kind::Append | Kind::Bag) { 7 } else { self.next };
        self.next += 1;
        let mut new = (key, value, number);
        let taken = unique.then(|| self.rows.iter().position(|row| row.0 == key)).flatten();
        let at = taken.or((!self.rows.is_empty()).then(|| which % self.rows.len().max(1)));
        match (at, what % 4) {
            (Some(at), 0) if self.kind != Kind::Append => {
                let old = self.rows.remove(at);
                // A deletion by key holds nothing else.
                let shown = if self.kind == Kind::Upserts { (old.0, None, 0) } else { old };
                line("-D", shown)
            }
            (Some(at), 1 | 2) if self.kind != Kind::Append && (taken.is_some() || !unique) => {
                if self.kind == Kind::Numbered && what & 8 != 0 {
                    new.2 = self.rows[at].2;
                }
                let old = std::mem::replace(&mut self.rows[at], new);
                let before = if self.kind == Kind::Upserts { String::new() } else { line("-U", old) };
                before + &line("+U", new)
            }
            _ if taken.is_some() => String::new(),
            _ => {
                self.rows.push(new);
                line("+I", new)
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Join {
    join_type: JoinType,
    conditional: bool,
    null_safe: bool,
    keyed: bool,
}

/// Nested loops.
fn twin(join: Join, left: &[Row], right: &[Row], output: &[usize]) -> Folded {
    let equal = |l: &Row, r: &Row| match (l.0, r.0) {
        (None, None) => join.null_safe,
        (l, r) => l == r,
    };
    let condition = |l: &Row, r: &Row| !join.conditional || l.1.zip(r.1).is_some_and(|(v, w)| v < w);
    let not_in = join.join_type == JoinType::LeftAntiNullAware;
    let matches = |l: &Row, r: &Row| {
        let keys = match not_in {
            true => l.0.is_none() || r.0.is_none() || l.0 == r.0,
            false => !join.keyed || equal(l, r),
        };
        keys && condition(l, r)
    };
    let mut rows: Vec<(Option<Row>, Option<Row>)> = Vec::new();
    for l in left {
        let of: Vec<&Row> = right.iter().filter(|r| matches(l, r)).collect();
        match join.join_type {
            JoinType::LeftSemi if !of.is_empty() => rows.push((Some(*l), None)),
            JoinType::LeftAnti | JoinType::LeftAntiNullAware if of.is_empty() => rows.push((Some(*l), None)),
            t if t.is_left_only() => {}
            t => {
                rows.extend(of.iter().map(|r| (Some(*l), Some(**r))));
                if of.is_empty() && t.pads_left() {
                    rows.push((Some(*l), None));
                }
            }
        }
    }
    if join.join_type.pads_right() {
        let lonely = right.iter().filter(|r| !left.iter().any(|l| matches(l, r)));
        rows.extend(lonely.map(|r| (None, Some(*r))));
    }
    let mut folded = Folded::new();
    for (l, r) in rows {
        let cells = |row: Option<Row>| match row {
            Some((k, v, id)) => [k, v, Some(id)],
            None => [None; 3],
        };
        let all = [cells(l), cells(r)].concat();
        let shown: Vec<String> =
            output.iter().map(|at| all[*at].map_or("NULL".to_owned(), |v| v.to_string())).collect();
        *folded.entry(shown.join(" | ")).or_default() += 1;
    }
    folded
}

fn spec(join: Join, kinds: [Kind; 2], output: &[usize]) -> RegularJoinSpec {
    let mut spec = super::join(join.join_type, kinds[0].input(LEFT), kinds[1].input(RIGHT));
    spec.output = output.iter().copied().filter(|at| *at < 3 || !join.join_type.is_left_only()).collect();
    spec.schema = nullable(&concatenation(&spec.left.schema, &spec.right.schema), &spec.output);
    spec.keys[0].null_safe = join.null_safe;
    if join.conditional {
        spec.condition = Some(compare(&concatenation(&spec.left.schema, &spec.right.schema), 1, Op::Lt, 4));
    }
    if !join.keyed {
        spec.keys.clear();
    }
    spec
}

fn check(join: Join, kinds: [Kind; 2], output: &[usize], choices: &[(bool, Vec<Choice>)]) {
    let spec = spec(join, kinds, output);
    let mut tables = kinds.map(|kind| Table { kind, rows: Vec::new(), next: 0 });
    let mut driver = Driver::new(RegularJoin::new(spec.clone())).unwrap();
    let mut given = Vec::new();
    let mut steps: Vec<Step<Batches>> = Vec::new();
    for (is_left, choices) in choices {
        let side = usize::from(!is_left);
        let text: String = choices.iter().map(|choice| tables[side].change(*choice)).collect();
        let batch = match is_left {
            true => Either::Left(changes(&spec.left.schema, &text)),
            false => Either::Right(changes(&spec.right.schema, &text)),
        };
        driver.push(batch.clone()).unwrap();
        steps.push(Step::Batch(batch));
        given.extend(driver.take());
        let expected = twin(join, &tables[0].rows, &tables[1].rows, &spec.output);
        assert_eq!(fold(&given), Ok(expected), "{join:?} {kinds:?} {output:?} after\n{}", history(&steps));
    }
    assert_eq!(driver.counter("numUnknownRetractions"), 0);
    steps.push(Step::End);
    let replayed = replay(|| RegularJoin::new(spec.clone()), &steps, &Compare::Rows);
    assert_eq!(fold(&replayed), fold(&given));
    // All rows go: nothing is left.
    for (side, table) in tables.iter_mut().enumerate().filter(|(_, table)| table.kind != Kind::Append) {
        while !table.rows.is_empty() {
            let text = table.change((0, 0, table.rows[0].0, None));
            let schema = if side == 0 { &spec.left.schema } else { &spec.right.schema };
            let batch = changes(schema, &text);
            driver.push(if side == 0 { Either::Left(batch) } else { Either::Right(batch) }).unwrap();
        }
    }
    if kinds.iter().all(|kind| *kind != Kind::Append) {
        assert_eq!(driver.snapshot().unwrap().entries(), 0);
        assert_eq!(driver.state_bytes(), 0);
    }
}

/// Without `-U` rows, by the join key of the side whose rows all come out.
fn check_by_key(join: Join, choices: &[(bool, Vec<Choice>)]) {
    let mut spec = spec(join, [Kind::Upserts, Kind::OneAKey], &[0, 1, 2, 3, 4, 5]);
    spec.emit_update_before = false;
    let key = if join.join_type == JoinType::Right { 3 } else { 0 };
    let mut tables = [Kind::Upserts, Kind::OneAKey].map(|kind| Table { kind, rows: Vec::new(), next: 0 });
    let mut driver = Driver::new(RegularJoin::new(spec.clone())).unwrap();
    let mut given = Vec::new();
    for (is_left, choices) in choices {
        let side = usize::from(!is_left);
        let table: String = choices.iter().map(|choice| tables[side].change(*choice)).collect();
        let batch = match is_left {
            true => Either::Left(changes(&spec.left.schema, &table)),
            false => Either::Right(changes(&spec.right.schema, &table)),
        };
        driver.push(batch).unwrap();
        given.extend(driver.take());
        let expected = twin(join, &tables[0].rows, &tables[1].rows, &spec.output);
        assert_eq!(fold_by_key(&given, &[key]), Ok(expected), "{join:?}");
    }
}

fn history(steps: &[Step<Batches>]) -> String {
    let batches = steps.iter().filter_map(|step| match step {
        Step::Batch(Either::Left(batch)) => Some(("left", batch)),
        Step::Batch(Either::Right(batch)) => Some(("right", batch)),
        _ => None,
    });
    batches.map(|(side, batch)| format!("{side}\n{}\n", text(batch))).collect()
}

fn join_types() -> impl Strategy<Value = JoinType> {
    prop::sample::select(vec![
        JoinType::Inner,
        JoinType::Left,
        JoinType::Right,
        JoinType::Full,
        JoinType::LeftSemi,
        JoinType::LeftAnti,
        JoinType::LeftAntiNullAware,
    ])
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![Kind::Append, Kind::Bag, Kind::Numbered, Kind::Upserts, Kind::OneAKey])
}

fn choices() -> impl Strategy<Value = Vec<(bool, Vec<Choice>)>> {
    let key = prop::option::weighted(0.9, 0..4i64);
    let value = prop::option::weighted(0.9, 0..4i64);
    let choice = (any::<u8>(), 0..100usize, key, value);
    prop::collection::vec((any::<bool>(), prop::collection::vec(choice, 1..10)), 1..16)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_join_gives_what_nested_loops_give(
        join_type in join_types(),
        (conditional, null_safe, keyed) in any::<(bool, bool, bool)>(),
        kinds in [kinds(), kinds()],
        output in prop::sample::select(vec![vec![0, 1, 2, 3, 4, 5], vec![5, 2], vec![0, 4], vec![1]]),
        choices in choices(),
    ) {
        let not_in = join_type == JoinType::LeftAntiNullAware;
        // Without keys, a unique join key means one row in all.
        let one_a_key = kinds.iter().any(|kind| matches!(kind, Kind::Upserts | Kind::OneAKey));
        let keyed = keyed || not_in || one_a_key;
        if not_in && one_a_key {
            return Ok(());
        }
        let join = Join { join_type, conditional, null_safe: null_safe && !not_in, keyed };
        check(join, kinds, &output, &choices);
    }

    #[test]
    fn changes_by_key_lead_to_what_nested_loops_give(
        join_type in prop::sample::select(vec![JoinType::Inner, JoinType::Left, JoinType::Right]),
        conditional: bool,
        choices in choices(),
    ) {
        check_by_key(Join { join_type, conditional, null_safe: false, keyed: true }, &choices);
    }
}

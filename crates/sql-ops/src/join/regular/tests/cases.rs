//! The changes that single cases give, in order.

use super::*;
use crate::testing::{Compare, Driver, DriverOptions, Step, changes, fold_by_key, replay, text};
use flugs_batch::Batch;
use flugs_types::SubtaskId;

const LEFT: &str = "k BIGINT, v STRING";
const RIGHT: &str = "j BIGINT, w STRING";

fn appends(join_type: JoinType) -> RegularJoinSpec {
    let side = |columns| input(columns, ChangelogMode::Append, InputUniqueness::None);
    join(join_type, side(LEFT), side(RIGHT))
}

fn retracts(join_type: JoinType) -> RegularJoinSpec {
    let side = |columns| input(columns, ChangelogMode::Retract, InputUniqueness::None);
    join(join_type, side(LEFT), side(RIGHT))
}

fn upserts(join_type: JoinType) -> RegularJoinSpec {
    let side = |columns| input(columns, ChangelogMode::Upsert, InputUniqueness::KeyIsUnique);
    join(join_type, side(LEFT), side(RIGHT))
}

type Pushed = Either<&'static str, &'static str>;

/// What a join gives for each batch.
fn run(spec: &RegularJoinSpec, batches: &[Pushed]) -> Vec<String> {
    let steps: Vec<_> = batches.iter().map(|batch| Step::Batch(parsed(spec, batch))).collect();
    replay(|| RegularJoin::new(spec.clone()), &steps, &Compare::Rows);
    let mut driver = Driver::new(RegularJoin::new(spec.clone())).unwrap();
    let mut given = Vec::new();
    for batch in batches {
        driver.push(parsed(spec, batch)).unwrap();
        given.push(driver.take_text());
    }
    given
}

fn parsed(spec: &RegularJoinSpec, batch: &Pushed) -> Either<ChangeBatch, ChangeBatch> {
    match batch {
        Either::Left(table) => Either::Left(changes(&spec.left.schema, table)),
        Either::Right(table) => Either::Right(changes(&spec.right.schema, table)),
    }
}

#[test]
fn an_outer_join_takes_padded_rows_back_before_the_first_pair_and_gives_them_again_after_the_last() {
    let given = run(
        &retracts(JoinType::Full),
        &[
            Either::Left("+I | 1 | a\n+I | NULL | n"),
            Either::Right("+I | 1 | x\n+I | 1 | y"),
            Either::Right("-D | 1 | x"),
            Either::Right("-D | 1 | y\n+I | 2 | z"),
            Either::Left("-D | 1 | a\n-D | NULL | n"),
        ],
    );
    assert_eq!(
        given,
        [
            "+I | 1 | a | NULL | NULL\n+I | NULL | n | NULL | NULL",
            "-D | 1 | a | NULL | NULL\n+I | 1 | a | 1 | x\n+I | 1 | a | 1 | y",
            "-D | 1 | a | 1 | x",
            "-D | 1 | a | 1 | y\n+I | 1 | a | NULL | NULL\n+I | NULL | NULL | 2 | z",
            "-D | 1 | a | NULL | NULL\n-D | NULL | n | NULL | NULL",
        ]
    );
}

/// A row is updated and then deleted, and the input says nothing of what the row was.
#[test]
fn update_then_delete_without_update_before_leaves_what_an_outer_join_should() {
    let batches = [
        Either::Left("+I | 1 | a"),
        Either::Right("+I | 1 | x\n+I | 2 | y"),
        Either::Left("+U | 1 | b"),
        Either::Right("+U | 1 | z"),
        Either::Right("-D | 1 | NULL"),
        Either::Left("-D | 1 | NULL"),
    ];
    assert_eq!(
        run(&upserts(JoinType::Full), &batches),
        [
            "+I | 1 | a | NULL | NULL",
            "-D | 1 | a | NULL | NULL\n+I | 1 | a | 1 | x\n+I | NULL | NULL | 2 | y",
            "-U | 1 | a | 1 | x\n+U | 1 | b | 1 | x",
            "-U | 1 | b | 1 | x\n+U | 1 | b | 1 | z",
            "-D | 1 | b | 1 | z\n+I | 1 | b | NULL | NULL",
            "-D | 1 | b | NULL | NULL",
        ]
    );
    // Within one batch too.
    let at_once =
        [Either::Right("+I | 1 | x"), Either::Left("+I | 1 | a\n+U | 1 | b\n-D | 1 | NULL\n+I | 1 | c")];
    assert_eq!(run(&upserts(JoinType::Left), &at_once)[1].lines().last(), Some("+I | 1 | c | 1 | x"));
}

#[test]
fn without_update_before_changes_go_by_key() {
    let spec = RegularJoinSpec { emit_update_before: false, ..upserts(JoinType::Left) };
    let mut driver = Driver::new(RegularJoin::new(spec.clone())).unwrap();
    let mut given = Vec::new();
    for batch in [
        Either::Left("+I | 1 | a\n+I | 2 | b"),
        Either::Left("+U | 2 | c"),
        Either::Left("+U | 1 | a"),
        Either::Left("-D | 2 | NULL"),
    ] {
        driver.push(parsed(&spec, &batch)).unwrap();
        given.extend(driver.take());
    }
    let all: Vec<String> = given.iter().map(text).collect();
    assert_eq!(
        all.join("\n"),
        "+I | 1 | a | NULL | NULL\n+I | 2 | b | NULL | NULL\n+U | 2 | c | NULL | NULL\n-D | 2 | c | NULL | NULL"
    );
    let folded = fold_by_key(&given, &[0]).unwrap();
    assert_eq!(folded.keys().collect::<Vec<_>>(), ["1 | a | NULL | NULL"]);
}

#[test]
fn an_update_that_shows_nowhere_gives_nothing() {
    let mut spec = retracts(JoinType::Left);
    (spec.output, spec.schema) =
        (vec![0, 3], nullable(&concatenation(&spec.left.schema, &spec.right.schema), &[0, 3]));
    let batches = [
        Either::Left("+I | 1 | a\n+I | 2 | c"),
        Either::Right("+I | 1 | x"),
        Either::Left("-U | 1 | a\n+U | 1 | b\n-U | 2 | c\n+U | 2 | d"),
        Either::Left("-U | 1 | b\n+U | 2 | b"),
    ];
    let given = run(&spec, &batches);
    assert_eq!(given[2..], ["", "-D | 1 | x\n+I | 2 | NULL"]);
    // The condition needs the column that does not show.
    spec.condition = Some(compare(&concatenation(&spec.left.schema, &spec.right.schema), 1, Op::Lt, 3));
    let batches = [
        Either::Right("+I | 1 | m"),
        Either::Left("+I | 1 | a"),
        Either::Left("-U | 1 | a\n+U | 1 | b"),
        Either::Left("-U | 1 | b\n+U | 1 | z"),
        Either::Left("-U | 1 | z\n+U | 1 | a"),
    ];
    assert_eq!(
        run(&spec, &batches)[1..],
        ["+I | 1 | m", "", "-D | 1 | m\n+I | 1 | NULL", "-D | 1 | NULL\n+I | 1 | m"]
    );
}

#[test]
fn semi_and_anti_joins_give_each_row_once() {
    let batches = [
        Either::Left("+I | 1 | a\n+I | 1 | a\n+I | 2 | b\n+I | NULL | n"),
        Either::Right("+I | 1 | x"),
        Either::Right("+I | 1 | y\n-D | 1 | x"),
        Either::Right("-D | 1 | y"),
    ];
    assert_eq!(
        run(&retracts(JoinType::LeftSemi), &batches),
        ["", "+I | 1 | a\n+I | 1 | a", "", "-D | 1 | a\n-D | 1 | a"]
    );
    assert_eq!(
        run(&retracts(JoinType::LeftAnti), &batches),
        [
            "+I | 1 | a\n+I | 1 | a\n+I | 2 | b\n+I | NULL | n",
            "-D | 1 | a\n-D | 1 | a",
            "",
            "+I | 1 | a\n+I | 1 | a"
        ]
    );
}

#[test]
fn not_in_is_unknown_beside_null() {
    let given = run(
        &retracts(JoinType::LeftAntiNullAware),
        &[
            Either::Left("+I | 1 | a\n+I | 2 | b\n+I | NULL | n"),
            Either::Right("+I | 1 | x"),
            Either::Right("+I | NULL | y"),
            Either::Right("-D | NULL | y\n-D | 1 | x"),
        ],
    );
    assert_eq!(
        given,
        [
            "+I | 1 | a\n+I | 2 | b\n+I | NULL | n",
            "-D | 1 | a\n-D | NULL | n",
            "-D | 2 | b",
            "+I | 2 | b\n+I | 1 | a\n+I | NULL | n",
        ]
    );
}

#[test]
fn a_row_that_was_never_there_is_counted_and_gives_nothing() {
    let spec = retracts(JoinType::Inner);
    let mut driver = Driver::new(RegularJoin::new(spec.clone())).unwrap();
    driver.push(parsed(&spec, &Either::Right("+I | 1 | x"))).unwrap();
    driver.push(parsed(&spec, &Either::Left("-D | 1 | a\n-D | 9 | a\n-U | 1 | a\n+U | 1 | b"))).unwrap();
    assert_eq!(driver.take_text(), "+I | 1 | b | 1 | x");
    assert_eq!(driver.counter("numUnknownRetractions"), 3);
    let spec = appends(JoinType::Inner);
    let mut driver = Driver::new(RegularJoin::new(spec.clone())).unwrap();
    let error = driver.push(parsed(&spec, &Either::Left("-D | 1 | a"))).unwrap_err();
    assert_eq!(error.kind(), flugs_types::ErrorKind::Bug);
}

#[test]
fn a_hot_key_comes_in_bounded_batches_and_goes_on_where_it_stopped() {
    let spec = retracts(JoinType::Full);
    let mut driver = Driver::with(RegularJoin::new(spec.clone()), true, None).unwrap();
    let rows: String = (0..200).map(|i| format!("+I | 1 | r{}\n", i % 70)).collect();
    driver.push(Either::Right(changes(&spec.right.schema, &rows))).unwrap();
    driver.take();
    driver.push(parsed(&spec, &Either::Left("+I | 1 | a\n+I | 1 | b"))).unwrap();
    let given = driver.take();
    assert!(given.iter().all(|batch| batch.len() <= 12));
    // Each row of the right loses its padding once.
    assert_eq!(given.iter().map(Batch::len).sum::<usize>(), 600);
    driver.push(parsed(&spec, &Either::Left("-U | 1 | a\n+U | 1 | c\n-D | 1 | b\n-D | 1 | c"))).unwrap();
    let last: Vec<String> = driver.take().iter().flat_map(crate::testing::rows_text).collect();
    assert_eq!(last.iter().filter(|row| row.starts_with("+I | NULL | NULL")).count(), 200);
}

#[test]
fn keys_go_with_their_rows_to_another_parallelism() {
    let spec = retracts(JoinType::Left);
    let open = |index, parallelism, snapshots| {
        let subtask = SubtaskId::new(index, parallelism);
        let options = DriverOptions { subtask, snapshots, ..DriverOptions::default() };
        Driver::open(RegularJoin::new(spec.clone()), options).unwrap()
    };
    let mut one = Driver::new(RegularJoin::new(spec.clone())).unwrap();
    let rows: String = (0..100).map(|i| format!("+I | {i} | a\n")).collect();
    one.push(Either::Left(changes(&spec.left.schema, &rows))).unwrap();
    let snapshot = one.snapshot().unwrap();
    let mut entries = 0;
    for index in 0..3 {
        let mut part = open(index, 3, vec![snapshot.clone()]);
        entries += part.snapshot().unwrap().entries();
    }
    assert_eq!(entries, 100);
    let parts: Vec<_> =
        (0..3).map(|index| open(index, 3, vec![snapshot.clone()]).snapshot().unwrap()).collect();
    let mut again = open(0, 1, parts);
    again.push(Either::Left(changes(&spec.left.schema, &rows.replace("+I", "-D")))).unwrap();
    assert_eq!(again.counter("numUnknownRetractions"), 0);
    assert_eq!(again.state_bytes(), 0);
}

#[test]
fn a_specification_that_makes_no_sense_is_a_bug() {
    let open = |spec| Driver::new(RegularJoin::new(spec)).map(drop).unwrap_err().kind();
    let mut other_types = appends(JoinType::Inner);
    other_types.keys[0].right = 1;
    assert_eq!(open(other_types), flugs_types::ErrorKind::Bug);
    let mut no_column = appends(JoinType::LeftSemi);
    no_column.output = vec![0, 3];
    assert_eq!(open(no_column), flugs_types::ErrorKind::Bug);
    let mut no_key = appends(JoinType::LeftAntiNullAware);
    no_key.keys.clear();
    assert_eq!(open(no_key), flugs_types::ErrorKind::Bug);
    let mut no_unique_key = appends(JoinType::Inner);
    no_unique_key.left.mode = ChangelogMode::Upsert;
    assert_eq!(open(no_unique_key), flugs_types::ErrorKind::Bug);
}

use super::{rescaled, sorted, split, unfolded};
use crate::testing::{Compare, Driver, Step, changes, replay, schema};
use crate::window::{AttachedWindow, WindowJoin, WindowJoinKind, WindowJoinSpec};
use datafusion_expr::Operator as Op;
use datafusion_physical_expr::expressions::{Column, binary};
use flugs_batch::{ChangeBatch, Either};
use proptest::prelude::*;
use std::sync::Arc;

const LEFT: &str = "lk INT, lv INT, ls TIMESTAMP(3) NOT NULL, le TIMESTAMP(3) NOT NULL";
const RIGHT: &str = "rs TIMESTAMP(3) NOT NULL, re TIMESTAMP(3) NOT NULL, rk INT, rv INT";
const KINDS: [WindowJoinKind; 6] = [
    WindowJoinKind::Inner,
    WindowJoinKind::Left,
    WindowJoinKind::Right,
    WindowJoinKind::Full,
    WindowJoinKind::Semi,
    WindowJoinKind::Anti,
];

fn join(kind: WindowJoinKind, conditional: bool, null_safe: bool) -> WindowJoin {
    let nullable = |text: &str| text.replace(" NOT NULL", "");
    let both = schema(&format!("{}, {}", nullable(LEFT), nullable(RIGHT)));
    let output = match kind {
        WindowJoinKind::Semi | WindowJoinKind::Anti => schema(LEFT),
        _ => both.clone(),
    };
    let less =
        || binary(Arc::new(Column::new("lv", 1)), Op::Lt, Arc::new(Column::new("rv", 7)), &both).unwrap();
    WindowJoin::new(WindowJoinSpec {
        left: schema(LEFT),
        right: schema(RIGHT),
        left_window: AttachedWindow { start: 2, end: 3 },
        right_window: AttachedWindow { start: 0, end: 1 },
        left_keys: vec![0],
        right_keys: vec![2],
        null_safe: vec![null_safe],
        condition: conditional.then(less),
        kind,
        zone: None,
        output,
        late_output: true,
    })
}

fn left(rows: &str) -> Either<ChangeBatch, ChangeBatch> {
    Either::Left(changes(&schema(LEFT), rows))
}

fn right(rows: &str) -> Either<ChangeBatch, ChangeBatch> {
    Either::Right(changes(&schema(RIGHT), rows))
}

#[test]
fn rows_of_a_window_meet_when_it_is_over() {
    let mut driver = Driver::new(join(WindowJoinKind::Full, false, false)).unwrap();
    driver.push(left("+I | 1 | 10 | 0 | 10\n+I | NULL | 11 | 0 | 10\n+I | 1 | 12 | 0 | 20")).unwrap();
    driver.push(right("+I | 0 | 10 | 1 | 20\n+I | 0 | 10 | NULL | 21\n+I | 10 | 20 | 1 | 22")).unwrap();
    driver.watermark(8).unwrap();
    assert_eq!(driver.take_text(), "");
    driver.watermark(9).unwrap();
    assert_eq!(
        driver.take_text(),
        "+I | 1 | 10 | 0 | 10 | 0 | 10 | 1 | 20\n+I | NULL | 11 | 0 | 10 | NULL | NULL | NULL | NULL\n\
         +I | NULL | NULL | NULL | NULL | 0 | 10 | NULL | 21"
    );
    driver.push(left("+I | 1 | 13 | 0 | 10")).unwrap();
    assert_eq!(driver.take_side_text(), "+I | 1 | 13 | 0 | 10");
    driver.end().unwrap();
    assert_eq!(
        driver.take_text(),
        "+I | 1 | 12 | 0 | 20 | NULL | NULL | NULL | NULL\n+I | NULL | NULL | NULL | NULL | 10 | 20 | 1 | 22"
    );
    assert_eq!(driver.snapshot().unwrap().entries(), 1);
    assert!(driver.push(left("-D | 1 | 13 | 50 | 60")).is_err());
}

#[test]
fn many_pairs_are_given_in_parts() {
    let mut driver = Driver::with(join(WindowJoinKind::Inner, true, false), true, None).unwrap();
    let rows: Vec<String> = (0..300).map(|i| format!("+I | 1 | {i} | 0 | 10")).collect();
    driver.push(left(&rows.join("\n"))).unwrap();
    let rows: Vec<String> = (0..300).map(|i| format!("+I | 0 | 10 | 1 | {i}")).collect();
    driver.push(right(&rows.join("\n"))).unwrap();
    driver.end().unwrap();
    let batches = driver.take();
    assert!(batches.iter().all(|batch| batch.rows().num_rows() <= 4096));
    assert_eq!(batches.iter().map(|batch| batch.rows().num_rows()).sum::<usize>(), 300 * 299 / 2);
}

/// Key, value, window.
type Row = (Option<i32>, i32, i64);

fn cell(key: Option<i32>) -> String {
    key.map_or("NULL".to_owned(), |key| key.to_string())
}

fn left_line((k, v, w): &Row) -> String {
    format!("{} | {v} | {} | {}", cell(*k), w * 10, w * 10 + 10)
}

fn right_line((k, v, w): &Row) -> String {
    format!("{} | {} | {} | {v}", w * 10, w * 10 + 10, cell(*k))
}

fn naive(
    lefts: &[Row],
    rights: &[Row],
    kind: WindowJoinKind,
    conditional: bool,
    null_safe: bool,
) -> Vec<String> {
    use WindowJoinKind::{Anti, Full, Left, Right, Semi};
    let meet = |l: &Row, r: &Row| {
        l.2 == r.2 && l.0 == r.0 && (null_safe || l.0.is_some()) && (!conditional || l.1 < r.1)
    };
    const NULLS: &str = "NULL | NULL | NULL | NULL";
    let mut expected = Vec::new();
    for l in lefts {
        let partners: Vec<&Row> = rights.iter().filter(|r| meet(l, r)).collect();
        match kind {
            Semi | Anti if partners.is_empty() == (kind == Anti) => expected.push(left_line(l)),
            Semi | Anti => {}
            _ => expected.extend(partners.iter().map(|r| format!("{} | {}", left_line(l), right_line(r)))),
        }
        if partners.is_empty() && matches!(kind, Left | Full) {
            expected.push(format!("{} | {NULLS}", left_line(l)));
        }
    }
    if matches!(kind, Right | Full) {
        let lonely = rights.iter().filter(|r| !lefts.iter().any(|l| meet(l, r)));
        expected.extend(lonely.map(|r| format!("{NULLS} | {}", right_line(r))));
    }
    expected.sort();
    expected
}

fn split_either(batch: &Either<ChangeBatch, ChangeBatch>, n: u32) -> Vec<Either<ChangeBatch, ChangeBatch>> {
    match batch {
        Either::Left(batch) => split(batch, &[0], n).into_iter().map(Either::Left).collect(),
        Either::Right(batch) => split(batch, &[2], n).into_iter().map(Either::Right).collect(),
    }
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec((prop::option::of(0i32..3), 0i32..9, -1i64..2), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn joins_are_those_of_the_definition(
        batches in prop::collection::vec((rows(), rows()), 1..4),
        kind in prop::sample::select(KINDS.to_vec()),
        conditional: bool,
        null_safe: bool,
    ) {
        let text = |rows: &Vec<Row>, line: fn(&Row) -> String| -> String {
            rows.iter().map(|row| format!("+I | {}\n", line(row))).collect()
        };
        let mut steps: Vec<_> = batches
            .iter()
            .flat_map(|(l, r)| [Step::Batch(left(&text(l, left_line))), Step::Batch(right(&text(r, right_line)))])
            .collect();
        steps.insert(1, Step::Watermark(-30));
        steps.push(Step::End);
        let (lefts, rights): (Vec<_>, Vec<_>) = batches.into_iter().unzip();
        let expected = naive(&lefts.concat(), &rights.concat(), kind, conditional, null_safe);
        let make = || join(kind, conditional, null_safe);
        prop_assert_eq!(&sorted(&replay(make, &steps, &Compare::Rows)), &expected);
        prop_assert_eq!(unfolded(&rescaled(make, &steps, split_either)), expected);
    }
}

use super::*;
use crate::bounded::{HashJoin, HashJoinSpec};
use crate::join::{JoinKey, JoinType};
use crate::testing::schema;
use datafusion_expr::Operator as Op;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{Column, binary};
use flugs_batch::Either;
use proptest::prelude::*;
use std::sync::Arc;

const TYPES: [JoinType; 7] = [
    JoinType::Inner,
    JoinType::Left,
    JoinType::Right,
    JoinType::Full,
    JoinType::LeftSemi,
    JoinType::LeftAnti,
    JoinType::LeftAntiNullAware,
];

/// Two keys and a number.
type Row = (Option<i64>, Option<i64>, i64);

const LEFT: &str = "a BIGINT, b BIGINT, n BIGINT";
const RIGHT: &str = "c BIGINT, d BIGINT, m BIGINT";

/// What must be true besides equal keys: `n < m`.
fn condition() -> Arc<dyn PhysicalExpr> {
    let both = schema(&format!("{LEFT}, {RIGHT}"));
    binary(Arc::new(Column::new("n", 2)), Op::Lt, Arc::new(Column::new("m", 5)), &both).unwrap()
}

fn spec(join_type: JoinType, keys: &[JoinKey], conditioned: bool, spill: SpillSpec) -> HashJoinSpec {
    let (output, columns) = match join_type.is_left_only() {
        true => (vec![2, 0, 1], "n BIGINT, a BIGINT, b BIGINT".to_owned()),
        false => (vec![0, 1, 2, 3, 4, 5], format!("{LEFT}, {RIGHT}")),
    };
    HashJoinSpec {
        join_type,
        left: schema(LEFT),
        right: schema(RIGHT),
        keys: keys.to_vec(),
        condition: conditioned.then(condition),
        output,
        schema: schema(&columns),
        spill,
    }
}

fn key(at: usize, null_safe: bool) -> JoinKey {
    JoinKey { left: at, right: at, null_safe }
}

fn line((a, b, n): &Row) -> String {
    format!("{} | {} | {n}", text_of(*a), text_of(*b))
}

/// By nested loops.
fn expected(
    left: &[Row],
    right: &[Row],
    join_type: JoinType,
    keys: &[JoinKey],
    conditioned: bool,
) -> Vec<String> {
    let column = |row: &Row, at: usize| if at == 0 { row.0 } else { row.1 };
    let equal = |l: &Row, r: &Row, key: &JoinKey| {
        let (l, r) = (column(l, key.left), column(r, key.right));
        if l.is_none() || r.is_none() { key.null_safe && l == r } else { l == r }
    };
    let matches = |l: &Row, r: &Row| {
        let by_keys = match (join_type, keys.split_last()) {
            (JoinType::LeftAntiNullAware, Some((last, correlating))) => {
                let unknown = column(l, last.left).is_none() || column(r, last.right).is_none();
                correlating.iter().all(|key| equal(l, r, key)) && (unknown || equal(l, r, last))
            }
            _ => keys.iter().all(|key| equal(l, r, key)),
        };
        by_keys && (!conditioned || l.2 < r.2)
    };
    let nulls = "NULL | NULL | NULL";
    let mut rows = Vec::new();
    for l in left {
        let found: Vec<&Row> = right.iter().filter(|r| matches(l, r)).collect();
        let alone = format!("+I | {} | {} | {}", l.2, text_of(l.0), text_of(l.1));
        match join_type {
            JoinType::LeftSemi if !found.is_empty() => rows.push(alone),
            JoinType::LeftAnti | JoinType::LeftAntiNullAware if found.is_empty() => rows.push(alone),
            JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftAntiNullAware => {}
            _ => {
                rows.extend(found.iter().map(|r| format!("+I | {} | {}", line(l), line(r))));
                if found.is_empty() && join_type.pads_left() {
                    rows.push(format!("+I | {} | {nulls}", line(l)));
                }
            }
        }
    }
    if join_type.pads_right() {
        let lone = right.iter().filter(|r| !left.iter().any(|l| matches(l, r)));
        rows.extend(lone.map(|r| format!("+I | {nulls} | {}", line(r))));
    }
    sorted(rows)
}

/// Both inputs in turn.
fn inputs(left: &[Row], right: &[Row], size: usize) -> Vec<Either<ChangeBatch, ChangeBatch>> {
    let lines = |rows: &[Row]| rows.iter().map(line).collect::<Vec<_>>();
    let mut left = batches(&schema(LEFT), &lines(left), size).into_iter();
    let mut right = batches(&schema(RIGHT), &lines(right), size).into_iter();
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(left.next().map(Either::Left));
        all.extend(right.next().map(Either::Right));
        if all.len() == before {
            return all;
        }
    }
}

fn joined(spec: &HashJoinSpec, left: &[Row], right: &[Row], size: usize) -> Vec<String> {
    sorted(given(|| HashJoin::new(spec.clone()), &inputs(left, right, size)))
}

fn rows(max: usize) -> impl Strategy<Value = Vec<Row>> {
    let key = || prop_oneof![8 => (0i64..9).prop_map(Some), 1 => Just(None)];
    prop::collection::vec((key(), key(), -4i64..4), 0..max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn joins_are_those_of_nested_loops(
        left in rows(120),
        right in rows(160),
        join_type in prop::sample::select(&TYPES[..]),
        keys in prop::sample::select(vec![
            vec![key(0, false)],
            vec![key(0, false), key(1, false)],
            vec![key(0, true), key(1, false)],
            vec![key(1, true)],
            vec![],
        ]),
        conditioned in any::<bool>(),
        size in 1usize..60,
    ) {
        prop_assume!(join_type != JoinType::LeftAntiNullAware || keys.last().is_some_and(|key| !key.null_safe));
        let expected = expected(&left, &right, join_type, &keys, conditioned);
        for memory_bytes in [64 << 20, 512] {
            let spill = SpillSpec { memory_bytes, spill_dir: None };
            let given = joined(&spec(join_type, &keys, conditioned, spill), &left, &right, size);
            prop_assert_eq!(&given, &expected);
        }
    }
}

#[test]
fn not_in_sees_nulls() {
    let (one, two) = ((Some(1), None, 1), (Some(2), None, 2));
    let null = (None, None, 3);
    let left = [one, two, null];
    let run = |right: &[Row]| {
        let spec = |null_safe| spec(JoinType::LeftAntiNullAware, &[key(0, null_safe)], false, tiny());
        let given = joined(&spec(false), &left, right, 2);
        assert_eq!(joined(&spec(true), &left, right, 2), given, "NOT IN knows no null-safe keys");
        given
    };
    assert_eq!(run(&[]), ["+I | 1 | 1 | NULL", "+I | 2 | 2 | NULL", "+I | 3 | NULL | NULL"]);
    assert_eq!(run(&[one]), ["+I | 2 | 2 | NULL"]);
    assert!(run(&[one, null]).is_empty());
}

/// Partitions that do not fit are partitioned again, but for that of a key with most of the rows, which is joined block by block.
#[test]
fn one_key_with_most_rows() {
    let row = |n: i64| (Some(if n % 3 == 0 { n } else { -1 }), None, n);
    let (left, right): (Vec<Row>, Vec<Row>) = ((0..90).map(row).collect(), (0..3000).map(row).collect());
    for join_type in TYPES {
        let spec =
            spec(join_type, &[key(0, false)], true, SpillSpec { memory_bytes: 4 << 10, spill_dir: None });
        let expected = expected(&left, &right, join_type, &spec.keys, true);
        assert_eq!(joined(&spec, &left, &right, 500), expected, "{join_type:?}");
    }
}

#[test]
fn joins_that_explode_give_bounded_batches() {
    let rows: Vec<Row> = (0..300).map(|n| (Some(1), None, n)).collect();
    let spec = spec(JoinType::Inner, &[key(0, false)], false, tiny());
    let mut driver = Driver::with(HashJoin::new(spec), true, None).unwrap();
    inputs(&rows, &rows, 100).into_iter().for_each(|batch| driver.push(batch).unwrap());
    driver.end().unwrap();
    let given = driver.take();
    assert!(given.iter().all(|batch| batch.rows().num_rows() <= 4096));
    assert_eq!(given.iter().map(|batch| batch.rows().num_rows()).sum::<usize>(), 90_000);
}

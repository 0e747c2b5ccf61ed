use super::*;
use crate::bounded::{ExternalSort, ExternalSortSpec};
use crate::row::SortOptions;
use crate::testing::schema;
use proptest::prelude::*;

const SCHEMA: &str = "k INT, s STRING, n BIGINT";

fn spec(offset: u64, fetch: Option<u64>, spill: SpillSpec) -> ExternalSortSpec {
    let order = vec![
        (0, SortOptions { descending: true, nulls_first: false }),
        (1, SortOptions { descending: false, nulls_first: true }),
    ];
    ExternalSortSpec { input: schema(SCHEMA), order, offset, fetch, spill }
}

type Row = (Option<i32>, Option<String>, i64);

fn expected(rows: &[Row], offset: u64, fetch: Option<u64>) -> Vec<String> {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| {
        let k = match (a.0, b.0) {
            (None, None) => std::cmp::Ordering::Equal,
            (None, _) => std::cmp::Ordering::Greater,
            (_, None) => std::cmp::Ordering::Less,
            (a, b) => b.cmp(&a),
        };
        k.then_with(|| a.1.cmp(&b.1)).then_with(|| a.2.cmp(&b.2))
    });
    let rows = rows.into_iter().skip(offset as usize).take(fetch.map_or(usize::MAX, |n| n as usize));
    rows.map(|row| format!("+I | {}", line(&row))).collect()
}

fn line((k, s, n): &Row) -> String {
    format!("{} | {} | {n}", text_of(*k), text_of(s.clone()))
}

fn row() -> impl Strategy<Value = Row> {
    (prop::option::of(-3i32..3), prop::option::of("[a-c]{1,20}"), 0i64..50)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn rows_come_in_order(
        rows in prop::collection::vec(row(), 0..600),
        size in 1usize..100,
        offset in prop_oneof![Just(0u64), 0u64..50],
        fetch in prop::option::of(0u64..80),
    ) {
        let lines: Vec<String> = rows.iter().map(line).collect();
        let batches = batches(&schema(SCHEMA), &lines, size);
        let given = given(|| ExternalSort::new(spec(offset, fetch, tiny())), &batches);
        prop_assert_eq!(given, expected(&rows, offset, fetch));
    }
}

#[test]
fn many_rows_come_in_bounded_batches() {
    let rows: Vec<Row> =
        (0..20_000i32).map(|n| (Some(n.wrapping_mul(7919) % 10_007), None, i64::from(n))).collect();
    let lines: Vec<String> = rows.iter().map(line).collect();
    let mut driver = Driver::new(ExternalSort::new(spec(3, None, tiny()))).unwrap();
    batches(&schema(SCHEMA), &lines, 3000).into_iter().for_each(|batch| driver.push(batch).unwrap());
    driver.end().unwrap();
    let given = driver.take();
    assert!(given.iter().all(|batch| batch.rows().num_rows() <= 4096));
    assert_eq!(given.iter().flat_map(rows_text).collect::<Vec<_>>(), expected(&rows, 3, None));
}

#[test]
fn an_empty_input_gives_nothing() {
    assert!(given(|| ExternalSort::new(spec(0, Some(3), tiny())), &[]).is_empty());
}

#[test]
fn changes_are_refused_and_disks_that_fail_are_named() {
    let mut driver = Driver::new(ExternalSort::new(spec(0, None, tiny()))).unwrap();
    assert!(
        driver.push(changes(&schema(SCHEMA), "-D | 1 | a | 2")).unwrap_err().to_string().contains("inserts")
    );
    let spill = SpillSpec { spill_dir: Some("/dev/null/x".into()), ..tiny() };
    let mut driver = Driver::new(ExternalSort::new(spec(0, None, spill))).unwrap();
    let rows: Vec<String> = (0..500).map(|n| format!("{n} | a | 1")).collect();
    let error = driver.push(batches(&schema(SCHEMA), &rows, 500).remove(0)).unwrap_err().to_string();
    assert!(error.contains("/dev/null/x"), "{error}");
}

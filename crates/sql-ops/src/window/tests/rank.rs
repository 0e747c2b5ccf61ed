use super::{rescaled, sorted, split, unfolded};
use crate::row::SortOptions;
use crate::testing::{Compare, Driver, Step, changes, replay, schema, text};
use crate::window::{AttachedWindow, WindowRank, WindowRankKind, WindowRankSpec};
use proptest::prelude::*;

const COLUMNS: &str =
    "k STRING, v INT, window_start TIMESTAMP(3) NOT NULL, window_end TIMESTAMP(3) NOT NULL, n INT";

fn rank(kind: WindowRankKind, range: (u64, u64)) -> WindowRank {
    WindowRank::new(WindowRankSpec {
        input: schema(COLUMNS),
        window: AttachedWindow { start: 2, end: 3 },
        keys: vec![0],
        order: vec![(1, SortOptions { descending: true, nulls_first: false })],
        kind,
        rank_start: range.0,
        rank_end: range.1,
        rank_column: true,
        zone: None,
        output: schema(&format!("{COLUMNS}, rank BIGINT NOT NULL")),
        late_output: true,
    })
}

#[test]
fn the_first_rows_of_each_window() {
    let columns = schema(COLUMNS);
    let rows = "+I | a | 5 | 0 | 10 | 1\n+I | a | 7 | 0 | 10 | 2\n+I | a | 7 | 0 | 10 | 3\n\
                +I | a | NULL | 0 | 10 | 4\n+I | a | 6 | 0 | 10 | 5\n+I | a | 1 | 0 | 20 | 6";
    let run = |kind, range| {
        let mut driver = Driver::new(rank(kind, range)).unwrap();
        driver.push(changes(&columns, rows)).unwrap();
        driver.watermark(8).unwrap();
        assert_eq!(driver.take_text(), "");
        driver.watermark(9).unwrap();
        let first = driver.take_text();
        driver.push(changes(&columns, "+I | a | 9 | 0 | 10 | 7")).unwrap();
        assert_eq!(driver.take_side_text(), "+I | a | 9 | 0 | 10 | 7");
        assert_eq!(driver.counter("numLateRecordsDropped"), 1);
        driver.end().unwrap();
        assert_eq!(driver.take_text(), if range.0 == 1 { "+I | a | 1 | 0 | 20 | 6 | 1" } else { "" });
        assert_eq!(driver.snapshot().unwrap().entries(), 1);
        first
    };
    assert_eq!(
        run(WindowRankKind::RowNumber, (1, 2)),
        "+I | a | 7 | 0 | 10 | 2 | 1\n+I | a | 7 | 0 | 10 | 3 | 2"
    );
    assert_eq!(run(WindowRankKind::Rank, (2, 3)), "+I | a | 6 | 0 | 10 | 5 | 3");
    assert_eq!(run(WindowRankKind::DenseRank, (2, 2)), "+I | a | 6 | 0 | 10 | 5 | 2");
}

#[test]
fn no_more_rows_are_kept_than_can_come_out() {
    let columns = schema(COLUMNS);
    let mut driver = Driver::new(rank(WindowRankKind::RowNumber, (1, 3))).unwrap();
    let mut bytes = Vec::new();
    for batch in 0..4 {
        let rows: Vec<String> =
            (0..1000).map(|i| format!("+I | a | {} | 0 | 10 | 1", batch * 1000 + i)).collect();
        driver.push(changes(&columns, &rows.join("\n"))).unwrap();
        driver.snapshot().unwrap();
        bytes.push(driver.state_bytes());
    }
    assert!(bytes[3] <= bytes[0], "{bytes:?}");
}

type Row = (u8, Option<i32>, i64, i32);

fn line((k, v, window, n): &Row) -> String {
    let v = v.map_or("NULL".to_owned(), |v| v.to_string());
    format!("{k} | {v} | {} | {} | {n}", window * 10, window * 10 + 10)
}

fn naive(rows: &[Row], kind: WindowRankKind, range: (u64, u64)) -> Vec<String> {
    let mut expected = Vec::new();
    for row in rows.iter().enumerate() {
        let before = |other: &(usize, &Row)| {
            let same = (other.1.0, other.1.2) == (row.1.0, row.1.2);
            // NULL is below all.
            same && (other.1.1 > row.1.1
                || kind == WindowRankKind::RowNumber && other.1.1 == row.1.1 && other.0 < row.0)
        };
        let mut before: Vec<_> = rows.iter().enumerate().filter(before).map(|other| other.1.1).collect();
        if kind == WindowRankKind::DenseRank {
            before.sort();
            before.dedup();
        }
        let rank = before.len() as u64 + 1;
        if (range.0..=range.1).contains(&rank) {
            expected.push(format!("{} | {rank}", line(row.1)));
        }
    }
    expected.sort();
    expected
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn ranks_are_those_of_the_definition(
        batches in prop::collection::vec(
            prop::collection::vec((0u8..3, prop::option::of(0i32..6), -2i64..3, 0i32..99), 0..20), 1..4),
        kind in prop::sample::select(vec![WindowRankKind::RowNumber, WindowRankKind::Rank, WindowRankKind::DenseRank]),
        range in (1u64..4, 0u64..5),
    ) {
        let columns = schema(COLUMNS);
        let batch = |rows: &Vec<Row>| {
            let rows: Vec<String> = rows.iter().map(|row| format!("+I | {}", line(row))).collect();
            Step::Batch(changes(&columns, &rows.join("\n")))
        };
        let mut steps: Vec<_> = batches.iter().map(batch).collect();
        steps.insert(1, Step::Watermark(-30));
        steps.push(Step::End);
        let expected = naive(&batches.concat(), kind, range);
        let given = replay(|| rank(kind, range), &steps, &Compare::Rows);
        prop_assert_eq!(&sorted(&given), &expected);
        let ends: Vec<i64> = given.iter().flat_map(|b| text(b).lines().map(|l| l.split(" | ").nth(4).unwrap().parse().unwrap()).collect::<Vec<_>>()).collect();
        prop_assert!(ends.is_sorted());
        prop_assert_eq!(unfolded(&rescaled(|| rank(kind, range), &steps, |b, n| split(b, &[0], n))), expected);
    }
}

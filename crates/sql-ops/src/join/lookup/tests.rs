//! Look-ups in a table that is a list of rows.

use super::*;
use crate::join::spec::JoinType;
use crate::join::testing::{column, compare, concatenation, nullable};
use crate::testing::{Compare, Step, changes, replay, schema, text};
use arrow::array::{Array, AsArray, Int64Array};
use arrow::compute::concat_batches;
use arrow::datatypes::Int64Type;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator as Op;
use datafusion_physical_expr::expressions::{binary, lit};
use flugs_table::LookupSource;
use std::sync::Mutex;
use std::time::Duration;

/// Rows `k, kind, v`, looked up by the first two.
struct Rows(RecordBatch);

impl LookupSource for Rows {
    fn lookup(&self, keys: &RecordBatch) -> Result<(RecordBatch, Vec<u32>)> {
        assert!(keys.columns().iter().all(|column| column.null_count() == 0));
        let cell = |rows: &RecordBatch, column: usize, row: usize| {
            rows.column(column).as_primitive::<Int64Type>().value(row)
        };
        let (mut found, mut of) = (Vec::new(), Vec::new());
        for key in 0..keys.num_rows() {
            for row in 0..self.0.num_rows() {
                if (0..2).all(|c| cell(keys, c, key) == cell(&self.0, c, row)) {
                    found.push(self.0.slice(row, 1));
                    of.push(key as u32);
                }
            }
        }
        Ok((concat_batches(&self.0.schema(), &found).unwrap(), of))
    }
}

fn spec(join_type: JoinType) -> LookupJoinSpec {
    let (left, right) = (schema("id BIGINT, key BIGINT"), schema("k BIGINT, kind BIGINT, v BIGINT"));
    let rows = "+I | 1 | 7 | 10\n+I | 1 | 7 | 11\n+I | 1 | 8 | 12\n+I | 2 | 7 | 20\n+I | 3 | 7 | 30";
    LookupJoinSpec {
        join_type,
        source: Arc::new(Rows(changes(&right, rows).into_rows())),
        keys: vec![LookupKey::Column(1), LookupKey::Constant(ScalarValue::Int64(Some(7)))],
        retry: None,
        calc: None,
        condition: None,
        output: vec![0, 4],
        schema: nullable(&concatenation(&left, &right), &[0, 4]),
        left,
        right,
    }
}

fn run(spec: &LookupJoinSpec, table: &str) -> String {
    let steps = [Step::Batch(changes(&spec.left, table)), Step::End];
    let given = replay(|| LookupJoin::new(spec.clone()), &steps, &Compare::Rows);
    given.iter().map(text).collect::<Vec<_>>().join("\n")
}

#[test]
fn rows_meet_what_is_found_for_them() {
    let rows = "+I | 1 | 1\n+I | 2 | NULL\n+I | 3 | 9\n+I | 4 | 2";
    assert_eq!(run(&spec(JoinType::Inner), rows), "+I | 1 | 10\n+I | 1 | 11\n+I | 4 | 20");
    assert_eq!(
        run(&spec(JoinType::Left), rows),
        "+I | 1 | 10\n+I | 1 | 11\n+I | 2 | NULL\n+I | 3 | NULL\n+I | 4 | 20"
    );
    assert_eq!(run(&spec(JoinType::Left), "+I | 1 | NULL"), "+I | 1 | NULL");
}

#[test]
fn updates_stay_updates_where_each_row_gives_one() {
    let rows = "+I | 1 | 2\n-U | 1 | 2\n+U | 1 | 3\n-U | 1 | 3\n+U | 1 | 9\n+I | 2 | 2\n-U | 2 | 2\n+U | 2 | 1\n-D | 2 | 1";
    assert_eq!(
        run(&spec(JoinType::Inner), rows),
        "+I | 1 | 20\n-U | 1 | 20\n+U | 1 | 30\n-D | 1 | 30\n+I | 2 | 20\n-D | 2 | 20\n+I | 2 | 10\n+I | 2 | 11\n-D | 2 | 10\n-D | 2 | 11"
    );
}

#[test]
fn what_is_found_is_filtered_and_computed_before_the_condition() {
    let mut spec = spec(JoinType::Left);
    let double = binary(column(&spec.right, 2), Op::Multiply, lit(2i64), &spec.right).unwrap();
    spec.calc = Some(LookupCalc {
        filter: Some(binary(column(&spec.right, 2), Op::NotEq, lit(10i64), &spec.right).unwrap()),
        columns: vec![double],
        schema: schema("d BIGINT"),
    });
    let all = concatenation(&spec.left, &schema("d BIGINT"));
    spec.condition = Some(compare(&all, 0, Op::Lt, 2));
    (spec.output, spec.schema) = (vec![2, 0], nullable(&all, &[2, 0]));
    assert_eq!(
        run(&spec, "+I | 1 | 1\n+I | 50 | 2\n+I | 50 | 3"),
        "+I | 22 | 1\n+I | NULL | 50\n+I | 60 | 50"
    );
}

#[test]
fn a_source_that_answers_nonsense_is_a_bug() {
    struct Wrong;
    impl LookupSource for Wrong {
        fn lookup(&self, keys: &RecordBatch) -> Result<(RecordBatch, Vec<u32>)> {
            let column: ArrayRef = Arc::new(Int64Array::from(vec![1; 2]));
            let rows =
                RecordBatch::try_new(schema("k BIGINT, kind BIGINT, v BIGINT"), vec![column; 3]).unwrap();
            Ok((rows, vec![keys.num_rows() as u32, 0]))
        }
    }
    let spec = LookupJoinSpec { source: Arc::new(Wrong), ..spec(JoinType::Inner) };
    let mut driver = crate::testing::Driver::new(LookupJoin::new(spec.clone())).unwrap();
    let error = driver.push(changes(&spec.left, "+I | 1 | 1\n+I | 1 | NULL")).unwrap_err();
    assert_eq!(error.kind(), flugs_types::ErrorKind::Bug);
}

#[test]
fn rows_that_are_not_found_are_looked_up_again() {
    /// Has the row of each key from the given look-up on.
    struct Growing(Mutex<u32>);
    impl LookupSource for Growing {
        fn lookup(&self, keys: &RecordBatch) -> Result<(RecordBatch, Vec<u32>)> {
            let mut asked = self.0.lock().unwrap();
            *asked += 1;
            let keys = keys.column(0).as_primitive::<Int64Type>();
            let here = (0..keys.len() as u32).filter(|row| keys.value(*row as usize) <= i64::from(*asked));
            let of: Vec<u32> = here.collect();
            let column: ArrayRef =
                Arc::new(of.iter().map(|row| keys.value(*row as usize)).collect::<Int64Array>());
            let rows = RecordBatch::try_new(schema("k BIGINT, kind BIGINT, v BIGINT"), vec![column; 3]);
            Ok((rows.unwrap(), of))
        }
    }
    let spec = LookupJoinSpec {
        source: Arc::new(Growing(Mutex::new(0))),
        retry: Some(LookupRetry { delay: Duration::from_millis(10), attempts: 2 }),
        ..spec(JoinType::Left)
    };
    let mut driver = crate::testing::Driver::new(LookupJoin::new(spec.clone())).unwrap();
    driver.set_time(1000).unwrap();
    driver
        .push(changes(&spec.left, "+I | 1 | 3\n+I | 2 | 1\n+I | 3 | 9\n+I | 4 | NULL\n+I | 5 | 2"))
        .unwrap();
    assert_eq!((driver.take_text().as_str(), driver.next_tick()), ("", Some(Timestamp::from_millis(1010))));
    driver.set_time(1010).unwrap();
    assert_eq!(driver.take_text(), "");
    driver.set_time(1020).unwrap();
    let all = "+I | 1 | 3\n+I | 2 | 1\n+I | 3 | NULL\n+I | 4 | NULL\n+I | 5 | 2";
    assert_eq!((driver.take_text().as_str(), driver.next_tick()), (all, None));
}

//! Aggregate functions of the program, in all that calls them.

use crate::{second, session};
use flugs_api::Environment;
use flugs_connector::MemorySink;
use flugs_derive::Data;
use flugs_sql::{SqlEnvironment, StreamSchema};
use flugs_sql_functions::table::AggregateFunction;
use flugs_sql_types::SqlRow;
use flugs_testkit::{TestJob, TestSource};
use flugs_types::{Error, Result, RowKind, Timestamp};

/// The mean of values by their weights.
struct WeightedMean;

#[derive(Debug, Clone, Data)]
#[data(crate = "flugs_batch")]
struct Sums {
    weighted: i64,
    weights: i64,
}

impl AggregateFunction for WeightedMean {
    type Row = (i64, i64);
    type Accumulator = Sums;
    type Value = Option<f64>;
    const RETRACTS: bool = true;
    const MERGES: bool = true;

    fn create(&self) -> Sums {
        Sums { weighted: 0, weights: 0 }
    }

    fn accumulate(&self, sums: &mut Sums, (value, weight): (i64, i64)) -> Result<()> {
        sums.weighted += value * weight;
        sums.weights += weight;
        Ok(())
    }

    fn retract(&self, sums: &mut Sums, (value, weight): (i64, i64)) -> Result<()> {
        self.accumulate(sums, (value, -weight))
    }

    fn merge(&self, sums: &mut Sums, other: Sums) -> Result<()> {
        sums.weighted += other.weighted;
        sums.weights += other.weights;
        Ok(())
    }

    fn value(&self, sums: &Sums) -> Option<f64> {
        (sums.weights != 0).then(|| sums.weighted as f64 / sums.weights as f64)
    }
}

/// All texts, in order; neither takes rows back nor merges.
struct Joined;

impl AggregateFunction for Joined {
    type Row = (Option<String>,);
    type Accumulator = Vec<String>;
    type Value = String;

    fn create(&self) -> Vec<String> {
        Vec::new()
    }

    fn accumulate(&self, all: &mut Vec<String>, (text,): (Option<String>,)) -> Result<()> {
        match text.as_deref() {
            Some("bad") => Err(Error::user("a bad text")),
            text => {
                all.push(text.unwrap_or("-").to_owned());
                Ok(())
            }
        }
    }

    fn value(&self, all: &Vec<String>) -> String {
        all.join("")
    }
}

type Item = (String, Option<i64>, i64);

fn item(group: &str, value: impl Into<Option<i64>>, weight: i64) -> Item {
    (group.to_owned(), value.into(), weight)
}

pub(crate) fn registered(sql: &mut SqlEnvironment) {
    sql.register_aggregate("weighted_mean", WeightedMean).unwrap();
    sql.register_aggregate("joined", Joined).unwrap();
    sql.execute_sql("CREATE TEMPORARY SYSTEM FUNCTION wmean AS 'weighted_mean' LANGUAGE RUST").unwrap();
}

/// The changes of a query over these rows.
fn changes<R: flugs_batch::Data + SqlRow>(query: &str, items: Vec<Item>) -> Result<Vec<(RowKind, R)>> {
    let env = Environment::new("functions");
    env.set_parallelism(1);
    let out = MemorySink::new();
    let mut sql = session(&env);
    registered(&mut sql);
    sql.from_stream_with(&env.from_collection(items), StreamSchema::new().name("items").proctime("pt"))?;
    let table = sql.sql_query(query)?;
    sql.to_changelog_stream::<R>(&table)?.sink_to(out.clone(), "out");
    env.execute()?;
    Ok(out.rows())
}

/// The final rows.
fn rows<R: flugs_batch::Data + SqlRow + PartialEq>(query: &str, items: Vec<Item>) -> Vec<R> {
    let mut rows: Vec<R> = Vec::new();
    for (kind, row) in changes(query, items).unwrap() {
        match kind.is_addition() {
            true => rows.push(row),
            false => {
                let at = rows.iter().position(|other| *other == row).expect("what is taken back was there");
                rows.remove(at);
            }
        }
    }
    rows
}

fn items() -> Vec<Item> {
    vec![item("a", 10, 1), item("a", 20, 3), item("b", None, 5), item("a", 10, 1), item("a", 0, 100)]
}

#[test]
fn groups_with_filters_and_distinct_arguments() {
    let query = "SELECT f0, wmean(f1, f2), weighted_mean(f1, f2) FILTER (WHERE f2 < 50), \
                 weighted_mean(DISTINCT f1, f2) FILTER (WHERE f2 < 50), COUNT(*) \
                 FROM items GROUP BY f0";
    let mut rows = rows::<(String, Option<f64>, Option<f64>, Option<f64>, i64)>(query, items());
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    let a = ("a".to_owned(), Some(80.0 / 105.0), Some(80.0 / 5.0), Some(70.0 / 4.0), 4);
    // The row with NULL was passed over.
    assert_eq!(rows, [a, ("b".to_owned(), None, None, None, 1)]);
}

#[test]
fn rows_are_taken_back_from_a_function_that_can() {
    // Newest item of each group by its place; then a mean over those.
    let query = "SELECT weighted_mean(v, 1) FROM (SELECT f0, LAST_VALUE(f1) AS v FROM items GROUP BY f0)";
    let items = vec![item("a", 10, 1), item("b", 30, 1), item("a", 20, 1)];
    assert_eq!(rows::<(Option<f64>,)>(query, items), [(Some(25.0),)]);
}

#[test]
fn frames_that_rows_leave_and_frames_that_grow() {
    let query = "SELECT f1, weighted_mean(f1, f2) OVER (ORDER BY pt ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), \
                 joined(f0) OVER (ORDER BY pt ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM items";
    let items = vec![item("a", 10, 1), item("b", 20, 1), item("c", 40, 1)];
    let expected = [
        (Some(10), Some(10.0), Some("a".to_owned())),
        (Some(20), Some(15.0), Some("ab".to_owned())),
        (Some(40), Some(30.0), Some("abc".to_owned())),
    ];
    // Both frames stand in queries of their own: a query has one window.
    let two =
        query.replace(", joined(f0) OVER (ORDER BY pt ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)", "");
    let first = rows::<(Option<i64>, Option<f64>)>(&two, items.clone());
    assert_eq!(first, expected.clone().map(|(v, mean, _)| (v, mean)));
    let joined =
        "SELECT joined(f0) OVER (ORDER BY pt ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM items";
    let second = rows::<(Option<String>,)>(joined, items);
    assert_eq!(second, expected.map(|(_, _, texts)| (texts,)));
}

#[test]
fn what_a_function_cannot_do_is_refused() {
    let refused = |query: &str, words: &[&str]| {
        let error = changes::<(Option<String>,)>(query, items()).unwrap_err().to_string();
        words.iter().for_each(|word| assert!(error.contains(word), "'{word}' in: {error}"));
    };
    let changing = "SELECT joined(CAST(n AS STRING)) FROM (SELECT COUNT(*) AS n FROM items GROUP BY f0)";
    refused(changing, &["joined cannot take rows back", "updates or deletes", "RETRACTS"]);
    let frame = "SELECT joined(f0) OVER (ORDER BY pt ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM items";
    refused(frame, &["joined cannot take rows back", "frame", "RETRACTS"]);
    let hop = "SELECT joined(f0) FROM TABLE(HOP(TABLE items, DESCRIPTOR(pt), INTERVAL '1' SECOND, INTERVAL '2' SECOND)) \
               GROUP BY window_start, window_end";
    refused(hop, &["joined cannot merge", "HOP", "MERGES"]);
    refused("SELECT joined(f1) FROM items", &["joined takes (STRING)", "BIGINT"]);
    refused("SELECT weighted_mean(f1) FROM items", &["weighted_mean takes (BIGINT, BIGINT)"]);
    let failed = changes::<(String,)>("SELECT joined(f0) FROM items", vec![item("bad", 1, 1)]).unwrap_err();
    assert!(failed.to_string().contains("a bad text") && failed.to_string().contains("joined"), "{failed}");
}

/// Start, end and mean of a window.
type Mean = (i64, i64, f64);

/// Means by window, which close at these watermarks, through failures and other parallelisms.
fn windowed(tvf: &str, close: &[(i64, &[Mean])]) {
    let (source, out) = (TestSource::<(String, i64, i64)>::new(), MemorySink::new());
    let (items, sink) = (source.clone(), out.clone());
    let query = format!(
        "SELECT window_start, window_end, f0, weighted_mean(f1, f2) FROM TABLE({tvf}) \
         GROUP BY window_start, window_end, f0"
    );
    let mut job = TestJob::with_parallelism(2, move |env| {
        let mut sql = session(env);
        registered(&mut sql);
        let schema = StreamSchema::new().name("items").rowtime("ts");
        sql.from_stream_with(&items.stream(env, "items"), schema).unwrap();
        let means = sql.sql_query(&query).unwrap();
        let means = sql.to_stream::<(Timestamp, Timestamp, String, Option<f64>)>(&means).unwrap();
        means.sink_to(sink.clone(), "out").uid("out");
    })
    .unwrap();
    let push = |at: i64, value: i64, weight: i64| {
        ["x", "y"].iter().for_each(|key| source.push_at(((*key).to_owned(), value, weight), second(at)));
    };
    push(1, 10, 1);
    push(6, 20, 1);
    job.checkpoint().unwrap();
    push(7, 40, 2);
    job.fail_and_restore().unwrap();
    job.rescale(3).unwrap();
    push(12, 0, 4);
    job.rescale(1).unwrap();
    for (watermark, windows) in close {
        source.watermark(Timestamp(second(*watermark).0 - 1));
        job.checkpoint().unwrap();
        let mut got = out.take().values;
        got.sort_by(|a, b| (a.0, &a.2).cmp(&(b.0, &b.2)));
        let mut expected = Vec::new();
        for (start, end, mean) in *windows {
            for key in ["x", "y"] {
                expected.push((second(*start), second(*end), key.to_owned(), Some(*mean)));
            }
        }
        assert_eq!(got, expected, "{tvf} at {watermark}");
    }
    source.end();
    job.finish().unwrap();
}

#[test]
fn windows_keep_accumulators_through_failures_and_other_parallelisms() {
    windowed(
        "TUMBLE(TABLE items, DESCRIPTOR(ts), INTERVAL '10' SECOND)",
        &[(10, &[(0, 10, 110.0 / 4.0)]), (20, &[(10, 20, 0.0)])],
    );
    windowed(
        "HOP(TABLE items, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)",
        &[(10, &[(-5, 5, 10.0), (0, 10, 110.0 / 4.0)]), (20, &[(5, 15, 100.0 / 7.0), (10, 20, 0.0)])],
    );
    windowed(
        "SESSION(TABLE items PARTITION BY f0, DESCRIPTOR(ts), INTERVAL '4' SECOND)",
        &[(11, &[(1, 5, 10.0), (6, 11, 100.0 / 3.0)]), (30, &[(12, 16, 0.0)])],
    );
}

//! Tables that grow.

use crate::types::SqlRow as _;
use crate::{Order, order, second, session};
use flugs_api::Environment;
use flugs_connector::MemorySink;
use flugs_derive::{Data, SqlRow};
use flugs_sql::StreamSchema;
use flugs_testkit::{TestJob, TestSource};
use flugs_types::Timestamp;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Data, SqlRow)]
#[data(crate = "flugs_batch")]
#[sql(crate = "flugs_sql_types")]
struct Dear {
    // By name, not by place.
    cents: i64,
    #[sql(name = "who")]
    customer: String,
}

#[test]
fn a_stream_is_queried_and_the_result_is_a_stream() {
    let env = Environment::new("there and back");
    env.set_parallelism(1);
    let dear = MemorySink::new();
    let orders = [order(1, "ann", 5.0), order(2, "bob", 50.5), order(3, "cid", 70.0)];
    let mut sql = session(&env);
    let table = sql.from_stream(&env.from_collection(orders)).unwrap();
    assert_eq!(table.columns()[1].name, "customer");
    sql.create_temporary_view("orders", &table).unwrap();
    let query = "SELECT customer AS who, CAST(amount * 100 AS BIGINT) AS cents FROM orders WHERE amount > 10";
    let rows = sql.sql_query(query).unwrap();
    sql.to_stream::<Dear>(&rows).unwrap().filter(|dear| dear.customer != "cid").sink_to(dear.clone(), "dear");
    env.execute().unwrap();
    assert_eq!(dear.rows(), [Dear { cents: 5050, customer: "bob".into() }]);
}

#[test]
fn windows_of_sql_over_the_event_time_of_a_stream_and_windows_of_the_stream_over_theirs() {
    let (source, sums, all) = (TestSource::<Order>::new(), MemorySink::immediate(), MemorySink::immediate());
    let (orders, out, all_out) = (source.clone(), sums.clone(), all.clone());
    let mut job = TestJob::start(move |env| {
        let mut sql = session(env);
        let schema = StreamSchema::new().name("orders").rowtime("ts");
        sql.from_stream_with(&orders.stream(env, "orders"), schema).unwrap();
        let sums = "SELECT window_time, customer, SUM(amount) FROM TABLE(\
                    TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '10' SECOND)) \
                    GROUP BY window_start, window_end, window_time, customer";
        let sums = sql.sql_query(sums).unwrap();
        let sums = sql.to_stream::<(Timestamp, String, Option<f64>)>(&sums).unwrap();
        sums.sink_to(out.clone(), "sums");
        // The event time of a sum is its window's.
        let minute = flugs_operators::TumblingEventTimeWindows::of(std::time::Duration::from_secs(60));
        sums.key_by(|sum| sum.1.clone()).window(minute).count().sink_to(all_out.clone(), "all");
    })
    .unwrap();
    source.push_at(order(1, "ann", 1.0), second(3));
    source.push_at(order(2, "ann", 2.0), second(9));
    source.push_at(order(3, "ann", 4.0), second(10));
    source.push_at(order(4, "bob", 8.0), second(12));
    source.watermark(Timestamp(9_999_999));
    job.run().unwrap();
    let time = |ms| Timestamp::from_millis(ms);
    assert_eq!(sums.take().values, [(time(9_999), "ann".into(), Some(3.0))]);
    source.push_at(order(5, "ann", 16.0), second(9)); // late
    source.watermark(second(59));
    job.run().unwrap();
    let mut rows = sums.take().values;
    rows.sort_by(|a, b| a.1.cmp(&b.1));
    assert_eq!(rows, [(time(19_999), "ann".into(), Some(4.0)), (time(19_999), "bob".into(), Some(8.0))]);
    assert!(all.rows().is_empty(), "the minute is not over");
    source.watermark(second(60));
    job.run().unwrap();
    let mut counts = all.take().values;
    counts.sort();
    assert_eq!(counts, [("ann".to_owned(), 2), ("bob".to_owned(), 1)]);
    source.end();
    job.finish().unwrap();
}

#[derive(Debug, Clone, PartialEq, Data, SqlRow)]
#[data(crate = "flugs_batch")]
#[sql(crate = "flugs_sql_types")]
struct Everything {
    yes: bool,
    small: i16,
    unsigned: u64,
    single: f32,
    text: Option<String>,
    bytes: Vec<u8>,
    at: Timestamp,
    tags: Vec<Option<String>>,
    counts: BTreeMap<String, i32>,
    part: Part,
    absent: Option<Part>,
}

#[derive(Debug, Clone, PartialEq, Data, SqlRow)]
#[data(crate = "flugs_batch")]
#[sql(crate = "flugs_sql_types")]
struct Part {
    x: i32,
    label: Option<String>,
}

#[test]
fn all_types_go_there_and_back() {
    let full = Everything {
        yes: true,
        small: -3,
        unsigned: u64::MAX,
        single: 1.5,
        text: Some("a text that is not inline".into()),
        bytes: vec![0, 255],
        at: Timestamp(1_234_567),
        tags: vec![Some("a".into()), None],
        counts: [("one".to_owned(), 1), ("two".to_owned(), 2)].into(),
        part: Part { x: 7, label: None },
        absent: Some(Part { x: 8, label: Some("l".into()) }),
    };
    let empty = Everything {
        yes: false,
        text: None,
        bytes: vec![],
        tags: vec![],
        counts: BTreeMap::new(),
        absent: None,
        ..full.clone()
    };
    let env = Environment::new("types");
    env.set_parallelism(1);
    let (back, fields) = (MemorySink::new(), MemorySink::new());
    let mut sql = session(&env);
    let rows = env.from_collection([full.clone(), empty.clone()]);
    let table = sql.from_stream_with(&rows, StreamSchema::new().name("t")).unwrap();
    let shown: Vec<String> = table.columns().iter().map(|c| format!("{} {}", c.name, c.sql_type)).collect();
    assert_eq!(shown[2], "unsigned DECIMAL(20, 0) NOT NULL");
    assert_eq!(shown[7], "tags ARRAY<STRING> NOT NULL");
    assert_eq!(shown[8], "counts MAP<STRING NOT NULL, INT NOT NULL> NOT NULL");
    assert_eq!(shown[10], "absent ROW<`x` INT NOT NULL, `label` STRING>");
    assert_eq!(Everything::fields().len(), 11);
    sql.to_stream::<Everything>(&table).unwrap().sink_to(back.clone(), "back");
    let query =
        sql.sql_query("SELECT part.x, absent.label, counts['two'], CARDINALITY(tags) FROM t").unwrap();
    sql.to_stream::<(i32, Option<String>, Option<i32>, i64)>(&query)
        .unwrap()
        .sink_to(fields.clone(), "fields");
    env.execute().unwrap();
    assert_eq!(back.rows(), [full, empty]);
    assert_eq!(fields.rows(), [(7, Some("l".to_owned()), Some(2), 2), (7, None, None, 0)]);
}

#[test]
fn computed_columns_and_processing_time() {
    let env = Environment::new("computed");
    env.set_parallelism(1);
    let out = MemorySink::new();
    let mut sql = session(&env);
    let schema = StreamSchema::new().name("numbers").computed("twice", "f0 * 2").proctime("now");
    sql.from_stream_with(&env.from_collection([1i64, 2, 3]), schema).unwrap();
    let query =
        "SELECT twice, SUM(f0) OVER (ORDER BY now ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM numbers";
    let query = sql.sql_query(query).unwrap();
    sql.to_stream::<(i64, Option<i64>)>(&query).unwrap().sink_to(out.clone(), "out");
    env.execute().unwrap();
    assert_eq!(out.rows(), [(2, Some(1)), (4, Some(3)), (6, Some(5))]);
}

#[test]
fn inserts_are_part_of_the_program() {
    let env = Environment::new("attached");
    env.set_parallelism(1);
    let mut sql = session(&env);
    sql.execute_sql("CREATE TABLE totals (customer STRING, total DOUBLE) WITH ('connector' = 'memory')")
        .unwrap();
    let orders = env.from_collection([order(1, "ann", 1.0), order(2, "ann", 2.0), order(3, "bob", 4.0)]);
    sql.from_stream_with(&orders, StreamSchema::new().name("orders")).unwrap();
    sql.attach_sql("INSERT INTO totals SELECT customer, amount FROM orders WHERE id <> 2").unwrap();
    env.execute().unwrap();
    let table = sql.table("totals").unwrap();
    let rows = sql.collect(&table).unwrap();
    let read =
        |row: &flugs_sql::Row| (row.get::<String>("customer").unwrap(), row.get::<f64>("total").unwrap());
    let rows: Vec<_> = rows.iter().map(read).collect();
    assert_eq!(rows, [(Some("ann".into()), Some(1.0)), (Some("bob".into()), Some(4.0))]);
}

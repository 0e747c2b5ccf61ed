//! What is refused says what and the mend.

use crate::{Order, order, session};
use flugs_api::Environment;
use flugs_connector::{BlackholeSink, MemorySink};
use flugs_sql::{SqlEnvironment, StreamSchema};
use flugs_table::{ChangelogMode, Registry};
use flugs_types::RowKind;

fn orders(env: &Environment) -> SqlEnvironment {
    env.set_parallelism(1);
    let mut sql = session(env);
    let stream = env.from_collection([order(1, "ann", 1.0)]);
    sql.from_stream_with(&stream, StreamSchema::new().name("orders")).unwrap();
    sql
}

fn refused<T>(result: flugs_types::Result<T>, words: &[&str]) {
    let error = result.err().expect("an error").to_string();
    words.iter().for_each(|word| assert!(error.contains(word), "'{word}' in: {error}"));
}

#[test]
fn queries_that_are_no_stream_of_rows() {
    let env = Environment::new("refused");
    let mut sql = orders(&env);
    let counts = sql.sql_query("SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer").unwrap();
    refused(sql.to_stream::<(String, i64)>(&counts), &["updates or deletes", "to_changelog_stream"]);
    refused(sql.to_changelog_stream::<(String, i64, i64)>(&counts), &["2 columns", "have 3"]);
    refused(sql.to_changelog_stream::<(i64, i64)>(&counts), &["'f0'", "BIGINT", "STRING", "CAST"]);
    let misnamed = sql.sql_query("SELECT id, customer, amount AS amout FROM orders").unwrap();
    refused(sql.to_stream::<Order>(&misnamed), &["no column 'amount'", "amout AS amount"]);
}

#[test]
fn streams_that_are_no_table() {
    let env = Environment::new("refused");
    let mut sql = orders(&env);
    let other = Environment::new("other").from_collection([1i64]);
    refused(sql.from_stream(&other), &["another program", "of_program"]);
    refused(SqlEnvironment::new(Registry::new()).from_stream(&other), &["no program", "of_program"]);
    let numbers = env.from_collection([1i64]);
    refused(sql.from_stream_with(&numbers, StreamSchema::new().rowtime("f0")), &["two columns 'f0'"]);
    refused(
        sql.from_stream_with(&numbers, StreamSchema::new().primary_key(["f1"])),
        &["no column 'f1'", "'f0'?"],
    );
    refused(sql.from_stream_with(&numbers, StreamSchema::new().computed("x", "nix + 1")), &["nix"]);
    refused(sql.from_stream_with(&numbers, StreamSchema::new().name("orders")), &["exists already"]);
    let changes = env.from_collection([(RowKind::Insert, 1i64)]);
    let upserts = sql.from_changelog_stream(&changes, StreamSchema::new(), ChangelogMode::Upsert);
    refused(upserts, &["no primary key", "primary_key"]);
}

#[test]
fn statements_that_would_be_jobs_of_their_own() {
    let env = Environment::new("refused");
    let mut sql = orders(&env);
    let table = sql.table("orders").unwrap();
    refused(sql.collect(&table), &["stream of the program", "to_stream"]);
    refused(sql.attach_sql("SELECT 1"), &["no INSERT"]);
    refused(sql.attach_sql("INSERT INTO orders SELECT * FROM orders"), &["orders", "stream"]);
}

/// Runs a query over one stream of rows into nothing.
fn run<T: flugs_batch::Data + flugs_sql_types::SqlRow>(
    query: &str,
    schema: StreamSchema,
) -> flugs_types::Result<()> {
    let env = Environment::new("running");
    env.set_parallelism(1);
    let mut sql = session(&env);
    sql.from_stream_with(&env.from_collection([(None::<i64>, 1i64)]), schema.name("t")).unwrap();
    let rows = sql.sql_query(query).unwrap();
    sql.to_stream::<T>(&rows).unwrap().sink_to(BlackholeSink::new(), "out");
    env.execute().map(|_| ())
}

#[test]
fn rows_that_do_not_fit_end_the_job() {
    refused(run::<(i64,)>("SELECT f0 FROM t", StreamSchema::new()), &["'f0'", "NULL", "Option"]);
    let timed = run::<(i64,)>("SELECT f1 FROM t WHERE ts IS NOT NULL", StreamSchema::new().rowtime("ts"));
    refused(timed, &["no event time", "assign_timestamps"]);
    let env = Environment::new("kinds");
    env.set_parallelism(1);
    let mut sql = session(&env);
    let stream = env.from_collection([(RowKind::UpdateBefore, 1i64)]);
    let schema = StreamSchema::new().primary_key(["f0"]);
    let table = sql.from_changelog_stream(&stream, schema, ChangelogMode::Upsert).unwrap();
    sql.to_changelog_stream::<i64>(&table).unwrap().sink_to(MemorySink::new(), "out");
    refused(env.execute(), &["upserts", "-U", "changelog mode"]);
}

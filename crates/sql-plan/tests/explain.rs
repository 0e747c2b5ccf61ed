//! What EXPLAIN shows of plans.

mod support;

use flugs_sql_parser::ExplainDetail;
use flugs_sql_plan::{PlanConfig, explain};
use support::Session;

fn explained(insert: &str, details: &[ExplainDetail]) -> String {
    let mut session = Session::new(
        "CREATE TABLE t (id INT, `name` STRING, price DECIMAL(5, 2), ts TIMESTAMP(3),
            WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ('connector' = 'datagen', 'number-of-rows' = '1000');
         CREATE TABLE endless (id INT) WITH ('connector' = 'datagen');
         CREATE TABLE events (event_type INT, bid ROW<auction BIGINT, price BIGINT>)
            WITH ('connector' = 'nexmark', 'events.num' = '1000');
         CREATE TABLE target (v STRING) WITH ('connector' = 'blackhole');",
    );
    let script = format!("EXECUTE STATEMENT SET BEGIN {insert}; END");
    let plans = session.jobs(&script).unwrap_or_else(|e| panic!("{}", e.render(&script)));
    explain(&plans[0], &PlanConfig::default(), details)
}

#[track_caller]
fn shows(insert: &str, parts: &[&str]) {
    let plan = explained(insert, &[ExplainDetail::EstimatedCost]);
    for part in parts {
        assert!(plan.contains(part), "no {part} in\n{plan}");
    }
}

#[test]
fn expressions_read_as_sql() {
    shows(
        "INSERT INTO target SELECT CAST(price * 2 + 1 AS STRING) FROM t WHERE `name` <> 'it''s' AND (id > 2 OR price < 1.5)",
        &[
            "watermark=[ts - INTERVAL '1' SECOND]",
            "select=[CAST(price * 2 + 1 AS STRING) AS v]",
            "name <> 'it''s' AND (id > 2 OR price < 1.5",
        ],
    );
    shows(
        "INSERT INTO target SELECT CAST(bid.price AS STRING) FROM events WHERE event_type = 2",
        &["filter=[event_type = 2]"],
    );
    shows(
        "INSERT INTO target SELECT CAST(SUM(price) AS STRING) FROM t GROUP BY UPPER(`name`)",
        &["groupBy=[EXPR$", "SUM(price) AS EXPR$", "UPPER(name) AS EXPR$"],
    );
}

#[test]
fn why_a_table_is_read_in_any_order_is_said() {
    let plan = "INSERT INTO target SELECT CAST(id AS STRING) FROM";
    shows(&format!("{plan} endless"), &["read=[unordered: neither watermark nor changes]"]);
    shows(&format!("{plan} t"), &["read=[ordered within splits: watermark]"]);
}

#[test]
fn rows_are_estimated_where_tables_know_theirs() {
    // Half of 1000 pass a comparison.
    shows(
        "INSERT INTO target SELECT `name` FROM t WHERE id > 2 AND price IS NOT NULL",
        &["rowcount=[1000]", "rowcount=[450]"],
    );
    // A group of ten rows.
    shows("INSERT INTO target SELECT `name` FROM t GROUP BY `name`", &["rowcount=[1000]", "rowcount=[100]"]);
    shows("INSERT INTO target VALUES ('a'), ('b'), ('c')", &["rowcount=[3]"]);
    shows("INSERT INTO target SELECT CAST(id AS STRING) FROM endless", &["rowcount=[unknown]"]);
    shows(
        "INSERT INTO target SELECT CAST(SUM(id) AS STRING) FROM endless",
        &["rowcount=[unknown]", "rowcount=[1]"],
    );
}

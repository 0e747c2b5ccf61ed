//! What several queries of one job have in common is computed once.

mod support;

use flugs_sql_plan::{PlanConfig, explain};
use support::Session;

fn explained(script: &str) -> String {
    let mut session = Session::new(
        "CREATE TABLE t (k STRING, v INT, w INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');
         CREATE TABLE a (k STRING, n BIGINT) WITH ('connector' = 'blackhole');
         CREATE TABLE b (k STRING, n BIGINT) WITH ('connector' = 'blackhole');",
    );
    let script = format!("EXECUTE STATEMENT SET BEGIN {script} END");
    let plans = session.jobs(&script).unwrap_or_else(|e| panic!("{}", e.render(&script)));
    explain(&plans[0], &PlanConfig::default(), &[])
}

/// How often an operator stands in a plan.
fn times(plan: &str, operator: &str) -> usize {
    plan.matches(&format!("{operator}(")).count()
}

#[test]
fn one_scan_reads_the_columns_of_all() {
    let plan = explained(
        "INSERT INTO a SELECT k, COUNT(*) FROM t WHERE v > 1 GROUP BY k;
         INSERT INTO b SELECT k, MAX(w) FROM t GROUP BY k;",
    );
    assert_eq!(times(&plan, "TableSourceScan"), 1, "{plan}");
    assert!(plan.contains("fields=[k, ts, v, w]") || plan.contains("fields=[k, v, ts, w]"), "{plan}");
    assert!(plan.contains("where=[v > 1]") && !plan.contains("filter=["), "{plan}");
    assert_eq!(times(&plan, "Reused"), 1, "{plan}");
}

#[test]
fn equal_parts_under_other_names_are_one() {
    let plan = explained(
        "INSERT INTO a SELECT k, n FROM (SELECT k, COUNT(*) AS n FROM t WHERE v > 1 GROUP BY k) WHERE n > 10;
         INSERT INTO b SELECT x, much FROM (SELECT k AS x, COUNT(*) AS much FROM t AS z WHERE z.v > 1 GROUP BY k)
            WHERE much < 5;",
    );
    assert_eq!(times(&plan, "GroupAggregate"), 1, "{plan}");
    assert!(plan.contains("(reuse_id=[1])") && plan.contains("Reused(reference_id=[1])"), "{plan}");
}

#[test]
fn what_gives_something_else_each_time_is_not() {
    let plan = explained("INSERT INTO a SELECT UUID(), 1 FROM t; INSERT INTO b SELECT UUID(), 1 FROM t;");
    assert_eq!((times(&plan, "TableSourceScan"), times(&plan, "Calc")), (1, 2), "{plan}");
}

#[test]
fn an_insert_that_stands_twice_writes_twice() {
    let plan = explained("INSERT INTO a SELECT k, v FROM t; INSERT INTO a SELECT k, v FROM t;");
    assert_eq!((times(&plan, "Sink"), times(&plan, "TableSourceScan")), (2, 1), "{plan}");
}

#[test]
fn what_one_operator_reads_twice_is_shown_once() {
    let joined = explained("INSERT INTO a SELECT x.k, 1 FROM t x JOIN t y ON x.k = y.k;");
    assert_eq!((times(&joined, "TableSourceScan"), times(&joined, "Reused")), (1, 1), "{joined}");
    let count = "SELECT k, COUNT(*) FROM t GROUP BY k";
    let union = explained(&format!("INSERT INTO a {count} UNION ALL {count};"));
    assert_eq!((times(&union, "GroupAggregate"), times(&union, "Reused")), (1, 1), "{union}");
}

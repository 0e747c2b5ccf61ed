//! State is addressed by meaning: which changes of a query leave the addresses of its operators as they are.

mod support;

use flugs_sql_plan::{PlanConfig, explain_json};
use std::collections::BTreeSet;
use support::Session;

fn session() -> Session {
    Session::new(
        "CREATE TABLE t (k STRING, v INT, w DOUBLE, more STRING, ts TIMESTAMP(3), r ROW<x INT, y INT>,
            WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ('connector' = 'datagen');
         CREATE TABLE u (id STRING, name STRING, other INT) WITH ('connector' = 'datagen');
         CREATE TABLE a (k STRING, n BIGINT) WITH ('connector' = 'blackhole');
         CREATE TABLE b (k STRING, n BIGINT) WITH ('connector' = 'blackhole');",
    )
}

/// The addresses of all operators of a job that keep state.
fn of(script: &str) -> BTreeSet<String> {
    planned_by(&PlanConfig::default(), script)
}

fn planned_by(config: &PlanConfig, script: &str) -> BTreeSet<String> {
    let mut session = session();
    session.config = config.clone();
    let plans = session.jobs(script).unwrap_or_else(|e| panic!("{script}\n{}", e.render(script)));
    let shown = explain_json(&plans[0], config);
    let uid = |line: &str| Some(line.split_once("\"uid\":\"")?.1.split_once('"')?.0.to_owned());
    let found: BTreeSet<String> =
        shown.lines().filter(|line| !line.contains("\"state\":null")).filter_map(uid).collect();
    assert!(!found.is_empty(), "no state: {script}\n{shown}");
    found
}

/// The second job has all state of the first.
fn keeps(first: &str, then: &str) {
    let (before, after) = (of(first), of(then));
    assert!(before.is_subset(&after), "{first}\n{before:?}\n{then}\n{after:?}");
}

/// The second job has none of it.
fn begins_anew(first: &str, then: &str) {
    let (before, after) = (of(first), of(then));
    assert!(before.is_disjoint(&after), "{first}\n{before:?}\n{then}\n{after:?}");
}

const COUNTS: &str = "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM t GROUP BY k";

#[test]
fn names_and_places_say_nothing() {
    keeps(COUNTS, "SELECT k AS key_, COUNT(*) AS much, SUM(v) AS total FROM t AS other GROUP BY k");
    keeps(COUNTS, "SELECT SUM(v) AS s, COUNT(*) AS n, k FROM t GROUP BY k");
    keeps(
        COUNTS,
        "SELECT k, n, s, n + s AS both_ FROM (SELECT k, COUNT(*) AS n, SUM(v) AS s FROM t GROUP BY k)",
    );
    keeps(
        COUNTS,
        "WITH c AS (SELECT k AS x, v AS y, more FROM t) SELECT x, COUNT(*), SUM(y) FROM c GROUP BY x",
    );
    keeps(COUNTS, &format!("SELECT UPPER(k), n FROM ({COUNTS}) WHERE s > 10"));
    keeps(
        "SELECT k, COUNT(*) FROM t WHERE v > 1 AND w < 2 GROUP BY k",
        "SELECT k, COUNT(*) FROM (SELECT k, w AS x FROM t WHERE v > 1) WHERE x < 2 GROUP BY k",
    );
    keeps(
        "SELECT k, SUM(v * 2) FROM t WHERE v * 2 > 4 GROUP BY k",
        "SELECT z, SUM(y) FROM (SELECT v * 2 AS y, UPPER(k) AS up, k AS z FROM t) WHERE y > 4 GROUP BY z",
    );
    keeps(
        "SELECT k, MAX(r.x) FROM t GROUP BY k",
        "SELECT k, MAX(x) FROM (SELECT k, r.x AS x, r.y AS y FROM t) GROUP BY k",
    );
}

#[test]
fn windows_are_addressed_likewise() {
    let counts = "SELECT window_start, k, COUNT(*) AS n
        FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, k";
    keeps(
        counts,
        "SELECT k AS name, COUNT(*) AS much, window_end FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND))
         GROUP BY k, window_start, window_end",
    );
    begins_anew(counts, &counts.replace("'10'", "'20'"));
    begins_anew(counts, &counts.replace("COUNT(*)", "MAX(v)"));
    begins_anew(
        counts,
        &format!("WITH p AS (SELECT * FROM t WHERE v > 0) {}", counts.replace("TABLE t", "TABLE p")),
    );
}

#[test]
fn a_further_sink_or_branch_says_nothing() {
    let first = "INSERT INTO a SELECT k, COUNT(*) FROM t GROUP BY k";
    let second = "INSERT INTO b SELECT more, COUNT(*) FROM t WHERE w > 1 GROUP BY more";
    keeps(first, &format!("EXECUTE STATEMENT SET BEGIN {first}; {second}; END"));
    keeps(first, &format!("EXECUTE STATEMENT SET BEGIN {second}; {first}; END"));
}

#[test]
fn what_is_computed_decides() {
    begins_anew(COUNTS, "SELECT more, COUNT(*) AS n, SUM(v) AS s FROM t GROUP BY more");
    begins_anew(COUNTS, "SELECT k, COUNT(*) AS n, SUM(w) AS s FROM t GROUP BY k");
    begins_anew(COUNTS, "SELECT k, COUNT(*) AS n, MAX(v) AS s FROM t GROUP BY k");
    begins_anew(COUNTS, "SELECT k, COUNT(*) AS n, SUM(CAST(v AS BIGINT)) AS s FROM t GROUP BY k");
    begins_anew(COUNTS, "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM t WHERE v > 0 GROUP BY k");
    begins_anew(COUNTS, "SELECT k, COUNT(*) AS n, SUM(v) AS s, MIN(v) AS m FROM t GROUP BY k");
    begins_anew(COUNTS, "SELECT k, COUNT(*) AS n, SUM(v) FILTER (WHERE w > 0) AS s FROM t GROUP BY k");
}

#[test]
fn kept_rows_say_what_they_hold() {
    let joined = "SELECT t.k, t.v, u.name FROM t JOIN u ON t.k = u.id";
    keeps(
        joined,
        "SELECT b.name AS n, UPPER(a.k) AS u FROM t AS a JOIN u AS b ON a.k = b.id WHERE CHAR_LENGTH(b.name) > a.v",
    );
    let wider = of("SELECT t.k, t.v, u.name, u.other FROM t JOIN u ON t.k = u.id");
    let before = of(joined);
    assert!(before.is_disjoint(&wider));
    // But it is told that they compute the same.
    let computes = |found: &BTreeSet<String>| -> BTreeSet<String> {
        found.iter().filter_map(|uid| uid.split_once('/').map(|(meaning, _)| meaning.to_owned())).collect()
    };
    assert_eq!(computes(&before), computes(&wider));
    begins_anew(joined, "SELECT t.k, t.v, u.name FROM t LEFT JOIN u ON t.k = u.id");
}

#[test]
fn what_is_made_of_changed_state_begins_anew_with_it() {
    let first = "SELECT n, COUNT(*) FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) GROUP BY n";
    begins_anew(
        first,
        "SELECT n, COUNT(*) FROM (SELECT k, COUNT(*) AS n FROM t WHERE v > 0 GROUP BY k) GROUP BY n",
    );
}

#[test]
fn what_reads_alike_is_not_the_same_state() {
    let cut = |length: u32| {
        format!("SELECT s, COUNT(*) FROM (SELECT CAST(k AS VARCHAR({length})) AS s FROM t) GROUP BY s")
    };
    keeps(&cut(2), &cut(2));
    begins_anew(&cut(2), &cut(3));
    let pairs = |condition: &str| format!("SELECT k, id FROM t LEFT JOIN u ON k = id AND {condition}");
    begins_anew(&pairs("v - (other - v) > 0"), &pairs("v - other - v > 0"));
}

/// Sets that are kept by bucket are of no use by group, nor by other buckets.
#[test]
fn buckets_of_distinct_values_are_state_of_their_own() {
    let by = |buckets: u32, script: &str| {
        let config =
            PlanConfig { distinct_buckets: std::num::NonZeroU32::new(buckets), ..PlanConfig::default() };
        planned_by(&config, script)
    };
    let distinct = "SELECT k, COUNT(DISTINCT v) FROM t GROUP BY k";
    assert_eq!(
        by(8, distinct),
        by(8, &distinct.replace("k, COUNT(DISTINCT v)", "COUNT(DISTINCT v) AS n, k"))
    );
    assert!(by(8, distinct).is_disjoint(&of(distinct)));
    assert!(by(8, distinct).is_disjoint(&by(16, distinct)));
    assert_eq!(by(8, COUNTS), of(COUNTS));
}

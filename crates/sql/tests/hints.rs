//! Hints of tables and of `SELECT`: what they do, what EXPLAIN shows of it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use arrow::array::{ArrayRef, Int32Array, RecordBatch, TimestampMillisecondArray};
use flugs_batch::{Batch, ChangeBatch};
use flugs_sql::SqlEnvironment;
use flugs_table::Registry;
use flugs_tables::MemoryTables;
use std::sync::Arc;
use support::sorted_rows;

const TABLES: &str = "
    CREATE TABLE t (k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'memory', 'name' = 't');
    CREATE TABLE u (k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'memory', 'name' = 'u');
    CREATE TABLE late (k INT, note STRING, ts TIMESTAMP(3)) WITH ('connector' = 'memory', 'name' = 'late');
    CREATE TABLE later (ts TIMESTAMP(3)) WITH ('connector' = 'memory', 'name' = 'later');
    CREATE TABLE dim (k INT, name STRING) WITH ('connector' = 'memory', 'name' = 'dim');
    CREATE VIEW now AS SELECT *, PROCTIME() AS pt FROM t;";

/// A session with these tables. Each row of `t` and `u` is a batch, so that watermarks move between rows.
fn session() -> (SqlEnvironment, MemoryTables) {
    let tables = MemoryTables::new();
    let mut registry = Registry::new();
    flugs_tables::register(&mut registry);
    flugs_formats::columns::register(&mut registry);
    registry.add_connector(tables.clone());
    let rows = [(1, 1_000), (1, 25_000), (2, 3_000), (2, 26_000), (3, 24_000)];
    for name in ["t", "u"] {
        tables.add(name, rows.map(|(k, ts)| row(k, ts)));
    }
    let mut env = SqlEnvironment::new(registry);
    run(&mut env, "SET 'parallelism.default' = '1'");
    run(&mut env, TABLES);
    (env, tables)
}

fn row(k: i32, ts: i64) -> ChangeBatch {
    let columns: [(&str, ArrayRef, bool); 2] = [
        ("k", Arc::new(Int32Array::from(vec![k])), true),
        ("ts", Arc::new(TimestampMillisecondArray::from(vec![ts])), true),
    ];
    ChangeBatch::inserts(RecordBatch::try_from_iter_with_nullable(columns).unwrap())
}

fn run(env: &mut SqlEnvironment, script: &str) -> Vec<String> {
    sorted_rows(env, script).unwrap_or_else(|e| panic!("{script}: {e}"))
}

fn explained(query: &str) -> String {
    run(&mut session().0, &format!("EXPLAIN {query}")).join("\n")
}

fn refused(query: &str) -> String {
    sorted_rows(&mut session().0, query).unwrap_err().to_string()
}

fn count(tables: &MemoryTables, name: &str) -> usize {
    tables.rows(name).iter().map(Batch::len).sum()
}

const COUNTS: &str = "SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) AS s, COUNT(*) AS n FROM t HINT GROUP BY TUMBLE(ts, INTERVAL '10' SECOND)";

/// Where the plan sends late rows. (That they come there is a matter of `golden/windows.cases`.)
fn late_sinks(plan: &str) -> Vec<&str> {
    let sinks = plan.split("Sink(table=[").skip(1).filter(|sink| sink.contains("LateRows"));
    sinks.filter_map(|sink| sink.split(']').next()?.split('.').nth(2)).collect()
}

#[test]
fn late_rows_of_a_table_go_where_its_hint_says() {
    let hinted = |hint: &str| COUNTS.replace("HINT", hint);
    let (mut env, _) = session();
    let mut explained = |query: &str| run(&mut env, &format!("EXPLAIN {query}")).join("\n");
    let plan = explained(&hinted("/*+ OPTIONS('late' = 'route:late') */"));
    assert!(plan.contains("late=[route: default_catalog.default_database.late]"), "{plan}");
    assert_eq!(late_sinks(&plan), ["late"], "{plan}");
    assert!(late_sinks(&explained(&hinted(""))).is_empty());
    // The hint goes before the session's table, and 'drop' before both.
    explained("SELECT 1; SET 'table.exec.late-rows.table' = 'later'");
    assert_eq!(late_sinks(&explained(&hinted("/*+ OPTIONS('late' = 'route:late') */"))), ["late"]);
    assert!(late_sinks(&explained(&hinted("/*+ OPTIONS('late' = 'drop') */"))).is_empty());
    assert_eq!(late_sinks(&explained(&hinted(""))), ["later"]);
}

#[test]
fn a_table_may_say_itself_where_its_late_rows_go() {
    let (mut env, _) = session();
    run(&mut env, "ALTER TABLE t SET ('late' = 'route:later')");
    let mut explained = |query: &str| run(&mut env, &format!("EXPLAIN {query}")).join("\n");
    assert_eq!(late_sinks(&explained(&COUNTS.replace("HINT", ""))), ["later"]);
    let windows = "SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE t HINT, DESCRIPTOR(ts), INTERVAL '10' SECOND)) \
                   GROUP BY window_start, window_end";
    assert_eq!(late_sinks(&explained(&windows.replace("HINT", ""))), ["later"]);
    let hint = "/*+ OPTIONS('late' = 'route:late') */";
    assert_eq!(late_sinks(&explained(&windows.replace("HINT", hint))), ["late"]);
    // Where nothing can be late, a table's own option says nothing.
    assert_eq!(run(&mut env, "SELECT COUNT(*) FROM t"), ["5"]);
}

#[test]
fn late_rows_of_a_temporal_join_are_routed_where_their_version_is_not_known() {
    let (mut env, tables) = session();
    run(
        &mut env,
        "CREATE TABLE v (k INT, n INT, ts TIMESTAMP(3), PRIMARY KEY (k) NOT ENFORCED, WATERMARK FOR ts AS ts) \
                   WITH ('connector' = 'memory', 'name' = 'v'); INSERT INTO v VALUES (9, 9, TIMESTAMP '2020-01-01 00:00:00')",
    );
    let query = "SELECT t.k, v.n FROM t /*+ OPTIONS('late' = 'route:late') */ JOIN v FOR SYSTEM_TIME AS OF t.ts ON t.k = v.k";
    let plan = run(&mut env, &format!("EXPLAIN {query}")).join("\n");
    assert!(plan.contains("+- LateRows"), "{plan}");
    assert_eq!((run(&mut env, query), count(&tables, "later")), (vec![], 0));
}

#[test]
fn mistakes_of_late_rows() {
    let of = |value: &str| refused(&COUNTS.replace("HINT", &format!("/*+ OPTIONS('late' = '{value}') */")));
    assert!(
        of("route").contains("the option 'late' is 'drop' or 'route:TABLE', not 'route'"),
        "{}",
        of("route")
    );
    assert!(of("route:lat").contains("did you mean"), "{}", of("route:lat"));
    assert!(of("route:now").contains("which is a view"), "{}", of("route:now"));
    let unused = refused("SELECT COUNT(*) FROM t /*+ OPTIONS('late' = 'route:late') */");
    assert!(unused.contains("nothing in the query can find a row of it late"), "{unused}");
    let two = refused(
        "SELECT TUMBLE_START(ts, INTERVAL '1' SECOND), COUNT(*) FROM (SELECT * FROM t /*+ OPTIONS('late' = 'route:late') */
         UNION ALL SELECT * FROM u /*+ OPTIONS('late' = 'route:later') */) GROUP BY TUMBLE(ts, INTERVAL '1' SECOND)",
    );
    assert!(two.contains("go to different places, and one operator reads both"), "{two}");
}

#[test]
fn state_ttl_is_of_the_relations_that_it_names() {
    let join = "SELECT /*+ STATE_TTL('a' = '1 d', 'u' = '12 h') */ a.k FROM t AS a JOIN u ON a.k = u.k";
    let plan = explained(join);
    assert!(
        plan.contains("until: left: 1 d after the last change (STATE_TTL), right: 12 h after the last change (STATE_TTL)"),
        "{plan}"
    );
    assert_eq!(run(&mut session().0, join), ["1", "1", "1", "1", "2", "2", "2", "2", "3"]);
    let group = "SELECT /*+ STATE_TTL('t' = '90 s') */ k, COUNT(*) FROM t WHERE k > 0 GROUP BY k";
    let plan = explained(group);
    assert!(
        plan.contains("accumulators of each group; until: 90 s after the last change (STATE_TTL)"),
        "{plan}"
    );
    // A subquery by its alias; what is not named goes by the session, and no time at all is for ever.
    let (mut env, _) = session();
    run(&mut env, "SET 'table.exec.state.ttl' = '1 h'");
    let nested = "SELECT /*+ STATE_TTL(x = '0 s') */ x.k FROM (SELECT k FROM t) AS x JOIN u ON x.k = u.k";
    let plan = run(&mut env, &format!("EXPLAIN {nested}")).join("\n");
    assert!(
        plan.contains("left: the input ends, right: 1 h after the last change (table.exec.state.ttl)"),
        "{plan}"
    );
    // State is that of the same query without the hint.
    let digest = |query: &str| {
        let plan = run(&mut session().0, &format!("EXPLAIN JSON_EXECUTION_PLAN {query}")).join("\n");
        let at = plan.find("GroupAggregate\",").unwrap();
        plan[at..].split("\"uid\":").nth(1).unwrap().split(',').next().unwrap().to_owned()
    };
    assert_eq!(digest(group), digest(&group.replace("/*+ STATE_TTL('t' = '90 s') */", "")));
}

#[test]
fn a_lookup_may_be_shuffled() {
    let query = "SELECT /*+ LOOKUP('table' = 'd', 'async' = 'false', 'shuffle' = 'true') */ now.k, d.name
                 FROM now LEFT JOIN dim FOR SYSTEM_TIME AS OF now.pt AS d ON now.k = d.k";
    let plan = explained(query);
    assert!(plan.contains("LookupJoin(table=[default_catalog.default_database.dim], joinType=[Left], lookup=[k = k], shuffle=[true])"), "{plan}");
    let (mut env, _) = session();
    run(&mut env, "SET 'parallelism.default' = '3'; INSERT INTO dim VALUES (1, 'one'), (3, 'three')");
    assert_eq!(run(&mut env, query), ["1 | one", "1 | one", "2 | <NULL>", "2 | <NULL>", "3 | three"]);
}

#[test]
fn a_lookup_may_be_made_again() {
    let query = "SELECT /*+ LOOKUP('table' = 'd', 'retry-predicate' = 'lookup_miss', 'retry-strategy' = 'FIXED_DELAY',
                 'fixed-delay' = '20 ms', 'max-attempts' = '3') */ now.k, d.name
                 FROM now LEFT JOIN dim FOR SYSTEM_TIME AS OF now.pt AS d ON now.k = d.k";
    let plan = explained(query);
    assert!(plan.contains("lookup=[k = k], retry=[lookup_miss, FIXED_DELAY, 20ms, 3])"), "{plan}");
    let (mut env, _) = session();
    run(&mut env, "INSERT INTO dim VALUES (1, 'one'), (3, 'three')");
    assert_eq!(run(&mut env, query), ["1 | one", "1 | one", "2 | <NULL>", "2 | <NULL>", "3 | three"]);
}

#[test]
fn hints_of_batch_joins_change_no_rows() {
    for hint in
        ["BROADCAST(u)", "SHUFFLE_HASH('t', 'u')", "SHUFFLE_MERGE(t)", "NEST_LOOP(u)", "MULTI_JOIN(t, u)"]
    {
        let query = format!("SELECT /*+ {hint} */ COUNT(*) FROM t JOIN u ON t.k = u.k");
        assert_eq!(run(&mut session().0, &query), ["9"]);
    }
}

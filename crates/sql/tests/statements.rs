//! Statements other than queries, and the session as a library.

#![allow(clippy::unwrap_used, reason = "a failure here is that of a test")]

mod support;

use flugs_sql::{Polled, SqlEnvironment, TableResult};
use flugs_table::Registry;
use flugs_types::Result;
use std::time::Duration;
use support::folded;

fn session() -> SqlEnvironment {
    let mut registry = Registry::new();
    flugs_tables::register(&mut registry);
    SqlEnvironment::new(registry)
}

/// The rows of a result, cells between bars.
fn lines(result: TableResult) -> Vec<String> {
    let (format, folded) = folded(result).unwrap();
    let rows = folded.rows_as_they_came().unwrap();
    let rows = rows.map(|rows| format.text_rows(&rows).unwrap()).unwrap_or_default();
    rows.into_iter().map(|row| row.join("|")).collect()
}

fn run(env: &mut SqlEnvironment, text: &str) -> Vec<String> {
    let result = env.execute_sql(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    if result.columns().is_empty() {
        result.wait().unwrap();
        return Vec::new();
    }
    lines(result)
}

#[test]
fn what_is_declared_is_described() {
    let mut env = session();
    run(
        &mut env,
        "CREATE TABLE orders (id BIGINT NOT NULL, name VARCHAR(10) COMMENT 'who', ts TIMESTAMP(3),
         up AS UPPER(name), now_ AS PROCTIME(),
         WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (id) NOT ENFORCED)
         COMMENT 'all of ''em' WITH ('connector' = 'memory')",
    );
    let described = run(&mut env, "SHOW COLUMNS FROM orders LIKE '%s'");
    assert_eq!(described, ["ts|TIMESTAMP(3) *ROWTIME*|TRUE|<NULL>|<NULL>|ts - INTERVAL '5' SECOND|<NULL>"]);
    assert_eq!(run(&mut env, "SHOW TABLES NOT LIKE 'x%'"), ["orders"]);
    assert_eq!(run(&mut env, "SHOW TABLES ILIKE 'ORD___'"), ["orders"]);
    let shown = run(&mut env, "SHOW CREATE TABLE orders").remove(0);
    run(&mut env, "DROP TABLE orders");
    run(&mut env, &shown);
    assert_eq!(run(&mut env, "SHOW CREATE TABLE orders"), [shown]);
}

#[test]
fn a_table_that_is_only_written_is_described() {
    let mut env = session();
    for connector in ["print", "blackhole"] {
        run(
            &mut env,
            &format!(
                "CREATE TABLE {connector}s (id BIGINT NOT NULL, s STRING) WITH ('connector' = '{connector}')"
            ),
        );
        assert_eq!(
            run(&mut env, &format!("DESCRIBE {connector}s")),
            ["id|BIGINT|FALSE|<NULL>|<NULL>|<NULL>", "s|STRING|TRUE|<NULL>|<NULL>|<NULL>"]
        );
    }
}

#[test]
fn changes_that_were_written_are_read_as_changes() {
    let mut env = session();
    run(
        &mut env,
        "CREATE TABLE up (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'memory')",
    );
    run(
        &mut env,
        "INSERT INTO up SELECT k, COUNT(*) FROM (VALUES ('a'), ('b'), ('a'), ('a')) AS t(k) GROUP BY k",
    );
    let mut rows = run(&mut env, "SELECT * FROM up");
    rows.sort();
    assert_eq!(rows, ["a|3", "b|1"]);
    assert_eq!(run(&mut env, "SELECT SUM(n) FROM up"), ["4"]);
}

#[test]
fn null_does_not_get_into_columns_that_are_not_null() {
    let mut env = session();
    run(&mut env, "CREATE TABLE strict (id INT NOT NULL, s STRING) WITH ('connector' = 'memory')");
    let insert = "INSERT INTO strict SELECT NULLIF(n, 2), 'x' FROM (VALUES (1), (2), (3)) AS t(n)";
    let failed = env.execute_sql(insert).and_then(|result| result.wait()).err().unwrap().to_string();
    assert!(failed.contains("column 'id' of table"), "{failed}");
    assert!(failed.contains("strict' is NOT NULL"), "{failed}");
    run(&mut env, "SET 'table.exec.sink.not-null-enforcer' = 'DROP'");
    run(&mut env, "INSERT INTO strict SELECT NULLIF(n, 2), 'y' FROM (VALUES (1), (2), (3)) AS t(n)");
    let mut rows = run(&mut env, "SELECT id FROM strict WHERE s = 'y'");
    rows.sort();
    assert_eq!(rows, ["1", "3"]);
}

#[test]
fn null_does_not_get_into_primary_keys() {
    let mut env = session();
    run(
        &mut env,
        "CREATE TABLE keyed (id INT, s STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'memory')",
    );
    let insert = "INSERT INTO keyed VALUES (CAST(NULL AS INT), 'x')";
    let failed = env.execute_sql(insert).and_then(|result| result.wait()).err().unwrap().to_string();
    assert!(failed.contains("column 'id' of table"), "{failed}");
    run(&mut env, "INSERT INTO keyed VALUES (1, CAST(NULL AS STRING))");
    assert_eq!(run(&mut env, "SELECT id, s FROM keyed"), ["1|<NULL>"]);
}

#[test]
fn views_come_back_from_their_text() {
    let mut env = session();
    run(&mut env, "CREATE VIEW v (a, b) COMMENT 'c' AS SELECT n, n * 2 FROM (VALUES (1), (2)) AS t(n)");
    let shown = run(&mut env, "SHOW CREATE VIEW v").remove(0);
    run(&mut env, "DROP VIEW v");
    run(&mut env, &shown);
    assert_eq!(run(&mut env, "SHOW CREATE VIEW v"), [shown]);
    assert_eq!(run(&mut env, "SELECT b FROM v"), ["2", "4"]);
    assert_eq!(
        run(&mut env, "DESCRIBE v"),
        ["a|INT|FALSE|<NULL>|<NULL>|<NULL>", "b|INT|FALSE|<NULL>|<NULL>|<NULL>"]
    );
    run(&mut env, "ALTER VIEW v RENAME TO w");
    run(&mut env, "ALTER VIEW w AS SELECT 7 AS x");
    assert_eq!(run(&mut env, "SELECT * FROM w"), ["7"]);
}

#[test]
fn tables_are_altered() {
    let mut env = session();
    run(&mut env, "CREATE TABLE t (a INT, b STRING) WITH ('connector' = 'memory')");
    run(&mut env, "ALTER TABLE t ADD (c AS a + 1, d BIGINT FIRST)");
    run(&mut env, "ALTER TABLE t RENAME b TO e");
    run(&mut env, "ALTER TABLE t MODIFY (e VARCHAR(3) NOT NULL AFTER d)");
    run(&mut env, "ALTER TABLE t ADD CONSTRAINT k PRIMARY KEY (d) NOT ENFORCED");
    assert_eq!(
        run(&mut env, "DESCRIBE t"),
        [
            "d|BIGINT|FALSE|PRI(d)|<NULL>|<NULL>",
            "e|VARCHAR(3)|FALSE|<NULL>|<NULL>|<NULL>",
            "a|INT|TRUE|<NULL>|<NULL>|<NULL>",
            "c|INT|TRUE|<NULL>|AS a + 1|<NULL>"
        ]
    );
    run(&mut env, "ALTER TABLE t DROP CONSTRAINT k");
    run(&mut env, "ALTER TABLE t DROP (c, a)");
    run(&mut env, "ALTER TABLE t RENAME TO u");
    assert_eq!(run(&mut env, "SHOW TABLES"), ["u"]);
}

#[test]
fn inserts_statement_sets_and_ctas_are_jobs() {
    let mut env = session();
    run(&mut env, "CREATE TABLE a (n BIGINT) WITH ('connector' = 'memory')");
    run(&mut env, "CREATE TABLE b LIKE a");
    run(&mut env, "EXECUTE STATEMENT SET BEGIN INSERT INTO a VALUES (1), (2); INSERT INTO b SELECT 3; END");
    run(&mut env, "CREATE TABLE c WITH ('connector' = 'memory') AS SELECT n, n + 1 AS m FROM a");
    assert_eq!(run(&mut env, "SELECT n, m FROM c ORDER BY n LIMIT 5"), ["1|2", "2|3"]);
    assert_eq!(run(&mut env, "SELECT * FROM b"), ["3"]);
    let jobs = run(&mut env, "SHOW JOBS");
    assert!(jobs[0].starts_with("job-1|insert-into_") && jobs[0].contains("|FINISHED|"), "{jobs:?}");
    assert!(env.execute_sql("CREATE TABLE d WITH ('connector' = 'memory') AS SELECT nope").is_err());
    assert_eq!(run(&mut env, "SHOW TABLES"), ["a", "b", "c"]);
}

#[test]
fn options_are_set_and_reset() {
    let mut env = session();
    run(&mut env, "SET 'table.local-time-zone' = 'Asia/Shanghai'");
    run(&mut env, "SET 'execution.savepoint.path' = 'x/chk-1'");
    assert_eq!(
        run(&mut env, "SET"),
        ["execution.state-recovery.path|x/chk-1", "table.local-time-zone|Asia/Shanghai"]
    );
    assert_eq!(run(&mut env, "SELECT TO_TIMESTAMP_LTZ(0, 3)"), ["1970-01-01 08:00:00.000"]);
    run(&mut env, "RESET 'execution.savepoint.path'");
    run(&mut env, "RESET");
    assert!(run(&mut env, "SET").is_empty());
}

#[test]
fn a_query_that_nobody_reads_waits_and_stops_when_it_is_dropped() {
    let mut env = session();
    run(&mut env, "CREATE TABLE g (n BIGINT) WITH ('connector' = 'datagen')");
    let mut result = env.execute_sql("SELECT n, n AS m FROM g").unwrap();
    assert!(matches!(result.next_batch_within(Duration::from_secs(20)), Polled::Batch(_)));
    let job = result.job().unwrap().clone();
    assert!(!job.is_bounded);
    drop(result);
    assert!(job.handle.wait_until(Duration::from_secs(20), |_| false).status.is_terminal());
    let result = env.execute_sql("INSERT INTO h SELECT * FROM g");
    assert!(result.is_err());
    run(&mut env, "CREATE TABLE h (n BIGINT) WITH ('connector' = 'blackhole')");
    let id = env.execute_sql("INSERT INTO h SELECT * FROM g").unwrap().job().unwrap().id.clone();
    run(&mut env, &format!("STOP JOB '{id}'"));
    assert!(run(&mut env, "SHOW JOBS").iter().any(|job| job.starts_with(&id) && job.contains("CANCELED")));
}

#[test]
fn the_program_adds_functions_views_and_reads_rows() -> Result<()> {
    let mut env = session();
    env.register_scalar("twice", |n: i64| n * 2)?;
    env.register_table("letters", &["letter"], |s: &str| s.chars().map(String::from).collect::<Vec<_>>())?;
    env.execute_sql("CREATE TEMPORARY SYSTEM FUNCTION doubled AS 'twice'")?;
    let numbers = env.sql_query("SELECT n, twice(n) AS m FROM (VALUES (CAST(3 AS BIGINT))) AS t(n)")?;
    env.create_temporary_view("numbers", &numbers)?;
    let table = env.table("numbers")?;
    assert_eq!(table.columns().iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["n", "m"]);
    let rows = env.collect(&table)?;
    assert_eq!((rows.len(), rows[0].get::<i64>("m")?), (1, Some(6)));
    assert!(rows[0].get::<i64>("o").unwrap_err().to_string().contains("no column 'o'"));
    assert!(rows[0].get::<&str>("m").unwrap_err().to_string().contains("column 1 is BIGINT"));
    assert_eq!(run(&mut env, "SELECT doubled(CAST(4 AS BIGINT))"), ["8"]);
    assert_eq!(
        run(&mut env, "SELECT letter FROM (VALUES ('ab')) AS t(s), LATERAL TABLE(letters(s))"),
        ["a", "b"]
    );
    assert!(env.explain(&table)?.contains("Optimized Execution Plan"));
    Ok(())
}

#[test]
fn values_are_written_as_json_and_csv() {
    let mut env = session();
    let text = "SELECT CAST(1.50 AS DECIMAL(5, 2)) AS d, TIMESTAMP '2020-01-01 00:00:00.000' AS t, X'0102' AS b, TRUE AS z,
                ARRAY[1, 2] AS a, MAP['k', 'v'] AS m, ROW(1, 'x\"y') AS r, CAST(NULL AS INT) AS n, DATE '2020-02-03' AS e";
    let mut result = env.execute_sql(text).unwrap();
    let format = result.format();
    let batch = result.next_batch().unwrap();
    assert_eq!(
        format.json_rows(batch.rows()).unwrap(),
        [concat!(
            r#"{"d":1.50,"t":"2020-01-01 00:00:00.000","b":"AQI=","z":true,"a":[1,2],"m":{"k":"v"},"#,
            r#""r":{"EXPR$0":1,"EXPR$1":"x\"y"},"n":null,"e":"2020-02-03"}"#
        )]
    );
    let csv = format.csv_rows(batch.rows()).unwrap().remove(0);
    assert!(csv.starts_with("1.50,2020-01-01 00:00:00.000,"), "{csv}");
    assert_eq!(format.csv_header(), "d,t,b,z,a,m,r,n,e");
}

#[test]
fn a_plan_is_given_to_programs_once() {
    let mut env = session();
    run(&mut env, "CREATE TABLE t (id INT) WITH ('connector' = 'datagen', 'number-of-rows' = '5')");
    let plan = run(&mut env, "EXPLAIN JSON_EXECUTION_PLAN SELECT id FROM t WHERE id > 2").join("\n");
    assert_eq!(plan.matches("== Physical Execution Plan ==").count(), 1, "{plan}");
    assert_eq!(plan.matches("\"nodes\"").count(), 1, "{plan}");
}

//! Wrong statements, options and names: each error as a user sees it. `FLUGS_BLESS=1` writes the file anew, to be read before it is
//! committed.

use flugs_sql::SqlEnvironment;
use flugs_table::Registry;
use std::fmt::Write;

const SETUP: &str = "
    CREATE TABLE orders (id BIGINT, name STRING, price DECIMAL(10, 2), ts TIMESTAMP(3), twice AS price * 2,
      WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, CONSTRAINT pk PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'memory');
    CREATE TABLE plain (id BIGINT, name STRING) WITH ('connector' = 'memory');
    CREATE VIEW part AS SELECT id, name FROM orders;
    CREATE TABLE typo (a INT) WITH ('connector' = 'memmory');
    CREATE TABLE option_typo (a INT) WITH ('connector' = 'datagen', 'rows-per-secnd' = '1');
    CREATE TABLE file (a INT) WITH ('connector' = 'filesystem', 'path' = 'none', 'format' = 'csv');
    CREATE DATABASE full_one;
    CREATE TABLE full_one.t (a INT) WITH ('connector' = 'memory')";

const MISTAKES: &[&str] = &[
    "SELEC 1",
    "SELECT nam FROM orders",
    "SELECT * FROM order_s",
    "SELECT lpadd(name, 1, 'x') FROM orders",
    "SELECT id, SUM(*) FROM orders GROUP BY id",
    "SELECT id, UPPER(*) FROM orders",
    "SET 'table.exec.state.tll' = '1 h'",
    "SET 'table.exec.state.ttl' = 'soon'",
    "SET 'parallelism.default' = '0'",
    "SET 'parallelism.default' = 'many'",
    "SET 'execution.runtime-mode' = 'stream'",
    "SET 'table.local-time-zone' = 'Europe/Berlim'",
    "SET 'table.exec.mini-batch.enabled' = 'yes'",
    "SET 'pipeline.jars' = 'a.jar'",
    "SET 'execution.checkpointing.num-retained' = '0'",
    "SET 'restart-strategy.type' = 'fixed'",
    "SET 'no.such.key.at.all' = 'x'",
    "RESET 'pipeline.nam'",
    "CREATE TABLE plain (a INT) WITH ('connector' = 'memory')",
    "CREATE TABLE t (a INT, a INT) WITH ('connector' = 'memory')",
    "INSERT INTO typo SELECT 1",
    "SELECT * FROM typo",
    "SELECT * FROM option_typo",
    "CREATE TABLE t (a INTT) WITH ('connector' = 'memory')",
    "CREATE TABLE t (a INT, PRIMARY KEY (b) NOT ENFORCED) WITH ('connector' = 'memory')",
    "CREATE TABLE t (a INT, WATERMARK FOR a AS a) WITH ('connector' = 'memory')",
    "CREATE TABLE t (a INT, ts TIMESTAMP(3), WATERMARK FOR ts AS a) WITH ('connector' = 'memory')",
    "CREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR ts AS ts + 'x') WITH ('connector' = 'memory')",
    "CREATE VIEW part AS SELECT 1",
    "CREATE VIEW v (a) AS SELECT 1, 2",
    "CREATE CATALOG c WITH ('type' = 'hive')",
    "CREATE CATALOG default_catalog",
    "CREATE DATABASE full_one",
    "CREATE FUNCTION f AS 'org.example.F' LANGUAGE JAVA",
    "CREATE FUNCTION f AS 'lpda'",
    "DROP TABLE plan",
    "DROP TABLE part",
    "DROP VIEW orders",
    "DROP DATABASE full_one",
    "DROP DATABASE default_database",
    "DROP CATALOG default_catalog",
    "DROP FUNCTION lower",
    "DROP TEMPORARY TABLE plain",
    "ALTER TABLE orders DROP price",
    "ALTER TABLE orders DROP ts",
    "ALTER TABLE orders DROP nam",
    "ALTER TABLE orders RENAME name TO id",
    "ALTER TABLE orders ADD (name STRING)",
    "ALTER TABLE orders ADD PRIMARY KEY (name) NOT ENFORCED",
    "ALTER TABLE plain DROP WATERMARK",
    "ALTER TABLE plain DROP PRIMARY KEY",
    "ALTER TABLE orders DROP CONSTRAINT kp",
    "ALTER TABLE plain RENAME TO orders",
    "ALTER TABLE part SET ('a' = 'b')",
    "ALTER TABLE plain RESET ('connector')",
    "ALTER VIEW orders AS SELECT 1",
    "USE CATALOG default_catalogue",
    "USE full_two",
    "SHOW TABLES FROM full_two",
    "SHOW CREATE TABLE part",
    "SHOW CREATE VIEW plain",
    "SHOW PARTITIONS plain",
    "DESCRIBE ordres",
    "DESCRIBE FUNCTION lowr",
    "DESCRIBE JOB 'job-9'",
    "STOP JOB 'job-9'",
    "INSERT INTO part SELECT 1, 'a'",
    "INSERT INTO plain SELECT 1",
    "INSERT INTO plain (id, nme) SELECT 1, 'a'",
    "INSERT INTO nowhere SELECT 1",
    "EXPLAIN SHOW TABLES",
    "DELETE FROM plain WHERE id = 1",
    "UPDATE plain SET name = 'a'",
    "TRUNCATE TABLE plain",
    "ANALYZE TABLE plain COMPUTE STATISTICS",
    "SELECT id + FROM plain",
    "SELECT id, COUNT(*) FROM plain",
    "SELECT 'a",
    "SELECT CURRENT_DATE + INTERVAL '99999999' DAY",
    "SELECT /*+ STATE_TLL('orders' = '1 d') */ id, COUNT(*) FROM orders GROUP BY id",
    "SELECT /*+ STATE_TTL('order' = '1 d') */ id, COUNT(*) FROM orders GROUP BY id",
    "SELECT /*+ STATE_TTL('orders' = 'soon') */ id, COUNT(*) FROM orders GROUP BY id",
    "SELECT /*+ STATE_TTL('orders') */ id, COUNT(*) FROM orders GROUP BY id",
    "SELECT /*+ STATE_TTL('orders' = '1 d') */ id FROM orders",
    "SELECT /*+ BROADCAST(ordres) */ a.id FROM orders AS a JOIN plain AS b ON a.id = b.id",
    "SELECT /*+ NO_SUCH_THING */ id FROM orders",
    "SELECT * FROM orders /*+ OPTION('a' = 'b') */",
    "SELECT * FROM orders /*+ OPTIONS('late' = 'somewhere') */",
    "SELECT * FROM file /*+ OPTIONS('malformed' = 'somewhere') */",
    "SELECT * FROM file /*+ OPTIONS('malformed' = 'route:plane') */",
    "SELECT * FROM file /*+ OPTIONS('malformed' = 'route:part') */",
    "SELECT * FROM file /*+ OPTIONS('malformed' = 'route:file') */",
    "SELECT * FROM file /*+ OPTIONS('malformed' = 'route:plain') */",
    "SELECT * FROM orders /*+ OPTIONS('malformed' = 'skip') */",
    "CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = 'none', 'format' = 'csv', 'malformed' = 'drop')",
    "SELECT * FROM orders /*+ STATE_TTL('orders' = '1 d') */",
    "SELECT /*+ OPTIONS('a' = 'b') */ id FROM orders",
    "INSERT INTO plain /*+ OPTION('a' = 'b') */ SELECT id, name FROM orders",
    "SELECT /*+ LOOKUP('table' = 'p', 'async' = 'true') */ o.id FROM (SELECT id, PROCTIME() AS pt FROM orders) AS o JOIN plain FOR SYSTEM_TIME AS OF o.pt AS p ON o.id = p.id",
    "SELECT /*+ LOOKUP('table' = 'p', 'retry-predicate' = 'lookup_miss', 'max-attempts' = '0') */ o.id FROM (SELECT id, PROCTIME() AS pt FROM orders) AS o JOIN plain FOR SYSTEM_TIME AS OF o.pt AS p ON o.id = p.id",
    "SELECT /*+ LOOKUP('table' = 'p', 'retry-predicate' = 'lookup_miss') */ o.id FROM (SELECT id, PROCTIME() AS pt FROM orders) AS o JOIN plain FOR SYSTEM_TIME AS OF o.pt AS p ON o.id = p.id",
    "SELECT /*+ LOOKUP('table' = 'p', 'shufle' = 'true') */ o.id FROM (SELECT id, PROCTIME() AS pt FROM orders) AS o JOIN plain FOR SYSTEM_TIME AS OF o.pt AS p ON o.id = p.id",
    "SELECT /*+ LOOKUP('table' = 'p', 'shuffle' = 'yes') */ o.id FROM (SELECT id, PROCTIME() AS pt FROM orders) AS o JOIN plain FOR SYSTEM_TIME AS OF o.pt AS p ON o.id = p.id",
    "SELECT /*+ LOOKUP('shuffle' = 'true') */ o.id FROM (SELECT id, PROCTIME() AS pt FROM orders) AS o JOIN plain FOR SYSTEM_TIME AS OF o.pt AS p ON o.id = p.id",
    "SELECT /*+ LOOKUP('table' = 'o') */ o.id FROM (SELECT id, PROCTIME() AS pt FROM orders) AS o JOIN plain FOR SYSTEM_TIME AS OF o.pt AS p ON o.id = p.id",
];

#[test]
fn every_mistake_is_shown_with_its_place_and_a_mend() {
    let mut registry = Registry::new();
    flugs_tables::register(&mut registry);
    flugs_files::table::register(&mut registry);
    flugs_formats::columns::register(&mut registry);
    let mut env = SqlEnvironment::new(registry);
    env.execute_script(SETUP, |_| Ok(())).unwrap();
    let mut shown = String::new();
    for mistake in MISTAKES {
        let error = match env.execute_sql(mistake).and_then(|mut result| {
            while result.next_batch().is_some() {}
            result.wait()
        }) {
            Ok(_) => "no error".to_owned(),
            Err(error) => error.to_string(),
        };
        let _ = writeln!(shown, "> {mistake}\n{error}\n");
    }
    let path = format!("{}/tests/mistakes/expected.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("FLUGS_BLESS").is_some() {
        std::fs::write(&path, &shown).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    for (shown, expected) in shown.split("\n\n> ").zip(expected.split("\n\n> ")) {
        assert_eq!(shown, expected);
    }
    assert_eq!(shown.len(), expected.len());
}

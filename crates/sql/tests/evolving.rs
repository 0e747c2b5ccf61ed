//! A query is changed while its job runs: a savepoint of the one is where the other goes on.

#[path = "golden/harness/mod.rs"]
#[allow(dead_code, reason = "what the other tests use")]
mod harness;

use flugs_api::Environment;
use flugs_batch::ChangeBatch;
use flugs_checkpoint::MemoryStore;
use flugs_cluster::{Restore, Runtime};
use flugs_sql_parser::{Insert, Statement, split};
use flugs_sql_plan::RuntimeMode;
use flugs_types::{Result, RowKind};
use harness::run::{Session, Way, text};
use harness::table::InputTable;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Half of it is read by the first job.
const TABLE: &[&str] = &[
    "  k STRING, v INT, w INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts",
    "a | 1 | 10 | 2026-01-01 00:00:01",
    "b | 2 | 20 | 2026-01-01 00:00:02",
    "a | 3 | 30 | 2026-01-01 00:00:03",
    "a | 5 | 50 | 2026-01-01 00:00:04",
    "c | 7 | 70 | 2026-01-01 00:00:05",
    "b | 1 | 90 | 2026-01-01 00:00:16",
];

const SINKS: &str = "
    CREATE TABLE s (k STRING, n BIGINT, v INT, more STRING) WITH ('connector' = 'rows', 'table' = 's');
    CREATE TABLE s2 (k STRING, n BIGINT) WITH ('connector' = 'rows', 'table' = 's2');
    CREATE TABLE pairs (k STRING, v INT, name STRING, w INT) WITH ('connector' = 'rows', 'table' = 'pairs');";

/// What a job does that goes on from another's savepoint.
struct Evolution {
    session: Session,
    runtime: Runtime,
}

/// The rows that each sink's table has more than before, and less.
type Net = BTreeMap<String, Vec<String>>;

impl Evolution {
    fn new(parallelism: u32) -> Self {
        let runtime = Runtime::with_workers(2);
        let names: [&str; 4] = ["  id STRING, name STRING", "a | anna", "b | berta", "c | carla"];
        let tables = [InputTable::parse("t append", TABLE), InputTable::parse("names append", &names)];
        let way = Way::new(RuntimeMode::Streaming, parallelism, 1);
        let mut session = Session::new(&tables, "UTC", way, &runtime);
        let declared: Vec<String> = tables.iter().map(InputTable::declaration).collect();
        session.run(&format!("{};{SINKS}", declared.join(";"))).expect("the tables");
        Evolution { session, runtime }
    }

    fn program(&self, script: &str, parallelism: u32) -> Result<Environment> {
        let shown = |e: flugs_sql_parser::SqlError| e.into_error(script);
        let mut inserts: Vec<Insert> = Vec::new();
        for piece in split(script) {
            match piece.parse().map_err(shown)?.statement {
                Statement::Insert(insert) => inserts.push(insert),
                other => panic!("no insert: {other:?}"),
            }
        }
        let plan = self.session.planner(parallelism).inserts(&inserts).map_err(shown)?;
        let program = self.session.program(&plan, parallelism)?;
        program.runtime(&self.runtime);
        Ok(program)
    }

    /// Runs `first` up to the middle, and `then` from there on at another parallelism; gives what `then` made of the tables.
    fn run(&mut self, first: &str, then: &str, ignoring: bool) -> Result<Net> {
        self.run_in("UTC", first, then, ignoring)
    }

    /// The same where `then` runs in another time zone.
    fn run_in(&mut self, zone: &str, first: &str, then: &str, ignoring: bool) -> Result<Net> {
        let store = Arc::new(MemoryStore::default());
        let savepoint = self.session.stopped(&self.program(first, 2)?, &store)?;
        let connector = self.session.connector.clone();
        let written = || connector.written.lock().expect("written").clone();
        let before: BTreeMap<String, usize> =
            written().iter().map(|(name, sink)| (name.clone(), sink.committed().len())).collect();
        zone.clone_into(&mut self.session.config.time_zone);
        let program = self.program(then, 3)?;
        program.checkpoint_store(store).restore(Restore::Path(savepoint));
        program.allow_non_restored_state(ignoring);
        program.execute()?;
        let mut net = Net::new();
        for (name, sink) in written() {
            let skipped = before.get(&name).copied().unwrap_or(0);
            net.insert(name, added(&sink.committed()[skipped..])?);
        }
        Ok(net)
    }
}

/// The rows that some changes add to a table, sorted; those that they take away with a minus before them.
fn added(batches: &[ChangeBatch]) -> Result<Vec<String>> {
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    for batch in batches {
        for (kind, row) in text(batch)? {
            let by = if matches!(kind, RowKind::Insert | RowKind::UpdateAfter) { 1 } else { -1 };
            *counts.entry(row).or_default() += by;
        }
    }
    let lines = counts.into_iter().filter(|(_, n)| *n != 0);
    let mut lines: Vec<String> = lines.map(|(row, n)| if n > 0 { row } else { format!("- {row}") }).collect();
    lines.sort();
    Ok(lines)
}

fn evolved(first: &str, then: &str) -> Net {
    Evolution::new(2).run(first, then, false).unwrap_or_else(|e| panic!("{first}\n{then}\n{e}"))
}

fn refused(first: &str, then: &str) -> String {
    match Evolution::new(2).run(first, then, false) {
        Err(e) => e.to_string(),
        Ok(net) => panic!("{first}\n{then}\n{net:?}"),
    }
}

const COUNTS: &str = "INSERT INTO s (k, n, v) SELECT k, COUNT(*), SUM(v) FROM t GROUP BY k";

/// What the second half of the table adds to these counts.
const MORE_COUNTS: [&str; 5] =
    ["- a | 2 | 4 | NULL", "- b | 1 | 2 | NULL", "a | 3 | 9 | NULL", "b | 2 | 3 | NULL", "c | 1 | 7 | NULL"];

#[test]
fn an_alias_and_the_order_of_columns() {
    let then = "INSERT INTO s (k, n, v) SELECT name_, much, total FROM
        (SELECT SUM(x) AS total, k AS name_, COUNT(*) AS much FROM (SELECT v AS x, k, w FROM t) AS z GROUP BY k)";
    let net = evolved(COUNTS, then);
    assert_eq!(net["s"], MORE_COUNTS);
}

#[test]
fn one_more_column() {
    let net = evolved(COUNTS, "INSERT INTO s SELECT k, COUNT(*), SUM(v), UPPER(k) FROM t GROUP BY k");
    assert_eq!(
        net["s"],
        ["- a | 2 | 4 | A", "- b | 1 | 2 | B", "a | 3 | 9 | A", "b | 2 | 3 | B", "c | 1 | 7 | C"]
    );
}

const WINDOWS: &str = "INSERT INTO s2 SELECT k, SUM(v) FROM TABLE(TUMBLE(TABLE t /*+ OPTIONS('late' = 'drop') */, \
    DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end";

#[test]
fn a_table_that_is_read_in_two_ways() {
    let (first, then) = (format!("{COUNTS};{WINDOWS}"), format!("{WINDOWS};{COUNTS}"));
    let net = evolved(&first, &then);
    assert_eq!(net["s"], MORE_COUNTS);
    assert_eq!(net["s2"], ["a | 9", "b | 1", "b | 2", "c | 7"], "each goes on where it was");
    // One of them alone cannot tell which positions are its own.
    let error = refused(COUNTS, &then);
    assert!(error.contains("dropped   default_catalog.default_database.t (uid source:"), "{error}");
}

#[test]
fn a_second_insert() {
    let second = "INSERT INTO s2 SELECT k, MAX(w) FROM t WHERE w > 15 GROUP BY k";
    let net = evolved(COUNTS, &format!("{second};{COUNTS}"));
    assert_eq!(net["s"], MORE_COUNTS);
    // It begins where the table's reading goes on.
    assert_eq!(net["s2"], ["a | 50", "b | 90", "c | 70"]);
}

#[test]
fn a_filter_behind_the_aggregate() {
    let then = "INSERT INTO s (k, n, v) SELECT * FROM (SELECT k, COUNT(*) AS n, SUM(v) AS v FROM t GROUP BY k) WHERE n > 1";
    let net = evolved(COUNTS, then);
    assert_eq!(net["s"], ["- a | 2 | 4 | NULL", "a | 3 | 9 | NULL", "b | 2 | 3 | NULL"]);
}

#[test]
fn a_window_that_was_open() {
    let first = "INSERT INTO s (k, n) SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND))
        GROUP BY k, window_start, window_end";
    let then = "INSERT INTO s SELECT k, much, CAST(NULL AS INT), DATE_FORMAT(window_start, 'ss') FROM
        (SELECT k, window_end, COUNT(*) AS much, window_start
         FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end)";
    let net = evolved(first, then);
    assert_eq!(
        net["s"],
        ["a | 3 | NULL | 00", "b | 1 | NULL | 00", "b | 1 | NULL | 10", "c | 1 | NULL | 00"]
    );
}

#[test]
fn an_aggregate_more_is_refused() {
    let then = "INSERT INTO s SELECT k, COUNT(*), SUM(v), MAX(k) FROM t GROUP BY k";
    let told = refused(COUNTS, then);
    assert!(
        told.contains("GroupAggregate") && told.contains("has state that the job does not take"),
        "{told}"
    );
    // Unless it is said that the aggregate may begin anew.
    let net = Evolution::new(2).run(COUNTS, then, true).expect("a new beginning");
    assert_eq!(net["s"], ["a | 1 | 5 | a", "b | 1 | 1 | b", "c | 1 | 7 | c"]);
}

#[test]
fn another_condition_below_is_refused() {
    refused(COUNTS, "INSERT INTO s (k, n, v) SELECT k, COUNT(*), SUM(v) FROM t WHERE w > 0 GROUP BY k");
}

#[test]
fn a_join_keeps_its_rows_or_says_which_columns_they_lack() {
    let first = "INSERT INTO pairs (k, v, name) SELECT t.k, t.v, n.name FROM t JOIN names AS n ON t.k = n.id";
    let renamed = "INSERT INTO pairs (k, v, name) SELECT x.k, x.v, UPPER(y.name) FROM t AS x JOIN names AS y ON y.id = x.k";
    let net = evolved(first, renamed);
    // Half of the names were read, and found the rows that came before them.
    let expected =
        ["a | 5 | ANNA | NULL", "b | 1 | BERTA | NULL", "b | 2 | BERTA | NULL", "c | 7 | CARLA | NULL"];
    assert_eq!(net["pairs"], expected);
    let wider = "INSERT INTO pairs SELECT t.k, t.v, n.name, t.w FROM t JOIN names AS n ON t.k = n.id";
    let told = refused(first, wider);
    assert!(told.contains("computes the same and keeps other columns of its rows"), "{told}");
}

#[test]
fn keys_of_local_time_in_another_zone() {
    let in_tokyo = |query: &str| Evolution::new(2).run_in("Asia/Tokyo", query, query, false);
    let keys = [
        "DATE_FORMAT(CAST(ts AS TIMESTAMP_LTZ(3)), 'HH')",
        "CAST(HOUR(TO_TIMESTAMP_LTZ(v, 3)) AS STRING)",
        "CAST(FLOOR(TO_TIMESTAMP_LTZ(v, 3) TO DAY) AS STRING)",
    ];
    for key in keys {
        let counts = format!("INSERT INTO s2 SELECT {key}, COUNT(*) FROM t GROUP BY {key}");
        let error = in_tokyo(&counts).expect_err(key).to_string();
        assert!(error.contains("GroupAggregate"), "{error}");
    }
    // What is a matter of no zone goes on.
    let counts = in_tokyo(COUNTS).expect("the same keys");
    assert_eq!(counts["s"], MORE_COUNTS);
    let hours = "INSERT INTO s2 SELECT DATE_FORMAT(ts, 'HH'), COUNT(*) FROM t GROUP BY DATE_FORMAT(ts, 'HH')";
    assert_eq!(in_tokyo(hours).expect("no instants")["s2"], ["- 00 | 3", "00 | 6"]);
}

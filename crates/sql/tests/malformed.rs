//! Records that cannot be read: `'malformed' = 'fail' | 'skip' | 'route:TABLE'`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use flugs_cluster::JobStatus;
use flugs_sql::SqlEnvironment;
use flugs_table::Registry;
use flugs_types::Result;
use std::fmt::Write as _;
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::Duration;
use support::sorted_rows;
use tempfile::TempDir;

/// A session, and a folder that `/data` in scripts stands for.
struct Session {
    env: SqlEnvironment,
    folder: TempDir,
}

impl Session {
    fn new(mode: &str) -> Self {
        let mut registry = Registry::new();
        flugs_tables::register(&mut registry);
        flugs_files::table::register(&mut registry);
        flugs_socket::table::register(&mut registry);
        flugs_formats::columns::register(&mut registry);
        let folder = tempfile::tempdir().unwrap();
        let mut session = Session { env: SqlEnvironment::new(registry), folder };
        session.run(&format!("SET 'execution.runtime-mode' = '{mode}'; SET 'parallelism.default' = '2'"));
        session.run(
            "CREATE TABLE dead (source STRING, record STRING, error STRING, `position` STRING, note INT)
             WITH ('connector' = 'filesystem', 'path' = '/data/dead', 'format' = 'json')",
        );
        session
    }

    fn file(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn real(&self, script: &str) -> String {
        script.replace("/data", &self.folder.path().display().to_string())
    }

    fn run(&mut self, script: &str) -> Vec<String> {
        self.tried(script).unwrap_or_else(|e| panic!("{script}: {e}"))
    }

    fn refused(&mut self, script: &str) -> String {
        self.tried(script).expect_err(script).to_string()
    }

    /// The rows of the last result, sorted.
    fn tried(&mut self, script: &str) -> Result<Vec<String>> {
        let (script, place) = (self.real(script), self.real("/data"));
        let rows = sorted_rows(&mut self.env, &script)?;
        Ok(rows.into_iter().map(|row| row.replace(&place, "/data")).collect())
    }

    /// A table `t` of a file of this format.
    fn table(&mut self, columns: &str, format: &str, bytes: &[u8], options: &str) {
        self.file("t/a", bytes);
        self.run(&format!(
            "CREATE TABLE t ({columns}) WITH ('connector' = 'filesystem', 'path' = '/data/t', 'format' = '{format}'{options})"
        ));
    }

    fn dead(&mut self) -> Vec<String> {
        self.run("SELECT record, error, `position` FROM dead")
    }
}

const MODES: [&str; 2] = ["streaming", "batch"];
const ROUTED: &str = ", 'malformed' = 'route:dead'";
const IGNORING: &str = ", 'malformed' = 'route:dead', 'csv.ignore-parse-errors' = 'true'";
const CSV: &[u8] = b"1,a\nx,b\n2,c\n3\n4,\"d\n";

#[test]
fn csv() {
    for mode in MODES {
        let mut session = Session::new(mode);
        session.table("n INT, w STRING", "csv", CSV, ROUTED);
        assert_eq!(session.run("SELECT * FROM t"), ["1 | a", "2 | c"]);
        assert_eq!(
            session.dead(),
            [
                "3 | a record of 2 fields expected, 1 found | /data/t/a#0-19, line 4, byte 12",
                "4,\"d | this quoted field has no closing quote (column 3) | /data/t/a#0-19, line 5, byte 14",
                "x,b | INT expected, 'x' found (field `n`, number 1) | /data/t/a#0-19, line 2, byte 4",
            ]
        );
        assert_eq!(
            session.run("SELECT DISTINCT source, note FROM dead"),
            ["default_catalog.default_database.t | <NULL>"]
        );
        // What a query does not read is not looked at.
        session.run("DROP TABLE dead; CREATE TABLE dead (record BYTES) WITH ('connector' = 'memory')");
        assert_eq!(session.run("SELECT w FROM t WHERE w <> 'a'"), ["b", "c"]);
        assert_eq!(session.run("SELECT * FROM dead"), ["x'33'", "x'342c2264'"]);
    }
}

#[test]
fn json() {
    let lines =
        b"{\"n\": 1, \"w\": \"a\"}\n{\"n\": \n\n{\"n\": \"x\", \"w\": \"b\"}\n[1]\n{\"n\": 2}\n\xff\n";
    for mode in MODES {
        let mut session = Session::new(mode);
        session.table("n INT, w STRING", "json", lines, ROUTED);
        assert_eq!(session.run("SELECT * FROM t"), ["1 | a", "2 | <NULL>"]);
        assert_eq!(
            session.dead(),
            [
                "<NULL> | UTF-8 expected, byte 0xff found (column 1) | /data/t/a#0-63, line 7, byte 61",
                "[1] | a JSON object expected (column 1) | /data/t/a#0-63, line 5, byte 48",
                "{\"n\":  | a JSON value expected, the end found (field `n`, column 7) | /data/t/a#0-63, line 2, byte 19",
                "{\"n\": \"x\", \"w\": \"b\"} | INT expected, 'x' found (field `n`, column 6) | /data/t/a#0-63, line 4, byte 27",
            ]
        );
        // As bytes there is every record.
        session.run("CREATE TABLE bytes (record BYTES NOT NULL) WITH ('connector' = 'memory')");
        session.run("SELECT * FROM t /*+ OPTIONS('malformed' = 'route:bytes') */");
        let others = ["x'5b315d'", "x'7b226e223a20'", "x'7b226e223a202278222c202277223a202262227d'", "x'ff'"];
        assert_eq!(session.run("SELECT * FROM bytes"), others);
        assert_eq!(session.dead().len(), 4);
    }
}

#[test]
fn debezium_json() {
    let lines = b"{\"before\": null, \"after\": {\"k\": 1, \"v\": 5}, \"op\": \"c\"}\n\
        {\"after\": {\"k\": 1}, \"op\": \"?\"}\n\
        {\"before\": {\"k\": 1, \"v\": 5}, \"after\": {\"k\": 1, \"v\": 7}, \"op\": \"u\"}\n\
        {\"op\": \"c\"}\n\
        {\"before\": null, \"after\": {\"k\": 2, \"v\": 8}, \"op\": \"c\"}\n";
    for mode in MODES {
        let mut session = Session::new(mode);
        session.table("k INT, v INT", "debezium-json", lines, ROUTED);
        assert_eq!(session.run("SELECT k, SUM(v) FROM t GROUP BY k"), ["1 | 7", "2 | 8"]);
        let dead = session.run("SELECT record, error FROM dead");
        assert_eq!(
            dead,
            [
                "{\"after\": {\"k\": 1}, \"op\": \"?\"} | the op \"c\", \"r\", \"u\" or \"d\" expected, \"?\" found (column 27)",
                "{\"op\": \"c\"} | field 'after' expected with the op \"c\"; is the whole row logged? (column 8)",
            ]
        );
    }
}

#[test]
fn raw() {
    for mode in MODES {
        let mut session = Session::new(mode);
        session.table("n INT", "raw", b"\x00\x00\x01\x02\nabc\n\nabcd\n", ROUTED);
        assert_eq!(session.run("SELECT n FROM t"), ["1633837924", "258"]);
        assert_eq!(
            session.dead(),
            [
                " | INT of 4 bytes expected, a record of 0 bytes found | /data/t/a#0-15, line 3, byte 9",
                "abc | INT of 4 bytes expected, a record of 3 bytes found | /data/t/a#0-15, line 2, byte 5",
            ]
        );
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the other side of the connection")]
fn socket() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = thread::spawn(move || listener.accept().unwrap().0.write_all(CSV).unwrap());
    let mut session = Session::new("streaming");
    session.run(&format!(
        "CREATE TABLE t (n INT, w STRING) WITH ('connector' = 'socket', 'hostname' = '127.0.0.1', 'port' = '{port}',
         'format' = 'csv'{ROUTED})"
    ));
    assert_eq!(session.run("SELECT * FROM t"), ["1 | a", "2 | c"]);
    served.join().unwrap();
    assert_eq!(
        session.run(&format!("SELECT record, REPLACE(`position`, '{port}', 'PORT') FROM dead")),
        [
            "3 | 127.0.0.1:PORT, line 4, byte 12 of the connection",
            "4,\"d | 127.0.0.1:PORT, line 5, byte 14 of the connection",
            "x,b | 127.0.0.1:PORT, line 2, byte 4 of the connection",
        ]
    );
}

#[test]
fn every_record_is_counted_or_malformed_where_no_field_is_read() {
    let json = b"{\"n\": 1}\n{\"n\": \n\n{\"n\": \"x\", \"w\": \"b\"}\n[1]\n{\"n\": 2}\n\xff\n";
    let debezium =
        b"{\"op\": \"c\"}\n{\"before\": null, \"after\": {\"n\": \"k\"}, \"op\": \"c\"}\n{\"op\": \n";
    for (format, bytes, count, dead) in [
        ("csv", CSV, "3", vec!["3", "4,\"d"]),
        ("json", json, "3", vec!["<NULL>", "[1]", "{\"n\": "]),
        ("debezium-json", debezium, "1", vec!["{\"op\": ", "{\"op\": \"c\"}"]),
    ] {
        let mut session = Session::new("streaming");
        session.table("n INT, w STRING", format, bytes, ROUTED);
        assert_eq!(session.run("SELECT COUNT(*) FROM t"), [count]);
        assert_eq!(session.run("SELECT record FROM dead"), dead);
    }
}

#[test]
fn a_record_gives_a_row_or_is_malformed() {
    for mode in MODES {
        let mut session = Session::new(mode);
        session.table("n INT, w STRING", "csv", CSV, IGNORING);
        let rows = ["1 | a", "2 | c", "3 | <NULL>", "<NULL> | b"];
        assert_eq!(session.run("SELECT * FROM t"), rows);
        assert_eq!(session.run("SELECT record FROM dead"), ["4,\"d"]);
        // The option goes before what the format says of whole records, and says nothing of fields.
        assert_eq!(session.run("SELECT * FROM t /*+ OPTIONS('malformed' = 'skip') */"), rows);
        let failed = session.refused("SELECT * FROM t /*+ OPTIONS('malformed' = 'fail') */");
        assert!(failed.contains("no closing quote") && failed.contains("line 5, byte 14"), "{failed}");
        assert_eq!(session.run("SELECT record FROM dead"), ["4,\"d"]);
    }
}

#[test]
fn without_the_option_the_format_says_what_is_done() {
    for mode in MODES {
        let mut session = Session::new(mode);
        session.table("n INT, w STRING", "csv", CSV, "");
        let failed = session.refused("SELECT * FROM t");
        assert!(failed.contains("INT expected, 'x' found") && failed.contains("line 2, byte 4"), "{failed}");
        let ignoring = "SELECT * FROM t /*+ OPTIONS('csv.ignore-parse-errors' = 'true') */";
        assert_eq!(session.run(ignoring).len(), 4);
        assert_eq!(session.run("SELECT * FROM t /*+ OPTIONS('malformed' = 'skip') */"), ["1 | a", "2 | c"]);
        assert!(!session.folder.path().join("dead").exists());
    }
}

/// How many sinks of a plan write malformed records.
fn sinks(plan: &[String]) -> usize {
    plan.join("\n").split("Sink(table=[").skip(1).filter(|sink| sink.contains("MalformedRecords")).count()
}

#[test]
fn a_table_that_is_read_twice_gives_its_records_once() {
    for mode in MODES {
        let mut session = Session::new(mode);
        session.file("p/dt=1/a", "1\nx\n");
        session.file("p/dt=2/a", "2\ny\n");
        session.run(
            "CREATE TABLE p (n INT, dt INT) PARTITIONED BY (dt) WITH ('connector' = 'filesystem', 'path' = '/data/p',
             'format' = 'csv', 'malformed' = 'route:dead')",
        );
        let dead = "SELECT record FROM dead";
        let both = "SELECT n FROM p WHERE dt = 1 UNION ALL SELECT n + 10 FROM p WHERE dt IN (1, 2)";
        assert_eq!(session.run(both), ["1", "11", "12"]);
        assert_eq!(session.run(dead), ["x", "y"]);
        assert_eq!(session.run("SELECT a.n FROM p AS a JOIN p AS b ON a.n = b.n AND b.dt = 2"), ["2"]);
        assert_eq!(session.run(dead), ["x", "x", "y", "y"]);
        session.run("CREATE TABLE s1 (n INT) WITH ('connector' = 'memory'); CREATE TABLE s2 (n BIGINT) WITH ('connector' = 'memory')");
        session.run(
            "EXECUTE STATEMENT SET BEGIN INSERT INTO s1 SELECT n FROM p; INSERT INTO s2 SELECT COUNT(n) FROM p WHERE dt = 2; END",
        );
        assert_eq!(session.run(dead), ["x", "x", "x", "y", "y", "y"]);
        // Files of partitions that nobody reads are not opened.
        session.run("SELECT n FROM p WHERE dt = 2");
        assert_eq!(session.run(dead), ["x", "x", "x", "y", "y", "y", "y"]);
        assert_eq!(sinks(&session.run(&format!("EXPLAIN {both}"))), 1);
    }
}

#[test]
fn one_table_takes_the_records_of_several() {
    for mode in MODES {
        let mut session = Session::new(mode);
        session.file("a/a", "1\nx\n");
        session.file("b/b", "2\ny\nz\n");
        for name in ["a", "b"] {
            session.run(&format!(
                "CREATE TABLE {name} (n INT) WITH ('connector' = 'filesystem', 'path' = '/data/{name}', 'format' = 'csv',
                 'malformed' = 'route:default_database.dead')"
            ));
        }
        session.run("CREATE TABLE other (record STRING) WITH ('connector' = 'memory')");
        let query = "SELECT * FROM a UNION ALL SELECT * FROM b";
        let plan = session.run(&format!("EXPLAIN {query}"));
        assert_eq!(sinks(&plan), 1);
        assert!(
            plan.join("\n").contains("malformed=[route: default_catalog.default_database.dead]"),
            "{plan:?}"
        );
        assert_eq!(session.run(query), ["1", "2"]);
        let dead = "SELECT SPLIT_INDEX(source, '.', 2), record FROM dead";
        assert_eq!(session.run(dead), ["a | x", "b | y", "b | z"]);
        // A hint has it otherwise for one of them.
        let hinted = format!("{query} /*+ OPTIONS('malformed' = 'route:other') */");
        assert_eq!(sinks(&session.run(&format!("EXPLAIN {hinted}"))), 2);
        assert_eq!(session.run(&hinted), ["1", "2"]);
        assert_eq!(session.run("SELECT * FROM other"), ["y", "z"]);
        assert_eq!(session.run(dead), ["a | x", "a | x", "b | y", "b | z"]);
    }
}

#[test]
fn tables_that_rows_are_looked_up_in_skip_theirs() {
    let mut session = Session::new("streaming");
    session.table("n INT, w STRING", "csv", CSV, ROUTED);
    session.run("CREATE VIEW o AS SELECT n, PROCTIME() AS pt FROM (VALUES (1), (2), (3)) AS v(n)");
    let query = "SELECT o.n, d.w FROM o JOIN t HINT FOR SYSTEM_TIME AS OF o.pt AS d ON o.n = d.n";
    let refused = session.refused(&query.replace("HINT", ""));
    assert!(refused.contains("are looked up, and malformed records cannot be routed then"), "{refused}");
    let skipping = query.replace("HINT", "/*+ OPTIONS('malformed' = 'skip') */");
    assert_eq!(session.run(&skipping), ["1 | a", "2 | c"]);
}

#[test]
fn mistakes() {
    let mut session = Session::new("streaming");
    session.table("n INT, w STRING", "csv", CSV, "");
    session.run("CREATE VIEW now AS SELECT * FROM dead");
    session.run("CREATE TABLE other (a INT) WITH ('connector' = 'memory')");
    session.run("CREATE TABLE wrong (error INT) WITH ('connector' = 'memory')");
    session.run("CREATE TABLE needs (error STRING, a INT NOT NULL) WITH ('connector' = 'memory')");
    session.run("CREATE TABLE text (record STRING NOT NULL) WITH ('connector' = 'memory')");
    session.run("CREATE TABLE m (a INT) WITH ('connector' = 'memory')");
    session.run("CREATE TABLE pq (a INT) WITH ('connector' = 'filesystem', 'path' = '/data/pq', 'format' = 'parquet')");
    let mut of = |table: &str, value: &str| {
        session.refused(&format!("SELECT * FROM {table} /*+ OPTIONS('malformed' = '{value}') */"))
    };
    for (table, value, expected) in [
        ("t", "drop", "the option 'malformed' is 'fail', 'skip' or 'route:TABLE', not 'drop'"),
        ("t", "route:", "the option 'malformed' is 'fail', 'skip' or 'route:TABLE', not 'route:'"),
        ("t", "route:deed", "did you mean"),
        (
            "t",
            "route:now",
            "malformed records cannot be written to 'default_catalog.default_database.now', which is a view",
        ),
        ("t", "route:t", "cannot go to the table that they are of"),
        ("t", "route:other", "has none of the columns of malformed records"),
        ("t", "route:other", "declare some of: record BYTES, error STRING, `position` STRING, source STRING"),
        (
            "t",
            "route:wrong",
            "column 'error' of table 'default_catalog.default_database.wrong' is INT, and takes STRING",
        ),
        ("t", "route:needs", "column 'a' of table 'default_catalog.default_database.needs' is NOT NULL"),
        ("t", "route:text", "column 'record' of table 'default_catalog.default_database.text' is NOT NULL"),
        ("m", "skip", "has no records that a format decodes"),
        ("pq", "route:dead", "has no records that a format decodes"),
    ] {
        let error = of(table, value);
        assert!(error.contains(expected), "{table} {value}: {error}");
    }
    // A declaration is checked as well.
    let declared = |option: &str| {
        format!(
            "CREATE TABLE u (a INT) WITH ('connector' = 'filesystem', 'path' = '/data/u', 'format' = 'csv', 'malformed' = '{option}')"
        )
    };
    assert!(session.refused(&declared("no")).contains("is 'fail', 'skip' or 'route:TABLE', not 'no'"));
    assert!(session.refused(&declared("route:deed")).contains("did you mean"));
    session.run(
        "CREATE TABLE w (a INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'filesystem', \
                 'path' = '/data/w', 'format' = 'csv', 'malformed' = 'route:dead')",
    );
    let window = |late: &str| {
        format!(
            "SELECT TUMBLE_START(ts, INTERVAL '1' SECOND), COUNT(*) FROM w {late} GROUP BY TUMBLE(ts, INTERVAL '1' SECOND)"
        )
    };
    let twice = format!("{} UNION ALL {}", window(""), window("/*+ OPTIONS('late' = 'drop') */"));
    assert!(session.refused(&twice).contains("is read twice, with different options of its late rows"));
}

/// Lines of numbers, every seventh of which is none.
fn numbers(from: u64, to: u64) -> String {
    (from..to).fold(String::new(), |mut lines, n| {
        let _ = if n % 7 == 3 { writeln!(lines, "{n}!") } else { writeln!(lines, "{n}") };
        lines
    })
}

/// How many lines of the files in a folder are there more than once, and how many there are; hidden files are none.
fn lines(folder: &Path) -> (usize, usize) {
    let mut lines: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if !path.file_name().unwrap().to_string_lossy().starts_with(['.', '_']) {
            lines.extend(std::fs::read_to_string(path).unwrap().lines().map(str::to_owned));
        }
    }
    let all = lines.len();
    lines.sort();
    lines.dedup();
    (all - lines.len(), all)
}

#[test]
fn over_kills_and_savepoints_each_record_is_written_once() {
    const EACH: u64 = 50_000;
    const FILES: u64 = 8;
    let mut session = Session::new("streaming");
    for file in 0..FILES {
        session.file(&format!("t/{file}"), numbers(file * EACH, (file + 1) * EACH));
    }
    session.run(
        "CREATE TABLE bad (record STRING) WITH ('connector' = 'filesystem', 'path' = '/data/bad', 'format' = 'csv');
         CREATE TABLE t (n BIGINT) WITH ('connector' = 'filesystem', 'path' = '/data/t', 'format' = 'csv',
           'malformed' = 'route:bad');
         CREATE TABLE good (n BIGINT) WITH ('connector' = 'filesystem', 'path' = '/data/good', 'format' = 'csv');
         SET 'execution.checkpointing.interval' = '5 ms'; SET 'execution.checkpointing.dir' = '/data/checkpoints';
         SET 'pipeline.name' = 'numbers'",
    );
    let (mut stopped, mut done) = (0, false);
    for (run, parallelism) in [2, 3, 1, 4, 2].into_iter().enumerate() {
        session.run(&format!("SET 'parallelism.default' = '{parallelism}'"));
        let result = session.env.execute_sql("INSERT INTO good SELECT n FROM t").unwrap();
        let job = result.job().unwrap().handle.clone();
        if run == 4 {
            done = job.wait().unwrap().status == JobStatus::Finished;
            break;
        }
        let written = job.wait_until(Duration::from_secs(60), |report| report.checkpoints >= 1);
        stopped += usize::from(!written.status.is_terminal());
        let from = if run % 2 == 0 {
            job.cancel();
            "latest".to_owned()
        } else {
            job.stop_with_savepoint(false).wait().unwrap_or_else(|_| "latest".to_owned())
        };
        let _ = job.wait();
        session.run(&format!("SET 'execution.savepoint.path' = '{from}'"));
    }
    assert!(done && stopped >= 1, "stopped {stopped} times");
    let malformed = (0..EACH * FILES).filter(|n| n % 7 == 3).count();
    let all = usize::try_from(EACH * FILES).unwrap();
    assert_eq!(lines(&session.folder.path().join("bad")), (0, malformed));
    assert_eq!(lines(&session.folder.path().join("good")), (0, all - malformed));
}

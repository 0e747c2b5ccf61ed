//! The command as a process: exit codes, and what goes where.

#![allow(clippy::unwrap_used, reason = "a failure here is that of a test")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn flugs(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_flugs"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn parts(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

const GROUPS: &str = "SELECT a, COUNT(*) AS c FROM (VALUES (1), (2), (1)) AS t(a) GROUP BY a";

#[test]
fn each_format() {
    let run = |format: &str, text: &str| {
        let (code, out, err) =
            parts(&flugs(&["sql", "--parallelism", "1", "--format", format, "-e", text], ""));
        assert_eq!((code, err.as_str()), (Some(0), ""));
        out
    };
    assert_eq!(run("json", GROUPS), "{\"a\":1,\"c\":2}\n{\"a\":2,\"c\":1}\n");
    assert_eq!(run("csv", GROUPS), "a,c\n1,2\n2,1\n");
    assert_eq!(
        run("table", GROUPS),
        "+---+---+\n| a | c |\n+---+---+\n| 1 | 2 |\n| 2 | 1 |\n+---+---+\n2 rows in set\n"
    );
    assert_eq!(run("table", "SELECT 1 AS a LIMIT 0"), "Empty set\n");
    let changes = run("changelog", GROUPS);
    let first: serde_json::Value = serde_json::from_str(changes.lines().next().unwrap()).unwrap();
    assert_eq!((&first["op"], &first["row"]["a"]), (&"+I".into(), &1.into()));
}

#[test]
fn a_failing_statement_ends_the_script() {
    let script = "SELECT 1 AS a;\nSELECT nope FROM (VALUES (1)) AS t(a);\nSELECT 2 AS b;";
    let (code, out, err) = parts(&flugs(&["sql", "--format", "json", "-e", script], ""));
    assert_eq!((code, out.as_str()), (Some(1), "{\"a\":1}\n"));
    assert!(err.contains("--> line 2, column 8\n") && err.contains("  |        ^^^^\n"), "{err}");
    let (code, out, err) = parts(&flugs(&["sql", "--format", "json", "-e", "SELECT 1 / 0 AS a"], ""));
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(err.starts_with("error: "), "{err}");
}

#[test]
fn rows_before_a_failing_one_are_shown_and_no_empty_set() {
    let run = |format: &str, text: &str| {
        let (code, out, err) =
            parts(&flugs(&["sql", "--parallelism", "1", "--format", format, "-e", text], ""));
        assert_eq!(code, Some(1), "{out}");
        (out, err)
    };
    let quotients = "SELECT 10 / n AS q FROM (VALUES (1), (2), (0), (5)) AS t(n)";
    let by_zero = "error: bad data: division by zero: 10 / column1, where column1 is 0 \
                   (at operator 'Calc', subtask 1/1); write NULLIF(column1, 0) in place of the divisor to get NULL, \
                   or filter such rows out\n";
    assert_eq!(run("json", quotients), ("{\"q\":10}\n{\"q\":5}\n".to_owned(), by_zero.to_owned()));
    let table = "+----+\n|  q |\n+----+\n| 10 |\n|  5 |\n+----+\n2 rows before the end of the query\n";
    assert_eq!(run("table", quotients), (table.to_owned(), by_zero.to_owned()));
    let none = run("table", "SELECT CAST(s AS INT) AS i FROM (VALUES ('x'), ('1')) AS t(s)");
    assert_eq!(
        none,
        (
            String::new(),
            "error: bad data: CAST(column1 AS INT): cannot cast 'x' to INT: it is not a number, where column1 is 'x' \
             (at operator 'Calc', subtask 1/1); TRY_CAST gives NULL instead\n"
                .to_owned()
        )
    );
    // The mend that each error names.
    let (code, out, err) = parts(&flugs(
        &[
            "sql",
            "--parallelism",
            "1",
            "--format",
            "csv",
            "-e",
            "SELECT 10 / NULLIF(n, 0) AS q, TRY_CAST(s AS INT) AS i FROM (VALUES (0, 'x'), (5, '7')) AS t(n, s)",
        ],
        "",
    ));
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "q,i\n,\n2,7\n", ""));
}

#[test]
fn a_failing_query_ends_neither_the_process_nor_the_rows_that_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    let script = format!(
        "CREATE TABLE t (n INT, s STRING) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv');
         INSERT INTO t VALUES (1, 'a'), (0, 'b');
         SELECT 1 / n AS q FROM t;
         SELECT 2 AS never;"
    );
    let (code, _, err) = parts(&flugs(&["sql", "--format", "json", "-e", &script], ""));
    assert_eq!(code, Some(1));
    assert!(err.contains("division by zero: 1 / n, where n is 0"), "{err}");
    let read = "SELECT COUNT(*) AS n FROM t;";
    let again = format!("{};{read}", script.split(';').next().unwrap());
    let (code, out, err) = parts(&flugs(&["sql", "--format", "csv", "-e", &again], ""));
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "n\n2\n", ""));
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    let wrong: [&[&str]; 8] = [
        &["sql", "--nope"],
        &["sqll"],
        &["sql", "--parallelism", "0", "-e", "SELECT 1"],
        &["sql", "-D", "table.exec.state.tll=1", "-e", "SELECT 1"],
        &["sql", "-e", "SELECT 1", "-f", "x.sql"],
        &["bench", "nexmark", "--queries", "q0", "--events", "1000", "--parallelism", "0"],
        &["bench", "nexmark", "--queries", "q0", "--events", "0"],
        &["bench", "nexmark", "--queries", "q0", "--events", "1000", "--rate", "0"],
    ];
    for arguments in wrong {
        let (code, out, err) = parts(&flugs(arguments, ""));
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(!err.is_empty());
    }
}

#[test]
fn scripts_come_from_files_and_from_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let init = folder.path().join("init.sql");
    std::fs::write(&init, "CREATE VIEW v AS SELECT 7 AS a;").unwrap();
    let init = init.to_str().unwrap();
    let (code, out, _) =
        parts(&flugs(&["sql", "-i", init, "--format", "json"], "SELECT * FROM v; QUIT; SELECT 1;"));
    assert_eq!((code, out.as_str()), (Some(0), "{\"a\":7}\n"));
    let (code, out, err) = parts(&flugs(&["sql", "-f", "/nowhere/x.sql"], ""));
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(err.contains("/nowhere/x.sql"), "{err}");
}

#[test]
fn warnings_are_no_results() {
    let script = "SET 'pipeline.object-reuse' = 'true'; SELECT 1 AS a;";
    let (code, out, err) = parts(&flugs(&["sql", "--format", "json", "-e", script], ""));
    assert_eq!((code, out.as_str()), (Some(0), "{\"a\":1}\n"));
    assert!(err.starts_with("warning: option 'pipeline.object-reuse' has no effect"), "{err}");
}

#[test]
fn all_queries_of_nexmark_are_measured() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("nexmark");
    let arguments = ["bench", "nexmark", "--events", "5000", "--parallelism", "2", "--folder"];
    let ended = flugs(&[&arguments[..], &[folder.to_str().unwrap()]].concat(), "");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let text = String::from_utf8(ended.stdout).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let names: Vec<String> = lines[1..].iter().map(|line| line[0].to_owned()).collect();
    assert_eq!(names, (0..=22).map(|n| format!("q{n}")).collect::<Vec<_>>());
    for line in &lines[1..] {
        assert_eq!(line[1], "5000");
        assert!(line[2].parse::<f64>().unwrap() > 0.0, "{line:?}");
    }
    assert!(!folder.exists(), "it is removed");

    std::fs::create_dir(&folder).unwrap();
    let ended = flugs(&[&arguments[..], &[folder.to_str().unwrap()]].concat(), "");
    assert_eq!(ended.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("--folder"));
    assert!(folder.exists(), "what was there is left alone");
}

#[test]
#[allow(clippy::disallowed_methods, reason = "no task: what another process writes is waited for")]
fn a_job_that_cannot_store_checkpoints_says_so_and_ends_as_it_is_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = folder.path().join("checkpoints");
    let script = format!(
        "SET 'execution.checkpointing.interval' = '50 ms';
         SET 'execution.checkpointing.dir' = '{}';
         SET 'restart-strategy.type' = 'fixed-delay';
         SET 'restart-strategy.fixed-delay.attempts' = '2';
         SET 'restart-strategy.fixed-delay.delay' = '200 ms';
         CREATE TABLE t (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '10');
         CREATE TABLE s (n BIGINT) WITH ('connector' = 'blackhole');
         INSERT INTO s SELECT n FROM t;",
        checkpoints.display()
    );
    let child = Command::new(env!("CARGO_BIN_EXE_flugs"))
        .args(["sql", "-e", &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let is_written = || {
        let files = std::fs::read_dir(&checkpoints).into_iter().flatten().flatten();
        files.flat_map(|job| std::fs::read_dir(job.path())).flatten().flatten().count() > 1
    };
    while !is_written() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    // From now on nothing can be written there, as on a disk that is full.
    std::fs::rename(&checkpoints, folder.path().join("away")).unwrap();
    std::fs::write(&checkpoints, "in the way").unwrap();
    let (code, _, err) = parts(&child.wait_with_output().unwrap());
    assert_eq!(code, Some(1), "{err}");
    let lines: Vec<&str> = err.lines().collect();
    let of_restart =
        lines[0].starts_with("warning: job '") && lines[0].contains("is started again (restart 1): ");
    assert!(of_restart && lines[0].contains("Not a directory"), "{err}");
    assert!(lines.last().unwrap().starts_with("error: "), "{err}");
}

#[test]
fn rows_that_could_not_be_used_are_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.csv"), "1,a\nx,b\n2,c\n").unwrap();
    let tables = format!(
        "SET 'pipeline.name' = 'j';
         CREATE TABLE lines (id INT, s STRING) WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'csv', \
           'malformed' = 'skip');
         CREATE TABLE seconds (i INT, \
           ts AS TIMESTAMPADD(SECOND, CASE WHEN i < 400 THEN 100 * i ELSE 0 END, TIMESTAMP '2024-01-01 00:00:00'), \
           WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen', 'rows-per-second' = '1000', 'scan.parallelism' = '1', \
           'fields.i.kind' = 'sequence', 'fields.i.start' = '1', 'fields.i.end' = '500');
         CREATE VIEW minutes AS SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE seconds, \
           DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;",
        folder.path().display()
    );
    let told = |statements: &str| {
        let script = format!("{tables} {statements}");
        let arguments =
            ["sql", "--mode", "streaming", "--parallelism", "1", "--format", "json", "-e", &script];
        let (code, out, err) = parts(&flugs(&arguments, ""));
        assert_eq!(code, Some(0), "{err}");
        (out, err)
    };
    let unread =
        "warning: job 'j': 1 row could not be read (at operator 'default_catalog.default_database.lines')\n";
    assert_eq!(told("SELECT COUNT(id) AS n FROM lines"), ("{\"n\":2}\n".to_owned(), unread.to_owned()));
    let late = "warning: job 'j': 101 rows came too late (at operator 'WindowAggregate')\n";
    assert_eq!(told("SELECT SUM(n) AS n FROM minutes"), ("{\"n\":399}\n".to_owned(), late.to_owned()));
    let insert = "CREATE TABLE s (w TIMESTAMP(3), n BIGINT) WITH ('connector' = 'blackhole'); \
                  INSERT INTO s SELECT window_start, n FROM minutes";
    assert_eq!(told(insert), (String::new(), late.to_owned()));
    assert_eq!(told("SELECT COUNT(*) AS n FROM seconds"), ("{\"n\":500}\n".to_owned(), String::new()));
}

/// A script over rows that do not end.
const ENDLESS: &str = "CREATE TABLE t (n INT) WITH ('connector' = 'datagen'); SELECT n FROM t;";

/// Starts a script that does not end, and waits for its first row.
#[cfg(unix)]
fn endless() -> (std::process::Child, std::io::BufReader<std::process::ChildStdout>) {
    use std::io::BufRead;
    let mut child = Command::new(env!("CARGO_BIN_EXE_flugs"))
        .args(["sql", "--format", "json", "-e", ENDLESS])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut rows = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut row = String::new();
    rows.read_line(&mut row).unwrap();
    assert!(row.starts_with("{\"n\":"), "{row}");
    (child, rows)
}

#[cfg(unix)]
#[test]
fn signals_end_a_script_as_they_do_others() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;
    // A shell shows the second as 143.
    for (signal, code, by) in [(Signal::INT, Some(130), None), (Signal::TERM, None, Some(15))] {
        let (mut child, mut rows) = endless();
        kill_process(Pid::from_child(&child), signal).unwrap();
        rows.read_to_end(&mut Vec::new()).unwrap();
        let status = child.wait().unwrap();
        assert_eq!((status.code(), status.signal()), (code, by));
    }
}

#[cfg(unix)]
#[test]
fn who_has_read_enough_closes_the_results() {
    let (mut child, rows) = endless();
    drop(rows);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn results_that_cannot_be_written_are_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_flugs"))
        .args(["sql", "--format", "csv", "-e", "SELECT 1 AS a"])
        .stdin(Stdio::null())
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (code, _, err) = parts(&child.wait_with_output().unwrap());
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("the results cannot be written"), "{err}");
}

//! The shell in a terminal: what a person types, and what the screen shows.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test with a real terminal and a real clock"
)]

mod support;

use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt;
use support::Terminal;

const NUMBERS: &str = "CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence', \
                       'fields.n.start' = '1', 'fields.n.end' = '100');\r";
const ENDLESS: &str =
    "CREATE TABLE endless (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '20');\r";

struct Shell {
    terminal: Terminal,
    _data: tempfile::TempDir,
}

/// A shell whose prompt is there.
fn shell() -> Shell {
    let data = tempfile::tempdir().unwrap();
    let terminal = Terminal::start(data.path(), &["sql", "--parallelism", "1"]);
    terminal.waits_for_prompt();
    Shell { terminal, _data: data }
}

impl Shell {
    /// Runs a statement that is done at once.
    fn runs(&mut self, statement: &str) {
        self.terminal.types(statement);
        self.terminal.waits_for("[INFO] Done.");
        self.terminal.types("CLEAR;\r");
        self.terminal.waits_until("empty screen", |screen| screen.trim() == "Flugs SQL>");
    }
}

#[test]
fn help_says_what_can_be_done() {
    let mut shell = shell();
    shell.terminal.types("HELP;\r");
    shell.terminal.waits_for("Commands of the shell:");
    shell.terminal.waits_for_prompt();
    shell.terminal.types("QUIT;\r");
    assert_eq!(shell.terminal.ends().code(), Some(0));
}

#[test]
fn the_table_of_a_running_query_changes_until_one_leaves() {
    let mut shell = shell();
    shell.runs(ENDLESS);
    shell.terminal.types("SELECT COUNT(*) AS total FROM endless;\r");
    shell.terminal.waits_for("running  rows 1-1 of 1");
    let total = |screen: &str| {
        let below = screen.lines().skip_while(|line| !line.contains("total")).nth(1)?;
        below.trim().parse::<u64>().ok()
    };
    shell.terminal.waits_until("count", |screen| total(screen).is_some());
    let first = total(&shell.terminal.shown()).unwrap();
    shell.terminal.waits_until("larger count", |screen| total(screen).is_some_and(|now| now > first));
    shell.terminal.types("q");
    shell.terminal.waits_for("[INFO] 1 rows");
    // Ctrl-C leaves as well, and the shell goes on.
    shell.terminal.types("SELECT n FROM endless;\r");
    shell.terminal.waits_for("running  rows");
    shell.terminal.types("\x03");
    shell.terminal.waits_for_prompt();
}

#[test]
fn changes_are_listed_in_changelog_mode() {
    let mut shell = shell();
    shell.terminal.types("SET 'sql-client.execution.result-mode' = 'changelog';\r");
    shell.terminal.types("SELECT k, COUNT(*) AS c FROM (VALUES ('a'), ('b'), ('a')) AS t(k) GROUP BY k;\r");
    shell.terminal.waits_for("finished  rows");
    let screen = shell.terminal.shown();
    let lines: Vec<Vec<&str>> = screen.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(lines.contains(&vec!["op", "k", "c"]) && lines.contains(&vec!["+I", "b", "1"]), "{screen}");
}

#[test]
fn a_long_result_is_paged() {
    let mut shell = shell();
    shell.runs(NUMBERS);
    shell.terminal.types("SELECT n FROM numbers;\r");
    // The title, the header and the keys take three of the lines.
    shell.terminal.waits_for("finished  rows 1-21 of 100");
    for (key, title, first) in [
        ("\x1b[6~", "rows 22-42 of 100", "22"),
        ("\x1b[B", "rows 23-43 of 100", "23"),
        ("l", "rows 80-100 of 100", "80"),
        ("\x1b[5~", "rows 59-79 of 100", "59"),
        ("g", "rows 1-21 of 100", "1"),
    ] {
        shell.terminal.types(key);
        shell.terminal.waits_for(title);
        shell.terminal.waits_until(first, |screen| screen.lines().nth(2).map(str::trim) == Some(first));
    }
    shell.terminal.types("q");
    shell.terminal.waits_for("[INFO] 100 rows");
}

#[test]
fn ctrl_c_stops_a_query_that_flows_and_not_the_shell() {
    let mut shell = shell();
    shell.runs(ENDLESS);
    shell.runs("SET 'sql-client.execution.result-mode' = 'tableau';\r");
    shell.terminal.types("SELECT n FROM endless;\r");
    shell.terminal.waits_for("| +I |");
    shell.terminal.signals(Signal::INT);
    shell.terminal.waits_for_prompt();
    shell.terminal.types("SELECT 41 + 1 AS answer;\r");
    shell.terminal.waits_for("42");
    shell.terminal.waits_for_prompt();
}

#[test]
fn a_statement_may_have_several_lines() {
    let mut shell = shell();
    shell.runs("SET 'sql-client.execution.result-mode' = 'tableau';\r");
    shell.terminal.types("SELECT 1\r+ 1\r");
    shell.terminal.types("AS two;\r");
    shell.terminal.waits_for("two");
    shell.terminal.waits_for("| +I |");
    // What was begun is dropped by Ctrl-C.
    shell.terminal.types("SELECT nothing\r");
    shell.terminal.waits_for("nothing");
    shell.terminal.types("\x03");
    shell.terminal.waits_for_prompt();
    shell.terminal.types("SELECT 3 AS three;\r");
    shell.terminal.waits_for("three");
    shell.terminal.waits_for_prompt();
    assert!(!shell.terminal.shown().contains("error"), "{}", shell.terminal.shown());
}

#[test]
fn what_was_entered_is_there_after_a_restart_however_the_shell_ended() {
    let data = tempfile::tempdir().unwrap();
    let start = || {
        let terminal = Terminal::start(data.path(), &["sql"]);
        terminal.waits_for_prompt();
        terminal
    };
    let mut first = start();
    first.types("SET 'sql-client.execution.result-mode' = 'tableau';\r");
    first.waits_for("[INFO] Done.");
    // The terminal goes away.
    first.signals(Signal::HUP);
    assert_eq!(first.ends().signal(), Some(1));
    let mut second = start();
    second.types("\x1b[A");
    second.waits_for("'tableau';");
    second.types("\r");
    second.waits_for("[INFO] Done.");
}

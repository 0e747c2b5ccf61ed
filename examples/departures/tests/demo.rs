//! The main job as a user runs it: its output equals the oracle's at every parallelism, a finished
//! job may be started again, and mistakes end with the exit code and the words that they deserve.

mod job;
mod oracle;

use std::path::Path;
use std::process::{Command, Output};

use job::Job;

fn run_twice_and_compare(data: &Path, parallelisms: &[usize]) {
    let expected = oracle::compute(data);
    for &parallelism in parallelisms {
        let job = Job::over(data);
        let when = format!("at parallelism {parallelism}");
        job.start(parallelism).finish(&when);
        job.assert_complete(&expected, &when);
        let when = format!("started again {when}");
        job.start(parallelism).finish(&when);
        job.assert_complete(&expected, &when);
    }
}

#[test]
fn two_months_equal_the_oracle() {
    run_twice_and_compare(&job::two_months(), &[1, 2, 8]);
}

#[test]
fn the_whole_year_equals_the_oracle() {
    if let Some(data) = job::whole_year() {
        run_twice_and_compare(&data, &[1, 2, 8]);
    }
}

fn departures(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_departures")).args(args).output().expect("the departures binary starts")
}

fn assert_refused(args: &[&str], code: i32, word: &str) {
    let output = departures(args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {stderr}");
    assert!(stderr.contains(word), "{args:?}: the message does not name `{word}`: {stderr}");
}

#[test]
fn usage_errors_exit_2_and_name_the_argument() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let out = scratch.path().join("out");
    let out = out.to_str().expect("the scratch folder's name is text");
    let data = job::two_months();
    let data = data.to_str().expect("the data folder's name is text");
    assert_refused(&["--data", data, "--out", out, "--paralelism", "2"], 2, "--paralelism");
    assert_refused(&["--data", data, "--out", out, "--parallelism", "two"], 2, "two");
    assert_refused(&["--data", data, "--out", out, "--parallelism", "0"], 2, "--parallelism");
    assert_refused(&["--data", data, "--out"], 2, "--out");
    assert!(!Path::new(out).exists(), "a refused command writes nothing");
}

#[test]
fn missing_input_exits_1_and_names_the_file() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let out = scratch.path().join("out");
    let out = out.to_str().expect("the scratch folder's name is text");
    let data = scratch.path().join("no-such-folder");
    let data = data.to_str().expect("the scratch folder's name is text");
    assert_refused(&["--data", data, "--out", out, "--parallelism", "2"], 1, "no-such-folder");
}

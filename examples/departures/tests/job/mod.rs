//! Runs the built `departures` binary as a user would, and compares what it wrote with the oracle.
//!
//! An attempt that a test gives up on is killed, so that a failing test leaves no process behind.
#![allow(dead_code, reason = "every test binary uses its own part of this module")]

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::oracle::{Expected, read_parts};

/// An attempt that takes longer hangs.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(600);
/// So many differing rows are shown of an output.
const SHOWN_ROWS: usize = 5;

/// A folder named from the package's own, as the cargo that runs the test says where that is: the
/// path compiled in would be another checkout's where two share a build folder.
fn from_package(folder: &str) -> PathBuf {
    PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the package lies")).join(folder)
}

/// The two months that are part of the repository.
pub(crate) fn two_months() -> PathBuf {
    from_package("../data")
}

/// The whole year, where it lies beside the checkout; says so where it does not.
pub(crate) fn whole_year() -> Option<PathBuf> {
    let dir = from_package("../../../shared/data/nycflights13");
    if !dir.exists() {
        note("skipped: the data of the whole year does not lie beside the checkout");
        return None;
    }
    Some(dir)
}

/// Says something on stderr that the test runner shall not swallow.
pub(crate) fn note(text: &str) {
    writeln!(io::stderr(), "{text}").expect("stderr takes a note");
}

/// The job over one data folder and a fresh output folder, which goes when this is dropped.
pub(crate) struct Job {
    data: PathBuf,
    scratch: TempDir,
    options: Vec<String>,
}

impl Job {
    pub(crate) fn over(data: &Path) -> Job {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        Job { data: data.to_owned(), scratch, options: Vec::new() }
    }

    /// Adds an option to every attempt.
    pub(crate) fn with(mut self, option: &str, value: u32) -> Job {
        self.options.extend([option.to_owned(), value.to_string()]);
        self
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.scratch.path().join("out")
    }

    /// Starts the job, which goes on from where the last attempt was killed.
    pub(crate) fn start(&self, parallelism: usize) -> Attempt {
        let stderr = self.scratch.path().join("stderr");
        let child = Command::new(env!("CARGO_BIN_EXE_departures"))
            .arg("--data")
            .arg(&self.data)
            .arg("--out")
            .arg(self.out())
            .args(["--parallelism", &parallelism.to_string()])
            .args(&self.options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&stderr).expect("a file for stderr"))
            .spawn()
            .expect("the departures binary starts");
        Attempt { child, stderr }
    }

    /// Rows that readers of the output see, by output; there must be neither more nor fewer.
    pub(crate) fn assert_complete(&self, expected: &Expected, when: &str) {
        for (output, expected) in expected.outputs() {
            let actual = read_parts(&self.out().join(output));
            let (missing, surplus) = difference(expected, &actual);
            assert!(
                missing.is_empty() && surplus.is_empty(),
                "{output} {when}: {} rows missing{}, {} too many{}",
                missing.len(),
                shown(&missing),
                surplus.len(),
                shown(&surplus),
            );
        }
    }

    /// Rows may still be missing, but none may be there twice, be wrong or be half a row.
    pub(crate) fn assert_no_surplus(&self, expected: &Expected, when: &str) {
        for (output, expected) in expected.outputs() {
            let actual = read_parts(&self.out().join(output));
            let (_, surplus) = difference(expected, &actual);
            assert!(
                surplus.is_empty(),
                "{output} {when}: {} rows too many{}",
                surplus.len(),
                shown(&surplus)
            );
        }
    }
}

/// One process of the job.
pub(crate) struct Attempt {
    child: Child,
    stderr: PathBuf,
}

impl Attempt {
    /// Waits for the end of the process, at most for `limit`.
    #[expect(clippy::disallowed_methods, reason = "a real process is awaited by the real clock")]
    pub(crate) fn ended_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        let start = Instant::now();
        loop {
            let status = self.child.try_wait().expect("the process can be asked for its end");
            let left = limit.saturating_sub(start.elapsed());
            if status.is_some() || left.is_zero() {
                return status;
            }
            std::thread::sleep(left.min(Duration::from_millis(1)));
        }
    }

    /// Ends the process with SIGKILL, at whatever instruction it stands.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("a running process can be killed");
        self.child.wait().expect("a killed process ends");
    }

    /// Waits for the job's end, which must be exit code 0; how long it took.
    #[expect(clippy::disallowed_methods, reason = "a real process is awaited by the real clock")]
    pub(crate) fn finish(mut self, when: &str) -> Duration {
        let start = Instant::now();
        let status = self.ended_within(ATTEMPT_LIMIT);
        let status =
            status.unwrap_or_else(|| panic!("{when}: no end after {ATTEMPT_LIMIT:?}: {}", self.stderr()));
        self.assert_success(status, when);
        start.elapsed()
    }

    pub(crate) fn assert_success(&self, status: ExitStatus, when: &str) {
        assert!(status.success(), "{when}: {status}: {}", self.stderr());
    }

    /// What the process said on stderr so far.
    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).expect("stderr was written to a file")
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        // Fails only where the process has ended and been awaited, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The rows that are in the first list but not in the second, and the other way round; a row that
/// is there twice counts twice.
fn difference<'a>(expected: &'a [String], actual: &'a [String]) -> (Vec<&'a str>, Vec<&'a str>) {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    expected.iter().for_each(|row| *counts.entry(row).or_default() += 1);
    actual.iter().for_each(|row| *counts.entry(row).or_default() -= 1);
    let times = |sign: i64| {
        counts
            .iter()
            .flat_map(move |(row, n)| std::iter::repeat_n(*row, (n * sign).max(0) as usize))
            .collect()
    };
    (times(1), times(-1))
}

fn shown(rows: &[&str]) -> String {
    rows.iter().take(SHOWN_ROWS).map(|row| format!("\n    {row}")).collect()
}

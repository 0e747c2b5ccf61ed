//! The golden corpus: every case of `tests/golden/*.cases`, each in several ways of running, all with equal results.

#[path = "golden/harness/mod.rs"]
mod harness;

use flugs_cluster::Runtime;
use flugs_sql_plan::{AggregatePhases, RuntimeMode};
use harness::case::{Case, Expected, load};
use harness::run::{Outcome, Way, attempt};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The ways, by name.
fn ways() -> Vec<(&'static str, Way)> {
    let way = Way::new;
    let two = |way| Way { phases: AggregatePhases::Two, ..way };
    let split = |way, buckets| Way { buckets: NonZeroU32::new(buckets), ..way };
    vec![
        ("streaming, 1", way(RuntimeMode::Streaming, 1, 1000)),
        ("streaming, 4", way(RuntimeMode::Streaming, 4, 2)),
        ("resumed, 2 to 3", Way { resume: Some(3), ..way(RuntimeMode::Streaming, 2, 1) }),
        ("two phases, 4", two(way(RuntimeMode::Streaming, 4, 3))),
        (
            "two phases in bundles, 2 to 3",
            Way { resume: Some(3), bundle: Some(4), ..two(way(RuntimeMode::Streaming, 2, 1)) },
        ),
        ("split, 4", split(way(RuntimeMode::Streaming, 4, 3), 5)),
        (
            "split in bundles, 2 to 3",
            Way { resume: Some(3), bundle: Some(4), ..split(way(RuntimeMode::Streaming, 2, 1), 2) },
        ),
        ("killed, 2 to 3", Way { resume: Some(3), killed: true, ..way(RuntimeMode::Streaming, 2, 1) }),
        (
            "two phases, killed, 3 to 1",
            Way { resume: Some(1), killed: true, ..two(way(RuntimeMode::Streaming, 3, 2)) },
        ),
        ("batch, 1", way(RuntimeMode::Batch, 1, 1000)),
        ("batch, 4", way(RuntimeMode::Batch, 4, 3)),
    ]
}

/// How a case went in one way.
enum Verdict {
    Passed {
        stopped: bool,
    },
    /// The way is not possible yet.
    Skipped,
    Failed(String),
}

/// Writes the case's files; gives the script with their places.
fn prepared(case: &Case, folder: &Path) -> String {
    std::fs::create_dir_all(folder).expect("a folder for the case's files");
    for (name, text) in &case.files {
        std::fs::write(folder.join(name), text).expect("a file of the case");
    }
    let declared: Vec<String> = case.tables.iter().map(|t| t.declaration()).collect();
    let script = case.script.replace("{dir}", &folder.to_string_lossy());
    declared.into_iter().chain([script]).collect::<Vec<_>>().join(";\n")
}

fn judge(case: &Case, way: Way, result: Result<Outcome, String>) -> Verdict {
    let is_batch = way.mode == RuntimeMode::Batch;
    match (&case.expected, result) {
        (_, Err(e)) if is_batch && e.contains("batch mode") => Verdict::Skipped,
        (Expected::Error(part), Err(e)) if e.contains(part.as_str()) => Verdict::Passed { stopped: false },
        (Expected::Error(part), Err(e)) => Verdict::Failed(format!("the error lacks '{part}': {e}")),
        (Expected::Error(_), Ok(found)) => {
            Verdict::Failed(format!("no error, but rows:\n{}", found.rows.join("\n")))
        }
        (Expected::Rows(_), Err(e)) => Verdict::Failed(e),
        (Expected::Rows(rows), Ok(found)) => {
            let mut expected = rows.clone();
            let as_given = case.ordered && is_batch;
            let found_rows = if as_given {
                found.changes.iter().map(|(_, row)| row.clone()).collect()
            } else {
                expected.sort();
                found.rows
            };
            if found_rows == expected {
                return Verdict::Passed { stopped: found.stopped.is_some() };
            }
            Verdict::Failed(format!("expected\n{}\nfound\n{}", expected.join("\n"), found_rows.join("\n")))
        }
    }
}

#[derive(Default)]
struct Tally {
    passed: BTreeMap<&'static str, usize>,
    skipped: BTreeMap<&'static str, usize>,
    stopped: usize,
    known: Vec<String>,
    failed: Vec<String>,
    surprises: Vec<String>,
    shown: Vec<String>,
}

/// `FLUGS_GOLDEN` takes the cases whose names contain it; `FLUGS_GOLDEN_SHOW` prints the changes of all results;
/// `FLUGS_GOLDEN_DIR` is another folder of cases.
fn wanted() -> Vec<Case> {
    let own = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let folder = std::env::var_os("FLUGS_GOLDEN_DIR").map_or_else(own, PathBuf::from);
    let mut cases = load(&folder);
    if let Ok(part) = std::env::var("FLUGS_GOLDEN") {
        cases.retain(|case| case.name.contains(&part));
    }
    cases
}

fn check(case: &Case, runtime: &Runtime, tally: &Mutex<Tally>) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("golden").join(case.name.replace('/', "_"));
    // What went wrong, and in which ways.
    let mut wrong: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (at, (name, mut way)) in ways().into_iter().enumerate() {
        if case.tables.iter().any(|table| table.single) {
            // Between subtasks a row may be faster than the watermark before it, and is then not late.
            (way.parallelism, way.resume) = (1, way.resume.map(|_| 1));
        }
        let of_mode = if way.mode == RuntimeMode::Batch { "batch" } else { "streaming" };
        if case.only.as_deref().is_some_and(|only| only != of_mode) {
            continue;
        }
        let script = prepared(case, &folder.join(at.to_string()));
        let result = attempt(&case.tables, &case.zone, way, &script, runtime);
        if let (Ok(found), Ok(_)) = (&result, std::env::var("FLUGS_GOLDEN_SHOW")) {
            for (at, (kind, row)) in found.changes.iter().enumerate() {
                let life =
                    if found.stopped.is_some_and(|before| at >= before) { "after the stop" } else { "" };
                tally
                    .lock()
                    .expect("the tally")
                    .shown
                    .push(format!("{} [{name}] {kind} | {row} {life}", case.name));
            }
        }
        let verdict = judge(case, way, result);
        let mut tally = tally.lock().expect("the tally");
        match verdict {
            Verdict::Passed { stopped } => {
                *tally.passed.entry(name).or_default() += 1;
                tally.stopped += usize::from(stopped);
            }
            Verdict::Skipped => *tally.skipped.entry(name).or_default() += 1,
            Verdict::Failed(why) => wrong.entry(why).or_default().push(name),
        }
    }
    let mut tally = tally.lock().expect("the tally");
    match (&case.known, wrong.is_empty()) {
        (Some(why), false) => tally.known.push(format!("{}: {why}", case.name)),
        (Some(_), true) => tally.surprises.push(case.name.clone()),
        (None, false) => {
            let shown =
                wrong.into_iter().map(|(why, ways)| format!("{} [{}]: {why}", case.name, ways.join("; ")));
            tally.failed.extend(shown);
        }
        (None, true) => {}
    }
}

#[test]
fn corpus() {
    let cases = wanted();
    let runtime = Runtime::with_workers(2);
    let tally = Mutex::new(Tally::default());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    check(case, &runtime, &tally);
                }
            });
        }
    });
    let mut tally = tally.into_inner().expect("the tally");
    tally.known.sort();
    tally.failed.sort();
    tally.shown.iter().for_each(|line| println!("{line}"));
    println!("{} cases", cases.len());
    for (name, _) in ways() {
        let count = |of: &BTreeMap<&str, usize>| of.get(name).copied().unwrap_or_default();
        println!("{name}: {} passed, {} not possible yet", count(&tally.passed), count(&tally.skipped));
    }
    println!("{} stopped or killed in the middle and resumed", tally.stopped);
    println!("{} known to fail:\n{}", tally.known.len(), tally.known.join("\n"));
    assert!(tally.failed.is_empty(), "{} wrong:\n{}", tally.failed.len(), tally.failed.join("\n\n"));
    assert!(tally.surprises.is_empty(), "marked as known, and right: {:?}", tally.surprises);
}

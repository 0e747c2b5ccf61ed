//! Two jobs over one checkpoint folder: the newer one wins, the older one says so, and every row is seen once.

use crate::kit::{Numbers, assert_same, assert_says, into_files, visible};
use flugs::ErrorKind;
use flugs::prelude::*;
use tempfile::TempDir;

const NUMBERS: Numbers = Numbers { rows: 4000, keys: 50, rate: Some(10_000.0) };

#[test]
fn the_second_fences_the_first() {
    let dir = TempDir::new().unwrap();
    let first = into_files(NUMBERS, dir.path()).execute_async().unwrap();
    first.wait_until(Duration::from_secs(20), |report| report.checkpoints > 5);
    let second = into_files(NUMBERS, dir.path()).execute_async().unwrap();
    let error = first.wait().expect_err("fenced");
    assert_eq!(error.kind(), ErrorKind::Fenced);
    let folder = dir.path().join("checkpoints").canonicalize().unwrap();
    assert_says(
        &error,
        &[
            "fenced: generation 1 of job 'job' is fenced by generation 2",
            folder.to_str().unwrap(),
            "; another process runs this job now",
        ],
    );
    let report = second.wait().unwrap();
    assert!(report.restored_from.is_some());
    assert_same(&visible(dir.path()), &NUMBERS.expected(), "after the second");
}

/// Each is overtaken by the next, at another moment: soon, in the middle, or while it restores. Files end with each checkpoint,
/// so that there is something to commit at all times.
#[test]
fn many_owners_one_behind_the_other() {
    for round in 0..6u64 {
        let dir = TempDir::new().unwrap();
        let start = || {
            let env = crate::kit::environment(std::sync::Arc::new(
                ObjectBlobs::folder(dir.path().join("checkpoints")).unwrap(),
            ));
            env.checkpoint_interval(Duration::from_millis(2)).restart_strategy(RestartStrategy::FixedDelay {
                attempts: 5,
                delay: Duration::from_millis(1),
            });
            let sink = FileSink::new(dir.path().join("out"), Json::new()).roll_on_checkpoint();
            NUMBERS.stream(&env).sink_to(sink, "files").uid("files");
            env.execute_async().unwrap()
        };
        let mut owners = vec![start()];
        for next in 0..4 {
            let wanted = (round * 7 + next * 3) % 5;
            let newest = owners.last().unwrap();
            newest.wait_until(Duration::from_secs(20), |report| report.checkpoints >= wanted);
            owners.push(start());
        }
        // Started one behind the other, they may claim in another order: the last to claim ends the job.
        let ended: Vec<_> = owners.iter().map(|owner| owner.wait()).collect();
        assert!(ended.iter().any(Result::is_ok), "round {round}: {ended:?}");
        for error in ended.into_iter().filter_map(Result::err) {
            assert_eq!(error.kind(), ErrorKind::Fenced, "round {round}: {error}");
        }
        assert_same(&visible(dir.path()), &NUMBERS.expected(), &format!("round {round}"));
    }
}

/// A run that starts from nothing has published nothing yet: the next goes on from the checkpoint before it, whose files, written
/// and not yet visible, must be there.
#[test]
fn a_start_from_nothing_removes_nothing() {
    let dir = TempDir::new().unwrap();
    let slow = Numbers { rate: Some(2_000.0), ..NUMBERS };
    let first = into_files(slow, dir.path()).execute_async().unwrap();
    first.wait_until(Duration::from_secs(20), |report| report.checkpoints > 5);
    first.cancel();
    assert!(first.wait().unwrap().checkpoints > 5);
    let hidden = || {
        let entries = std::fs::read_dir(dir.path().join("out")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".inprogress")).collect::<std::collections::BTreeSet<_>>()
    };
    let left = hidden();
    assert!(!left.is_empty(), "files are open over a barrier");

    let anew = into_files(slow, dir.path());
    anew.restore(Restore::No).checkpoint_interval(Duration::from_secs(3600));
    let anew = anew.execute_async().unwrap();
    anew.wait_until(Duration::from_secs(20), |_| hidden().difference(&left).next().is_some());
    anew.cancel();
    let _ = anew.wait();
    assert!(hidden().is_superset(&left), "{:?}", hidden());

    let report = into_files(NUMBERS, dir.path()).execute().unwrap();
    assert!(report.restored_from.is_some());
    assert_same(&visible(dir.path()), &NUMBERS.expected(), "after the third");
    assert!(hidden().is_empty(), "{:?}", hidden());
}

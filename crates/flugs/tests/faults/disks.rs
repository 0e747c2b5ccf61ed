//! Full disks, at the sink and at the checkpoint store.

use crate::kit::{Numbers, assert_same, assert_says, environment, failure, visible};
use flugs::ErrorKind;
use flugs::prelude::*;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

const NUMBERS: Numbers = Numbers { rows: 20_000, keys: 2000, rate: Some(100_000.0) };

/// A small disk in memory.
struct Disk(PathBuf);

impl Disk {
    /// `None`, with a note, where this user may not mount.
    fn mount(folder: &Path, size: &str) -> Option<Disk> {
        fs::create_dir_all(folder).unwrap();
        let options = format!("size={size}");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &options, "none"]).arg(folder).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Disk(folder.to_owned()));
        }
        let note = "skipped: full disks; this user may not mount a small one";
        writeln!(std::io::stderr(), "{note}").expect("stderr takes a note");
        None
    }

    fn grow(&self, size: &str) {
        let options = format!("remount,size={size}");
        assert!(Command::new("mount").args(["-o", &options]).arg(&self.0).status().unwrap().success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily, so that it goes in whatever state the test leaves it.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn job(dir: &Path, restart: RestartStrategy) -> Environment {
    let env = environment(Arc::new(ObjectBlobs::folder(dir.join("checkpoints")).unwrap()));
    env.restart_strategy(restart);
    let sink = FileSink::new(dir.join("out"), Json::new()).roll_on_checkpoint();
    NUMBERS.stream(&env).sink_to(sink, "files").uid("files");
    env
}

fn assert_no_surplus(dir: &Path) {
    let expected = NUMBERS.expected();
    let seen = visible(dir);
    assert!(seen.iter().all(|row| expected.binary_search(row).is_ok()), "wrong rows");
    assert!(seen.windows(2).all(|two| two[0] != two[1]), "rows that are there twice");
}

#[test]
fn a_full_disk_at_the_sink() {
    let dir = TempDir::new().unwrap();
    let Some(disk) = Disk::mount(&dir.path().join("out"), "64k") else { return };
    let error = failure(&job(dir.path(), RestartStrategy::None));
    assert_eq!(error.kind(), ErrorKind::Environment);
    let place = dir.path().join("out/.part-");
    assert_says(
        &error,
        &[
            "no space left to write ",
            place.to_str().unwrap(),
            "operator 'files', subtask ",
            "free space and restart the job",
        ],
    );
    assert_no_surplus(dir.path());
    disk.grow("64m");
    job(dir.path(), RestartStrategy::None).execute().unwrap();
    assert_same(&visible(dir.path()), &NUMBERS.expected(), "with room");
}

#[test]
fn a_full_disk_at_the_checkpoint_store() {
    let dir = TempDir::new().unwrap();
    let Some(disk) = Disk::mount(&dir.path().join("checkpoints"), "300k") else { return };
    let error = failure(&job(dir.path(), RestartStrategy::None));
    let folder = dir.path().join("checkpoints");
    assert_says(
        &error,
        &["the disk of the checkpoint store is full: make room there", folder.to_str().unwrap(), "job/chk-"],
    );
    assert_no_surplus(dir.path());
    // Full as it is, it is full again.
    let again = job(dir.path(), RestartStrategy::None).execute();
    assert_says(&again.expect_err("full"), &["the disk of the checkpoint store is full"]);
    assert_no_surplus(dir.path());
    disk.grow("64m");
    job(dir.path(), RestartStrategy::None).execute().unwrap();
    assert_same(&visible(dir.path()), &NUMBERS.expected(), "with room");
}

/// Room that is made while the job tries again.
#[test]
fn a_job_that_is_started_again_gets_over_a_full_disk() {
    for name in ["out", "checkpoints"] {
        let dir = TempDir::new().unwrap();
        let Some(disk) = Disk::mount(&dir.path().join(name), "128k") else { return };
        let often = RestartStrategy::FixedDelay { attempts: 1000, delay: Duration::from_millis(5) };
        let running = job(dir.path(), often).execute_async().unwrap();
        let report = running.wait_until(Duration::from_secs(20), |report| report.restarts > 2);
        assert!(report.failure.is_some_and(|text| text.contains("space") || text.contains("full")));
        disk.grow("64m");
        running.wait().unwrap();
        assert_same(&visible(dir.path()), &NUMBERS.expected(), name);
    }
}

//! Death between any two calls of the checkpoint store and of the sink: claim, adopt, publish, prepare, commit, the last commit.
//!
//! The test runs itself again as a process of its own, which aborts at its n-th step; for n = 0, 1, ... until a process comes to
//! its end. The process after it may die as well. The last one is left alone, and the rows are exact each time.

use crate::kit::{Numbers, Row, assert_same, visible};
use bytes::Bytes;
use flugs::Result;
use flugs::checkpoint::BlobStore;
use flugs::connectors::{CheckpointId, Committable, Delivery, Prepared, Sink, SinkWriter, WriterContext};
use flugs::prelude::*;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

const NUMBERS: Numbers = Numbers { rows: 400, keys: 20, rate: Some(5000.0) };

/// Where the child process works, and at which step it dies.
const FOLDER: &str = "FLUGS_FAULTS_FOLDER";
const STEP: &str = "FLUGS_FAULTS_STEP";

/// So many processes at a time: they wait for the disk and the clock most of the time.
const AT_A_TIME: u64 = 4;

/// In so many of its first steps a process claims, adopts, cleans up and commits what the one before it left; no multiple of five,
/// so that all of them have their turn.
const RESTORE_STEPS: u64 = 24;

/// The exit code of a child process that has come to its end.
const DONE: i32 = 77;

/// Counts down to the death of the process.
#[derive(Clone)]
struct Steps(Arc<AtomicU64>);

impl Steps {
    /// A step before `call`, and one behind it.
    fn around<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        self.step();
        let result = call();
        self.step();
        result
    }

    fn step(&self) {
        if self.0.fetch_sub(1, Ordering::SeqCst) == 0 {
            std::process::abort();
        }
    }
}

struct Mortal<S>(S, Steps);

impl<S: BlobStore> BlobStore for Mortal<S> {
    fn put(&self, path: &str, bytes: Bytes) -> Result<()> {
        self.1.around(|| self.0.put(path, bytes))
    }

    fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool> {
        self.1.around(|| self.0.put_if_absent(path, bytes))
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.0.get(path)
    }

    fn list(&self, prefix: &str) -> Result<Vec<String>> {
        self.0.list(prefix)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.1.around(|| self.0.delete(path))
    }

    fn describe(&self) -> String {
        self.0.describe()
    }
}

impl<S: Sink> Sink for Mortal<S> {
    type Item = S::Item;

    fn delivery(&self) -> Delivery {
        self.0.delivery()
    }

    fn remove_orphans(
        &self,
        context: &WriterContext,
        states: &[Vec<u8>],
        committables: &[Committable],
    ) -> Result<()> {
        self.1.around(|| self.0.remove_orphans(context, states, committables))
    }

    fn writer(&self, context: WriterContext, restored: Vec<Vec<u8>>) -> Result<Box<dyn SinkWriter<S::Item>>> {
        Ok(Box::new(Mortal(self.1.around(|| self.0.writer(context, restored))?, self.1.clone())))
    }
}

impl<T> SinkWriter<T> for Mortal<Box<dyn SinkWriter<T>>> {
    fn write(&mut self, rows: Records<T>) -> Result<()> {
        self.0.write(rows)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.0.next_tick()
    }

    fn tick(&mut self, now: Timestamp) -> Result<()> {
        self.0.tick(now)
    }

    fn prepare(&mut self, checkpoint: CheckpointId, end: bool) -> Result<Prepared> {
        self.1.around(|| self.0.prepare(checkpoint, end))
    }

    /// One by one, so that death comes between them too.
    fn commit(&mut self, committables: Vec<Committable>) -> Result<()> {
        committables.into_iter().try_for_each(|one| self.1.around(|| self.0.commit(vec![one])))
    }
}

/// Two checkpoints on the way and one at the end, of which the first leaves files open and the second ends them.
fn run(folder: &Path, steps: Steps) -> Result<()> {
    let store = ObjectBlobs::folder(folder.join("checkpoints"))?;
    let env = crate::kit::environment(Arc::new(Mortal(store, steps.clone())));
    env.checkpoint_interval(Duration::from_millis(15)).retained_checkpoints(1);
    let sink = FileSink::new(folder.join("out"), Json::<Row>::new()).roll_bytes(1500);
    NUMBERS.stream(&env).sink_to(Mortal(sink, steps), "files").uid("files");
    env.execute().map(drop)
}

/// Not a test of its own: what the test below starts as another process.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let step = std::env::var(STEP).unwrap().parse().unwrap();
    run(Path::new(&folder), Steps(Arc::new(AtomicU64::new(step)))).unwrap();
    std::process::exit(DONE);
}

fn start(folder: &Path, step: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::child", "--nocapture"])
        .env(FOLDER, folder)
        .env(STEP, step.to_string())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(folder.join(format!("stderr-{step}"))).unwrap())
        .spawn()
        .unwrap()
}

/// Waits for a child. Says whether it came to its end; if not, it died by its own hand.
fn has_ended(mut child: Child, what: &str, folder: &Path) -> bool {
    use std::os::unix::process::ExitStatusExt;
    let status = child.wait().unwrap();
    let aborted = status.signal() == Some(6);
    if status.code() != Some(DONE) && !aborted {
        let said = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|e| std::fs::read_to_string(e.unwrap().path()).ok());
        panic!("{what}: {status}: {}", said.collect::<String>());
    }
    !aborted
}

fn assert_no_surplus(folder: &Path, expected: &[Row], what: &str) {
    let seen = visible(folder);
    assert!(seen.iter().all(|row| expected.binary_search(row).is_ok()), "{what}: wrong rows");
    assert!(seen.windows(2).all(|two| two[0] != two[1]), "{what}: rows that are there twice");
}

#[test]
fn killed_between_any_two_steps() {
    let expected = NUMBERS.expected();
    let mut first = 0;
    loop {
        let steps: Vec<u64> = (first..first + AT_A_TIME).collect();
        let folders: Vec<TempDir> = steps.iter().map(|_| TempDir::new().unwrap()).collect();
        let paths: Vec<PathBuf> = folders.iter().map(|f| f.path().to_owned()).collect();
        let mut ended = 0;
        // The first process dies at the step, the second at another one, the third at none.
        for life in 0..3 {
            let children: Vec<(u64, Child)> = steps
                .iter()
                .zip(&paths)
                .map(|(&step, path)| {
                    let step = [step, step * 5 % RESTORE_STEPS, u64::MAX][life];
                    (step, start(path, step))
                })
                .collect();
            for (((step, child), first), path) in children.into_iter().zip(&steps).zip(&paths) {
                let what = format!("process {life} dies at step {step}, the first one at step {first}");
                let done = has_ended(child, &what, path);
                ended += u64::from(done && life == 0);
                if done {
                    assert_same(&visible(path), &expected, &what);
                } else {
                    assert_no_surplus(path, &expected, &what);
                }
            }
        }
        if ended == AT_A_TIME {
            break;
        }
        first += AT_A_TIME;
    }
    assert!(first >= RESTORE_STEPS, "few steps: {first}");
}

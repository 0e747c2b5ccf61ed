//! Checkpoint folders that are damaged at any byte, lack files, or hold those of others: a clear error or the exact result, never
//! wrong rows.

use crate::kit::{
    Numbers, SplitMix64, assert_same, assert_says, environment, into_files, leave_unfinished, visible,
};
use bytes::Bytes;
use flugs::checkpoint::{BlobStore, MemoryStore};
use flugs::prelude::*;
use flugs::{Error, ErrorKind};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

const SMALL: Numbers = Numbers { rows: 1200, keys: 40, rate: Some(3000.0) };
const LARGE: Numbers = Numbers { rows: 6000, keys: 2000, rate: Some(15_000.0) };

/// So many bytes of a file are tried, at places from a seed, besides its first and last ones; of a file that the newest checkpoint
/// does without, only a few.
const SAMPLES: u64 = 100;
const SAMPLES_UNNEEDED: u64 = 4;
const EDGE: usize = 24;

type Files = Vec<(String, Bytes)>;

fn files(store: &dyn BlobStore) -> Files {
    let paths = store.list("job").unwrap();
    paths.into_iter().map(|path| (path.clone(), store.get(&path).unwrap().unwrap())).collect()
}

fn store_of(files: &Files) -> MemoryStore {
    let store = MemoryStore::new();
    files.iter().for_each(|(path, bytes)| store.put(path, bytes.clone()).unwrap());
    store
}

/// What a run into memory leaves behind at its end, or when it has so many checkpoints and bytes of state.
fn left_behind(numbers: Numbers, unfinished: Option<(u64, u64)>) -> Files {
    let store = MemoryStore::new();
    let env = environment(Arc::new(store.clone()));
    numbers.stream(&env).sink_to(MemorySink::new(), "rows").uid("rows");
    match unfinished {
        Some((checkpoints, bytes)) => leave_unfinished(&env, checkpoints, bytes),
        None => drop(env.execute().unwrap()),
    }
    files(&store)
}

/// Goes on from these files. What becomes visible in a memory that was empty is a function of the checkpoint.
fn go_on(runtime: &Runtime, numbers: Numbers, files: &Files) -> Result<Vec<(u8, u64, u64)>, Error> {
    let env = environment(Arc::new(store_of(files)));
    env.checkpoint_interval(None).runtime(runtime);
    let sink = MemorySink::new();
    Numbers { rate: Some(f64::MAX), ..numbers }.stream(&env).sink_to(sink.clone(), "rows").uid("rows");
    env.execute()?;
    let mut rows = sink.rows();
    rows.sort_unstable();
    Ok(rows)
}

/// Checks one damage: the error names the file and what to do, or the rows are those without damage.
fn check(
    runtime: &Runtime,
    numbers: Numbers,
    files: &Files,
    exact: &[(u8, u64, u64)],
    damaged: usize,
    what: &str,
) -> bool {
    let path = &files[damaged].0;
    match go_on(runtime, numbers, files) {
        Ok(rows) => {
            assert_same(&rows, exact, &format!("{path}, {what}"));
            false
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::State, "{path}, {what}: {error}");
            assert_says(&error, &[path, "; "]);
            let text = error.to_string();
            assert!(
                text.contains("restore from") || text.contains("no good one before it"),
                "{what}: {text}"
            );
            assert!(!text.contains("panicked"), "{what}: {text}");
            true
        }
    }
}

fn any_byte_may_be_wrong(numbers: Numbers, unfinished: Option<(u64, u64)>, seed: u64) {
    let whole = left_behind(numbers, unfinished);
    let in_files = whole.iter().any(|(path, _)| path.ends_with(".run"));
    assert_eq!(in_files, numbers.keys > 1000 && unfinished.is_some(), "where the state lies");
    let runtime = Runtime::with_workers(2);
    let exact = go_on(&runtime, numbers, &whole).unwrap();
    let newest = whole.iter().rposition(|(path, _)| path.ends_with("/manifest")).unwrap();
    let newest_folder = whole[newest].0.rsplit_once('/').map(|(folder, _)| folder);
    let mut random = SplitMix64(seed);
    let mut refused = 0;
    for (i, (path, bytes)) in whole.iter().enumerate() {
        let n = bytes.len();
        let needed = path.rsplit_once('/').map(|(folder, _)| folder) == newest_folder;
        let (samples, edge) = if needed { (SAMPLES, EDGE) } else { (SAMPLES_UNNEEDED, 1) };
        let samples: Vec<usize> = (0..samples).map(|_| random.below(n as u64) as usize).collect();
        let edges = (0..n.min(edge)).chain(n.saturating_sub(edge)..n);
        let mut places: Vec<usize> = edges.chain(samples).collect();
        places.sort_unstable();
        places.dedup();
        for at in places {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 1 << random.below(8);
            for (what, bytes) in [("flipped", Bytes::from(flipped)), ("cut", bytes.slice(..at))] {
                let mut files = whole.clone();
                files[i].1 = bytes;
                let what = format!("{what} at byte {at} of {n}, seed {seed}");
                let failed = check(&runtime, numbers, &files, &exact, i, &what);
                assert!(failed || i != newest, "{path}, {what}: a damaged manifest is not gone on from");
                refused += u64::from(failed);
            }
        }
    }
    assert!(refused > SAMPLES, "few damages were seen: {refused}");
}

#[test]
fn any_byte_of_an_unfinished_run() {
    any_byte_may_be_wrong(SMALL, Some((4, 0)), 1);
}

#[test]
fn any_byte_of_a_finished_run() {
    any_byte_may_be_wrong(SMALL, None, 2);
}

#[test]
fn any_byte_where_state_lies_in_files() {
    any_byte_may_be_wrong(LARGE, Some((3, 100_000)), 3);
}

/// A folder on disk with what a run into files left behind there.
struct Left {
    dir: TempDir,
    numbers: Numbers,
}

impl Left {
    fn unfinished(numbers: Numbers, bytes: u64) -> Left {
        let dir = TempDir::new().unwrap();
        let env = into_files(numbers, dir.path());
        // Nothing is to be removed while the folder is copied.
        env.retained_checkpoints(usize::MAX);
        leave_unfinished(&env, 4, bytes);
        Left { dir, numbers }
    }

    fn copy(&self) -> TempDir {
        let copy = TempDir::new().unwrap();
        copy_folder(self.dir.path(), copy.path());
        copy
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        list(&self.dir.path().join("checkpoints/job"), &mut files);
        files.into_iter().map(|f| f.strip_prefix(self.dir.path()).unwrap().to_owned()).collect()
    }

    /// The sink's files are named in state by their whole path, so the job is moved into the place of the original.
    fn swap(&self, copy: &TempDir) {
        for name in ["checkpoints", "out"] {
            fs::remove_dir_all(self.dir.path().join(name)).unwrap();
        }
        copy_folder(copy.path(), self.dir.path());
    }

    fn go_on(&self) -> Result<Vec<(u8, u64, u64)>, Error> {
        let numbers = Numbers { rate: Some(f64::MAX), ..self.numbers };
        into_files(numbers, self.dir.path()).execute().map(|_| visible(self.dir.path()))
    }
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() { list(&path, files) } else { files.push(path) }
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &target)
        } else {
            let _ = fs::copy(&path, &target).unwrap();
        }
    }
}

/// Whatever is done to one file of the folder: an error that tells what to do, or exact rows.
fn assert_clear_or_exact(left: &Left, what: &str) -> bool {
    let expected = left.numbers.expected();
    match left.go_on() {
        Ok(rows) => {
            assert_same(&rows, &expected, what);
            true
        }
        Err(error) => {
            assert_says(&error, &["; "]);
            assert!(!error.to_string().contains("panicked"), "{what}: {error}");
            let seen = visible(left.dir.path());
            assert!(seen.iter().all(|row| expected.binary_search(row).is_ok()), "{what}: wrong rows");
            assert!(seen.windows(2).all(|two| two[0] != two[1]), "{what}: rows twice");
            false
        }
    }
}

#[test]
fn files_that_are_missing_empty_or_folders() {
    let numbers = Numbers { rows: 3000, keys: 1000, rate: Some(10_000.0) };
    let left = Left::unfinished(numbers, 60_000);
    let whole = left.copy();
    // The files of the copy: a store that was left in the middle may still put away what it had begun.
    left.swap(&whole);
    let (mut exact, mut clear) = (0, 0);
    for file in left.files() {
        for what in ["missing", "empty", "a folder", "a dangling link"] {
            left.swap(&whole);
            let path = left.dir.path().join(&file);
            fs::remove_file(&path).unwrap();
            match what {
                "empty" => fs::write(&path, "").unwrap(),
                "a folder" => fs::create_dir_all(path.join("inside")).unwrap(),
                "a dangling link" => symlink("nowhere", &path).unwrap(),
                _ => {}
            }
            let went_on = assert_clear_or_exact(&left, &format!("{}: {what}", file.display()));
            *if went_on { &mut exact } else { &mut clear } += 1;
        }
    }
    assert!(exact > 5 && clear > 2, "{exact} exact, {clear} refused");
}

#[test]
fn files_of_others_do_no_harm() {
    let left = Left::unfinished(SMALL, 0);
    let whole = left.copy();
    let latest = left.files().into_iter().rfind(|f| f.ends_with("manifest")).unwrap();
    let latest = latest.parent().unwrap();
    let job = Path::new("checkpoints/job");
    let names: Vec<PathBuf> = [
        "../README.txt",
        "../other/chk-0000000001-1/manifest",
        ".DS_Store",
        "notes",
        "a b%20",
        "manifest",
        "chk-",
        "chk-1",
        "chk-x-y/manifest",
        "chk-0000009999-9/other",
        "chk-0000009999-9/manifest/x",
        "generation/readme",
        "generation/-1",
        "generation/99999999999999999999999999",
        "generation/2/x",
        "deep/er/and/deeper/file",
        "tmp#1",
        "\u{fc}",
    ]
    .iter()
    .map(|name| job.join(name))
    .chain([latest.join("core"), latest.join("manifest#1"), latest.join("manifest.bak")])
    .collect();
    for name in names {
        left.swap(&whole);
        let path = left.dir.path().join(&name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "of somebody else").unwrap();
        let rows = left.go_on().unwrap_or_else(|e| panic!("{}: {e}", name.display()));
        assert_same(&rows, &SMALL.expected(), &name.display().to_string());
        assert!(path.exists(), "{} is not ours to remove", name.display());
    }
    for (name, target) in [("dangling", "nowhere"), ("circle", "circle"), ("up", ".."), ("job", "../job")] {
        left.swap(&whole);
        symlink(target, left.dir.path().join(job).join(name)).unwrap();
        assert!(assert_clear_or_exact(&left, name) || name != "dangling", "{name}");
    }
    for name in [&b"not-\xff-utf8"[..], b"with\na-break"] {
        left.swap(&whole);
        fs::write(left.dir.path().join(job).join(OsStr::from_bytes(name)), "").unwrap();
        let error = left.go_on().expect_err("no blob has such a name");
        assert_eq!(error.kind(), ErrorKind::Environment);
        assert_says(&error, &["job in file://", "checkpoints", "move it away"]);
    }
    // The highest of all generations is claimed, so that there is none after it.
    left.swap(&whole);
    fs::write(left.dir.path().join(job).join("generation/18446744073709551615"), "").unwrap();
    assert_says(
        &left.go_on().expect_err("no generation is left"),
        &["has run out of generations", "remove it"],
    );
}

#[test]
fn a_file_in_place_of_a_folder() {
    let left = Left::unfinished(SMALL, 0);
    let whole = left.copy();
    let latest = left.files().into_iter().rfind(|f| f.ends_with("manifest")).unwrap();
    for folder in
        [Path::new("checkpoints/job"), Path::new("checkpoints/job/generation"), latest.parent().unwrap()]
    {
        left.swap(&whole);
        let path = left.dir.path().join(folder);
        fs::remove_dir_all(&path).unwrap();
        fs::write(&path, "in the way").unwrap();
        // Nobody goes on from the checkpoint before the newest, which the first run has recorded.
        assert!(!assert_clear_or_exact(&left, &folder.display().to_string()), "{}", folder.display());
    }
}

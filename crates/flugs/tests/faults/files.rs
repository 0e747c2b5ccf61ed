//! Files that vanish, shrink, are no files or are damaged archives.

use crate::kit::{assert_same, assert_says, environment, failure, leave_unfinished};
use flugs::checkpoint::MemoryStore;
use flugs::connectors::{
    Boundedness, EnumeratorAction, EnumeratorContext, EnumeratorEvent, ReaderContext, Source, SourceReader,
    SplitEnumerator,
};
use flugs::prelude::*;
use flugs::{Error, ErrorKind, Result};
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn lines(n: usize) -> Vec<u8> {
    (0..n).flat_map(|i| format!("line {i}\n").into_bytes()).collect()
}

/// Reads lines with this source into memory.
fn job<S: Source<Item = String>>(env: &Environment, source: S) -> MemorySink<String> {
    let sink = MemorySink::new();
    env.from_source(source, WatermarkStrategy::none(), "lines")
        .uid("lines")
        .stream()
        .sink_to(sink.clone(), "sink")
        .uid("sink");
    sink
}

fn error_of(path: &Path) -> Error {
    let env = environment(Arc::new(MemoryStore::new()));
    let sink = job(&env, FileSource::new(path, Lines::new()));
    let error = failure(&env);
    assert!(sink.len() < 5000, "what is visible was read before the fault");
    error
}

#[test]
fn what_is_no_file_is_named() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    symlink(at("nowhere"), at("dangling")).unwrap();
    symlink(at("circle"), at("circle")).unwrap();
    fs::write(at("plain.txt"), "x\n").unwrap();
    fs::create_dir(at("hollow")).unwrap();
    assert!(Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
    for (name, why) in [
        ("absent.txt", "there is no file "),
        ("absent/*.txt", "there is no file "),
        ("no*.csv", "no file matches "),
        ("hollow", "no file matches "),
        ("dangling", "there is no file "),
        ("circle", "cannot be read"),
        ("plain.txt/x.txt", "cannot be read"),
        ("fifo", "is neither a file nor a folder"),
    ] {
        let error = error_of(&at(name));
        let shown = if name.contains('*') { at("") } else { at(name) };
        let shown = shown.display().to_string();
        assert_says(&error, &["environment error: ", why, &shown, "source 'lines'", "; "]);
    }
    // One pipe among files is no reason to hang, nor to pass it over unsaid.
    fs::create_dir(at("mixed")).unwrap();
    fs::rename(at("fifo"), at("mixed/fifo")).unwrap();
    fs::write(at("mixed/a.txt"), "a\n").unwrap();
    assert_says(&error_of(&at("mixed")), &["mixed/fifo is neither a file nor a folder", "read them through"]);
}

/// Lets something happen when the files are found and nobody has opened one.
struct Meanwhile<S, F>(S, Arc<F>);

impl<S: Source, F: Fn() + Send + Sync + 'static> Source for Meanwhile<S, F> {
    type Item = S::Item;

    fn boundedness(&self) -> Boundedness {
        self.0.boundedness()
    }

    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>> {
        Ok(Box::new(Meanwhile(self.0.enumerator(context)?, self.1.clone())))
    }

    fn reader(&self, context: ReaderContext) -> Result<Box<dyn SourceReader<S::Item>>> {
        self.0.reader(context)
    }
}

impl<F: Fn() + Send + Sync> SplitEnumerator for Meanwhile<Box<dyn SplitEnumerator>, F> {
    fn step(&mut self, now: Timestamp, event: EnumeratorEvent) -> Result<Vec<EnumeratorAction>> {
        if matches!(event, EnumeratorEvent::Discovered(_)) {
            (self.1)();
        }
        self.0.step(now, event)
    }

    fn snapshot(&self) -> Result<Vec<u8>> {
        self.0.snapshot()
    }
}

#[test]
fn a_file_that_changes_between_discovery_and_reading_is_named() {
    for (name, text) in [("a.txt", lines(100)), ("a.txt.gz", gzip(&lines(100)))] {
        type Change = fn(&Path);
        let changes: [(Change, &str); 4] = [
            (|path| fs::remove_file(path).unwrap(), "there is no file "),
            (
                |path| fs::write(path, "").unwrap(),
                if name == "a.txt" { "has 0 bytes now, but had" } else { "ends in the middle" },
            ),
            (
                |path| {
                    fs::remove_file(path).unwrap();
                    fs::create_dir(path).unwrap();
                },
                "cannot be read",
            ),
            (
                |path| {
                    fs::remove_file(path).unwrap();
                    symlink("nowhere", path).unwrap();
                },
                "there is no file ",
            ),
        ];
        for (change, why) in changes {
            let dir = TempDir::new().unwrap();
            let path = dir.path().join(name);
            fs::write(&path, &text).unwrap();
            let env = environment(Arc::new(MemoryStore::new()));
            let (files, changed) = (FileSource::new(dir.path(), Lines::new()), path.clone());
            let sink = job(&env, Meanwhile(files, Arc::new(move || change(&changed))));
            let error = failure(&env);
            assert_says(
                &error,
                &[why, path.to_str().unwrap(), &format!("{name}:1"), "operator 'lines', subtask ", "; "],
            );
            assert!(sink.is_empty());
        }
    }
}

#[test]
fn a_file_that_changes_between_a_crash_and_the_restore_is_named() {
    for name in ["a.txt", "a.txt.gz"] {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join(name);
        let whole = lines(20_000);
        let bytes = if name == "a.txt" { whole.clone() } else { gzip(&whole) };
        fs::write(&path, &bytes).unwrap();
        let store = MemoryStore::new();
        let read = |rate: f64| {
            let env = environment(Arc::new(store.clone()));
            let sink = job(&env, Throttled::new(FileSource::new(&path, Lines::new()), rate));
            (env, sink)
        };
        let (env, first) = read(40_000.0);
        leave_unfinished(&env, 12, 0);
        let early = if name == "a.txt" { lines(10) } else { gzip(&lines(10)) };
        for (bytes, why) in [(None, "there is no file "), (Some(early), "bytes")] {
            fs::remove_file(&path).unwrap();
            if let Some(bytes) = bytes {
                fs::write(&path, bytes).unwrap();
            }
            let (env, sink) = read(f64::MAX);
            let error = failure(&env);
            assert_says(&error, &[why, path.to_str().unwrap(), "operator 'lines', subtask ", "; "]);
            assert!(
                error.to_string().contains("put it back") || error.to_string().contains("check the path"),
                "{error}"
            );
            fs::write(&path, "").unwrap();
            // What the checkpoint covers is committed by whoever restores it first; a new memory sink shows that alone.
            assert!(sink.len() <= 20_000);
        }
        fs::write(&path, &bytes).unwrap();
        let (env, second) = read(f64::MAX);
        env.execute().unwrap();
        let seen = [first.rows(), second.rows()].concat();
        let mut rows: Vec<usize> = seen.iter().map(|row| row[5..].parse().unwrap()).collect();
        rows.sort_unstable();
        rows.dedup();
        let last: Vec<usize> = rows.iter().rev().take(1).copied().collect();
        assert_eq!(last, [19_999], "it goes on to the end");
    }
}

#[test]
fn damaged_archives_are_named_with_the_line() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.gz");
    let whole = gzip(&lines(5000));
    let n = whole.len();
    for cut in [0, 1, 9, 10, n / 3, n - 9, n - 8, n - 1] {
        fs::write(&path, &whole[..cut]).unwrap();
        let error = error_of(&path);
        assert_eq!(error.kind(), ErrorKind::Data);
        assert_says(
            &error,
            &[
                "ends in the middle of its compressed data",
                "a.gz:",
                "operator 'lines'",
                "replace it by a whole copy",
            ],
        );
    }
    for (behind, why) in [
        (&b"x"[..], "ends in the middle"),
        (&[0; 512], "cannot be decompressed"),
        (&lines(9), "cannot be decompressed"),
    ] {
        fs::write(&path, [&whole, behind].concat()).unwrap();
        let error = error_of(&path);
        assert_says(&error, &[why, "a.gz:5001", "operator 'lines'", "replace it by a whole copy"]);
    }
    // Where a file may still be written, an empty one is none yet; two members are one file.
    fs::write(&path, [&whole[..], &gzip(&lines(3))].concat()).unwrap();
    let env = environment(Arc::new(MemoryStore::new()));
    let sink = job(&env, FileSource::new(&path, Lines::new()));
    env.execute().unwrap();
    assert_eq!(sink.len(), 5003);
}

/// Any byte of an archive may be another: an error, or the same rows where the byte has no meaning.
#[test]
fn any_byte_of_an_archive_may_be_wrong() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.gz");
    let text = lines(60);
    let whole = gzip(&text);
    let expected: Vec<String> =
        text.split(|&b| b == b'\n').map(|l| String::from_utf8_lossy(l).into_owned()).collect();
    for i in 0..whole.len() {
        let mut broken = whole.clone();
        broken[i] ^= 1 << (i % 8);
        fs::write(&path, &broken).unwrap();
        let env = environment(Arc::new(MemoryStore::new()));
        env.checkpoint_interval(None);
        let sink = job(&env, FileSource::new(&path, Lines::new()));
        match env.execute() {
            Ok(_) => assert_same(&sink.rows(), &expected[..60], &format!("byte {i}")),
            Err(error) => {
                assert_says(&error, &["bad data: ", "a.gz", "; "]);
                assert!(sink.is_empty());
            }
        }
    }
}

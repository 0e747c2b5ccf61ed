pub(crate) mod job;

use self::job::{Job, Snapshot};
use super::*;
use flugs_connector::{Boundedness, Outstanding};
use flugs_formats::{Csv, Json, Lines};
use flugs_types::Timestamp;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Write;
use tempfile::TempDir;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (name, bytes) in files {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    dir
}

/// A source that does little at a time, so that every place of interruption is reached.
fn tiny<F: InputFormat>(path: impl AsRef<Path>, format: F, rows: usize, chunk_bytes: u64) -> FileSource<F> {
    let mut source = FileSource::new(path, format);
    source.budget = Budget { chunk_bytes, rows, bytes: 1 << 10 };
    source
}

fn rows_of<F: InputFormat>(source: &FileSource<F>, parallelism: u32) -> Vec<F::Item> {
    let mut job = Job::start(source, parallelism, None).unwrap();
    job.run().unwrap();
    job.out.rows
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort();
    rows
}

fn error_of<F: InputFormat>(source: &FileSource<F>) -> String {
    match Job::start(source, 1, None).and_then(|mut job| job.run()) {
        Ok(()) => panic!("an error was expected"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn line_ends_marks_and_empty_files() {
    let dir = folder(&[
        ("a.txt", b"\xef\xbb\xbfone\r\ntwo\n\nfour" as &[u8]),
        ("b.txt", b""),
        ("c.txt", b"\n"),
        ("d.txt.gz", &[gzip(b"five\nsi"), gzip(b"x\n")].concat()),
    ]);
    let source = FileSource::new(dir.path(), Lines::new());
    assert_eq!(rows_of(&source, 1), ["one", "two", "", "four", "", "five", "six"]);
    assert_eq!(rows_of(&source.skip_empty(), 1), ["one", "two", "four", "five", "six"]);
}

#[test]
fn a_job_goes_on_at_every_row_plain_and_compressed() {
    let lines: Vec<String> = (0..40).map(|i| format!("line {i} {}", "x".repeat(i % 7))).collect();
    let text = lines.join("\n");
    let (head, tail) = text.as_bytes().split_at(111);
    let dir = folder(&[("a.txt", text.as_bytes()), ("b.gz", &[gzip(head), gzip(tail)].concat())]);
    for name in ["a.txt", "b.gz"] {
        let source = tiny(dir.path().join(name), Lines::new(), 1, 16);
        for stop in 0..=lines.len() {
            let mut job = Job::start(&source, 1, None).unwrap();
            job.run_until(stop).unwrap();
            let snapshot = job.snapshot();
            let mut rows = job.out.rows;
            assert_eq!(rows.len(), stop);
            let mut job = Job::start(&source, 2, Some(snapshot)).unwrap();
            job.run().unwrap();
            rows.append(&mut job.out.rows);
            assert_eq!(rows, lines, "{name} stopped behind row {stop}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]
    #[test]
    fn any_bytes_in_a_checkpoint_give_an_error_at_most(mut bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Some(version) = bytes.first_mut() {
            *version = 1;
        }
        let _ = split::FileSplit::of_payload(&bytes);
        let source = FileSource::new("x", Lines::new());
        let _ = source.enumerator(EnumeratorContext { parallelism: 1, restored: Some(&bytes) });
    }

    #[test]
    fn each_line_is_read_once_whatever_the_ranges_and_restarts(
        files in prop::collection::vec("([a-c]{0,9}\r?\n){0,12}[a-c]{0,5}", 1..4),
        split_bytes in 1u64..40,
        chunk_bytes in 1u64..50,
        rows in 1usize..5,
        stops in prop::collection::vec((0usize..12, 1u32..4), 0..3),
    ) {
        let dir = TempDir::new().unwrap();
        for (i, text) in files.iter().enumerate() {
            fs::write(dir.path().join(format!("{i}.txt")), text).unwrap();
        }
        let want: Vec<String> = files.iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
        let source = tiny(dir.path(), Lines::new(), rows, chunk_bytes).split_bytes(split_bytes);
        let mut seen = Vec::new();
        let mut restored: Option<Snapshot> = None;
        for (more, parallelism) in stops {
            let mut job = Job::start(&source, parallelism, restored).unwrap();
            job.run_until(more).unwrap();
            restored = Some(job.snapshot());
            seen.append(&mut job.out.rows);
        }
        let mut job = Job::start(&source, 2, restored).unwrap();
        job.run().unwrap();
        prop_assert_eq!(job.outstanding, Outstanding::Nothing);
        seen.append(&mut job.out.rows);
        prop_assert_eq!(sorted(seen), sorted(want));
    }

    #[test]
    fn files_in_order_stay_so_through_restarts(
        counts in prop::collection::vec(0usize..6, 1..5),
        stops in prop::collection::vec((0usize..6, 1u32..4), 0..4),
    ) {
        let dir = TempDir::new().unwrap();
        let mut want = Vec::new();
        for (file, &n) in counts.iter().enumerate() {
            let lines: Vec<String> = (0..n).map(|line| format!("{file}.{line}")).collect();
            fs::write(dir.path().join(format!("{file}.txt")), lines.join("\n")).unwrap();
            want.extend(lines);
        }
        let source = tiny(dir.path(), Lines::new(), 1, 5).ordered().split_bytes(2);
        let (mut seen, mut restored) = (Vec::new(), None);
        for (more, parallelism) in stops {
            let mut job = Job::start(&source, parallelism, restored).unwrap();
            job.run_until(more).unwrap();
            prop_assert_ne!(job.outstanding, Outstanding::AnyTime);
            restored = Some(job.snapshot());
            seen.append(&mut job.out.rows);
        }
        let mut job = Job::start(&source, 3, restored).unwrap();
        job.run().unwrap();
        seen.append(&mut job.out.rows);
        prop_assert_eq!(seen, want);
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Airport {
    faa: String,
    name: String,
    alt: Option<i32>,
}

#[test]
fn csv_ranges_know_the_header_and_quoted_line_breaks_stay_whole() {
    let text = "name,faa,alt\nLansdowne,04G,1044\n\"Moton, Field\",06A,NA\nX,Y,-3\n";
    let multi = "faa,name,alt\nA,\"two\nlines\",1\nB,b,2\n";
    let dir = folder(&[("a.csv", text.as_bytes()), ("b.csv", multi.as_bytes())]);
    let csv = Csv::<Airport>::new().null("NA");
    for split in 1..text.len() as u64 {
        let source = tiny(dir.path().join("a.csv"), csv.clone().single_line(), 1, 7).split_bytes(split);
        let mut rows: Vec<(String, Option<i32>)> =
            rows_of(&source, 2).into_iter().map(|a| (a.faa, a.alt)).collect();
        rows.sort();
        assert_eq!(
            rows,
            [("04G".into(), Some(1044)), ("06A".into(), None), ("Y".into(), Some(-3))],
            "{split}"
        );
    }
    let source = tiny(dir.path().join("b.csv"), csv, 1, 3).split_bytes(4);
    let mut job = Job::start(&source, 1, None).unwrap();
    job.run_until(1).unwrap();
    let snapshot = job.snapshot();
    assert_eq!(job.out.rows[0].name, "two\nlines");
    let mut job = Job::start(&source, 1, Some(snapshot)).unwrap();
    job.run().unwrap();
    assert_eq!(job.out.rows, [Airport { faa: "B".into(), name: "b".into(), alt: Some(2) }]);
}

#[test]
fn malformed_records_are_reported_with_their_place_and_bytes() {
    let dir =
        folder(&[("a.jsonl", b"{\"faa\":\"A\",\"name\":\"a\",\"alt\":1}\n\n{\"faa\":7}\n   \n{\"faa\"\n")]);
    let mut job = Job::start(&FileSource::new(dir.path(), Json::<Airport>::new()), 1, None).unwrap();
    job.run().unwrap();
    assert_eq!(job.out.rows.len(), 1);
    let path = dir.path().join("a.jsonl");
    let size = fs::metadata(&path).unwrap().len();
    let malformed = &job.out.malformed;
    assert_eq!(malformed.len(), 2);
    assert_eq!(malformed[0].split, format!("{}#0-{size}", path.display()));
    assert_eq!(malformed[0].position, "line 3, byte 32");
    assert_eq!(malformed[0].error, "invalid type: integer `7`, expected a string (column 8, field `faa`)");
    assert_eq!(malformed[0].raw, b"{\"faa\":7}");
    assert_eq!(malformed[1].position, "line 5, byte 46");

    let long = [b"ok\n".as_slice(), &vec![b'x'; 300_000], b"\nok\n\xff\n"].concat();
    let dir = folder(&[("a.txt", &long)]);
    let source = tiny(dir.path(), Lines::new(), 10, 4096).max_record_bytes(1000);
    let mut job = Job::start(&source, 1, None).unwrap();
    job.run().unwrap();
    assert_eq!(job.out.rows, ["ok", "ok"]);
    let malformed = &job.out.malformed;
    assert_eq!((malformed[0].position.as_str(), malformed[0].raw.len()), ("line 2, byte 3", 64 << 10));
    assert!(
        malformed[0].error.starts_with("a record of 300001 bytes, but at most 1000"),
        "{}",
        malformed[0].error
    );
    assert_eq!(malformed[1].position, "line 4, byte 300007");
    assert!(malformed[1].error.starts_with("UTF-8 expected"));
}

#[test]
fn damaged_and_vanished_files_are_named() {
    let lines = (0..5000).map(|i| format!("{i} {}\n", i * 7919)).collect::<String>();
    let whole = gzip(lines.as_bytes());
    let mut broken = whole.clone();
    let middle = broken.len() / 2;
    broken[middle..middle + 8].fill(0x55);
    let dir = folder(&[
        ("cut.gz", &whole[..whole.len() / 2]),
        ("broken.gz", &broken),
        ("text.gz", b"no gzip at all, in truth\n"),
        ("a.txt", b"a\nb\nc\n"),
    ]);
    let source = FileSource::new(dir.path().join("cut.gz"), Lines::new());
    let mut job = Job::start(&source, 1, None).unwrap();
    let error = job.run().unwrap_err().to_string();
    assert!(error.contains("ends in the middle") && error.contains("cut.gz:"), "{error}");
    let read = job.out.rows.len();
    assert!(read > 100 && error.contains(&format!("cut.gz:{}", read + 1)), "{read} {error}");
    assert!(lines.starts_with(&(job.out.rows.join("\n") + "\n")), "what came before the end is right");
    for name in ["broken.gz", "text.gz"] {
        let error = error_of(&FileSource::new(dir.path().join(name), Lines::new()));
        assert!(error.contains("cannot be decompressed") && error.contains(name), "{error}");
    }

    let source = tiny(dir.path().join("a.txt"), Lines::new(), 1, 2);
    let mut job = Job::start(&source, 1, None).unwrap();
    job.run_until(1).unwrap();
    let snapshot = job.snapshot();
    fs::write(dir.path().join("a.txt"), "a\n").unwrap();
    let error = Job::start(&source, 1, Some(snapshot.clone())).unwrap().run().unwrap_err().to_string();
    assert!(error.contains("has 2 bytes now, but had at least 6"), "{error}");
    fs::remove_file(dir.path().join("a.txt")).unwrap();
    let error = Job::start(&source, 1, Some(snapshot)).unwrap().run().unwrap_err().to_string();
    assert!(error.contains("there is no file") && error.contains("a.txt:2"), "{error}");
}

#[test]
fn a_watched_folder_gives_each_file_once_also_after_a_restart() {
    let dir = folder(&[("a.txt", b"a\n"), ("empty.txt", b"")]);
    let source = FileSource::new(dir.path(), Lines::new()).watch(Duration::from_secs(10));
    assert_eq!(source.boundedness(), Boundedness::Unbounded);
    let mut job = Job::start(&source, 2, None).unwrap();
    job.run_until_waiting().unwrap();
    assert_eq!(job.outstanding, Outstanding::Nothing);
    assert_eq!(job.out.rows, ["a"]);
    assert_eq!(job.wake_at, Some(Timestamp::from_secs(10)));
    fs::write(dir.path().join("b.txt"), "b\n").unwrap();
    job.wake().unwrap();
    job.run_until_waiting().unwrap();
    assert_eq!(job.out.rows, ["a", "b"]);
    let snapshot = job.snapshot();
    fs::write(dir.path().join("c.txt"), "c\n").unwrap();
    fs::write(dir.path().join("empty.txt"), "full\n").unwrap();
    let mut job = Job::start(&source, 3, Some(snapshot)).unwrap();
    job.run_until_waiting().unwrap();
    assert_eq!(sorted(job.out.rows), ["c", "full"]);
}

#[test]
fn the_watermark_is_held_until_the_last_range_is_assigned() {
    let dir = folder(&[("a.txt", b"a\nb\nc\n")]);
    let source = tiny(dir.path(), Lines::new(), 1, 100).split_bytes(2);
    let mut job = Job::start(&source, 1, None).unwrap();
    let mut held_at = Vec::new();
    while job.step().unwrap() {
        held_at.push((job.out.rows.len(), job.outstanding == Outstanding::AnyTime));
    }
    assert_eq!(held_at.iter().find(|(_, held)| !held).map(|&(rows, _)| rows), Some(2), "{held_at:?}");
    assert_eq!(job.out.finished.len(), 3);
}

#[cfg(feature = "zstd")]
#[test]
fn zstd_frames_are_read_one_behind_the_other() {
    let frame = |bytes: &[u8]| zstd::stream::encode_all(bytes, 1).unwrap();
    let whole = [frame(b"one\ntw"), frame(b"o\n"), frame(&b"x\n".repeat(100_000))].concat();
    let dir = folder(&[("a.zst", &whole)]);
    let rows = rows_of(&FileSource::new(dir.path(), Lines::new()), 1);
    assert_eq!((rows.len(), &rows[..2]), (100_002, &["one".to_owned(), "two".to_owned()][..]));
    fs::write(dir.path().join("a.zst"), &whole[..whole.len() - 5]).unwrap();
    let error = error_of(&FileSource::new(dir.path(), Lines::new()));
    assert!(error.contains("ends in the middle") && error.contains("a.zst:"), "{error}");
}

#[cfg(not(feature = "zstd"))]
#[test]
fn zstd_files_need_the_feature() {
    let dir = folder(&[("a.zst", b"x")]);
    let error = error_of(&FileSource::new(dir.path(), Lines::new()));
    assert!(error.contains("feature `zstd`") && error.contains("a.zst"), "{error}");
}

#[test]
fn reading_in_real_threads_gives_the_same() {
    let text = (0..200_000).map(|i| format!("{i}\n")).collect::<String>();
    let dir = folder(&[("a.txt", text.as_bytes()), ("b.txt.gz", &gzip(text.as_bytes()))]);
    let source = FileSource::new(dir.path(), Lines::new()).split_bytes(100_000);
    let mut job = Job::start_threaded(&source, 3).unwrap();
    job.run().unwrap();
    let mut numbers: Vec<u32> = job.out.rows.iter().map(|row| row.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq((0..200_000).flat_map(|i| [i, i])));
}

#[test]
fn what_cannot_be_read_is_refused_at_the_start() {
    let dir = folder(&[]);
    let error = error_of(&FileSource::new(dir.path(), Lines::new()));
    assert!(error.contains("no file matches"), "{error}");
    assert_eq!(rows_of(&FileSource::new(dir.path(), Lines::new()).allow_empty(), 2), [""; 0]);
    let error = error_of(&FileSource::new("/dev/null", Lines::new()));
    assert!(error.contains("neither a file nor a folder"), "{error}");
    let path = dir.path().join("a.csv");
    File::create(&path).unwrap().write_all(b"\xff,b\n1,2\n").unwrap();
    let error = error_of(&FileSource::new(&path, Csv::<(u8, u8)>::new()));
    assert!(
        error.contains("the header cannot be used: UTF-8 expected") && error.contains("a.csv:1"),
        "{error}"
    );
}

//! Records that cannot be read: they fail the job, are skipped and counted, or become dead letters, as the program says.

use crate::kit::{assert_says, failure};
use flugs::connectors::FileSource;
use flugs::formats::{InputFormat, rfc3339};
use flugs::prelude::*;
use flugs::{DeadLetter, ErrorKind};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Data, Serialize, Deserialize)]
struct Flight {
    id: u32,
    carrier: String,
    #[serde(with = "rfc3339")]
    at: Timestamp,
    delay: Option<i32>,
}

fn flight(id: u32) -> Flight {
    let at = "2013-02-28T10:00:00Z".parse().unwrap();
    Flight { id, carrier: "UA".to_owned(), at, delay: None }
}

/// A bad line and what is said of it. Lines before and after it are good.
type Bad = (&'static [u8], &'static str);

const JSON: [Bad; 12] = [
    (br#"{"id":2,"carrier":"UA","at":"2013-02-28T1"#, "EOF while parsing a string"),
    (br#"{"id":2,"carrier":"UA","at":"2013-02-28T10:00:00Z""#, "EOF while parsing an object"),
    (br#"{"id":2,"at":"2013-02-28T10:00:00Z"}"#, "missing field `carrier`"),
    (br#"{"id":"two","carrier":"UA","at":"2013-02-28T10:00:00Z"}"#, "field `id`"),
    (br#"{"id":-2,"carrier":"UA","at":"2013-02-28T10:00:00Z"}"#, "expected u32"),
    (br#"{"id":4294967296,"carrier":"UA","at":"2013-02-28T10:00:00Z"}"#, "expected u32"),
    (b"{\"id\":2,\"carrier\":\"\xff\",\"at\":\"2013-02-28T10:00:00Z\"}", "invalid unicode code point"),
    (br#"{"id":2,"carrier":"UA","at":"2013-02-30T10:00:00Z"}"#, "'2013-02-30T10:00:00Z' is no time"),
    (br#"{"id":2,"carrier":"UA","at":1362045600}"#, "expected an RFC 3339 time"),
    (br#"{"id":2,"carrier":"UA","at":"2013-02-28T10:00:00Z"} {}"#, "trailing characters"),
    (b"\0\0\0", "expected value"),
    (b"id,carrier,at,delay", "expected value"),
];

const CSV: [Bad; 9] = [
    (b"2,UA", "fields"),
    (b"2,UA,2013-02-28T10:00:00Z,,,", "fields"),
    (b"two,UA,2013-02-28T10:00:00Z,", "`id`"),
    (b",UA,2013-02-28T10:00:00Z,", "`id`"),
    (b"2,UA,2013-02-30T10:00:00Z,", "'2013-02-30T10:00:00Z' is no time"),
    (b"2,UA,,", "'' is no time"),
    (b"2,UA,2013-02-28T10:00:00Z,1e99", "`delay`"),
    (b"2,\xff,2013-02-28T10:00:00Z,", "UTF-8"),
    (b"-2,UA,2013-02-28T10:00:00Z,", "`id`"),
];

fn good_json(id: u32) -> String {
    format!("{{\"id\":{id},\"carrier\":\"UA\",\"at\":\"2013-02-28T10:00:00Z\"}}")
}

/// Writes a file with a byte order mark, lines ending as on Windows, and the bad line as its last but two.
fn write(path: &Path, header: Option<&str>, good: impl Fn(u32) -> String, bad: &[u8]) -> u64 {
    let mut text = b"\xef\xbb\xbf".to_vec();
    for line in header.map(str::to_owned).into_iter().chain([good(0), good(1), String::new()]) {
        text.extend_from_slice(line.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    let offset = text.len() as u64;
    text.extend_from_slice(bad);
    text.extend_from_slice(format!("\r\n{}\n{}", good(3), good(4)).as_bytes());
    fs::write(path, text).unwrap();
    offset
}

struct Read {
    rows: Vec<Flight>,
    dead: Vec<DeadLetter>,
    skipped: i64,
}

fn strategy() -> WatermarkStrategy<Flight> {
    WatermarkStrategy::monotonous().with_timestamps(|f: &Flight| f.at)
}

/// The default: the job fails.
fn refuse<F: InputFormat<Item = Flight>>(path: &Path, format: F) -> flugs::Error {
    let env = Environment::new("refuse");
    env.set_parallelism(2);
    let sink = MemorySink::new();
    env.from_source(FileSource::new(path, format), strategy(), "flights")
        .stream()
        .sink_to(sink.clone(), "sink");
    let error = failure(&env);
    assert!(sink.is_empty(), "nothing of a job that failed before its first checkpoint is visible");
    error
}

fn skip<F: InputFormat<Item = Flight>>(source: FileSource<F>) -> Read {
    let env = Environment::new("skip");
    env.set_parallelism(2);
    let sink = MemorySink::new();
    env.from_source(source, strategy(), "flights").skip_malformed().stream().sink_to(sink.clone(), "sink");
    let job = env.execute_async().unwrap();
    job.wait().unwrap();
    Read { rows: sink.rows(), dead: Vec::new(), skipped: job.metrics().sum(None, "numMalformedRecords") }
}

fn route<F: InputFormat<Item = Flight>>(source: FileSource<F>) -> Read {
    let env = Environment::new("route");
    env.set_parallelism(2);
    let (sink, letters) = (MemorySink::new(), MemorySink::new());
    let (rows, dead) = env.from_source(source, strategy(), "flights").stream_and_dead_letters();
    rows.sink_to(sink.clone(), "sink");
    dead.sink_to(letters.clone(), "dead letters");
    let job = env.execute_async().unwrap();
    job.wait().unwrap();
    let skipped = job.metrics().sum(None, "numMalformedRecords");
    Read { rows: sink.rows(), dead: letters.rows(), skipped }
}

/// All three ways for one bad line.
fn check<F: InputFormat<Item = Flight>>(path: &Path, format: F, line: u64, offset: u64, (bad, why): Bad) {
    let position = format!("line {line}, byte {offset}");
    let error = refuse(path, format.clone());
    assert_eq!(error.kind(), ErrorKind::Data);
    let shown = path.display().to_string();
    let mend = "mend the record, or let the source skip malformed records or route them";
    assert_says(&error, &["bad data: ", why, "operator 'flights', subtask ", &shown, &position, mend]);

    let good: Vec<Flight> = [0, 1, 3, 4].map(flight).into();
    let skipped = skip(FileSource::new(path, format.clone()));
    assert_eq!((skipped.rows, skipped.skipped), (good.clone(), 1), "{why}");

    let routed = route(FileSource::new(path, format));
    assert_eq!((routed.rows, routed.skipped, routed.dead.len()), (good, 1, 1), "{why}");
    let letter = &routed.dead[0];
    assert_eq!(letter.raw, bad, "{why}");
    assert_eq!(letter.position, position);
    assert!(letter.error.contains(why), "{}", letter.error);
    assert!(letter.split.starts_with(&shown), "{}", letter.split);
}

#[test]
fn bad_json_lines() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("flights.jsonl");
    for bad in JSON {
        let offset = write(&path, None, good_json, bad.0);
        check(&path, Json::<Flight>::new(), 4, offset, bad);
    }
}

#[test]
fn bad_csv_lines() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("flights.csv");
    for bad in CSV {
        let good = |id| format!("{id},UA,2013-02-28T10:00:00Z,");
        let offset = write(&path, Some("id,carrier,at,delay"), good, bad.0);
        check(&path, Csv::<Flight>::new(), 5, offset, bad);
    }
}

#[test]
fn headers_that_do_not_serve_are_named() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("flights.csv");
    for (text, why) in [
        ("id,carrier,at\n1,UA", "fields"),
        ("id,at,delay\n1,2013-02-28T10:00:00Z,\n", "`carrier`"),
        ("1,UA,2013-02-28T10:00:00Z,\n2,UA,2013-02-28T10:00:00Z,\n", "missing field"),
    ] {
        fs::write(&path, text).unwrap();
        let error = refuse(&path, Csv::<Flight>::new());
        assert_says(&error, &["bad data: ", why, "flights.csv", "operator 'flights', subtask ", "; "]);
    }
    fs::write(&path, b"id,\xff\n1,2\n").unwrap();
    let error = refuse(&path, Csv::<Flight>::new());
    assert_says(&error, &["bad data: the header cannot be used", "UTF-8", "flights.csv:1", "; "]);
}

/// A quote that is never closed takes all that follows with it, but no more memory than a record may have.
#[test]
fn a_quote_that_is_left_open_is_one_bad_record() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("flights.csv");
    let mut text =
        "id,carrier,at,delay\n1,UA,2013-02-28T10:00:00Z,\n2,\"UA,2013-02-28T10:00:00Z,\n".to_owned();
    for id in 0..20_000 {
        text.push_str(&format!("{id},UA,2013-02-28T10:00:00Z,\n"));
    }
    fs::write(&path, &text).unwrap();
    let source = || FileSource::new(&path, Csv::<Flight>::new()).max_record_bytes(10_000);
    let read = route(source());
    assert_eq!(read.rows, [flight(1)]);
    assert_eq!(read.dead.len(), 1);
    assert!(read.dead[0].error.contains("at most 10000 are taken"), "{}", read.dead[0].error);
    assert!(read.dead[0].position.starts_with("line 3, "), "{}", read.dead[0].position);
    let read = skip(FileSource::new(&path, Csv::<Flight>::new().single_line()));
    assert_eq!(
        (read.rows.len(), read.skipped),
        (20_001, 1),
        "told that fields hold no line breaks, it loses one line"
    );
}

#[test]
fn long_lines_and_lines_without_end() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("flights.jsonl");
    let long = format!("{{\"id\":2,\"carrier\":\"{}\"}}", "x".repeat(3 << 20));
    let offset = write(&path, None, good_json, long.as_bytes());
    let read = route(FileSource::new(&path, Json::<Flight>::new()).max_record_bytes(1 << 20));
    assert_eq!(read.rows, [0, 1, 3, 4].map(flight));
    assert_eq!(read.dead.len(), 1);
    assert_eq!(read.dead[0].position, format!("line 4, byte {offset}"));
    assert_eq!(read.dead[0].raw, &long.as_bytes()[..64 << 10], "the start of the bytes as they were");
    assert!(read.dead[0].error.contains("raise `max_record_bytes`"), "{}", read.dead[0].error);

    // A file of one line that never ends.
    fs::write(&path, vec![b'{'; 5 << 20]).unwrap();
    let read = route(FileSource::new(&path, Json::<Flight>::new()).max_record_bytes(1 << 20));
    assert_eq!((read.rows.len(), read.dead.len()), (0, 1));
}

#[test]
fn what_is_empty_gives_nothing() {
    let dir = TempDir::new().unwrap();
    for (name, text) in
        [("a.jsonl", &b""[..]), ("b.jsonl", b"\xef\xbb\xbf"), ("c.jsonl", b"\r\n\n \t\n"), ("d.jsonl", b"\n")]
    {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let read = skip(FileSource::new(dir.path(), Json::<Flight>::new()));
    assert_eq!((read.rows.len(), read.skipped), (0, 0));
    for text in [&b""[..], b"id,carrier,at,delay", b"\xef\xbb\xbfid,carrier,at,delay\r\n\r\n"] {
        let path = dir.path().join("flights.csv");
        fs::write(&path, text).unwrap();
        let read = skip(FileSource::new(&path, Csv::<Flight>::new()));
        assert_eq!((read.rows.len(), read.skipped), (0, 0));
    }
}

/// In ranges of a file the line is not known from its start; the byte is.
#[test]
fn a_bad_line_in_a_range_is_named_by_its_byte() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("flights.jsonl");
    let mut text = (0..300).map(|id| good_json(id) + "\n").collect::<String>();
    let offset = text.len();
    text.push_str("{\"id\":\n");
    text.extend((300..600).map(|id| good_json(id) + "\n"));
    fs::write(&path, &text).unwrap();
    let source = || FileSource::new(&path, Json::<Flight>::new()).split_bytes(1000);
    let read = route(source());
    let mut ids: Vec<u32> = read.rows.iter().map(|f| f.id).collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..600));
    assert!(read.dead[0].position.starts_with(&format!("byte {offset}, line ")), "{}", read.dead[0].position);
    let line = text.as_bytes()[offset..].split(|&b| b == b'\n').next().unwrap();
    assert_eq!(read.dead[0].raw, line);
}

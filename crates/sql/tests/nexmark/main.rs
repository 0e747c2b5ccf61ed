//! The Nexmark queries q0 to q22: what the engine gives against a plain recomputation of each query from the same events,
//! and against what Flink gives.
//!
//! The scripts are those that the benchmarks run. Where rows are wanted, `INSERT INTO sink` is left out, so that the query
//! itself gives them; `as_written` runs the whole scripts.

mod events;
mod flink;
mod session;
mod twins;

use events::{Events, Stream};
use flugs_sql_plan::RuntimeMode;
use session::{Session, assert_same_rows};
use std::collections::BTreeMap;

type Twin = fn(&Events) -> Vec<String>;

/// The query over this stream, run in every way, gives the rows of its twin.
fn check(query: &str, stream: Stream, twin: Twin) {
    let events = Events::of(stream);
    let expected = twin(&events);
    assert!(!expected.is_empty(), "{query}: the twin gives no rows, which shows nothing");
    for (session, how) in sessions(stream) {
        assert_same_rows(&format!("{query} {how}"), &expected, &session.rows(query));
    }
}

/// Sessions of parallelism 1 and 2, each as a stream and in batch mode.
fn sessions(stream: Stream) -> Vec<(Session, &'static str)> {
    vec![
        (Session::new(stream, 1), "with one subtask"),
        (Session::new(stream, 2), "with two subtasks"),
        (Session::new(stream, 1).mode(RuntimeMode::Batch), "in batch mode with one subtask"),
        (Session::new(stream, 2).mode(RuntimeMode::Batch), "in batch mode with two subtasks"),
    ]
}

macro_rules! queries {
    ($($name:ident: $($stream:ident),+;)*) => {
        $(#[test]
        fn $name() {
            $(check(stringify!($name), events::$stream, twins::$name);)+
        })*
    };
}

queries! {
    q0: IN_ORDER;
    q1: IN_ORDER;
    q2: IN_ORDER;
    q3: IN_ORDER;
    q4: IN_ORDER, DISORDERED;
    q5: IN_ORDER, DISORDERED;
    q6: IN_ORDER;
    q7: IN_ORDER, DISORDERED;
    q8: IN_ORDER, DISORDERED;
    q9: IN_ORDER, DISORDERED;
    q11: SLOW, DISORDERED;
    q13: IN_ORDER;
    q14: DAYS;
    q15: DAYS;
    q16: DAYS;
    q17: DAYS;
    q18: IN_ORDER, DISORDERED;
    q20: IN_ORDER;
    q21: IN_ORDER;
    q22: IN_ORDER;
}

/// Which of two bids with one price comes first is open where rows of several readers meet: there auction, price and rank
/// must be right, and each row a bid.
#[test]
fn q19() {
    let stream = events::IN_ORDER;
    let events = Events::of(stream);
    let expected = twins::q19(&events);
    let bids: std::collections::HashSet<String> = twins::bid_rows(&events).into_iter().collect();
    let ranked = |rows: &[String]| -> Vec<String> {
        let columns = |row: &String| row.split('|').map(str::to_owned).collect::<Vec<_>>();
        rows.iter().map(columns).map(|c| format!("{}|{}|{}", c[0], c[2], c[7])).collect()
    };
    assert_same_rows("q19 with one subtask", &expected, &Session::new(stream, 1).rows("q19"));
    for (session, how) in sessions(stream) {
        let rows = session.rows("q19");
        assert_same_rows(&format!("q19 {how}"), &ranked(&expected), &ranked(&rows));
        for row in &rows {
            let (bid, _) = row.rsplit_once('|').expect("rows have a rank");
            assert!(bids.contains(bid), "q19 {how}: {row} is no bid");
        }
    }
}

/// Windows of the wall clock: each bid is in one, and windows are 10 s long.
#[test]
fn q12() {
    let stream = events::IN_ORDER;
    let mut expected: BTreeMap<u64, u64> = BTreeMap::new();
    for bid in &Events::of(stream).bids {
        *expected.entry(bid.bidder).or_default() += 1;
    }
    for (session, how) in sessions(stream) {
        let mut counted: BTreeMap<u64, u64> = BTreeMap::new();
        for row in session.rows("q12") {
            let columns: Vec<i64> =
                row.split('|').map(|c| c.parse().expect("all columns are numbers")).collect();
            *counted.entry(columns[0] as u64).or_default() += columns[1] as u64;
            assert_eq!(columns[2] % 10_000, 0, "q12 {how}: {row}");
            assert_eq!(columns[3] - columns[2], 10_000, "q12 {how}: {row}");
        }
        assert_eq!(counted, expected, "q12 {how}");
    }
}

/// Rows, folders and success files.
#[test]
fn q10() {
    let stream = events::SLOW;
    let events = Events::of(stream);
    for (session, how) in sessions(stream) {
        let folder = tempfile::tempdir().expect("a folder");
        session.run("q10", Some(folder.path()));
        let mut rows = Vec::new();
        let mut folders = BTreeMap::new();
        for day in std::fs::read_dir(folder.path()).expect("the folder of the table") {
            let day = day.expect("an entry").path();
            for minute in
                std::fs::read_dir(&day).unwrap_or_else(|e| panic!("q10 {how}: {}: {e}", day.display()))
            {
                let minute = minute.expect("an entry").path();
                let name = minute.strip_prefix(folder.path()).expect("inside").to_string_lossy().into_owned();
                let mut is_whole = false;
                for file in std::fs::read_dir(&minute).expect("a partition") {
                    let file = file.expect("an entry").path();
                    if file.file_name().is_some_and(|f| f == "_SUCCESS") {
                        is_whole = true;
                        continue;
                    }
                    let text = std::fs::read_to_string(&file).expect("a file of rows");
                    rows.extend(text.lines().map(|line| format!("{name}|{line}")));
                }
                folders.insert(name, is_whole);
            }
        }
        assert_same_rows(&format!("q10 {how}"), &twins::q10(&events), &rows);
        assert_eq!(flink::checksum(&rows), flink::FILES, "q10 {how}");
        assert!(folders.values().all(|whole| *whole), "q10 {how}: success files {folders:?}");
    }
}

/// The scripts run to their end with their own sinks.
#[test]
fn as_written() {
    for n in 0..=22 {
        let folder = tempfile::tempdir().expect("a folder");
        Session::new(events::SHORT, 2).run(&format!("q{n}"), Some(folder.path()));
    }
}

/// What Flink gives for 100,000 events.
#[test]
fn as_flink() {
    flink::compare(&flink::SHORT);
}

/// What Flink gives for a million events.
#[test]
#[ignore = "takes most of a minute"]
fn as_flink_long() {
    flink::compare(&flink::LONG);
}

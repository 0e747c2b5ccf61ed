use super::*;
use flugs_batch::Records;
use flugs_connector::Prepared;
use flugs_formats::{Csv, Json, Lines};
use flugs_types::{Attempt, Background, CheckpointId, Generation, ManualClock, OperatorUid, SubtaskId};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::sync::Arc;
use std::task::Waker;
use tempfile::TempDir;

struct NoBackground;

impl Background for NoBackground {
    fn run(&self, _work: Box<dyn FnOnce() + Send>) {
        panic!("the sink works in its task");
    }
}

fn context(index: u32, parallelism: u32, attempt: u32, clock: &ManualClock) -> WriterContext {
    WriterContext {
        job: "job".to_owned(),
        uid: OperatorUid::new("sink"),
        subtask: SubtaskId::new(index, parallelism),
        generation: Generation(1),
        attempt: Attempt(attempt),
        clock: Arc::new(clock.clone()),
        background: Arc::new(NoBackground),
        waker: Waker::noop().clone(),
    }
}

fn of_run(generation: u64) -> WriterContext {
    WriterContext { generation: Generation(generation), ..context(0, 1, 1, &ManualClock::default()) }
}

fn open<F: OutputFormat>(sink: &FileSink<F>) -> Box<dyn SinkWriter<F::Item>> {
    sink.writer(context(0, 1, 1, &ManualClock::default()), Vec::new()).unwrap()
}

fn lines(rows: impl IntoIterator<Item = impl ToString>) -> Records<String> {
    Records::untimed(rows.into_iter().map(|row| row.to_string()).collect())
}

fn prepare<T>(writer: &mut Box<dyn SinkWriter<T>>, end: bool) -> Prepared {
    writer.prepare(CheckpointId(1), end).unwrap()
}

fn commit_all<T>(writer: &mut Box<dyn SinkWriter<T>>) {
    let committables = prepare(writer, true).committables;
    writer.commit(committables).unwrap();
}

/// The text of all files below `folder` by their paths in it; hidden or visible ones.
fn files(folder: &Path, hidden: bool) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().unwrap().to_str().unwrap().starts_with('.') == hidden {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn visible_lines(folder: &Path) -> Vec<String> {
    let text = files(folder, false).into_values().map(|bytes| String::from_utf8(bytes).unwrap());
    let mut rows: Vec<String> =
        text.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    rows.sort();
    rows
}

/// A step of a job that writes the rows 0, 1, 2, ...
#[derive(Debug, Clone)]
enum Op {
    Write(usize),
    Tick,
    /// A checkpoint, of whose committables so many are committed (twice, where it says so) before the next step.
    Checkpoint {
        committed: usize,
        twice: bool,
    },
    /// A checkpoint that fails after the writers prepared.
    Aborted,
    /// The process dies, or the task fails and is dropped; it starts again with this parallelism.
    Crash {
        killed: bool,
        parallelism: u32,
    },
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (1usize..6).prop_map(Op::Write),
        1 => Just(Op::Tick),
        3 => (0usize..4, any::<bool>()).prop_map(|(committed, twice)| Op::Checkpoint { committed, twice }),
        1 => Just(Op::Aborted),
        2 => (any::<bool>(), 1u32..4).prop_map(|(killed, parallelism)| Op::Crash { killed, parallelism }),
    ]
}

/// What the job keeps of a checkpoint.
#[derive(Default, Clone)]
struct Saved {
    rows: usize,
    states: Vec<Vec<u8>>,
    committables: Vec<Committable>,
}

struct Run {
    sink: FileSink<Lines<String>>,
    clock: ManualClock,
    writers: Vec<Box<dyn SinkWriter<String>>>,
    attempt: u32,
    rows: usize,
    /// Prepared, but of no complete checkpoint yet.
    carried: Vec<Committable>,
    saved: Saved,
}

impl Run {
    fn start(&mut self, parallelism: u32) {
        self.attempt += 1;
        self.rows = self.saved.rows;
        self.carried.clear();
        for index in 0..parallelism {
            let states = self.saved.states.iter().skip(index as usize).step_by(parallelism as usize);
            let writer = self
                .sink
                .writer(context(index, parallelism, self.attempt, &self.clock), states.cloned().collect());
            self.writers.push(writer.unwrap());
        }
        self.writers[0].commit(self.saved.committables.clone()).unwrap();
    }

    fn write(&mut self, n: usize) {
        for row in self.rows..self.rows + n {
            let writer = row % self.writers.len();
            self.writers[writer].write(lines([format!("{row:05}")])).unwrap();
        }
        self.rows += n;
    }

    fn tick(&mut self) {
        self.clock.advance_to(self.clock.now_plus(40));
        for writer in &mut self.writers {
            if writer.next_tick().is_some_and(|tick| tick <= self.clock.now_plus(0)) {
                writer.tick(self.clock.now_plus(0)).unwrap();
            }
        }
    }

    fn prepare(&mut self, end: bool) -> Vec<Vec<u8>> {
        let mut states = Vec::new();
        for writer in &mut self.writers {
            let prepared = prepare(writer, end);
            states.extend(prepared.state);
            self.carried.extend(prepared.committables);
        }
        states
    }

    fn checkpoint(&mut self, end: bool) {
        let states = self.prepare(end);
        self.saved = Saved { rows: self.rows, states, committables: std::mem::take(&mut self.carried) };
    }
}

trait NowPlus {
    fn now_plus(&self, secs: u64) -> Timestamp;
}

impl NowPlus for ManualClock {
    fn now_plus(&self, secs: u64) -> Timestamp {
        flugs_types::Clock::now(self) + Duration::from_secs(secs)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn rows_are_visible_exactly_once_whatever_dies_when(
        ops in prop::collection::vec(op(), 1..25),
        roll_bytes in 6u64..40,
        roll_on_checkpoint: bool,
        buckets in 1usize..4,
    ) {
        let dir = TempDir::new().unwrap();
        let mut sink = FileSink::new(dir.path(), Lines::new())
            .roll_bytes(roll_bytes)
            .max_open_buckets(2)
            .bucket_by(move |row, _| format!("b{}", row.parse::<usize>().unwrap() % buckets));
        if roll_on_checkpoint {
            sink = sink.roll_on_checkpoint();
        }
        let mut run = Run {
            sink,
            clock: ManualClock::default(),
            writers: Vec::new(),
            attempt: 0,
            rows: 0,
            carried: Vec::new(),
            saved: Saved::default(),
        };
        run.start(2);
        for op in ops {
            match op {
                Op::Write(n) => run.write(n),
                Op::Tick => run.tick(),
                Op::Aborted => drop(run.prepare(false)),
                Op::Checkpoint { committed, twice } => {
                    run.checkpoint(false);
                    for _ in 0..=usize::from(twice) {
                        let committables = run.saved.committables.iter().take(committed).cloned().collect();
                        run.writers[0].commit(committables).unwrap();
                    }
                    // A job commits all of a checkpoint before it completes the next.
                    if committed >= 2 {
                        run.writers[0].commit(run.saved.committables.clone()).unwrap();
                    } else {
                        run.carried.extend(run.saved.committables.iter().skip(committed).cloned());
                    }
                }
                Op::Crash { killed, parallelism } => {
                    let writers = std::mem::take(&mut run.writers);
                    if killed {
                        std::mem::forget(writers);
                    }
                    run.start(parallelism);
                }
            }
            let visible = visible_lines(dir.path());
            let covered: Vec<String> = (0..run.saved.rows).map(|row| format!("{row:05}")).collect();
            prop_assert!(visible.is_sorted_by(|a, b| a < b), "twice: {visible:?}");
            prop_assert!(visible.iter().all(|row| covered.contains(row)), "too early: {visible:?}");
        }
        run.checkpoint(true);
        let committables = run.saved.committables.clone();
        run.writers[0].commit(committables).unwrap();
        let all: Vec<String> = (0..run.rows).map(|row| format!("{row:05}")).collect();
        prop_assert_eq!(visible_lines(dir.path()), all);
        prop_assert!(files(dir.path(), false).values().all(|bytes| !bytes.is_empty()));
        run.writers.clear();
        run.sink.remove_orphans(&of_run(2), &[], &[]).unwrap();
        prop_assert!(files(dir.path(), true).is_empty());
    }
}

#[test]
fn an_open_file_is_cut_to_what_the_checkpoint_covers() {
    let dir = TempDir::new().unwrap();
    let sink = FileSink::new(dir.path(), Lines::new());
    let mut writer = open(&sink);
    writer.write(lines(["a", "b"])).unwrap();
    let prepared = prepare(&mut writer, false);
    assert!(prepared.committables.is_empty() && prepared.state.len() == 1);
    writer.write(lines(["c"])).unwrap();
    // More than the buffer, so that bytes behind the barrier are in the file.
    writer.write(lines(vec!["x".repeat(1000); 100])).unwrap();
    std::mem::forget(writer);
    assert!(files(dir.path(), true).values().next().unwrap().len() > 60_000);
    assert!(files(dir.path(), false).is_empty());

    let mut writer = sink.writer(context(0, 1, 2, &ManualClock::default()), prepared.state.clone()).unwrap();
    writer.write(lines(["c"])).unwrap();
    commit_all(&mut writer);
    assert_eq!(visible_lines(dir.path()), ["a", "b", "c"]);
    assert!(files(dir.path(), true).is_empty());
    // Restored from the same checkpoint once more, as when its successor was lost: nothing is committed twice.
    let mut writer = sink.writer(context(0, 1, 3, &ManualClock::default()), prepared.state).unwrap();
    assert!(prepare(&mut writer, true).committables.is_empty());
}

#[test]
fn missing_and_foreign_files_are_errors() {
    let dir = TempDir::new().unwrap();
    let sink = FileSink::new(dir.path(), Lines::new());
    let mut writer = open(&sink);
    writer.write(lines(["a"])).unwrap();
    let committables = prepare(&mut writer, true).committables;
    let hidden = dir.path().join(files(dir.path(), true).into_keys().next().unwrap());
    let visible = {
        let name = hidden.file_name().unwrap().to_str().unwrap();
        dir.path().join(name.strip_prefix('.').unwrap().strip_suffix(".inprogress").unwrap())
    };
    let mut commit = || writer.commit(committables.clone()).map_err(|e| e.to_string());

    fs::write(&hidden, "a").unwrap();
    assert!(commit().unwrap_err().contains("rows of the checkpoint are missing"));
    fs::write(&hidden, "a\n").unwrap();
    fs::write(&visible, "foreign").unwrap();
    assert!(commit().unwrap_err().contains("is not overwritten"));
    assert_eq!(fs::read(&visible).unwrap(), b"foreign");
    fs::remove_file(&visible).unwrap();
    commit().unwrap();
    assert_eq!(fs::read(&visible).unwrap(), b"a\n");
    commit().unwrap();
    fs::write(&visible, "a\nb\n").unwrap();
    assert!(commit().unwrap_err().contains("would be written twice"));
    fs::remove_file(&visible).unwrap();
    assert!(commit().unwrap_err().contains("neither"));
}

#[test]
fn two_jobs_of_the_same_name_do_not_clash() {
    let dir = TempDir::new().unwrap();
    let sink = FileSink::new(dir.path(), Lines::new());
    let (mut a, mut b) = (open(&sink), open(&sink));
    a.write(lines(["a"])).unwrap();
    b.write(lines(["b"])).unwrap();
    commit_all(&mut a);
    commit_all(&mut b);
    let mut c = open(&sink);
    c.write(lines(["c"])).unwrap();
    commit_all(&mut c);
    assert_eq!(visible_lines(dir.path()), ["a", "b", "c"]);
    assert_eq!(files(dir.path(), false).len(), 3);
}

#[test]
fn files_end_by_size_age_and_idleness() {
    let dir = TempDir::new().unwrap();
    let clock = ManualClock::default();
    let sink = FileSink::new(dir.path(), Lines::new())
        .roll_bytes(10)
        .roll_after(Duration::from_secs(100))
        .roll_inactive(Duration::from_secs(30));
    let mut writer = sink.writer(context(0, 1, 1, &clock), Vec::new()).unwrap();
    assert_eq!(writer.next_tick(), None);
    writer.write(lines(["1234567", "x", "y"])).unwrap();
    let prepared = prepare(&mut writer, false);
    assert_eq!((prepared.committables.len(), prepared.state.len()), (1, 1), "8 and 2 bytes fill a file");
    writer.commit(prepared.committables).unwrap();
    assert_eq!(visible_lines(dir.path()), ["1234567", "x"]);

    assert_eq!(writer.next_tick(), Some(Timestamp::from_secs(30)));
    clock.advance_to(Timestamp::from_secs(20));
    writer.write(lines(["z"])).unwrap();
    writer.tick(Timestamp::from_secs(30)).unwrap();
    assert_eq!(writer.next_tick(), Some(Timestamp::from_secs(50)), "a row came at 20");
    assert!(prepare(&mut writer, false).committables.is_empty());
    writer.tick(Timestamp::from_secs(50)).unwrap();
    assert_eq!(prepare(&mut writer, false).committables.len(), 1);
    assert_eq!(writer.next_tick(), None);

    clock.advance_to(Timestamp::from_secs(60));
    for at in (60..160).step_by(25) {
        clock.advance_to(Timestamp::from_secs(at));
        writer.write(lines([""])).unwrap();
    }
    writer.tick(Timestamp::from_secs(159)).unwrap();
    assert_eq!(writer.next_tick(), Some(Timestamp::from_secs(160)), "open since 60");
    writer.tick(Timestamp::from_secs(160)).unwrap();
    assert_eq!(prepare(&mut writer, false).committables.len(), 1);
}

#[test]
fn compressed_files_end_with_the_checkpoint() {
    let dir = TempDir::new().unwrap();
    let sink = FileSink::new(dir.path(), Json::<u32>::new()).compression(Compression::Gzip);
    let mut writer = open(&sink);
    for rows in [0..3, 3..5] {
        writer.write(Records::untimed(rows.collect())).unwrap();
        let prepared = prepare(&mut writer, false);
        assert!(prepared.state.is_empty());
        writer.commit(prepared.committables).unwrap();
    }
    let texts: Vec<String> = files(dir.path(), false)
        .iter()
        .map(|(name, bytes)| {
            assert!(name.ends_with(".jsonl.gz"));
            let mut text = String::new();
            flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
            text
        })
        .collect();
    assert_eq!(texts, ["0\n1\n2\n", "3\n4\n"]);
}

#[derive(Debug, Clone, serde::Serialize)]
struct Sale {
    shop: &'static str,
    euro: u32,
}

#[test]
fn buckets_are_folders_and_each_file_has_its_header() {
    let dir = TempDir::new().unwrap();
    let sink =
        FileSink::new(dir.path(), Csv::<Sale>::new()).buckets(Buckets::by_key(|sale: &Sale| sale.shop));
    let mut writer = open(&sink);
    let rows = [("a/b", 1), ("..", 2), ("a/b", 3)].map(|(shop, euro)| Sale { shop, euro });
    writer.write(Records::untimed(rows.to_vec())).unwrap();
    commit_all(&mut writer);
    let by_folder: Vec<(String, String)> = files(dir.path(), false)
        .into_iter()
        .map(|(name, bytes)| (name.split_once('/').unwrap().0.to_owned(), String::from_utf8(bytes).unwrap()))
        .collect();
    assert_eq!(
        by_folder,
        [
            ("%2E.".to_owned(), "shop,euro\n..,2\n".to_owned()),
            ("a%2Fb".to_owned(), "shop,euro\na/b,1\na/b,3\n".to_owned())
        ]
    );
}

#[test]
fn one_bucket_too_many_ends_the_one_that_waited_longest() {
    let dir = TempDir::new().unwrap();
    let clock = ManualClock::default();
    let sink = FileSink::new(dir.path(), Lines::new()).max_open_buckets(2).bucket_by(|row, _| row.clone());
    let mut writer = sink.writer(context(0, 1, 1, &clock), Vec::new()).unwrap();
    for (at, row) in ["a", "b", "a", "c"].into_iter().enumerate() {
        clock.advance_to(Timestamp::from_secs(at as i64));
        writer.write(lines([row])).unwrap();
    }
    let prepared = prepare(&mut writer, false);
    assert_eq!((prepared.committables.len(), prepared.state.len()), (1, 2));
    writer.commit(prepared.committables).unwrap();
    assert_eq!(visible_lines(dir.path()), ["b"]);
}

#[test]
fn a_dropped_writer_takes_its_uncovered_files_along() {
    let dir = TempDir::new().unwrap();
    let sink = FileSink::new(dir.path(), Lines::new()).bucket_by(|row, _| row.clone());
    let mut writer = open(&sink);
    writer.write(lines(["kept"])).unwrap();
    let prepared = prepare(&mut writer, false);
    writer.write(lines(["kept", "gone"])).unwrap();
    drop(writer);
    let left = files(dir.path(), true);
    assert_eq!(left.len(), 1);
    assert!(left.keys().next().unwrap().starts_with("kept/"));
    let left_after = |states: &[Vec<u8>], context: WriterContext| {
        sink.remove_orphans(&context, states, &[]).unwrap();
        files(dir.path(), true).len()
    };
    assert_eq!(left_after(&prepared.state, of_run(2)), 1, "a restored state names it");
    assert_eq!(left_after(&[], of_run(1)), 1, "it is of this run");
    assert_eq!(
        left_after(&[], WriterContext { job: "another".to_owned(), ..of_run(2) }),
        1,
        "it is another job's"
    );
    assert_eq!(left_after(&[], of_run(2)), 0);
}

#[test]
fn what_cannot_be_written_is_refused() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let sink = FileSink::new(dir.path().join("file/out"), Lines::new());
    let error = sink.writer(context(0, 1, 1, &ManualClock::default()), Vec::new()).err().unwrap().to_string();
    assert!(error.contains("file/out cannot be written"), "{error}");
    for prefix in ["", ".x", "_x", "a/b"] {
        let sink = FileSink::new(dir.path(), Lines::new()).prefix(prefix);
        assert!(sink.writer(context(0, 1, 1, &ManualClock::default()), Vec::new()).is_err(), "{prefix}");
    }
    let mut writer = open(&FileSink::new(dir.path(), Lines::new()));
    assert!(writer.write(lines(["a", "b\nc"])).is_err());
    drop(writer);
    assert!(files(dir.path(), true).is_empty());
}

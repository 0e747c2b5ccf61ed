//! A job whose results any loss and any repetition shows in, and what tests say of errors.

use flugs::checkpoint::BlobStore;
use flugs::operators::{Collector, KeyedContext, KeyedProcessFunction, Timer};
use flugs::prelude::*;
use flugs::{Error, JobReport};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// A kind, a key, a number.
pub(crate) type Row = (u8, u64, u64);

/// Numbers the rows of each key, and says at the end how many there were and what their sum is.
pub(crate) struct Numbering {
    pub(crate) seen: ValueState<(u64, u64, String)>,
}

impl KeyedProcessFunction for Numbering {
    type Key = u64;
    type In = u64;
    type Out = Row;

    fn process(
        &mut self,
        row: u64,
        cx: &mut KeyedContext<'_, u64>,
        out: &mut Collector<'_, Row>,
    ) -> flugs::Result<()> {
        // The text is there so that the state is too large for the manifest.
        let (n, sum, _) = self.seen.get_or_insert_with(cx, || (0, 0, "x".repeat(40)));
        *n += 1;
        *sum += row;
        let n = *n;
        cx.register_event_time_timer(Timestamp::MAX);
        out.collect((1, *cx.key(), n));
        Ok(())
    }

    fn on_timer(
        &mut self,
        _: Timer,
        cx: &mut KeyedContext<'_, u64>,
        out: &mut Collector<'_, Row>,
    ) -> flugs::Result<()> {
        let (n, sum, _) = self.seen.get(cx).cloned().expect("a timer comes with a row");
        out.collect((2, *cx.key(), n));
        out.collect((3, *cx.key(), sum));
        Ok(())
    }
}

/// The numbers below `rows`, numbered by key.
#[derive(Clone, Copy)]
pub(crate) struct Numbers {
    pub(crate) rows: u64,
    pub(crate) keys: u64,
    /// Rows a second, if not as many as possible.
    pub(crate) rate: Option<f64>,
}

impl Numbers {
    pub(crate) fn stream(self, env: &Environment) -> DataStream<Row> {
        let source = GeneratorSource::new(Some(self.rows), |i| i);
        let source = match self.rate {
            Some(rate) => source.rate(rate),
            None => source.block(16),
        };
        let keys = self.keys;
        env.from_source(source, WatermarkStrategy::none(), "numbers")
            .uid("numbers")
            .stream()
            .key_by(move |i| i % keys)
            .process_with(|open| Ok(Numbering { seen: open.value("seen")? }))
            .name("numbering")
            .uid("numbering")
    }

    /// The rows, by a loop, in order.
    pub(crate) fn expected(self) -> Vec<Row> {
        let mut of_key: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        let mut rows = Vec::new();
        for i in 0..self.rows {
            let (n, sum) = of_key.entry(i % self.keys).or_default();
            *n += 1;
            *sum += i;
            rows.push((1, i % self.keys, *n));
        }
        rows.extend(of_key.iter().flat_map(|(key, (n, sum))| [(2, *key, *n), (3, *key, *sum)]));
        rows.sort_unstable();
        rows
    }
}

/// An environment over a store, that goes on from what is there and does not start again by itself.
pub(crate) fn environment(store: Arc<dyn BlobStore>) -> Environment {
    let env = Environment::new("job");
    env.set_parallelism(2)
        .checkpoint_store(store)
        .checkpoint_interval(Duration::from_millis(5))
        .restore(Restore::Latest)
        .restart_strategy(RestartStrategy::None);
    env
}

/// The job over a store on disk, into a folder of files.
pub(crate) fn into_files(numbers: Numbers, folder: &Path) -> Environment {
    let store = ObjectBlobs::folder(folder.join("checkpoints")).expect("a folder for checkpoints");
    let env = environment(Arc::new(store));
    sink_into_files(&env, numbers, folder);
    env
}

pub(crate) fn sink_into_files(env: &Environment, numbers: Numbers, folder: &Path) {
    let sink = FileSink::new(folder.join("out"), Json::<Row>::new());
    numbers.stream(env).sink_to(sink, "files").uid("files");
}

/// The rows that a reader of the folder sees, in order.
pub(crate) fn visible(folder: &Path) -> Vec<Row> {
    let mut rows = Vec::new();
    for entry in fs::read_dir(folder.join("out")).into_iter().flatten() {
        let path = entry.expect("a folder can be listed").path();
        if path.file_name().expect("it has a name").to_string_lossy().starts_with('.') {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a visible file is text");
        assert!(text.is_empty() || text.ends_with('\n'), "{} ends in half a row", path.display());
        let number = |text: &str| text.parse::<u64>().expect("a row has numbers");
        for line in text.lines() {
            let numbers: Vec<u64> = line.trim_matches(['[', ']']).split(',').map(number).collect();
            assert_eq!(numbers.len(), 3, "{}: {line}", path.display());
            rows.push((numbers[0] as u8, numbers[1], numbers[2]));
        }
    }
    rows.sort_unstable();
    rows
}

/// Runs until so many checkpoints are complete and the last one has so much state, and no further.
pub(crate) fn leave_unfinished(env: &Environment, checkpoints: u64, bytes: u64) {
    let job = env.execute_async().expect("the job starts");
    let is_there = |r: &JobReport| r.checkpoints >= checkpoints && r.checkpoint_bytes >= bytes;
    let report = job.wait_until(Duration::from_secs(20), is_there);
    assert!(is_there(&report) && !report.status.is_terminal(), "{report:?}");
    job.cancel();
    job.wait().expect("a cancelled job has not failed");
}

/// The error of a job that must fail.
pub(crate) fn failure(env: &Environment) -> Error {
    match env.execute() {
        Ok(report) => panic!("an error was expected: {report:?}"),
        Err(error) => error,
    }
}

/// That the error says all of this.
pub(crate) fn assert_says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "`{word}` is not said: {text}");
    }
    assert!(!text.starts_with("internal error"), "{text}");
}

pub(crate) fn assert_same<T: PartialEq + std::fmt::Debug>(found: &[T], expected: &[T], when: &str) {
    assert_eq!(found.len(), expected.len(), "{when}: number of rows");
    if let Some(i) = (0..found.len()).find(|&i| found[i] != expected[i]) {
        panic!("{when}: row {i} is {:?}, not {:?}", found[i], expected[i]);
    }
}

/// Steele, Lea and Flood's generator: any seed is a good one.
pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound.max(1)
    }
}

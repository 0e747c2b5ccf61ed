//! What is written: files, partitions, success files, checkpoints, overwriting.

use super::*;
use flugs_batch::Records;
use flugs_connector::{Committable, Prepared, SinkWriter, WriterContext};
use flugs_table::{ChangelogMode, FormatContext};
use flugs_types::{
    Attempt, Background, CheckpointId, Generation, ManualClock, OperatorUid, SubtaskId, Timestamp,
};
use std::sync::Arc;
use std::task::Waker;

struct NoBackground;

impl Background for NoBackground {
    fn run(&self, _work: Box<dyn FnOnce() + Send>) {
        panic!("the sink works in its task");
    }
}

fn context(generation: u64, clock: &ManualClock) -> WriterContext {
    WriterContext {
        job: "job".to_owned(),
        uid: OperatorUid::new("sink"),
        subtask: SubtaskId::new(0, 1),
        generation: Generation(generation),
        attempt: Attempt(1),
        clock: Arc::new(clock.clone()),
        background: Arc::new(NoBackground),
        waker: Waker::noop().clone(),
    }
}

/// Rows of a table from JSON lines.
pub(super) fn batch(table: &Table, lines: &[&str]) -> ChangeBatch {
    let schema = to_schema(table.schema.columns.iter().map(|c| (c.name.as_str(), &c.sql_type)));
    let columns: Vec<FieldPath> =
        table.names().iter().map(|name| FieldPath(vec![(*name).to_owned()])).collect();
    let context = FormatContext {
        table: "t",
        physical: &schema,
        columns: &columns,
        schema: &schema,
        options: &Options::new(),
    };
    let mut decoder = table.registry.format("json").unwrap().decoder(context).unwrap();
    let records: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    let (rows, failures) = decoder.decode(&records).unwrap();
    assert_eq!(failures, []);
    rows
}

pub(super) fn write(writer: &mut dyn SinkWriter<ChangeBatch>, rows: ChangeBatch) {
    writer.write(Records::untimed(vec![rows])).unwrap();
}

pub(super) fn writer(
    table: &Table,
    overwrite: bool,
    clock: &ManualClock,
) -> Box<dyn SinkWriter<ChangeBatch>> {
    table.sink().unwrap().sink(overwrite).unwrap().writer(context(1, clock), Vec::new()).unwrap()
}

/// Writes these rows and ends.
pub(super) fn write_all(table: &Table, overwrite: bool, lines: &[&str]) {
    let mut writer = writer(table, overwrite, &ManualClock::default());
    write(&mut *writer, batch(table, lines));
    let Prepared { committables, state } = writer.prepare(CheckpointId(1), true).unwrap();
    assert!(state.is_empty());
    writer.commit(committables).unwrap();
}

/// The visible files and their text, by a path in which numbers of runs are left out.
fn visible(dir: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.file_name().unwrap().to_str().unwrap();
            if !name.starts_with('.') {
                let folder = folder.strip_prefix(dir).unwrap().display().to_string();
                let name = if name.starts_with("part-") { "part" } else { name };
                files.push((format!("{folder}/{name}"), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

fn named(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn rows_go_to_the_folders_of_their_partitions_and_are_read_back() {
    let dir = TempDir::new().unwrap();
    let table = Table::new(&PARTED, &["dt", "n"], &[("format", "csv")]).at(dir.path());
    let rows = [
        r#"{"id":1,"dt":"a/b","name":"x y","n":7}"#,
        r#"{"id":2,"dt":null,"name":"two","n":8}"#,
        r#"{"id":3,"dt":"a/b","name":"three","n":7}"#,
    ];
    write_all(&table, false, &rows);
    assert_eq!(
        visible(dir.path()),
        named(&[
            ("dt=__DEFAULT_PARTITION__/n=8/part", "2,two\n"),
            ("dt=a%2Fb/n=7/part", "1,\"x y\"\n3,three\n")
        ])
    );
    assert_eq!(table.rows(), ["+I[2, null, two, 8]", "+I[1, a/b, x y, 7]", "+I[3, a/b, three, 7]"]);
    let sink = table.sink().unwrap();
    assert_eq!(sink.changelog_mode(ChangelogMode::Retract), ChangelogMode::Append);
    assert_eq!(sink.parallelism(), None);
}

#[test]
fn rows_are_seen_once_after_a_crash_between_checkpoints() {
    let dir = TempDir::new().unwrap();
    let table = Table::new(&[("id", LogicalType::Int)], &[], &[("format", "json")]).at(dir.path());
    let sink = table.sink().unwrap().sink(false).unwrap();
    let clock = ManualClock::default();
    let mut first = sink.writer(context(1, &clock), Vec::new()).unwrap();
    write(&mut *first, batch(&table, &["{\"id\":1}"]));
    let Prepared { committables, state } = first.prepare(CheckpointId(1), false).unwrap();
    assert_eq!((committables.len(), state.len()), (0, 1), "the file stays open");
    write(&mut *first, batch(&table, &["{\"id\":2}"]));
    drop(first);

    sink.remove_orphans(&context(2, &clock), &state, &committables).unwrap();
    let mut second = sink.writer(context(2, &clock), state).unwrap();
    write(&mut *second, batch(&table, &["{\"id\":3}"]));
    let Prepared { committables, .. } = second.prepare(CheckpointId(2), true).unwrap();
    assert_eq!(visible(dir.path()), []);
    second.commit(committables.clone()).unwrap();
    second.commit(committables).unwrap();
    assert_eq!(table.rows(), ["+I[1]", "+I[3]"]);
}

const Q10: [(&str, &str); 7] = [
    ("format", "csv"),
    ("sink.partition-commit.trigger", "partition-time"),
    ("sink.partition-commit.delay", "1 min"),
    ("sink.partition-commit.policy.kind", "success-file"),
    ("partition.time-extractor.timestamp-pattern", "$dt $hm:00"),
    ("sink.rolling-policy.rollover-interval", "1min"),
    ("sink.rolling-policy.check-interval", "1min"),
];

#[test]
fn a_partition_is_whole_when_the_watermark_says_so() {
    let dir = TempDir::new().unwrap();
    let columns = [("id", LogicalType::Int), ("dt", TEXT), ("hm", TEXT)];
    let table = Table::new(&columns, &["dt", "hm"], &Q10).at(dir.path());
    assert_eq!(table.sink().unwrap().parallelism(), Some(1));
    let sink = table.sink().unwrap().sink(false).unwrap();
    let clock = ManualClock::default();
    let mut first = sink.writer(context(1, &clock), Vec::new()).unwrap();
    let row = |id: u32, hm: &str| format!("{{\"id\":{id},\"dt\":\"2015-07-15\",\"hm\":\"{hm}\"}}");
    write(&mut *first, batch(&table, &[&row(1, "00:00"), &row(2, "00:01")]));
    let at = |time: &str| format!("2015-07-15T{time}Z").parse::<Timestamp>().unwrap();
    first.advance(at("00:01:00")).unwrap();
    let one = first.prepare(CheckpointId(1), false).unwrap();
    assert_eq!((one.committables.len(), one.state.len()), (0, 4), "two files and two partitions");

    let mut second = sink.writer(context(2, &clock), one.state).unwrap();
    second.advance(at("00:01:00.001")).unwrap();
    let two = second.prepare(CheckpointId(2), false).unwrap();
    second.commit(two.committables).unwrap();
    let first_minute = ("dt=2015-07-15/hm=00%3A00/_SUCCESS", "");
    let rows = ("dt=2015-07-15/hm=00%3A00/part", "1\n");
    let later = ("dt=2015-07-15/hm=00%3A01/part", "2\n");
    assert_eq!(visible(dir.path()), named(&[first_minute, rows, later]));

    write(&mut *second, batch(&table, &[&row(3, "00:00")]));
    second.advance(Timestamp::MAX).unwrap();
    let end = second.prepare(CheckpointId(3), true).unwrap();
    assert!(end.state.is_empty());
    second.commit(end.committables.clone()).unwrap();
    second.commit(end.committables).unwrap();
    let files = visible(dir.path());
    assert_eq!(files.len(), 5, "{files:?}");
    assert!(files.contains(&("dt=2015-07-15/hm=00%3A01/_SUCCESS".to_owned(), String::new())));
    assert_eq!(table.rows().len(), 3, "success files are no rows");
}

#[test]
fn overwriting_replaces_written_partitions_at_the_end() {
    let dir = TempDir::new().unwrap();
    let columns = [("id", LogicalType::Int), ("p", TEXT)];
    let table = Table::new(&columns, &["p"], &[("format", "csv")]).at(dir.path());
    write_all(&table, false, &[r#"{"id":1,"p":"a"}"#, r#"{"id":2,"p":"b"}"#]);
    let sink = table.sink().unwrap().sink(true).unwrap();
    let clock = ManualClock::default();
    let mut first = sink.writer(context(3, &clock), Vec::new()).unwrap();
    write(&mut *first, batch(&table, &[r#"{"id":3,"p":"a"}"#]));
    let one = first.prepare(CheckpointId(1), false).unwrap();
    assert!(one.committables.is_empty());
    drop(first);
    sink.remove_orphans(&context(4, &clock), &one.state, &one.committables).unwrap();
    let mut second = sink.writer(context(4, &clock), one.state).unwrap();
    write(&mut *second, batch(&table, &[r#"{"id":4,"p":"a"}"#]));
    let end = second.prepare(CheckpointId(2), true).unwrap();
    assert_eq!(table.rows(), ["+I[1, a]", "+I[2, b]"], "nothing is seen before the commit");
    second.commit(end.committables.clone()).unwrap();
    second.commit(end.committables).unwrap();
    assert_eq!(table.rows(), ["+I[3, a]", "+I[4, a]", "+I[2, b]"]);

    let flat =
        Table::new(&[("id", LogicalType::Int)], &[], &[("format", "csv")]).at(&dir.path().join("flat"));
    write_all(&flat, false, &[r#"{"id":1}"#]);
    write_all(&flat, true, &[r#"{"id":2}"#]);
    assert_eq!(flat.rows(), ["+I[2]"]);
    let mut empty = writer(&flat, true, &clock);
    let end: Vec<Committable> = empty.prepare(CheckpointId(1), true).unwrap().committables;
    empty.commit(end).unwrap();
    assert_eq!(flat.rows(), [""; 0]);
}

#[test]
fn changes_are_written_where_the_format_has_them() {
    let dir = TempDir::new().unwrap();
    let table = Table::new(&[("id", LogicalType::Int)], &[], &[("format", "debezium-json")]).at(dir.path());
    let sink = table.sink().unwrap();
    assert_eq!(sink.changelog_mode(ChangelogMode::Append), ChangelogMode::Retract);
    use flugs_types::RowKind::{Delete, Insert};
    let rows = batch(&table, &["{\"id\":1}", "{\"id\":1}"]).into_rows();
    let mut writer = writer(&table, false, &ManualClock::default());
    write(&mut *writer, ChangeBatch::new(rows, &[Insert, Delete]).unwrap());
    let end = writer.prepare(CheckpointId(1), true).unwrap();
    writer.commit(end.committables).unwrap();
    assert_eq!(table.source().unwrap().changelog_mode(), ChangelogMode::Retract);
    assert_eq!(table.rows(), ["+I[1]", "-D[1]"]);
}

//! The built-in sinks: what is visible when, and that commits may be repeated.

use super::testing::writer_context;
use super::*;
use crate::{Committable, Delivery, Sink};
use flugs_batch::Records;
use flugs_types::{CheckpointId, Error, ErrorKind};
use std::io;
use std::sync::{Arc, Mutex};

fn batch(values: impl IntoIterator<Item = u64>) -> Records<u64> {
    Records::untimed(values.into_iter().collect())
}

#[test]
fn memory_shows_rows_with_their_checkpoint_and_once() {
    let sink = MemorySink::new();
    assert_eq!(sink.delivery(), Delivery::ExactlyOnce);
    let mut writer = sink.writer(writer_context(0, 1, 1), Vec::new()).unwrap();
    writer.write(batch([1, 2])).unwrap();
    let first = writer.prepare(CheckpointId(1), false).unwrap().committables;
    writer.write(batch([3])).unwrap();
    let second = writer.prepare(CheckpointId(2), false).unwrap().committables;
    assert!(writer.prepare(CheckpointId(3), false).unwrap().committables.is_empty());
    assert!(sink.is_empty());
    writer.commit(first.clone()).unwrap();
    assert_eq!(sink.rows(), [1, 2]);
    // The process fails before the next commit is known to have ended; a later attempt does it again.
    writer.write(batch([4])).unwrap();
    let mut later = sink.clone().writer(writer_context(1, 3, 2), Vec::new()).unwrap();
    later.commit([first, second.clone()].concat()).unwrap();
    later.commit(second).unwrap();
    assert_eq!(sink.rows(), [1, 2, 3]);
    // The attempts write checkpoint 3 both, but only one of them is complete.
    later.write(batch([4])).unwrap();
    let end = later.prepare(CheckpointId(3), true).unwrap().committables;
    later.commit(end).unwrap();
    assert_eq!(sink.take().values, [1, 2, 3, 4]);
    assert!(sink.is_empty());
    assert_eq!(later.commit(vec![Committable(vec![7])]).unwrap_err().kind(), ErrorKind::State);
}

#[test]
fn memory_at_once_needs_no_encoding() {
    #[derive(Clone, Debug, PartialEq)]
    struct Opaque(u8);
    let sink = MemorySink::immediate();
    assert_eq!(sink.delivery(), Delivery::AtLeastOnce);
    let mut writer = sink.writer(writer_context(0, 1, 1), Vec::new()).unwrap();
    writer.write(Records::untimed(vec![Opaque(1)])).unwrap();
    assert_eq!(sink.rows(), [Opaque(1)]);
    assert_eq!(writer.prepare(CheckpointId(1), false).unwrap(), crate::Prepared::default());
}

#[test]
fn callbacks_see_batches_as_they_come_or_as_they_are_committed() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let sink = CallbackSink::new(move |subtask, rows: &Records<u64>| {
        if rows.values.contains(&13) {
            return Err(Error::user("unlucky"));
        }
        log.lock().unwrap().push((subtask.to_string(), rows.values.clone()));
        Ok(())
    });
    let mut writer = sink.writer(writer_context(1, 2, 1), Vec::new()).unwrap();
    writer.write(batch([1, 2])).unwrap();
    assert_eq!(writer.write(batch([13])).unwrap_err().kind(), ErrorKind::User);
    assert_eq!(*seen.lock().unwrap(), [("2/2".to_owned(), vec![1, 2])]);
    seen.lock().unwrap().clear();

    let log = seen.clone();
    let sink = CallbackSink::exactly_once(move |id, rows: &Records<u64>| {
        log.lock().unwrap().push((id.to_string(), rows.values.clone()));
        Ok(())
    });
    let mut writer = sink.writer(writer_context(1, 2, 4), Vec::new()).unwrap();
    writer.write(batch([1])).unwrap();
    writer.write(batch([2])).unwrap();
    let committables = writer.prepare(CheckpointId(9), false).unwrap().committables;
    assert!(seen.lock().unwrap().is_empty());
    writer.commit(committables.clone()).unwrap();
    writer.commit(committables).unwrap();
    let once = ("sink-1-4-9-1".to_owned(), vec![1, 2]);
    assert_eq!(*seen.lock().unwrap(), [once.clone(), once], "the same id tells that it is a repetition");
}

#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl io::Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.contains(&b'!') {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn prints_with_flinks_prefixes() {
    for (name, parallelism, want) in [
        ("", 1, "7\n8\n"),
        ("", 2, "1> 7\n1> 8\n"),
        ("bids", 1, "bids> 7\nbids> 8\n"),
        ("bids", 2, "bids:1> 7\nbids:1> 8\n"),
    ] {
        let paper = Paper::default();
        let sink = PrintSink::display().name(name).to_writer(paper.clone());
        let mut writer = sink.writer(writer_context(0, parallelism, 1), Vec::new()).unwrap();
        writer.write(batch([7, 8])).unwrap();
        assert_eq!(String::from_utf8(paper.0.lock().unwrap().clone()).unwrap(), want);
    }
    let paper = Paper::default();
    let sink = PrintSink::debug().to_writer(paper.clone());
    let mut writer = sink.writer(writer_context(0, 1, 1), Vec::new()).unwrap();
    writer.write(Records::untimed(vec!["a"])).unwrap();
    assert_eq!(*paper.0.lock().unwrap(), b"\"a\"\n");
    let error = writer.write(Records::untimed(vec!["!"])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Environment);
}

#[test]
fn a_blackhole_takes_everything() {
    let mut writer = BlackholeSink::new().writer(writer_context(0, 1, 1), Vec::new()).unwrap();
    writer.write(batch([1])).unwrap();
    assert_eq!(writer.prepare(CheckpointId(1), true).unwrap(), crate::Prepared::default());
}

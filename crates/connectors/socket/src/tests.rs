use crate::SocketSource;
use crate::source::Retries;
use flugs_batch::Records;
use flugs_connector::{
    EnumeratorAction, EnumeratorContext, EnumeratorEvent, Malformed, Outstanding, PollContext, ReaderContext,
    ReaderStatus, Source, SourceOutput, SourceReader, Split, SplitEnumerator, SplitStatus,
};
use flugs_formats::{Csv, Lines};
use flugs_types::{Background, ManualClock, Result, SubtaskId, Timestamp};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

/// A thread for each piece of work.
struct Threads;

impl Background for Threads {
    #[allow(clippy::disallowed_methods, reason = "a test of what the pool of a real job does")]
    fn run(&self, work: Box<dyn FnOnce() + Send>) {
        thread::spawn(work);
    }
}

/// Wakes the test's thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[derive(Default)]
pub(crate) struct Collected<T> {
    pub(crate) rows: Vec<T>,
    pub(crate) malformed: Vec<Malformed>,
    finished: Vec<String>,
}

impl<T> SourceOutput<T> for Collected<T> {
    fn emit(&mut self, _split: &str, rows: Records<T>) -> Result<()> {
        self.rows.extend(rows.values);
        Ok(())
    }

    fn malformed(&mut self, record: Malformed) -> Result<()> {
        self.malformed.push(record);
        Ok(())
    }

    fn status(&mut self, _split: &str, _status: SplitStatus) {}

    fn finished(&mut self, split: &str) {
        self.finished.push(split.to_owned());
    }
}

pub(crate) struct Job<T: flugs_batch::Record> {
    enumerator: Box<dyn SplitEnumerator>,
    reader: Box<dyn SourceReader<T>>,
    now: Timestamp,
    /// How long it was asked to wait, all in all.
    waited: Duration,
    pub(crate) out: Collected<T>,
}

impl<T: flugs_batch::Record> Job<T> {
    pub(crate) fn start(source: &dyn Source<Item = T>, restored: Option<&(Vec<u8>, Vec<Split>)>) -> Self {
        let context =
            EnumeratorContext { parallelism: 1, restored: restored.map(|(state, _)| state.as_slice()) };
        let mut enumerator = source.enumerator(context).unwrap();
        let actions = enumerator.step(Timestamp::EPOCH, EnumeratorEvent::Start).unwrap();
        let outstanding = if restored.is_some() { Outstanding::Nothing } else { Outstanding::InOrder };
        assert!(matches!(actions[..], [EnumeratorAction::Outstanding(said)] if said == outstanding));
        let mut reader = source
            .reader(ReaderContext {
                subtask: SubtaskId::new(0, 1),
                clock: Arc::new(ManualClock::default()),
                background: Arc::new(Threads),
                waker: Waker::from(Arc::new(Unpark(thread::current()))),
            })
            .unwrap();
        if let Some((_, splits)) = restored {
            reader.add_splits(splits.clone()).unwrap();
        }
        let out = Collected { rows: Vec::new(), malformed: Vec::new(), finished: Vec::new() };
        Job { enumerator, reader, now: Timestamp::EPOCH, waited: Duration::ZERO, out }
    }

    /// Runs until there are so many rows, or to the end.
    pub(crate) fn run(&mut self, rows: usize) -> Result<ReaderStatus> {
        loop {
            let mut context = PollContext { now: self.now, request_split: false };
            let status = self.reader.poll(&mut context, &mut self.out)?;
            if context.request_split {
                for action in self.enumerator.step(self.now, EnumeratorEvent::SplitRequested { reader: 0 })? {
                    match action {
                        EnumeratorAction::Assign { splits, .. } => self.reader.add_splits(splits)?,
                        EnumeratorAction::NoMoreSplits { .. } => self.reader.no_more_splits(),
                        EnumeratorAction::Outstanding(outstanding) => {
                            assert_eq!(outstanding, Outstanding::Nothing);
                        }
                        _ => panic!("an unexpected action"),
                    }
                }
                continue;
            }
            match status {
                _ if self.out.rows.len() >= rows => return Ok(status),
                ReaderStatus::Finished => return Ok(status),
                ReaderStatus::More => {}
                ReaderStatus::Waiting => thread::park_timeout(Duration::from_secs(5)),
                ReaderStatus::WaitUntil(time) => {
                    self.waited += time.since(self.now);
                    self.now = time;
                }
            }
        }
    }
}

/// A server that treats its connections one after the other, each by one of the functions.
fn serve(connections: Vec<fn(TcpStream)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    Threads.run(Box::new(move || {
        for treat in connections {
            treat(listener.accept().unwrap().0);
        }
    }));
    address
}

#[test]
fn lines_come_as_they_are_sent_and_the_source_ends_with_the_connection() {
    let address = serve(vec![|mut stream| {
        stream.write_all(b"one\r\ntw").unwrap();
        stream.flush().unwrap();
        stream.write_all(b"o\n\xff\nlast").unwrap();
    }]);
    let mut job = Job::start(&SocketSource::new(&address, Lines::new()), None);
    assert_eq!(job.run(usize::MAX).unwrap(), ReaderStatus::Finished);
    assert_eq!(job.out.rows, ["one", "two", "last"]);
    assert_eq!(job.out.finished, [address]);
    assert_eq!(job.out.malformed[0].position, "line 3, byte 9 of the connection");
    assert_eq!(job.reader.snapshot().unwrap(), []);
}

#[test]
fn each_connection_has_its_header() {
    let address = serve(vec![|mut stream| stream.write_all(b"a,b\n1,2\n").unwrap(), |mut stream| {
        stream.write_all(b"b,a\n1,2\n").unwrap()
    }]);
    let source = SocketSource::new(&address, Csv::<std::collections::BTreeMap<String, u32>>::new())
        .reconnect(2, Duration::from_secs(1));
    let mut job = Job::start(&source, None);
    job.run(2).unwrap();
    let rows: Vec<Vec<u32>> = job.out.rows.iter().map(|row| row.values().copied().collect()).collect();
    assert_eq!(rows, [[1, 2], [2, 1]]);
}

#[test]
fn a_restored_reader_connects_again() {
    let address = serve(vec![
        |mut stream| {
            stream.write_all(b"a\nlost").unwrap();
            // Holds the connection until the other side is gone.
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        },
        |mut stream| stream.write_all(b"b\n").unwrap(),
    ]);
    let source = SocketSource::new(&address, Lines::new());
    let mut job = Job::start(&source, None);
    job.run(1).unwrap();
    let saved = (job.enumerator.snapshot().unwrap(), job.reader.snapshot().unwrap());
    drop(job);
    let mut job = Job::start(&source, Some(&saved));
    job.run(usize::MAX).unwrap();
    assert_eq!(job.out.rows, ["b"]);
}

#[test]
fn nobody_there_is_an_error_after_the_last_try() {
    let address = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().to_string()
    };
    let source = SocketSource::new(&address, Lines::new());
    let error = Job::start(&source, None).run(1).unwrap_err().to_string();
    assert!(error.contains(&format!("cannot connect to {address}")) && error.contains("nc -lk"), "{error}");
    let mut job = Job::start(&source.reconnect(3, Duration::from_secs(2)), None);
    assert!(job.run(1).is_err());
    assert_eq!(job.waited, Duration::from_secs(2 + 4 + 8));
}

#[test]
fn waits_double_up_to_a_minute() {
    let retries = Retries { max: None, first_after: Duration::from_secs(5) };
    let seconds: Vec<u64> = [0, 1, 3, 4, 40, 1000].map(|n| retries.after(n).unwrap().as_secs()).to_vec();
    assert_eq!(seconds, [5, 10, 40, 60, 60, 60]);
    assert_eq!(Retries { max: Some(2), ..retries }.after(2), None);
}

#[test]
fn only_one_reader_gets_the_split() {
    let source = SocketSource::new("localhost:1", Lines::new());
    let mut enumerator = source.enumerator(EnumeratorContext { parallelism: 2, restored: None }).unwrap();
    let mut ask =
        |reader| enumerator.step(Timestamp::EPOCH, EnumeratorEvent::SplitRequested { reader }).unwrap();
    assert!(matches!(
        ask(1)[..],
        [
            EnumeratorAction::Assign { reader: 1, .. },
            EnumeratorAction::Outstanding(Outstanding::Nothing),
            EnumeratorAction::NoMoreSplits { reader: 1 }
        ]
    ));
    assert!(matches!(ask(0)[..], [EnumeratorAction::NoMoreSplits { reader: 0 }]));
}

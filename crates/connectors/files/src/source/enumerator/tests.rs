use super::*;
use crate::Compression;
use std::fs;
use tempfile::TempDir;

type Look = Box<dyn FnOnce() -> Result<Vec<Split>> + Send>;

/// An enumerator that is stepped by hand, so that its looks may take their time.
struct Steps {
    enumerator: FileEnumerator,
    look: Option<Look>,
}

impl Steps {
    /// With the actions of its start.
    fn start(
        folder: &TempDir,
        watch: bool,
        ordered: bool,
        parallelism: u32,
        restored: Option<&[u8]>,
    ) -> (Self, Vec<String>) {
        let discovery = Discovery {
            path: folder.path().to_owned(),
            compression: Compression::Auto,
            split_bytes: None,
            may_be_empty: true,
            looks_again: watch,
            filter: None,
        };
        let watch = watch.then_some(Duration::from_secs(1));
        let context = EnumeratorContext { parallelism, restored };
        let enumerator = FileEnumerator::new(discovery, watch, ordered, context).unwrap();
        let mut steps = Steps { enumerator, look: None };
        let said = steps.step(EnumeratorEvent::Start);
        (steps, said)
    }

    /// The actions in words, without looks and times.
    fn step(&mut self, event: EnumeratorEvent) -> Vec<String> {
        let mut said = Vec::new();
        for action in self.enumerator.step(Timestamp::EPOCH, event).unwrap() {
            match action {
                EnumeratorAction::Assign { reader, splits } => {
                    let path = FileSplit::of_payload(&splits[0].payload).unwrap().path;
                    let name = path.rsplit('/').next().unwrap();
                    said.push(format!("{name} to {reader}"));
                }
                EnumeratorAction::NoMoreSplits { reader } => said.push(format!("end {reader}")),
                EnumeratorAction::Outstanding(outstanding) => said.push(format!("{outstanding:?}")),
                EnumeratorAction::Discover(look) => self.look = Some(look),
                EnumeratorAction::WakeAt(_) => {}
            }
        }
        said
    }

    fn ask(&mut self, reader: u32) -> Vec<String> {
        self.step(EnumeratorEvent::SplitRequested { reader })
    }

    fn look_ends(&mut self) -> Vec<String> {
        let found = self.look.take().expect("it looks")();
        self.step(EnumeratorEvent::Discovered(found))
    }
}

fn folder(names: &[&str]) -> TempDir {
    let dir = TempDir::new().unwrap();
    names.iter().for_each(|name| fs::write(dir.path().join(name), "x\n").unwrap());
    dir
}

const NONE: [&str; 0] = [];

#[test]
fn a_watched_folder_has_nothing_outstanding_once_it_was_looked_at_and_all_is_given() {
    for ordered in [false, true] {
        let dir = folder(&["a", "b"]);
        let (mut steps, said) = Steps::start(&dir, true, ordered, 1, None);
        assert_eq!(said, ["InOrder"]);
        assert_eq!(steps.ask(0), NONE, "not looked yet");
        assert_eq!(steps.look_ends(), ["a to 0"], "b is still outstanding");
        assert_eq!(steps.ask(0), ["b to 0", "Nothing"], "the split is told before that");
        assert_eq!(steps.ask(0), NONE);
        assert_eq!(steps.step(EnumeratorEvent::Woken), NONE, "later looks find what is new");
        fs::write(dir.path().join("c"), "x\n").unwrap();
        assert_eq!(steps.look_ends(), ["c to 0"]);
        fs::write(dir.path().join("d"), "x\n").unwrap();
        steps.step(EnumeratorEvent::Woken);
        assert_eq!(steps.look_ends(), ["InOrder"], "the reader is at work");
        assert_eq!(steps.ask(0), ["d to 0", "Nothing"]);
    }
}

#[test]
fn an_empty_watched_folder_holds_nobody_back_once_it_was_looked_at() {
    let dir = folder(&[]);
    let (mut steps, said) = Steps::start(&dir, true, false, 2, None);
    assert_eq!(said, ["InOrder"]);
    assert_eq!([steps.ask(0), steps.ask(1)], [NONE; 2]);
    assert_eq!(steps.look_ends(), ["Nothing"]);
}

#[test]
fn fewer_files_than_readers_leave_the_others_idle() {
    let dir = folder(&["a"]);
    let (mut steps, _) = Steps::start(&dir, true, false, 3, None);
    steps.ask(2);
    assert_eq!(steps.look_ends(), ["a to 2", "Nothing"]);
    assert_eq!([steps.ask(0), steps.ask(1)], [NONE; 2]);
}

#[test]
fn a_restored_watch_looks_again_before_anything_is_idle() {
    let dir = folder(&["a"]);
    let (mut steps, _) = Steps::start(&dir, true, false, 1, None);
    steps.ask(0);
    assert_eq!(steps.look_ends(), ["a to 0", "Nothing"]);
    let stored = steps.enumerator.snapshot().unwrap();
    fs::write(dir.path().join("b"), "x\n").unwrap();
    let (mut again, said) = Steps::start(&dir, true, false, 1, Some(&stored));
    assert_eq!(said, ["InOrder"]);
    assert_eq!(again.ask(0), NONE);
    assert_eq!(again.look_ends(), ["b to 0", "Nothing"], "it came while no job ran");
    // Stored before that look has ended, too.
    let (before, _) = Steps::start(&dir, true, false, 1, Some(&stored));
    let stored = before.enumerator.snapshot().unwrap();
    let (mut again, said) = Steps::start(&dir, true, false, 1, Some(&stored));
    assert_eq!((said, again.look_ends()), (vec!["InOrder".to_owned()], Vec::new()));
    assert_eq!(again.ask(0), ["b to 0", "Nothing"]);
}

#[test]
fn without_a_watch_files_in_any_order_hold_the_watermark_and_files_in_order_do_not() {
    for (ordered, outstanding) in [(false, "AnyTime"), (true, "InOrder")] {
        let dir = folder(&["a", "b"]);
        let (mut steps, said) = Steps::start(&dir, false, ordered, 1, None);
        let held = format!("{:?}", steps.enumerator.outstanding);
        assert_eq!(held, outstanding, "{said:?}");
        assert_eq!((steps.look_ends(), steps.ask(0)), (Vec::new(), vec!["a to 0".to_owned()]));
        let stored = steps.enumerator.snapshot().unwrap();
        assert_eq!(steps.ask(0), ["b to 0", "Nothing"]);
        assert_eq!(steps.ask(0), ["end 0"]);
        let (again, _) = Steps::start(&dir, false, ordered, 1, Some(&stored));
        assert!(again.look.is_none(), "what is there was found before");
        assert_eq!(format!("{:?}", again.enumerator.outstanding), outstanding);
    }
}

#[test]
fn in_order_a_restored_reader_that_has_nothing_ends_and_does_not_wait_for_the_unfinished_file() {
    let dir = folder(&["a", "b"]);
    let (mut steps, _) = Steps::start(&dir, true, true, 3, None);
    steps.ask(0);
    assert_eq!(steps.look_ends(), ["a to 0"]);
    let stored = steps.enumerator.snapshot().unwrap();
    let (mut again, _) = Steps::start(&dir, true, true, 3, Some(&stored));
    assert_eq!(again.look_ends(), NONE);
    assert_eq!(again.ask(2), ["end 2"]);
    assert_eq!(again.ask(0), NONE, "reader 1 may have what is left of a");
    assert_eq!(again.ask(1), ["end 1", "b to 0", "Nothing"]);
}

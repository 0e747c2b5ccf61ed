//! Claims, publication, look-up and retention over a store in memory, with damage and crashes.

use super::*;
use crate::{MemoryStore, OperatorState, StateHandle, SubtaskState};
use flugs_types::{Attempt, ErrorKind, OperatorUid, Timestamp};

const JOB: &str = "word count";

pub(super) fn manifest(generation: u64, checkpoint: u64, kind: Kind, files: &[String]) -> Manifest {
    let subtasks: Vec<SubtaskState> = (0..)
        .zip(files)
        .map(|(index, path)| SubtaskState {
            index,
            finished: false,
            state: Some(StateHandle::File { path: path.clone(), bytes: 1, crc32: 0 }),
            bytes: 1,
        })
        .collect();
    Manifest {
        job: JOB.into(),
        generation: Generation(generation),
        checkpoint: CheckpointId(checkpoint),
        kind,
        created: Timestamp(0),
        parent: None,
        finished: false,
        hashing: 0,
        graph: 0,
        operators: vec![OperatorState {
            uid: OperatorUid::new("op"),
            name: "op".into(),
            parallelism: 100,
            enumerator: None,
            subtasks,
        }],
    }
}

/// Writes a state file and gives its path.
fn file(store: &MemoryStore, generation: u64, checkpoint: u64, subtask: u32) -> String {
    let uid = OperatorUid::new("op");
    let path = state_path(JOB, CheckpointId(checkpoint), Generation(generation), &uid, subtask, Attempt(1));
    store.put(&path, Bytes::from_static(b"x")).unwrap();
    path
}

fn claimed(generations: u64) -> MemoryStore {
    let store = MemoryStore::new();
    for n in 1..=generations {
        assert_eq!(claim_generation(&store, JOB).unwrap(), Generation(n));
    }
    store
}

fn damage(store: &MemoryStore, path: &str) {
    let mut bytes = store.get(path).unwrap().unwrap().to_vec();
    bytes[40] ^= 1;
    store.put(path, Bytes::from(bytes)).unwrap();
}

#[test]
fn generations_count_up_and_never_fall_behind_what_is_published() {
    let store = claimed(3);
    store.delete(&generation_path(JOB, Generation(3))).unwrap();
    publish(&store, &manifest(9, 1, Kind::Checkpoint, &[])).unwrap();
    store.put("word=20count/generation/not-a-number", Bytes::new()).unwrap();
    assert_eq!(claim_generation(&store, JOB).unwrap(), Generation(10));
    assert_eq!(claim_generation(&store, "another").unwrap(), Generation(1));
    store.put(&generation_path(JOB, Generation(u64::MAX)), Bytes::new()).unwrap();
    assert_eq!(claim_generation(&store, JOB).unwrap_err().kind(), ErrorKind::State);
}

#[test]
fn the_newest_is_highest_by_generation_and_then_by_number() {
    let store = MemoryStore::new();
    assert_eq!(latest(&store, JOB).unwrap(), None);
    for (generation, checkpoint) in [(2, 5), (1, 9), (2, 11), (10, 3)] {
        publish(&store, &manifest(generation, checkpoint, Kind::Checkpoint, &[])).unwrap();
    }
    let order: Vec<(u64, u64)> =
        list(&store, JOB).unwrap().iter().map(|e| (e.generation.0, e.checkpoint.0)).collect();
    assert_eq!(order, [(10, 3), (2, 11), (2, 5), (1, 9)]);
    assert_eq!(latest(&store, JOB).unwrap(), Some(manifest(10, 3, Kind::Checkpoint, &[])));
    assert_eq!(latest(&store, "word").unwrap(), None, "a name that begins alike is another job");
}

#[test]
fn a_damaged_newest_is_named_with_the_good_one_before() {
    let store = MemoryStore::new();
    for checkpoint in 1..=3 {
        publish(&store, &manifest(1, checkpoint, Kind::Checkpoint, &[])).unwrap();
    }
    damage(&store, "word=20count/chk-0000000003-1/manifest");
    damage(&store, "word=20count/chk-0000000002-1/manifest");
    let error = latest(&store, JOB).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    assert_eq!(error.place(), Some("word=20count/chk-0000000003-1/manifest"));
    let text = error.to_string();
    assert!(text.contains("does not have the CRC-32 that its last line says"), "{text}");
    assert!(
        text.contains("before it is 'word=20count/chk-0000000001-1/manifest': restore from that"),
        "{text}"
    );
    damage(&store, "word=20count/chk-0000000001-1/manifest");
    assert!(latest(&store, JOB).unwrap_err().to_string().ends_with("there is no good one before it"));
}

#[test]
fn a_newest_that_is_gone_is_named_and_not_passed_over() {
    let store = MemoryStore::new();
    for checkpoint in 1..=3 {
        publish(&store, &manifest(1, checkpoint, Kind::Checkpoint, &[])).unwrap();
    }
    let newest = "word=20count/chk-0000000003-1/manifest";
    let bytes = store.get(newest).unwrap().unwrap();
    store.delete(newest).unwrap();
    let error = latest(&store, JOB).unwrap_err();
    assert_eq!((error.kind(), error.place()), (ErrorKind::State, Some(newest)));
    let text = error.to_string();
    assert!(text.contains("the newest checkpoint of job 'word count' is gone"), "{text}");
    assert!(
        text.contains("before it is 'word=20count/chk-0000000002-1/manifest': restore from that"),
        "{text}"
    );

    // Put back it is restored; without it, an explicit older one can be gone on from.
    store.put(newest, bytes).unwrap();
    assert_eq!(latest(&store, JOB).unwrap().map(|m| m.checkpoint), Some(CheckpointId(3)));
    store.delete(newest).unwrap();
    let base = open(&store, "word=20count/chk-0000000002-1").unwrap();
    let adopted = adopt(&store, JOB, Generation(2), &base).unwrap();
    assert_eq!(latest(&store, JOB).unwrap(), Some(adopted));

    for entry in list(&store, JOB).unwrap() {
        store.delete(&entry.path).unwrap();
    }
    let text = latest(&store, JOB).unwrap_err().to_string();
    assert!(text.contains("chk-0000000003-2/manifest") && text.contains("start afresh"), "{text}");
    assert!(text.ends_with("there is no good one before it"), "{text}");
}

#[test]
fn an_older_record_or_none_hides_no_checkpoint() {
    let store = MemoryStore::new();
    publish(&store, &manifest(1, 1, Kind::Checkpoint, &[])).unwrap();
    let old = store.get(&latest_path(JOB)).unwrap().unwrap();
    publish(&store, &manifest(1, 2, Kind::Checkpoint, &[])).unwrap();
    retain(&store, JOB, 1).unwrap();
    // A crash between manifest and record, or an older owner that is slow; the record's own checkpoint is dropped meanwhile.
    for record in [Some(old), Some(Bytes::new()), Some(Bytes::from_static(b"\xff\n")), None] {
        match record {
            Some(record) => store.put(&latest_path(JOB), record).unwrap(),
            None => store.delete(&latest_path(JOB)).unwrap(),
        }
        assert_eq!(latest(&store, JOB).unwrap().map(|m| m.checkpoint), Some(CheckpointId(2)));
    }
}

#[test]
fn a_crash_at_any_call_of_publication_records_nothing_that_is_not_there() {
    for calls in 0..4 {
        let inner = claimed(1);
        publish(&inner, &manifest(1, 1, Kind::Checkpoint, &[])).unwrap();
        let store = Mortal { inner: inner.clone(), calls_left: calls.into() };
        let done = publish(&store, &manifest(1, 2, Kind::Checkpoint, &[])).is_ok();
        let newest = latest(&inner, JOB).unwrap().map(|m| m.checkpoint.0);
        assert_eq!(newest, Some(if calls == 0 { 1 } else { 2 }));
        // What was committed is guarded: that is after `Ok` only.
        inner.delete(&manifest_path(JOB, CheckpointId(2), Generation(1))).unwrap();
        assert_eq!(latest(&inner, JOB).is_err(), done, "after {calls} calls");
    }
}

#[test]
fn a_manifest_in_a_wrong_folder_is_not_taken_for_another() {
    let store = MemoryStore::new();
    let path = manifest_path(JOB, CheckpointId(8), Generation(1));
    store.put(&path, manifest(1, 7, Kind::Checkpoint, &[]).encode()).unwrap();
    assert!(
        latest(&store, JOB)
            .unwrap_err()
            .to_string()
            .contains("checkpoint 7 of generation 1, but lies in the folder")
    );
    assert_eq!(open(&store, &path).unwrap().checkpoint, CheckpointId(7), "explicitly it may lie anywhere");
}

#[test]
fn checkpoints_are_opened_by_path() {
    let store = MemoryStore::new();
    let one = manifest(1, 1, Kind::Savepoint, &[]);
    publish(&store, &one).unwrap();
    store.put("elsewhere.bin", one.encode()).unwrap();
    for path in [
        "word=20count/chk-0000000001-1",
        "word=20count/chk-0000000001-1/",
        "word=20count/chk-0000000001-1/manifest",
        "elsewhere.bin",
    ] {
        assert_eq!(open(&store, path).unwrap(), one, "{path}");
    }
    let error = open(&store, "nowhere").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Environment);
    assert!(error.to_string().contains("there is no checkpoint at 'nowhere' (at memory://)"), "{error}");
}

#[test]
fn publication_is_fenced_by_a_newer_claim_and_repeatable() {
    let store = claimed(2);
    let error = publish(&store, &manifest(1, 4, Kind::Checkpoint, &[])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fenced);
    assert_eq!(error.message(), "generation 1 of job 'word count' is fenced by generation 2");
    let own = manifest(2, 4, Kind::Checkpoint, &[]);
    publish(&store, &own).unwrap();
    publish(&store, &own).unwrap();
    let other = publish(&store, &manifest(2, 4, Kind::Savepoint, &[])).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Transient);
    let twice = Manifest { operators: [&own.operators[..], &own.operators[..]].concat(), ..own };
    assert_eq!(publish(&store, &twice).unwrap_err().kind(), ErrorKind::Bug);
}

#[test]
fn what_is_adopted_is_the_newest() {
    let store = claimed(1);
    publish(&store, &manifest(1, 1, Kind::Savepoint, &["a/b.run".to_owned()])).unwrap();
    publish(&store, &manifest(1, 2, Kind::Checkpoint, &[])).unwrap();
    let generation = claim_generation(&store, JOB).unwrap();
    let base = open(&store, "word=20count/chk-0000000001-1").unwrap();
    let adopted = adopt(&store, JOB, generation, &base).unwrap();
    assert_eq!(latest(&store, JOB).unwrap(), Some(adopted.clone()));
    assert_eq!(
        (adopted.generation, adopted.checkpoint, adopted.kind),
        (Generation(2), CheckpointId(2), Kind::Checkpoint)
    );
    assert_eq!((adopted.parent, &adopted.operators), (Some(CheckpointId(1)), &base.operators));
}

#[test]
fn retention_keeps_the_newest_savepoints_and_what_they_need() {
    let store = claimed(1);
    let shared = file(&store, 1, 1, 0);
    let saved = file(&store, 1, 2, 0);
    let dropped = file(&store, 1, 3, 0);
    let aborted = file(&store, 1, 4, 0);
    let kept = file(&store, 1, 5, 0);
    let beside_kept = file(&store, 1, 5, 1);
    let aborted_between = file(&store, 1, 6, 0);
    let in_flight = file(&store, 1, 8, 0);
    let unknown = "word=20count/notes.txt".to_owned();
    store.put(&unknown, Bytes::new()).unwrap();
    publish(&store, &manifest(1, 1, Kind::Checkpoint, std::slice::from_ref(&shared))).unwrap();
    publish(&store, &manifest(1, 2, Kind::Savepoint, std::slice::from_ref(&saved))).unwrap();
    publish(&store, &manifest(1, 3, Kind::Checkpoint, &[dropped.clone(), shared.clone()])).unwrap();
    publish(&store, &manifest(1, 5, Kind::Checkpoint, &[kept.clone(), shared.clone()])).unwrap();
    publish(&store, &manifest(1, 7, Kind::Checkpoint, std::slice::from_ref(&kept))).unwrap();

    // Of those not named by a manifest: of one dropped, of one given up before the kept ones, beside a kept one, between them.
    assert_eq!(retain(&store, JOB, 2).unwrap(), Retained { manifests: 2, files: 4 });
    let left: Vec<u64> = list(&store, JOB).unwrap().iter().map(|e| e.checkpoint.0).collect();
    assert_eq!(left, [7, 5, 2]);
    let there = |path: &String| store.get(path).unwrap().is_some();
    assert!([&shared, &saved, &kept, &in_flight, &unknown].into_iter().all(there));
    assert!(![&dropped, &aborted, &beside_kept, &aborted_between].into_iter().any(there));
    assert!(store.get(&generation_path(JOB, Generation(1))).unwrap().is_some());

    assert_eq!(retain(&store, JOB, 0).unwrap(), Retained { manifests: 1, files: 1 }, "one is always kept");
    assert!(there(&kept) && there(&saved) && there(&in_flight) && !there(&shared));
    assert_eq!(retain(&store, JOB, 1).unwrap(), Retained::default());
}

#[test]
fn retention_touches_nothing_newer_than_the_newest_and_all_that_a_fenced_run_left() {
    let store = claimed(2);
    let old_run = file(&store, 1, 50, 0);
    let own = file(&store, 2, 3, 0);
    publish(&store, &manifest(2, 2, Kind::Checkpoint, &[])).unwrap();
    assert_eq!(retain(&store, JOB, 3).unwrap(), Retained { manifests: 0, files: 1 });
    assert!(store.get(&own).unwrap().is_some());
    assert!(store.get(&old_run).unwrap().is_none(), "its run is fenced");
}

#[test]
fn what_was_given_up_before_a_savepoint_goes_and_what_is_under_way_after_it_stays() {
    let store = claimed(1);
    let (given_up, saved, under_way) = (file(&store, 1, 1, 0), file(&store, 1, 2, 0), file(&store, 1, 3, 0));
    assert_eq!(retain(&store, JOB, 1).unwrap(), Retained::default(), "nothing is published yet");
    publish(&store, &manifest(1, 2, Kind::Savepoint, std::slice::from_ref(&saved))).unwrap();
    assert_eq!(retain(&store, JOB, 1).unwrap(), Retained { manifests: 0, files: 1 });
    let there = |path: &String| store.get(path).unwrap().is_some();
    assert!(!there(&given_up) && there(&saved) && there(&under_way));
}

#[test]
fn retention_removes_nothing_while_a_manifest_cannot_be_read() {
    let store = claimed(1);
    for checkpoint in 1..=3 {
        publish(&store, &manifest(1, checkpoint, Kind::Checkpoint, &[])).unwrap();
    }
    damage(&store, "word=20count/chk-0000000001-1/manifest");
    let error = retain(&store, JOB, 1).unwrap_err();
    assert_eq!(error.place(), Some("word=20count/chk-0000000001-1/manifest"));
    assert_eq!(list(&store, JOB).unwrap().len(), 3);
}

/// A store that fails after a number of calls, as a crash would.
struct Mortal {
    inner: MemoryStore,
    calls_left: std::sync::atomic::AtomicU32,
}

impl Mortal {
    fn spend(&self) -> Result<()> {
        use std::sync::atomic::Ordering::SeqCst;
        let alive = self.calls_left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok();
        if alive { Ok(()) } else { Err(Error::transient("the process has died")) }
    }
}

impl BlobStore for Mortal {
    fn put(&self, path: &str, bytes: Bytes) -> Result<()> {
        self.spend().and_then(|()| self.inner.put(path, bytes))
    }
    fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool> {
        self.spend().and_then(|()| self.inner.put_if_absent(path, bytes))
    }
    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.spend().and_then(|()| self.inner.get(path))
    }
    fn list(&self, prefix: &str) -> Result<Vec<String>> {
        self.spend().and_then(|()| self.inner.list(prefix))
    }
    fn delete(&self, path: &str) -> Result<()> {
        self.spend().and_then(|()| self.inner.delete(path))
    }
    fn describe(&self) -> String {
        self.inner.describe()
    }
}

#[test]
fn a_crash_at_any_call_of_retention_leaves_every_manifest_whole() {
    let mut finished = false;
    for calls in 0..40 {
        let inner = claimed(1);
        for checkpoint in 1..=5 {
            let files: Vec<String> = (0..2).map(|subtask| file(&inner, 1, checkpoint, subtask)).collect();
            publish(&inner, &manifest(1, checkpoint, Kind::Checkpoint, &files)).unwrap();
        }
        let store = Mortal { inner: inner.clone(), calls_left: calls.into() };
        finished = retain(&store, JOB, 2).is_ok();
        for entry in list(&inner, JOB).unwrap() {
            for path in open(&inner, &entry.path).unwrap().files() {
                assert!(inner.get(path).unwrap().is_some(), "after {calls} calls {path} is gone");
            }
        }
        retain(&inner, JOB, 2).unwrap();
        let left = inner.list(&job_folder(JOB)).unwrap();
        assert_eq!(left.len(), 2 + 2 * 3, "the next call finishes the work: {left:?}");
    }
    assert!(finished);
}

//! Owners race over one store, in every interleaving of their calls.

use super::tests::manifest;
use super::*;
use crate::MemoryStore;
use flugs_types::ErrorKind;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};

/// Generation and number of a checkpoint.
type Id = (u64, u64);

/// Whose turn it is to call the store: the schedule, and which owners are done.
struct Turns {
    state: Mutex<(VecDeque<usize>, Vec<bool>)>,
    changed: Condvar,
}

impl Turns {
    /// Waits for the owner's turn and makes the call. With the schedule used up, the owners run on one after another.
    fn call<R>(&self, owner: usize, run: impl FnOnce() -> R) -> R {
        let mut state = self.state.lock().unwrap();
        loop {
            let (schedule, done) = &mut *state;
            while schedule.front().is_some_and(|&next| done[next]) {
                schedule.pop_front();
            }
            if schedule.front().copied().or_else(|| done.iter().position(|done| !done)) == Some(owner) {
                break;
            }
            state = self.changed.wait(state).unwrap();
        }
        state.0.pop_front();
        let result = run();
        self.changed.notify_all();
        result
    }

    fn end(&self, owner: usize) {
        self.state.lock().unwrap().1[owner] = true;
        self.changed.notify_all();
    }
}

/// The store as one owner sees it: it stops before each call until it is the owner's turn.
struct Stopping {
    inner: MemoryStore,
    turns: Arc<Turns>,
    owner: usize,
}

impl BlobStore for Stopping {
    fn put(&self, path: &str, bytes: Bytes) -> Result<()> {
        self.turns.call(self.owner, || self.inner.put(path, bytes))
    }
    fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool> {
        self.turns.call(self.owner, || self.inner.put_if_absent(path, bytes))
    }
    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        self.turns.call(self.owner, || self.inner.get(path))
    }
    fn list(&self, prefix: &str) -> Result<Vec<String>> {
        self.turns.call(self.owner, || self.inner.list(prefix))
    }
    fn delete(&self, path: &str) -> Result<()> {
        self.turns.call(self.owner, || self.inner.delete(path))
    }
    fn describe(&self) -> String {
        self.inner.describe()
    }
}

/// What the owners did: from which checkpoint each one went on, and which were committed.
#[derive(Default)]
struct Record {
    parents: HashMap<Id, Id>,
    committed: Vec<Id>,
}

impl Record {
    fn descends(&self, mut id: Id, from: Id) -> bool {
        while id != from {
            match self.parents.get(&id) {
                Some(&parent) => id = parent,
                None => return false,
            }
        }
        true
    }

    /// Two committed checkpoints of which neither goes on from the other: some input was committed twice.
    fn fork(&self) -> Option<(Id, Id)> {
        let pairs = self.committed.iter().flat_map(|&a| self.committed.iter().map(move |&b| (a, b)));
        pairs.into_iter().find(|&(a, b)| !self.descends(a, b) && !self.descends(b, a))
    }
}

#[derive(Debug, Clone, Copy)]
struct Owner {
    /// The owner of generation 1, which has restored or published checkpoint 1 already.
    first: bool,
    /// Whether it publishes what it restores, as it should.
    adopts: bool,
    publishes: u64,
}

const OLD: Owner = Owner { first: true, adopts: true, publishes: 2 };
const NEW: Owner = Owner { first: false, adopts: true, publishes: 1 };

impl Owner {
    fn run(self, store: &dyn BlobStore, record: &Mutex<Record>) -> Result<()> {
        let publish_from = |base: Id, generation: u64| {
            let id = (generation, base.1 + 1);
            record.lock().unwrap().parents.insert(id, base);
            publish(store, &manifest(id.0, id.1, Kind::Checkpoint, &[]))?;
            record.lock().unwrap().committed.push(id);
            Ok(id)
        };
        let (generation, mut base) = if self.first {
            (1, (1, 1))
        } else {
            let generation = claim_generation(store, "word count")?;
            let base = latest(store, "word count")?.expect("checkpoint 1 is there");
            let id = (base.generation.0, base.checkpoint.0);
            if self.adopts {
                let next = (generation.0, id.1 + 1);
                record.lock().unwrap().parents.insert(next, id);
                adopt(store, "word count", generation, &base)?;
                record.lock().unwrap().committed.push(next);
                (generation.0, next)
            } else {
                record.lock().unwrap().committed.push(id);
                (generation.0, id)
            }
        };
        for _ in 0..self.publishes {
            base = publish_from(base, generation)?;
        }
        Ok(())
    }
}

fn race(owners: &[Owner], schedule: &[usize]) -> Record {
    let inner = MemoryStore::new();
    claim_generation(&inner, "word count").unwrap();
    publish(&inner, &manifest(1, 1, Kind::Checkpoint, &[])).unwrap();
    let record = Mutex::new(Record { committed: vec![(1, 1)], ..Record::default() });
    let turns = Arc::new(Turns {
        state: Mutex::new((schedule.iter().copied().collect(), vec![false; owners.len()])),
        changed: Condvar::new(),
    });
    std::thread::scope(|scope| {
        for (index, owner) in owners.iter().enumerate() {
            let store = Stopping { inner: inner.clone(), turns: turns.clone(), owner: index };
            let record = &record;
            scope.spawn(move || {
                let result = owner.run(&store, record);
                store.turns.end(index);
                if let Err(e) = result {
                    assert_eq!(e.kind(), ErrorKind::Fenced, "{e}");
                }
            });
        }
    });
    record.into_inner().unwrap()
}

/// All orders of `a` calls of owner 0 and `b` of owner 1.
fn interleavings(a: usize, b: usize) -> Vec<Vec<usize>> {
    if a + b == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (owner, left) in [(0, a.checked_sub(1).map(|a| (a, b))), (1, b.checked_sub(1).map(|b| (a, b)))] {
        let Some((a, b)) = left else { continue };
        all.extend(interleavings(a, b).into_iter().map(|mut rest| {
            rest.insert(0, owner);
            rest
        }));
    }
    all
}

#[test]
fn an_old_and_a_new_owner_never_both_go_on() {
    // Two publications of three calls; a claim of two calls, a look of three and two publications of three.
    let schedules = interleavings(6, 11);
    assert_eq!(schedules.len(), 12_376);
    let mut old_won = 0;
    for schedule in schedules {
        let record = race(&[OLD, NEW], &schedule);
        assert_eq!(record.fork(), None, "{schedule:?}: {:?}", record.committed);
        assert!(record.committed.iter().any(|id| id.0 == 2), "{schedule:?}: the newest owner goes on");
        old_won += usize::from(record.committed.contains(&(1, 2)));
    }
    assert!(old_won > 0, "the race was one");
}

#[test]
fn two_that_start_at_once_get_different_generations() {
    for schedule in interleavings(8, 8).into_iter().step_by(29) {
        let record = race(&[NEW, NEW], &schedule);
        assert_eq!(record.fork(), None, "{schedule:?}");
        assert!(record.committed.iter().any(|id| id.0 == 3), "{schedule:?}: the newest owner goes on");
    }
}

#[test]
fn four_owners_never_fork_the_lineage() {
    let mut seed = 7u64;
    for _ in 0..400 {
        let schedule: Vec<usize> = (0..28)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 33) as usize % 4
            })
            .collect();
        let record = race(&[OLD, NEW, Owner { publishes: 0, ..NEW }, NEW], &schedule);
        assert_eq!(record.fork(), None, "{schedule:?}: {:?}", record.committed);
    }
}

/// Why what is restored is published before it is committed: a third owner restores what the first one wrote late and dies;
/// a fourth finds what the second one wrote even later.
#[test]
fn without_adoption_a_late_manifest_forks_the_lineage() {
    // A claim and a look are five calls.
    let schedule = |adoption: usize| {
        [vec![1; 5 + adoption], vec![0], vec![2; 5 + adoption], vec![1; 3], vec![3; 5]].into_iter().flatten()
    };
    let old = Owner { publishes: 1, ..OLD };
    let run = |adopts: bool, adoption: usize| {
        let new = Owner { adopts, ..NEW };
        let owners = [old, new, Owner { publishes: 0, ..new }, Owner { publishes: 0, ..new }];
        race(&owners, &schedule(adoption).collect::<Vec<_>>())
    };
    assert_eq!(run(false, 0).fork(), Some(((1, 2), (2, 2))));
    // The first one's late manifest is older than what the second one adopted.
    assert_eq!(run(true, 3).fork(), None);
    // The second one is slow to adopt.
    assert_eq!(run(true, 0).fork(), None);
}

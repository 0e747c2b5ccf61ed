//! The mapping of operators, and key-group ranges against a twin that asks each group for its owner.

use super::*;
use crate::{Kind, StateHandle};
use bytes::Bytes;
use flugs_types::{CheckpointId, ErrorKind, Generation, KeyGroup, Timestamp};
use proptest::prelude::*;

fn stored(uid: &str, parallelism: u32, without_state: &[u32]) -> OperatorState {
    let subtasks = (0..parallelism).map(|index| SubtaskState {
        index,
        finished: false,
        state: (!without_state.contains(&index)).then(|| StateHandle::Inline(Bytes::from_static(b"s"))),
        bytes: 10,
    });
    OperatorState {
        uid: OperatorUid::new(uid),
        name: format!("old {uid}"),
        parallelism,
        enumerator: None,
        subtasks: subtasks.collect(),
    }
}

fn manifest(operators: Vec<OperatorState>) -> Manifest {
    Manifest {
        job: "job".into(),
        generation: Generation(1),
        checkpoint: CheckpointId(5),
        kind: Kind::Checkpoint,
        created: Timestamp(0),
        parent: None,
        finished: false,
        hashing: 0,
        graph: 0,
        operators,
    }
}

fn operator(uid: &str, parallelism: u32, stateful: bool) -> JobOperator {
    JobOperator { uid: OperatorUid::new(uid), name: uid.into(), parallelism, stateful }
}

#[test]
fn the_mapping_is_printed() {
    let manifest = manifest(vec![stored("count", 4, &[]), stored("sum", 1, &[]), stored("gone", 1, &[0])]);
    let job = [
        operator("src", 1, true),
        operator("count", 2, true),
        operator("map", 2, false),
        operator("sum", 1, true),
    ];
    let mapping = Mapping::of(&manifest, &job, false).unwrap();
    assert_eq!(
        mapping.to_string(),
        "  restored  count (uid count): 40 bytes, parallelism 4 -> 2\n  \
           restored  sum (uid sum): 10 bytes, parallelism 1\n  \
           new       src (uid src): starts without state\n"
    );
}

#[test]
fn lost_state_is_refused_unless_allowed() {
    let mut source = stored("src", 1, &[0]);
    source.enumerator = Some(Bytes::from_static(b"e"));
    let manifest = manifest(vec![stored("count", 2, &[]), stored("map", 1, &[]), source]);
    let job = [operator("count-2", 2, true), operator("map", 1, false)];
    let error = Mapping::of(&manifest, &job, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    assert_eq!(
        error.message(),
        "checkpoint 5 of job 'job' has state that the job does not take:\n  \
           new       count-2 (uid count-2): starts without state\n  \
           dropped   old count (uid count): 20 bytes, no operator has this uid\n  \
           dropped   old map (uid map): 10 bytes, keeps no state any more\n  \
           dropped   old src (uid src): 10 bytes, no operator has this uid\n"
    );
    let mapping = Mapping::of(&manifest, &job, true).unwrap();
    assert_eq!((mapping.restored.len(), mapping.new.len(), mapping.dropped.len()), (0, 1, 3));
}

#[test]
fn all_subtasks_with_state_are_read_where_operator_state_is_there() {
    let old = stored("x", 4, &[1]);
    for index in 0..3 {
        let read = sources_of(&old, SubtaskId::new(index, 3), Reads::All);
        assert_eq!(read.iter().map(|s| s.index).collect::<Vec<_>>(), [0, 2, 3]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// The twin asks of each key group who owned it and who owns it now.
    #[test]
    fn keyed_state_is_read_by_those_who_own_its_groups(from in 1u32..40, to in 1u32..40) {
        let old = stored("x", from, &[]);
        let mut expected = vec![std::collections::BTreeSet::new(); to as usize];
        for group in (0..=u16::MAX >> 1).map(KeyGroup) {
            expected[group.owner(to) as usize].insert(group.owner(from));
        }
        for (index, expected) in (0..to).zip(expected) {
            let read = sources_of(&old, SubtaskId::new(index, to), Reads::OwnKeyGroups);
            prop_assert_eq!(read.iter().map(|s| s.index).collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
        }
    }
}

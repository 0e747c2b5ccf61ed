//! The fixture of each version, damage at every byte, and contradictions under a right checksum.

use super::*;
use flugs_types::{Error, ErrorKind};
use proptest::prelude::*;

const V1: &[u8] = include_bytes!("../../fixtures/manifest-v1");

fn example() -> Manifest {
    Manifest {
        job: "word count".into(),
        generation: Generation(3),
        checkpoint: CheckpointId(42),
        kind: Kind::Savepoint,
        created: Timestamp(1_357_035_300_123_456),
        parent: Some(CheckpointId(41)),
        finished: false,
        hashing: 7_562_572_349_810_388_168,
        graph: 0x0123_4567_89ab_cdef,
        operators: vec![
            OperatorState {
                uid: OperatorUid::new("lines-0a1b2c3d"),
                name: "lines".into(),
                parallelism: 1,
                enumerator: Some(Bytes::from_static(b"foobar")),
                subtasks: vec![SubtaskState {
                    index: 0,
                    finished: true,
                    state: Some(StateHandle::Inline(Bytes::from_static(&[0, 255, 10, 13]))),
                    bytes: 4,
                }],
            },
            OperatorState {
                uid: OperatorUid::new("count"),
                name: "count \"words\"\n\u{fc}".into(),
                parallelism: 3,
                enumerator: None,
                subtasks: vec![
                    SubtaskState {
                        index: 0,
                        finished: false,
                        state: Some(StateHandle::File {
                            path: "word=20count/chk-0000000042-3/75bcd15-0-1.run".into(),
                            bytes: 9_007_199_254_740_993,
                            crc32: 0x00c0_ffee,
                        }),
                        bytes: u64::MAX,
                    },
                    SubtaskState { index: 2, finished: false, state: None, bytes: 0 },
                ],
            },
        ],
    }
}

fn refusal(bytes: &[u8]) -> Error {
    let error = Manifest::parse(bytes, "job/chk-1/manifest").expect_err("must be refused");
    assert_eq!(error.kind(), ErrorKind::State);
    assert_eq!(error.place(), Some("job/chk-1/manifest"));
    error
}

/// A file with this body and a right last line.
fn sealed(text: &str) -> Vec<u8> {
    format!("{text}crc32 {:08x}\n", crc32fast::hash(text.as_bytes())).into_bytes()
}

/// The example's file without its last line, with a piece of it replaced.
fn edited(from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(V1.to_vec()).unwrap();
    let body = &text[..text.len() - "crc32 00000000\n".len()];
    assert!(body.contains(from), "{from}");
    sealed(&body.replacen(from, to, 1))
}

/// For ever: what version 1 wrote is read.
#[test]
fn version_1_is_read() {
    assert_eq!(Manifest::parse(V1, "fixture").unwrap(), example());
}

#[test]
fn version_1_is_what_is_written() {
    assert_eq!(std::str::from_utf8(&example().encode()).unwrap(), std::str::from_utf8(V1).unwrap());
}

#[test]
fn damage_at_every_byte_is_found() {
    for at in 0..V1.len() {
        for bit in 0..8 {
            let mut bytes = V1.to_vec();
            bytes[at] ^= 1 << bit;
            assert!(refusal(&bytes).to_string().contains("damaged"), "byte {at}, bit {bit}");
        }
        let mut bytes = V1.to_vec();
        bytes.remove(at);
        refusal(&bytes);
        refusal(&V1[..at]);
    }
    let mut longer = V1.to_vec();
    longer.push(b'\n');
    refusal(&longer);
}

#[test]
fn the_error_says_what_is_damaged_and_what_to_do() {
    assert_eq!(
        refusal(&V1[..V1.len() - 30]).to_string(),
        "state error: the checkpoint's manifest is damaged: its end is missing (the last line, with the CRC-32) \
         (at job/chk-1/manifest); restore from another checkpoint, or put an undamaged copy of this file in its place"
    );
    assert!(refusal(b"").message().contains("it is empty"));
    assert!(refusal(b"PNG").message().contains("first line is not that of a manifest"));
}

#[test]
fn a_newer_version_is_told_from_damage() {
    let newer = refusal(&sealed("flugs checkpoint manifest 2\n{\"anything\": 1}\n"));
    assert!(
        newer.message().contains("format version 2") && !newer.to_string().contains("damaged"),
        "{newer}"
    );
    for first in [
        "flugs checkpoint manifest 0\n{}\n",
        "flugs checkpoint manifest x\n{}\n",
        "flugs checkpoint manifest \n",
    ] {
        assert!(refusal(&sealed(first)).message().contains("no version"), "{first}");
    }
}

#[test]
fn contradictions_are_refused_even_with_a_right_checksum() {
    for (from, to, what) in [
        ("\"uid\": \"count\"", "\"uid\": \"lines-0a1b2c3d\"", "operator 'lines-0a1b2c3d' is there twice"),
        ("\"uid\": \"count\"", "\"uid\": \"\"", "has no uid"),
        ("\"parallelism\": 3", "\"parallelism\": 0", "operator 'count' has parallelism 0"),
        ("\"parallelism\": 3", "\"parallelism\": 32769", "operator 'count' has parallelism 32769"),
        ("\"parallelism\": 3", "\"parallelism\": 2", "operator 'count' has a subtask 2 of 2"),
        ("\"index\": 2", "\"index\": 0", "operator 'count' has subtask 0 after subtask 0"),
        ("\"kind\": \"savepoint\"", "\"kind\": \"saved\"", "\"saved\" is no kind of checkpoint"),
        ("word=20count/chk", "/etc/chk", "no path within a store"),
        ("word=20count/chk", "../chk", "no path within a store"),
        ("word=20count/chk", "a//chk", "no path within a store"),
        ("Zm9vYmFy", "Zm9vYmF", "operator 'lines-0a1b2c3d': its inline bytes are no base64"),
        ("00c0ffee", "+0c0ffee", "\"+0c0ffee\" is no hexadecimal number of 8 digits"),
        ("\"finished\": false", "\"finished\": 0", "its body cannot be read: invalid type"),
        ("\"finished\": false", "\"finish\": false", "its body cannot be read: unknown field `finish`"),
        ("2013-01-01T", "2013-02-30T", "is no time"),
    ] {
        let error = refusal(&edited(from, to));
        assert!(error.message().contains(what), "{from} -> {to}: {error}");
    }
}

#[test]
fn files_and_bytes_are_listed() {
    assert_eq!(example().files().collect::<Vec<_>>(), ["word=20count/chk-0000000042-3/75bcd15-0-1.run"]);
    assert_eq!(example().bytes(), u64::MAX, "saturates");
    assert!(example().hashed_as_here());
}

fn states() -> impl Strategy<Value = Option<StateHandle>> {
    let bytes = prop::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from);
    prop::option::of(prop_oneof![
        bytes.prop_map(StateHandle::Inline),
        ("[a-z0-9=.-]{1,9}/[a-z]{1,9}\\.run", any::<u64>(), any::<u32>())
            .prop_filter("a plain folder", |(path, ..)| is_relative(path))
            .prop_map(|(path, bytes, crc32)| StateHandle::File { path, bytes, crc32 }),
    ])
}

fn operators() -> impl Strategy<Value = OperatorState> {
    let subtasks = prop::collection::vec((states(), any::<bool>(), any::<u64>()), 0..5);
    let enumerator = prop::option::of(prop::collection::vec(any::<u8>(), 0..20).prop_map(Bytes::from));
    (".{0,12}", 5u32..=32_768, enumerator, subtasks).prop_map(|(name, parallelism, enumerator, subtasks)| {
        OperatorState {
            uid: OperatorUid::new("set below"),
            name,
            parallelism,
            enumerator,
            subtasks: (0..)
                .zip(subtasks)
                .map(|(index, (state, finished, bytes))| SubtaskState { index, finished, state, bytes })
                .collect(),
        }
    })
}

prop_compose! {
    fn manifests()(
        job in ".{0,12}", ids in any::<[u64; 4]>(), kind in 0usize..3, created in any::<i64>(), parent in any::<bool>(),
        finished in any::<bool>(), uids in prop::collection::btree_set(".{1,8}", 4), operators in prop::collection::vec(operators(), 0..4),
    ) -> Manifest {
        let [generation, checkpoint, hashing, graph] = ids;
        let operators = uids.iter().zip(operators).map(|(uid, o)| OperatorState { uid: OperatorUid::new(uid), ..o }).collect();
        Manifest {
            job, generation: Generation(generation), checkpoint: CheckpointId(checkpoint),
            kind: [Kind::Checkpoint, Kind::Savepoint, Kind::Final][kind],
            created: Timestamp(created), parent: parent.then_some(CheckpointId(checkpoint / 2)), finished, hashing, graph, operators,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn there_and_back(manifest in manifests()) {
        prop_assert_eq!(Manifest::parse(&manifest.encode(), "x").unwrap(), manifest);
    }

    #[test]
    fn any_bytes_are_refused_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..60), text in "\\PC{0,60}") {
        refusal(&bytes);
        refusal(&sealed(&format!("flugs checkpoint manifest 1\n{text}\n")));
    }
}

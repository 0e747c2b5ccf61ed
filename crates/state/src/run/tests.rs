use super::*;
use crate::operator::ListTable;
use crate::snapshot::{FrozenPiece, SnapshotTable, StateKind, StateSchema};
use crate::table::KeyedTable;
use crate::test_run::{fresh, snapshot, snapshot_file};
use crate::{BroadcastTable, OpenState, PaneTable, TimerTable, UnionListTable};
use bytes::Bytes;
use flugs_batch::Data;
use flugs_types::{ErrorKind, KeyGroup, KeyGroupRange, SubtaskId, Timestamp, hash_key};
use std::collections::BTreeMap;
use std::sync::Arc;

const ONE: SubtaskId = SubtaskId { index: 0, parallelism: 1 };

fn small() -> Bytes {
    let mut counts = KeyedTable::<u32, String>::new("counts", KeyGroupRange::ALL);
    for k in 0..9 {
        counts.insert(k, format!("value {k}"));
    }
    let mut list = ListTable::new("list", vec![3u8, 1, 2]);
    snapshot_file(vec![&mut counts, &mut list], ONE)
}

type Small = (BTreeMap<u32, String>, Vec<u8>);

fn read(bytes: Bytes) -> flugs_types::Result<Small> {
    let run = Arc::new(RunReader::open(bytes, "some/file")?);
    let mut open = OpenState::new(ONE, vec![run]);
    let counts = open.keyed::<u32, String>("counts")?.into_iter().collect();
    Ok((counts, open.list::<u8>("list")?.items().to_vec()))
}

#[test]
fn reads_what_was_written() {
    let (counts, list) = read(small()).unwrap();
    assert_eq!(counts, (0..9).map(|k| (k, format!("value {k}"))).collect());
    assert_eq!(list, [3, 1, 2]);
}

#[test]
fn every_damaged_byte_is_found_and_the_file_named() {
    let good = small();
    for at in 0..good.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bad = good.to_vec();
            bad[at] ^= flip;
            let error = read(bad.into()).expect_err(&format!("byte {at} of {}", good.len()));
            assert_eq!(error.kind(), ErrorKind::State);
            assert_eq!(error.place(), Some("some/file"), "{error}");
        }
    }
}

#[test]
fn every_cut_and_every_addition_is_found() {
    let good = small();
    for n in 0..good.len() {
        assert!(read(good.slice(..n)).is_err(), "cut to {n}");
        assert!(n == 0 || read(good.slice(n..)).is_err(), "from {n}");
    }
    let mut longer = good.to_vec();
    longer.push(0);
    assert!(read(longer.into()).is_err());
}

#[test]
fn an_unknown_version_is_named() {
    let mut other = small().to_vec();
    other[7] = 9;
    let error = RunReader::open(other.into(), "f").unwrap_err().to_string();
    assert!(error.contains("its version is 9, this build reads version 1"), "{error}");
}

#[test]
fn a_footer_with_a_fitting_checksum_is_not_trusted_either() {
    let good = small();
    let tail = good.len() - TAIL;
    let len = u64::from_le_bytes(good[tail..tail + 8].try_into().unwrap()) as usize;
    let footer = tail - len;
    let mut accepted = 0;
    for at in footer..tail {
        for flip in [0x01, 0x7f, 0xff] {
            let mut bad = good.to_vec();
            bad[at] ^= flip;
            let crc = crc32fast::hash(&bad[footer..tail]);
            bad[tail + 8..tail + 12].copy_from_slice(&crc.to_le_bytes());
            // Names, the subtask or the order of a span can change unseen; nothing may panic.
            accepted += usize::from(read(bad.into()).is_ok());
        }
    }
    assert!(accepted < len * 3);
}

#[test]
fn blocks_are_ordered_and_found_by_key_group() {
    let mut table = KeyedTable::<u64, [u64; 3]>::new("t", KeyGroupRange::ALL);
    for k in 0..50_000 {
        table.insert(k, [k; 3]);
    }
    let run = snapshot(vec![&mut table], ONE);
    let section = run.section("t").unwrap();
    assert_eq!(section.entries(), 50_000);
    let all: Vec<_> = run.blocks(section, KeyGroupRange::ALL).map(|b| b.unwrap().groups).collect();
    assert!(all.len() > 20 && all.is_sorted_by_key(|g| g.start), "{all:?}");
    let range = KeyGroupRange { start: 1000, end: 1100 };
    let mut found = 0;
    for block in run.blocks(section, range) {
        let block = block.unwrap();
        for entry in block.bytes.chunks_exact(32) {
            let group = KeyGroup::of_hash(hash_key(&u64::from_bytes(&entry[..8]).unwrap()));
            assert!(block.groups.contains(group));
            found += usize::from(range.contains(group));
        }
    }
    let there = (0..50_000u64).filter(|k| range.contains(KeyGroup::of_hash(hash_key(k)))).count();
    assert_eq!(found, there);
    assert!(run.blocks(section, range).count() < 4, "few blocks are read for few groups");
}

/// Entries under hashes of its choosing.
struct Forged(Vec<(u64, u32)>);

impl FrozenPiece for Forged {
    fn encode(&self, out: &mut PieceWriter<'_>) {
        for (hash, key) in &self.0 {
            out.keyed(*hash, |block| (*key, *key).encode(block));
        }
    }
    fn bytes(&self) -> usize {
        0
    }
}

fn forged(entries: Vec<(u64, u32)>) -> String {
    let mut writer = RunWriter::new("op", ONE);
    let schema = StateSchema { kind: StateKind::Keyed, key: u32::schema(), value: u32::schema() };
    let section = writer.section("t", &schema);
    writer.piece(section, &Forged(entries));
    let run = RunReader::open(writer.finish(), "f").unwrap();
    match OpenState::new(ONE, vec![Arc::new(run)]).keyed::<u32, u32>("t") {
        Ok(table) => format!("{} entries", table.len()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_entry_among_wrong_key_groups_is_refused() {
    assert_eq!(forged(vec![(hash_key(&7u32), 7)]), "1 entries");
    assert!(forged(vec![(hash_key(&8u32), 7)]).contains("a key hashes into key group"));
}

/// Under another hashing of keys, entries are found wherever they stand.
#[test]
fn a_file_of_another_hashing_is_read_whole() {
    let mut writer = RunWriter::new("op", ONE);
    let schema = StateSchema { kind: StateKind::Keyed, key: u32::schema(), value: u32::schema() };
    let section = writer.section("t", &schema);
    writer.piece(section, &Forged(vec![(0, 7), (u64::MAX, 8)]));
    let mut file = writer.finish().to_vec();
    let tail = file.len() - TAIL;
    let footer = tail - u64::from_le_bytes(file[tail..tail + 8].try_into().unwrap()) as usize;
    // After the uid "op" and the subtask.
    file[footer + 4 + 2 + 8] ^= 1;
    let crc = crc32fast::hash(&file[footer..tail]);
    file[tail + 8..tail + 12].copy_from_slice(&crc.to_le_bytes());
    let run = Arc::new(RunReader::open(file.into(), "f").unwrap());
    assert!(!run.hashes_as_now());
    let mut found = 0;
    for index in 0..3 {
        let mut open = OpenState::new(SubtaskId::new(index, 3), vec![Arc::clone(&run)]);
        found += open.keyed::<u32, u32>("t").unwrap().len();
    }
    assert_eq!(found, 2);
}

#[test]
fn a_key_that_is_stored_twice_is_refused() {
    let hash = hash_key(&7u32);
    assert!(forged(vec![(hash, 7), (hash, 7)]).contains("a key is stored twice"));
}

fn of_every_kind() -> Bytes {
    let mut open = fresh();
    let mut keyed = open.keyed::<u32, String>("keyed").unwrap();
    let mut panes: PaneTable<String, Timestamp, i64> = open.panes("panes").unwrap();
    let mut timers = open.timers::<u64>("timers").unwrap();
    let mut list = open.list::<(u8, bool)>("list").unwrap();
    let mut union: UnionListTable<String> = open.union_list("union").unwrap();
    let mut broadcast: BroadcastTable<u16, f64> = open.broadcast("broadcast").unwrap();
    for k in 0..3u32 {
        keyed.insert(k, format!("v{k}"));
        panes.pane_mut(Timestamp(i64::from(k / 2))).insert(format!("k{k}"), -i64::from(k));
        timers.register(Timestamp(10 - i64::from(k)), 7);
        list.push((k as u8, k == 1));
        union.push(format!("u{k}"));
        broadcast.put(k as u16, f64::from(k) / 2.0);
    }
    snapshot_file(vec![&mut keyed, &mut panes, &mut timers, &mut list, &mut union, &mut broadcast], ONE)
}

/// Checks that the file has what [`of_every_kind`] wrote.
fn has_every_kind(file: Bytes) {
    let run = Arc::new(RunReader::open(file, "fixture").unwrap());
    assert_eq!((run.uid(), run.subtask()), ("op", ONE));
    let mut open = OpenState::new(ONE, vec![run]);
    let keyed: BTreeMap<u32, String> = open.keyed("keyed").unwrap().into_iter().collect();
    assert_eq!(keyed, BTreeMap::from([(0, "v0".into()), (1, "v1".into()), (2, "v2".into())]));
    let panes: PaneTable<String, Timestamp, i64> = open.panes("panes").unwrap();
    assert_eq!(panes.pane(&Timestamp(0)).unwrap().get(&"k1".to_owned()), Some(&-1));
    assert_eq!((panes.len(), panes.entries()), (2, 3));
    let mut timers: TimerTable<u64> = open.timers("timers").unwrap();
    let times: Vec<_> = std::iter::from_fn(|| timers.pop_due(Timestamp::MAX)).collect();
    assert_eq!(times, [(Timestamp(8), 7), (Timestamp(9), 7), (Timestamp(10), 7)]);
    assert_eq!(open.list::<(u8, bool)>("list").unwrap().items(), [(0, false), (1, true), (2, false)]);
    assert_eq!(open.union_list::<String>("union").unwrap().items(), ["u0", "u1", "u2"]);
    let broadcast: BroadcastTable<u16, f64> = open.broadcast("broadcast").unwrap();
    assert_eq!(broadcast.map(), &BTreeMap::from([(0, 0.0), (1, 0.5), (2, 1.0)]));
    assert!(open.unclaimed().is_empty());
}

/// Version 1 as it was written when the format was made. Files of a version are readable for ever.
#[test]
fn version_1_is_readable() {
    has_every_kind(Bytes::from_static(include_bytes!("../../fixtures/run-v1.bin")));
}

#[test]
fn the_present_version_is_readable() {
    has_every_kind(of_every_kind());
}

#[test]
fn sections_without_entries_keep_their_schema() {
    let mut table = KeyedTable::<u8, String>::new("empty", KeyGroupRange::ALL);
    let run = snapshot(vec![&mut table], ONE);
    let section = &run.sections()[0];
    assert_eq!((section.name(), section.entries(), section.bytes()), ("empty", 0, 0));
    assert_eq!(section.schema(), &table.schema());
}

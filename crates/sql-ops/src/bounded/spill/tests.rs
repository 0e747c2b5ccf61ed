use super::block::Record;
use super::file::SpillFile;
use super::*;
use crate::bounded::spec::SpillSpec;
use crate::rank::RankKind;
use flugs_types::ErrorKind;
use proptest::prelude::*;
use std::fs::OpenOptions;

/// A key and a value.
type Pair = (Vec<u8>, Vec<u8>);

fn tiny(memory_bytes: usize) -> SpillSpec {
    SpillSpec { memory_bytes, spill_dir: None }
}

/// Sorts the records, whose keys are a group and the rest, with values that say when they came.
fn sorted(records: &[(String, String)], spec: &SpillSpec, kept: Kept) -> (Vec<(String, usize)>, bool) {
    let mut sorter = Sorter::new(spec, kept);
    for (number, (group, rest)) in records.iter().enumerate() {
        let key: [&[u8]; 2] = [group.as_bytes(), rest.as_bytes()];
        sorter.push(&key, &[&grouped(group.as_bytes()), &number.to_le_bytes()]).unwrap();
        if number % 7 == 0 {
            while !sorter.settle().unwrap() {}
        }
    }
    while !sorter.settle().unwrap() {}
    sorter.finish().unwrap();
    let mut given = Vec::new();
    while let Some(record) = sorter.next().unwrap() {
        let (_, number) = ungrouped(record).unwrap();
        let key = String::from_utf8(record.key.to_vec()).unwrap();
        given.push((key, usize::from_le_bytes(number.try_into().unwrap())));
        sorter.advance().unwrap();
    }
    (given, sorter.has_spilled())
}

/// The same by a stable sort of all.
fn expected(records: &[(String, String)], kept: Kept) -> Vec<(String, usize)> {
    let mut all: Vec<(&String, String, usize)> = records
        .iter()
        .enumerate()
        .map(|(number, (group, rest))| (group, format!("{group}{rest}"), number))
        .collect();
    all.sort_by(|a, b| a.1.cmp(&b.1));
    let keeps = |(at, row): &(usize, &(&String, String, usize))| match kept {
        Kept::All => true,
        Kept::First(n) => (*at as u64) < n,
        Kept::Ranks { kind, last } => {
            let before: Vec<_> = all[..*at].iter().filter(|of| of.0 == row.0).collect();
            let lesser = before.iter().filter(|of| of.1 != row.1);
            let rank = match kind {
                RankKind::RowNumber => before.len(),
                RankKind::Rank => lesser.count(),
                RankKind::DenseRank => {
                    let mut keys: Vec<_> = lesser.map(|of| &of.1).collect();
                    keys.dedup();
                    keys.len()
                }
            };
            (rank as u64) < last
        }
    };
    all.iter().enumerate().filter(keeps).map(|(_, row)| (row.1.clone(), row.2)).collect()
}

fn kept() -> impl Strategy<Value = Kept> {
    let kind = prop_oneof![Just(RankKind::RowNumber), Just(RankKind::Rank), Just(RankKind::DenseRank)];
    prop_oneof![
        Just(Kept::All),
        (0u64..400).prop_map(Kept::First),
        (kind, 1u64..5).prop_map(|(kind, last)| Kept::Ranks { kind, last }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn records_come_by_key_and_then_as_they_came(
        records in prop::collection::vec(("[ab]", "[a-c]{0,12}"), 0..1500),
        memory in 512usize..20_000,
        kept in kept(),
    ) {
        let (given, _) = sorted(&records, &tiny(memory), kept);
        prop_assert_eq!(given, expected(&records, kept));
    }
}

#[test]
fn runs_of_several_levels_keep_the_order() {
    let records: Vec<(String, String)> = (0..40_000u32)
        .map(|n| (format!("{}", n % 3), format!("{:02}", n.wrapping_mul(2_654_435_761) >> 26)))
        .collect();
    let (given, spilled) = sorted(&records, &tiny(1000), Kept::All);
    assert!(spilled);
    let mut all: Vec<(String, usize)> =
        records.iter().enumerate().map(|(at, (group, rest))| (format!("{group}{rest}"), at)).collect();
    all.sort();
    assert_eq!(given, all);
}

#[test]
fn the_first_rows_of_many_need_no_file() {
    let records: Vec<(String, String)> =
        (0..20_000u32).map(|n| (String::new(), format!("{:010}", n.wrapping_mul(2_654_435_761)))).collect();
    let (given, spilled) = sorted(&records, &tiny(16 << 10), Kept::First(10));
    assert_eq!((given, spilled), (expected(&records, Kept::First(10)), false));
    let last = Kept::Ranks { kind: RankKind::RowNumber, last: 3 };
    let (given, spilled) = sorted(&records, &tiny(16 << 10), last);
    assert_eq!((given.len(), spilled), (3, false));
}

#[test]
fn spools_give_back_what_came_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let spec = SpillSpec { memory_bytes: 4096, spill_dir: Some(dir.path().join("new/folder")) };
    let mut spools = Spools::new(&spec, 3);
    let mut expected: Vec<Vec<Pair>> = vec![Vec::new(); 3];
    for n in 0..3000usize {
        let at = if n % 5 == 0 { n % 3 } else { 1 };
        // Some of them are longer than what a reader fetches.
        let long = if n % 1000 == 7 { 100_000 } else { n % 40 };
        let (key, value) = (n.to_string().into_bytes(), vec![n as u8; long]);
        spools.push(at, Record { key: &key, value: &value }).unwrap();
        expected[at].push((key, value));
        while !spools.settle().unwrap() {}
    }
    assert!(dir.path().join("new/folder").exists());
    assert_eq!(std::fs::read_dir(dir.path().join("new/folder")).unwrap().count(), 0, "files have no names");
    for (at, mut spool) in spools.into_spools().into_iter().enumerate() {
        for _ in 0..2 {
            let (mut reader, mut given) = (spool.reader(), Vec::new());
            while reader.advance().unwrap() {
                let record = reader.record();
                given.push((record.key.to_vec(), record.value.to_vec()));
            }
            assert_eq!(given, expected[at], "spool {at}");
            assert_eq!(spool.len() as usize, given.len());
        }
    }
}

#[test]
fn a_full_disk_is_an_error_that_says_so() {
    let Ok(full) = OpenOptions::new().read(true).write(true).open("/dev/full") else { return };
    let error = SpillFile::of(full).write(0, b"abc").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Environment);
    let text = format!("{error:?}");
    assert!(text.contains("cannot write 3 bytes") && text.contains("free space"), "{text}");
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let spec = SpillSpec { memory_bytes: 0, spill_dir: Some("/dev/null/folder".into()) };
    assert_eq!(SpillFile::create(&spec).unwrap_err().kind(), ErrorKind::Environment);
}

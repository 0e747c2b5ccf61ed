//! A bag against a list of rows.

use super::*;
use proptest::prelude::*;

const COUNTED: Layout = Layout { counted: true, tracked: true, timed: true };

#[derive(Debug, Clone)]
enum Change {
    Add(u8),
    Take(u8),
    Touch(u8),
    Track(u8, u32),
    Expire(i64),
    Restore,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let row = 0..12u8;
    let change = prop_oneof![
        6 => row.clone().prop_map(Change::Add),
        4 => row.clone().prop_map(Change::Take),
        2 => row.clone().prop_map(Change::Touch),
        2 => (row, 0..9u32).prop_map(|(row, n)| Change::Track(row, n)),
        1 => (0..60i64).prop_map(Change::Expire),
        1 => Just(Change::Restore),
    ];
    prop::collection::vec(change, 0..80)
}

/// Rows differ in length, and some begin as others do.
fn bytes(row: u8) -> Vec<u8> {
    vec![row / 4; 1 + usize::from(row) * 7]
}

/// Rows with their count, matches and time, in the order in which they were last written.
type Listed = Vec<(Vec<u8>, u32, u32, i64)>;

fn apply(bag: &mut Bag, listed: &mut Listed, change: &Change, now: i64) {
    let place = |listed: &Listed, row: u8| listed.iter().position(|(of, ..)| *of == bytes(row));
    let find = |bag: &Bag, row: u8| {
        bag.find(&bytes(row), bag_hash(&bytes(row)))
            .filter(|at| bag.entry(*at).is_some_and(|entry| entry.row == bytes(row)))
    };
    let rewrite = |listed: &mut Listed, at: usize, more: u32| {
        let (row, count, tracked, _) = listed.remove(at);
        listed.push((row, count + more, tracked, now));
    };
    match *change {
        Change::Add(row) => match (find(bag, row), place(listed, row)) {
            (Some(at), Some(of)) => {
                bag.add_one(at, now).unwrap();
                rewrite(listed, of, 1);
            }
            (None, None) => {
                bag.push(&bytes(row), bag_hash(&bytes(row)), 1, 0, now).unwrap();
                listed.push((bytes(row), 1, 0, now));
            }
            (found, expected) => panic!("{found:?} where {expected:?} was expected"),
        },
        Change::Take(row) => {
            assert_eq!(find(bag, row).is_some(), place(listed, row).is_some());
            if let (Some(at), Some(of)) = (find(bag, row), place(listed, row)) {
                bag.take_one(at);
                listed[of].1 -= 1;
                listed.retain(|(_, count, ..)| *count > 0);
            }
        }
        Change::Touch(row) => {
            if let (Some(at), Some(of)) = (find(bag, row), place(listed, row)) {
                bag.touch(at, now).unwrap();
                rewrite(listed, of, 0);
            }
        }
        Change::Track(row, n) => {
            if let (Some(at), Some(of)) = (find(bag, row), place(listed, row)) {
                bag.set_tracked(at, n);
                listed[of].2 = n;
            }
        }
        Change::Expire(life) => {
            let mut gone = Vec::new();
            assert_eq!(bag.is_due(now - life), listed.first().is_some_and(|row| row.3 <= now - life));
            bag.expire(now - life, |entry| gone.push((entry.row.to_vec(), entry.count)));
            let expired = listed.iter().filter(|row| row.3 <= now - life);
            assert_eq!(gone, expired.map(|row| (row.0.clone(), row.1)).collect::<Vec<_>>());
            listed.retain(|row| row.3 > now - life);
        }
        Change::Restore => *bag = Bag::from_bytes(&bag.to_bytes()).unwrap(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_bag_is_a_list_of_rows(changes in changes()) {
        let (mut bag, mut listed) = (Bag::new(COUNTED), Listed::new());
        for (now, change) in changes.iter().enumerate() {
            apply(&mut bag, &mut listed, change, now as i64);
            let rows: Listed =
                bag.iter().map(|e| (e.row.to_vec(), e.count, e.tracked, e.time)).collect();
            prop_assert_eq!(&rows, &listed);
            prop_assert_eq!(bag.total(), listed.iter().map(|row| row.1).sum::<u32>());
            let live: usize = listed.iter().map(|row| row.0.len() + COUNTED.header()).sum();
            prop_assert!(bag.bytes.len() <= 2 * live + DEAD_MIN as usize + 100, "{} of {live}", bag.bytes.len());
        }
    }

    #[test]
    fn damaged_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let mut stored = (bytes.len() as u32).to_le_bytes().to_vec();
        stored.extend(bytes);
        if let Ok(bag) = Bag::from_bytes(&stored) {
            prop_assert_eq!(bag.iter().count(), bag.entries as usize);
        }
    }

    #[test]
    fn other_layouts_hold_the_same_rows(
        rows in prop::collection::vec(0..12u8, 0..20),
        (tracked, timed) in any::<(bool, bool)>(),
    ) {
        let plain = Layout { counted: false, tracked: false, timed: false };
        let mut bag = Bag::new(plain);
        for row in &rows {
            bag.push(&bytes(*row), 0, 1, 0, 0).unwrap();
        }
        let counted = bag.in_layout(Layout { counted: true, tracked, timed }, 5, bag_hash).unwrap();
        prop_assert_eq!(counted.total() as usize, rows.len());
        prop_assert!(rows.iter().all(|row| counted.find(&bytes(*row), bag_hash(&bytes(*row))).is_some()));
        let again = counted.in_layout(plain, 0, bag_hash).unwrap();
        let sorted = |bag: &Bag| {
            let mut rows: Vec<Vec<u8>> = bag.iter().map(|entry| entry.row.to_vec()).collect();
            rows.sort();
            rows
        };
        prop_assert_eq!(sorted(&again), sorted(&bag));
    }
}

#[test]
fn what_expires_leaves_no_dead_rows_behind() {
    let mut bag = Bag::new(COUNTED);
    let rows: Vec<Vec<u8>> = (0..4).map(|row| vec![row; if row == 1 { 300 } else { 200 }]).collect();
    for (time, row) in (0..).zip(&rows) {
        bag.push(row, bag_hash(row), 1, 0, time).unwrap();
    }
    bag.take_one(bag.find(&rows[1], bag_hash(&rows[1])).unwrap());
    bag.touch(bag.find(&rows[2], bag_hash(&rows[2])).unwrap(), 9).unwrap();
    // The row before the dead ones has stayed till now; of what is left they would be the greater part.
    bag.take_one(bag.find(&rows[3], bag_hash(&rows[3])).unwrap());
    bag.expire(0, |_| ());
    assert_eq!(bag.iter().map(|entry| entry.row.to_vec()).collect::<Vec<_>>(), [rows[2].clone()]);
    assert_eq!(bag.bytes.len(), 200 + COUNTED.header());
}

#[test]
fn a_row_that_comes_and_goes_leaves_no_trail() {
    let layout = Layout { counted: true, ..Layout::default() };
    let mut bag = Bag::new(layout);
    for row in 0..10_000u32 {
        let row = row.to_le_bytes();
        bag.push(&row, bag_hash(&row), 1, 0, 0).unwrap();
    }
    let row = 77u32.to_le_bytes();
    let slots = bag.index.as_ref().unwrap().slots.len();
    for _ in 0..4000 {
        bag.take_one(bag.find(&row, bag_hash(&row)).unwrap());
        bag.push(&row, bag_hash(&row), 1, 0, 0).unwrap();
    }
    let same =
        bag.index.as_ref().unwrap().slots.iter().filter(|(hash, at)| *hash == bag_hash(&row) && *at != 0);
    assert!(same.count() <= 2);
    assert_eq!(bag.index.as_ref().unwrap().slots.len(), slots);
}

use super::*;
use crate::OpenState;
use crate::run::RunReader;
use crate::test_run::file_of;
use flugs_types::SubtaskId;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Op {
    Insert(u8, u16, u32),
    InsertMany(u8, u16),
    Remove(u8),
    TakeFirst,
    Discard(u8),
    Freeze,
    Capture(usize),
    Cancel,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0..12u8, 0..2000u16, any::<u32>()).prop_map(|(n, k, v)| Op::Insert(n, k, v)),
        4 => (0..12u8, 0..2000u16).prop_map(|(n, k)| Op::InsertMany(n, k)),
        2 => (0..12u8).prop_map(Op::Remove),
        2 => Just(Op::TakeFirst),
        2 => (0..12u8).prop_map(Op::Discard),
        4 => Just(Op::Freeze),
        6 => (0..40_000usize).prop_map(Op::Capture),
        1 => Just(Op::Cancel),
    ]
}

type Model = BTreeMap<(u8, u16), u32>;

fn restored(table: &PaneTable<u16, u8, u32>, pieces: &[Box<dyn FrozenPiece>]) -> Model {
    let one = SubtaskId::new(0, 1);
    let run = RunReader::open(file_of(table, pieces, one), "f").unwrap();
    let panes: PaneTable<u16, u8, u32> = OpenState::new(one, vec![run.into()]).panes("p").unwrap();
    entries(&panes)
}

fn entries(panes: &PaneTable<u16, u8, u32>) -> Model {
    panes.iter().flat_map(|(n, pane)| pane.iter().map(|(k, v)| ((*n, *k), *v))).collect()
}

fn of_pane(model: &mut Model, n: u8) -> BTreeMap<u16, u32> {
    let keys: Vec<_> = model.range((n, 0)..=(n, u16::MAX)).map(|(k, _)| *k).collect();
    keys.into_iter().map(|k| (k.1, model.remove(&k).unwrap())).collect()
}

fn run(ops: Vec<Op>) {
    let mut table = PaneTable::<u16, u8, u32>::new("p", KeyGroupRange::ALL);
    let (mut model, mut frozen, mut pieces) = (Model::new(), None, Vec::new());
    for op in ops.into_iter().chain([Op::Capture(usize::MAX)]) {
        match op {
            Op::Insert(n, k, v) => {
                assert_eq!(table.pane_mut(n).insert(k, v), model.insert((n, k), v));
            }
            Op::InsertMany(n, to) => {
                let pane = table.pane_mut(n);
                pane.for_each_row(usize::from(to), |row| row as u16, || 0, |row, v| *v = row as u32);
                model.extend((0..to).map(|k| ((n, k), u32::from(k))));
            }
            Op::Remove(n) => {
                let taken: BTreeMap<_, _> = table.remove(&n).into_iter().flatten().collect();
                assert_eq!(taken, of_pane(&mut model, n));
            }
            Op::TakeFirst => {
                if let Some((n, pane)) = table.take_first() {
                    assert!(table.first().is_none_or(|(next, _)| *next > n));
                    assert_eq!(pane.into_iter().collect::<BTreeMap<_, _>>(), of_pane(&mut model, n));
                }
            }
            Op::Discard(n) => {
                assert_eq!(table.discard(&n), !of_pane(&mut model, n).is_empty() || table.pane(&n).is_some());
            }
            Op::Freeze if frozen.is_none() => {
                table.freeze();
                frozen = Some(model.clone());
            }
            Op::Freeze => {}
            Op::Capture(fuel) => {
                if table.capture(&mut Fuel(fuel), &mut pieces) {
                    if let Some(frozen) = frozen.take() {
                        assert_eq!(restored(&table, &pieces), frozen);
                    }
                    pieces.clear();
                }
            }
            Op::Cancel => {
                table.cancel();
                frozen = None;
                pieces.clear();
            }
        }
        assert_eq!(table.entries(), model.len());
    }
    assert_eq!(entries(&table), model);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equals_a_map_at_every_freeze(ops in proptest::collection::vec(op(), 1..60)) {
        // A pane made by `InsertMany` of no rows is empty but there: the model cannot tell.
        run(ops.into_iter().filter(|op| !matches!(op, Op::InsertMany(_, 0))).collect());
    }
}

#[test]
fn freezing_does_not_touch_the_panes() {
    let mut table = PaneTable::<u16, u32, u32>::new("p", KeyGroupRange::ALL);
    for n in 0..1000 {
        table.pane_mut(n).insert(1, n);
    }
    table.freeze();
    let mut pieces = Vec::new();
    assert!(!table.capture(&mut Fuel(PANE_FUEL * 20), &mut pieces));
    assert!(pieces.len() < 30, "a slice stops when its fuel is spent");
    assert!(table.capture(&mut Fuel::UNLIMITED.clone(), &mut pieces));
    assert_eq!(pieces.len(), 1000);
    assert!(table.capture(&mut Fuel(0), &mut pieces), "a finished snapshot stays finished");
}

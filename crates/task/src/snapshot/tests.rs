use super::*;
use crate::chain::{Discard, Link, Output};
use crate::context::{Operator, Progress};
use crate::testing::{Around, barrier, here, ident};
use bytes::Bytes;
use flugs_batch::data::Schema;
use flugs_batch::{Control, Data, Flow, Push, Records};
use flugs_state::{OpenState, PieceWriter, RunReader, SnapshotTable, StateKind, StateSchema};
use flugs_types::SubtaskId;

/// Captures a chain behind a barrier, and gives the stored state of the operator with this uid.
pub(crate) fn state_of<B>(chain: &mut dyn Stage<B>, uid: &str) -> Bytes {
    let around = Around::new();
    let mut capture = Capture::begin(chain, CheckpointId(1), &around.context).unwrap();
    while capture.step(chain).unwrap() != Captured::All {}
    while around.background.run_one() {}
    let [TaskEvent::Ack { operators, .. }] = &around.reported.take()[..] else { panic!("one answer") };
    here(operators.iter().find(|o| o.uid.as_str() == uid).unwrap().state.clone())
}

/// The same, and reads back the list `seen`.
pub(crate) fn captured<B>(chain: &mut dyn Stage<B>, uid: &str) -> Vec<i64> {
    let run = Arc::new(RunReader::open(state_of(chain, uid), "test").unwrap());
    let mut list = OpenState::new(SubtaskId::new(0, 1), vec![run]).list::<i64>("seen").unwrap();
    std::mem::take(list.items_mut())
}

/// A table of large pieces, of which each capture gives one.
struct Large {
    left: usize,
    piece_bytes: usize,
    panics: bool,
    cancelled: bool,
}

struct Piece {
    bytes: usize,
    panics: bool,
}

/// How many bytes a piece's encoding has.
const ENCODED_BYTES: usize = 3 << 20;

impl FrozenPiece for Piece {
    fn encode(&self, out: &mut PieceWriter<'_>) {
        assert!(!self.panics, "no words for this value");
        for i in 0..ENCODED_BYTES as i64 / 8 {
            out.unkeyed(|block| block.extend_from_slice(&i.to_le_bytes()));
        }
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl SnapshotTable for Large {
    fn name(&self) -> &str {
        "large"
    }
    fn schema(&self) -> StateSchema {
        StateSchema { kind: StateKind::List, key: Schema::Unit, value: i64::schema() }
    }
    fn freeze(&mut self) {}
    fn capture(&mut self, _: &mut Fuel, pieces: &mut Vec<Box<dyn FrozenPiece>>) -> bool {
        self.left -= 1;
        pieces.push(Box::new(Piece { bytes: self.piece_bytes, panics: self.panics }));
        self.left == 0
    }
    fn cancel(&mut self) {
        self.cancelled = true;
    }
    fn bytes(&self) -> usize {
        0
    }
}

struct Owner(Large);

impl Operator for Owner {
    type In = Records<i32>;
    type Out = Records<i32>;

    fn process(&mut self, _: Records<i32>, _: &mut Output<Records<i32>>) -> Result<Progress> {
        Ok(Progress::Done)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        vec![&mut self.0]
    }
}

fn chain(pieces: usize, piece_bytes: usize, panics: bool) -> Box<dyn Stage<Records<i32>>> {
    let table = Large { left: pieces, piece_bytes, panics, cancelled: false };
    let mut link =
        Link::new(Owner(table), Output::new(Box::new(Discard), Vec::new()), ident("owner of large state"));
    assert_eq!(link.control(Control::Barrier(barrier(1))).unwrap(), Flow::Ready);
    Box::new(link)
}

#[test]
fn capturing_pauses_while_much_waits_to_be_encoded_and_the_task_is_woken_to_go_on() {
    let around = Around::new();
    let mut chain = chain(4, AHEAD_BYTES / 2 + 1, false);
    let mut capture = Capture::begin(&mut chain, CheckpointId(1), &around.context).unwrap();
    assert_eq!(capture.step(&mut chain).unwrap(), Captured::Some);
    assert_eq!(capture.step(&mut chain).unwrap(), Captured::Some);
    assert_eq!(capture.step(&mut chain).unwrap(), Captured::Enough);
    assert_eq!((around.wakes.count(), around.background.len()), (0, 1), "one thread is enough for one file");
    assert!(around.background.run_one());
    assert_eq!(around.wakes.count(), 1);
    assert_eq!(capture.step(&mut chain).unwrap(), Captured::Some);
    assert!(around.background.run_one() && around.background.run_one());
    assert_eq!(around.wakes.count(), 2, "only where the task may be waiting");
    assert_eq!(capture.step(&mut chain).unwrap(), Captured::All);
    assert_eq!(around.reported.names(), [""; 0], "the last piece is not encoded yet");
    assert!(around.background.run_one());
    assert_eq!(around.reported.names(), ["Ack 1"]);
}

#[test]
fn a_state_that_cannot_be_written_declines_the_checkpoint_and_names_the_operator() {
    let around = Around::new();
    let mut chain = chain(2, HAND_OVER_BYTES, true);
    let mut capture = Capture::begin(&mut chain, CheckpointId(1), &around.context).unwrap();
    while capture.step(&mut chain).unwrap() != Captured::All {}
    while around.background.run_one() {}
    let events = around.reported.take();
    for event in &events {
        let TaskEvent::Declined { checkpoint: CheckpointId(1), reason } = event else { panic!("{event:?}") };
        assert_eq!(
            reason,
            "operator 'owner of large state': user function failed: panicked: no words for this value"
        );
    }
    assert_eq!(events.len(), 1, "once, and no acknowledgement");
}

#[test]
fn a_capture_that_is_given_up_lets_go_of_what_waits_and_says_nothing() {
    let around = Around::new();
    let mut chain = chain(9, HAND_OVER_BYTES, false);
    let mut capture = Capture::begin(&mut chain, CheckpointId(1), &around.context).unwrap();
    for _ in 0..5 {
        assert_eq!(capture.step(&mut chain).unwrap(), Captured::Some);
    }
    let upload = Arc::downgrade(&capture.upload);
    assert!(around.background.run_one());
    capture.cancel(&mut chain).unwrap();
    assert!(around.background.run_one());
    assert_eq!(around.background.len(), 0);
    assert_eq!(around.reported.names(), [""; 0]);
    assert!(upload.upgrade().is_none());
}

#[test]
fn large_state_goes_to_the_store_in_parts_and_small_state_with_the_acknowledgement() {
    for (pieces, stored) in [(2, false), (7, true)] {
        let around = Around::new();
        let mut chain = chain(pieces, ENCODED_BYTES, false);
        let mut capture = Capture::begin(&mut chain, CheckpointId(1), &around.context).unwrap();
        while capture.step(&mut chain).unwrap() != Captured::All {}
        while around.background.run_one() {}
        let [TaskEvent::Ack { operators, .. }] = &around.reported.take()[..] else { panic!("one answer") };
        let file = match operators[0].state.clone().unwrap() {
            StateData::Here(bytes) => {
                assert!(!stored);
                bytes
            }
            StateData::Stored { path, bytes, crc32 } => {
                let parts = around.stored.parts(&path);
                assert!(stored && parts.len() == 3 && parts[..2].iter().all(|p| p.len() >= PART_BYTES));
                let file = Bytes::from(parts.concat());
                assert_eq!((file.len() as u64, crc32fast::hash(&file)), (bytes, crc32));
                file
            }
        };
        let run = Arc::new(RunReader::open(file, "test").unwrap());
        let list = OpenState::new(SubtaskId::new(0, 1), vec![run]).list::<i64>("large").unwrap();
        let expected = (0..pieces).flat_map(|_| 0..ENCODED_BYTES as i64 / 8);
        assert!(list.items().iter().copied().eq(expected));
    }
}

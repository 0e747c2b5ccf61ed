//! What tests of tables share: a snapshot of them, and their opening from it.

use crate::open::OpenState;
use crate::run::{RunReader, RunWriter};
use crate::snapshot::{FrozenPiece, Fuel, SnapshotTable};
use bytes::Bytes;
use flugs_types::SubtaskId;
use std::sync::Arc;

/// The file with these pieces of one table.
pub(crate) fn file_of(
    table: &dyn SnapshotTable,
    pieces: &[Box<dyn FrozenPiece>],
    subtask: SubtaskId,
) -> Bytes {
    let mut writer = RunWriter::new("op", subtask);
    let section = writer.section(table.name(), &table.schema());
    pieces.iter().for_each(|piece| writer.piece(section, &**piece));
    writer.finish()
}

/// The file of a snapshot of these tables as they are.
pub(crate) fn snapshot_file(tables: Vec<&mut dyn SnapshotTable>, subtask: SubtaskId) -> Bytes {
    let mut writer = RunWriter::new("op", subtask);
    for table in tables {
        let section = writer.section(table.name(), &table.schema());
        table.freeze();
        let mut pieces = Vec::new();
        // In slices, as a task does it.
        while !table.capture(&mut Fuel(5000), &mut pieces) {}
        pieces.iter().for_each(|piece| writer.piece(section, &**piece));
    }
    writer.finish()
}

/// The opened file of a snapshot of these tables as they are.
pub(crate) fn snapshot(tables: Vec<&mut dyn SnapshotTable>, subtask: SubtaskId) -> Arc<RunReader> {
    Arc::new(RunReader::open(snapshot_file(tables, subtask), "test").unwrap())
}

/// What one subtask, the only one, opens a new state from.
pub(crate) fn fresh() -> OpenState {
    OpenState::new(SubtaskId::new(0, 1), Vec::new())
}

/// What one subtask, the only one, opens the state of these tables from.
pub(crate) fn reopened(tables: Vec<&mut dyn SnapshotTable>) -> OpenState {
    let one = SubtaskId::new(0, 1);
    OpenState::new(one, vec![snapshot(tables, one)])
}

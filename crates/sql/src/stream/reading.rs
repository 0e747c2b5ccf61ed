//! A stream of the program that is read as a table.

use flugs_api::DataStream;
use flugs_batch::Data;
use flugs_graph::{NodeId, NodeKind};
use flugs_sql_ops::stream::{FromRecords, FromRecordsSpec};
use flugs_sql_plan::{JobBuilder, StreamInput};
use flugs_sql_types::SqlRow;
use flugs_table::{ChangelogMode, ScanRequest};
use flugs_task::OneInput;
use flugs_types::{OperatorUid, Result, RowKind};
use std::sync::Arc;

/// A stream of records `E`, each of which is a row `T` and what it does.
pub(super) struct StreamTable<E, T> {
    stream: DataStream<E>,
    mode: ChangelogMode,
    parts: fn(E) -> (RowKind, T),
}

impl<E: Data, T> StreamTable<E, T> {
    pub(super) fn new(stream: &DataStream<E>, mode: ChangelogMode, parts: fn(E) -> (RowKind, T)) -> Self {
        StreamTable { stream: stream.clone(), mode, parts }
    }
}

impl<E: Data, T: SqlRow> StreamInput for StreamTable<E, T> {
    fn changelog_mode(&self) -> ChangelogMode {
        self.mode
    }

    fn attach(
        &self,
        request: &ScanRequest,
        uid: &str,
        builder: &mut dyn JobBuilder,
    ) -> Result<(NodeId, u32)> {
        let spec = FromRecordsSpec {
            columns: request.columns.clone(),
            rowtime: !request.metadata.is_empty(),
            schema: request.schema.clone(),
            mode: self.mode,
        };
        let parts = self.parts;
        let mut node = self.stream.next_node("FromStream", NodeKind::Operator, false);
        node.uid = Some(OperatorUid::new(uid));
        let parallelism = node.parallelism;
        let factory = OneInput::new(move || FromRecords::new(spec.clone(), parts));
        let node = builder.node(node, Arc::new(factory));
        self.stream.connect_to(node, 0);
        Ok((node, parallelism))
    }
}

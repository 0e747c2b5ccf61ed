//! Streams of the program that are read, and those that take rows.

use crate::lower::exchange::Exchange;
use crate::lower::{Lowering, Origin};
use crate::plan::{Node, ScanOp, SinkOp};
use crate::stream::{StreamInput, StreamOutput};
use flugs_graph::NodeKind;
use flugs_sql_types::TimeKind;
use flugs_table::ScanRequest;
use flugs_types::Result;

impl Lowering<'_> {
    /// Event times and watermarks are the stream's own.
    pub(super) fn stream_scan(
        &mut self,
        scan: &ScanOp,
        stream: &dyn StreamInput,
        request: &ScanRequest,
    ) -> Result<Vec<Origin>> {
        let uid = self.unique_uid(&format!("stream:{}", scan.table));
        let (node, parallelism) = stream.attach(request, &uid, self.builder)?;
        Ok(vec![Origin { node, output: 0, parallelism }])
    }

    pub(super) fn stream_sink(
        &mut self,
        node: &Node,
        sink: &SinkOp,
        stream: &dyn StreamOutput,
    ) -> Result<Vec<Origin>> {
        let from = self.input(node, 0).clone();
        let origins = self.origins_of(node, 0);
        let parallelism = origins.iter().map(|o| o.parallelism).max().unwrap_or(1);
        let rowtime = node.fields.iter().position(|f| f.time == Some(TimeKind::Rowtime));
        let factory = stream.factory(node.fields.len() - usize::from(rowtime.is_some()), rowtime);
        let records = self.graph_node(
            &sink.table,
            NodeKind::Operator,
            &format!("sink:{}", sink.table),
            parallelism,
            false,
        );
        let records = self.builder.node(records, factory);
        self.connect(&from, &origins, records, 0, parallelism, &Exchange::Direct)?;
        self.streams.push(records);
        Ok(Vec::new())
    }
}

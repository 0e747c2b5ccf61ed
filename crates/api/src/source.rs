//! A source that has just been added, whose details can still be said.

use crate::environment::Environment;
use crate::stream::DataStream;
use flugs_batch::Data;
use flugs_connector::Source;
use flugs_graph::{Node, NodeId, NodeKind};
use flugs_task::{DeadLetter, OnMalformed, SourceNode, WatermarkStrategy};
use std::sync::Arc;

/// A source within a program. Turn it into a stream with [`stream`](Self::stream).
pub struct SourceStream<S: Source> {
    env: Environment,
    node: NodeId,
    source: Arc<S>,
    strategy: WatermarkStrategy<S::Item>,
}

impl<S: Source> SourceStream<S>
where
    S::Item: Data,
{
    pub(crate) fn new(
        env: &Environment,
        source: S,
        strategy: WatermarkStrategy<S::Item>,
        name: String,
    ) -> Self {
        let mut node = Node::new(name, NodeKind::Source);
        node.parallelism = env.parallelism();
        node.stateful = true;
        let source = Arc::new(source);
        let factory = SourceNode::new(source.clone(), strategy.clone(), OnMalformed::Fail);
        let node = env.add_node(node, Arc::new(factory));
        SourceStream { env: env.clone(), node, source, strategy }
    }

    /// The stable name under which the source's positions are stored.
    #[must_use]
    pub fn uid(self, uid: impl AsRef<str>) -> Self {
        self.env.set_uid(self.node, uid);
        self
    }

    /// How many readers there are.
    #[must_use]
    pub fn parallelism(self, parallelism: u32) -> Self {
        self.env.node(self.node, |n| n.parallelism = parallelism);
        self
    }

    /// Skips and counts (`numMalformedRecords`) records that cannot be read. By default they fail the job.
    #[must_use]
    pub fn skip_malformed(self) -> Self {
        self.malformed(OnMalformed::Skip)
    }

    /// The stream of rows.
    pub fn stream(self) -> DataStream<S::Item> {
        DataStream::new(&self.env, self.node, 0)
    }

    /// The stream of rows, and that of the records that cannot be read.
    pub fn stream_and_dead_letters(self) -> (DataStream<S::Item>, DataStream<DeadLetter>) {
        let this = self.malformed(OnMalformed::Route);
        (DataStream::new(&this.env, this.node, 0), DataStream::new(&this.env, this.node, 1))
    }

    fn malformed(self, on_malformed: OnMalformed) -> Self {
        let factory = SourceNode::new(self.source.clone(), self.strategy.clone(), on_malformed);
        self.env.replace_factory(self.node, Arc::new(factory));
        self
    }
}

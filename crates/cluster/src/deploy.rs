//! From a job graph to tasks: channels, chains, restored state.
//!
//! Done on a background thread, since restoring state may take long. Nothing runs before all is built.

use crate::job::{EdgeKey, JobSpec};
use crate::runtime::Runtime;
use crate::snapshots::StateFiles;
use flugs_checkpoint::{Manifest, assign};
use flugs_graph::{ChainNode, Partitioning, TaskEdge, TaskNode};
use flugs_state::OpenState;
use flugs_task::{
    AlignmentGroups, AnyBox, BuildContext, ChannelEnds, EdgeFactory, Mailbox, Metrics, OperatorIdent, Ports,
    Slot, StateStore, SubtaskRef, Supervisor, Task, TaskContext,
};
use flugs_types::{Attempt, Error, Generation, Result, SubtaskId, guarded};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A task that is built but not started.
pub(crate) struct Built {
    pub(crate) slot: Arc<dyn Slot>,
    pub(crate) task: Box<dyn Task>,
}

/// All tasks of an attempt.
pub(crate) struct Deployment {
    pub(crate) tasks: Vec<Built>,
    pub(crate) mailboxes: BTreeMap<SubtaskRef, Mailbox>,
}

/// What an attempt is built from.
pub(crate) struct Plan {
    pub(crate) job: Arc<JobSpec>,
    pub(crate) runtime: Runtime,
    pub(crate) affinity: u32,
    pub(crate) generation: Generation,
    pub(crate) attempt: Attempt,
    pub(crate) restored: Option<Arc<Manifest>>,
    pub(crate) files: StateFiles,
    pub(crate) state_store: Arc<dyn StateStore>,
    pub(crate) supervisor: Arc<dyn Supervisor>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) allow_non_restored_state: bool,
    pub(crate) recoverable: bool,
}

/// The ends of the channels, until their tasks are built.
#[derive(Default)]
struct Channels {
    /// By edge and sending subtask, in order of the receivers.
    senders: HashMap<(usize, u32), Vec<AnyBox>>,
    /// By receiving subtask, with the logical input.
    receivers: HashMap<SubtaskRef, Vec<(u16, AnyBox)>>,
}

/// The receivers that sender `i` of `senders` has a channel to.
fn receivers(partitioning: Partitioning, i: u32, senders: u32, receivers: u32) -> std::ops::Range<u32> {
    match partitioning {
        Partitioning::Forward => i..i + 1,
        // The smaller side is dealt out over the larger in contiguous, even shares.
        Partitioning::Rescale if receivers >= senders => {
            (i * receivers / senders)..((i + 1) * receivers / senders)
        }
        Partitioning::Rescale => {
            let to = i * receivers / senders;
            to..to + 1
        }
        _ => 0..receivers,
    }
}

impl Plan {
    /// Builds all tasks.
    pub(crate) fn build(&self) -> Result<Deployment> {
        let (slots, mailboxes) = self.slots();
        let mut channels = self.channels(&mailboxes)?;
        let groups = AlignmentGroups::default();
        let mut tasks = Vec::new();
        for node in &self.job.graph.tasks {
            for index in 0..node.parallelism {
                let this = SubtaskRef { task: node.id.0, index };
                let task = self.task(node, this, &mailboxes[&this], &mut channels, &groups)?;
                tasks.push(Built { slot: slots[&this].clone(), task });
            }
        }
        Ok(Deployment { tasks, mailboxes })
    }

    #[allow(clippy::type_complexity, reason = "two maps by subtask, used once")]
    fn slots(&self) -> (HashMap<SubtaskRef, Arc<dyn Slot>>, BTreeMap<SubtaskRef, Mailbox>) {
        let (mut slots, mut mailboxes) = (HashMap::new(), BTreeMap::new());
        for node in &self.job.graph.tasks {
            for index in 0..node.parallelism {
                let this = SubtaskRef { task: node.id.0, index };
                // Neighbours in the stream share a worker: subtask i of every task.
                let slot = self.runtime.scheduler.slot(self.affinity.wrapping_add(index));
                mailboxes.insert(this, Mailbox::new(slot.waker()));
                slots.insert(this, slot);
            }
        }
        (slots, mailboxes)
    }

    fn factory(&self, key: EdgeKey) -> Result<&Arc<dyn EdgeFactory>> {
        self.job.edges.get(&key).ok_or_else(|| Error::bug(format!("no factory for the stream {key:?}")))
    }

    fn channels(&self, mailboxes: &BTreeMap<SubtaskRef, Mailbox>) -> Result<Channels> {
        let mut channels = Channels::default();
        let parallelism = |task: flugs_graph::TaskId| self.job.graph.tasks[task.0 as usize].parallelism;
        for (e, edge) in self.job.graph.edges.iter().enumerate() {
            let factory = self.factory(key_of(edge))?;
            let (from, to) = (parallelism(edge.from), parallelism(edge.to));
            for i in 0..from {
                let sender = mailboxes[&SubtaskRef { task: edge.from.0, index: i }].waker().clone();
                let mut of_sender = Vec::new();
                for j in receivers(edge.partitioning, i, from, to) {
                    let receiver = SubtaskRef { task: edge.to.0, index: j };
                    let ends = ChannelEnds {
                        sender: sender.clone(),
                        receiver: mailboxes[&receiver].waker().clone(),
                    };
                    let (send, receive) = factory.channel(self.runtime.channel_bytes, ends);
                    of_sender.push(send);
                    channels.receivers.entry(receiver).or_default().push((edge.input, receive));
                }
                channels.senders.insert((e, i), of_sender);
            }
        }
        Ok(channels)
    }

    fn task(
        &self,
        node: &TaskNode,
        this: SubtaskRef,
        mailbox: &Mailbox,
        channels: &mut Channels,
        groups: &AlignmentGroups,
    ) -> Result<Box<dyn Task>> {
        let context = TaskContext {
            this,
            mailbox: mailbox.clone(),
            supervisor: self.supervisor.clone(),
            background: self.runtime.background.clone(),
            state_store: self.state_store.clone(),
        };
        let subtask = SubtaskId::new(this.index, node.parallelism);
        // Tail first: what follows an operator is built before it.
        let mut stages: BTreeMap<usize, AnyBox> = BTreeMap::new();
        for position in (0..node.chain.len()).rev() {
            let chained = &node.chain[position];
            let ports = self.ports(node, chained, subtask, channels, &mut stages)?;
            let factory = self.job.nodes.get(&chained.node);
            let factory = factory.ok_or_else(|| Error::bug(format!("no factory for '{}'", chained.name)))?;
            let mut build = self.context(chained, subtask, &context, groups)?;
            let named = |e: Error| e.in_subtask(&chained.name, subtask);
            match factory.source() {
                Some(source) => return guarded(|| source.source_task(&mut build, ports)).map_err(named),
                None => {
                    let stage = guarded(|| factory.stage(&mut build, ports)).map_err(named)?;
                    stages.insert(position, stage)
                }
            };
        }
        let head = self.job.nodes.get(&node.head().node);
        let head = head.ok_or_else(|| Error::bug(format!("no factory for '{}'", node.head().name)))?;
        let stage = stages.remove(&0).ok_or_else(|| Error::bug("a chain without a head"))?;
        head.task(context, channels.receivers.remove(&this).unwrap_or_default(), stage)
    }

    /// What follows an operator: by output, the chained followers and the exchanges.
    fn ports(
        &self,
        node: &TaskNode,
        chained: &ChainNode,
        subtask: SubtaskId,
        channels: &mut Channels,
        stages: &mut BTreeMap<usize, AnyBox>,
    ) -> Result<Ports> {
        let mut by_output: BTreeMap<u16, (EdgeKey, Vec<AnyBox>)> = BTreeMap::new();
        for follower in &chained.followers {
            let key = (chained.node, follower.output, node.chain[follower.position].node, 0);
            let stage =
                stages.remove(&follower.position).ok_or_else(|| Error::bug("a follower was not built"))?;
            by_output.entry(follower.output).or_insert_with(|| (key, Vec::new())).1.push(stage);
        }
        let exchanges = self.job.graph.edges.iter().enumerate();
        for (e, edge) in exchanges.filter(|(_, e)| e.from == node.id && e.from_node == chained.node) {
            let key = key_of(edge);
            let senders = channels.senders.remove(&(e, subtask.index)).unwrap_or_default();
            let outlet = self.factory(key)?.outlet(subtask, senders)?;
            by_output.entry(edge.output).or_insert_with(|| (key, Vec::new())).1.push(outlet);
        }
        let mut ports = Ports::default();
        for (output, (key, mut stages)) in by_output {
            let factory = self.factory(key)?;
            let stage = match stages.pop() {
                Some(only) if stages.is_empty() => only,
                Some(last) => {
                    stages.push(last);
                    factory.tee(stages)?
                }
                None => continue,
            };
            match usize::from(output).checked_sub(1) {
                None => ports.main = Some(stage),
                Some(side) => {
                    ports.sides.resize_with(ports.sides.len().max(side + 1), || None);
                    ports.sides[side] = Some(factory.side(stage)?);
                }
            }
        }
        Ok(ports)
    }

    fn context(
        &self,
        chained: &ChainNode,
        subtask: SubtaskId,
        task: &TaskContext,
        groups: &AlignmentGroups,
    ) -> Result<BuildContext> {
        let ident = OperatorIdent { uid: chained.uid.clone(), name: chained.name.clone(), subtask };
        let operator = self.restored.as_ref().and_then(|m| m.operator(&chained.uid));
        let mut runs = Vec::new();
        for source in operator.map(|o| assign::sources_of(o, subtask, assign::Reads::All)).unwrap_or_default()
        {
            if let Some(handle) = &source.state {
                runs.push(self.files.read(handle).map_err(|e| e.in_subtask(&chained.name, subtask))?);
            }
        }
        Ok(BuildContext {
            job: self.job.graph.name.as_str().into(),
            ident: Arc::new(ident),
            task: task.clone(),
            state: OpenState::new(subtask, runs),
            clock: self.runtime.clock.clone(),
            generation: self.generation,
            attempt: self.attempt,
            metrics: self.metrics.clone(),
            groups: groups.clone(),
            allow_non_restored_state: self.allow_non_restored_state,
            recoverable: self.recoverable,
            has_ended: operator.is_some() && self.restored.as_ref().is_some_and(|m| m.finished),
        })
    }
}

fn key_of(edge: &TaskEdge) -> EdgeKey {
    (edge.from_node, edge.output, edge.to_node, edge.input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rescale_deals_out_evenly_and_completely() {
        for (from, to) in [(1, 1), (2, 4), (4, 2), (3, 5), (5, 3), (2, 7), (7, 2)] {
            let reached: Vec<u32> =
                (0..from).flat_map(|i| receivers(Partitioning::Rescale, i, from, to)).collect();
            let mut distinct = reached.clone();
            distinct.dedup();
            assert_eq!(distinct, (0..to).collect::<Vec<_>>(), "{from} to {to}");
            assert_eq!(reached.len() as u32, from.max(to));
        }
    }
}

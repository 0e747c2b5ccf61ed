//! Hands out the splits: a pure state machine.
//!
//! Unordered, each request of a reader is answered by the first split that nobody has. In order, reader 0 alone is
//! given splits, each when the one before it is read. After a restore, the unfinished split may have come to
//! another reader, and which one is not known here: so nothing is given until all readers have asked, which they do
//! only when they have nothing to read. The others end when they have asked, since a reader that waits holds back event time.
//!
//! What nobody has yet is outstanding: all files until this run has looked, then those that are pending. Files of a watched folder
//! come for ever, so they are taken for later than those before them, as where they are read in order.

use super::discovery::Discovery;
use super::split::FileSplit;
use crate::codec;
use flugs_batch::Data;
use flugs_batch::data::{DecodeError, Reader};
use flugs_connector::{
    EnumeratorAction, EnumeratorContext, EnumeratorEvent, Outstanding, Split, SplitEnumerator,
};
use flugs_types::{Result, Timestamp};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

const VERSION: u8 = 1;

/// The reader that gets all splits where they are read in order.
const ORDERED_READER: u32 = 0;

pub(crate) struct FileEnumerator {
    discovery: Arc<Discovery>,
    watch: Option<Duration>,
    ordered: bool,
    parallelism: u32,
    /// Found and given to nobody.
    pending: VecDeque<Split>,
    /// The files found so far, kept where the folder is watched.
    known: Arc<BTreeSet<String>>,
    /// Whether the first look has succeeded: that of this run where the folder is watched, since files come while no job runs.
    looked: bool,
    /// Readers that have asked and were not answered.
    waiting: BTreeSet<u32>,
    /// Readers beside the first, where it gets all, that have nothing to read.
    ended: BTreeSet<u32>,
    /// Whether a split may be unfinished.
    in_flight: bool,
    /// Whether some reader may still have the unfinished split of an earlier run.
    resuming: bool,
    /// What was said last.
    outstanding: Outstanding,
}

impl FileEnumerator {
    pub(crate) fn new(
        discovery: Discovery,
        watch: Option<Duration>,
        ordered: bool,
        context: EnumeratorContext<'_>,
    ) -> Result<Self> {
        let saved = match context.restored {
            Some(bytes) => codec::decode("the state of a file source", VERSION, bytes, Saved::decode)?,
            None => Saved::default(),
        };
        let mut pending = VecDeque::with_capacity(saved.pending.len());
        for payload in saved.pending {
            pending.push_back(FileSplit::of_payload(&payload)?.to_split());
        }
        Ok(FileEnumerator {
            discovery: Arc::new(discovery),
            watch,
            ordered,
            parallelism: context.parallelism,
            pending,
            known: Arc::new(saved.known.into_iter().collect()),
            looked: saved.looked && watch.is_none(),
            waiting: BTreeSet::new(),
            ended: BTreeSet::new(),
            in_flight: saved.in_flight,
            resuming: ordered && saved.in_flight,
            outstanding: Outstanding::AnyTime,
        })
    }

    fn look(&self) -> EnumeratorAction {
        let (discovery, known) = (Arc::clone(&self.discovery), Arc::clone(&self.known));
        EnumeratorAction::Discover(Box::new(move || discovery.run(&known)))
    }

    fn add(&mut self, splits: Vec<Split>) -> Result<()> {
        self.looked = true;
        if self.watch.is_some() {
            let known = Arc::make_mut(&mut self.known);
            for split in &splits {
                known.insert(FileSplit::of_payload(&split.payload)?.path);
            }
        }
        self.pending.extend(splits);
        Ok(())
    }

    /// Answers the readers that can be answered.
    fn assign(&mut self, actions: &mut Vec<EnumeratorAction>) {
        if self.ordered {
            let mut others = self.waiting.split_off(&(ORDERED_READER + 1));
            actions.extend(others.iter().map(|&reader| EnumeratorAction::NoMoreSplits { reader }));
            self.ended.append(&mut others);
        }
        if self.resuming && self.waiting.len() + self.ended.len() < self.parallelism as usize {
            return;
        }
        self.resuming = false;
        let ends = self.looked && self.watch.is_none();
        for reader in std::mem::take(&mut self.waiting) {
            if let Some(split) = self.pending.pop_front() {
                self.in_flight = true;
                actions.push(EnumeratorAction::Assign { reader, splits: vec![split] });
            } else {
                // Without an order the others may still be reading.
                self.in_flight &= !self.ordered;
                if ends {
                    actions.push(EnumeratorAction::NoMoreSplits { reader });
                } else {
                    self.waiting.insert(reader);
                }
            }
        }
    }

    fn say_outstanding(&mut self, actions: &mut Vec<EnumeratorAction>) {
        let outstanding = if self.looked && self.pending.is_empty() {
            Outstanding::Nothing
        } else if self.ordered || self.watch.is_some() {
            Outstanding::InOrder
        } else {
            Outstanding::AnyTime
        };
        if outstanding != self.outstanding {
            self.outstanding = outstanding;
            actions.push(EnumeratorAction::Outstanding(outstanding));
        }
    }
}

impl SplitEnumerator for FileEnumerator {
    fn step(&mut self, now: Timestamp, event: EnumeratorEvent) -> Result<Vec<EnumeratorAction>> {
        let mut actions = Vec::new();
        match event {
            EnumeratorEvent::Start => {
                if !self.looked {
                    actions.push(self.look());
                }
            }
            EnumeratorEvent::SplitRequested { reader } => {
                self.waiting.insert(reader);
                self.assign(&mut actions);
            }
            EnumeratorEvent::Discovered(splits) => {
                self.add(splits?)?;
                self.assign(&mut actions);
                if let Some(interval) = self.watch {
                    actions.push(EnumeratorAction::WakeAt(now + interval));
                }
            }
            EnumeratorEvent::Woken => actions.push(self.look()),
        }
        self.say_outstanding(&mut actions);
        Ok(actions)
    }

    fn snapshot(&self) -> Result<Vec<u8>> {
        let mut out = codec::versioned(VERSION);
        u8::from(self.looked).encode(&mut out);
        u8::from(self.in_flight).encode(&mut out);
        (self.pending.len() as u64).encode(&mut out);
        for split in &self.pending {
            (split.payload.len() as u32).encode(&mut out);
            out.extend_from_slice(&split.payload);
        }
        (self.known.len() as u64).encode(&mut out);
        for path in &*self.known {
            path.encode(&mut out);
        }
        Ok(out)
    }
}

/// What is stored of an enumerator.
#[derive(Default)]
struct Saved {
    looked: bool,
    in_flight: bool,
    pending: Vec<Vec<u8>>,
    known: Vec<String>,
}

impl Saved {
    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut saved =
            Saved { looked: u8::decode(input)? != 0, in_flight: u8::decode(input)? != 0, ..Self::default() };
        for _ in 0..u64::decode(input)? {
            let bytes = input.length(1)?;
            saved.pending.push(input.take(bytes)?.to_vec());
        }
        for _ in 0..u64::decode(input)? {
            saved.known.push(String::decode(input)?);
        }
        Ok(saved)
    }
}

#[cfg(test)]
mod tests;

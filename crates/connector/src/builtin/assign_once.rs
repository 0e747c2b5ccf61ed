//! The enumerator of sources whose splits are all known at the start.

use crate::{EnumeratorAction, EnumeratorContext, EnumeratorEvent, Outstanding, Split, SplitEnumerator};
use flugs_types::{Error, Result, Timestamp};

/// Its state is one version byte and whether the splits were handed out.
const VERSION: u8 = 1;

/// Hands out all splits at the start of the first run, and none ever after: later runs find them in the
/// readers' snapshots.
pub(super) struct AssignOnce {
    /// The splits for each reader; `None` once they were handed out.
    shares: Option<Vec<Vec<Split>>>,
    parallelism: u32,
}

impl AssignOnce {
    /// For the shares of each reader, which are made only where they are still to be handed out.
    pub(super) fn new(
        context: EnumeratorContext<'_>,
        shares: impl FnOnce() -> Vec<Vec<Split>>,
    ) -> Result<Self> {
        let assigned = match context.restored {
            None => false,
            Some([VERSION, assigned @ (0 | 1)]) => *assigned == 1,
            Some(other) => {
                let shown = &other[..other.len().min(16)];
                return Err(Error::state(format!("the enumerator's state is not readable: {shown:?}"))
                    .mend("restore with the source that wrote the checkpoint, or under another uid"));
            }
        };
        Ok(AssignOnce { shares: (!assigned).then(shares), parallelism: context.parallelism })
    }
}

impl SplitEnumerator for AssignOnce {
    fn step(&mut self, _now: Timestamp, event: EnumeratorEvent) -> Result<Vec<EnumeratorAction>> {
        match event {
            EnumeratorEvent::Start => {
                let shares = self.shares.take().unwrap_or_default();
                let assign = shares.into_iter().zip(0..).filter(|(splits, _)| !splits.is_empty());
                let mut actions: Vec<_> =
                    assign.map(|(splits, reader)| EnumeratorAction::Assign { reader, splits }).collect();
                actions.push(EnumeratorAction::Outstanding(Outstanding::Nothing));
                actions.extend((0..self.parallelism).map(|reader| EnumeratorAction::NoMoreSplits { reader }));
                Ok(actions)
            }
            EnumeratorEvent::SplitRequested { reader } => Ok(vec![EnumeratorAction::NoMoreSplits { reader }]),
            EnumeratorEvent::Discovered(_) | EnumeratorEvent::Woken => Ok(Vec::new()),
        }
    }

    fn snapshot(&self) -> Result<Vec<u8>> {
        Ok(vec![VERSION, u8::from(self.shares.is_none())])
    }
}

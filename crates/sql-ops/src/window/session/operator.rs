//! What the operators over sessions have in common: time comes, and sessions that are over are given.

use super::state::SessionState;
use crate::window::clock::not_open;
use crate::window::time::inserts_only;
use flugs_batch::{Barrier, Batch, ChangeBatch, Data};
use flugs_state::SnapshotTable;
use flugs_task::{OpenContext, Operator, Output, Progress};
use flugs_types::{Result, Timestamp};

/// What one of the operators keeps of rows and makes of sessions.
pub trait Work: Send + 'static {
    /// What is kept of a session's rows.
    type Kept: Data;

    /// What the operator is, in errors.
    const NAME: &'static str;

    /// Opens what it needs, and the state.
    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<SessionState<Self::Kept>>;

    /// Takes rows, all of which insert.
    fn add(
        &mut self,
        state: &mut SessionState<Self::Kept>,
        batch: &ChangeBatch,
        out: &mut Output<ChangeBatch>,
    ) -> Result<()>;

    /// Gives sessions that are over, until it is `Done`.
    fn give(
        &mut self,
        state: &mut SessionState<Self::Kept>,
        out: &mut Output<ChangeBatch>,
    ) -> Result<Progress>;
}

/// An operator over sessions.
///
/// State: `sessions` and `reached`.
pub struct Sessions<W: Work> {
    work: W,
    state: Option<SessionState<W::Kept>>,
}

impl<W: Work> Sessions<W> {
    pub(super) fn of(work: W) -> Self {
        Sessions { work, state: None }
    }

    fn state(&mut self) -> Result<&mut SessionState<W::Kept>> {
        self.state.as_mut().ok_or_else(not_open)
    }

    fn give(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let Sessions { work, state } = self;
        work.give(state.as_mut().ok_or_else(not_open)?, out)
    }

    /// Gives what is over, if time has moved.
    fn give_if(&mut self, moved: bool, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if moved { self.give(out) } else { Ok(Progress::Done) }
    }
}

impl<W: Work> Operator for Sessions<W> {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn open(&mut self, context: &mut OpenContext<'_>) -> Result<()> {
        self.state = Some(self.work.open(context)?);
        Ok(())
    }

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        inserts_only(&batch, W::NAME)?;
        if !batch.is_empty() {
            let Sessions { work, state } = self;
            work.add(state.as_mut().ok_or_else(not_open)?, &batch, out)?;
        }
        Ok(Progress::Done)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.give(out)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let moved = self.state()?.clock.advance(watermark);
        self.give_if(moved, out)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.state.as_ref()?.next_tick()
    }

    fn tick(&mut self, now: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let moved = self.state()?.clock.tick(now);
        self.give_if(moved, out)
    }

    fn barrier(&mut self, _: Barrier, _: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.state()?.clock.barrier();
        Ok(Progress::Done)
    }

    fn end(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let moved = self.state()?.clock.end();
        self.give_if(moved, out)
    }

    fn tables(&mut self) -> Vec<&mut dyn SnapshotTable> {
        self.state.as_mut().map_or_else(Vec::new, SessionState::tables)
    }
}

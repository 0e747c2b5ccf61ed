//! `-U` rows left out.

use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use flugs_batch::{Batch, ChangeBatch};
use flugs_task::{Operator, Output, Progress};
use flugs_types::{Result, RowKind};

/// Leaves `-U` rows out: before an operator or sink that takes changes by key.
#[derive(Debug, Default)]
pub struct DropUpdateBefore;

impl Operator for DropUpdateBefore {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let kept = match batch.kind_numbers() {
            Some(kinds) if kinds.contains(&(RowKind::UpdateBefore as u8)) => {
                let keep: BooleanBuffer =
                    kinds.iter().map(|kind| *kind != RowKind::UpdateBefore as u8).collect();
                batch.filter(&BooleanArray::new(keep, None))?
            }
            _ => batch,
        };
        if !kept.is_empty() {
            let _ = out.push(kept)?;
        }
        Ok(Progress::Done)
    }
}

//! Operators of batch mode.

use crate::lower::Lowering;
use crate::lower::operators::Made;
use crate::plan::Node;
use flugs_types::Result;

impl Lowering<'_> {
    /// The operator of batch mode in place of one that works as rows come, where there is one.
    pub(super) fn bounded(&self, _: &Node) -> Result<Option<Made>> {
        Ok(None)
    }
}

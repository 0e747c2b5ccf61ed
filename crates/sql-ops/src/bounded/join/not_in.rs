//! `NOT IN` as an anti join.

use crate::bounded::spec::HashJoinSpec;
use crate::join::JoinType;
use arrow::array::{Array, RecordBatch};

/// What the right says of `left.a NOT IN (SELECT right.a ..)`, where that is all: nothing is in an empty table; NULL may be in any
/// other, and anything in one that has a NULL.
pub(super) struct NotIn {
    column: usize,
    any: bool,
    null: bool,
}

impl NotIn {
    /// `None` where the join is another.
    pub(super) fn of(spec: &HashJoinSpec) -> Option<Self> {
        match (spec.join_type, &spec.keys[..], &spec.condition) {
            (JoinType::LeftAntiNullAware, [key], None) => {
                Some(NotIn { column: key.right, any: false, null: false })
            }
            _ => None,
        }
    }

    /// Looks at rows of the right.
    pub(super) fn see(&mut self, right: &RecordBatch) {
        self.any |= right.num_rows() > 0;
        self.null |= right.column(self.column).logical_null_count() > 0;
    }

    /// Whether a row of the left can stay that is not NULL.
    pub(super) fn gives_any(&self) -> bool {
        !self.null
    }

    /// Whether rows of the left stay that are NULL.
    pub(super) fn gives_nulls(&self) -> bool {
        !self.any
    }
}

//! Each join type against nested loops over the folded inputs, and the changes of single cases.

mod cases;
mod expiry;
mod twin;

use super::*;
use crate::join::testing::{compare, concatenation, nullable};
use crate::join::{InputUniqueness, JoinKey, JoinType};
use crate::testing::schema;
use datafusion_expr::Operator as Op;

pub(super) fn input(columns: &str, mode: ChangelogMode, unique: InputUniqueness) -> JoinInput {
    JoinInput { schema: schema(columns), mode, unique, ttl: None }
}

/// A join on column 0 of both whose output is all columns.
pub(super) fn join(join_type: JoinType, left: JoinInput, right: JoinInput) -> RegularJoinSpec {
    let all = concatenation(&left.schema, &right.schema);
    let width = if join_type.is_left_only() { left.schema.fields().len() } else { all.fields().len() };
    let output: Vec<usize> = (0..width).collect();
    RegularJoinSpec {
        join_type,
        keys: vec![JoinKey { left: 0, right: 0, null_safe: false }],
        condition: None,
        schema: nullable(&all, &output),
        output,
        left,
        right,
        emit_update_before: true,
        retract_on_expiry: false,
    }
}

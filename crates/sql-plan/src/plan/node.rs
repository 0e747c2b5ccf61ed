//! Nodes of a plan: an operator, its place, and its columns.

use crate::plan::{Meaning, Op};
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use flugs_sql_types::TimeKind;
use flugs_table::ChangelogMode;
use std::sync::Arc;

/// The number of a node.
pub type NodeId = usize;

/// What a column says about the window of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowRole {
    /// `window_start`.
    Start,
    /// `window_end`.
    End,
    /// `window_time`.
    Time,
}

/// A column of a node's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanField {
    /// Its name, which is unique in the node, and its type.
    pub field: FieldRef,
    /// What it says about time.
    pub time: Option<TimeKind>,
    /// What it says about the row's window.
    pub window: Option<WindowRole>,
}

impl PlanField {
    /// A column that says nothing about time.
    pub fn new(field: FieldRef) -> Self {
        PlanField { field, time: None, window: None }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.field.name()
    }

    /// The same under another name.
    #[must_use]
    pub fn renamed(&self, name: &str) -> Self {
        PlanField { field: Arc::new(self.field.as_ref().clone().with_name(name)), ..self.clone() }
    }

    /// The same as it comes out of an outer join: perhaps NULL, and of no window.
    #[must_use]
    pub fn padded(&self) -> Self {
        PlanField {
            field: Arc::new(self.field.as_ref().clone().with_nullable(true)),
            time: None,
            window: None,
        }
    }
}

pub(super) fn names(fields: &[PlanField]) -> String {
    fields.iter().map(|f| format!("{} {}", f.name(), f.field.data_type())).collect::<Vec<_>>().join(",")
}

/// Which changes a node's output has besides `+I`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// Rows are updated.
    pub updates: bool,
    /// Rows are deleted.
    pub deletes: bool,
}

impl Changes {
    /// `+I` alone.
    pub const APPEND: Changes = Changes { updates: false, deletes: false };
    /// All kinds.
    pub const ALL: Changes = Changes { updates: true, deletes: true };

    /// Whether there is `+I` alone.
    pub fn is_append(self) -> bool {
        self == Changes::APPEND
    }

    /// What either has.
    #[must_use]
    pub fn or(self, other: Changes) -> Changes {
        Changes { updates: self.updates || other.updates, deletes: self.deletes || other.deletes }
    }
}

/// An operator and its place.
#[derive(Debug, Clone)]
pub struct Node {
    /// What it does.
    pub op: Op,
    /// Where its rows come from.
    pub inputs: Vec<NodeId>,
    /// Its columns.
    pub fields: Vec<PlanField>,
    /// The address of its state: what it computes.
    pub digest: String,
    /// What its rows and columns mean.
    pub meaning: Meaning,
    /// Which changes its output has.
    pub changes: Changes,
    /// Sets of columns each of which is unique in the table that the output describes.
    pub keys: Vec<Vec<usize>>,
    /// Whether its updates come with `-U`.
    pub update_before: bool,
}

impl Node {
    /// The Arrow schema of its output.
    pub fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.fields.iter().map(|f| f.field.clone()).collect::<Vec<_>>()))
    }

    /// The output as a changelog.
    pub fn mode(&self) -> ChangelogMode {
        match (self.changes.is_append(), self.changes.updates && !self.update_before) {
            (true, _) => ChangelogMode::Append,
            (false, true) => ChangelogMode::Upsert,
            (false, false) => ChangelogMode::Retract,
        }
    }
}

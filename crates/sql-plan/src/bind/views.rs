//! Views within a query: each is parsed and bound once for a statement, and stands as one node in the plans of those that read it, so
//! that whatever is rewritten in a query leaves the views below it alone. What they stand for is put in when all is bound.

use crate::bind::{Binder, text::parse_query, within};
use crate::catalog::{CatalogView, ObjectPath};
use crate::error::{PlanResult, planning, semantic};
use datafusion_common::tree_node::Transformed;
use datafusion_common::{DFSchemaRef, Result};
use datafusion_expr::{Expr, Extension, LogicalPlan, LogicalPlanBuilder, UserDefinedLogicalNodeCore};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many views may read one another in a row.
const VIEWS_MAX: usize = 128;

/// The views that a statement has come across.
#[derive(Default)]
pub(crate) struct Views(Mutex<HashMap<ObjectPath, BoundView>>);

/// A view's plan, in which those that it reads are nodes, and how many stand below each other in it.
#[derive(Clone)]
struct BoundView {
    plan: Arc<LogicalPlan>,
    depth: usize,
}

impl Views {
    fn known(&self) -> MutexGuard<'_, HashMap<ObjectPath, BoundView>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A view in the place of its plan.
#[derive(Clone)]
struct ViewNode {
    path: ObjectPath,
    view: BoundView,
}

impl fmt::Debug for ViewNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View {}", self.path)
    }
}

// A path has one plan in a statement.
impl PartialEq for ViewNode {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for ViewNode {}

impl Hash for ViewNode {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.path.hash(state);
    }
}

impl PartialOrd for ViewNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for ViewNode {
    fn name(&self) -> &str {
        "View"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        Vec::new()
    }

    fn schema(&self) -> &DFSchemaRef {
        self.view.plan.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View: {}", self.path)
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, _: Vec<LogicalPlan>) -> Result<Self> {
        Ok(self.clone())
    }
}

fn view_of(plan: &LogicalPlan) -> Option<&ViewNode> {
    match plan {
        LogicalPlan::Extension(extension) => extension.node.as_any().downcast_ref(),
        _ => None,
    }
}

/// The plan with the plans of its views in their places.
pub(crate) fn expand(plan: LogicalPlan) -> Result<LogicalPlan> {
    let node = |plan: LogicalPlan| {
        let mut inside = None;
        while let Some(node) = view_of(inside.as_ref().unwrap_or(&plan)) {
            inside = Some(node.view.plan.as_ref().clone());
        }
        Ok(inside.map_or(Transformed::no(plan), Transformed::yes))
    };
    Ok(plan.transform_down_with_subqueries(node)?.data)
}

impl Binder {
    /// The node of a view.
    pub(super) fn view(&self, path: &ObjectPath, view: &CatalogView) -> PlanResult<LogicalPlan> {
        if self.expanding.contains(path) {
            return Err(semantic(format!("view '{path}' refers to itself")));
        }
        let known = self.views.known().get(path).cloned();
        let bound = match known {
            Some(known) => known,
            None => {
                self.check_depth(path, 1)?;
                let plan = Arc::new(self.bound_view(path, view)?);
                let bound = BoundView { depth: 1 + depth(&plan)?, plan };
                self.views.known().insert(path.clone(), bound.clone());
                bound
            }
        };
        self.check_depth(path, bound.depth)?;
        let node = ViewNode { path: path.clone(), view: bound };
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
    }

    /// Plans are walked by functions that call themselves.
    fn check_depth(&self, path: &ObjectPath, depth: usize) -> PlanResult<()> {
        if self.expanding.len() + depth <= VIEWS_MAX {
            return Ok(());
        }
        Err(semantic(format!("view '{path}' stands below {VIEWS_MAX} others, each of which reads the next"))
            .help("write what some of them do as one, or keep a result of one of them in a table"))
    }

    fn bound_view(&self, path: &ObjectPath, view: &CatalogView) -> PlanResult<LogicalPlan> {
        let mut binder = self.at(&view.current);
        binder.expanding.push(path.clone());
        let what = format!("view {path}");
        let query = parse_query(&view.query).map_err(|e| within(e, &what))?;
        let plan = binder.bound(&query).map_err(|e| within(e, &what))?;
        if view.column_names.is_empty() {
            return Ok(plan);
        }
        if plan.schema().fields().len() != view.column_names.len() {
            return Err(semantic(format!(
                "view '{path}' no longer has the columns that it was declared with"
            )));
        }
        let renamed = plan.schema().columns().into_iter().zip(&view.column_names);
        let exprs: Vec<Expr> = renamed.map(|(column, name)| Expr::Column(column).alias(name)).collect();
        LogicalPlanBuilder::from(plan).project(exprs).and_then(LogicalPlanBuilder::build).map_err(planning)
    }
}

/// How many views stand below each other in a plan.
fn depth(plan: &LogicalPlan) -> PlanResult<usize> {
    let mut deepest = 0;
    let walked = plan.apply_with_subqueries(|plan| {
        deepest = deepest.max(view_of(plan).map_or(0, |node| node.view.depth));
        Ok(datafusion_common::tree_node::TreeNodeRecursion::Continue)
    });
    walked.map_err(planning)?;
    Ok(deepest)
}

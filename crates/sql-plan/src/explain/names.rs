//! What columns are called where a plan is shown.

use crate::plan::{Plan, PlanField};
use std::collections::HashMap;

/// Columns that nobody named have their expression as a name, as the library writes it. They are shown as `EXPR$0`, `EXPR$1`, ...
/// instead: where such a column is made, its expression stands before that.
pub(super) struct Names(HashMap<String, String>);

impl Names {
    /// The names of a plan.
    pub(super) fn of_plan(plan: &Plan) -> Self {
        let mut names = HashMap::new();
        for field in plan.reachable().into_iter().flat_map(|id| &plan.node(id).fields) {
            if is_expression(field.name()) {
                let next = format!("EXPR${}", names.len());
                names.entry(field.name().to_owned()).or_insert(next);
            }
        }
        Names(names)
    }

    /// These names in the place of others.
    #[cfg(test)]
    pub(super) fn renaming(names: HashMap<String, String>) -> Self {
        Names(names)
    }

    /// A column's name.
    pub(super) fn of<'a>(&'a self, field: &'a PlanField) -> &'a str {
        self.shown(field.name())
    }

    /// What stands for a name.
    pub(super) fn shown<'a>(&'a self, name: &'a str) -> &'a str {
        self.0.get(name).map_or(name, String::as_str)
    }
}

/// Whether a name is an expression's text.
fn is_expression(name: &str) -> bool {
    name.contains(['(', ')', '=', '<', '>', '+', '*', '/', '%'])
        || [" - ", " IS ", " AND ", " OR "].iter().any(|part| name.contains(part))
        || ["CASE ", "NOT ", "- "].iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::is_expression;

    #[test]
    fn names_that_people_give_stay() {
        for name in ["id", "total price", "bid.auction", "$f2", "a-b"] {
            assert!(!is_expression(name), "{name}");
        }
        for name in ["count(*)", "t.a + t.b", "CASE WHEN t.a THEN t.b END", "t.a IS NULL"] {
            assert!(is_expression(name), "{name}");
        }
    }
}

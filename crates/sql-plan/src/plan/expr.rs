//! Expressions over the columns of a node.
//!
//! A column is named by its field's name, which is unique within the node.

use crate::plan::PlanField;
use datafusion_common::Column;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_expr::Expr;
use flugs_types::{Error, Result};
use std::collections::{BTreeSet, HashMap};

/// The column that an expression is, if it is one.
pub fn is_column(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Column(column) => Some(&column.name),
        Expr::Alias(alias) => is_column(&alias.expr),
        _ => None,
    }
}

/// The number of the column that an expression is, if it is one.
pub fn column_index(expr: &Expr, fields: &[PlanField]) -> Option<usize> {
    let name = is_column(expr)?;
    fields.iter().position(|f| f.name() == name)
}

/// The numbers of the columns that an expression reads.
pub fn columns_of(expr: &Expr, fields: &[PlanField]) -> Result<BTreeSet<usize>> {
    let mut found = BTreeSet::new();
    let mut unknown = None;
    let walked = expr.apply(|e| {
        if let Expr::Column(column) = e {
            match fields.iter().position(|f| f.name() == column.name) {
                Some(index) => {
                    found.insert(index);
                }
                None => unknown = Some(column.name.clone()),
            }
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map_err(|e| Error::bug("an expression cannot be walked").caused_by(e))?;
    match unknown {
        Some(name) => Err(Error::bug(format!("there is no column '{name}' in the input of {expr}"))),
        None => Ok(found),
    }
}

/// The expression with each column replaced by what `with` says of it.
pub fn substitute(expr: Expr, with: &HashMap<&str, &Expr>) -> Result<Expr> {
    let replaced = expr.transform(|e| {
        Ok(match &e {
            Expr::Column(column) => match with.get(column.name.as_str()) {
                Some(other) => Transformed::yes(unaliased((*other).clone())),
                None => Transformed::no(e),
            },
            _ => Transformed::no(e),
        })
    });
    Ok(replaced.map_err(|e| Error::bug("an expression cannot be rewritten").caused_by(e))?.data)
}

fn unaliased(expr: Expr) -> Expr {
    match expr {
        Expr::Alias(alias) => unaliased(*alias.expr),
        other => other,
    }
}

/// The expression with the columns of one node's output renamed to those of another that has them in the same order.
pub fn remap(expr: Expr, from: &[PlanField], to: &[PlanField]) -> Result<Expr> {
    let renamed: Vec<Expr> =
        to.iter().map(|field| Expr::Column(Column::new_unqualified(field.name()))).collect();
    let with = from.iter().map(PlanField::name).zip(&renamed).collect();
    substitute(expr, &with)
}

/// The name of a path into a column: dots in its parts are no dots between them.
pub(crate) fn joined(path: &[String]) -> String {
    let part = |part: &String| part.replace('\\', "\\\\").replace('.', "\\.");
    path.iter().map(part).collect::<Vec<_>>().join(".")
}

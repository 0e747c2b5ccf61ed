//! Calls of functions that wait, taken out of the expressions around them.

use crate::convert::{Converter, Made, df_schema, field_of_expr, read_by};
use crate::error::{PlanResult, planning};
use crate::plan::{AsyncCall, NodeId, Op, PlanField, WaitingFunction};
use datafusion_common::Column;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_expr::Expr;
use flugs_sql_functions::table::{AsyncScalar, AsyncScalarFunction};
use std::sync::Arc;

/// The function of a call that waits.
fn waiting(expr: &Expr) -> Option<&Arc<dyn AsyncScalar>> {
    match expr {
        Expr::ScalarFunction(call) => AsyncScalarFunction::of(&call.func),
        _ => None,
    }
}

/// Whether anything in an expression waits.
pub(crate) fn waits(expr: &Expr) -> bool {
    expr.exists(|e| Ok(waiting(e).is_some())).unwrap_or(false)
}

/// Adds the innermost calls that wait, whose arguments do not, each once.
fn innermost(expr: &Expr, found: &mut Vec<Expr>) -> PlanResult<()> {
    let walked = expr.apply(|e| {
        if let (Some(_), Expr::ScalarFunction(call)) = (waiting(e), e)
            && !call.args.iter().any(waits)
            && !found.contains(e)
        {
            found.push(e.clone());
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map(|_| ()).map_err(planning)
}

fn column(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// What is left of a filter and columns, over an operator that has the values of the calls.
pub(super) struct Answered {
    pub(super) node: NodeId,
    pub(super) filter: Option<Expr>,
    pub(super) made: Vec<Made>,
}

impl Converter<'_> {
    /// Filter and columns with calls that wait: what these need is computed below them, what is made of their values above. None where
    /// nothing waits.
    pub(super) fn without_waiting(
        &mut self,
        input: NodeId,
        filter: Option<&Expr>,
        made: &[Made],
    ) -> PlanResult<Option<Answered>> {
        let mut calls = Vec::new();
        for expr in made.iter().map(|(e, _)| e).chain(filter) {
            innermost(expr, &mut calls)?;
        }
        if calls.is_empty() {
            return Ok(None);
        }
        // Rows that a filter leaves out are not asked for.
        let (before, after) = match filter {
            Some(filter) if waits(filter) => (None, Some(filter.clone())),
            filter => (filter.cloned(), None),
        };
        let fields = self.fields(input).to_vec();
        let used = read_by(made.iter().map(|(e, _)| e).chain(&after), &fields)?;
        let mut below: Vec<Made> =
            used.iter().map(|at| (column(fields[*at].name()), fields[*at].name().to_owned())).collect();
        let schema = df_schema(&fields)?;
        let mut planned = Vec::new();
        for (number, call) in calls.iter().enumerate() {
            let (Some(function), Expr::ScalarFunction(of)) = (waiting(call), call) else { continue };
            let args = of.args.iter().map(|arg| {
                let known = below.iter().position(|(e, _)| e == arg);
                known.unwrap_or_else(|| {
                    below.push((arg.clone(), format!("$arg{}", below.len())));
                    below.len() - 1
                })
            });
            let args = args.collect();
            let name = format!("$async{number}");
            let field = Arc::new(field_of_expr(call, &schema)?.as_ref().clone().with_name(name));
            planned.push(AsyncCall { function: WaitingFunction::new(function.clone()), args, field });
        }
        let asked = self.calc(input, before, below)?;
        let mut fields: Vec<PlanField> = self.fields(asked).to_vec();
        let width = fields.len();
        fields.extend(planned.iter().map(|call| PlanField::new(call.field.clone())));
        let fields = crate::convert::unique(fields);
        let values: Vec<Expr> = fields[width..].iter().map(|field| column(field.name())).collect();
        let node = self.plan.add(Op::AsyncCalc { calls: planned }, vec![asked], fields);
        let replaced = |expr: &Expr| -> PlanResult<Expr> {
            let new = expr.clone().transform_down(|e| match calls.iter().position(|call| *call == e) {
                Some(at) => Ok(Transformed::new(values[at].clone(), true, TreeNodeRecursion::Jump)),
                None => Ok(Transformed::no(e)),
            });
            Ok(new.map_err(planning)?.data)
        };
        let after = after.as_ref().map(&replaced).transpose()?;
        let made =
            made.iter().map(|(e, name)| Ok((replaced(e)?, name.clone()))).collect::<PlanResult<_>>()?;
        Ok(Some(Answered { node, filter: after, made }))
    }
}

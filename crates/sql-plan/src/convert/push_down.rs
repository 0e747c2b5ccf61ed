//! What is settled when the plan is whole: what scans read, and which operators compute the same.
//!
//! Two operators that do the same with the same rows are one, whatever their columns are called, unless they call functions that
//! give something else each time.

use crate::convert::concatenated;
use crate::convert::reads::Reads;
use crate::plan::{Meaning, NodeId, Op, Plan, PlanField, is_column, remap};
use datafusion_expr::Expr;
use flugs_types::Result;
use std::collections::HashMap;
use std::fmt::Write;

/// The plan with what is read pushed into its scans, and with equal operators computed once.
pub(crate) fn push_down(plan: &Plan) -> Result<Plan> {
    let mut pushed = plan.emptied();
    let mut known = Known::default();
    let mut places: HashMap<NodeId, NodeId> = HashMap::new();
    for read in Reads::of(plan)?.place(&mut pushed)? {
        let (id, like) = match read.calc {
            Some(calc) => (calc, plan.node(calc)),
            None => (read.scan, plan.node(read.scan)),
        };
        let calc = Op::Calc { filter: read.filter, exprs: read.exprs };
        let new = match is_identity(&calc, &pushed.node(read.input).fields) && read.calc.is_none() {
            true => read.input,
            false => {
                let meaning = Some(like.meaning.clone());
                known.add(&mut pushed, calc, vec![read.input], like.fields.clone(), meaning)
            }
        };
        places.insert(id, new);
    }
    for id in plan.reachable() {
        let node = plan.node(id);
        if matches!(node.op, Op::Scan(_)) || places.contains_key(&id) {
            continue;
        }
        let inputs: Vec<NodeId> = node.inputs.iter().map(|i| places[i]).collect();
        let fields = |plan: &Plan, ids: &[NodeId]| -> Vec<Vec<PlanField>> {
            ids.iter().map(|id| plan.node(*id).fields.clone()).collect()
        };
        let op = renamed(&node.op, &fields(plan, &node.inputs), &fields(&pushed, &inputs))?;
        places.insert(id, known.add(&mut pushed, op, inputs, node.fields.clone(), None));
    }
    pushed.sinks = plan.sinks.iter().map(|id| places[id]).collect();
    Ok(pushed)
}

/// Whether a projection gives all columns as they are.
fn is_identity(op: &Op, input: &[PlanField]) -> bool {
    let Op::Calc { filter: None, exprs } = op else { return false };
    exprs.len() == input.len() && exprs.iter().zip(input).all(|(e, f)| is_column(e) == Some(f.name()))
}

/// The operators of a plan by what they do with which inputs.
#[derive(Default)]
struct Known(HashMap<String, NodeId>);

impl Known {
    fn add(
        &mut self,
        plan: &mut Plan,
        op: Op,
        inputs: Vec<NodeId>,
        fields: Vec<PlanField>,
        meaning: Option<Meaning>,
    ) -> NodeId {
        let insert = |plan: &mut Plan, op: Op, inputs, fields| match meaning {
            Some(meaning) => plan.add_like(op, inputs, fields, meaning),
            None => plan.add(op, inputs, fields),
        };
        if !op.is_repeatable() {
            return insert(plan, op, inputs, fields);
        }
        let mut key = format!("{} {inputs:?} {}", op.meaning(), op.said());
        for PlanField { field, time, window } in &fields {
            let _ = write!(key, " {} {} {time:?} {window:?}", field.data_type(), field.is_nullable());
        }
        *self.0.entry(key).or_insert_with(|| insert(plan, op, inputs, fields))
    }
}

/// The operator over inputs whose columns are called otherwise.
fn renamed(op: &Op, from: &[Vec<PlanField>], to: &[Vec<PlanField>]) -> Result<Op> {
    let mut op = op.clone();
    match &mut op {
        Op::Calc { filter, exprs } => {
            let rename = |e: &mut Expr| -> Result<()> {
                *e = remap(e.clone(), &from[0], &to[0])?;
                Ok(())
            };
            filter.iter_mut().chain(exprs).try_for_each(rename)?;
        }
        Op::Join { residual: Some(residual), .. }
        | Op::IntervalJoin { residual: Some(residual), .. }
        | Op::WindowJoin { residual: Some(residual), .. }
        | Op::TemporalJoin { residual: Some(residual), .. } => {
            let (from, to) = (concatenated(&from[0], &from[1]), concatenated(&to[0], &to[1]));
            *residual = remap(residual.clone(), &from, &to)?;
        }
        Op::LookupJoin { residual: Some(residual), lookup, .. } => {
            let right: Vec<PlanField> =
                lookup.schema.fields().iter().map(|f| PlanField::new(f.clone())).collect();
            let (from, to) = (concatenated(&from[0], &right), concatenated(&to[0], &right));
            *residual = remap(residual.clone(), &from, &to)?;
        }
        _ => {}
    }
    Ok(op)
}

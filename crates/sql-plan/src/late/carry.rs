//! Columns of a table that a query does not read, carried to an operator so that its late rows have them.

use crate::plan::{Node, NodeId, Op, Plan, PlanField, is_column};
use datafusion_common::Column;
use datafusion_expr::Expr;
use flugs_table::FieldPath;
use std::collections::HashMap;
use std::sync::Arc;

/// Where columns are found, by the names that they were looked for: the name of a field of a node.
pub(super) type Found = HashMap<String, String>;

/// The node with these columns of the tables that it reads among its own, which stay in their places. Those that cannot be had are
/// not found.
pub(super) fn carried(plan: &mut Plan, id: NodeId, wanted: &[&str]) -> (NodeId, Found) {
    let node = plan.node(id).clone();
    match &node.op {
        Op::Scan(_) => of_scan(plan, id, wanted),
        Op::Calc { filter, exprs } => {
            let (below, of_input) = carried(plan, node.inputs[0], wanted);
            // What is handed on already is not added.
            let place = |of_input: &str| exprs.iter().position(|e| is_column(e) == Some(of_input));
            let (there, missing): (Found, Found) =
                of_input.into_iter().partition(|(_, of_input)| place(of_input).is_some());
            let extra = extras(plan, below, &missing);
            let columns = extra.iter().map(|(of_input, _)| column(of_input));
            let made = exprs.iter().cloned().chain(columns).collect();
            let calc = Op::Calc { filter: filter.clone(), exprs: made };
            let (calc, mut found) = added(plan, calc, vec![below], node.fields.clone(), extra);
            found.extend(there.into_iter().filter_map(|(name, of_input)| {
                Some((name, node.fields[place(&of_input)?].name().to_owned()))
            }));
            (calc, found)
        }
        Op::Union => of_union(plan, id, wanted),
        // Their columns are those of the (left) input, and perhaps some behind.
        Op::Normalize { .. }
        | Op::Settle { .. }
        | Op::AsyncCalc { .. }
        | Op::WindowAssign { .. }
        | Op::TemporalJoin { .. }
        | Op::LookupJoin { .. }
        | Op::Correlate { .. } => {
            let (below, of_input) = carried(plan, node.inputs[0], wanted);
            let extra = extras(plan, below, &of_input);
            let inputs = std::iter::once(below).chain(node.inputs[1..].iter().copied()).collect();
            let through = passed_through(plan, &node.op, inputs, node.inputs[0], &node.fields);
            chosen(plan, through, &node.fields, extra)
        }
        _ => (id, Found::new()),
    }
}

/// An operator whose output begins with its first input's columns, over an input that has more of them.
pub(super) fn passed_through(
    plan: &mut Plan,
    op: &Op,
    inputs: Vec<NodeId>,
    before: NodeId,
    fields: &[PlanField],
) -> NodeId {
    let width = plan.node(before).fields.len();
    let more = plan.node(inputs[0]).fields[width..].to_vec();
    let fields = fields[..width].iter().cloned().chain(more).chain(fields[width..].iter().cloned()).collect();
    plan.add(op.clone(), inputs, fields)
}

/// These columns of a node, by name, where it has others.
pub(super) fn only(plan: &mut Plan, id: NodeId, fields: &[PlanField]) -> NodeId {
    if plan.node(id).fields.len() == fields.len() {
        return id;
    }
    let exprs = fields.iter().map(|f| column(f.name())).collect();
    plan.add(Op::Calc { filter: None, exprs }, vec![id], fields.to_vec())
}

/// Columns to be added: the field of the input, and it under a name that nothing else has.
type Extra = Vec<(String, (String, PlanField))>;

fn extras(plan: &Plan, input: NodeId, of_input: &Found) -> Extra {
    let mut names: Vec<(&String, &String)> = of_input.iter().collect();
    names.sort_unstable();
    let fields = &plan.node(input).fields;
    let extra = names.into_iter().filter_map(|(name, of_input)| {
        let field = fields.iter().find(|f| f.name() == of_input)?;
        Some((of_input.clone(), (name.clone(), field.renamed(&format!("$late.{name}")))))
    });
    extra.collect()
}

fn column(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

fn added(
    plan: &mut Plan,
    op: Op,
    inputs: Vec<NodeId>,
    mut fields: Vec<PlanField>,
    extra: Extra,
) -> (NodeId, Found) {
    let mut found = Found::new();
    for (_, (name, field)) in extra {
        found.insert(name, field.name().to_owned());
        fields.push(field);
    }
    (plan.add(op, inputs, fields), found)
}

/// These columns of a node and then the others that are looked for.
fn chosen(plan: &mut Plan, id: NodeId, kept: &[PlanField], extra: Extra) -> (NodeId, Found) {
    let exprs =
        kept.iter().map(|f| column(f.name())).chain(extra.iter().map(|(of_input, _)| column(of_input)));
    let calc = Op::Calc { filter: None, exprs: exprs.collect() };
    added(plan, calc, vec![id], kept.to_vec(), extra)
}

/// A scan that reads more columns of its table.
fn of_scan(plan: &mut Plan, id: NodeId, wanted: &[&str]) -> (NodeId, Found) {
    let node = plan.node(id).clone();
    let Op::Scan(scan) = &node.op else { return (id, Found::new()) };
    let has = |name: &str| node.fields.iter().any(|f| f.name() == name);
    let itself = |name: &str| (name.to_owned(), name.to_owned());
    let mut found: Found = wanted.iter().filter(|name| has(name)).map(|name| itself(name)).collect();
    let missing = wanted.iter().filter(|name| !has(name));
    let more: Vec<PlanField> = missing
        .filter_map(|name| scan.physical.field_with_name(name).ok())
        .map(|field| PlanField::new(Arc::new(field.clone())))
        .collect();
    if more.is_empty() {
        return (id, found);
    }
    let mut wider = scan.as_ref().clone();
    let width = wider.columns.len();
    wider.columns.extend(more.iter().map(|field| FieldPath(vec![field.name().to_owned()])));
    // Metadata columns stand behind the others.
    let (columns, metadata) = node.fields.split_at(width);
    let fields: Vec<PlanField> = columns.iter().chain(&more).chain(metadata).cloned().collect();
    let wider = plan.add(Op::Scan(Box::new(wider)), Vec::new(), fields);
    let of_scan: Found = more.iter().map(|f| itself(f.name())).collect();
    if metadata.is_empty() {
        // A projection above it stays right above it, so that conditions go on into the source.
        found.extend(of_scan);
        return (wider, found);
    }
    let extra = extras(plan, wider, &of_scan);
    let (chosen, of_more) = chosen(plan, wider, &node.fields, extra);
    found.extend(of_more);
    (chosen, found)
}

/// A union of wider inputs: of the columns that all of them have.
fn of_union(plan: &mut Plan, id: NodeId, wanted: &[&str]) -> (NodeId, Found) {
    let Node { inputs, fields, .. } = plan.node(id).clone();
    let wider: Vec<(NodeId, Found)> = inputs.iter().map(|input| carried(plan, *input, wanted)).collect();
    let in_all = |name: &&&str| {
        let mut types = wider.iter().map(|(id, found)| {
            let of_input = found.get(**name)?;
            let field = plan.node(*id).fields.iter().find(|f| f.name() == of_input)?;
            Some(field.field.data_type().clone())
        });
        let first = types.next().flatten();
        first.is_some() && types.all(|data_type| data_type == first)
    };
    let common: Vec<String> = wanted.iter().filter(in_all).map(|name| (*name).to_owned()).collect();
    if common.is_empty() {
        return (id, Found::new());
    }
    let (mut cut, mut extra) = (Vec::new(), Vec::new());
    for ((id, found), input) in wider.into_iter().zip(&inputs) {
        let found = found.into_iter().filter(|(name, _)| common.contains(name)).collect();
        let kept = plan.node(*input).fields.clone();
        extra = extras(plan, id, &found);
        cut.push(chosen(plan, id, &kept, extra.clone()).0);
    }
    let padded = extra.into_iter().map(|(of, (name, field))| (of, (name, nullable(&field)))).collect();
    added(plan, Op::Union, cut, fields, padded)
}

fn nullable(field: &PlanField) -> PlanField {
    PlanField { field: Arc::new(field.field.as_ref().clone().with_nullable(true)), ..field.clone() }
}

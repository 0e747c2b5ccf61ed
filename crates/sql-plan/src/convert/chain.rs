//! Filters and projections over each other, as one operator where that can be: put together from the bottom, over the columns of what is
//! below all of them. So what is said far below is not looked at again for each that stands above it.

use crate::bind::nodes::time_of_call;
use crate::convert::calc::{Tag, column, mergeable};
use crate::convert::{Converter, Made, equalities, localized, simplified, unaliased, unique, with_known};
use crate::error::{PlanResult, lower};
use crate::plan::{NodeId, Op, Plan, PlanField, column_index, is_column, substitute};
use arrow::datatypes::FieldRef;
use datafusion_common::ScalarValue;
use datafusion_expr::utils::conjunction;
use datafusion_expr::{Expr, LogicalPlan};
use std::collections::HashMap;

/// An operator to be, over the columns of its input.
struct Open {
    input: NodeId,
    filters: Vec<Expr>,
    /// What the filters make equal to constants.
    known: Vec<(String, ScalarValue)>,
    exprs: Vec<Expr>,
    /// The columns as those above know them. Their types are the relation's.
    fields: Vec<PlanField>,
}

/// What a filter or a projection says, over the columns below it.
struct Step {
    filter: Option<Expr>,
    made: Vec<Made>,
    types: Vec<FieldRef>,
}

fn below(plan: &LogicalPlan) -> Option<&LogicalPlan> {
    match plan {
        LogicalPlan::Projection(projection) => Some(&projection.input),
        LogicalPlan::Filter(filter) => Some(&filter.input),
        LogicalPlan::SubqueryAlias(alias) => Some(&alias.input),
        _ => None,
    }
}

impl Step {
    /// None of what says nothing.
    fn of(plan: &LogicalPlan, fields: &[PlanField]) -> PlanResult<Option<Step>> {
        Ok(Some(match plan {
            LogicalPlan::Projection(projection) => {
                let schema = projection.input.schema();
                let types: Vec<FieldRef> = projection.schema.fields().iter().cloned().collect();
                let made = projection.expr.iter().zip(&types);
                let made = made.map(|(e, field)| Ok((localized(e, schema, fields)?, field.name().clone())));
                Step { filter: None, made: made.collect::<PlanResult<_>>()?, types }
            }
            LogicalPlan::Filter(filter) => Step {
                filter: Some(localized(&filter.predicate, filter.input.schema(), fields)?),
                made: fields.iter().map(|f| (column(f.name()), f.name().to_owned())).collect(),
                types: fields.iter().map(|f| f.field.clone()).collect(),
            },
            _ => return Ok(None),
        }))
    }
}

impl Open {
    fn over(input: NodeId, fields: &[PlanField]) -> Self {
        let exprs = fields.iter().map(|field| column(field.name())).collect();
        Open { input, filters: Vec::new(), known: Vec::new(), exprs, fields: fields.to_vec() }
    }

    /// The operator that is there, where it is a filter or a projection.
    fn again(id: NodeId, plan: &Plan) -> Self {
        let node = plan.node(id);
        let Op::Calc { filter, exprs } = &node.op else { return Self::over(id, &node.fields) };
        Open {
            input: node.inputs[0],
            filters: filter.iter().cloned().collect(),
            known: filter.as_ref().map(equalities).unwrap_or_default(),
            exprs: exprs.clone(),
            fields: node.fields.clone(),
        }
    }

    /// With one more on top of it; `input`: the columns of the operator's input.
    fn then(mut self, step: Step, input: &[PlanField]) -> PlanResult<Open> {
        let with: HashMap<&str, &Expr> = self.fields.iter().map(PlanField::name).zip(&self.exprs).collect();
        let inlined = |e: Expr| simplified(substitute(e, &with).map_err(lower)?);
        if let Some(filter) = step.filter {
            let filter = inlined(filter)?;
            self.known.extend(equalities(&filter));
            self.filters.push(filter);
        }
        let (mut exprs, mut fields) = (Vec::new(), Vec::new());
        for ((e, name), field) in step.made.into_iter().zip(step.types) {
            let (time, window) = match column_index(&e, &self.fields) {
                Some(at) => (self.fields[at].time, self.fields[at].window),
                None => (time_of_call(unaliased(&e)), None),
            };
            let mut field = PlanField { field, time, window }.renamed(&name);
            let was_column = is_column(&e).is_some();
            let e = inlined(e)?;
            if let (false, Some(at)) = (was_column, column_index(&e, input)) {
                // The time of a group window, out of the row of its bounds.
                field.time = input[at].time;
            }
            exprs.push(if self.known.is_empty() { e } else { with_known(e, &self.known)? });
            fields.push(field);
        }
        Ok(Open { exprs, fields: unique(fields), ..self })
    }
}

impl Converter<'_> {
    /// Converts filters and projections, and the relation below them.
    pub(super) fn chain(&mut self, plan: &LogicalPlan) -> PlanResult<NodeId> {
        let (mut steps, mut at) = (Vec::new(), plan);
        while let Some(next) = below(at) {
            steps.push(std::mem::replace(&mut at, next));
        }
        let input = self.convert(at)?;
        let mut open = Open::again(input, self.plan);
        for plan in steps.into_iter().rev() {
            open = self.step(open, plan)?;
        }
        self.closed(open)
    }

    fn step(&mut self, open: Open, plan: &LogicalPlan) -> PlanResult<Open> {
        let Some(step) = Step::of(plan, &open.fields)? else { return Ok(open) };
        if mergeable(&open.fields, &open.exprs, step.filter.as_ref(), &step.made)? {
            let input = self.fields(open.input);
            return open.then(step, input);
        }
        let input = self.closed(open)?;
        let fields = self.fields(input);
        let Some(step) = Step::of(plan, fields)? else { return Ok(Open::over(input, fields)) };
        Open::over(input, fields).then(step, fields)
    }

    fn closed(&mut self, open: Open) -> PlanResult<NodeId> {
        let tags: Vec<Tag> = open.fields.iter().map(Tag::of).collect();
        let names = open.fields.iter().map(|field| field.name().to_owned());
        let made = open.exprs.into_iter().zip(names).collect();
        self.calc_tagged(open.input, conjunction(open.filters), made, &tags)
    }
}

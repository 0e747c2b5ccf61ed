//! Joins `FOR SYSTEM_TIME AS OF`: with versions of a changing table, or with rows that are looked up.

use crate::bind::SourceTable;
use crate::bind::hints::hint_of;
use crate::bind::nodes::{HintedNode, TemporalJoinNode, time_of_call};
use crate::convert::{Converter, concatenated, localized, unique};
use crate::error::{PlanResult, lower, planning, semantic, unsupported};
use crate::plan::{JoinKind, LookupSpec, Malformed, NodeId, Op, PlanField};
use arrow::datatypes::DataType;
use datafusion_common::{Column, DFSchema};
use datafusion_expr::logical_plan::TableScan;
use datafusion_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion_expr::utils::conjunction;
use datafusion_expr::{Expr, ExprSchemable, JoinType, LogicalPlan, Operator, try_cast};
use flugs_sql_types::{TimeKind, to_schema};
use flugs_table::TableContext;
use flugs_types::ErrorKind;
use std::sync::Arc;

impl Converter<'_> {
    pub(super) fn temporal(&mut self, node: &TemporalJoinNode) -> PlanResult<NodeId> {
        let node = &in_common_types(node).map_err(planning)?;
        let kind = match node.join_type {
            JoinType::Left => JoinKind::Left,
            _ => JoinKind::Inner,
        };
        let left = self.convert(&node.left)?;
        let (time, time_kind) = match time_of_call(&node.time) {
            Some(kind) => (None, kind),
            None => {
                let time = self.local(&node.time, node.left.schema(), left)?;
                match self.time_attribute(left, &time) {
                    Some((column, kind)) => (Some(column), kind),
                    None => {
                        return Err(semantic(format!(
                            "FOR SYSTEM_TIME AS OF takes a time attribute, and {} is none",
                            node.time
                        ))
                        .help("take the row-time column of the left side, or PROCTIME()"));
                    }
                }
            }
        };
        if time_kind == TimeKind::Proctime
            && let Some(found) = self.looked_up(node, kind, left)?
        {
            return Ok(found);
        }
        let right = self.convert(&node.right)?;
        let schema = node.left.schema().join(node.right.schema()).map_err(planning)?;
        let on = node.on.iter().map(|(l, r)| {
            Ok((self.local(l, node.left.schema(), left)?, self.local(r, node.right.schema(), right)?))
        });
        let on = on.collect::<PlanResult<Vec<_>>>()?;
        let widths = (self.fields(left).len(), self.fields(right).len());
        let mut joined = self.keyed(kind, left, right, on, false, node.filter.as_ref(), &schema)?;
        let added = self.fields(joined.inputs[0]).len();
        joined.output = (0..widths.0).chain((0..widths.1).map(|c| added + c)).collect();
        let times = self.versioned(&mut joined, time.filter(|_| time_kind == TimeKind::Rowtime))?;
        let residual = conjunction(joined.residual.clone());
        let op = Op::TemporalJoin { kind, keys: joined.keys.clone(), times, residual };
        self.finished(op, &joined, true)
    }

    /// A join with a table whose connector looks rows up.
    fn looked_up(
        &mut self,
        node: &TemporalJoinNode,
        kind: JoinKind,
        left: NodeId,
    ) -> PlanResult<Option<NodeId>> {
        let Some((scan, above)) = lookup_scan(&node.right) else { return Ok(None) };
        let Some(table) = scan.source.downcast_ref::<SourceTable>() else { return Ok(None) };
        let Some(connector) = table.options.get("connector") else { return Ok(None) };
        let factory = self.binder.registry.connector(connector).map_err(lower)?.clone();
        // Which physical column each side of an equality is.
        let physical = table.table.physical();
        let right_schema = node.right.schema();
        let visible = visible_columns(scan, &above, &physical);
        let mut keys = Vec::new();
        let mut lefts = Vec::new();
        let mut filters: Vec<Expr> = node.filter.iter().cloned().collect();
        for (l, r) in &node.on {
            let Some((column, narrower)) = key_of(r, right_schema).map_err(planning)? else {
                return Ok(None);
            };
            let at = right_schema.index_of_column(column).map_err(planning)?;
            let Some(place) = visible[at] else { return Ok(None) };
            keys.push(place);
            let l = match narrower {
                Some(key_type) => {
                    // What does not fit the key's type equals no key; what was rounded is told apart by the equality itself.
                    filters.push(l.clone().eq(r.clone()));
                    try_cast(l.clone(), key_type)
                }
                None => l.clone(),
            };
            lefts.push(self.local(&l, node.left.schema(), left)?);
        }
        if keys.is_empty() {
            return Err(
                unsupported("a lookup join without an equality").help("compare a column of the table in ON")
            );
        }
        let name = table.path.to_string();
        let context = TableContext {
            name: &name,
            schema: &physical,
            options: &table.options,
            registry: &self.binder.registry,
        };
        let source = match factory.lookup(context, &keys) {
            Ok(source) => source,
            // No table to look up in; a file that is not there, or that cannot be read, is another matter.
            Err(error) if error.kind() == ErrorKind::Job => return Ok(None),
            Err(error) => return Err(lower(error)),
        };
        if let Malformed::Route(_) = table.malformed {
            return Err(semantic(format!(
                "rows of '{name}' are looked up, and malformed records cannot be routed then"
            ))
            .help("have them skipped: OPTIONS('malformed' = 'skip') behind the table"));
        }
        let schema = to_schema(physical.columns.iter().map(|c| (c.name.as_str(), &c.sql_type)));
        let right_fields: Vec<PlanField> =
            schema.fields().iter().map(|f| PlanField::new(f.clone())).collect();
        let width = self.fields(left).len();
        let (left, left_keys) = self.as_columns(left, &lefts)?;
        let added = self.fields(left).len();
        let all = concatenated(self.fields(left), &right_fields);
        let both = node.left.schema().join(right_schema).map_err(planning)?;
        // What the join's condition sees: the left, and the chosen columns of the table.
        let seen = (0..width).map(|c| all[c].clone());
        let mut chosen = Vec::new();
        for place in &visible {
            match place {
                Some(place) => chosen.push(all[added + place].clone()),
                None => return Ok(None),
            }
        }
        let seen: Vec<PlanField> = seen.chain(chosen).collect();
        let mut conditions = Vec::new();
        for filter in &filters {
            conditions.push(localized(filter, &both, &seen)?);
        }
        for filter in filters_of(&above) {
            let schema = filter.1;
            let fields: Vec<PlanField> =
                scanned_columns(scan, &physical).into_iter().map(|p| all[added + p].clone()).collect();
            conditions.push(localized(filter.0, schema, &fields)?);
        }
        let padded = right_fields.iter().map(|f| if kind == JoinKind::Left { f.padded() } else { f.clone() });
        let fields: Vec<PlanField> = self.fields(left).iter().cloned().chain(padded).collect();
        let identity = super::scan::identity(&table.options);
        let lookup = LookupSpec { table: name, identity, source: Arc::from(source), schema };
        let keys = left_keys.into_iter().zip(keys).collect();
        let said = hint_of(&node.right).and_then(|said| said.lookup.as_ref());
        let (shuffle, retry) = said.map_or((false, None), |said| (said.shuffle, said.retry));
        let op = Op::LookupJoin { kind, lookup, keys, residual: conjunction(conditions), shuffle, retry };
        let joined = self.plan.add(op, vec![left], unique(fields));
        let output: Vec<usize> = (0..width).chain(visible.iter().flatten().map(|p| added + p)).collect();
        self.select(joined, &output).map(Some)
    }
}

/// The same with both sides of each equality in the type that they are compared in: DataFusion sees to this for its own joins
/// alone.
fn in_common_types(node: &TemporalJoinNode) -> datafusion_common::Result<TemporalJoinNode> {
    let (left, right) = (node.left.schema(), node.right.schema());
    let on = node.on.iter().map(|(l, r)| {
        let types = (l.get_type(left)?, r.get_type(right)?);
        let (l_type, r_type) = BinaryTypeCoercer::new(&types.0, &Operator::Eq, &types.1).get_input_types()?;
        Ok((l.clone().cast_to(&l_type, left)?, r.clone().cast_to(&r_type, right)?))
    });
    Ok(TemporalJoinNode { on: on.collect::<datafusion_common::Result<_>>()?, ..node.clone() })
}

/// The column of the table that one side of an equality is, and its type where the comparison is in a wider one.
fn key_of<'e>(
    expr: &'e Expr,
    schema: &DFSchema,
) -> datafusion_common::Result<Option<(&'e Column, Option<DataType>)>> {
    match super::unaliased(expr) {
        Expr::Column(column) => Ok(Some((column, None))),
        Expr::Cast(cast) => {
            let Expr::Column(column) = super::unaliased(&cast.expr) else { return Ok(None) };
            let (from, to) = (cast.expr.get_type(schema)?, cast.field.data_type());
            // Each value of the wider type is at most one of the narrower.
            let exact = match to {
                DataType::Float64 => matches!(from, DataType::Int8 | DataType::Int16 | DataType::Int32),
                to => is_exact(&from) && is_exact(to),
            };
            Ok(exact.then_some((column, Some(from))))
        }
        _ => Ok(None),
    }
}

fn is_exact(data_type: &DataType) -> bool {
    data_type.is_signed_integer() || matches!(data_type, DataType::Decimal128(..))
}

/// The scan below renamings, choices of columns and filters, and what is above it, from the top.
fn lookup_scan(plan: &LogicalPlan) -> Option<(&TableScan, Vec<&LogicalPlan>)> {
    let mut above = Vec::new();
    let mut at = plan;
    loop {
        match at {
            LogicalPlan::TableScan(scan) => return Some((scan, above)),
            LogicalPlan::SubqueryAlias(alias) => at = &alias.input,
            LogicalPlan::Extension(extension) => {
                at = &extension.node.as_any().downcast_ref::<HintedNode>()?.input;
            }
            LogicalPlan::Projection(projection) => {
                above.push(at);
                at = &projection.input;
            }
            LogicalPlan::Filter(filter) => {
                above.push(at);
                at = &filter.input;
            }
            _ => return None,
        }
    }
}

/// The physical columns that a scan gives.
fn scanned_columns(scan: &TableScan, physical: &flugs_sql_types::TableSchema) -> Vec<usize> {
    let names = scan.projected_schema.fields().iter();
    names.map(|f| physical.index_of(f.name()).unwrap_or_default()).collect()
}

/// For each column of the relation, which physical column it is.
fn visible_columns(
    scan: &TableScan,
    above: &[&LogicalPlan],
    physical: &flugs_sql_types::TableSchema,
) -> Vec<Option<usize>> {
    let mut columns: Vec<Option<usize>> = scanned_columns(scan, physical).into_iter().map(Some).collect();
    for plan in above.iter().rev() {
        if let LogicalPlan::Projection(projection) = plan {
            let place = |e: &Expr| match super::unaliased(e) {
                Expr::Column(column) => {
                    projection.input.schema().index_of_column(column).ok().and_then(|at| columns[at])
                }
                _ => None,
            };
            columns = projection.expr.iter().map(place).collect();
        }
    }
    columns
}

/// The conditions right above a scan, with the columns that they see.
fn filters_of<'p>(above: &[&'p LogicalPlan]) -> Vec<(&'p Expr, &'p datafusion_common::DFSchema)> {
    let mut found = Vec::new();
    for plan in above.iter().rev() {
        match plan {
            LogicalPlan::Filter(filter) => found.push((&filter.predicate, filter.input.schema().as_ref())),
            _ => break,
        }
    }
    found
}

//! `GROUP BY`: plain, by grouping sets, and by window.

use crate::bind::hints::hint_of;
use crate::convert::{Converter, Made, is_session, read_by, unaliased, unique, window_fields};
use crate::error::{PlanResult, planning, semantic, unsupported};
use crate::lower::unsplit;
use crate::plan::{AggregateCall, Emit, NodeId, Op, PlanField, SortKey, WindowRole, WindowSpec, is_column};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field};
use datafusion_common::Column;
use datafusion_expr::logical_plan::Aggregate;
use datafusion_expr::{Expr, GroupingSet};
use flugs_sql_functions::aggregate::{PlannedAggregate, plan_aggregate};
use std::sync::Arc;
use std::time::Duration;

/// An aggregate whose keys and arguments are columns of its input.
struct Prepared {
    input: NodeId,
    keys: Vec<usize>,
    calls: Vec<AggregateCall>,
    /// The columns of the output: keys, then calls.
    fields: Vec<PlanField>,
    /// What `STATE_TTL` says of the input.
    ttl: Option<Duration>,
}

impl Converter<'_> {
    pub(super) fn aggregate(&mut self, aggregate: &Aggregate) -> PlanResult<NodeId> {
        let input = self.convert(&aggregate.input)?;
        let (keys, sets) = match &aggregate.group_expr[..] {
            [Expr::GroupingSet(sets)] => {
                let keys: Vec<Expr> = sets.distinct_expr().into_iter().cloned().collect();
                let sets = positions(sets, &keys)?;
                (keys, Some(sets))
            }
            keys => (keys.to_vec(), None),
        };
        let prepared = self.prepared(input, aggregate, &keys, sets.is_some())?;
        match sets {
            Some(sets) => self.grouping_sets(prepared, sets),
            None => self.grouped(prepared),
        }
    }

    fn prepared(
        &mut self,
        input: NodeId,
        aggregate: &Aggregate,
        keys: &[Expr],
        sets: bool,
    ) -> PlanResult<Prepared> {
        let schema = aggregate.input.schema();
        let keys = keys.iter().map(|e| self.local(e, schema, input)).collect::<PlanResult<Vec<_>>>()?;
        let mut wanted = keys.clone();
        let mut place = |e: Expr| -> usize {
            let bare = unaliased(&e).clone();
            wanted.iter().position(|w| *unaliased(w) == bare).unwrap_or_else(|| {
                wanted.push(bare);
                wanted.len() - 1
            })
        };
        let mut calls = Vec::new();
        let outputs = aggregate.schema.fields();
        let first = keys.len() + usize::from(sets);
        for (expr, field) in aggregate.aggr_expr.iter().zip(&outputs[first..]) {
            let Expr::AggregateFunction(call) = unaliased(expr) else {
                return Err(unsupported(format!("{expr} as an aggregate")));
            };
            let params = &call.params;
            let PlannedAggregate { kind, arguments: args } = plan_aggregate(call).map_err(planning)?;
            let local = |e: &Expr| super::localized(e, schema, &self.plan.node(input).fields);
            let args = args.iter().map(|e| Ok(place(local(e)?))).collect::<PlanResult<Vec<_>>>()?;
            let filter = params.filter.as_ref().map(|f| Ok(place(local(f)?))).transpose()?;
            let mut order_by = Vec::new();
            for sort in &params.order_by {
                let options = SortOptions { descending: !sort.asc, nulls_first: sort.nulls_first };
                order_by.push(SortKey { column: place(local(&sort.expr)?), options });
            }
            calls.push(AggregateCall {
                kind,
                args,
                distinct: params.distinct,
                filter,
                order_by,
                field: field.clone(),
            });
        }
        // The input with exactly these columns; names of keys are kept.
        let names = self.fields(input).to_vec();
        let made: Vec<Made> = wanted
            .into_iter()
            .enumerate()
            .map(|(i, e)| {
                let name = match is_column(&e) {
                    Some(name) if names.iter().any(|f| f.name() == name) => name.to_owned(),
                    _ if i < keys.len() => outputs[i].name().clone(),
                    _ => format!("$f{i}"),
                };
                (e, name)
            })
            .collect();
        let input = match made.is_empty() {
            // COUNT(*) of rows whose columns nobody reads.
            true => self.without_columns(input)?,
            false => self.calc(input, None, made)?,
        };
        let mut fields = self.fields(input)[..keys.len()].to_vec();
        fields.extend(calls.iter().map(|c| PlanField::new(c.field.clone())));
        let ttl = hint_of(&aggregate.input).and_then(|said| said.ttl);
        Ok(Prepared { input, keys: (0..keys.len()).collect(), calls, fields, ttl })
    }

    fn without_columns(&mut self, input: NodeId) -> PlanResult<NodeId> {
        match self.fields(input).is_empty() {
            true => Ok(input),
            false => self.calc(input, None, Vec::new()),
        }
    }

    fn grouped(&mut self, prepared: Prepared) -> PlanResult<NodeId> {
        let fields = self.fields(prepared.input);
        let role = |role: WindowRole| prepared.keys.iter().position(|k| fields[*k].window == Some(role));
        // Of a bounded input a window is a group like others; sessions must be found first.
        let plain = self.plan.batch && !self.is_session_below(prepared.input);
        if let (Some(start), Some(end), false) = (role(WindowRole::Start), role(WindowRole::End), plain) {
            let time = role(WindowRole::Time);
            return self.windowed(prepared, start, end, time);
        }
        let Prepared { input, keys, calls, fields, ttl } = prepared;
        let batch = self.plan.batch;
        let plain = |f: PlanField| PlanField {
            time: f.time.filter(|_| batch && f.window.is_some()),
            window: f.window.filter(|_| batch),
            ..f
        };
        let fields = unique(fields.into_iter().map(plain).collect());
        Ok(self.add_aggregate(input, keys, calls, ttl, fields))
    }

    fn add_aggregate(
        &mut self,
        input: NodeId,
        keys: Vec<usize>,
        calls: Vec<AggregateCall>,
        ttl: Option<Duration>,
        fields: Vec<PlanField>,
    ) -> NodeId {
        let plain = Op::Aggregate { keys: keys.clone(), calls: calls.clone(), ttl, buckets: None };
        let splits = unsplit(self.plan, self.plan.node(input), &plain, self.config).is_none();
        let buckets = self.config.distinct_buckets.filter(|_| splits);
        self.plan.add(Op::Aggregate { keys, calls, ttl, buckets }, vec![input], fields)
    }

    /// An aggregate whose keys have the bounds of a window, at these places of the keys.
    fn windowed(
        &mut self,
        prepared: Prepared,
        start: usize,
        end: usize,
        time: Option<usize>,
    ) -> PlanResult<NodeId> {
        let bounds: Vec<usize> = [Some(start), Some(end), time].into_iter().flatten().collect();
        let others: Vec<usize> = (0..prepared.keys.len()).filter(|k| !bounds.contains(k)).collect();
        let width = prepared.keys.len();
        let (input, window, attached, keys, calls, time_kind) = match self
            .fused(&prepared, &bounds, &others)?
        {
            Some((input, window, keys, calls)) => {
                let kind = window.time_kind;
                (input, Some(window), None, keys, calls, kind)
            }
            None => {
                if self.is_session_below(prepared.input) {
                    return Err(unsupported("an aggregate over a SESSION window in this form")
                        .help("group by the session's partition keys, window_start and window_end alone"));
                }
                let keys = others.iter().map(|k| prepared.keys[*k]).collect();
                let attached = Some((prepared.keys[start], prepared.keys[end]));
                (
                    prepared.input,
                    None,
                    attached,
                    keys,
                    prepared.calls.clone(),
                    flugs_sql_types::TimeKind::Rowtime,
                )
            }
        };
        let emit = self.config.early_fire.map_or(Emit::OnClose, Emit::Early);
        let mut fields: Vec<PlanField> = others.iter().map(|k| prepared.fields[*k].clone()).collect();
        fields.iter_mut().for_each(|f| f.time = None);
        fields.extend(calls.iter().map(|c| PlanField::new(c.field.clone())));
        let of_time = match (&window, time) {
            (Some(window), _) => self.fields(input)[window.time].clone(),
            (None, Some(time)) => prepared.fields[time].clone(),
            (None, None) => prepared.fields[end].clone(),
        };
        fields.extend(window_fields(&of_time, time_kind));
        let op = Op::WindowAggregate { window, attached, keys, calls, emit };
        let node = self.plan.add(op, vec![input], unique(fields));
        // Keys and calls where the aggregate has them.
        let calls_at = others.len();
        let behind = calls_at + prepared.calls.len();
        let mut columns = Vec::new();
        for key in 0..width {
            columns.push(match key {
                k if k == start => behind,
                k if k == end => behind + 1,
                k if Some(k) == time => behind + 2,
                k => others.iter().position(|o| *o == k).unwrap_or_default(),
            });
        }
        columns.extend(calls_at..behind);
        self.select(node, &columns)
    }

    /// The aggregate over the rows before they are put into windows, where nothing but the bounds is read of the windows.
    #[expect(clippy::type_complexity, reason = "the parts of one operator")]
    fn fused(
        &mut self,
        prepared: &Prepared,
        bounds: &[usize],
        others: &[usize],
    ) -> PlanResult<Option<(NodeId, WindowSpec, Vec<usize>, Vec<AggregateCall>)>> {
        let node = self.plan.node(prepared.input).clone();
        let (filter, exprs, below) = match &node.op {
            Op::Calc { filter, exprs } => (filter.clone(), exprs.clone(), node.inputs[0]),
            Op::WindowAssign { .. } => {
                let exprs = node.fields.iter().map(|f| Expr::Column(Column::new_unqualified(f.name())));
                (None, exprs.collect(), prepared.input)
            }
            _ => return Ok(None),
        };
        let assign = self.plan.node(below).clone();
        let Op::WindowAssign { window, partition } = &assign.op else { return Ok(None) };
        let width = assign.fields.len() - 3;
        let reads_window =
            |e: &Expr| -> PlanResult<bool> { Ok(read_by([e], &assign.fields)?.iter().any(|c| *c >= width)) };
        if filter.as_ref().map(&reads_window).transpose()?.unwrap_or(false) {
            return Ok(None);
        }
        // Columns that are kept, and where they are in the new input.
        let mut made: Vec<Made> = Vec::new();
        let mut moved = vec![None; exprs.len()];
        for (i, expr) in exprs.iter().enumerate() {
            if bounds.contains(&i) {
                continue;
            }
            if reads_window(expr)? {
                return Ok(None);
            }
            moved[i] = Some(made.len());
            made.push((expr.clone(), node.fields[i].name().to_owned()));
        }
        let time = assign.fields[window.time].name().to_owned();
        let time_at = made.len();
        made.push((Expr::Column(Column::new_unqualified(&time)), time));
        let at = |column: usize| {
            moved[column].ok_or_else(|| {
                semantic("the bounds of a window cannot be aggregated beside grouping by them")
            })
        };
        let mut calls = prepared.calls.clone();
        let reads_bounds = |c: &AggregateCall| {
            let order = c.order_by.iter().map(|k| k.column);
            c.args.iter().copied().chain(c.filter).chain(order).any(|a| moved[a].is_none())
        };
        if calls.iter().any(reads_bounds) {
            return Ok(None);
        }
        for call in &mut calls {
            call.args = call.args.iter().map(|a| at(*a)).collect::<PlanResult<_>>()?;
            call.filter = call.filter.map(at).transpose()?;
            for key in &mut call.order_by {
                key.column = at(key.column)?;
            }
        }
        let keys = others.iter().map(|k| at(prepared.keys[*k])).collect::<PlanResult<Vec<_>>>()?;
        if is_session(window.kind) && !same_partition(&assign.fields, partition, &made, &keys) {
            return Ok(None);
        }
        let input = self.calc(assign.inputs[0], filter, made)?;
        let window = WindowSpec { time: time_at, ..window.clone() };
        Ok(Some((input, window, keys, calls)))
    }

    fn is_session_below(&self, id: NodeId) -> bool {
        let node = self.plan.node(id);
        match &node.op {
            Op::WindowAssign { window, .. } => is_session(window.kind),
            Op::Calc { .. } => self.is_session_below(node.inputs[0]),
            _ => false,
        }
    }

    fn grouping_sets(&mut self, prepared: Prepared, sets: Vec<Vec<usize>>) -> PlanResult<NodeId> {
        let Prepared { input, keys, mut calls, mut fields, ttl } = prepared;
        let width = self.fields(input).len();
        // Arguments that are keys as well must keep their values: columns behind the keys.
        let mut made: Vec<Made> = self
            .fields(input)
            .iter()
            .map(|f| (Expr::Column(Column::new_unqualified(f.name())), f.name().to_owned()))
            .collect();
        let mut copies = vec![None; keys.len()];
        let mut copied = |column: usize, made: &mut Vec<Made>| -> usize {
            if column >= keys.len() {
                return column;
            }
            *copies[column].get_or_insert_with(|| {
                made.push((made[column].0.clone(), format!("$c{column}")));
                made.len() - 1
            })
        };
        for call in &mut calls {
            call.args.iter_mut().for_each(|a| *a = copied(*a, &mut made));
            call.filter = call.filter.map(|f| copied(f, &mut made));
            call.order_by.iter_mut().for_each(|k| k.column = copied(k.column, &mut made));
        }
        let input = if made.len() == width { input } else { self.calc(input, None, made)? };
        let mut expanded = self.fields(input).to_vec();
        for key in &keys {
            expanded[*key] = expanded[*key].padded();
        }
        let id_type = id_type(keys.len(), &sets);
        let id = PlanField::new(Arc::new(Field::new("$grouping_id", DataType::Int64, false)));
        let id_at = expanded.len();
        expanded.push(id.clone());
        let ids = ids_of(&sets, keys.len());
        let nulls = sets.iter().map(|set| (0..keys.len()).filter(|k| !set.contains(k)).collect()).collect();
        let expand = self.plan.add(Op::Expand { nulls, ids }, vec![input], unique(expanded));
        let width = keys.len();
        fields[..width].iter_mut().for_each(|f| *f = f.padded());
        fields.insert(width, id);
        let keys = keys.into_iter().chain([id_at]).collect();
        let grouped = self.add_aggregate(expand, keys, calls, ttl, unique(fields));
        // DataFusion computes with the number in a type of its own.
        let made = self.fields(grouped).iter().enumerate().map(|(i, f)| {
            let column = Expr::Column(Column::new_unqualified(f.name()));
            let expr = if i == width { datafusion_expr::cast(column, id_type.clone()) } else { column };
            (expr, f.name().to_owned())
        });
        let made = made.collect();
        self.calc(grouped, None, made)
    }
}

/// Whether the keys of an aggregate are those of the session's partition.
fn same_partition(fields: &[PlanField], partition: &[usize], made: &[Made], keys: &[usize]) -> bool {
    let of_partition: Vec<&str> = partition.iter().map(|p| fields[*p].name()).collect();
    let mut of_keys: Vec<&str> = Vec::new();
    for key in keys {
        match is_column(&made[*key].0) {
            Some(name) => of_keys.push(name),
            None => return false,
        }
    }
    of_keys.len() == of_partition.len() && of_keys.iter().all(|k| of_partition.contains(k))
}

/// The numbers of grouping sets as DataFusion has them: a bit for each key that the set does not have, the last key's being the
/// lowest, and above them how often the same set stood before.
fn ids_of(sets: &[Vec<usize>], keys: usize) -> Vec<i64> {
    let mask = |set: &Vec<usize>| -> i64 {
        (0..keys).filter(|k| !set.contains(k)).map(|k| 1 << (keys - 1 - k)).sum()
    };
    let before = |at: usize| sets[..at].iter().filter(|s| mask(s) == mask(&sets[at])).count() as i64;
    (0..sets.len()).map(|at| mask(&sets[at]) | before(at) << keys).collect()
}

/// The type that DataFusion gives the number of a grouping set.
fn id_type(keys: usize, sets: &[Vec<usize>]) -> DataType {
    let ordinals = ids_of(sets, keys).into_iter().map(|id| id >> keys).max().unwrap_or(0);
    Aggregate::grouping_id_type(keys, ordinals as usize)
}

/// Grouping sets as places of the keys.
fn positions(sets: &GroupingSet, keys: &[Expr]) -> PlanResult<Vec<Vec<usize>>> {
    let place = |e: &Expr| keys.iter().position(|k| k == e).unwrap_or_default();
    let flat = |set: &[Expr]| set.iter().map(place).collect::<Vec<usize>>();
    Ok(match sets {
        GroupingSet::Rollup(exprs) => (0..=exprs.len()).rev().map(|n| flat(&exprs[..n])).collect(),
        GroupingSet::Cube(exprs) => {
            if exprs.len() > 12 {
                return Err(unsupported(format!("CUBE of {} expressions", exprs.len()))
                    .help("name the sets that are needed with GROUPING SETS"));
            }
            let all = 0..1usize << exprs.len();
            let chosen = |mask: usize| (0..exprs.len()).filter(move |i| mask >> i & 1 == 1);
            all.rev().map(|mask| chosen(mask).map(|i| place(&exprs[i])).collect()).collect()
        }
        GroupingSet::GroupingSets(sets) => sets.iter().map(|set| flat(set)).collect(),
    })
}

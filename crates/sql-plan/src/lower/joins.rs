//! Operators with two inputs, and those that add columns from outside.

use crate::convert::concatenated;
use crate::lower::bounded::spill;
use crate::lower::exchange::Exchange;
use crate::lower::{Lowering, Origin, wants_late};
use crate::plan::{CorrelateFn, JoinKind, Node, Op, PlanField};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::DataType;
use datafusion_common::Column;
use datafusion_expr::Expr;
use flugs_batch::{ChangeBatch, Either};
use flugs_graph::NodeKind;
use flugs_sql_ops::bounded::{HashJoin, HashJoinSpec};
use flugs_sql_ops::join::{
    Correlate, CorrelateSpec, InputUniqueness, IntervalJoin, IntervalJoinSpec, JoinInput, JoinKey, JoinTime,
    JoinType, LookupJoin, LookupJoinSpec, LookupKey, RegularJoin, RegularJoinSpec, Repeat, TableRows,
    TemporalJoin, TemporalJoinSpec, Unnested, unnest,
};
use flugs_sql_ops::window::{AttachedWindow, WindowJoin, WindowJoinKind, WindowJoinSpec};
use flugs_sql_types::{LogicalType, TimeKind, from_field};
use flugs_table::ChangelogMode;
use flugs_task::{NodeFactory, OneInput, Operator, TwoInputs};
use flugs_types::{Error, Result, guarded};
use std::sync::Arc;

type Keys = Vec<(usize, usize, bool)>;

fn join_type(kind: JoinKind) -> JoinType {
    match kind {
        JoinKind::Inner => JoinType::Inner,
        JoinKind::Left => JoinType::Left,
        JoinKind::Right => JoinType::Right,
        JoinKind::Full => JoinType::Full,
        JoinKind::Semi => JoinType::LeftSemi,
        JoinKind::Anti => JoinType::LeftAnti,
        JoinKind::NullAwareAnti => JoinType::LeftAntiNullAware,
    }
}

fn join_keys(keys: &Keys) -> Vec<JoinKey> {
    keys.iter()
        .map(|(left, right, null_safe)| JoinKey { left: *left, right: *right, null_safe: *null_safe })
        .collect()
}

fn sides(keys: &Keys) -> (Vec<usize>, Vec<usize>) {
    keys.iter().map(|(l, r, _)| (*l, *r)).unzip()
}

fn two<O: Operator<In = Either<ChangeBatch, ChangeBatch>, Out = ChangeBatch>>(
    make: impl Fn() -> O + Send + Sync + 'static,
) -> Arc<dyn NodeFactory> {
    Arc::new(TwoInputs::<O, ChangeBatch, ChangeBatch>::new(make))
}

impl Lowering<'_> {
    pub(super) fn join(&mut self, node: &Node) -> Result<Vec<Origin>> {
        match &node.op {
            Op::LookupJoin { .. } | Op::Correlate { .. } => self.beside(node),
            _ => self.two_inputs(node),
        }
    }

    fn two_inputs(&mut self, node: &Node) -> Result<Vec<Origin>> {
        let (left, right) = (self.input(node, 0).clone(), self.input(node, 1).clone());
        let both = concatenated(&left.fields, &right.fields);
        let schema = node.schema();
        let everything = |kind: JoinKind| -> Vec<usize> {
            match join_type(kind).is_left_only() {
                true => (0..left.fields.len()).collect(),
                false => (0..both.len()).collect(),
            }
        };
        let ttl = self.config.state_ttl;
        let (factory, keys): (Arc<dyn NodeFactory>, Keys) = match &node.op {
            Op::Join { kind, keys, residual, output, .. } if self.plan.batch => {
                let distribution = match kind {
                    JoinKind::NullAwareAnti => keys[..keys.len().saturating_sub(1)].to_vec(),
                    _ => keys.clone(),
                };
                let spec = HashJoinSpec {
                    join_type: join_type(*kind),
                    left: left.schema(),
                    right: right.schema(),
                    keys: join_keys(keys),
                    condition: self.condition(residual, &both)?,
                    output: output.clone(),
                    schema,
                    spill: spill(self.config.memory.join),
                };
                (two(move || HashJoin::new(spec.clone())), distribution)
            }
            Op::Join { kind, keys, residual, output, ttl } => {
                let distribution = match kind {
                    // The operands of NOT IN are compared, not distributed by.
                    JoinKind::NullAwareAnti => keys[..keys.len().saturating_sub(1)].to_vec(),
                    _ => keys.clone(),
                };
                let (l, r) = sides(&distribution);
                let spec = RegularJoinSpec {
                    join_type: join_type(*kind),
                    left: join_input(&left, &l, self.config.time_to_live(ttl[0])),
                    right: join_input(&right, &r, self.config.time_to_live(ttl[1])),
                    keys: join_keys(keys),
                    condition: self.condition(residual, &both)?,
                    output: output.clone(),
                    schema,
                    emit_update_before: node.update_before,
                    retract_on_expiry: self.config.retract_on_expiry,
                };
                (two(move || RegularJoin::new(spec.clone())), distribution)
            }
            Op::IntervalJoin { kind, keys, times, time_kind, bounds, residual } => {
                let spec = IntervalJoinSpec {
                    join_type: join_type(*kind),
                    left: left.schema(),
                    right: right.schema(),
                    keys: join_keys(keys),
                    condition: self.condition(residual, &both)?,
                    time: match time_kind {
                        TimeKind::Rowtime => JoinTime::Event { left: times.0, right: times.1 },
                        TimeKind::Proctime => JoinTime::Processing,
                    },
                    lower: bounds.0.saturating_mul(1000),
                    upper: bounds.1.saturating_mul(1000),
                    output: everything(*kind),
                    schema,
                    late_output: false,
                };
                (two(move || IntervalJoin::new(spec.clone())), keys.clone())
            }
            Op::WindowJoin { kind, keys, windows, residual } => {
                let (left_keys, right_keys) = sides(keys);
                let window = |(start, end): (usize, usize)| AttachedWindow { start, end };
                let spec = WindowJoinSpec {
                    left: left.schema(),
                    right: right.schema(),
                    left_window: window(windows.0),
                    right_window: window(windows.1),
                    left_keys,
                    right_keys,
                    null_safe: keys.iter().map(|(.., null_safe)| *null_safe).collect(),
                    condition: self.condition(residual, &both)?,
                    kind: window_kind(*kind)?,
                    zone: self.local_zone(&left),
                    output: schema,
                    late_output: false,
                };
                (two(move || WindowJoin::new(spec.clone())), keys.clone())
            }
            Op::TemporalJoin { kind, keys, times, residual } => {
                let spec = TemporalJoinSpec {
                    join_type: join_type(*kind),
                    left: left.schema(),
                    right: right.schema(),
                    keys: join_keys(keys),
                    condition: self.condition(residual, &both)?,
                    time: match times {
                        Some((left, right)) => JoinTime::Event { left: *left, right: *right },
                        None => JoinTime::Processing,
                    },
                    output: everything(*kind),
                    schema,
                    ttl,
                    late_output: wants_late(self.plan, node),
                };
                (two(move || TemporalJoin::new(spec.clone())), keys.clone())
            }
            other => return Err(Error::bug(format!("{} is no join", other.name()))),
        };
        let (left_keys, right_keys) = sides(&keys);
        let parallelism = self.keyed_parallelism(&left_keys);
        let added = self.graph_node(node.op.name(), NodeKind::Operator, &node.digest, parallelism, true);
        let id = self.builder.node(added, factory);
        for (at, (from, keys)) in [(left, left_keys), (right, right_keys)].into_iter().enumerate() {
            let origins = self.origins_of(node, at);
            self.connect(&from, &origins, id, at as u16, parallelism, &Exchange::Key(keys))?;
        }
        Ok(vec![Origin { node: id, output: 0, parallelism }])
    }

    /// Joins with what stands beside the stream: looked up, or made by a function.
    fn beside(&mut self, node: &Node) -> Result<Vec<Origin>> {
        let left = self.input(node, 0).clone();
        let schema = node.schema();
        let factory: Arc<dyn NodeFactory> = match &node.op {
            Op::LookupJoin { kind, lookup, keys, residual, retry, .. } => {
                let right: Vec<PlanField> =
                    lookup.schema.fields().iter().map(|f| PlanField::new(f.clone())).collect();
                let both = concatenated(&left.fields, &right);
                let spec = LookupJoinSpec {
                    join_type: join_type(*kind),
                    left: left.schema(),
                    source: lookup.source.clone(),
                    right: lookup.schema.clone(),
                    keys: keys.iter().map(|(l, _)| LookupKey::Column(*l)).collect(),
                    retry: *retry,
                    calc: None,
                    condition: self.condition(residual, &both)?,
                    output: (0..both.len()).collect(),
                    schema,
                };
                Arc::new(OneInput::new(move || LookupJoin::new(spec.clone())))
            }
            Op::Correlate { function: CorrelateFn::Repeat, args, .. } => {
                let times = *args.first().ok_or_else(|| Error::bug("rows are repeated by no number"))?;
                Arc::new(OneInput::new(move || Repeat::new(times, schema.clone())))
            }
            Op::Correlate { function, args, left: keep } => {
                let width = left.fields.len();
                let right = arrow::datatypes::Schema::new(
                    node.fields[width..].iter().map(|f| f.field.clone()).collect::<Vec<_>>(),
                );
                let arguments = args.iter().map(|a| {
                    self.expr(&Expr::Column(Column::new_unqualified(left.fields[*a].name())), &left.fields)
                });
                let spec = CorrelateSpec {
                    join_type: if *keep { JoinType::Left } else { JoinType::Inner },
                    left: left.schema(),
                    function: rows_of(function, &left, args)?,
                    arguments: arguments.collect::<Result<_>>()?,
                    right: Arc::new(right),
                    condition: None,
                    output: (0..node.fields.len()).collect(),
                    schema,
                };
                Arc::new(OneInput::new(move || Correlate::new(spec.clone())))
            }
            other => return Err(Error::bug(format!("{} has no columns from outside", other.name()))),
        };
        let origins = self.origins_of(node, 0);
        let (exchange, parallelism) = match &node.op {
            Op::LookupJoin { keys, shuffle: true, .. } => {
                (Exchange::Key(keys.iter().map(|(l, _)| *l).collect()), self.config.parallelism)
            }
            _ => (Exchange::Direct, origins.iter().map(|o| o.parallelism).max().unwrap_or(1)),
        };
        let added = self.graph_node(node.op.name(), NodeKind::Operator, &node.digest, parallelism, false);
        let id = self.builder.node(added, factory);
        self.connect(&left, &origins, id, 0, parallelism, &exchange)?;
        Ok(vec![Origin { node: id, output: 0, parallelism }])
    }
}

/// What is known of the rows of an input.
fn join_input(node: &Node, keys: &[usize], ttl: Option<std::time::Duration>) -> JoinInput {
    let in_key = node.keys.iter().find(|key| key.iter().all(|c| keys.contains(c)));
    let unique = match (in_key, node.keys.first()) {
        (Some(_), _) => InputUniqueness::KeyIsUnique,
        (None, Some(key)) => InputUniqueness::HasUniqueKey(key.clone()),
        (None, None) => InputUniqueness::None,
    };
    let mode = match node.mode() {
        // Without a key of its own every change must name the row that it takes back.
        ChangelogMode::Upsert if in_key.is_none() => ChangelogMode::Retract,
        mode => mode,
    };
    JoinInput { schema: node.schema(), mode, unique, ttl }
}

fn window_kind(kind: JoinKind) -> Result<WindowJoinKind> {
    Ok(match kind {
        JoinKind::Inner => WindowJoinKind::Inner,
        JoinKind::Left => WindowJoinKind::Left,
        JoinKind::Right => WindowJoinKind::Right,
        JoinKind::Full => WindowJoinKind::Full,
        JoinKind::Semi => WindowJoinKind::Semi,
        JoinKind::Anti => WindowJoinKind::Anti,
        JoinKind::NullAwareAnti => return Err(Error::bug("NOT IN is no join of windows")),
    })
}

/// The most rows of arguments that a function sees at once.
const FUNCTION_ROWS: usize = 256;

/// A table function as the operator calls it.
fn rows_of(function: &CorrelateFn, left: &Node, args: &[usize]) -> Result<TableRows> {
    let called = match function {
        CorrelateFn::Unnest { with_ordinality } => {
            let argument = args.first().map(|a| &left.fields[*a].field);
            let argument = argument.ok_or_else(|| Error::bug("UNNEST without an argument"))?;
            let what = match from_field(argument)?.kind {
                LogicalType::Array(_) => Unnested::Array,
                LogicalType::Map(..) => Unnested::Map,
                LogicalType::Multiset(_) => Unnested::Multiset,
                other => {
                    return Err(Error::job(format!(
                        "UNNEST takes an array, a map or a multiset, not {other}"
                    )));
                }
            };
            return Ok(unnest(what, *with_ordinality));
        }
        CorrelateFn::Repeat => return Err(Error::bug("rows are repeated by an operator of its own")),
        CorrelateFn::Function(function) => function.clone(),
    };
    Ok(Arc::new(move |batch: &RecordBatch| {
        let types: Vec<DataType> = batch.columns().iter().map(|c| c.data_type().clone()).collect();
        let wanted = called.coerce(&types)?;
        let columns = batch.columns().iter().zip(&wanted).map(|(column, wanted)| {
            cast(column, wanted)
                .map_err(|e| Error::data("an argument of a table function does not fit").caused_by(e))
        });
        let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        let (mut parts, mut of) = (Vec::new(), Vec::new());
        for start in (0..batch.num_rows()).step_by(FUNCTION_ROWS) {
            let rows = start..batch.num_rows().min(start + FUNCTION_ROWS);
            let made = guarded(|| called.eval(&columns, rows))?;
            of.extend(made.of);
            parts.push(made.rows);
        }
        let Some(first) = parts.first() else {
            return Err(Error::bug("a table function is called with no rows"));
        };
        let rows = concat_batches(&first.schema(), &parts);
        Ok((rows.map_err(|e| Error::user("a table function gave columns that differ").caused_by(e))?, of))
    }))
}

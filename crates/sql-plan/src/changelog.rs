//! Which changes every edge of a plan carries.
//!
//! Bottom up, [`Plan::traits`] says which changes an operator gives and which columns are unique in its result. Top down,
//! [`settle`] finds who needs `-U`: where nobody does, operators leave it out, and sinks by key take upserts. What a sink cannot
//! take is an error here, before anything runs.

use crate::error::{PlanResult, semantic};
use crate::plan::{Changes, CorrelateFn, JoinKind, Node, NodeId, Op, Plan, PlanField, is_column};
use flugs_table::ChangelogMode;

impl Plan {
    /// The changes of an operator's output, and its unique keys.
    pub(crate) fn traits(&self, op: &Op, inputs: &[NodeId]) -> (Changes, Vec<Vec<usize>>) {
        let of = |at: usize| self.node(inputs[at]);
        let first = || (of(0).changes, of(0).keys.clone());
        match op {
            Op::Scan(scan) => {
                let changes = match scan.source.changelog_mode() {
                    ChangelogMode::Append => Changes::APPEND,
                    ChangelogMode::Upsert | ChangelogMode::Retract => Changes::ALL,
                };
                (changes, if scan.primary_key.is_empty() { vec![] } else { vec![scan.primary_key.clone()] })
            }
            Op::Values(_) => (Changes::APPEND, Vec::new()),
            Op::Calc { exprs, .. } => {
                let place = |column: usize| {
                    let name = of(0).fields[column].name();
                    exprs.iter().position(|e| is_column(e) == Some(name))
                };
                let keys = of(0).keys.iter().filter_map(|key| key.iter().map(|c| place(*c)).collect());
                (of(0).changes, keys.collect())
            }
            Op::Union => {
                (inputs.iter().fold(Changes::APPEND, |c, i| c.or(self.node(*i).changes)), Vec::new())
            }
            Op::Expand { .. } | Op::WindowAssign { .. } => (of(0).changes, Vec::new()),
            Op::Aggregate { keys, calls, .. } => {
                let append = of(0).changes.is_append();
                let changes = Changes { updates: !calls.is_empty(), deletes: !append };
                (changes, vec![(0..keys.len()).collect()])
            }
            Op::WindowAggregate { keys, calls, emit, .. } => {
                let (k, behind) = (keys.len(), keys.len() + calls.len());
                let key = (0..k).chain([behind, behind + 1]).collect();
                let early = *emit != crate::plan::Emit::OnClose;
                (Changes { updates: early, deletes: early && !of(0).changes.is_append() }, vec![key])
            }
            Op::Join { kind, keys, output, .. } => self.join_traits(*kind, keys, output, inputs),
            Op::IntervalJoin { .. } | Op::WindowJoin { .. } | Op::WindowRank { .. } => {
                (Changes::APPEND, Vec::new())
            }
            Op::TemporalJoin { times: Some(_), .. } => (Changes::APPEND, of(0).keys.clone()),
            Op::TemporalJoin { times: None, .. } => first(),
            Op::AsyncCalc { .. } => first(),
            // Rows are added and taken away.
            Op::Correlate { function: CorrelateFn::Repeat, .. } => {
                (Changes { updates: false, deletes: !of(0).changes.is_append() }, Vec::new())
            }
            Op::LookupJoin { .. } | Op::Correlate { .. } => (of(0).changes, Vec::new()),
            Op::Rank { partition, range, output_rank, .. } => {
                let mut keys = of(0).keys.clone();
                if *output_rank {
                    keys.insert(0, partition.iter().copied().chain([of(0).fields.len()]).collect());
                }
                if let Some((1, 1)) = range {
                    keys.insert(0, partition.clone());
                }
                (Changes::ALL, keys)
            }
            // The first row waits until none before it can come.
            Op::Deduplicate { partition, last, .. } => {
                (Changes { updates: *last, deletes: false }, vec![partition.clone()])
            }
            Op::Over { order, .. } => {
                let by_time = order
                    .first()
                    .is_some_and(|key| of(0).fields[key.column].time.is_some() && !key.options.descending);
                let append = by_time && of(0).changes.is_append();
                (if append { Changes::APPEND } else { Changes::ALL }, of(0).keys.clone())
            }
            Op::Sort { fetch, offset, order } => {
                let limits = fetch.is_some() || *offset > 0;
                let append = of(0).changes.is_append() && (!limits || order.is_empty());
                (
                    if append || !limits { of_sorted(of(0).changes, limits) } else { Changes::ALL },
                    of(0).keys.clone(),
                )
            }
            Op::Normalize { keys } | Op::Materialize { keys } => (Changes::ALL, vec![keys.clone()]),
            Op::DropUpdateBefore | Op::Sink(_) => first(),
            Op::Fold | Op::Settle { .. } => (Changes::APPEND, of(0).keys.clone()),
            Op::LateRows | Op::Malformed => (Changes::APPEND, Vec::new()),
        }
    }

    fn join_traits(
        &self,
        kind: JoinKind,
        keys: &[(usize, usize, bool)],
        output: &[usize],
        inputs: &[NodeId],
    ) -> (Changes, Vec<Vec<usize>>) {
        let (left, right) = (self.node(inputs[0]), self.node(inputs[1]));
        let both = left.changes.or(right.changes);
        let changes = match kind {
            JoinKind::Inner => both,
            JoinKind::Semi => Changes { deletes: both.deletes || !right.changes.is_append(), ..left.changes },
            JoinKind::Left | JoinKind::Right | JoinKind::Full => Changes { deletes: true, ..both },
            JoinKind::Anti | JoinKind::NullAwareAnti => Changes { deletes: true, ..left.changes },
        };
        let changes = if changes.updates { Changes::ALL } else { changes };
        let of_left = |key: &Vec<usize>| key.iter().all(|c| keys.iter().any(|(l, ..)| l == c));
        let of_right = |key: &Vec<usize>| key.iter().all(|c| keys.iter().any(|(_, r, _)| r == c));
        let width = left.fields.len();
        let mut found: Vec<Vec<usize>> = Vec::new();
        if matches!(kind, JoinKind::Semi | JoinKind::Anti | JoinKind::NullAwareAnti) {
            found.extend(left.keys.iter().cloned());
        } else {
            let shifted = |key: &Vec<usize>| key.iter().map(|c| c + width).collect::<Vec<_>>();
            // One match at most on the other side: the keys of this side are those of the result.
            if right.keys.iter().any(of_right) && matches!(kind, JoinKind::Inner | JoinKind::Left) {
                found.extend(left.keys.iter().cloned());
            }
            if left.keys.iter().any(of_left) && matches!(kind, JoinKind::Inner | JoinKind::Right) {
                found.extend(right.keys.iter().map(shifted));
            }
            if kind == JoinKind::Inner {
                for l in &left.keys {
                    found.extend(right.keys.iter().map(|r| l.iter().copied().chain(shifted(r)).collect()));
                }
            }
        }
        let place = |c: usize| output.iter().position(|o| *o == c);
        let keys = found.into_iter().filter_map(|key| key.into_iter().map(place).collect());
        (changes, keys.collect())
    }
}

fn of_sorted(input: Changes, limits: bool) -> Changes {
    // A whole sort gives each row once, at the end.
    if limits { input } else { Changes::APPEND }
}

/// Settles who gives `-U`, and what each sink takes.
pub(crate) fn settle(plan: &mut Plan) -> PlanResult<()> {
    take_modes(plan)?;
    let mut needed = vec![false; plan.len()];
    let order = plan.reachable();
    for id in order.iter().rev() {
        let node = plan.node(*id);
        for (at, input) in node.inputs.iter().enumerate() {
            if needs_before(plan, *id, at, needed[*id]) {
                needed[*input] = true;
            }
        }
    }
    for id in order {
        let updates = plan.node(id).changes.updates;
        plan.node_mut(id).update_before = needed[id] && updates;
    }
    Ok(())
}

/// Asks each sink what it takes.
fn take_modes(plan: &mut Plan) -> PlanResult<()> {
    let mut sinks = Vec::new();
    for id in plan.sinks.clone() {
        let node = plan.node(id).clone();
        let Op::Sink(sink) = &node.op else { continue };
        let input = plan.node(node.inputs[0]).clone();
        let has_key = !sink.primary_key.is_empty();
        let query = match (input.changes.is_append(), has_key && !input.keys.is_empty()) {
            (true, _) => ChangelogMode::Append,
            (false, true) => ChangelogMode::Upsert,
            (false, false) => ChangelogMode::Retract,
        };
        let mode = sink.sink.changelog_mode(query);
        if mode == ChangelogMode::Append && query != ChangelogMode::Append {
            return Err(not_append(plan, id, &sink.table));
        }
        let mut sink = sink.clone();
        sink.mode = mode;
        let same_key = input.keys.iter().any(|key| {
            key.iter().all(|c| sink.primary_key.contains(c)) && key.len() <= sink.primary_key.len()
        });
        let mut below = node.inputs[0];
        if mode == ChangelogMode::Upsert && has_key && !input.changes.is_append() && !same_key {
            let fields: Vec<PlanField> = input.fields.clone();
            below = plan.add(Op::Materialize { keys: sink.primary_key.clone() }, vec![below], fields);
        }
        let new = plan.add(Op::Sink(sink), vec![below], node.fields);
        sinks.push(new);
    }
    plan.sinks = sinks;
    Ok(())
}

/// The lowest operator that makes the changes.
fn not_append(plan: &Plan, sink: NodeId, table: &str) -> flugs_sql_parser::SqlError {
    let mut at = plan.node(sink).inputs[0];
    while let Some(below) = plan.node(at).inputs.iter().find(|i| !plan.node(**i).changes.is_append()) {
        at = *below;
    }
    let maker = plan.node(at).op.name();
    semantic(format!("table '{table}' takes inserts alone, and the query updates or deletes rows ({maker})")).help(
        "write to a table that takes changes ('format' = 'debezium-json', 'connector' = 'print' or 'memory'), or \
         aggregate by windows, whose results are final",
    )
}

/// Whether a key of a join may be NULL on one side, where that equals nothing.
fn may_be_null(side: &Node, at: usize, (left, right, null_safe): &(usize, usize, bool)) -> bool {
    !null_safe && side.fields[if at == 0 { *left } else { *right }].field.is_nullable()
}

/// Whether an operator needs `-U` from one of its inputs.
fn needs_before(plan: &Plan, id: NodeId, at: usize, own: bool) -> bool {
    let node = plan.node(id);
    let input = plan.node(node.inputs[at]);
    if !input.changes.updates {
        return false;
    }
    match &node.op {
        Op::Sink(sink) => sink.mode == ChangelogMode::Retract,
        // A filter may stop a `+U` whose row it had let pass before.
        Op::Calc { filter, .. } => own || filter.is_some(),
        Op::Correlate { function: CorrelateFn::Repeat, .. } => true,
        Op::Union | Op::AsyncCalc { .. } | Op::LookupJoin { .. } | Op::Correlate { .. } => own,
        Op::Normalize { .. } | Op::DropUpdateBefore | Op::Malformed => false,
        // A row that has NULL in its key is not kept, since it meets none, and is given out beside NULLs all the same.
        Op::Join { kind, keys, .. }
            if kind.pads(at) && keys.iter().any(|key| may_be_null(input, at, key)) =>
        {
            true
        }
        Op::Join { keys, .. } => {
            // A key that is less than the join's stays while a column of the join's changes: the old row is then elsewhere.
            let own_side: Vec<usize> = keys.iter().map(|(l, r, _)| if at == 0 { *l } else { *r }).collect();
            let is_key = |key: &Vec<usize>| {
                key.iter().all(|c| own_side.contains(c)) && own_side.iter().all(|c| key.contains(c))
            };
            !input.keys.iter().any(is_key)
        }
        Op::TemporalJoin { .. } => at == 0 && own,
        _ => true,
    }
}

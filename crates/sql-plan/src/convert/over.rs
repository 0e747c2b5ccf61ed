//! `OVER`: ranks that a filter may limit, and aggregates over the rows around each row.

use crate::convert::{Converter, unaliased, unique};
use crate::error::{PlanResult, planning, unsupported};
use crate::plan::{NodeId, Op, OverCall, PlanField, RankFunction, SortKey, WindowRole};
use datafusion_expr::expr::{WindowFunction, WindowFunctionParams};
use datafusion_expr::logical_plan::Window;
use datafusion_expr::{Expr, WindowFrame, WindowFrameBound, WindowFrameUnits};
use flugs_sql_functions::aggregate::{PlannedWindow, plan_window};
use flugs_sql_types::TimeKind;

fn rank_function(name: &str) -> Option<RankFunction> {
    match name {
        "row_number" => Some(RankFunction::RowNumber),
        "rank" => Some(RankFunction::Rank),
        "dense_rank" => Some(RankFunction::DenseRank),
        _ => None,
    }
}

fn window_function(expr: &Expr) -> PlanResult<&WindowFunction> {
    match unaliased(expr) {
        Expr::WindowFunction(function) => Ok(function),
        other => Err(unsupported(format!("{other} over a window"))),
    }
}

impl Converter<'_> {
    pub(super) fn over(&mut self, window: &Window) -> PlanResult<NodeId> {
        let input = self.convert(&window.input)?;
        let schema = window.input.schema();
        let width = self.fields(input).len();
        let functions = window.window_expr.iter().map(window_function).collect::<PlanResult<Vec<_>>>()?;
        let Some(first) = functions.first() else { return Ok(input) };
        let partition = first.params.partition_by.iter().map(|e| self.local(e, schema, input));
        let partition = partition.collect::<PlanResult<Vec<_>>>()?;
        let (input, partition) = self.as_columns(input, &partition)?;
        let visible = self.fields(input)[..width].to_vec();
        let order_exprs = first.params.order_by.iter().map(|s| super::localized(&s.expr, schema, &visible));
        let order_exprs = order_exprs.collect::<PlanResult<Vec<_>>>()?;
        let (mut input, places) = self.as_columns(input, &order_exprs)?;
        let order: Vec<SortKey> = first
            .params
            .order_by
            .iter()
            .zip(places)
            .map(|(s, column)| SortKey {
                column,
                options: arrow::compute::SortOptions { descending: !s.asc, nulls_first: s.nulls_first },
            })
            .collect();
        let outputs = &window.schema.fields()[width..];
        if let [only] = &functions[..]
            && let Some(function) = rank_function(only.fun.name())
        {
            let mut fields = self.fields(input).to_vec();
            let inner = fields.len();
            fields.push(PlanField::new(outputs[0].clone()));
            let op = Op::Rank { function, partition, order, range: None, output_rank: true };
            let node = self.plan.add(op, vec![input], unique(fields));
            let kept: Vec<usize> = (0..width).chain([inner]).collect();
            return self.select(node, &kept);
        }
        let mut calls = Vec::new();
        for (function, field) in functions.iter().zip(outputs) {
            let visible = self.fields(input)[..width].to_vec();
            let args = function.params.args.iter().map(|e| super::localized(e, schema, &visible));
            let args = args.collect::<PlanResult<Vec<_>>>()?;
            let filter =
                function.params.filter.as_ref().map(|f| super::localized(f, schema, &visible)).transpose()?;
            let mut call = self.over_call(&mut input, function, args, filter, field)?;
            if self.is_by_arrival(input, &order) && is_unbounded_range(&call.frame) {
                call.frame.units = WindowFrameUnits::Rows;
            }
            calls.push(call);
        }
        let mut fields = self.fields(input).to_vec();
        let inner = fields.len();
        fields.extend(outputs.iter().map(|f| PlanField::new(f.clone())));
        let made = calls.len();
        let node = self.plan.add(Op::Over { partition, order, calls }, vec![input], unique(fields));
        let kept: Vec<usize> = (0..width).chain(inner..inner + made).collect();
        self.select(node, &kept)
    }

    /// Whether rows are ordered by the time at which they come. Flink gives each its own place there, though many come at one time.
    fn is_by_arrival(&self, input: NodeId, order: &[SortKey]) -> bool {
        let by = |key: &SortKey| self.fields(input)[key.column].time == Some(TimeKind::Proctime);
        !self.plan.batch && order.first().is_some_and(by)
    }

    fn over_call(
        &mut self,
        input: &mut NodeId,
        function: &WindowFunction,
        args: Vec<Expr>,
        filter: Option<Expr>,
        field: &arrow::datatypes::FieldRef,
    ) -> PlanResult<OverCall> {
        let params = WindowFunctionParams { args, ..function.params.clone() };
        let call = WindowFunction { fun: function.fun.clone(), params: params.clone() };
        let PlannedWindow { kind, arguments: args } = plan_window(&call).map_err(planning)?;
        let mut columns = |exprs: &[Expr]| -> PlanResult<Vec<usize>> {
            let (next, places) = self.as_columns(*input, exprs)?;
            *input = next;
            Ok(places)
        };
        let args = columns(&args)?;
        let filter = filter.map(|f| columns(&[f])).transpose()?.map(|f| f[0]);
        let (distinct, frame) = (params.distinct, params.window_frame);
        Ok(OverCall { kind, args, distinct, filter, frame, field: field.clone() })
    }

    /// The first rows of each partition: of a window, by time, or by any order.
    #[expect(clippy::too_many_arguments, reason = "the parts of a rank")]
    pub(super) fn ranked(
        &mut self,
        input: NodeId,
        function: RankFunction,
        partition: Vec<usize>,
        order: Vec<SortKey>,
        range: (u64, u64),
        output_rank: bool,
        fields: Vec<PlanField>,
    ) -> PlanResult<NodeId> {
        let of_input = self.fields(input);
        let append = self.plan.node(input).changes.is_append();
        let role = |role: WindowRole| partition.iter().copied().find(|p| of_input[*p].window == Some(role));
        let streaming = append && !self.plan.batch;
        if let (Some(start), Some(end), true) = (role(WindowRole::Start), role(WindowRole::End), streaming) {
            let partition = partition.into_iter().filter(|p| of_input[*p].window.is_none()).collect();
            let window = (start, end);
            let op = Op::WindowRank { function, window, partition, order, range, output_rank };
            return Ok(self.plan.add(op, vec![input], fields));
        }
        if let [key] = &order[..]
            && let Some(time_kind) = of_input[key.column].time
            && function == RankFunction::RowNumber
            && range == (1, 1)
            && append
            && !output_rank
        {
            let (time, last) = (key.column, key.options.descending);
            let fields = without_time(fields);
            return Ok(self.plan.add(
                Op::Deduplicate { partition, time, time_kind, last },
                vec![input],
                fields,
            ));
        }
        let op = Op::Rank { function, partition, order, range: Some(range), output_rank };
        Ok(self.plan.add(op, vec![input], without_time(fields)))
    }
}

/// Whether a frame is the one that is meant where none is written.
fn is_unbounded_range(frame: &WindowFrame) -> bool {
    frame.units == WindowFrameUnits::Range
        && matches!(&frame.start_bound, WindowFrameBound::Preceding(n) if n.is_null())
        && matches!(frame.end_bound, WindowFrameBound::CurrentRow)
}

fn without_time(fields: Vec<PlanField>) -> Vec<PlanField> {
    fields.into_iter().map(|f| PlanField { window: None, ..f }).collect()
}

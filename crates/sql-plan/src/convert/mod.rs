//! From DataFusion's logical plan to ours: which streaming operator serves each relation.
//!
//! The output columns of a converted relation stand in the order of its schema. Keys, arguments and sort keys of an operator
//! are columns: a `Calc` before it computes what is none yet.

mod aggregate;
mod calc;
mod chain;
mod interval;
mod join;
mod over;
mod predicate;
mod push_down;
mod reads;
mod scan;
pub(crate) mod sink;
pub(crate) mod streams;
mod temporal;
pub(crate) mod user_functions;
mod versions;
pub(crate) mod waiting;

use crate::bind::Binder;
use crate::bind::nodes::{
    CorrelateNode, FunctionScanNode, HintedNode, TemporalJoinNode, WatermarkNode, WindowKind, WindowNode,
};
use crate::config::PlanConfig;
use crate::error::{PlanResult, lower, planning, semantic, unsupported};
use crate::plan::{
    CorrelateFn, NodeId, Op, Plan, PlanField, SortKey, WindowRole, WindowSpec, columns_of, is_column,
};
use arrow::array::RecordBatch;
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, FieldRef, Schema, TimeUnit};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Column, DFSchema, ScalarValue};
use datafusion_expr::expr::Sort as SortExpr;
use datafusion_expr::{Expr, ExprSchemable, FetchType, LogicalPlan, SkipType};
use flugs_sql_types::TimeKind;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

pub(crate) use calc::{equalities, simplified, with_known};
pub(crate) use join::concatenated;
pub(crate) use push_down::push_down;

/// Converts relations into nodes of a plan.
pub(crate) struct Converter<'a> {
    pub(crate) plan: &'a mut Plan,
    pub(crate) binder: &'a Binder,
    pub(crate) config: &'a PlanConfig,
}

/// A column to be made: its expression over the input's columns, and the name it is to have.
pub(crate) type Made = (Expr, String);

impl Converter<'_> {
    /// The columns of a node.
    pub(crate) fn fields(&self, id: NodeId) -> &[PlanField] {
        &self.plan.node(id).fields
    }

    /// Converts a relation.
    pub(crate) fn convert(&mut self, plan: &LogicalPlan) -> PlanResult<NodeId> {
        match plan {
            LogicalPlan::Projection(_) | LogicalPlan::Filter(_) | LogicalPlan::SubqueryAlias(_) => {
                self.chain(plan)
            }
            LogicalPlan::TableScan(scan) => self.scan(scan),
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate),
            LogicalPlan::Window(window) => self.over(window),
            LogicalPlan::Join(join) => self.join(join),
            LogicalPlan::Union(union) => {
                let inputs = union.inputs.iter().map(|i| self.convert(i)).collect::<PlanResult<Vec<_>>>()?;
                self.union(inputs)
            }
            LogicalPlan::Sort(sort) => {
                let input = self.convert(&sort.input)?;
                let fetch = sort.fetch.map(|n| n as u64);
                self.sorted(input, &sort.expr, sort.input.schema(), fetch)
            }
            LogicalPlan::Limit(limit) => {
                let input = self.convert(&limit.input)?;
                let (FetchType::Literal(fetch), SkipType::Literal(skip)) =
                    (limit.get_fetch_type().map_err(planning)?, limit.get_skip_type().map_err(planning)?)
                else {
                    return Err(unsupported("LIMIT and OFFSET by an expression").help("write a number"));
                };
                self.limited(input, skip as u64, fetch.map(|n| n as u64))
            }
            LogicalPlan::Values(values) => {
                let schema = Arc::new(values.schema.as_arrow().clone());
                let rows = self.evaluated(&values.values, &schema)?;
                Ok(self.rows(rows))
            }
            LogicalPlan::EmptyRelation(empty) => {
                let rows = usize::from(empty.produce_one_row);
                let schema = Arc::new(empty.schema.as_arrow().clone());
                let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(rows));
                let columns =
                    schema.fields().iter().map(|f| arrow::array::new_null_array(f.data_type(), rows));
                let batch = RecordBatch::try_new_with_options(schema.clone(), columns.collect(), &options);
                Ok(self.rows(batch.map_err(|e| planning(e.into()))?))
            }
            LogicalPlan::Extension(extension) => self.extension(extension.node.as_any()),
            LogicalPlan::Distinct(_) => Err(unsupported("SELECT DISTINCT ON")),
            LogicalPlan::Subquery(_) => {
                Err(unsupported("this correlated subquery")
                    .help("write it as a join with its conditions in ON"))
            }
            LogicalPlan::RecursiveQuery(_) => Err(unsupported("WITH RECURSIVE")),
            other => Err(unsupported(format!("{} in a query", other.display()))),
        }
    }

    fn extension(&mut self, node: &dyn std::any::Any) -> PlanResult<NodeId> {
        if let Some(node) = node.downcast_ref::<WatermarkNode>() {
            return self.watermark(node);
        }
        if let Some(node) = node.downcast_ref::<HintedNode>() {
            return self.convert(&node.input);
        }
        if let Some(node) = node.downcast_ref::<WindowNode>() {
            return self.window(node);
        }
        if let Some(node) = node.downcast_ref::<TemporalJoinNode>() {
            return self.temporal(node);
        }
        if let Some(node) = node.downcast_ref::<CorrelateNode>() {
            let input = self.convert(&node.input)?;
            let args = node.args.iter().map(|e| self.local(e, node.input.schema(), input));
            let args = args.collect::<PlanResult<Vec<_>>>()?;
            let made: Vec<FieldRef> = node.made.fields().iter().cloned().collect();
            return self.correlate(input, &node.function.0, args, node.left, &made);
        }
        if let Some(node) = node.downcast_ref::<FunctionScanNode>() {
            let one_row = RecordBatch::try_new_with_options(
                Arc::new(Schema::empty()),
                Vec::new(),
                &arrow::array::RecordBatchOptions::new().with_row_count(Some(1)),
            );
            let input = self.rows(one_row.map_err(|e| planning(e.into()))?);
            let made: Vec<FieldRef> = node.schema.fields().iter().cloned().collect();
            let args = node.args.clone();
            return self.correlate(input, &node.function.0, args, false, &made);
        }
        Err(unsupported("this relation"))
    }

    /// An expression over a relation's columns as one over those of its node.
    pub(crate) fn local(&self, expr: &Expr, schema: &DFSchema, input: NodeId) -> PlanResult<Expr> {
        localized(expr, schema, self.fields(input))
    }

    pub(super) fn rows(&mut self, rows: RecordBatch) -> NodeId {
        let fields = unique(rows.schema().fields().iter().map(|f| PlanField::new(f.clone())).collect());
        self.plan.add(Op::Values(rows), Vec::new(), fields)
    }

    fn evaluated(&self, values: &[Vec<Expr>], schema: &Arc<Schema>) -> PlanResult<RecordBatch> {
        let mut columns: Vec<Vec<ScalarValue>> = vec![Vec::new(); schema.fields().len()];
        for row in values {
            for (column, (expr, field)) in columns.iter_mut().zip(row.iter().zip(schema.fields())) {
                let value = self.constant(expr)?;
                let value = value.cast_to(field.data_type()).map_err(planning)?;
                column.push(value);
            }
        }
        let arrays = columns.into_iter().map(|c| ScalarValue::iter_to_array(c).map_err(planning));
        RecordBatch::try_new(schema.clone(), arrays.collect::<PlanResult<_>>()?)
            .map_err(|e| planning(e.into()))
    }

    /// The value of an expression without columns.
    fn constant(&self, expr: &Expr) -> PlanResult<ScalarValue> {
        let physical = crate::lower::physical(expr, &[], &self.binder.options).map_err(lower)?;
        let one_row = RecordBatch::try_new_with_options(
            Arc::new(Schema::empty()),
            Vec::new(),
            &arrow::array::RecordBatchOptions::new().with_row_count(Some(1)),
        )
        .map_err(|e| planning(e.into()))?;
        let array = flugs_sql_ops::failure::evaluate(&physical, &one_row).map_err(lower)?;
        ScalarValue::try_from_array(&array, 0).map_err(planning)
    }

    pub(super) fn union(&mut self, inputs: Vec<NodeId>) -> PlanResult<NodeId> {
        // A time attribute stays one where all inputs have it; a column may be NULL where one may.
        let mut fields = self.fields(inputs[0]).to_vec();
        for input in &inputs[1..] {
            for (field, other) in fields.iter_mut().zip(self.plan.node(*input).fields.iter()) {
                if field.time != other.time {
                    field.time = None;
                }
                field.window = None;
                if other.field.is_nullable() && !field.field.is_nullable() {
                    field.field = Arc::new(field.field.as_ref().clone().with_nullable(true));
                }
            }
        }
        Ok(self.plan.add(Op::Union, inputs, fields))
    }

    fn correlate(
        &mut self,
        input: NodeId,
        function: &CorrelateFn,
        args: Vec<Expr>,
        left: bool,
        made: &[FieldRef],
    ) -> PlanResult<NodeId> {
        let width = self.fields(input).len();
        let (input, args) = self.as_columns(input, &args)?;
        let mut fields = self.fields(input).to_vec();
        fields.extend(made.iter().map(|f| match left {
            true => PlanField::new(f.clone()).padded(),
            false => PlanField::new(f.clone()),
        }));
        let added = self.fields(input).len();
        let function = function.clone();
        let node = self.plan.add(Op::Correlate { function, args, left }, vec![input], unique(fields));
        let kept = (0..width).chain(added..added + made.len()).collect::<Vec<_>>();
        self.select(node, &kept)
    }

    /// The rows of a session without those that are taken back: a session of fewer rows may be two.
    fn settled(
        &mut self,
        input: NodeId,
        partition: &[usize],
        (time, time_kind): (usize, TimeKind),
        kind: WindowKind,
    ) -> PlanResult<NodeId> {
        let WindowKind::Session { gap } = kind else { return Ok(input) };
        if self.plan.batch || self.plan.node(input).changes.is_append() {
            return Ok(input);
        }
        if time_kind == TimeKind::Proctime {
            return Err(semantic("rows that change are not put into sessions by processing time")
                .help("take sessions of an event time: declare a WATERMARK for it"));
        }
        let fields = self.fields(input).to_vec();
        Ok(self.plan.add(Op::Settle { keys: partition.to_vec(), time, hold: gap }, vec![input], fields))
    }

    /// The rows of a relation with their windows.
    fn window(&mut self, node: &WindowNode) -> PlanResult<NodeId> {
        let input = self.convert(&node.input)?;
        let time = self.local(&node.time, node.input.schema(), input)?;
        let Some((time, time_kind)) = self.time_attribute(input, &time) else {
            return Err(semantic(format!(
                "the time of a window must be a time attribute, and '{}' is none",
                node.time
            ))
            .help("declare WATERMARK FOR it, or take PROCTIME()"));
        };
        let partition = node.partition.iter().map(|e| self.local(e, node.input.schema(), input));
        let partition = partition.collect::<PlanResult<Vec<_>>>()?;
        let width = self.fields(input).len();
        let (input, partition) = self.as_columns(input, &partition)?;
        let input = self.settled(input, &partition, (time, time_kind), node.kind)?;
        let mut fields = self.fields(input).to_vec();
        let inner = fields.len();
        fields.extend(window_fields(&self.fields(input)[time], time_kind));
        let window = WindowSpec { kind: node.kind, time, time_kind };
        let node = self.plan.add(Op::WindowAssign { window, partition }, vec![input], unique(fields));
        let kept = (0..width).chain(inner..inner + 3).collect::<Vec<_>>();
        self.select(node, &kept)
    }

    /// The time attribute that an expression is.
    pub(crate) fn time_attribute(&self, input: NodeId, expr: &Expr) -> Option<(usize, TimeKind)> {
        let name = is_column(expr)?;
        let index = self.fields(input).iter().position(|f| f.name() == name)?;
        self.fields(input)[index].time.map(|kind| (index, kind))
    }

    /// The input with these expressions among its columns, behind the ones that it has, and where they are.
    pub(crate) fn as_columns(&mut self, input: NodeId, exprs: &[Expr]) -> PlanResult<(NodeId, Vec<usize>)> {
        let fields = self.fields(input).to_vec();
        let mut made: Vec<Made> = fields
            .iter()
            .map(|f| (Expr::Column(Column::new_unqualified(f.name())), f.name().to_owned()))
            .collect();
        let mut places = Vec::new();
        for expr in exprs {
            let bare = unaliased(expr);
            let known = made.iter().position(|(other, _)| other == bare);
            places.push(known.unwrap_or_else(|| {
                made.push((bare.clone(), format!("$f{}", made.len())));
                made.len() - 1
            }));
        }
        if made.len() == fields.len() {
            return Ok((input, places));
        }
        Ok((self.calc(input, None, made)?, places))
    }

    /// These columns of a node.
    pub(crate) fn select(&mut self, input: NodeId, columns: &[usize]) -> PlanResult<NodeId> {
        let fields = self.fields(input);
        if columns.iter().copied().eq(0..fields.len()) {
            return Ok(input);
        }
        let made = columns.iter().map(|c| {
            let name = fields[*c].name().to_owned();
            (Expr::Column(Column::new_unqualified(&name)), name)
        });
        let made = made.collect();
        self.calc(input, None, made)
    }

    /// Sort expressions as columns of the input.
    pub(crate) fn sort_keys(
        &mut self,
        input: NodeId,
        sort: &[SortExpr],
        schema: &DFSchema,
    ) -> PlanResult<(NodeId, Vec<SortKey>)> {
        let exprs =
            sort.iter().map(|s| self.local(&s.expr, schema, input)).collect::<PlanResult<Vec<_>>>()?;
        let (input, places) = self.as_columns(input, &exprs)?;
        let keys = sort.iter().zip(places).map(|(s, column)| SortKey {
            column,
            options: SortOptions { descending: !s.asc, nulls_first: s.nulls_first },
        });
        Ok((input, keys.collect()))
    }

    fn sorted(
        &mut self,
        input: NodeId,
        sort: &[SortExpr],
        schema: &DFSchema,
        fetch: Option<u64>,
    ) -> PlanResult<NodeId> {
        let width = self.fields(input).len();
        let (input, order) = self.sort_keys(input, sort, schema)?;
        let fields = self.fields(input).to_vec();
        let node = self.plan.add(Op::Sort { order, offset: 0, fetch }, vec![input], fields);
        self.select(node, &(0..width).collect::<Vec<_>>())
    }

    fn limited(&mut self, input: NodeId, offset: u64, fetch: Option<u64>) -> PlanResult<NodeId> {
        // The limit belongs to the sort below, over columns alone.
        let below = match &self.plan.node(input).op {
            Op::Calc { filter: None, .. } => self.plan.node(input).inputs[0],
            _ => input,
        };
        if let Op::Sort { order, offset: 0, fetch: None } = &self.plan.node(below).op {
            let sort = Op::Sort { order: order.clone(), offset, fetch };
            let node = self.plan.node(below);
            let (inputs, fields) = (node.inputs.clone(), node.fields.clone());
            let limited = self.plan.add(sort, inputs, fields);
            if below == input {
                return Ok(limited);
            }
            let calc = self.plan.node(input);
            let (op, fields) = (calc.op.clone(), calc.fields.clone());
            return Ok(self.plan.add(op, vec![limited], fields));
        }
        let fields = self.fields(input).to_vec();
        Ok(self.plan.add(Op::Sort { order: Vec::new(), offset, fetch }, vec![input], fields))
    }
}

/// An expression over a relation's columns as one over the columns of a node that has them in the same order.
pub(crate) fn localized(expr: &Expr, schema: &DFSchema, fields: &[PlanField]) -> PlanResult<Expr> {
    let replaced = expr.clone().transform_up(|e| match e {
        Expr::Column(column) => {
            let index = schema.index_of_column(&column)?;
            Ok(Transformed::yes(Expr::Column(Column::new_unqualified(fields[index].name()))))
        }
        Expr::Alias(alias) => Ok(Transformed::yes(*alias.expr)),
        other => Ok(Transformed::no(other)),
    });
    Ok(replaced.map_err(planning)?.data)
}

/// An expression without the names around it.
pub(crate) fn unaliased(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unaliased(&alias.expr),
        other => other,
    }
}

/// The columns under names that are different from each other: a number is put behind a name that is there already.
pub(crate) fn unique(fields: Vec<PlanField>) -> Vec<PlanField> {
    let mut taken: HashSet<String> = HashSet::new();
    let free = |name: &str, taken: &HashSet<String>| -> String {
        if !taken.contains(name) {
            return name.to_owned();
        }
        let numbered = (0..).map(|n| format!("{name}{n}")).find(|n| !taken.contains(n));
        numbered.unwrap_or_default()
    };
    let mut named = Vec::with_capacity(fields.len());
    for field in fields {
        let name = free(field.name(), &taken);
        named.push(if name == field.name() { field } else { field.renamed(&name) });
        taken.insert(name);
    }
    named
}

/// The schema of a node's columns for DataFusion.
pub(crate) fn df_schema(fields: &[PlanField]) -> PlanResult<DFSchema> {
    let schema = Schema::new(fields.iter().map(|f| f.field.clone()).collect::<Vec<_>>());
    DFSchema::try_from(schema).map_err(planning)
}

/// The field that an expression makes.
pub(crate) fn field_of_expr(expr: &Expr, schema: &DFSchema) -> PlanResult<FieldRef> {
    Ok(expr.to_field(schema).map_err(planning)?.1)
}

/// Start, end and time of a window over this time column.
pub(crate) fn window_fields(time: &PlanField, kind: TimeKind) -> Vec<PlanField> {
    use arrow::datatypes::Field;
    let plain = DataType::Timestamp(TimeUnit::Millisecond, None);
    let of_time = match time.field.data_type() {
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone.clone()),
        _ => plain.clone(),
    };
    let field = |name: &str, data_type: DataType, role: WindowRole, time: Option<TimeKind>| PlanField {
        field: Arc::new(Field::new(name, data_type, false)),
        time,
        window: Some(role),
    };
    vec![
        field("window_start", plain.clone(), WindowRole::Start, None),
        field("window_end", plain, WindowRole::End, None),
        field("window_time", of_time, WindowRole::Time, Some(kind)),
    ]
}

/// Which columns some expressions read.
pub(crate) fn read_by<'e>(
    exprs: impl IntoIterator<Item = &'e Expr>,
    fields: &[PlanField],
) -> PlanResult<BTreeSet<usize>> {
    let mut all = BTreeSet::new();
    for expr in exprs {
        all.extend(columns_of(expr, fields).map_err(lower)?);
    }
    Ok(all)
}

/// Whether rows are put into windows one by one.
pub(crate) fn is_session(kind: WindowKind) -> bool {
    matches!(kind, WindowKind::Session { .. })
}

//! Relations that DataFusion does not know, as nodes of its logical plans.

use crate::bind::hints::Said;
use crate::plan::CorrelateFn;
use arrow::datatypes::DataType;
use datafusion_common::{Column, DFSchema, DFSchemaRef, Result, TableReference};
use datafusion_expr::{Expr, JoinType, LogicalPlan, UserDefinedLogicalNodeCore};
use flugs_sql_types::TimeKind;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Nodes have no order among each other.
macro_rules! unordered {
    ($node:ty) => {
        impl PartialOrd for $node {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                (self == other).then_some(Ordering::Equal)
            }
        }
    };
}

fn one(mut inputs: Vec<LogicalPlan>) -> LogicalPlan {
    inputs.swap_remove(0)
}

/// Declares the event time of a table and its watermark.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct WatermarkNode {
    pub(crate) input: LogicalPlan,
    /// The row-time column.
    pub(crate) column: Expr,
    /// The watermark that a row carries.
    pub(crate) watermark: Expr,
}
unordered!(WatermarkNode);

impl UserDefinedLogicalNodeCore for WatermarkNode {
    fn name(&self) -> &str {
        "Watermark"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![self.column.clone(), self.watermark.clone()]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watermark: {} as {}", self.column, self.watermark)
    }

    fn with_exprs_and_inputs(&self, mut exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let watermark = exprs.swap_remove(1);
        let column = exprs.swap_remove(0);
        Ok(WatermarkNode { input: one(inputs), column, watermark })
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![output_columns.to_vec()])
    }
}

/// A relation of which a hint says something.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct HintedNode {
    pub(crate) input: LogicalPlan,
    pub(crate) said: Said,
}
unordered!(HintedNode);

impl UserDefinedLogicalNodeCore for HintedNode {
    fn name(&self) -> &str {
        "Hinted"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn prevent_predicate_push_down_columns(&self) -> std::collections::HashSet<String> {
        std::collections::HashSet::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hinted: {:?}", self.said)
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        Ok(HintedNode { input: one(inputs), said: self.said.clone() })
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![output_columns.to_vec()])
    }
}

/// How rows are put into windows. Times are milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum WindowKind {
    /// `TUMBLE`.
    Tumble { size: i64, offset: i64 },
    /// `HOP`.
    Hop { size: i64, slide: i64, offset: i64 },
    /// `CUMULATE`.
    Cumulate { size: i64, step: i64, offset: i64 },
    /// `SESSION`.
    Session { gap: i64 },
}

/// A window table-valued function: its input with `window_start`, `window_end` and `window_time` behind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct WindowNode {
    pub(crate) input: LogicalPlan,
    pub(crate) time: Expr,
    pub(crate) kind: WindowKind,
    /// `PARTITION BY` of a session.
    pub(crate) partition: Vec<Expr>,
    pub(crate) schema: DFSchemaRef,
}
unordered!(WindowNode);

impl WindowNode {
    pub(crate) fn new(
        input: LogicalPlan,
        time: Expr,
        kind: WindowKind,
        partition: Vec<Expr>,
    ) -> Result<Self> {
        use arrow::datatypes::{Field, TimeUnit};
        use datafusion_expr::ExprSchemable;
        let (_, time_field) = time.to_field(input.schema())?;
        let plain = DataType::Timestamp(TimeUnit::Millisecond, None);
        let zoned = match time_field.data_type() {
            DataType::Timestamp(_, Some(zone)) => {
                DataType::Timestamp(TimeUnit::Millisecond, Some(zone.clone()))
            }
            _ => plain.clone(),
        };
        let mut fields: Vec<_> =
            input.schema().iter().map(|(qualifier, field)| (qualifier.cloned(), field.clone())).collect();
        fields.push((None, Arc::new(Field::new("window_start", plain.clone(), false))));
        fields.push((None, Arc::new(Field::new("window_end", plain, false))));
        fields.push((None, Arc::new(Field::new("window_time", zoned, false))));
        let schema = Arc::new(DFSchema::new_with_metadata(fields, Default::default())?);
        Ok(WindowNode { input, time, kind, partition, schema })
    }
}

impl UserDefinedLogicalNodeCore for WindowNode {
    fn name(&self) -> &str {
        "Window"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        std::iter::once(&self.time).chain(&self.partition).cloned().collect()
    }

    fn prevent_predicate_push_down_columns(&self) -> std::collections::HashSet<String> {
        // What a session is depends on all rows of its partition.
        if matches!(self.kind, WindowKind::Session { .. }) {
            return self.schema.fields().iter().map(|f| f.name().clone()).collect();
        }
        ["window_start", "window_end", "window_time"].map(str::to_owned).into()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Window: {:?} of {}", self.kind, self.time)
    }

    fn with_exprs_and_inputs(&self, mut exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let partition = exprs.split_off(1);
        WindowNode::new(one(inputs), exprs.swap_remove(0), self.kind, partition)
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let width = self.input.schema().fields().len();
        Some(vec![output_columns.iter().copied().filter(|c| *c < width).collect()])
    }
}

/// A table as it was at a time that the other side of the join names (`FOR SYSTEM_TIME AS OF`). It stands until
/// [`TemporalJoinNode`] takes its place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct AsOfNode {
    pub(crate) input: LogicalPlan,
    /// A column of the other side, or `PROCTIME()`; not an expression of this node, whose input knows no such column.
    pub(crate) time: Expr,
}
unordered!(AsOfNode);

impl UserDefinedLogicalNodeCore for AsOfNode {
    fn name(&self) -> &str {
        "AsOf"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AsOf: {}", self.time)
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        Ok(AsOfNode { input: one(inputs), time: self.time.clone() })
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![output_columns.to_vec()])
    }
}

/// A join with the version of the right side that held at a time of the left.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TemporalJoinNode {
    pub(crate) left: LogicalPlan,
    pub(crate) right: LogicalPlan,
    /// Inner or left.
    pub(crate) join_type: JoinType,
    pub(crate) time: Expr,
    pub(crate) on: Vec<(Expr, Expr)>,
    pub(crate) filter: Option<Expr>,
    pub(crate) schema: DFSchemaRef,
}
unordered!(TemporalJoinNode);

impl TemporalJoinNode {
    pub(crate) fn new(
        left: LogicalPlan,
        right: LogicalPlan,
        join_type: JoinType,
        time: Expr,
        on: Vec<(Expr, Expr)>,
        filter: Option<Expr>,
    ) -> Result<Self> {
        let schema = datafusion_expr::logical_plan::builder::build_join_schema(
            left.schema(),
            right.schema(),
            &join_type,
        )?;
        Ok(TemporalJoinNode { left, right, join_type, time, on, filter, schema: Arc::new(schema) })
    }
}

impl UserDefinedLogicalNodeCore for TemporalJoinNode {
    fn name(&self) -> &str {
        "TemporalJoin"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.left, &self.right]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        let on = self.on.iter().flat_map(|(l, r)| [l.clone(), r.clone()]);
        std::iter::once(self.time.clone()).chain(on).chain(self.filter.clone()).collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TemporalJoin: {} at {}", self.join_type, self.time)
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        let mut exprs = exprs.into_iter();
        let mut next = || {
            exprs
                .next()
                .ok_or_else(|| datafusion_common::internal_datafusion_err!("an expression is missing"))
        };
        let time = next()?;
        let on = (0..self.on.len()).map(|_| Ok((next()?, next()?))).collect::<Result<_>>()?;
        let filter = self.filter.as_ref().map(|_| next()).transpose()?;
        let right = inputs.swap_remove(1);
        TemporalJoinNode::new(inputs.swap_remove(0), right, self.join_type, time, on, filter)
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let width = self.left.schema().fields().len();
        let left = output_columns.iter().copied().filter(|c| *c < width).collect();
        // Versions are told apart by the right side's event time, which no expression of the join names.
        let is_time =
            |at: usize| matches!(self.right.schema().field(at).data_type(), DataType::Timestamp(..));
        let asked = |at: &usize| output_columns.contains(&(at + width)) || is_time(*at);
        Some(vec![left, (0..self.right.schema().fields().len()).filter(asked).collect()])
    }
}

/// A table function, compared by identity.
#[derive(Clone)]
pub(crate) struct FunctionRef(pub(crate) CorrelateFn);

impl FunctionRef {
    fn identity(&self) -> usize {
        match &self.0 {
            CorrelateFn::Unnest { with_ordinality } => usize::from(*with_ordinality),
            CorrelateFn::Repeat => 2,
            CorrelateFn::Function(function) => Arc::as_ptr(function).cast::<()>() as usize,
        }
    }
}

impl PartialEq for FunctionRef {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for FunctionRef {}

impl Hash for FunctionRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl fmt::Debug for FunctionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("table function")
    }
}

/// What a table function makes of a row: the function's own columns alone. Its arguments refer to the row outside; it stands
/// until [`CorrelateNode`] takes its place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FunctionScanNode {
    pub(crate) name: String,
    pub(crate) function: FunctionRef,
    pub(crate) args: Vec<Expr>,
    /// One row without columns, so that plans have leaves that DataFusion knows.
    pub(crate) input: LogicalPlan,
    pub(crate) schema: DFSchemaRef,
}
unordered!(FunctionScanNode);

impl UserDefinedLogicalNodeCore for FunctionScanNode {
    fn name(&self) -> &str {
        "FunctionScan"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        self.args.clone()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FunctionScan: {}", self.name)
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        Ok(FunctionScanNode { args: exprs, input: one(inputs), ..self.clone() })
    }
}

/// Each row of the input with each row that a table function makes of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CorrelateNode {
    pub(crate) input: LogicalPlan,
    pub(crate) name: String,
    pub(crate) function: FunctionRef,
    pub(crate) args: Vec<Expr>,
    /// Rows of which the function makes nothing stay, with NULLs.
    pub(crate) left: bool,
    /// The function's columns.
    pub(crate) made: DFSchemaRef,
    pub(crate) schema: DFSchemaRef,
}
unordered!(CorrelateNode);

impl CorrelateNode {
    pub(crate) fn new(
        input: LogicalPlan,
        name: String,
        function: FunctionRef,
        args: Vec<Expr>,
        left: bool,
        made: DFSchemaRef,
    ) -> Result<Self> {
        let kind = if left { JoinType::Left } else { JoinType::Inner };
        let schema = datafusion_expr::logical_plan::builder::build_join_schema(input.schema(), &made, &kind)?;
        Ok(CorrelateNode { input, name, function, args, left, made, schema: Arc::new(schema) })
    }
}

impl UserDefinedLogicalNodeCore for CorrelateNode {
    fn name(&self) -> &str {
        "Correlate"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        self.args.clone()
    }

    fn prevent_predicate_push_down_columns(&self) -> std::collections::HashSet<String> {
        self.made.fields().iter().map(|f| f.name().clone()).collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Correlate: {}", self.name)
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let CorrelateNode { name, function, left, made, .. } = self.clone();
        CorrelateNode::new(one(inputs), name, function, exprs, left, made)
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let width = self.input.schema().fields().len();
        Some(vec![output_columns.iter().copied().filter(|c| *c < width).collect()])
    }
}

/// A column of the other side of a join, as its identifier says.
pub(crate) fn column_of(parts: &[String]) -> Option<Expr> {
    let (name, before) = parts.split_last()?;
    let relation = match before {
        [] => None,
        [table] => Some(TableReference::bare(table.clone())),
        [schema, table] => Some(TableReference::partial(schema.clone(), table.clone())),
        [catalog, schema, table] => {
            Some(TableReference::full(catalog.clone(), schema.clone(), table.clone()))
        }
        _ => return None,
    };
    Some(Expr::Column(Column::new(relation, name.clone())))
}

/// The kind of time that a bare call makes.
pub(crate) fn time_of_call(expr: &Expr) -> Option<TimeKind> {
    match expr {
        Expr::ScalarFunction(call) if call.name().eq_ignore_ascii_case("proctime") => {
            Some(TimeKind::Proctime)
        }
        Expr::Alias(alias) => time_of_call(&alias.expr),
        _ => None,
    }
}

//! Tables that are written: the query's columns in their order and types, and the changes that they take.

use crate::bind::{Binder, is_written};
use crate::catalog::{CatalogTable, ObjectPath};
use crate::convert::{Converter, Made};
use crate::error::{PlanResult, lower, semantic};
use crate::plan::{NodeId, Op, SinkOp};
use crate::stream::SinkTarget;
use datafusion_common::{Column, ScalarValue};
use datafusion_expr::Expr;
use datafusion_expr::expr::ScalarFunction;
use flugs_sql_functions::cast::{Implicit, implicit_cast};
use flugs_sql_types::{SqlType, from_field, to_field};
use flugs_table::{ChangelogMode, Options, TableSink};
use std::sync::Arc;

/// Where a query's rows go.
pub(crate) struct Target<'t> {
    pub(crate) path: &'t ObjectPath,
    pub(crate) table: &'t CatalogTable,
    pub(crate) options: Options,
    pub(crate) overwrite: bool,
    /// For each written column which column of the query it takes, or a constant, or NULL.
    pub(crate) columns: Vec<SinkColumn>,
}

/// What a written column takes.
#[derive(Debug, Clone)]
pub(crate) enum SinkColumn {
    /// A column of the query.
    Query(usize),
    /// A constant.
    Constant(Expr),
    /// NULL.
    Null,
}

/// What writes a table.
pub(crate) fn table_sink(
    binder: &Binder,
    path: &ObjectPath,
    table: &CatalogTable,
    options: &Options,
) -> PlanResult<Arc<dyn TableSink>> {
    Ok(binder.connected(path, table, options, |factory, context| factory.sink(context))?.into())
}

impl Converter<'_> {
    /// Writes the rows of a node to a table.
    pub(crate) fn write(&mut self, input: NodeId, target: &Target<'_>) -> PlanResult<NodeId> {
        let sink = table_sink(self.binder, target.path, target.table, &target.options)?;
        if target.overwrite && !sink.supports_overwrite() {
            return Err(
                semantic(format!("table '{}' cannot be overwritten", target.path)).help("write INSERT INTO")
            );
        }
        let written: Vec<_> = target.table.columns.iter().filter(|c| is_written(&c.kind)).collect();
        let mut made: Vec<Made> = Vec::new();
        for (column, from) in written.iter().zip(&target.columns) {
            let expr = match from {
                SinkColumn::Query(index) => {
                    let field = self.fields(input)[*index].clone();
                    let expr = Expr::Column(Column::new_unqualified(field.name()));
                    let from = from_field(&field.field).map_err(lower)?;
                    fitting(expr, &from, &column.sql_type).ok_or_else(|| {
                        let what = format!("column '{}' of table '{}'", column.name, target.path);
                        mismatch(&what, &column.sql_type, &from)
                    })?
                }
                SinkColumn::Constant(expr) => expr.clone(),
                SinkColumn::Null => {
                    let null = ScalarValue::try_from(&column.sql_type.kind.to_arrow());
                    Expr::Literal(null.map_err(crate::error::planning)?, None)
                }
            };
            made.push((expr, column.name.clone()));
        }
        let primary_key: Vec<usize> = target
            .table
            .primary_key
            .iter()
            .filter_map(|key| written.iter().position(|c| c.name == *key))
            .collect();
        let calc = self.calc(input, None, made)?;
        let identity = super::scan::identity(&target.options);
        let fields = written
            .iter()
            .map(|c| crate::plan::PlanField::new(Arc::new(to_field(&c.name, &c.sql_type))))
            .collect();
        let op = SinkOp {
            table: target.path.to_string(),
            identity,
            sink: SinkTarget::Table(sink),
            overwrite: target.overwrite,
            primary_key,
            mode: ChangelogMode::Append,
        };
        Ok(self.plan.add(Op::Sink(Box::new(op)), vec![calc], fields))
    }

    /// Gives the rows of a node to a sink that the program has.
    pub(crate) fn give(&mut self, input: NodeId, name: &str, sink: Arc<dyn TableSink>) -> NodeId {
        let fields = self.fields(input).to_vec();
        let op = SinkOp {
            table: name.to_owned(),
            identity: String::new(),
            sink: SinkTarget::Table(sink),
            overwrite: false,
            primary_key: Vec::new(),
            mode: ChangelogMode::Append,
        };
        self.plan.add(Op::Sink(Box::new(op)), vec![input], fields)
    }
}

/// The value as one of the column's type, where that is done unasked.
pub(crate) fn fitting(expr: Expr, from: &SqlType, to: &SqlType) -> Option<Expr> {
    match implicit_cast(&from.kind, &to.kind)? {
        Implicit::Same => Some(expr),
        Implicit::Cast(function) => {
            Some(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(function), vec![expr])))
        }
    }
}

pub(crate) fn mismatch(what: &str, to: &SqlType, from: &SqlType) -> flugs_sql_parser::SqlError {
    semantic(format!("{what} is {to}, and the query gives {from}"))
        .help(format!("write CAST(... AS {}) in the query", to.kind))
}

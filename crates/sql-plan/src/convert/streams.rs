//! Queries whose rows become a stream of the program.

use crate::convert::sink::{fitting, mismatch};
use crate::convert::{Converter, Made};
use crate::error::{PlanResult, lower, semantic};
use crate::plan::{NodeId, Op, PlanField, SinkOp};
use crate::stream::{SinkTarget, StreamOutput};
use datafusion_common::Column;
use datafusion_expr::Expr;
use flugs_sql_types::{RowField, TimeKind, from_field, to_field};
use flugs_table::{ChangelogMode, nearest};
use std::sync::Arc;

/// A stream that takes the rows of a query.
pub struct StreamTarget {
    /// Its name in plans.
    pub name: String,
    /// The columns of its rows.
    pub columns: Vec<RowField>,
    /// Whether these are the query's columns of the same names; of the same places otherwise.
    pub by_name: bool,
    /// Whether it takes updates and deletes.
    pub takes_changes: bool,
    /// What makes its records.
    pub output: Arc<dyn StreamOutput>,
}

impl Converter<'_> {
    /// Gives the rows of a node, whose columns have these names, to a stream.
    pub(crate) fn give_stream(
        &mut self,
        input: NodeId,
        names: &[String],
        target: &StreamTarget,
    ) -> PlanResult<NodeId> {
        let fields = self.fields(input).to_vec();
        if !target.takes_changes && !self.plan.node(input).changes.is_append() {
            return Err(semantic(
                "the query updates or deletes rows, and a stream of rows takes inserts alone",
            )
            .help("use to_changelog_stream, or aggregate by windows, whose results are final"));
        }
        let places = places(names, target)?;
        let column = |at: usize| Expr::Column(Column::new_unqualified(fields[at].name()));
        let mut made: Vec<Made> = Vec::new();
        for (to, at) in target.columns.iter().zip(places) {
            let from = from_field(&fields[at].field).map_err(lower)?;
            let expr = fitting(column(at), &from, &to.sql_type).ok_or_else(|| {
                mismatch(&format!("column '{}' of the stream's rows", to.name), &to.sql_type, &from)
            })?;
            made.push((expr, to.name.clone()));
        }
        let mut written: Vec<PlanField> =
            target.columns.iter().map(|c| PlanField::new(Arc::new(to_field(&c.name, &c.sql_type)))).collect();
        if let Some(at) = rowtime(&fields, names)? {
            made.push((column(at), format!("$rowtime{}", written.len())));
            written.push(fields[at].clone());
        }
        let calc = self.calc(input, None, made)?;
        let op = SinkOp {
            table: target.name.clone(),
            identity: String::new(),
            sink: SinkTarget::Stream(target.output.clone()),
            overwrite: false,
            primary_key: Vec::new(),
            mode: ChangelogMode::Append,
        };
        Ok(self.plan.add(Op::Sink(Box::new(op)), vec![calc], written))
    }
}

/// Which column of the query each column of the stream's rows is.
fn places(names: &[String], target: &StreamTarget) -> PlanResult<Vec<usize>> {
    let wanted = || target.columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(", ");
    if names.len() != target.columns.len() {
        return Err(semantic(format!(
            "the query gives {} columns ({}), and the stream's rows have {} ({})",
            names.len(),
            names.join(", "),
            target.columns.len(),
            wanted()
        ))
        .help("select the columns that the rows have"));
    }
    if !target.by_name {
        return Ok((0..names.len()).collect());
    }
    let place = |column: &RowField| {
        names.iter().position(|name| *name == column.name).ok_or_else(|| {
            let error =
                semantic(format!("the query gives no column '{}' for the stream's rows", column.name));
            match nearest(&column.name, names.iter().map(String::as_str)) {
                Some(near) => error.help(format!("name it: SELECT {near} AS {}", column.name)),
                None => error.help(format!("name it: SELECT ... AS {}", column.name)),
            }
        })
    };
    target.columns.iter().map(place).collect()
}

/// The column that is the event time of the rows, as in Flink the only row-time attribute.
fn rowtime(fields: &[PlanField], names: &[String]) -> PlanResult<Option<usize>> {
    let times: Vec<usize> =
        (0..fields.len()).filter(|at| fields[*at].time == Some(TimeKind::Rowtime)).collect();
    match times[..] {
        [] => Ok(None),
        [at] => Ok(Some(at)),
        _ => {
            let of = times.iter().map(|at| names[*at].as_str()).collect::<Vec<_>>().join(", ");
            Err(semantic(format!("the query has more than one row-time attribute ({of})"))
                .help("cast all but the one that is to be the rows' event time: CAST(... AS TIMESTAMP(3))"))
        }
    }
}

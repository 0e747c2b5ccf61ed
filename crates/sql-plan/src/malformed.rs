//! Where records go that cannot be read, where their table says so: a sink of the same job for each table that they go to.

use crate::bind::is_written;
use crate::catalog::{CatalogColumn, CatalogTable, ObjectPath};
use crate::convert::sink::{SinkColumn, Target, fitting};
use crate::error::{PlanResult, semantic};
use crate::plan::{Malformed, NodeId, Op, Plan, PlanField};
use crate::planner::Planner;
use datafusion_common::Column;
use datafusion_expr::Expr;
use flugs_sql_types::{LogicalType, to_field};
use std::sync::Arc;

/// The columns of [`Op::Malformed`], and their names in a table that they go to.
const COLUMNS: [(&str, LogicalType); 5] = [
    ("record", LogicalType::BYTES),
    ("error", LogicalType::STRING),
    ("position", LogicalType::STRING),
    ("source", LogicalType::STRING),
    // The record, for a table that has it as text.
    ("record", LogicalType::STRING),
];

/// Adds the sinks for malformed records to a plan whose scans are settled.
pub(crate) fn route(planner: &Planner, plan: &mut Plan) -> PlanResult<()> {
    let mut routes: Vec<(ObjectPath, Vec<NodeId>)> = Vec::new();
    for id in plan.reachable() {
        let Op::Scan(scan) = &plan.node(id).op else { continue };
        let Malformed::Route(to) = &scan.malformed else { continue };
        match routes.iter_mut().find(|(path, _)| path == to) {
            Some((_, scans)) => scans.push(id),
            None => routes.push((to.clone(), vec![id])),
        }
    }
    for (path, scans) in routes {
        let table = planner.binder().table_beside(&path, "malformed records")?;
        let columns = columns_of(&path, &table)?;
        let rows: Vec<NodeId> =
            scans.into_iter().map(|scan| plan.add(Op::Malformed, vec![scan], fields())).collect();
        let rows = match rows[..] {
            [only] => only,
            _ => plan.add(Op::Union, rows, fields()),
        };
        let options = table.options.clone();
        let target = Target { path: &path, table: &table, options, overwrite: false, columns };
        let sink = planner.converter(plan).write(rows, &target)?;
        plan.sinks.push(sink);
    }
    Ok(())
}

fn fields() -> Vec<PlanField> {
    let field = |(at, (name, kind)): (usize, &(&str, LogicalType))| {
        let is_text = at + 1 == COLUMNS.len();
        let sql_type = if is_text { kind.clone().nullable() } else { kind.clone().not_null() };
        let name = if is_text { format!("{name}_text") } else { (*name).to_owned() };
        PlanField::new(Arc::new(to_field(&name, &sql_type)))
    };
    COLUMNS.iter().enumerate().map(field).collect()
}

/// What each written column of the table takes, by its name.
pub(crate) fn columns_of(path: &ObjectPath, table: &CatalogTable) -> PlanResult<Vec<SinkColumn>> {
    let written = table.columns.iter().filter(|c| is_written(&c.kind));
    let columns: Vec<SinkColumn> = written.map(|c| column_of(path, c)).collect::<PlanResult<_>>()?;
    if columns.iter().all(|column| matches!(column, SinkColumn::Null)) {
        return Err(semantic(format!("table '{path}' has none of the columns of malformed records"))
            .help("declare some of: record BYTES, error STRING, `position` STRING, source STRING"));
    }
    Ok(columns)
}

fn column_of(path: &ObjectPath, column: &CatalogColumn) -> PlanResult<SinkColumn> {
    let (name, to) = (&column.name, &column.sql_type);
    let place = COLUMNS.iter().position(|(known, from)| {
        let expr = Expr::Column(Column::new_unqualified(*known));
        known == name && fitting(expr, &from.clone().nullable(), to).is_some()
    });
    let is_known = COLUMNS.iter().any(|(known, _)| known == name);
    match place {
        None if is_known => Err(semantic(format!(
            "column '{name}' of table '{path}' is {}, and takes {} of malformed records",
            to.kind,
            if name == "record" { "BYTES or STRING" } else { "STRING" }
        ))
        .help("declare it so, or call the column otherwise")),
        Some(place) if place + 1 < COLUMNS.len() => Ok(SinkColumn::Query(place)),
        _ if !column.sql_type.nullable => Err(semantic(format!(
            "column '{name}' of table '{path}' is NOT NULL, and malformed records may have no value for it"
        ))
        .help("leave out NOT NULL; a record is always there as BYTES")),
        place => Ok(place.map_or(SinkColumn::Null, SinkColumn::Query)),
    }
}

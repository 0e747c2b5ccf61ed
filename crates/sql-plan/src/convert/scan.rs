//! Tables that are read. What is read of them is settled when the plan is whole: see [`push_down`](super::push_down()).

use crate::bind::nodes::WatermarkNode;
use crate::bind::{SourceTable, is_updating};
use crate::catalog::ColumnKind;
use crate::convert::{Converter, unique};
use crate::error::{PlanResult, lower, semantic};
use crate::plan::{NodeId, Op, Plan, PlanField, ScanOp, column_index, columns_of, substitute};
use datafusion_expr::Expr;
use datafusion_expr::logical_plan::TableScan;
use flugs_sql_types::{TimeKind, to_schema};
use flugs_table::{ChangelogMode, FieldPath, OnMalformed, Options};
use flugs_types::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

impl Converter<'_> {
    pub(super) fn scan(&mut self, scan: &TableScan) -> PlanResult<NodeId> {
        let Some(table) = scan.source.downcast_ref::<SourceTable>() else {
            return Err(semantic(format!("'{}' cannot be read", scan.table_name)));
        };
        let mut projected =
            scan.projection.clone().unwrap_or_else(|| (0..table.schema.fields().len()).collect());
        let width_asked = projected.len();
        let mode = table.source.changelog_mode();
        if mode == ChangelogMode::Upsert {
            // Changes by key are made whole by it, whatever else is asked for.
            let keys = table.table.primary_key.iter().filter_map(|key| table.schema.index_of(key).ok());
            let missing: Vec<usize> = keys.filter(|key| !projected.contains(key)).collect();
            projected.extend(missing);
        }
        let base: Vec<_> =
            table.table.columns.iter().filter(|c| !matches!(c.kind, ColumnKind::Computed(_))).collect();
        let (mut columns, mut metadata) = (Vec::new(), Vec::new());
        let (mut fields, mut of_metadata) = (Vec::new(), Vec::new());
        // Metadata columns stand behind the others in what a source gives.
        let mut order = Vec::new();
        for index in projected {
            let field = PlanField::new(Arc::new(table.schema.field(index).clone()));
            match &base[index].kind {
                ColumnKind::Metadata { key, .. } => {
                    order.push((true, metadata.len()));
                    metadata.push(key.clone());
                    of_metadata.push(field);
                }
                _ => {
                    order.push((false, columns.len()));
                    columns.push(FieldPath(vec![base[index].name.clone()]));
                    fields.push(field);
                }
            }
        }
        let width = fields.len();
        fields.extend(of_metadata);
        let name_of = |name: &String| fields.iter().position(|f| f.name() == name);
        let key: Option<Vec<usize>> = table.table.primary_key.iter().map(name_of).collect();
        let updating = is_updating(&table.source);
        let op = ScanOp {
            table: table.path.to_string(),
            source: table.source.clone(),
            identity: identity(&table.options),
            columns,
            metadata,
            predicates: Vec::new(),
            limit: None,
            watermark: None,
            rowtime: None,
            primary_key: key.unwrap_or_default(),
            physical: to_schema(
                table.table.physical().columns.iter().map(|c| (c.name.as_str(), &c.sql_type)),
            ),
            late: table.late.clone(),
            malformed: table.malformed.clone(),
        };
        if mode == ChangelogMode::Upsert && table.table.primary_key.is_empty() {
            return Err(semantic(format!("table '{}' gives changes by key, and has none", table.path))
                .help("declare PRIMARY KEY (...) NOT ENFORCED"));
        }
        let primary_key = op.primary_key.clone();
        let mut node = self.plan.add(Op::Scan(Box::new(op)), Vec::new(), unique(fields));
        if updating && self.plan.batch {
            let fields = self.fields(node).to_vec();
            if mode == ChangelogMode::Upsert {
                node = self.plan.add(Op::Normalize { keys: primary_key.clone() }, vec![node], fields.clone());
            }
            node = self.plan.add(Op::Fold, vec![node], fields);
        } else if updating && mode == ChangelogMode::Upsert {
            let fields = self.fields(node).to_vec();
            node = self.plan.add(Op::Normalize { keys: primary_key }, vec![node], fields);
        }
        let places: Vec<usize> =
            order[..width_asked].iter().map(|(meta, at)| if *meta { width + at } else { *at }).collect();
        self.select(node, &places)
    }

    /// The event time of a table belongs to its scan: watermarks are made for each split.
    pub(super) fn watermark(&mut self, node: &WatermarkNode) -> PlanResult<NodeId> {
        let input = self.convert(&node.input)?;
        let column = self.local(&node.column, node.input.schema(), input)?;
        let watermark = self.local(&node.watermark, node.input.schema(), input)?;
        let Some(index) = column_index(&column, self.fields(input)) else {
            return Err(semantic(format!("{} is no column", node.column)));
        };
        let data_type = self.fields(input)[index].field.data_type();
        if !matches!(data_type, arrow::datatypes::DataType::Timestamp(..)) {
            return Err(semantic(format!("the row-time column {} is no TIMESTAMP", node.column))
                .help("WATERMARK FOR takes a column of type TIMESTAMP(3) or TIMESTAMP_LTZ(3)"));
        }
        let placed = place_watermark(self.plan, input, column, watermark).map_err(lower)?;
        self.plan.node_mut(placed).fields[index].time = Some(TimeKind::Rowtime);
        Ok(placed)
    }
}

/// Tells tables of one name apart by what was said of them, but for what says only how they are read.
pub(super) fn identity(options: &Options) -> String {
    let is_how =
        |key: &str| matches!(key, "scan.parallelism" | "sink.parallelism" | "late" | OnMalformed::KEY);
    let what = options.iter().filter(|(key, _)| !is_how(key));
    what.map(|(key, value)| format!("{key:?}={value:?}")).collect::<Vec<_>>().join(",")
}

/// Moves the watermark below the computed columns to the scan.
fn place_watermark(plan: &mut Plan, at: NodeId, column: Expr, watermark: Expr) -> Result<NodeId> {
    let node = plan.node(at).clone();
    match &node.op {
        Op::Scan(scan) => {
            let mut scan = scan.clone();
            scan.watermark = Some(watermark);
            scan.rowtime = Some(column);
            Ok(plan.add(Op::Scan(scan), Vec::new(), node.fields))
        }
        Op::Calc { exprs, .. } => {
            let with: HashMap<&str, &Expr> = node.fields.iter().map(PlanField::name).zip(exprs).collect();
            let (column, watermark) = (substitute(column, &with)?, substitute(watermark, &with)?);
            let below = place_watermark(plan, node.inputs[0], column, watermark)?;
            Ok(plan.add(node.op.clone(), vec![below], node.fields))
        }
        Op::Normalize { .. } | Op::Fold => {
            let below = place_watermark(plan, node.inputs[0], column, watermark)?;
            Ok(plan.add(node.op.clone(), vec![below], node.fields))
        }
        Op::AsyncCalc { .. } => {
            let input = node.inputs[0];
            if columns_of(&watermark, &plan.node(input).fields).is_err() {
                return Err(Error::job("a watermark cannot be made of a function that waits")
                    .mend("give the rows their time where they come from"));
            }
            let below = place_watermark(plan, input, column, watermark)?;
            Ok(plan.add(node.op.clone(), vec![below], node.fields))
        }
        // What no row passes holds no time back.
        Op::Values(rows) if rows.num_rows() == 0 => Ok(at),
        other => Err(Error::bug(format!("a watermark over {}", other.name()))),
    }
}

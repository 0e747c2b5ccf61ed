//! Tables that are read. What is read of them is settled when the plan is whole: see [`push_down`].

use crate::bind::nodes::WatermarkNode;
use crate::bind::{SourceTable, is_updating};
use crate::catalog::ColumnKind;
use crate::convert::calc::{equalities, with_known};
use crate::convert::{Converter, unique};
use crate::error::{PlanResult, lower, semantic};
use crate::plan::{NodeId, Op, Plan, PlanField, ScanOp, column_index, columns_of, substitute};
use datafusion_common::ScalarValue;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_expr::logical_plan::TableScan;
use datafusion_expr::utils::{conjunction, split_conjunction};
use datafusion_expr::{BinaryExpr, Expr, Operator};
use flugs_sql_types::TimeKind;
use flugs_table::{ChangelogMode, FieldPath, Literal, Predicate, PredicateOp};
use flugs_types::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

impl Converter<'_> {
    pub(super) fn scan(&mut self, scan: &TableScan) -> PlanResult<NodeId> {
        let Some(table) = scan.source.downcast_ref::<SourceTable>() else {
            return Err(semantic(format!("'{}' cannot be read", scan.table_name)));
        };
        let projected = scan.projection.clone().unwrap_or_else(|| (0..table.schema.fields().len()).collect());
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
        let updating = is_updating(table.source.as_ref());
        let key_lost = key.is_none();
        let op = ScanOp {
            table: table.path.to_string(),
            source: table.source.clone(),
            identity: identity(table),
            columns,
            metadata,
            predicates: Vec::new(),
            limit: None,
            watermark: None,
            rowtime: None,
            primary_key: key.unwrap_or_default(),
        };
        let mode = op.source.changelog_mode();
        if mode == ChangelogMode::Upsert && (table.table.primary_key.is_empty() || key_lost) {
            return Err(semantic(format!(
                "table '{}' gives changes by key, and its key is not read",
                table.path
            ))
            .help("declare PRIMARY KEY (...) NOT ENFORCED, and select its columns"));
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
            order.iter().map(|(meta, at)| if *meta { width + at } else { *at }).collect();
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

/// Tells tables of one name apart by what was said of them.
fn identity(table: &SourceTable) -> String {
    let options = table.options.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(",");
    let watermark = table.table.watermark.as_ref().map(|w| w.expression.as_str()).unwrap_or_default();
    format!("[{options}] {watermark}")
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
        other => Err(Error::bug(format!("a watermark over {}", other.name()))),
    }
}

/// Gives every scan what the operator over it reads: fields in place of whole rows, and the conditions that a source can use.
///
/// Runs over the whole plan, bottom up, and gives back the sinks of a new one.
pub(crate) fn push_down(plan: &Plan) -> Result<Plan> {
    let mut pushed = Plan::new(plan.batch);
    let mut places: HashMap<NodeId, NodeId> = HashMap::new();
    for id in plan.reachable() {
        let node = plan.node(id);
        let new = match (&node.op, node.inputs.first().map(|i| plan.node(*i))) {
            (Op::Calc { filter, exprs }, Some(below)) if matches!(below.op, Op::Scan(_)) => {
                over_scan(&mut pushed, below, filter.as_ref(), exprs, &node.fields)?
            }
            _ => {
                let inputs = node.inputs.iter().map(|i| places[i]).collect();
                pushed.add(node.op.clone(), inputs, node.fields.clone())
            }
        };
        places.insert(id, new);
    }
    pushed.sinks = plan.sinks.iter().map(|id| places[id]).collect();
    Ok(pushed)
}

/// A path into a row, from the column out.
fn path_of(expr: &Expr) -> Option<Vec<String>> {
    match expr {
        Expr::Column(column) => Some(vec![column.name.clone()]),
        Expr::ScalarFunction(call) if call.name() == "get_field" => {
            let mut path = path_of(call.args.first()?)?;
            for name in &call.args[1..] {
                let Expr::Literal(name, _) = name else { return None };
                path.push(name.try_as_str().flatten()?.to_owned());
            }
            Some(path)
        }
        _ => None,
    }
}

/// The paths that expressions read, without those inside of others.
fn paths_read<'e>(exprs: impl Iterator<Item = &'e Expr>) -> Result<Vec<Vec<String>>> {
    let mut paths: Vec<Vec<String>> = Vec::new();
    for expr in exprs {
        let walked = expr.apply(|e| {
            let Some(path) = path_of(e) else { return Ok(TreeNodeRecursion::Continue) };
            paths.push(path);
            Ok(TreeNodeRecursion::Jump)
        });
        walked.map_err(|e| Error::bug("an expression cannot be walked").caused_by(e))?;
    }
    paths.sort();
    paths.dedup();
    // A prefix holds what is in it.
    let whole = paths.clone();
    paths.retain(|path| !whole.iter().any(|other| other.len() < path.len() && path.starts_with(other)));
    Ok(paths)
}

fn over_scan(
    plan: &mut Plan,
    below: &crate::plan::Node,
    filter: Option<&Expr>,
    exprs: &[Expr],
    fields: &[PlanField],
) -> Result<NodeId> {
    let Op::Scan(scan) = &below.op else { return Err(Error::bug("a scan was expected")) };
    let width = scan.columns.len();
    let grows = scan.source.changelog_mode() == ChangelogMode::Append;
    // What the source applies itself holds for all its rows.
    let (mut kept, mut applied) = (Vec::new(), Vec::new());
    for conjunct in filter.map(split_conjunction).unwrap_or_default() {
        let offered = if grows { offers(conjunct, below, width) } else { Vec::new() };
        match &offered[..] {
            [predicate] if scan.source.applies(predicate) => applied.push(conjunct.clone()),
            _ => kept.push(conjunct.clone()),
        }
    }
    let (all, filter) = (filter, conjunction(kept));
    let filter = filter.as_ref();
    let holds = conjunction(applied).map(|e| equalities(&e)).unwrap_or_default();
    let decided = |e: &Expr| with_known(e.clone(), &holds).map_err(|e| Error::bug(e.message));
    let mut scan = scan.as_ref().clone();
    scan.watermark = scan.watermark.as_ref().map(decided).transpose()?;
    scan.rowtime = scan.rowtime.as_ref().map(decided).transpose()?;
    let own = scan.watermark.iter().chain(&scan.rowtime);
    let paths = paths_read(exprs.iter().chain(filter).chain(own))?;
    // Columns in the order of the scan, then by path; metadata columns stay behind.
    let (mut columns, mut new_fields, mut metadata, mut of_metadata) = (vec![], vec![], vec![], vec![]);
    let mut renames: HashMap<Vec<String>, String> = HashMap::new();
    for (index, field) in below.fields.iter().enumerate() {
        for path in paths.iter().filter(|p| p[0] == field.name()) {
            if index >= width {
                metadata.push(scan.metadata[index - width].clone());
                of_metadata.push(field.clone());
                renames.insert(path.clone(), field.name().to_owned());
                continue;
            }
            let mut full = scan.columns[index].0.clone();
            full.extend(path[1..].iter().cloned());
            let of_path = field_at(field, &path[1..])?;
            renames.insert(path.clone(), path.join("."));
            columns.push(FieldPath(full));
            new_fields.push(of_path.renamed(&path.join(".")));
        }
    }
    new_fields.extend(of_metadata);
    let rename = |e: &Expr| -> Result<Expr> {
        let renamed = e.clone().transform_down(|e| match path_of(&e) {
            Some(path) => {
                // The longest prefix that is a column; what is behind it is taken out of that.
                let prefix = (1..=path.len()).rev().find(|n| renames.contains_key(&path[..*n]));
                let Some(n) = prefix else { return Ok(Transformed::no(e)) };
                let column = Expr::Column(datafusion_common::Column::new_unqualified(&renames[&path[..n]]));
                let out = path[n..].iter().fold(column, |row, name| crate::bind::field_of(row, name));
                Ok(Transformed::new(out, true, TreeNodeRecursion::Jump))
            }
            None => Ok(Transformed::no(e)),
        });
        Ok(renamed.map_err(|e| Error::bug("an expression cannot be rewritten").caused_by(e))?.data)
    };
    let key_fields = scan.primary_key.iter().map(|k| below.fields[*k].name().to_owned());
    let primary_key: Option<Vec<usize>> =
        key_fields.map(|name| new_fields.iter().position(|f| f.name() == name)).collect();
    scan.columns = columns;
    scan.metadata = metadata;
    scan.watermark = scan.watermark.as_ref().map(rename).transpose()?;
    scan.rowtime = scan.rowtime.as_ref().map(rename).transpose()?;
    scan.primary_key = primary_key.unwrap_or_default();
    // Changes must all be seen by whoever counts them; only rows of tables that grow may be left out.
    if grows {
        scan.predicates = all.map(|f| offers(f, below, width)).unwrap_or_default();
    }
    let filter = filter.map(rename).transpose()?;
    let exprs = exprs.iter().map(rename).collect::<Result<Vec<_>>>()?;
    let node = plan.add(Op::Scan(Box::new(scan)), Vec::new(), new_fields);
    for expr in exprs.iter().chain(&filter) {
        columns_of(expr, &plan.node(node).fields)?;
    }
    Ok(plan.add(Op::Calc { filter, exprs }, vec![node], fields.to_vec()))
}

/// The field at the end of a path; NULL where a row on the way is.
fn field_at(field: &PlanField, path: &[String]) -> Result<PlanField> {
    use arrow::datatypes::DataType;
    let mut at = field.field.clone();
    let mut nullable = at.is_nullable();
    for name in path {
        let DataType::Struct(fields) = at.data_type() else {
            return Err(Error::bug(format!("'{}' is no row", at.name())));
        };
        let Some((_, next)) = fields.find(name) else {
            return Err(Error::bug(format!("'{}' has no field '{name}'", at.name())));
        };
        at = next.clone();
        nullable |= at.is_nullable();
    }
    let at = Arc::new(at.as_ref().clone().with_nullable(nullable));
    Ok(PlanField { field: at, ..field.clone() })
}

/// The conditions that a source could use.
fn offers(filter: &Expr, scan: &crate::plan::Node, width: usize) -> Vec<Predicate> {
    let Op::Scan(op) = &scan.op else { return Vec::new() };
    let full = |expr: &Expr| -> Option<FieldPath> {
        let path = path_of(expr)?;
        let index = scan.fields.iter().position(|f| f.name() == path[0]).filter(|i| *i < width)?;
        let mut full = op.columns[index].0.clone();
        full.extend(path[1..].iter().cloned());
        Some(FieldPath(full))
    };
    split_conjunction(filter).into_iter().filter_map(|conjunct| offer(conjunct, &full)).collect()
}

fn offer(expr: &Expr, path: &impl Fn(&Expr) -> Option<FieldPath>) -> Option<Predicate> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (side, op, value) = match (literal(left), literal(right)) {
                (None, Some(value)) => (left, *op, value),
                (Some(value), None) => (right, op.swap()?, value),
                _ => return None,
            };
            let op = match op {
                Operator::Eq => PredicateOp::Eq,
                Operator::Lt => PredicateOp::Lt,
                Operator::LtEq => PredicateOp::LtEq,
                Operator::Gt => PredicateOp::Gt,
                Operator::GtEq => PredicateOp::GtEq,
                _ => return None,
            };
            Some(Predicate { path: path(side)?, op, literals: vec![value] })
        }
        Expr::InList(list) if !list.negated => {
            let literals = list.list.iter().map(literal).collect::<Option<Vec<_>>>()?;
            Some(Predicate { path: path(&list.expr)?, op: PredicateOp::Eq, literals })
        }
        Expr::Between(_) => None,
        _ => None,
    }
}

fn literal(expr: &Expr) -> Option<Literal> {
    let Expr::Literal(value, _) = expr else { return None };
    match value {
        ScalarValue::Int8(Some(n)) => Some(Literal::Int(i64::from(*n))),
        ScalarValue::Int16(Some(n)) => Some(Literal::Int(i64::from(*n))),
        ScalarValue::Int32(Some(n)) => Some(Literal::Int(i64::from(*n))),
        ScalarValue::Int64(Some(n)) => Some(Literal::Int(*n)),
        ScalarValue::Float32(Some(x)) => Some(Literal::Double(f64::from(*x))),
        ScalarValue::Float64(Some(x)) => Some(Literal::Double(*x)),
        ScalarValue::Boolean(Some(b)) => Some(Literal::Boolean(*b)),
        ScalarValue::Utf8View(Some(s)) | ScalarValue::Utf8(Some(s)) => Some(Literal::String(s.clone())),
        ScalarValue::TimestampMillisecond(Some(t), None) => t.checked_mul(1000).map(Literal::Timestamp),
        ScalarValue::TimestampMicrosecond(Some(t), None) => Some(Literal::Timestamp(*t)),
        _ => None,
    }
}

//! What is read of each table: columns and fields in place of whole rows, and conditions that its source can use.
//!
//! One scan serves all who read a table by one watermark and of whom its source would leave out the same rows. It gives the
//! columns of all of them; what only some of them leave out is left out above it.

use crate::convert::predicate::{either, offers};
use crate::convert::{equalities, with_known};
use crate::plan::{Malformed, Node, NodeId, Op, Plan, PlanField, ScanOp, canonical, columns_of, joined};
use datafusion_common::Column;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_expr::Expr;
use datafusion_expr::utils::{conjunction, split_conjunction};
use flugs_table::{ChangelogMode, FieldPath, Predicate};
use flugs_types::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// What one operator reads of a scan.
struct Read<'p> {
    scan: &'p Node,
    /// The projection or filter that reads it; none for operators that take its rows as they are.
    calc: Option<NodeId>,
    filter: Option<Expr>,
    exprs: Vec<Expr>,
    offered: Vec<Predicate>,
    watermark: Option<Expr>,
    rowtime: Option<Expr>,
}

/// Reads that one scan serves.
#[derive(Default)]
struct Shared<'p> {
    reads: Vec<(NodeId, Read<'p>)>,
}

/// The operators over the scans of a plan, in place of scans and of the projections over them: by scan and projection.
pub(super) struct Reads<'p> {
    groups: Vec<(String, Shared<'p>)>,
}

/// What takes the place of a projection over a scan, or of a scan.
pub(super) struct Placed {
    pub(super) scan: NodeId,
    pub(super) calc: Option<NodeId>,
    pub(super) filter: Option<Expr>,
    pub(super) exprs: Vec<Expr>,
    pub(super) input: NodeId,
}

impl<'p> Reads<'p> {
    pub(super) fn of(plan: &'p Plan) -> Result<Self> {
        let mut reads = Reads { groups: Vec::new() };
        for id in plan.reachable() {
            let node = plan.node(id);
            for input in &node.inputs {
                let below = plan.node(*input);
                let Op::Scan(scan) = &below.op else { continue };
                let read = match &node.op {
                    Op::Calc { filter, exprs } => {
                        read(below, scan, Some(id), filter.as_ref(), exprs.clone())?
                    }
                    _ => {
                        let column = |f: &PlanField| Expr::Column(Column::new_unqualified(f.name()));
                        read(below, scan, None, None, below.fields.iter().map(column).collect())?
                    }
                };
                reads.add(*input, scan, read);
            }
        }
        Ok(reads)
    }

    fn add(&mut self, id: NodeId, scan: &ScanOp, read: Read<'p>) {
        let mut applied: Vec<String> =
            read.offered.iter().filter(|p| applies(scan, p)).map(|p| format!("{p:?}")).collect();
        applied.sort_unstable();
        let times = (canonical::optional(&read.watermark), canonical::optional(&read.rowtime));
        let how = (scan.limit, applied, times, &scan.late, &scan.malformed);
        let key = format!("{:?} {:?} {how:?}", scan.table, scan.identity);
        let group = match self.groups.iter().position(|(other, _)| *other == key) {
            Some(at) => at,
            None => {
                self.groups.push((key, Shared::default()));
                self.groups.len() - 1
            }
        };
        let reads = &mut self.groups[group].1.reads;
        if !reads.iter().any(|(of, other)| *of == id && other.calc == read.calc) {
            reads.push((id, read));
        }
    }

    /// Two scans of a table that routes its malformed records would write each of them twice.
    fn check_routed(&self) -> Result<()> {
        let mut routed: Vec<&ScanOp> = Vec::new();
        for (_, group) in &self.groups {
            let Some(Op::Scan(scan)) = group.reads.first().map(|(_, read)| &read.scan.op) else { continue };
            let again = |other: &&ScanOp| {
                (&other.table, &other.identity, &other.malformed)
                    == (&scan.table, &scan.identity, &scan.malformed)
            };
            if matches!(scan.malformed, Malformed::Route(_)) {
                if routed.iter().any(again) {
                    return Err(Error::job(format!(
                        "table '{}' is read twice, with different options of its late rows, and its malformed records would \
                         be written twice",
                        scan.table
                    ))
                    .mend("say the same of both with OPTIONS('late' = '...')"));
                }
                routed.push(scan);
            }
        }
        Ok(())
    }

    /// Adds the scans.
    pub(super) fn place(self, plan: &mut Plan) -> Result<Vec<Placed>> {
        self.check_routed()?;
        let mut placed = Vec::new();
        for (_, group) in self.groups {
            group.place(plan, &mut placed)?;
        }
        Ok(placed)
    }
}

/// Whether rows that do not pass are left out by the source for good. What routes its malformed records is read once, whatever each
/// reader leaves out.
fn applies(scan: &ScanOp, predicate: &Predicate) -> bool {
    !matches!(scan.malformed, Malformed::Route(_)) && scan.source.applies(predicate)
}

fn read<'p>(
    below: &'p Node,
    scan: &ScanOp,
    calc: Option<NodeId>,
    filter: Option<&Expr>,
    exprs: Vec<Expr>,
) -> Result<Read<'p>> {
    let width = scan.columns.len();
    let grows = scan.source.changelog_mode() == ChangelogMode::Append;
    // What the source applies itself holds for all its rows.
    let (mut kept, mut applied) = (Vec::new(), Vec::new());
    for conjunct in filter.map(split_conjunction).unwrap_or_default() {
        let offered = if grows { offers(conjunct, below, width) } else { Vec::new() };
        match &offered[..] {
            [predicate] if applies(scan, predicate) => applied.push(conjunct.clone()),
            _ => kept.push(conjunct.clone()),
        }
    }
    let holds = conjunction(applied).map(|e| equalities(&e)).unwrap_or_default();
    let decided = |e: &Expr| with_known(e.clone(), &holds).map_err(|e| Error::bug(e.message));
    // Changes must all be seen by whoever counts them; only rows of tables that grow may be left out.
    let offered = filter.filter(|_| grows).map(|f| offers(f, below, width)).unwrap_or_default();
    Ok(Read {
        scan: below,
        calc,
        filter: conjunction(kept),
        exprs,
        offered,
        watermark: scan.watermark.as_ref().map(decided).transpose()?,
        rowtime: scan.rowtime.as_ref().map(decided).transpose()?,
    })
}

impl Shared<'_> {
    fn place(self, plan: &mut Plan, placed: &mut Vec<Placed>) -> Result<()> {
        let Some((_, first)) = self.reads.first() else { return Ok(()) };
        let Op::Scan(scan) = &first.scan.op else { return Err(Error::bug("a scan was expected")) };
        let mut scan = scan.as_ref().clone();
        let own = first.watermark.iter().chain(&first.rowtime);
        let of_reads = self.reads.iter().flat_map(|(_, read)| read.exprs.iter().chain(&read.filter));
        let paths = paths_read(of_reads.chain(own))?;
        let columns = self.columns(&paths)?;
        let renames = &columns.renames;
        scan.watermark = first.watermark.as_ref().map(|e| renamed(e, renames)).transpose()?;
        scan.rowtime = first.rowtime.as_ref().map(|e| renamed(e, renames)).transpose()?;
        let keys = self.reads.iter().map(|(_, read)| key_of(read.scan)).find(|key| !key.is_empty());
        let place = |name: &String| columns.fields.iter().position(|f| f.name() == name);
        let primary_key: Option<Vec<usize>> = keys.unwrap_or_default().iter().map(place).collect();
        scan.primary_key = primary_key.unwrap_or_default();
        scan.predicates = first.offered.clone();
        for (_, read) in &self.reads[1..] {
            scan.predicates = either(scan.predicates, &read.offered);
        }
        scan.columns = columns.paths;
        scan.metadata = columns.metadata;
        let input = plan.add(Op::Scan(Box::new(scan)), Vec::new(), columns.fields);
        for (of, read) in self.reads {
            let filter = read.filter.as_ref().map(|e| renamed(e, renames)).transpose()?;
            let exprs = read.exprs.iter().map(|e| renamed(e, renames)).collect::<Result<Vec<_>>>()?;
            for expr in exprs.iter().chain(&filter) {
                columns_of(expr, &plan.node(input).fields)?;
            }
            placed.push(Placed { scan: of, calc: read.calc, filter, exprs, input });
        }
        Ok(())
    }

    /// The columns for these paths: in the order of the scans, then by path; metadata columns stay behind.
    fn columns(&self, paths: &[Vec<String>]) -> Result<Columns> {
        let mut columns = Columns::default();
        let mut of_metadata = Vec::new();
        for (_, read) in &self.reads {
            let Op::Scan(scan) = &read.scan.op else { continue };
            let width = scan.columns.len();
            for (index, field) in read.scan.fields.iter().enumerate() {
                for path in paths.iter().filter(|p| p[0] == field.name()) {
                    if columns.renames.contains_key(path) {
                        continue;
                    }
                    if index >= width {
                        columns.metadata.push(scan.metadata[index - width].clone());
                        of_metadata.push(field.clone());
                        columns.renames.insert(path.clone(), field.name().to_owned());
                        continue;
                    }
                    let mut full = scan.columns[index].0.clone();
                    full.extend(path[1..].iter().cloned());
                    let name = joined(path);
                    columns.renames.insert(path.clone(), name.clone());
                    columns.paths.push(FieldPath(full));
                    columns.fields.push(field_at(field, &path[1..])?.renamed(&name));
                }
            }
        }
        columns.fields.extend(of_metadata);
        Ok(columns)
    }
}

/// The columns of a scan to be.
#[derive(Default)]
struct Columns {
    paths: Vec<FieldPath>,
    metadata: Vec<String>,
    fields: Vec<PlanField>,
    /// What each path is called.
    renames: HashMap<Vec<String>, String>,
}

fn key_of(scan: &Node) -> Vec<String> {
    let Op::Scan(op) = &scan.op else { return Vec::new() };
    op.primary_key.iter().map(|k| scan.fields[*k].name().to_owned()).collect()
}

/// An expression over a scan's columns as one over those for paths into them.
fn renamed(e: &Expr, renames: &HashMap<Vec<String>, String>) -> Result<Expr> {
    let renamed = e.clone().transform_down(|e| match path_of(&e) {
        Some(path) => {
            // The longest prefix that is a column; what is behind it is taken out of that.
            let prefix = (1..=path.len()).rev().find(|n| renames.contains_key(&path[..*n]));
            let Some(n) = prefix else { return Ok(Transformed::no(e)) };
            let column = Expr::Column(Column::new_unqualified(&renames[&path[..n]]));
            let out = path[n..].iter().fold(column, |row, name| crate::bind::field_of(row, name));
            Ok(Transformed::new(out, true, TreeNodeRecursion::Jump))
        }
        None => Ok(Transformed::no(e)),
    });
    Ok(renamed.map_err(|e| Error::bug("an expression cannot be rewritten").caused_by(e))?.data)
}

/// A path into a row, from the column out.
pub(super) fn path_of(expr: &Expr) -> Option<Vec<String>> {
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

//! Sources and sinks.

use crate::lower::exchange::Exchange;
use crate::lower::{Lowering, Origin};
use crate::plan::{Malformed, Node, NodeId, Op, PlanField, ScanOp, SinkOp, canonical};
use crate::stream::{ScanSource, SinkTarget};
use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use datafusion_common::Column;
use datafusion_expr::Expr;
use flugs_batch::ChangeBatch;
use flugs_connector::{
    CollectionSource, Committable, Delivery, EnumeratorContext, ReaderContext, Sink, SinkWriter, Source,
    SourceReader, SplitEnumerator, WriterContext,
};
use flugs_graph::{NodeId as GraphId, NodeKind};
use flugs_sql_ops::bridge::{
    Rebatch, RowtimeCheck, RowtimeSpec, Unbatch, WatermarkFaults, watermark_strategy,
};
use flugs_sql_ops::calc::{Calc, CalcSpec};
use flugs_sql_ops::changelog::DropUpdateBefore;
use flugs_sql_ops::malformed::MalformedRows;
use flugs_sql_ops::not_null::{NotNull, NotNullSpec};
use flugs_table::{ChangelogMode, ScanRequest};
use flugs_task::{DeadLetter, OnMalformed, OneInput, SinkOperator, SourceNode, WatermarkStrategy};
use flugs_types::{Result, hash_bytes};
use std::sync::Arc;

const MALFORMED_ADVICE: &str = "mend the record, or set the table's option 'malformed' to 'skip', or to 'route:TABLE' for a table that such records go to";

/// A source of a table, whichever its type.
struct AnySource(Box<dyn Source<Item = ChangeBatch>>);

impl Source for AnySource {
    type Item = ChangeBatch;

    fn boundedness(&self) -> flugs_connector::Boundedness {
        self.0.boundedness()
    }

    fn enumerator(&self, context: EnumeratorContext<'_>) -> Result<Box<dyn SplitEnumerator>> {
        self.0.enumerator(context)
    }

    fn reader(&self, context: ReaderContext) -> Result<Box<dyn SourceReader<ChangeBatch>>> {
        self.0.reader(context)
    }
}

/// A sink of a table, whichever its type.
struct AnySink(Box<dyn Sink<Item = ChangeBatch>>);

impl Sink for AnySink {
    type Item = ChangeBatch;

    fn delivery(&self) -> Delivery {
        self.0.delivery()
    }

    fn remove_orphans(
        &self,
        context: &WriterContext,
        states: &[Vec<u8>],
        committables: &[Committable],
    ) -> Result<()> {
        self.0.remove_orphans(context, states, committables)
    }

    fn writer(
        &self,
        context: WriterContext,
        restored: Vec<Vec<u8>>,
    ) -> Result<Box<dyn SinkWriter<ChangeBatch>>> {
        self.0.writer(context, restored)
    }
}

/// Positions are those of the table, whatever columns are read of it, as far as the source gives all of its rows.
fn source_uid(scan: &ScanOp) -> String {
    let applied = scan.predicates.iter().filter(|predicate| scan.source.applies(predicate));
    let mut applied: Vec<String> = applied.map(|predicate| format!("{predicate:?}")).collect();
    applied.sort_unstable();
    let rows = hash_bytes(format!("{}{applied:?}", scan.identity).as_bytes());
    format!("source:{}:{rows:016x}", scan.table)
}

impl Lowering<'_> {
    /// The address of a scan's positions. Scans of one table that are read otherwise (that send their late rows elsewhere, say) are told
    /// apart by how: never by their order in the text, or one would go on where another had come to. A scan that is alone keeps its
    /// positions however it is read.
    fn scan_uid(&self, scan: &ScanOp) -> String {
        let uid = source_uid(scan);
        let same = self
            .plan
            .reachable()
            .into_iter()
            .filter(|id| matches!(&self.plan.node(*id).op, Op::Scan(other) if source_uid(other) == uid));
        if same.count() < 2 {
            return uid;
        }
        let times = (canonical::optional(&scan.watermark), canonical::optional(&scan.rowtime));
        let how = format!("{:?} {:?} {:?} {times:?}", scan.limit, scan.late, scan.malformed);
        format!("{uid}:{:016x}", hash_bytes(how.as_bytes()))
    }

    pub(super) fn scan(&mut self, id: NodeId, scan: &ScanOp) -> Result<Vec<Origin>> {
        let node = self.plan.node(id);
        let ordered = (scan.watermark.is_some() && !self.plan.batch) || !node.changes.is_append();
        let request = ScanRequest {
            columns: scan.columns.clone(),
            metadata: scan.metadata.clone(),
            schema: node.schema(),
            predicates: scan.predicates.clone(),
            limit: scan.limit,
            ordered,
        };
        let table = match &scan.source {
            ScanSource::Table(table) => table,
            ScanSource::Stream(stream) => return self.stream_scan(scan, stream.as_ref(), &request),
        };
        let parallelism = table.parallelism().unwrap_or(u32::MAX).clamp(1, self.config.parallelism);
        let source = Arc::new(AnySource(table.scan(&request)?));
        let faults = WatermarkFaults::default();
        let strategy = match &scan.watermark {
            Some(watermark) if !self.plan.batch => {
                watermark_strategy(self.expr(watermark, &node.fields)?, &faults)
            }
            _ => WatermarkStrategy::none(),
        };
        let uid = self.scan_uid(scan);
        let on_malformed = match &scan.malformed {
            Malformed::Fail => OnMalformed::Fail,
            Malformed::Skip => OnMalformed::Skip,
            Malformed::Route(_) => OnMalformed::Route,
        };
        let factory = Arc::new(SourceNode::new(source, strategy, on_malformed).advising(MALFORMED_ADVICE));
        let (source, mut origin) = self.source(&scan.table, &uid, parallelism, factory);
        self.dead_letters.insert(id, Origin { node: source, output: 1, parallelism });
        let rowtime = scan.rowtime.as_ref().and_then(|e| crate::plan::column_index(e, &node.fields));
        if let Some(column) = rowtime {
            let spec = RowtimeSpec { column, schema: node.schema(), faults };
            let check =
                self.graph_node("Rowtime", NodeKind::Operator, &format!("{uid}:rowtime"), parallelism, false);
            let factory = OneInput::new(move || RowtimeCheck::new(spec.clone()));
            let id = self.builder.node(check, Arc::new(factory));
            self.connect(node, &[origin], id, 0, parallelism, &Exchange::Direct)?;
            origin = Origin { node: id, output: 0, parallelism };
        }
        Ok(vec![origin])
    }

    /// A source, and where its rows come out.
    fn source(
        &mut self,
        name: &str,
        uid: &str,
        parallelism: u32,
        factory: Arc<SourceNode<AnySource>>,
    ) -> (GraphId, Origin) {
        let source = self.graph_node(name, NodeKind::Source, uid, parallelism, true);
        let source = self.builder.node(source, factory);
        let unbatch =
            self.graph_node("Unbatch", NodeKind::Operator, &format!("{uid}:rows"), parallelism, false);
        let unbatch = self.builder.node(unbatch, Arc::new(OneInput::new(Unbatch::new)));
        self.connect_rows(source, 0, unbatch);
        (source, Origin { node: unbatch, output: 0, parallelism })
    }

    pub(super) fn values(&mut self, node: &Node, rows: &RecordBatch) -> Result<Vec<Origin>> {
        let rows = RecordBatch::try_new_with_options(
            node.schema(),
            rows.columns().to_vec(),
            &arrow::array::RecordBatchOptions::new().with_row_count(Some(rows.num_rows())),
        );
        let rows =
            rows.map_err(|e| flugs_types::Error::bug("constant rows do not fit their columns").caused_by(e))?;
        let source = CollectionSource::new([ChangeBatch::inserts(rows)]);
        let source = Arc::new(AnySource(Box::new(source)));
        let factory = Arc::new(SourceNode::new(source, WatermarkStrategy::none(), OnMalformed::Fail));
        Ok(vec![self.source("Values", &format!("values:{}", node.digest), 1, factory).1])
    }

    /// The rows under the names of the table's columns.
    fn named(&mut self, from: &Node, origins: Vec<Origin>, sink: &Node, uid: &str) -> Result<Vec<Origin>> {
        let same = from.fields.iter().zip(&sink.fields).all(|(a, b)| a.name() == b.name());
        if same {
            return Ok(origins);
        }
        // Whether a value is NULL is what the query says.
        let fields =
            from.fields.iter().zip(&sink.fields).map(|(from, to)| {
                Arc::new(to.field.as_ref().clone().with_nullable(from.field.is_nullable()))
            });
        let column = |f: &PlanField| Expr::Column(Column::new_unqualified(f.name()));
        let spec = CalcSpec {
            filter: None,
            projections: from
                .fields
                .iter()
                .map(|f| self.expr(&column(f), &from.fields))
                .collect::<Result<_>>()?,
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
        };
        let parallelism = origins.iter().map(|o| o.parallelism).max().unwrap_or(1);
        let calc = self.graph_node("Calc", NodeKind::Operator, &format!("{uid}:names"), parallelism, false);
        let calc = self.builder.node(calc, Arc::new(OneInput::new(move || Calc::new(spec.clone()))));
        self.connect(from, &origins, calc, 0, parallelism, &Exchange::Direct)?;
        Ok(vec![Origin { node: calc, output: 0, parallelism }])
    }

    /// The rows without NULL in columns that are NOT NULL, where the query does not say so already.
    fn not_null(
        &mut self,
        from: &Node,
        origins: Vec<Origin>,
        (node, sink): (&Node, &SinkOp),
        uid: &str,
    ) -> Result<Vec<Origin>> {
        let columns = from.fields.iter().zip(&node.fields).enumerate();
        let columns = columns.filter(|(_, (from, to))| from.field.is_nullable() && !to.field.is_nullable());
        let columns: Vec<usize> = columns.map(|(at, _)| at).collect();
        if columns.is_empty() {
            return Ok(origins);
        }
        let spec = NotNullSpec { table: sink.table.as_str().into(), columns, drops: self.config.drop_nulls };
        let parallelism = origins.iter().map(|o| o.parallelism).max().unwrap_or(1);
        let check =
            self.graph_node("NotNull", NodeKind::Operator, &format!("{uid}:not-null"), parallelism, false);
        let check = self.builder.node(check, Arc::new(OneInput::new(move || NotNull::new(spec.clone()))));
        self.connect(from, &origins, check, 0, parallelism, &Exchange::Direct)?;
        Ok(vec![Origin { node: check, output: 0, parallelism }])
    }

    /// The late rows of an operator: its first side output.
    pub(super) fn late_rows(&mut self, node: &Node) -> Result<Vec<Origin>> {
        let mut origins = Vec::new();
        for origin in self.origins_of(node, 0) {
            let uid = format!("late:{}", node.digest);
            let unbatch = self.graph_node("Unbatch", NodeKind::Operator, &uid, origin.parallelism, false);
            let unbatch = self.builder.node(unbatch, Arc::new(OneInput::new(Unbatch::new)));
            self.connect_rows(origin.node, 1, unbatch);
            origins.push(Origin { node: unbatch, output: 0, parallelism: origin.parallelism });
        }
        Ok(origins)
    }

    /// The records of a scan that cannot be read.
    pub(super) fn malformed(&mut self, node: &Node) -> Result<Vec<Origin>> {
        let scan = node.inputs[0];
        let (Op::Scan(op), Some(letters)) = (&self.plan.node(scan).op, self.dead_letters.get(&scan)) else {
            return Err(flugs_types::Error::bug("malformed records of what is no scan"));
        };
        let letters = *letters;
        let (table, schema) = (Arc::<str>::from(op.table.as_str()), node.schema());
        let uid = format!("malformed:{}", source_uid(op));
        let rows = self.graph_node(node.op.name(), NodeKind::Operator, &uid, letters.parallelism, false);
        let factory = OneInput::new(move || MalformedRows::new(table.clone(), schema.clone()));
        let rows = self.builder.node(rows, Arc::new(factory));
        self.connect_records::<DeadLetter>(letters.node, letters.output, rows);
        Ok(vec![Origin { node: rows, output: 0, parallelism: letters.parallelism }])
    }

    pub(super) fn sink(&mut self, node: &Node, sink: &SinkOp) -> Result<Vec<Origin>> {
        let table = match &sink.sink {
            SinkTarget::Table(table) => table.clone(),
            SinkTarget::Stream(stream) => return self.stream_sink(node, sink, stream.as_ref()),
        };
        let input = self.input(node, 0);
        let (update_before, changes, from) = (input.update_before, input.changes, input.clone());
        let mut origins = self.origins_of(node, 0);
        let wanted =
            table.parallelism().unwrap_or_else(|| origins.iter().map(|o| o.parallelism).max().unwrap_or(1));
        let uid = format!("sink:{}:{:016x}", sink.table, hash_bytes(sink.identity.as_bytes()));
        if sink.mode == ChangelogMode::Upsert && update_before {
            let parallelism = origins.iter().map(|o| o.parallelism).max().unwrap_or(1);
            let drop = self.graph_node(
                "DropUpdateBefore",
                NodeKind::Operator,
                &format!("{uid}:drop"),
                parallelism,
                false,
            );
            let drop = self.builder.node(drop, Arc::new(OneInput::new(DropUpdateBefore::default)));
            self.connect(&from, &origins, drop, 0, parallelism, &Exchange::Direct)?;
            origins = vec![Origin { node: drop, output: 0, parallelism }];
        }
        let origins = self.named(&from, origins, node, &uid)?;
        let origins = self.not_null(&from, origins, (node, sink), &uid)?;
        let exchange = match (changes.is_append(), sink.primary_key.is_empty()) {
            _ if wanted == 1 => Exchange::Single,
            // Changes of one key are written by one writer.
            (false, false) if !origins.iter().all(|o| o.parallelism == wanted) => {
                Exchange::Key(sink.primary_key.clone())
            }
            _ => Exchange::Direct,
        };
        let rebatch =
            self.graph_node("Rebatch", NodeKind::Operator, &format!("{uid}:batches"), wanted, false);
        let rebatch = self.builder.node(rebatch, Arc::new(OneInput::new(|| Rebatch)));
        self.connect(&from, &origins, rebatch, 0, wanted, &exchange)?;
        let writer: Arc<dyn Sink<Item = ChangeBatch>> = Arc::new(AnySink(table.sink(sink.overwrite)?));
        let written = self.graph_node(&sink.table, NodeKind::Sink, &uid, wanted, true);
        let factory = OneInput::new(move || SinkOperator::new(writer.clone()));
        let written = self.builder.node(written, Arc::new(factory));
        self.connect_rows(rebatch, 0, written);
        Ok(Vec::new())
    }
}

use flugs_batch::{ChangeBatch, Records};
use flugs_connector::*;
use flugs_sql_types::*;
use flugs_table::*;
use flugs_types::*;
use std::sync::Arc;
use std::task::Waker;
struct N;
impl Background for N { fn run(&self, _w: Box<dyn FnOnce() + Send + 'static>) {} }
struct Out(usize);
impl SourceOutput<ChangeBatch> for Out {
    fn emit(&mut self, _s: &str, rows: Records<ChangeBatch>) -> Result<()> { for b in &rows.values { self.0 += b.rows().num_rows(); std::hint::black_box(b); } Ok(()) }
    fn malformed(&mut self, _r: Malformed) -> Result<()> { Ok(()) }
    fn status(&mut self, _s: &str, _t: SplitStatus) {}
    fn finished(&mut self, _s: &str) {}
}
fn run(paths: &[(&str, LogicalType)], kind: Option<i64>, events: u64, parallelism: u32) {
    let schema = TableSchema { columns: vec![], primary_key: vec![], partition_keys: vec![] };
    let options: Options = [("events.num".to_owned(), events.to_string())].into_iter().collect();
    let mut registry = Registry::new();
    flugs_nexmark::table::register(&mut registry);
    let context = TableContext { name: "t", schema: &schema, options: &options, registry: &registry };
    let table = registry.connector("nexmark").unwrap().source(context).unwrap();
    let columns: Vec<FieldPath> = paths.iter().map(|(p, _)| FieldPath(p.split('.').map(str::to_owned).collect())).collect();
    let types: Vec<SqlType> = paths.iter().map(|(_, t)| t.clone().nullable()).collect();
    let schema = to_schema(paths.iter().map(|(p, _)| *p).zip(&types));
    let predicates = kind.map(|k| Predicate { path: FieldPath(vec!["event_type".into()]), op: PredicateOp::Eq, literals: vec![Literal::Int(k)] }).into_iter().collect();
    let scan = table.scan(&ScanRequest { columns, metadata: vec![], schema, predicates, limit: None, ordered: true }).unwrap();
    let mut reader = scan.reader(ReaderContext { subtask: SubtaskId::new(0, parallelism), clock: Arc::new(ManualClock::default()), background: Arc::new(N), waker: Waker::noop().clone() }).unwrap();
    let mut e = scan.enumerator(EnumeratorContext { parallelism, restored: None }).unwrap();
    for a in e.step(Timestamp::EPOCH, EnumeratorEvent::Start).unwrap() {
        match a { EnumeratorAction::Assign { reader: 0, splits } => reader.add_splits(splits).unwrap(), EnumeratorAction::NoMoreSplits { reader: 0 } => reader.no_more_splits(), _ => {} }
    }
    let mut out = Out(0);
    let start = SystemClock.monotonic();
    let mut c = PollContext { now: Timestamp::EPOCH, request_split: false };
    while reader.poll(&mut c, &mut out).unwrap() != ReaderStatus::Finished {}
    let s = (SystemClock.monotonic() - start).as_secs_f64();
    println!("{:60} {:7.1} M events/s, {} rows, p{parallelism}", paths.iter().map(|p| p.0).collect::<Vec<_>>().join(","), events as f64 / parallelism as f64 / s / 1e6, out.0);
}
#[test]
#[ignore]
fn rate() {
    use LogicalType::*;
    const T: LogicalType = LogicalType::STRING;
    let q0 = [("bid.auction", BigInt), ("bid.bidder", BigInt), ("bid.price", BigInt), ("bid.dateTime", Timestamp(3)), ("bid.extra", T)];
    for p in [1, 2] {
        run(&q0, Some(2), 40_000_000, p);
        run(&q0, None, 40_000_000, p);
        run(&[("bid.auction", BigInt), ("bid.price", BigInt)], Some(2), 80_000_000, p);
        run(&[("bid.auction", BigInt), ("bid.dateTime", Timestamp(3))], Some(2), 80_000_000, p);
        run(&[("bid.auction", BigInt), ("bid.bidder", BigInt)], Some(2), 80_000_000, p);
        run(&[("bid.channel", T), ("bid.url", T)], Some(2), 40_000_000, p);
        run(&[("auction.id", BigInt), ("auction.seller", BigInt), ("auction.category", BigInt), ("auction.expires", Timestamp(3))], Some(1), 80_000_000, p);
        run(&[("auction.id", BigInt), ("auction.itemName", T), ("auction.extra", T)], Some(1), 40_000_000, p);
        run(&[("person.id", BigInt), ("person.name", T), ("person.city", T)], Some(0), 80_000_000, p);
    }
}

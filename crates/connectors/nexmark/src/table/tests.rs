//! Columns against the typed events, whatever is asked for; kinds that are not needed; positions; options.

use super::*;
use crate::{Event, Generator, NexmarkOptions};
use arrow::array::{Array, AsArray, RecordBatch, StructArray};
use arrow::datatypes::{DataType, Int32Type, Int64Type, SchemaRef, TimestampMillisecondType};
use flugs_batch::{ChangeBatch, Records};
use flugs_connector::{
    EnumeratorAction, EnumeratorContext, EnumeratorEvent, Malformed, PollContext, ReaderContext,
    ReaderStatus, SourceOutput, SourceReader, Split, SplitStatus,
};
use flugs_sql_types::{Column, LogicalType, RowField, SqlType, TableSchema, to_schema};
use flugs_table::{
    FieldPath, Literal, Options, Predicate, PredicateOp, ScanRequest, TableContext, TableScan,
};
use flugs_types::{Background, ManualClock, Result, SubtaskId, Timestamp};
use std::sync::Arc;
use std::task::Waker;

struct NoThreads;

impl Background for NoThreads {
    fn run(&self, _work: Box<dyn FnOnce() + Send + 'static>) {
        panic!("the source needs no thread");
    }
}

#[derive(Default)]
struct Batches(Vec<RecordBatch>);

impl SourceOutput<ChangeBatch> for Batches {
    fn emit(&mut self, _split: &str, rows: Records<ChangeBatch>) -> Result<()> {
        for batch in rows.values {
            assert!(batch.is_insert_only() && batch.rows().num_rows() > 0);
            self.0.push(batch.into_rows());
        }
        Ok(())
    }

    fn malformed(&mut self, record: Malformed) -> Result<()> {
        panic!("{record:?}");
    }

    fn status(&mut self, _split: &str, _status: SplitStatus) {}

    fn finished(&mut self, _split: &str) {}
}

fn fields(of: &[(&str, LogicalType)]) -> SqlType {
    let field = |(name, kind): &(&str, LogicalType)| RowField::new(*name, kind.clone().nullable());
    LogicalType::Row(of.iter().map(field).collect()).nullable()
}

/// The columns as the benchmark declares them.
fn declared() -> Vec<Column> {
    use LogicalType::{BigInt, Timestamp};
    const TEXT: LogicalType = LogicalType::STRING;
    let person = fields(&[
        ("id", BigInt),
        ("name", TEXT),
        ("emailAddress", TEXT),
        ("creditCard", TEXT),
        ("city", TEXT),
        ("state", TEXT),
        ("dateTime", Timestamp(3)),
        ("extra", TEXT),
    ]);
    let auction = fields(&[
        ("id", BigInt),
        ("itemName", TEXT),
        ("description", TEXT),
        ("initialBid", BigInt),
        ("reserve", BigInt),
        ("dateTime", Timestamp(3)),
        ("expires", Timestamp(3)),
        ("seller", BigInt),
        ("category", BigInt),
        ("extra", TEXT),
    ]);
    let bid = fields(&[
        ("auction", BigInt),
        ("bidder", BigInt),
        ("price", BigInt),
        ("channel", TEXT),
        ("url", TEXT),
        ("dateTime", Timestamp(3)),
        ("extra", TEXT),
    ]);
    let column = |name: &str, sql_type| Column { name: name.to_owned(), sql_type };
    vec![
        column("event_type", LogicalType::Int.nullable()),
        column("person", person),
        column("auction", auction),
        column("bid", bid),
    ]
}

fn scan(options: &[(&str, &str)], paths: &[&str], predicates: Vec<Predicate>) -> Result<TableScan> {
    let columns = declared();
    let schema =
        TableSchema { columns: columns.clone(), primary_key: Vec::new(), partition_keys: Vec::new() };
    let options: Options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let mut registry = Registry::new();
    register(&mut registry);
    let context = TableContext { name: "c.d.t", schema: &schema, options: &options, registry: &registry };
    let table = registry.connector("nexmark")?.source(context)?;
    let paths: Vec<FieldPath> =
        paths.iter().map(|path| FieldPath(path.split('.').map(str::to_owned).collect())).collect();
    let types: Vec<SqlType> = paths.iter().map(|path| type_of(&columns, path)).collect();
    let names: Vec<String> = paths.iter().map(|path| path.0.join("_")).collect();
    let schema: SchemaRef = to_schema(names.iter().map(String::as_str).zip(&types));
    table.scan(&ScanRequest {
        columns: paths,
        metadata: vec![],
        schema,
        predicates,
        limit: None,
        ordered: true,
    })
}

fn type_of(columns: &[Column], path: &FieldPath) -> SqlType {
    let column = columns.iter().find(|column| column.name == path.0[0]).unwrap();
    match (&column.sql_type.kind, path.0.get(1)) {
        (LogicalType::Row(fields), Some(name)) => {
            fields.iter().find(|field| field.name == *name).unwrap().sql_type.clone()
        }
        _ => column.sql_type.clone(),
    }
}

fn readers(
    scan: &TableScan,
    parallelism: u32,
    restored: &[Split],
) -> Vec<Box<dyn SourceReader<ChangeBatch>>> {
    let reader = |index| {
        let context = ReaderContext {
            subtask: SubtaskId::new(index, parallelism),
            clock: Arc::new(ManualClock::default()),
            background: Arc::new(NoThreads),
            waker: Waker::noop().clone(),
        };
        scan.reader(context).unwrap()
    };
    let mut readers: Vec<_> = (0..parallelism).map(reader).collect();
    for (i, split) in restored.iter().enumerate() {
        readers[i % parallelism as usize].add_splits(vec![split.clone()]).unwrap();
    }
    let state: Option<&[u8]> = if restored.is_empty() { None } else { Some(&[1, 1]) };
    let context = EnumeratorContext { parallelism, restored: state };
    let mut enumerator = scan.enumerator(context).unwrap();
    for action in enumerator.step(Timestamp::EPOCH, EnumeratorEvent::Start).unwrap() {
        match action {
            EnumeratorAction::Assign { reader, splits } => {
                readers[reader as usize].add_splits(splits).unwrap()
            }
            EnumeratorAction::NoMoreSplits { reader } => readers[reader as usize].no_more_splits(),
            _ => {}
        }
    }
    readers
}

/// Polls up to so many times; whether the reader has ended.
fn poll(reader: &mut dyn SourceReader<ChangeBatch>, polls: usize, out: &mut Batches) -> bool {
    let mut context = PollContext { now: Timestamp::EPOCH, request_split: false };
    (0..polls).any(|_| reader.poll(&mut context, out).unwrap() == ReaderStatus::Finished)
}

fn rows(scan: &TableScan, parallelism: u32) -> Vec<Vec<RecordBatch>> {
    let read = |mut reader: Box<dyn SourceReader<ChangeBatch>>| {
        let mut out = Batches::default();
        assert!(poll(&mut *reader, 1_000_000, &mut out));
        out.0
    };
    readers(scan, parallelism, &[]).into_iter().map(read).collect()
}

/// A row's values as text; `-` where there is none.
fn show(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return "-".to_owned();
    }
    match column.data_type() {
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Timestamp(..) => column.as_primitive::<TimestampMillisecondType>().value(row).to_string(),
        DataType::Utf8View => column.as_string_view().value(row).to_owned(),
        _ => {
            let fields: &StructArray = column.as_struct();
            fields.columns().iter().map(|field| show(field, row)).collect::<Vec<_>>().join("|")
        }
    }
}

fn lines(batches: &[RecordBatch]) -> Vec<String> {
    let of_batch = |batch: &RecordBatch| -> Vec<String> {
        let row = |row| batch.columns().iter().map(|column| show(column, row)).collect::<Vec<_>>().join(" ");
        (0..batch.num_rows()).map(row).collect()
    };
    batches.iter().flat_map(of_batch).collect()
}

fn ms(time: Timestamp) -> i64 {
    time.0 / 1000
}

/// An event as a row of the whole table.
fn line(event: &Event) -> String {
    match event {
        Event::Person(p) => format!(
            "0 {}|{}|{}|{}|{}|{}|{}|{} - -",
            p.id,
            p.name,
            p.email_address,
            p.credit_card,
            p.city,
            p.state,
            ms(p.date_time),
            p.extra
        ),
        Event::Auction(a) => format!(
            "1 - {}|{}|{}|{}|{}|{}|{}|{}|{}|{} -",
            a.id,
            a.item_name,
            a.description,
            a.initial_bid,
            a.reserve,
            ms(a.date_time),
            ms(a.expires),
            a.seller,
            a.category,
            a.extra
        ),
        Event::Bid(b) => format!(
            "2 - - {}|{}|{}|{}|{}|{}|{}",
            b.auction,
            b.bidder,
            b.price,
            b.channel,
            b.url,
            ms(b.date_time),
            b.extra
        ),
    }
}

const ALL: [&str; 4] = ["event_type", "person", "auction", "bid"];

#[test]
fn whole_rows_are_the_typed_events_bit_by_bit() {
    for (num, group, parallelism) in [(200_030u64, 1, 1), (20_030, 1, 3), (20_030, 1000, 2)] {
        let num_text = num.to_string();
        let group_text = group.to_string();
        let options =
            [("events.num", num_text.as_str()), ("events.rate", "7000"), ("out-of-order.group", &group_text)];
        let typed = NexmarkOptions::new().events_num(num).events_rate(7000).out_of_order_group(group);
        let generator = Generator::new(&typed).unwrap();
        let scan = scan(&options, &ALL, Vec::new()).unwrap();
        for (batches, reader) in rows(&scan, parallelism).iter().zip(0u64..) {
            assert!(batches.iter().all(|batch| batch.num_rows() <= 4096));
            let mine = (0..num).filter(|i| i / 50 % u64::from(parallelism) == reader);
            let mut want = mine.map(|i| line(&generator.event(i)));
            for got in lines(batches) {
                assert_eq!(Some(got), want.next());
            }
            assert_eq!(want.next(), None);
        }
    }
}

#[test]
fn fields_alone_are_those_of_the_whole_rows() {
    let options = [("events.num", "9999")];
    let whole = rows(&scan(&options, &ALL, Vec::new()).unwrap(), 1).remove(0);
    let paths = [
        "bid.price",
        "bid.extra",
        "event_type",
        "auction.reserve",
        "auction.itemName",
        "person.state",
        "bid",
        "person.creditCard",
        "bid.url",
        "bid.dateTime",
    ];
    let of_parts = |batch: &RecordBatch| -> RecordBatch {
        let column = |path: &&'static str| {
            let (column, field) = path.split_once('.').unwrap_or((path, ""));
            let column = batch.column_by_name(column).unwrap();
            let part = if field.is_empty() { None } else { column.as_struct().column_by_name(field) };
            (*path, part.unwrap_or(column).clone())
        };
        RecordBatch::try_from_iter(paths.iter().map(column)).unwrap()
    };
    let want: Vec<RecordBatch> = whole.iter().map(of_parts).collect();
    assert_eq!(lines(&rows(&scan(&options, &paths, Vec::new()).unwrap(), 1)[0]), lines(&want));
    for path in paths {
        let parts = rows(&scan(&options, &[path], Vec::new()).unwrap(), 1).remove(0);
        let column = paths.iter().position(|other| *other == path).unwrap();
        let want: Vec<RecordBatch> = want.iter().map(|batch| batch.project(&[column]).unwrap()).collect();
        assert_eq!(lines(&parts), lines(&want), "{path}");
    }
    let none = rows(&scan(&options, &[], Vec::new()).unwrap(), 1).remove(0);
    assert_eq!(none.iter().map(RecordBatch::num_rows).sum::<usize>(), 9999);
}

fn predicate(path: &str, op: PredicateOp, literals: Vec<Literal>) -> Predicate {
    Predicate { path: FieldPath(path.split('.').map(str::to_owned).collect()), op, literals }
}

#[test]
fn conditions_on_the_type_and_on_fields_leave_out_other_kinds() {
    let kinds = |predicates: Vec<Predicate>| -> (usize, Vec<String>) {
        let scan = scan(&[("events.num", "5001")], &["event_type"], predicates).unwrap();
        let lines = lines(&rows(&scan, 1)[0]);
        let mut kinds = lines.clone();
        kinds.sort();
        kinds.dedup();
        (lines.len(), kinds)
    };
    use Literal::Int;
    use PredicateOp::{Eq, GtEq, Lt};
    let on_type = |op, n: &[i64]| predicate("event_type", op, n.iter().map(|n| Int(*n)).collect());
    assert_eq!(kinds(vec![on_type(Eq, &[2])]), (4600, vec!["2".to_owned()]));
    assert_eq!(kinds(vec![on_type(Eq, &[0])]), (101, vec!["0".to_owned()]));
    assert_eq!(kinds(vec![on_type(Eq, &[0, 1])]), (401, vec!["0".to_owned(), "1".to_owned()]));
    assert_eq!(kinds(vec![on_type(Lt, &[2]), on_type(GtEq, &[1])]), (300, vec!["1".to_owned()]));
    assert_eq!(kinds(vec![predicate("auction.category", Eq, vec![Int(10)])]), (300, vec!["1".to_owned()]));
    assert_eq!(kinds(vec![on_type(Eq, &[7])]), (0, vec![]));
}

#[test]
fn rows_of_one_kind_have_no_nulls_and_share_the_pool() {
    let on_type = predicate("event_type", PredicateOp::Eq, vec![Literal::Int(2)]);
    let scan = scan(&[("events.num", "50000")], &["bid.extra", "bid.url"], vec![on_type]).unwrap();
    let batches = rows(&scan, 1).remove(0);
    let buffer = |batch: &RecordBatch, column| {
        let texts = batch.column(column).as_string_view();
        assert_eq!((texts.null_count(), texts.data_buffers().len()), (0, 1));
        texts.data_buffers()[0].as_ptr()
    };
    let pool = buffer(&batches[0], 0);
    assert!(batches.iter().all(|batch| buffer(batch, 0) == pool && buffer(batch, 1) == pool));
    assert!(
        batches.iter().all(|batch| batch.column(0).as_string_view().iter().all(|t| t.unwrap().len() > 50))
    );
}

#[test]
fn positions_hold_after_each_batch_whatever_the_projection_and_parallelism() {
    let options = [("events.num", "60000")];
    let first = scan(&options, &["bid.auction", "bid.dateTime"], Vec::new()).unwrap();
    let on_type = predicate("event_type", PredicateOp::Eq, vec![Literal::Int(2)]);
    let second = scan(&options, &["bid.auction", "bid.dateTime"], vec![on_type]).unwrap();
    let mut want: Vec<String> = lines(&rows(&second, 1)[0]);
    want.sort();
    for polls in [0, 1, 3, 7] {
        let mut out = Batches::default();
        let mut splits = Vec::new();
        for reader in &mut readers(&first, 2, &[]) {
            poll(&mut **reader, polls, &mut out);
            splits.extend(reader.snapshot().unwrap());
        }
        for reader in &mut readers(&second, 3, &splits) {
            assert!(poll(&mut **reader, 1_000_000, &mut out));
        }
        let mut got: Vec<String> = lines(&out.0).into_iter().filter(|line| line != "- -").collect();
        got.sort();
        assert!(got == want, "{polls}: {} rows for {}", got.len(), want.len());
    }
}

#[test]
fn wrong_options_and_columns_are_named() {
    let error = |options: &[(&str, &str)]| scan(options, &ALL, Vec::new()).err().unwrap().to_string();
    assert!(error(&[("events.rate", "0")]).contains("at least 1"));
    let mut registry = Registry::new();
    register(&mut registry);
    let source = |columns: Vec<Column>| {
        let schema = TableSchema { columns, primary_key: Vec::new(), partition_keys: Vec::new() };
        let options = Options::new();
        let context = TableContext { name: "c.d.t", schema: &schema, options: &options, registry: &registry };
        registry.connector("nexmark").unwrap().source(context).map(drop)
    };
    assert!(source(declared()).is_ok());
    let with = |name: &str, sql_type| vec![Column { name: name.to_owned(), sql_type }];
    let error = source(with("person", fields(&[("emailAdress", LogicalType::STRING)]))).unwrap_err();
    assert!(error.to_string().contains("no field 'emailAdress'"), "{error}");
    let error = source(with("bid", fields(&[("price", LogicalType::Int)]))).unwrap_err();
    assert!(error.to_string().contains("'bid.price' of a nexmark table is BIGINT"), "{error}");
    let error = source(with("bids", LogicalType::Int.nullable())).unwrap_err();
    assert!(error.to_string().contains("no column 'bids'"), "{error}");
}

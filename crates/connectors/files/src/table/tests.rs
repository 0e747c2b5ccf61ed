//! Tables read, written and looked up, against what stands in their files.

#[cfg(feature = "parquet")]
mod parquet;
mod sinks;

use super::*;
use crate::source::tests::job::Job;
use flugs_batch::{Batch, ChangeBatch};
use flugs_formats::columns::RowText;
use flugs_sql_types::{Column, LogicalType, SqlType, TableSchema, to_schema};
use flugs_table::{
    FieldPath, Literal, LookupSource, Options, Predicate, PredicateOp, ScanRequest, TableContext, TableScan,
    TableSink, TableSource,
};
use flugs_types::{ErrorKind, Result};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const TEXT: LogicalType = LogicalType::STRING;

struct Table {
    connector: &'static str,
    schema: TableSchema,
    options: Options,
    registry: Registry,
}

impl Table {
    fn new(columns: &[(&str, LogicalType)], partitions: &[&str], options: &[(&str, &str)]) -> Self {
        let column = |(name, kind): &(&str, LogicalType)| Column {
            name: (*name).to_owned(),
            sql_type: kind.clone().nullable(),
        };
        let mut registry = Registry::new();
        register(&mut registry);
        flugs_formats::columns::register(&mut registry);
        Table {
            connector: "filesystem",
            schema: TableSchema {
                columns: columns.iter().map(column).collect(),
                primary_key: Vec::new(),
                partition_keys: partitions.iter().map(|key| (*key).to_owned()).collect(),
            },
            options: options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            registry,
        }
    }

    fn at(mut self, path: &Path) -> Self {
        self.options.set("path", path.display().to_string());
        self
    }

    fn context(&self) -> TableContext<'_> {
        TableContext { name: "c.d.t", schema: &self.schema, options: &self.options, registry: &self.registry }
    }

    fn source(&self) -> Result<Box<dyn TableSource>> {
        self.registry.connector(self.connector)?.source(self.context())
    }

    fn sink(&self) -> Result<Box<dyn TableSink>> {
        self.registry.connector(self.connector)?.sink(self.context())
    }

    fn lookup(&self, keys: &[usize]) -> Result<Box<dyn LookupSource>> {
        self.registry.connector(self.connector)?.lookup(self.context(), keys)
    }

    fn type_of(&self, path: &[String]) -> SqlType {
        let column = &self.schema.columns[self.schema.index_of(&path[0]).unwrap()];
        path[1..].iter().fold(column.sql_type.clone(), |of, name| match of.kind {
            LogicalType::Row(fields) => fields.into_iter().find(|f| f.name == *name).unwrap().sql_type,
            other => panic!("{other} has no fields"),
        })
    }

    fn names(&self) -> Vec<&str> {
        self.schema.columns.iter().map(|column| column.name.as_str()).collect()
    }

    fn scan(&self, paths: &[&str], metadata: &[&str], predicates: &[Predicate], ordered: bool) -> TableScan {
        let source = self.source().unwrap();
        let columns: Vec<FieldPath> =
            paths.iter().map(|path| FieldPath(path.split('.').map(str::to_owned).collect())).collect();
        let mut fields: Vec<(String, SqlType)> =
            columns.iter().map(|path| (path.0.join("_"), self.type_of(&path.0))).collect();
        for key in metadata {
            let (_, sql_type) = source.metadata().into_iter().find(|(known, _)| known == key).unwrap();
            fields.push(((*key).to_owned(), sql_type));
        }
        let request = ScanRequest {
            columns,
            metadata: metadata.iter().map(|key| (*key).to_owned()).collect(),
            schema: to_schema(fields.iter().map(|(name, sql_type)| (name.as_str(), sql_type))),
            predicates: predicates.to_vec(),
            limit: None,
            ordered,
        };
        source.scan(&request).unwrap()
    }

    /// All rows of all columns, in order.
    fn rows(&self) -> Vec<String> {
        rows_of(&self.scan(&self.names(), &[], &[], true))
    }
}

fn rows_of(scan: &TableScan) -> Vec<String> {
    let mut job = Job::start(&**scan, 2, None).unwrap();
    job.run().unwrap();
    assert_eq!(job.out.malformed, []);
    show(&job.out.rows)
}

fn show(batches: &[ChangeBatch]) -> Vec<String> {
    let mut lines = Vec::new();
    for batch in batches {
        let text = RowText::new(batch.rows());
        for row in 0..batch.len() {
            let mut line = String::new();
            text.row(&mut line, batch.kind(row), row);
            lines.push(line);
        }
    }
    lines
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn predicate(column: &str, op: PredicateOp, literal: Literal) -> Predicate {
    Predicate { path: FieldPath(vec![column.to_owned()]), op, literals: vec![literal] }
}

const PARTED: [(&str, LogicalType); 4] =
    [("id", LogicalType::Int), ("dt", TEXT), ("name", TEXT), ("n", LogicalType::Int)];

#[test]
fn partitions_are_columns_and_those_that_cannot_pass_are_not_opened() {
    let dir = folder(&[
        ("dt=2013-01-01/n=1/a.csv", "1,one\n2,two\n"),
        ("dt=2013-01-01/n=2/a.csv", "3,\"a\nb\"\n"),
        ("dt=2013-01-02/n=__DEFAULT_PARTITION__/.hidden", "x"),
        ("dt=2013-01-02/n=__DEFAULT_PARTITION__/_SUCCESS", "x"),
        ("dt=2013-01-02/n=__DEFAULT_PARTITION__/b.csv", "4,four"),
        ("dt=a%2Fb/n=3/c.csv", "no,row,here"),
    ]);
    let table = Table::new(&PARTED, &["dt", "n"], &[("format", "csv")]).at(dir.path());
    let before_a = predicate("dt", PredicateOp::Lt, Literal::String("a".into()));
    assert_eq!(
        rows_of(&table.scan(&["n", "id", "dt", "name"], &[], std::slice::from_ref(&before_a), true)),
        [
            "+I[1, 1, 2013-01-01, one]",
            "+I[1, 2, 2013-01-01, two]",
            "+I[2, 3, 2013-01-01, a\nb]",
            "+I[null, 4, 2013-01-02, four]",
        ]
    );
    let n_2 = predicate("n", PredicateOp::Eq, Literal::Int(2));
    assert_eq!(
        rows_of(&table.scan(&["name"], &["file.name", "file.size"], &[n_2], true)),
        ["+I[a\nb, a.csv, 8]"]
    );
    assert_eq!(rows_of(&table.scan(&[], &[], &[before_a], true)).len(), 4);

    let mut job = Job::start(&*table.scan(&["id"], &[], &[], false), 1, None).unwrap();
    job.run().unwrap();
    let [bad] = &job.out.malformed[..] else { panic!("{:?}", job.out.malformed) };
    assert!(bad.split.contains("dt=a%2Fb/n=3/c.csv"), "{}", bad.split);
    assert_eq!((bad.position.as_str(), &bad.raw[..]), ("line 1, byte 0", &b"no,row,here"[..]));
    assert!(bad.error.starts_with("INT expected, 'no' found (field `id`"), "{}", bad.error);
    assert_eq!(job.out.rows.iter().map(Batch::len).sum::<usize>(), 4);
}

#[test]
fn metadata_tells_of_the_file() {
    let dir = folder(&[("a.json", "{\"id\":1}\n\n{\"id\":2}\n")]);
    let table = Table::new(&[("id", LogicalType::Int)], &[], &[("format", "json")]).at(dir.path());
    let keys = ["file.path", "file.modification-time"];
    let rows = rows_of(&table.scan(&["id"], &keys, &[], true));
    let path = dir.path().join("a.json").display().to_string();
    assert_eq!(rows.len(), 2);
    assert!(rows[1].starts_with(&format!("+I[2, {path}, 20")) && rows[1].ends_with("Z]"), "{}", rows[1]);
}

#[test]
fn only_files_of_the_pattern_are_read() {
    let dir = folder(&[("a-1.csv", "1"), ("a-2.csv", "2"), ("b.csv", "3")]);
    let options = [("format", "csv"), ("source.path.regex-pattern", ".*/a-\\d\\.csv")];
    let columns = [("id", LogicalType::Int)];
    assert_eq!(Table::new(&columns, &[], &options).at(dir.path()).rows(), ["+I[1]", "+I[2]"]);
    let glob = Table::new(&columns, &[], &[("format", "csv")]).at(&dir.path().join("?-*.csv"));
    assert_eq!(glob.rows(), ["+I[1]", "+I[2]"]);
    let uri = format!("file://{}", dir.path().display());
    let table = Table::new(&columns, &[], &[("format", "csv"), ("path", &uri)]);
    assert_eq!(table.rows().len(), 3);
}

#[test]
fn a_job_goes_on_behind_each_batch_also_with_bad_records() {
    let lines: Vec<String> = (0..30_000)
        .map(|i| {
            if i % 1000 == 7 {
                "bad".to_owned()
            } else {
                format!("{{\"id\":{i},\"s\":\"{}\"}}", "x".repeat(i % 9))
            }
        })
        .collect();
    let dir = folder(&[("a.json", &lines.join("\n")), ("b.json", "{\"id\":-1}\n")]);
    let columns = [("id", LogicalType::Int), ("s", TEXT)];
    let table = Table::new(&columns, &[], &[("format", "json")]).at(dir.path());
    let scan = table.scan(&["id"], &[], &[], true);
    let mut whole = Job::start(&*scan, 1, None).unwrap();
    whole.run().unwrap();
    let want = show(&whole.out.rows);
    assert_eq!((want.len(), want[7].as_str(), whole.out.malformed.len()), (29_971, "+I[8]", 30));
    assert_eq!(
        whole.out.malformed[1].position,
        format!("line 1008, byte {}", lines[..1007].iter().map(|l| l.len() + 1).sum::<usize>())
    );
    assert!(whole.out.rows.iter().all(|batch| batch.len() <= 4096));
    for stop in 0..whole.out.rows.len() {
        let mut first = Job::start(&*scan, 1, None).unwrap();
        first.run_until(stop).unwrap();
        let snapshot = first.snapshot();
        let mut second = Job::start(&*scan, 2, Some(snapshot)).unwrap();
        second.run().unwrap();
        let rows = [show(&first.out.rows), show(&second.out.rows)].concat();
        assert!(rows == want, "stopped behind {stop}");
        let malformed = [first.out.malformed, second.out.malformed].concat();
        assert!(malformed == whole.out.malformed, "stopped behind {stop}");
    }
}

#[test]
fn ignored_failures_are_reported_and_known() {
    let dir = folder(&[("a.csv", "1,a\nx,b\n\"3\n")]);
    let columns = [("id", LogicalType::Int), ("s", TEXT)];
    let options = [("format", "csv"), ("csv.ignore-parse-errors", "true")];
    let table = Table::new(&columns, &[], &options).at(dir.path());
    assert!(table.source().unwrap().skips_malformed());
    let mut job = Job::start(&*table.scan(&["id", "s"], &[], &[], true), 1, None).unwrap();
    job.run().unwrap();
    assert_eq!(show(&job.out.rows), ["+I[1, a]", "+I[null, b]"]);
    let malformed: Vec<&[u8]> = job.out.malformed.iter().map(|bad| &bad.raw[..]).collect();
    assert_eq!((malformed, job.out.mended), (vec![&b"\"3"[..]], 1));
    let wrong = Table::new(&columns, &[], &[("format", "cvs")]).at(dir.path()).source().err().unwrap();
    assert!(wrong.to_string().contains("did you mean 'csv'?"), "{wrong}");
}

#[test]
fn a_watched_folder_is_never_at_its_end() {
    let dir = folder(&[("a.csv", "1\n")]);
    let options = [("format", "csv"), ("source.monitor-interval", "1 s")];
    let table = Table::new(&[("id", LogicalType::Int)], &[], &options).at(dir.path());
    let scan = table.scan(&["id"], &[], &[], false);
    let mut job = Job::start(&*scan, 1, None).unwrap();
    job.run_until_waiting().unwrap();
    fs::write(dir.path().join("b.csv"), "2\n").unwrap();
    job.wake().unwrap();
    job.run_until_waiting().unwrap();
    assert_eq!(show(&job.out.rows), ["+I[1]", "+I[2]"]);
}

#[test]
fn rows_are_looked_up_in_files() {
    use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    use std::sync::Arc;
    let dir = folder(&[("side.csv", "1,a\n2,b\n1,c\n")]);
    let mut table =
        Table::new(&[("key", LogicalType::BigInt), ("value", TEXT)], &[], &[("lookup.cache.ttl", "0 s")])
            .at(&dir.path().join("side.csv"));
    table.connector = "side-input";
    let lookup = table.lookup(&[0]).unwrap();
    let found = |keys: Vec<Option<i64>>| {
        let keys: ArrayRef = Arc::new(Int64Array::from(keys));
        let (rows, of) = lookup.lookup(&RecordBatch::try_from_iter([("k", keys)]).unwrap()).unwrap();
        (show(&[ChangeBatch::inserts(rows)]), of)
    };
    let one = ["+I[1, a]", "+I[1, c]"].map(str::to_owned).to_vec();
    assert_eq!(found(vec![Some(9), Some(1), None]), (one, vec![1, 1]));
    fs::write(dir.path().join("side.csv"), "9,z\n").unwrap();
    assert_eq!(found(vec![Some(9), Some(1)]), (vec!["+I[9, z]".to_owned()], vec![0]));
    assert_eq!(table.rows(), ["+I[9, z]"]);
    assert!(table.sink().is_err());
    fs::write(dir.path().join("side.csv"), "x,z\n").unwrap();
    let error = table.lookup(&[0]).err().unwrap().to_string();
    assert!(error.contains("BIGINT expected, 'x' found") && error.contains("side.csv, byte 0"), "{error}");
}

#[test]
fn changes_are_not_rows_to_look_up() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::new(&[("k", LogicalType::Int)], &[], &[("format", "debezium-json")]).at(folder.path());
    let error = table.lookup(&[0]).err().unwrap();
    // The planner joins with the changes where there is nothing to look up in.
    assert_eq!(error.kind(), ErrorKind::Job);
    assert!(error.to_string().contains("files of changes"), "{error}");
}

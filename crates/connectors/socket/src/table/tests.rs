//! Rows from a server, bad ones among them, and options.

use super::*;
use crate::tests::Job;
use arrow::array::AsArray;
use arrow::datatypes::Int32Type;
use flugs_sql_types::{Column, LogicalType, TableSchema};
use std::io::Write;
use std::net::TcpListener;
use std::thread;

/// Sends this to one client; gives the port.
#[allow(clippy::disallowed_methods, reason = "the other side of the connection")]
fn serve(bytes: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || listener.accept().unwrap().0.write_all(bytes).unwrap());
    port
}

fn source(options: &[(&str, &str)]) -> Result<Box<dyn TableSource>> {
    let column = |name: &str, kind: LogicalType| Column { name: name.to_owned(), sql_type: kind.nullable() };
    let schema = TableSchema {
        columns: vec![column("id", LogicalType::Int), column("s", LogicalType::STRING)],
        ..TableSchema::default()
    };
    let options: Options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let mut registry = Registry::new();
    register(&mut registry);
    flugs_formats::columns::register(&mut registry);
    let context = TableContext { name: "c.d.t", schema: &schema, options: &options, registry: &registry };
    registry.connector("socket")?.source(context)
}

#[test]
fn records_become_rows_of_the_columns_asked_for() {
    let text: &[u8] = b"{\"id\":1,\"s\":\"a\"}\0no json\0{\"id\":2,\n\"s\":5}\0{\"s\":\"last\"}";
    let port = serve(text).to_string();
    let options =
        [("hostname", "127.0.0.1"), ("port", port.as_str()), ("byte-delimiter", "0"), ("format", "json")];
    let table = source(&options).unwrap();
    let id = LogicalType::Int.nullable();
    let request = ScanRequest {
        columns: vec![FieldPath(vec!["id".to_owned()])],
        metadata: Vec::new(),
        schema: to_schema([("id", &id)]),
        predicates: Vec::new(),
        limit: None,
        ordered: true,
    };
    let mut job = Job::start(&*table.scan(&request).unwrap(), None);
    job.run(usize::MAX).unwrap();
    let ids: Vec<Option<i32>> =
        job.out.rows.iter().flat_map(|batch| batch.column(0).as_primitive::<Int32Type>().iter()).collect();
    assert_eq!(ids, [Some(1), Some(2), None]);
    let [bad] = &job.out.malformed[..] else { panic!("{:?}", job.out.malformed) };
    assert_eq!((bad.position.as_str(), &bad.raw[..]), ("line 2, byte 17 of the connection", &b"no json"[..]));
}

#[test]
fn what_is_missing_is_named() {
    let error = |options: &[(&str, &str)]| source(options).err().unwrap().to_string();
    assert!(error(&[("hostname", "h"), ("format", "json")]).contains("'port' is missing"));
    assert!(error(&[("port", "1"), ("format", "json")]).contains("'hostname' is missing"));
    assert!(error(&[("port", "99999"), ("hostname", "h"), ("format", "json")]).contains("'port'"));
    assert!(error(&[("port", "1"), ("hostname", "h")]).contains("'format' is missing"));
}

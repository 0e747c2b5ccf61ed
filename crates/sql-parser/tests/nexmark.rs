//! The Nexmark queries parse, in one script each and cut statement by statement.

use flugs_sql_parser::{Statement, WindowKind, WindowTvf, parse_script, split};
use sqlparser::ast::{TableFactor, visit_relations};
use std::ops::ControlFlow;
use std::path::PathBuf;

fn texts() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../connectors/nexmark/queries");
    let mut texts: Vec<(String, String)> = std::fs::read_dir(folder)
        .expect("the fixtures are there")
        .map(|entry| entry.expect("a file").path())
        .map(|path| {
            (
                path.file_stem().expect("a name").to_string_lossy().into_owned(),
                std::fs::read_to_string(path).expect("a text"),
            )
        })
        .collect();
    texts.sort();
    texts
}

#[test]
fn all_queries_parse() {
    let texts = texts();
    assert_eq!(texts.len(), 24);
    for (name, text) in texts {
        let parsed = parse_script(&text).unwrap_or_else(|e| panic!("{name}: {}", e.render(&text)));
        let pieces = split(&text);
        assert_eq!(parsed.len(), pieces.len());
        for (parsed, piece) in parsed.iter().zip(pieces) {
            assert_eq!((parsed.text.as_str(), parsed.span), (piece.text, piece.span));
            assert!(text.contains(&parsed.text), "{name}");
        }
        if name != "ddl" {
            assert!(matches!(parsed.last().unwrap().statement, Statement::Insert(_)), "{name}");
        }
    }
}

#[test]
fn the_table_of_events_has_its_columns() {
    let (_, text) = texts().into_iter().find(|(name, _)| name == "ddl").unwrap();
    let parsed = parse_script(&text).unwrap();
    let Statement::CreateTable(table) = &parsed[0].statement else { panic!("{:?}", parsed[0]) };
    let names: Vec<&str> = table.spec.columns.iter().map(|c| c.name.value.as_str()).collect();
    assert_eq!(names, ["event_type", "person", "auction", "bid", "dateTime"]);
    let watermark = table.spec.watermark.as_ref().unwrap();
    assert_eq!(watermark.column.to_string(), "`dateTime`");
    assert_eq!(watermark.expression.text, "`dateTime` - INTERVAL '4' SECOND");
    assert_eq!(table.options[0].value, "nexmark");
}

#[test]
fn windows_of_q5_are_read() {
    let (_, text) = texts().into_iter().find(|(name, _)| name == "q5").unwrap();
    let parsed = parse_script(&text).unwrap();
    let Statement::Insert(insert) = &parsed[1].statement else { panic!("no insert") };
    let mut tables = Vec::new();
    let _ = visit_relations(&insert.source.ast, |name| {
        tables.push(name.to_string());
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(tables, ["bid", "bid"]);
    let mut windows = Vec::new();
    struct Windows<'a>(&'a mut Vec<WindowKind>);
    impl sqlparser::ast::Visitor for Windows<'_> {
        type Break = ();
        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            self.0.extend(WindowTvf::of(factor).map(|window| window.kind));
            ControlFlow::Continue(())
        }
    }
    let _ = sqlparser::ast::Visit::visit(&insert.source.ast, &mut Windows(&mut windows));
    assert_eq!(windows, [WindowKind::Hop { slide_ms: 2000, size_ms: 10_000 }; 2]);
}

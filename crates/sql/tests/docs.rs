//! The pages under `docs/sql` say what is true: their ```` ```sql ```` blocks are run, a ```` ```text ```` block right behind one
//! is its last result, and ```` ```error ```` is what it fails with. Tables of options are made from what connectors, formats and
//! sessions declare. `FLUGS_BLESS=1` writes results and tables anew.

mod support;

use flugs_sql::{KeyUse, SESSION_KEYS, SqlEnvironment};
use flugs_table::{OptionKind, OptionSpec, Registry};
use flugs_types::Result;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use support::folded;

fn registry() -> Registry {
    let mut registry = Registry::new();
    flugs_nexmark::table::register(&mut registry);
    flugs_tables::register(&mut registry);
    flugs_files::table::register(&mut registry);
    flugs_socket::table::register(&mut registry);
    flugs_formats::columns::register(&mut registry);
    registry
}

fn pages() -> Vec<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = std::fs::read_dir(root.join("docs/sql")).expect("the pages are there");
    let mut pages: Vec<PathBuf> = folder.map(|entry| entry.expect("an entry").path()).collect();
    pages.retain(|path| path.extension().is_some_and(|e| e == "md"));
    pages.sort();
    pages
}

/// The rows of the last statement that has some, changes folded.
fn run(env: &mut SqlEnvironment, script: &str) -> Result<String> {
    let mut shown = String::new();
    let last = script.trim().trim_end_matches(';').rsplit(";\n").next().unwrap_or_default().trim_start();
    let is_query = last.starts_with("SELECT") || last.starts_with("WITH");
    env.execute_script(script, |result| {
        let (format, folded) = folded(result)?;
        shown.clear();
        // What a query gives has no order that could be relied on.
        let rows = if is_query { folded.rows()? } else { folded.rows_as_they_came()? };
        if let Some(rows) = rows {
            for row in format.text_rows(&rows)? {
                let _ = writeln!(shown, "{}", row.join(" | ").trim_end());
            }
        }
        Ok(())
    })?;
    Ok(shown)
}

/// A page cut at its fences: text, and blocks with their language.
enum Part<'p> {
    Text(&'p str),
    Block { language: &'p str, body: &'p str },
}

fn parts(page: &str) -> Vec<Part<'_>> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find("```") {
        found.push(Part::Text(&rest[..at]));
        let (language, behind) = rest[at + 3..].split_once('\n').expect("a fence ends its line");
        let (body, behind) = behind.split_once("```").expect("a fence is closed");
        found.push(Part::Block { language, body });
        rest = behind;
    }
    found.push(Part::Text(rest));
    found
}

/// The page with the results that its statements have now.
fn checked(page: &str, folder: &Path) -> String {
    let mut env = SqlEnvironment::new(registry());
    let mut out = String::new();
    let mut outcome = Ok(String::new());
    let place = folder.display().to_string();
    let private = |text: String| text.replace(&place, "/data");
    for part in parts(page) {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Block { language, body } => {
                let shown = match language {
                    "sql" => {
                        outcome = run(&mut env, &body.replace("/data", &place));
                        body.to_owned()
                    }
                    "text" => match &outcome {
                        Ok(rows) => private(rows.clone()),
                        Err(e) => panic!("{e}"),
                    },
                    "error" => match outcome {
                        Ok(rows) => panic!("no error, but {rows}"),
                        Err(e) => {
                            outcome = Ok(String::new());
                            let message = e.to_string();
                            private(format!("{}\n", message.strip_prefix("job error: ").unwrap_or(&message)))
                        }
                    },
                    _ => body.to_owned(),
                };
                let _ = write!(out, "```{language}\n{shown}```");
                continue;
            }
        }
    }
    if let Err(e) = outcome {
        panic!("{e}");
    }
    out
}

fn kind_of(kind: OptionKind) -> String {
    match kind {
        OptionKind::String => "text".to_owned(),
        OptionKind::Boolean => "`true`, `false`".to_owned(),
        OptionKind::Integer => "whole number".to_owned(),
        OptionKind::Double => "number".to_owned(),
        OptionKind::Duration => "length of time".to_owned(),
        OptionKind::Memory => "amount of memory".to_owned(),
        OptionKind::Enum(words) => words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", "),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn table(specs: &[OptionSpec], prefix: &str) -> String {
    if specs.is_empty() {
        return "No options.\n".to_owned();
    }
    let mut out = "| option | value | default | |\n| --- | --- | --- | --- |\n".to_owned();
    for spec in specs {
        let default = spec.default.map(|d| format!("`{d}`")).unwrap_or_default();
        let _ = writeln!(
            out,
            "| `{prefix}{}` | {} | {} | {} |",
            spec.key,
            cell(&kind_of(spec.kind)),
            cell(&default),
            cell(spec.doc)
        );
    }
    out
}

/// The table that a marker `<!-- options: connector NAME -->` asks for.
fn wanted(registry: &Registry, marker: &str) -> String {
    let of_keys = |wanted: fn(&KeyUse) -> bool| {
        SESSION_KEYS.iter().filter(|key| wanted(&key.usage)).map(|key| key.spec).collect::<Vec<_>>()
    };
    match marker.split_once(' ').unwrap_or((marker, "")) {
        ("connector", name) => table(registry.connector(name).expect("a connector").options(), ""),
        ("format", name) => table(registry.format(name).expect("a format").options(), &format!("{name}.")),
        ("session", "used") => table(&of_keys(|usage| matches!(usage, KeyUse::Used)), ""),
        ("session", "ignored") => {
            let keys = of_keys(|usage| matches!(usage, KeyUse::Ignored(_)));
            keys.iter().map(|spec| format!("- `{}`: {}\n", spec.key, spec.doc)).collect()
        }
        ("session", "refused") => {
            let keys = of_keys(|usage| matches!(usage, KeyUse::Refused(_)));
            keys.iter().map(|spec| format!("- `{}`: {}\n", spec.key, spec.doc)).collect()
        }
        _ => panic!("no such table: {marker}"),
    }
}

/// The page with the options that are declared now.
fn with_options(registry: &Registry, page: &str) -> String {
    let mut now = String::new();
    let mut rest = page;
    while let Some((before, behind)) = rest.split_once("<!-- options: ") {
        let (marker, behind) = behind.split_once(" -->\n").expect("a marker is closed");
        let (_, behind) = behind.split_once("<!-- end -->").expect("a table is closed");
        let _ = write!(now, "{before}<!-- options: {marker} -->\n{}<!-- end -->", wanted(registry, marker));
        rest = behind;
    }
    now.push_str(rest);
    now
}

#[test]
fn the_pages_say_what_is_true() {
    let bless = std::env::var_os("FLUGS_BLESS").is_some();
    let mut wrong = Vec::new();
    for path in pages() {
        let folder = tempfile::tempdir().expect("a folder");
        let page = std::fs::read_to_string(&path).expect("the page is there");
        let outcome = std::panic::catch_unwind(|| with_options(&registry(), &checked(&page, folder.path())));
        match outcome {
            Ok(now) if now == page => {}
            Ok(now) if bless => std::fs::write(&path, now).expect("the page is writable"),
            Ok(now) => {
                let differs = page.lines().zip(now.lines()).find(|(a, b)| a != b);
                wrong.push(format!("{}: {differs:?}", path.display()));
            }
            Err(_) => wrong.push(format!("{}: see above", path.display())),
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}; results are written with FLUGS_BLESS=1");
}

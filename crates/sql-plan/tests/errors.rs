//! What the reader of a query that makes no sense sees: files of cases, each a script over the tables of [`TABLES`], a line `---`,
//! the error as it is shown, a line `====`. `FLUGS_BLESS=1` writes the files anew.

mod support;

use std::fmt::Write;
use std::path::PathBuf;
use support::Session;

/// What every case knows.
const TABLES: &str = include_str!("errors/tables.sql");

fn shown(session: &Session, text: &str) -> String {
    let text = text.trim_end_matches('\n');
    match session.clone().plan(text) {
        Ok(_) => "no error\n".to_owned(),
        Err(error) => error.render(text),
    }
}

/// Words of the layers below, which a user has never heard of.
const FOREIGN: [&str; 16] = [
    "Error during planning",
    "Schema error",
    "DataFusion",
    "Utf8",
    "Int64",
    "Int32",
    "Decimal128",
    "Float64",
    "Timestamp(",
    "LogicalPlan",
    "Expr::",
    "Signature",
    "coerce",
    "Internal error",
    "UserDefined",
    "EXPR$",
];

#[test]
fn every_mistake_is_shown_with_its_place_and_mend() {
    let session = Session::new(TABLES);
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/errors");
    let bless = std::env::var_os("FLUGS_BLESS").is_some();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "txt"));
    files.sort();
    let (mut cases, mut wrong) = (0, Vec::new());
    for path in files {
        let file = std::fs::read_to_string(&path).unwrap();
        let mut anew = String::new();
        for case in file.split_terminator("====\n") {
            let (text, expected) = case.split_once("---\n").unwrap_or((case, ""));
            let text = text.trim_end_matches('\n');
            let now = shown(&session, text);
            let _ = write!(anew, "{text}\n---\n{now}====\n");
            if now != expected && !bless {
                wrong.push(format!("{}: {text}\nwas\n{expected}is\n{now}", path.display()));
            }
            let placed = now.starts_with("error: ") && now.contains(" --> line ") && now.contains("\nhelp: ");
            let message = now.lines().next().unwrap_or_default();
            if !placed || FOREIGN.iter().any(|word| message.contains(word)) {
                wrong.push(format!(
                    "{}: {text}\nis shown without place, mend or in foreign words\n{now}",
                    path.display()
                ));
            }
            cases += 1;
        }
        if bless {
            std::fs::write(&path, anew).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{} of {cases}\n{}", wrong.len(), wrong.join("\n"));
    assert!(cases >= 80, "{cases}");
}

//! What the reader of a wrong statement sees: files of cases, each a text, a line `---`, the error as it is shown, a line `====`.
//! `FLUGS_BLESS=1` writes the files anew.

use flugs_sql_parser::parse_script;
use std::fmt::Write;
use std::path::PathBuf;

fn shown(text: &str) -> String {
    match parse_script(text) {
        Ok(parsed) => format!("no error: {parsed:?}\n"),
        Err(error) => error.render(text),
    }
}

#[test]
fn every_mistake_is_shown_with_its_place_and_mend() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/errors");
    let mut cases = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = std::fs::read_to_string(&path).unwrap();
        let mut anew = String::new();
        for case in file.split_terminator("====\n") {
            let (text, expected) = case.split_once("---\n").unwrap_or((case, ""));
            let text = text.trim_end_matches('\n');
            let now = shown(text);
            let _ = write!(anew, "{text}\n---\n{now}====\n");
            if std::env::var_os("FLUGS_BLESS").is_none() {
                assert_eq!(now, expected, "{}: {text}", path.display());
                assert!(now.starts_with("error: ") && now.contains(" --> line "), "{text}: {now}");
            }
            cases += 1;
        }
        if std::env::var_os("FLUGS_BLESS").is_some() {
            std::fs::write(&path, anew).unwrap();
        }
    }
    assert!(cases >= 45, "{cases}");
}

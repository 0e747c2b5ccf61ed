//! Case files: see `tests/golden/README.md` for the format.

use crate::harness::table::InputTable;
use std::path::Path;

/// What a case is to give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// These rows, in any order unless the case is `ordered`.
    Rows(Vec<String>),
    /// An error with this text in it.
    Error(String),
}

/// One case, with all that it needs.
#[derive(Debug, Clone)]
pub struct Case {
    /// File and name.
    pub name: String,
    /// Where the expectation is from.
    pub from: String,
    /// Why it fails for now.
    pub known: Option<String>,
    /// `streaming` or `batch`, where it has a meaning in one alone.
    pub only: Option<String>,
    /// Whether the order of rows counts (in batch mode).
    pub ordered: bool,
    /// The session's time zone.
    pub zone: String,
    /// Tables whose rows stand in the file.
    pub tables: Vec<InputTable>,
    /// Files by name.
    pub files: Vec<(String, String)>,
    /// Statements that come first, and the query at the end.
    pub script: String,
    /// What is to come out.
    pub expected: Expected,
}

/// Cells without the spaces around them.
pub fn cells(line: &str) -> Vec<String> {
    line.split('|').map(|cell| cell.trim().to_owned()).collect()
}

fn section<'l>(lines: &mut std::iter::Peekable<impl Iterator<Item = &'l str>>) -> Vec<&'l str> {
    let mut found = Vec::new();
    while let Some(line) = lines.next_if(|line| !line.trim().is_empty()) {
        found.push(line);
    }
    found
}

/// Whether a script speaks of a name.
fn mentions(script: &str, name: &str) -> bool {
    script.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

/// The cases of a file.
pub fn parse(file: &str, text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let (mut tables, mut files): (Vec<InputTable>, Vec<(String, String)>) = Default::default();
    let (mut setups, mut zone) = (Vec::<String>::new(), "UTC".to_owned());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "" | "#" => {}
            "zone" => zone = rest.trim().to_owned(),
            "table" => {
                let table = InputTable::parse(rest, &section(&mut lines));
                tables.retain(|other| other.name != table.name);
                tables.push(table);
            }
            "file" => {
                files.retain(|(name, _)| name != rest);
                files.push((rest.to_owned(), section(&mut lines).join("\n") + "\n"));
            }
            "setup" => setups.push(section(&mut lines).join("\n")),
            "case" => {
                let mut case = case_of(&format!("{file}/{rest}"), &zone, &mut lines);
                for setup in setups.iter().rev() {
                    let name = setup.split_whitespace().nth(2).unwrap_or_default();
                    if mentions(&case.script, name.trim_matches(['(', ';'])) {
                        case.script = format!("{setup}\n{}", case.script);
                    }
                }
                case.tables = tables.iter().filter(|t| mentions(&case.script, &t.name)).cloned().collect();
                case.files =
                    files.iter().filter(|(name, _)| case.script.contains(name.as_str())).cloned().collect();
                cases.push(case);
            }
            _ => panic!("{file}: not a section: {line}"),
        }
    }
    cases
}

fn case_of<'l>(
    name: &str,
    zone: &str,
    lines: &mut std::iter::Peekable<impl Iterator<Item = &'l str>>,
) -> Case {
    let mut case = Case {
        name: name.to_owned(),
        from: String::new(),
        known: None,
        only: None,
        ordered: false,
        zone: zone.to_owned(),
        tables: Vec::new(),
        files: Vec::new(),
        script: String::new(),
        expected: Expected::Rows(Vec::new()),
    };
    let mut query = Vec::new();
    let mut oracle = false;
    for line in lines.by_ref() {
        match line.split_once(": ") {
            Some(("from", text)) if query.is_empty() => case.from = text.to_owned(),
            Some(("known", text)) if query.is_empty() => case.known = Some(text.to_owned()),
            Some(("only", text)) if query.is_empty() => case.only = Some(text.to_owned()),
            Some(("zone", text)) if query.is_empty() => case.zone = text.to_owned(),
            Some(("expect error", text)) => {
                case.expected = Expected::Error(text.to_owned());
                break;
            }
            _ if line == "ordered" => case.ordered = true,
            _ if line == "oracle" => oracle = true,
            _ if line == "expect" => {
                break;
            }
            _ if oracle => {}
            _ => query.push(line),
        }
    }
    case.script = query.join("\n");
    if let Expected::Rows(rows) = &mut case.expected {
        *rows = section(lines).iter().map(|line| cells(line).join(" | ")).collect();
    }
    case
}

/// All cases of a folder, file by file.
pub fn load(folder: &Path) -> Vec<Case> {
    let entries = std::fs::read_dir(folder).expect("the folder of cases");
    let mut paths: Vec<_> = entries.map(|e| e.expect("a file of cases").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "cases"));
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        all.extend(parse(&name, &std::fs::read_to_string(&path).expect("a readable file")));
    }
    all
}

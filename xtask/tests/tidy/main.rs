//! Taste made executable: the crates keep to the workspace table of `docs/ARCHITECTURE.md`, and every
//! source file to the few rules that a machine can read.

mod crates;
mod rules;
mod sources;
mod table;

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use crates::Crate;
use sources::Source;
use table::{Level, Table};

/// A file of more lines fails.
const LINES_MAX: usize = 1000;
/// A file of more lines is named.
const LINES_WISHED: usize = 600;

/// The workspace's folder, as the cargo that runs the test says: the path compiled in would be
/// another checkout's where two share a build folder.
fn root() -> PathBuf {
    let own = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where xtask lies"));
    own.parent().expect("xtask lies in the workspace's folder").to_owned()
}

/// Fails with all complaints at once.
fn assert_none(complaints: &[String], rule: &str) {
    assert!(complaints.is_empty(), "{rule}:\n  {}\n", complaints.join("\n  "));
}

#[test]
fn every_crate_keeps_to_its_level() {
    let page = root().join("docs/ARCHITECTURE.md");
    let text = fs::read_to_string(&page)
        .unwrap_or_else(|e| panic!("{}: {e}: the page with the workspace table is missing", page.display()));
    let crates = crates::members(&root());
    let table = Table::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
    assert_none(&table.strangers(&crates), "docs/ARCHITECTURE.md names crates that do not exist");
    assert_none(&misplaced(&table, &crates), "crates against the workspace table of docs/ARCHITECTURE.md");
}

/// Crates that are not in the table, dependencies that go up or sideways, and what a crate must not
/// know but does.
fn misplaced(table: &Table, crates: &[Crate]) -> Vec<String> {
    let mut complaints = Vec::new();
    for member in crates.iter().filter(|member| !member.is_example()) {
        let Some(row) = table.row_of(member) else {
            complaints.push(format!("{}: no row names it; give it a level", member.name));
            continue;
        };
        for other in crates.iter().filter(|other| member.dependencies.contains(&other.package)) {
            let Some(other_row) = table.row_of(other) else { continue };
            if !row.level.may_use(&other_row.level) {
                complaints.push(format!(
                    "{} (level {}) uses {} (level {}): only lower levels may be used",
                    member.name, row.level, other.name, other_row.level
                ));
            }
        }
        complaints.extend(row.must_not_know.iter().filter_map(|word| knows(member, word)));
    }
    complaints
}

/// A complaint where the crate depends on what the word names, or uses that part of the standard
/// library. Words that a machine cannot check are for the reader.
fn knows(member: &Crate, word: &str) -> Option<String> {
    let crate_name = word.to_lowercase().replace(' ', "-");
    let ours = format!("flugs-{crate_name}");
    if let Some(found) = member.dependencies.iter().find(|name| **name == crate_name || **name == ours) {
        return Some(format!("{} depends on {found}, which it must not know", member.name));
    }
    let paths: &[&str] = match word.to_lowercase().as_str() {
        "i/o" => &["std::fs", "std::net", "std::process"],
        "threads" => &["std::thread"],
        "clocks" => &["Instant::now", "SystemTime::now"],
        _ => return None,
    };
    let sources = sources::below(&member.folder.join("src"));
    let found = sources
        .iter()
        .filter(|source| !source.is_tests())
        .find_map(|source| Some((source, paths.iter().find(|path| source.uses(path))?)));
    found.map(|(source, path)| {
        format!("{} uses {path} in {}, but must not know {word}", member.name, source.shown(&root()))
    })
}

#[test]
fn every_crate_inherits_the_workspace_lints() {
    let crates = crates::members(&root());
    let without = crates.iter().filter(|member| !member.inherits_lints());
    let complaints: Vec<String> = without.map(|member| member.name.clone()).collect();
    assert_none(&complaints, "add `[lints]` with `workspace = true` to the Cargo.toml of these crates");
}

#[test]
fn every_source_file_is_tidy() {
    let sources: Vec<Source> = ["crates", "examples", "xtask"]
        .iter()
        .flat_map(|folder| sources::below(&root().join(folder)))
        .collect();
    assert!(sources.len() > 50, "only {} source files found: the walk is broken", sources.len());
    let mut complaints = Vec::new();
    for source in &sources {
        let place = source.shown(&root());
        let lines = source.text.lines().count();
        if lines > LINES_MAX {
            complaints
                .push(format!("{place}: {lines} lines, more than {LINES_MAX}: split it by what it owns"));
        } else if lines > LINES_WISHED {
            // Straight to stderr: the test runner shows what a passing test prints to nobody.
            writeln!(io::stderr(), "{place}: {lines} lines, more than {LINES_WISHED}: consider a split")
                .expect("stderr takes a line");
        }
        if !source.is_tests() && !source.text.starts_with("//!") {
            complaints.push(format!("{place}: does not open with a `//!` line that says what it owns"));
        }
        for (line, word) in source.unfinished() {
            complaints.push(format!("{place}:{line}: {word} is not finished work"));
        }
    }
    assert_none(&complaints, "source files");
}

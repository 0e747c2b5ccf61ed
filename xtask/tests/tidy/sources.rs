//! Rust source files and what can be seen in them line by line.

use std::fs;
use std::path::{Path, PathBuf};

/// Macros that mark work as unfinished.
const UNFINISHED: [&str; 3] = ["todo!", "unimplemented!", "dbg!"];

/// A source file.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl Source {
    /// The path from the root of the repository.
    pub(crate) fn shown(&self, root: &Path) -> String {
        self.path.strip_prefix(root).unwrap_or(&self.path).display().to_string()
    }

    /// Whether it holds tests only: what it owns is what its name says is tested.
    pub(crate) fn is_tests(&self) -> bool {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with("tests.rs") || self.path.components().any(|part| part.as_os_str() == "tests")
    }

    /// Lines, counted from 1, that call a macro for unfinished work.
    pub(crate) fn unfinished(&self) -> Vec<(usize, &'static str)> {
        let lines = self.text.lines().enumerate();
        let found = lines.flat_map(|(n, line)| {
            let called = UNFINISHED.into_iter().filter(move |name| calls(code(line), name));
            called.map(move |name| (n + 1, name))
        });
        found.collect()
    }

    /// Whether code, not a comment, names this path.
    pub(crate) fn uses(&self, path: &str) -> bool {
        self.text.lines().any(|line| code(line).contains(path))
    }
}

/// All source files below a folder, without build folders and hidden ones.
pub(crate) fn below(folder: &Path) -> Vec<Source> {
    let mut sources = Vec::new();
    collect(folder, &mut sources);
    sources
}

fn collect(folder: &Path, sources: &mut Vec<Source>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder can be read").path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().expect("an entry has a name").to_string_lossy();
        if name.starts_with('.') || name == "target" {
            continue;
        }
        if path.is_dir() {
            collect(&path, sources);
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            sources.push(Source { path, text });
        }
    }
}

/// The line without its comment. A `//` inside a string is taken for one too, which hides code only
/// in lines that nobody writes.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or(line)
}

/// Whether the macro is called: its name begins a word, and a bracket follows.
fn calls(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + name.len()..].chars().next();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_') && matches!(after, Some('(' | '[' | '{'))
    })
}

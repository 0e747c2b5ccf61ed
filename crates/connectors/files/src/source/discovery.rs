//! Finds files: a file, a folder, or a pattern.

use super::split::FileSplit;
use crate::{Compression, failure};
use flugs_connector::Split;
use flugs_types::{Error, Result};
use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, Metadata};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Folders nested deeper than this are taken for a mistake.
const DEPTH_MAX: usize = 256;

/// A file has no more ranges than about this many, however small they are to be.
const RANGES_MAX: u64 = 100_000;

/// Where to look and how files become splits.
#[derive(Debug, Clone)]
pub(crate) struct Discovery {
    pub(crate) path: PathBuf,
    pub(crate) compression: Compression,
    pub(crate) split_bytes: Option<u64>,
    /// Whether finding nothing is no error.
    pub(crate) may_be_empty: bool,
    /// Whether this is not the only look.
    pub(crate) looks_again: bool,
    /// Which files are wanted; all where there is none.
    pub(crate) filter: Option<PathFilter>,
}

/// Says whether a file is wanted, by its path.
#[derive(Clone)]
pub(crate) struct PathFilter(pub(crate) Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl fmt::Debug for PathFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PathFilter")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    pub(crate) path: String,
    bytes: u64,
}

impl Discovery {
    /// The splits of all files that are not in `known`, in the order of their paths. Empty files have none.
    pub(crate) fn run(&self, known: &BTreeSet<String>) -> Result<Vec<Split>> {
        let files = self.files()?;
        if files.is_empty() && !self.may_be_empty {
            return Err(Error::environment(format!("no file matches {}", self.path.display())).mend(
                "check the path (names that start with `.` or `_` are passed over), or say `.allow_empty()`",
            ));
        }
        let mut splits = Vec::new();
        let is_new = |file: &Found| !known.contains(&file.path);
        for file in files.into_iter().filter(|file| is_new(file) && !self.has_nothing(file)) {
            self.split(file, &mut splits);
        }
        Ok(splits)
    }

    /// The files that are wanted, in the order of their paths.
    pub(crate) fn files(&self) -> Result<Vec<Found>> {
        let mut files = list(&self.path)?;
        if let Some(PathFilter(wants)) = &self.filter {
            files.retain(|file| wants(&file.path));
        }
        Ok(files)
    }

    /// Whether a file has nothing to read, now at least. No compressed file is empty: one is cut off, and only where the folder
    /// is looked at again may it be written yet.
    fn has_nothing(&self, file: &Found) -> bool {
        file.bytes == 0 && (self.looks_again || self.compression.of(&file.path) == Compression::None)
    }

    fn split(&self, file: Found, splits: &mut Vec<Split>) {
        if self.compression.of(&file.path) != Compression::None {
            return splits.push(FileSplit::new(file.path, 0, None).to_split());
        }
        let step = self.split_bytes.unwrap_or(file.bytes).max(file.bytes / RANGES_MAX);
        let mut start = 0;
        while start < file.bytes {
            let end = file.bytes.min(start.saturating_add(step));
            splits.push(FileSplit::new(file.path.clone(), start, Some(end)).to_split());
            start = end;
        }
    }
}

fn list(path: &Path) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => walk(path, &[], DEPTH_MAX, &mut found)?,
        Ok(metadata) => add(path, &metadata, &mut found)?,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound && path.to_str().is_some_and(is_pattern) => {
            let (base, parts) = split_pattern(path);
            walk(&base, &parts, DEPTH_MAX, &mut found)?;
        }
        Err(e) => return Err(failure::reading(path, e)),
    }
    found.sort();
    Ok(found)
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// The path up to the first part with a wildcard, and the parts from there.
fn split_pattern(path: &Path) -> (PathBuf, Vec<String>) {
    let (mut base, mut parts) = (PathBuf::new(), Vec::new());
    for component in path.components() {
        let text = component.as_os_str().to_string_lossy();
        if parts.is_empty() && !is_pattern(&text) {
            base.push(component);
        } else if component != Component::CurDir {
            parts.push(text.into_owned());
        }
    }
    if base.as_os_str().is_empty() {
        base.push(".");
    }
    (base, parts)
}

/// Adds the files in `folder` that match `parts`; with no parts, all files below it.
fn walk(folder: &Path, parts: &[String], depth_left: usize, found: &mut Vec<Found>) -> Result<()> {
    if depth_left == 0 {
        return Err(Error::environment(format!(
            "{} is nested more than {DEPTH_MAX} folders deep",
            folder.display()
        )));
    }
    let (part, rest) = match parts {
        [] => (None, parts),
        [part, rest @ ..] => (Some(part.as_str()), rest),
    };
    for entry in fs::read_dir(folder).map_err(|e| failure::reading(folder, e))? {
        let entry = entry.map_err(|e| failure::reading(folder, e))?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_str().ok_or_else(|| failure::not_utf8(&path))?;
        if !selects(part, name) {
            continue;
        }
        // Follows a link to a file; it may also have vanished since the folder was listed.
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) => return Err(failure::reading(&path, e)),
        };
        let is_link = entry.file_type().is_ok_and(|t| t.is_symlink());
        if metadata.is_dir() {
            if !is_link || part.is_some() {
                walk(&path, rest, depth_left - 1, found)?;
            }
        } else if rest.is_empty() {
            add(&path, &metadata, found)?;
        }
    }
    Ok(())
}

fn add(path: &Path, metadata: &Metadata, found: &mut Vec<Found>) -> Result<()> {
    let text = path.to_str().ok_or_else(|| failure::not_utf8(path))?;
    if metadata.is_file() {
        found.push(Found { path: text.to_owned(), bytes: metadata.len() });
        return Ok(());
    }
    Err(Error::environment(format!("{text} is neither a file nor a folder"))
        .mend("pipes and devices have no position to come back to: read them through a socket or a program"))
}

/// Whether a name is selected by a part of a pattern, or by none.
fn selects(part: Option<&str>, name: &str) -> bool {
    let hidden = name.starts_with(['.', '_']);
    match part {
        None => !hidden,
        Some(part) => (!hidden || part.starts_with(['.', '_'])) && matches(part, name),
    }
}

/// Whether `name` matches a pattern with `*` and `?`. Goes back to the last `*` alone, so it takes no more than the
/// product of the lengths.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&letter) if letter == '?' || letter == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match &mut star {
                Some((star_p, star_n)) => {
                    *star_n += 1;
                    (p, n) = (*star_p + 1, *star_n);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&letter| letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn folder(files: &[&str]) -> TempDir {
        let dir = TempDir::new().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"x").unwrap();
        }
        dir
    }

    fn found(dir: &TempDir, pattern: &str) -> Vec<String> {
        let prefix = format!("{}/", dir.path().display());
        let found = list(&dir.path().join(pattern)).unwrap();
        found.into_iter().map(|f| f.path.strip_prefix(&prefix).unwrap().to_owned()).collect()
    }

    const FILES: [&str; 8] =
        ["b.csv", "a.csv", ".c.csv", "_d.csv", "x/a.csv", "x/y/a.csv", ".z/a.csv", "logs/2013/part-10.csv"];

    #[test]
    fn a_folder_is_all_that_is_not_hidden_below_it_in_order() {
        let dir = folder(&FILES);
        assert_eq!(found(&dir, ""), ["a.csv", "b.csv", "logs/2013/part-10.csv", "x/a.csv", "x/y/a.csv"]);
        assert_eq!(found(&dir, "_d.csv"), ["_d.csv"], "named in full");
        assert_eq!(found(&dir, ".z"), [".z/a.csv"]);
    }

    #[test]
    fn patterns_match_part_by_part() {
        let dir = folder(&FILES);
        assert_eq!(found(&dir, "*.csv"), ["a.csv", "b.csv"]);
        assert_eq!(found(&dir, "*/a.csv"), ["x/a.csv"]);
        assert_eq!(found(&dir, "l*gs/2?1?/*10*"), ["logs/2013/part-10.csv"]);
        assert_eq!(found(&dir, "x*"), ["x/a.csv", "x/y/a.csv"], "a matched folder is all below it");
        assert_eq!(found(&dir, "_*"), ["_d.csv"]);
        assert_eq!(found(&dir, "*.json"), [""; 0]);
        for (pattern, name, want) in [
            ("*", "", true),
            ("a*b*c", "aXbXbc", true),
            ("a*b*c", "aXbX", false),
            ("?", "\u{fc}", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, name), want, "{pattern} {name}");
        }
    }

    #[test]
    fn what_is_not_there_is_named() {
        let dir = folder(&FILES);
        let discovery = |pattern: &str, may_be_empty| Discovery {
            path: dir.path().join(pattern),
            compression: Compression::Auto,
            split_bytes: None,
            may_be_empty,
            looks_again: false,
            filter: None,
        };
        let error = discovery("*.json", false).run(&BTreeSet::new()).unwrap_err().to_string();
        assert!(error.contains("no file matches") && error.contains("*.json"), "{error}");
        assert!(discovery("*.json", true).run(&BTreeSet::new()).unwrap().is_empty());
        let error = discovery("absent", true).run(&BTreeSet::new()).unwrap_err().to_string();
        assert!(error.contains("there is no file") && error.contains("absent"), "{error}");
    }

    #[test]
    fn a_loop_of_links_ends() {
        let dir = folder(&["a.txt"]);
        std::os::unix::fs::symlink(dir.path(), dir.path().join("again")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("a.txt"), dir.path().join("b.txt")).unwrap();
        std::os::unix::fs::symlink("gone", dir.path().join("c.txt")).unwrap();
        assert_eq!(found(&dir, ""), ["a.txt", "b.txt"]);
    }
}

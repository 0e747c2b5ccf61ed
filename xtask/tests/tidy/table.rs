//! The workspace table of the architecture page, read leniently: columns by their headings, names
//! with or without back-ticks, links, remarks in brackets and the prefix of the crates.

use std::fmt;

use crate::crates::Crate;

/// Where a crate stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Level {
    /// Uses lower numbers.
    Number(u32),
    /// Uses numbered levels; only the top uses it.
    Leaf,
    /// Uses what it likes.
    Top,
}

impl Level {
    fn parse(text: &str) -> Option<Level> {
        match text {
            "leaf" => Some(Level::Leaf),
            "top" => Some(Level::Top),
            number => number.parse().ok().map(Level::Number),
        }
    }

    pub(crate) fn may_use(&self, other: &Level) -> bool {
        match (self, other) {
            (Level::Top, _) => true,
            (Level::Leaf, other) => matches!(other, Level::Number(_)),
            (Level::Number(own), Level::Number(other)) => other < own,
            (Level::Number(_), _) => false,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Number(number) => write!(f, "{number}"),
            Level::Leaf => f.write_str("leaf"),
            Level::Top => f.write_str("top"),
        }
    }
}

/// One row: crates of a level, and what they must not know.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) level: Level,
    /// Names without the prefix `flugs-`; `folder/*` stands for all crates below that folder.
    crates: Vec<String>,
    pub(crate) must_not_know: Vec<String>,
}

impl Row {
    fn is_of(&self, name: &str, member: &Crate) -> bool {
        match name.strip_suffix("/*") {
            Some(folder) => member.folder.parent().is_some_and(|parent| parent.ends_with(folder)),
            None => name.rsplit('/').next() == Some(member.name.as_str()),
        }
    }
}

/// The rows of the workspace table.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// The first table of the page that has a column `level` and a column `crate`.
    pub(crate) fn parse(page: &str) -> Result<Table, String> {
        let mut lines = page.lines().map(cells);
        let headings = lines
            .find_map(|cells| Headings::of(&cells?))
            .ok_or("there is no table with the columns level | crate | one sentence | must not know")?;
        let body = lines.skip(1).map_while(|cells| cells);
        let rows: Vec<Row> = body.map(|cells| headings.row(&cells)).collect::<Result<_, _>>()?;
        if rows.is_empty() {
            return Err("the workspace table has no rows".to_owned());
        }
        Ok(Table { rows })
    }

    pub(crate) fn row_of(&self, member: &Crate) -> Option<&Row> {
        self.rows.iter().find(|row| row.crates.iter().any(|name| row.is_of(name, member)))
    }

    /// Names in the table that no crate has.
    pub(crate) fn strangers(&self, crates: &[Crate]) -> Vec<String> {
        let names = self.rows.iter().flat_map(|row| row.crates.iter().map(move |name| (row, name)));
        let strangers = names.filter(|(row, name)| !crates.iter().any(|member| row.is_of(name, member)));
        strangers.map(|(_, name)| name.clone()).collect()
    }
}

/// Which column is which.
struct Headings {
    level: usize,
    crates: usize,
    must_not_know: Option<usize>,
}

impl Headings {
    fn of(cells: &[String]) -> Option<Headings> {
        let column = |heading: &str| cells.iter().position(|cell| plain(cell).to_lowercase() == heading);
        Some(Headings {
            level: column("level")?,
            crates: column("crate").or_else(|| column("crates"))?,
            must_not_know: column("must not know"),
        })
    }

    fn row(&self, cells: &[String]) -> Result<Row, String> {
        let cell = |column: usize| cells.get(column).map_or("", String::as_str);
        let level = plain(cell(self.level)).to_lowercase();
        let level = Level::parse(&level)
            .ok_or_else(|| format!("the level `{level}` is neither a number, nor leaf, nor top"))?;
        let crates =
            names(cell(self.crates)).map(|name| name.strip_prefix("flugs-").unwrap_or(&name).to_owned());
        let must_not_know = self.must_not_know.map(|column| names(cell(column)).collect());
        Ok(Row { level, crates: crates.collect(), must_not_know: must_not_know.unwrap_or_default() })
    }
}

/// The cells of a table's line; none for any other line. `\|` is no border.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner).replace("\\|", "\u{0}");
    Some(inner.split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect())
}

/// The names in a cell that lists some: between commas, without remarks in brackets. A lone dash
/// lists none.
fn names(cell: &str) -> impl Iterator<Item = String> + '_ {
    let text = plain(cell);
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    names.into_iter().filter(|name| !name.is_empty() && !name.chars().all(|c| matches!(c, '-' | '–' | '—')))
}

/// The text without emphasis and back-ticks; of a link `[text](target)` the text, and nothing of
/// what stands in round brackets. `*` stays after a slash, where it is a pattern.
fn plain(cell: &str) -> String {
    let mut text = String::new();
    let mut depth = 0_u32;
    for c in cell.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            '`' | '[' | ']' => {}
            '*' if !text.ends_with('/') => {}
            c => text.push(c),
        }
    }
    text.trim().to_owned()
}

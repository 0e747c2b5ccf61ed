//! Which functions there are, by name.
//!
//! Names are case-insensitive and kept in lower case; an alias leads to the same function. A user's function may replace a
//! built-in one, as a temporary system function does in Flink.

use crate::support::Definition;
use crate::table::TableFunction;
use datafusion_expr::{AggregateUDF, ScalarUDF, WindowUDF};
use flugs_types::{Clock, SystemClock};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The part of the documentation a function stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// `=`, `LIKE`, `BETWEEN` and their like.
    Comparison,
    /// `AND`, `IS TRUE` and their like.
    Logical,
    /// Numbers.
    Arithmetic,
    /// Strings of characters.
    String,
    /// Dates, times and intervals.
    Temporal,
    /// Choices between values.
    Conditional,
    /// Conversions between types.
    Conversion,
    /// Arrays, maps and multisets.
    Collection,
    /// JSON documents.
    Json,
    /// Makers of rows, arrays and maps.
    Construction,
    /// Checksums.
    Hash,
    /// Bitmaps.
    Bitmap,
    /// What a row belongs to: groups and windows.
    Grouping,
    /// One value of many rows.
    Aggregate,
    /// One value for a row among its neighbours.
    Window,
    /// Many rows of one.
    Table,
    /// Everything else.
    Auxiliary,
    /// Registered by the user.
    User,
}

impl Category {
    /// The heading of this part.
    pub fn title(self) -> &'static str {
        match self {
            Category::Comparison => "Comparison",
            Category::Logical => "Logical",
            Category::Arithmetic => "Arithmetic",
            Category::String => "String",
            Category::Temporal => "Temporal",
            Category::Conditional => "Conditional",
            Category::Conversion => "Type conversion",
            Category::Collection => "Collection",
            Category::Json => "JSON",
            Category::Construction => "Value construction",
            Category::Hash => "Hash",
            Category::Bitmap => "Bitmap",
            Category::Grouping => "Grouping",
            Category::Aggregate => "Aggregate",
            Category::Window => "Window",
            Category::Table => "Table",
            Category::Auxiliary => "Auxiliary",
            Category::User => "User-defined",
        }
    }
}

/// What a function makes of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FunctionKind {
    /// A value of the values of one row.
    Scalar,
    /// A value of many rows.
    Aggregate,
    /// A value of a row's neighbourhood.
    Window,
    /// Rows of one row.
    Table,
}

/// A function as `SHOW FUNCTIONS`, completion and the documentation show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionDoc {
    /// Its name in upper case.
    pub name: String,
    /// Its other names in upper case.
    pub aliases: Vec<String>,
    /// What it makes of what.
    pub kind: FunctionKind,
    /// Where the documentation has it.
    pub category: Category,
    /// How it is called: `LPAD(string, length, pad)`.
    pub usage: String,
    /// What it does, in one line.
    pub text: String,
}

/// Every function a query may name.
#[derive(Clone, Default)]
pub struct FunctionRegistry {
    scalars: BTreeMap<String, Arc<ScalarUDF>>,
    aggregates: BTreeMap<String, Arc<AggregateUDF>>,
    windows: BTreeMap<String, Arc<WindowUDF>>,
    tables: BTreeMap<String, Arc<dyn TableFunction>>,
    docs: BTreeMap<String, FunctionDoc>,
}

impl fmt::Debug for FunctionRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.docs.keys()).finish()
    }
}

impl FunctionRegistry {
    /// Every built-in function, with the system's clock.
    pub fn builtin() -> Self {
        Self::with_clock(Arc::new(SystemClock))
    }

    /// Every built-in function. `NOW()` and its like read this clock.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        let mut registry = FunctionRegistry::default();
        crate::comparison::register(&mut registry);
        crate::conditional::register(&mut registry);
        crate::math::register(&mut registry);
        crate::string::register(&mut registry);
        crate::hash::register(&mut registry);
        crate::temporal::register(&mut registry, &clock);
        crate::aggregate::register(&mut registry);
        crate::collection::register(&mut registry);
        crate::json::register(&mut registry);
        crate::bitmap::register(&mut registry);
        registry
    }

    /// The scalar function of this name.
    pub fn scalar(&self, name: &str) -> Option<&Arc<ScalarUDF>> {
        self.scalars.get(&name.to_lowercase())
    }

    /// The scalar function that a call of this name with so many arguments means: `floor(x, 'unit')` and `ceil(x, 'unit')` round
    /// datetimes.
    pub fn scalar_for(&self, name: &str, arguments: usize) -> Option<&Arc<ScalarUDF>> {
        match (name.to_lowercase().as_str(), arguments) {
            ("floor", 2) => self.scalar("floor_to"),
            ("ceil" | "ceiling", 2) => self.scalar("ceil_to"),
            _ => self.scalar(name),
        }
    }

    /// The aggregate function of this name. It says names and types only: results come from the streaming operators.
    pub fn aggregate(&self, name: &str) -> Option<&Arc<AggregateUDF>> {
        self.aggregates.get(&name.to_lowercase())
    }

    /// The window function of this name; aggregates also stand over windows but are not found here.
    pub fn window(&self, name: &str) -> Option<&Arc<WindowUDF>> {
        self.windows.get(&name.to_lowercase())
    }

    /// The table function of this name.
    pub fn table(&self, name: &str) -> Option<&Arc<dyn TableFunction>> {
        self.tables.get(&name.to_lowercase())
    }

    /// The names of all functions of a kind with their aliases, in lower case and in order; but for those that only the planner
    /// writes.
    pub fn names(&self, kind: FunctionKind) -> Vec<String> {
        let mut names = self.known(kind);
        names.retain(|name| self.doc(name).is_some_and(|doc| doc.is_called(name)));
        names
    }

    fn known(&self, kind: FunctionKind) -> Vec<String> {
        match kind {
            FunctionKind::Scalar => self.scalars.keys().cloned().collect(),
            FunctionKind::Aggregate => self.aggregates.keys().cloned().collect(),
            FunctionKind::Window => self.windows.keys().cloned().collect(),
            FunctionKind::Table => self.tables.keys().cloned().collect(),
        }
    }

    /// All functions by name, each once; operators and syntax that are documented like functions are among them.
    pub fn docs(&self) -> impl Iterator<Item = &FunctionDoc> {
        self.docs.values()
    }

    /// The documentation of a function by its name or an alias of it.
    pub fn doc(&self, name: &str) -> Option<&FunctionDoc> {
        let name = name.to_lowercase();
        let by_alias = |doc: &&FunctionDoc| doc.aliases.iter().any(|a| a.to_lowercase() == name);
        self.docs.get(&name).or_else(|| self.docs.values().find(by_alias))
    }

    /// The known name nearest to a misspelt one, in upper case; none where nothing is near.
    pub fn nearest(&self, name: &str) -> Option<String> {
        let name = name.to_lowercase();
        let known = self.scalars.keys().chain(self.aggregates.keys());
        let known = known.chain(self.windows.keys()).chain(self.tables.keys());
        let near = known.map(|k| (edits(&name, k), k)).min()?;
        (near.0 <= 1 + name.chars().count() / 4).then(|| near.1.to_uppercase())
    }

    /// Adds a scalar function of this crate.
    pub(crate) fn define(&mut self, definition: Definition) {
        let doc = definition.doc();
        self.add_scalar(definition.into_udf(), doc);
    }

    /// Adds a scalar function under its name and aliases; one of the same name goes.
    pub fn add_scalar(&mut self, function: ScalarUDF, doc: FunctionDoc) {
        let function = Arc::new(function);
        for name in names_of(function.name(), function.aliases()) {
            self.scalars.insert(name, function.clone());
        }
        self.document(doc);
    }

    /// Adds an aggregate function under its name and aliases; one of the same name goes.
    pub fn add_aggregate(&mut self, function: AggregateUDF, doc: FunctionDoc) {
        let function = Arc::new(function);
        for name in names_of(function.name(), function.aliases()) {
            self.aggregates.insert(name, function.clone());
        }
        self.document(doc);
    }

    /// Adds a window function under its name and aliases; one of the same name goes.
    pub fn add_window(&mut self, function: WindowUDF, doc: FunctionDoc) {
        let function = Arc::new(function);
        for name in names_of(function.name(), function.aliases()) {
            self.windows.insert(name, function.clone());
        }
        self.document(doc);
    }

    /// Adds the form that a documented aggregate has before `OVER`.
    pub(crate) fn add_window_form(&mut self, function: WindowUDF) {
        self.windows.insert(function.name().to_lowercase(), Arc::new(function));
    }

    /// Adds a table function under its name; one of the same name goes.
    pub fn add_table(&mut self, function: Arc<dyn TableFunction>, doc: FunctionDoc) {
        self.tables.insert(function.name().to_lowercase(), function);
        self.document(doc);
    }

    /// Documents an operator or a piece of syntax that the parser and the planner know without a function object.
    pub fn document(&mut self, doc: FunctionDoc) {
        self.docs.insert(doc.name.to_lowercase(), doc);
    }

    /// Takes a function away, whatever its kind; false where there is none.
    pub fn remove(&mut self, name: &str) -> bool {
        let name = name.to_lowercase();
        let removed = [
            self.scalars.remove(&name).is_some(),
            self.aggregates.remove(&name).is_some(),
            self.windows.remove(&name).is_some(),
            self.tables.remove(&name).is_some(),
        ];
        self.docs.remove(&name);
        removed.contains(&true)
    }
}

impl FunctionDoc {
    /// The documentation of one function.
    pub fn new(kind: FunctionKind, category: Category, name: &str, usage: &str, text: &str) -> Self {
        let (name, usage, text) = (name.to_uppercase(), usage.to_owned(), text.to_owned());
        FunctionDoc { name, aliases: Vec::new(), kind, category, usage, text }
    }

    /// Whether a query calls it by this name. Others are of what the parser and the binder write in the place of syntax:
    /// `GET_FIELD`, `JSON_ARRAY_NULL_ON_NULL`.
    pub fn is_called(&self, name: &str) -> bool {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let mut words = self.usage.split(|c| !is_word(c)).chain(self.text.split(|c| !is_word(c)));
        let is_said = words.any(|word| word.eq_ignore_ascii_case(name));
        let is_alias = self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name));
        !name.starts_with('$') && (is_said || is_alias || self.category == Category::User)
    }

    /// With these other names.
    pub fn with_aliases(mut self, aliases: &[&str]) -> Self {
        self.aliases = aliases.iter().map(|a| a.to_uppercase()).collect();
        self
    }
}

fn names_of(name: &str, aliases: &[String]) -> Vec<String> {
    std::iter::once(name).chain(aliases.iter().map(String::as_str)).map(str::to_lowercase).collect()
}

/// Levenshtein's distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_leads_to_the_nearest() {
        let registry = FunctionRegistry::builtin();
        assert_eq!(registry.nearest("SPLIT_INDX").as_deref(), Some("SPLIT_INDEX"));
        assert_eq!(registry.nearest("lowr").as_deref(), Some("LOWER"));
        assert_eq!(registry.nearest("frobnicate_everything"), None);
    }

    #[test]
    fn names_are_found_in_any_case_and_by_alias() {
        let registry = FunctionRegistry::builtin();
        assert!(registry.scalar("Char_Length").is_some());
        assert_eq!(registry.scalar("character_length"), registry.scalar("CHAR_LENGTH"));
        assert_eq!(registry.doc("character_length").map(|d| d.name.as_str()), Some("CHAR_LENGTH"));
        assert_eq!(registry.scalar_for("Floor", 2), registry.scalar("floor_to"));
        assert_eq!(registry.scalar_for("floor", 1), registry.scalar("floor"));
    }

    #[test]
    fn names_that_only_the_planner_writes_are_not_listed() {
        let registry = FunctionRegistry::builtin();
        let kinds =
            [FunctionKind::Scalar, FunctionKind::Aggregate, FunctionKind::Window, FunctionKind::Table];
        let names: Vec<String> = kinds.iter().flat_map(|kind| registry.names(*kind)).collect();
        for inner in [
            "ceil_to",
            "floor_to",
            "get_field",
            "datetime_add",
            "datetime_sub",
            "item",
            "$sum0",
            "json_object_null_on_null",
            "json_object_absent_on_null",
            "json_arrayagg_null_on_null",
        ] {
            assert!(!names.iter().any(|name| name == inner), "{inner}");
            assert!(
                kinds.iter().any(|kind| registry.known(*kind).iter().any(|name| name == inner)),
                "{inner}"
            );
        }
        for called in [
            "ceil",
            "json_object",
            "json_arrayagg",
            "like",
            "similar_to",
            "array",
            "element_at",
            "row_number",
        ] {
            assert!(names.iter().any(|name| name == called), "{called}");
        }
    }

    #[test]
    fn every_function_is_documented() {
        let registry = FunctionRegistry::builtin();
        for kind in [FunctionKind::Scalar, FunctionKind::Aggregate, FunctionKind::Window, FunctionKind::Table]
        {
            for name in registry.known(kind) {
                let doc = registry.doc(&name).unwrap_or_else(|| panic!("{name} has no documentation"));
                assert!(!doc.text.is_empty() && !doc.usage.is_empty(), "{name}");
            }
        }
    }
}

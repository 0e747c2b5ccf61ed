//! `SHOW` and `SET` alone.

use super::Executed;
use crate::ddl;
use crate::environment::SqlEnvironment;
use crate::failure::{Outcome, placed, semantic};
use crate::result::TableResult;
use flugs_sql_functions::FunctionKind;
use flugs_sql_parser::{LikeFilter, Name, Show, ShowObject, SqlError};
use flugs_sql_plan::catalog::{CatalogObject, ObjectPath};
use std::sync::Arc;

impl SqlEnvironment {
    pub(super) fn show(&mut self, show: &Show) -> Executed {
        let filter = show.filter.as_ref();
        match &show.object {
            ShowObject::Catalogs => listed("catalog name", self.catalogs.catalog_names(), filter),
            ShowObject::CurrentCatalog => {
                listed("current catalog name", [self.catalogs.current().catalog.as_str()], None)
            }
            ShowObject::Databases => {
                let current = &self.catalogs.current().catalog;
                let name = show.from.as_ref().map_or(current.as_str(), Name::object);
                let found = self.catalogs.catalog(name);
                let catalog = match &show.from {
                    Some(from) => found.map_err(|e| placed(e, from.span()))?,
                    None => found?,
                };
                listed("database name", catalog.databases.keys().map(String::as_str), filter)
            }
            ShowObject::CurrentDatabase => {
                listed("current database name", [self.catalogs.current().database.as_str()], None)
            }
            ShowObject::Tables => self.show_objects("table name", show, |_| true),
            ShowObject::Views => {
                self.show_objects("view name", show, |o| matches!(o, CatalogObject::View(_)))
            }
            ShowObject::Functions { user } => self.show_functions(*user, filter),
            ShowObject::Columns(name) => self.describe_table(name, filter),
            ShowObject::Partitions(name, _) => {
                let (path, object) = self.object_of(name)?;
                match object.as_ref() {
                    CatalogObject::Table(table) if !table.partition_keys.is_empty() => {
                        Err(SqlError::unsupported(format!(
                            "the partitions of '{path}' are known to its connector alone"
                        ))
                        .at(name.span())
                        .into())
                    }
                    _ => Err(semantic(format!("'{path}' is not partitioned")).at(name.span()).into()),
                }
            }
            ShowObject::CreateTable(name) => self.show_create_table(name),
            ShowObject::CreateView(name) => self.show_create_view(name),
            ShowObject::CreateCatalog(name) => {
                let catalog = self.catalogs.catalog(&name.value).map_err(|e| placed(e, name.span))?;
                let comment = catalog.comment.as_ref().map(|c| format!("COMMENT {}\n", ddl::literal(c)));
                let options: Vec<String> = catalog
                    .options
                    .iter()
                    .map(|(key, value)| format!("  {} = {}", ddl::literal(key), ddl::literal(value)))
                    .collect();
                let with = if options.is_empty() {
                    String::new()
                } else {
                    format!("WITH (\n{}\n)\n", options.join(",\n"))
                };
                let text = format!(
                    "CREATE CATALOG {}\n{}{with}",
                    ddl::quoted(&name.value),
                    comment.unwrap_or_default()
                );
                Ok(TableResult::of_text("result", text)?)
            }
            ShowObject::Modules { full: false } => listed("module name", ["core"], filter),
            ShowObject::Modules { full: true } => {
                let row = vec![Some("core".to_owned()), Some("true".to_owned())];
                Ok(TableResult::of_texts(&["module name", "used"], vec![row])?)
            }
            ShowObject::Jobs => Ok(TableResult::of_texts(
                &["job id", "job name", "status", "start time"],
                self.jobs.rows(None),
            )?),
            ShowObject::Jars => listed("jars", [], None),
            ShowObject::Procedures => listed("procedure name", [], filter),
        }
    }

    fn show_objects(&self, title: &str, show: &Show, wanted: impl Fn(&CatalogObject) -> bool) -> Executed {
        let (catalog, database) = match &show.from {
            Some(from) => self.database_of(from)?,
            None => (self.catalogs.current().catalog.clone(), self.catalogs.current().database.clone()),
        };
        let found = self.catalogs.objects(&catalog, &database);
        let objects = match &show.from {
            Some(from) => found.map_err(|e| placed(e, from.span()))?,
            None => found?,
        };
        let names = objects.iter().filter(|(_, (object, _))| wanted(object)).map(|(name, _)| *name);
        listed(title, names, show.filter.as_ref())
    }

    fn show_functions(&self, user: bool, filter: Option<&LikeFilter>) -> Executed {
        let mut names = self.catalogs.function_names();
        if !user {
            use FunctionKind::{Aggregate, Scalar, Table, Window};
            let known =
                [Scalar, Aggregate, Window, Table].into_iter().flat_map(|kind| self.functions.names(kind));
            // Those that begin with a dollar sign are the planner's own.
            names.extend(known.filter(|name| !name.starts_with('$')));
            names.sort();
            names.dedup();
        }
        listed("function name", names.iter().map(String::as_str), filter)
    }

    /// The table or view of a name.
    pub(super) fn object_of(&self, name: &Name) -> Outcome<(ObjectPath, Arc<CatalogObject>)> {
        let path = self.path_of(name)?;
        let object = self.catalogs.object(&path).map_err(|e| placed(e, name.span()))?.clone();
        Ok((path, object))
    }

    fn show_create_table(&self, name: &Name) -> Executed {
        let (path, object) = self.object_of(name)?;
        match object.as_ref() {
            CatalogObject::Table(table) => {
                let text = ddl::create_table(&path, table, self.catalogs.is_temporary(&path));
                Ok(TableResult::of_text("result", text)?)
            }
            CatalogObject::View(_) => Err(semantic(format!("'{path}' is a view"))
                .at(name.span())
                .help("write SHOW CREATE VIEW")
                .into()),
        }
    }

    fn show_create_view(&self, name: &Name) -> Executed {
        let (path, object) = self.object_of(name)?;
        match object.as_ref() {
            CatalogObject::View(view) => {
                let text = ddl::create_view(&path, view, self.catalogs.is_temporary(&path));
                Ok(TableResult::of_text("result", text)?)
            }
            CatalogObject::Table(_) => Err(semantic(format!("'{path}' is a table"))
                .at(name.span())
                .help("write SHOW CREATE TABLE")
                .into()),
        }
    }

    pub(super) fn show_options(&self) -> Executed {
        let rows = self.options.iter().map(|(key, value)| vec![Some(key.to_owned()), Some(value.to_owned())]);
        Ok(TableResult::of_texts(&["key", "value"], rows.collect())?)
    }
}

fn listed<'a>(
    title: &str,
    names: impl IntoIterator<Item = &'a str>,
    filter: Option<&LikeFilter>,
) -> Executed {
    let wanted = names.into_iter().filter(|name| filter.is_none_or(|filter| passes(filter, name)));
    Ok(TableResult::of_texts(&[title], wanted.map(|name| vec![Some(name.to_owned())]).collect())?)
}

/// Whether a name passes `[NOT] LIKE | ILIKE`.
pub(super) fn passes(filter: &LikeFilter, name: &str) -> bool {
    let like = match filter.ignore_case {
        true => matches(&filter.pattern.to_lowercase(), &name.to_lowercase()),
        false => matches(&filter.pattern, name),
    };
    like != filter.negated
}

/// Whether a text is like a pattern: `%` is any text, `_` any character. In time of their product, whatever they are.
fn matches(pattern: &str, text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    // Which lengths of the text the pattern so far can stand for.
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for wanted in pattern.chars() {
        let mut next = vec![false; text.len() + 1];
        for at in 0..=text.len() {
            next[at] = match wanted {
                '%' => reached[at] || at > 0 && next[at - 1],
                _ => at > 0 && reached[at - 1] && (wanted == '_' || wanted == text[at - 1]),
            };
        }
        reached = next;
    }
    reached[text.len()]
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_stand_for_texts() {
        assert!(matches("a%c_", "abbbcd") && matches("%", "") && matches("a%", "a"));
        assert!(!matches("a_", "a") && !matches("", "a") && !matches("a%c", "abd"));
    }
}

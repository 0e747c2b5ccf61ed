//! `DESCRIBE` and `SHOW COLUMNS`.

use super::Executed;
use super::show::passes;
use crate::ddl;
use crate::environment::SqlEnvironment;
use crate::failure::{Outcome, placed, semantic};
use crate::result::TableResult;
use flugs_sql_parser::{Describe, LikeFilter, Name};
use flugs_sql_plan::OutputColumn;
use flugs_sql_plan::catalog::{CatalogObject, CatalogTable};
use flugs_sql_types::TimeKind;

type Row = Vec<Option<String>>;

impl SqlEnvironment {
    pub(super) fn describe(&mut self, describe: &Describe) -> Executed {
        match describe {
            Describe::Table(name) => self.describe_table(name, None),
            Describe::Catalog { name, extended } => {
                let catalog = self.catalogs.catalog(&name.value).map_err(|e| placed(e, name.span))?;
                let kind = catalog.options.get("type").map_or("generic_in_memory", String::as_str);
                let mut rows = vec![
                    info("name", &name.value),
                    info("type", kind),
                    info("comment", catalog.comment.as_deref().unwrap_or("")),
                ];
                if *extended {
                    let others = catalog.options.iter().filter(|(key, _)| *key != "type");
                    rows.extend(others.map(|(key, value)| info(&format!("option:{key}"), value)));
                }
                Ok(TableResult::of_texts(INFO, rows)?)
            }
            Describe::Database { name, extended } => {
                let (catalog, database) = self.database_of(name)?;
                let found =
                    self.catalogs.database(&catalog, &database).map_err(|e| placed(e, name.span()))?;
                let mut rows = vec![
                    info("catalog", &catalog),
                    info("name", &database),
                    info("comment", found.comment.as_deref().unwrap_or("")),
                ];
                if *extended {
                    rows.extend(
                        found.properties.iter().map(|(key, value)| info(&format!("option:{key}"), value)),
                    );
                }
                Ok(TableResult::of_texts(INFO, rows)?)
            }
            Describe::Function { name, .. } => self.describe_function(name),
            Describe::Job(id) => {
                self.jobs.find(id)?;
                let rows = self.jobs.rows(Some(id));
                Ok(TableResult::of_texts(&["job id", "job name", "status", "start time"], rows)?)
            }
        }
    }

    fn describe_function(&self, name: &Name) -> Executed {
        let parts: Vec<String> = name.parts().map(str::to_owned).collect();
        if let Some(function) = self.catalogs.function(&parts) {
            let rows = vec![info("is system function", "false"), info("function", &format!("{function:?}"))];
            return Ok(TableResult::of_texts(INFO, rows)?);
        }
        let Some(doc) = self.functions.doc(name.object()).filter(|_| parts.len() == 1) else {
            let error = semantic(format!("there is no function '{}'", name.object())).at(name.span());
            return Err(match self.functions.nearest(name.object()) {
                Some(near) => error.help(format!("did you mean '{near}'?")).into(),
                None => error.into(),
            });
        };
        let rows = vec![
            info("is system function", "true"),
            info("kind", &format!("{:?}", doc.kind).to_uppercase()),
            info("usage", &doc.usage),
            info("description", &doc.text),
            info("aliases", &doc.aliases.join(", ")),
        ];
        Ok(TableResult::of_texts(INFO, rows)?)
    }

    /// The columns of a table or view, one a row, as Flink lists them.
    pub(super) fn describe_table(&self, name: &Name, filter: Option<&LikeFilter>) -> Executed {
        let (path, object) = self.object_of(name)?;
        let (rows, comments) = match object.as_ref() {
            CatalogObject::Table(table) => {
                let columns = self.planner()?.columns_of(&path)?;
                (
                    table_rows(table, &columns),
                    table.columns.iter().map(|c| c.comment.clone()).collect::<Vec<_>>(),
                )
            }
            CatalogObject::View(view) => {
                let columns = self.planner()?.view_columns(&path, view)?;
                let comments = vec![None; columns.len()];
                (columns.iter().map(|column| row(column, None, String::new(), None)).collect(), comments)
            }
        };
        described(rows, &comments, filter)
    }
}

const INFO: &[&str] = &["info name", "info value"];

fn info(name: &str, value: &str) -> Row {
    vec![Some(name.to_owned()), Some(value.to_owned())]
}

fn table_rows(table: &CatalogTable, columns: &[OutputColumn]) -> Vec<Row> {
    let of_column = |name: &str| columns.iter().find(|c| c.name == name);
    let rows = table.columns.iter().map(|column| {
        let key = table.primary_key.contains(&column.name);
        let key = key.then(|| format!("PRI({})", table.primary_key.join(", ")));
        let watermark = table.watermark.as_ref().filter(|w| w.column == column.name);
        let output = of_column(&column.name).cloned().unwrap_or_else(|| OutputColumn {
            name: column.name.clone(),
            sql_type: column.sql_type.clone(),
            time: None,
        });
        row(&output, key, ddl::extras(column), watermark.map(|w| w.expression.clone()))
    });
    rows.collect()
}

fn row(column: &OutputColumn, key: Option<String>, extras: String, watermark: Option<String>) -> Row {
    let time = match column.time {
        Some(TimeKind::Rowtime) => " *ROWTIME*",
        Some(TimeKind::Proctime) => " *PROCTIME*",
        None => "",
    };
    let kind = format!("{}{time}", column.sql_type.kind);
    let nullable = if column.sql_type.nullable { "TRUE" } else { "FALSE" };
    let extras = Some(extras).filter(|text| !text.is_empty());
    vec![Some(column.name.clone()), Some(kind), Some(nullable.to_owned()), key, extras, watermark]
}

fn described(
    rows: Vec<Row>,
    comments: &[Option<String>],
    filter: Option<&LikeFilter>,
) -> Outcome<TableResult> {
    let mut names = vec!["name", "type", "null", "key", "extras", "watermark"];
    let commented = comments.iter().any(Option::is_some);
    if commented {
        names.push("comment");
    }
    let rows = rows.into_iter().zip(comments).filter_map(|(mut row, comment)| {
        let name = row.first().cloned().flatten().unwrap_or_default();
        if filter.is_some_and(|filter| !passes(filter, &name)) {
            return None;
        }
        if commented {
            row.push(comment.clone());
        }
        Some(row)
    });
    Ok(TableResult::of_texts(&names, rows.collect())?)
}

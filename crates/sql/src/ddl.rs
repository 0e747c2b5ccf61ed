//! Tables and views as the statements that would make them: what `SHOW CREATE` shows.

use flugs_sql_plan::catalog::{CatalogColumn, CatalogTable, CatalogView, ColumnKind, ObjectPath};
use std::fmt::Write;

/// A name in back-quotes.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A text in quotes.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn names(names: &[String]) -> String {
    names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
}

/// A column's type and where its values come from, without its name.
pub(crate) fn column_text(column: &CatalogColumn) -> String {
    match &column.kind {
        ColumnKind::Physical => column.sql_type.to_string(),
        ColumnKind::Computed(expression) => format!("AS {expression}"),
        ColumnKind::Metadata { .. } => format!("{} {}", column.sql_type, extras(column)),
    }
}

/// What `DESCRIBE` says of a column beside its type.
pub(crate) fn extras(column: &CatalogColumn) -> String {
    match &column.kind {
        ColumnKind::Physical => String::new(),
        ColumnKind::Computed(expression) => format!("AS {expression}"),
        ColumnKind::Metadata { key, is_virtual } => {
            let from = if *key == column.name { String::new() } else { format!(" FROM {}", literal(key)) };
            format!("METADATA{from}{}", if *is_virtual { " VIRTUAL" } else { "" })
        }
    }
}

/// The `CREATE TABLE` of a table.
pub(crate) fn create_table(path: &ObjectPath, table: &CatalogTable, temporary: bool) -> String {
    let mut parts: Vec<String> = Vec::new();
    for column in &table.columns {
        let comment = column.comment.as_ref().map(|c| format!(" COMMENT {}", literal(c))).unwrap_or_default();
        parts.push(format!("{} {}{comment}", quoted(&column.name), column_text(column)));
    }
    if let Some(watermark) = &table.watermark {
        parts.push(format!("WATERMARK FOR {} AS {}", quoted(&watermark.column), watermark.expression));
    }
    if !table.primary_key.is_empty() {
        let name =
            table.constraint.as_ref().map(|n| format!("CONSTRAINT {} ", quoted(n))).unwrap_or_default();
        parts.push(format!("{name}PRIMARY KEY ({}) NOT ENFORCED", names(&table.primary_key)));
    }
    let temporary = if temporary { "TEMPORARY " } else { "" };
    let mut text = format!("CREATE {temporary}TABLE {} (\n  {}\n)", path.quoted(), parts.join(",\n  "));
    if let Some(comment) = &table.comment {
        let _ = write!(text, "\nCOMMENT {}", literal(comment));
    }
    if !table.partition_keys.is_empty() {
        let _ = write!(text, "\nPARTITIONED BY ({})", names(&table.partition_keys));
    }
    let options: Vec<String> =
        table.options.iter().map(|(key, value)| format!("  {} = {}", literal(key), literal(value))).collect();
    if !options.is_empty() {
        let _ = write!(text, "\nWITH (\n{}\n)", options.join(",\n"));
    }
    text.push('\n');
    text
}

/// The `CREATE VIEW` of a view.
pub(crate) fn create_view(path: &ObjectPath, view: &CatalogView, temporary: bool) -> String {
    let temporary = if temporary { "TEMPORARY " } else { "" };
    let columns: Vec<String> = view.columns.iter().map(|(name, _)| format!("  {}", quoted(name))).collect();
    let comment = view.comment.as_ref().map(|c| format!("COMMENT {}\n", literal(c))).unwrap_or_default();
    format!(
        "CREATE {temporary}VIEW {} (\n{}\n)\n{comment}AS {}\n",
        path.quoted(),
        columns.join(",\n"),
        view.query
    )
}

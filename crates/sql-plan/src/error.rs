//! Errors of planning as errors of the text: SQL's words, a place, an edit.
//!
//! Whatever a layer below says comes out as a [`SqlError`] that names SQL's types and the user's own names ([`words`],
//! [`phrases`]), and with a place: where the layer gave none, the name that the message is about is looked up in the text
//! ([`place`]).

mod phrases;
mod place;
mod words;

pub(crate) use place::{find, placed};

use crate::bind::MARK;
use datafusion_common::{Column, DataFusionError, SchemaError};
use flugs_sql_parser::{Location, Span, SqlError, SqlErrorKind};
use flugs_table::nearest;
use flugs_types::Error;

/// The result of planning.
pub type PlanResult<T> = std::result::Result<T, SqlError>;

/// How many columns a message lists.
const LISTED: usize = 20;

/// What is not supported, in words of the user.
pub(crate) fn unsupported(what: impl Into<String>) -> SqlError {
    SqlError::unsupported(what)
}

/// A query that makes no sense.
pub(crate) fn semantic(what: impl Into<String>) -> SqlError {
    SqlError::new(SqlErrorKind::Semantic, what)
}

/// An error of a lower layer, whose message already says all.
pub(crate) fn lower(e: Error) -> SqlError {
    let text = e.to_string();
    let text = text.strip_prefix("job error: ").unwrap_or(&text);
    match text.rsplit_once("; ") {
        Some((message, mend)) => semantic(message).help(mend),
        None => phrases::advised(semantic(text)),
    }
}

/// An error of DataFusion's.
pub(crate) fn planning(e: DataFusionError) -> SqlError {
    let span = e.diagnostic().and_then(|d| d.span).map(|span| {
        Span::new(
            Location::new(span.start.line, span.start.column),
            Location::new(span.end.line, span.end.column),
        )
    });
    let error = match e.find_root() {
        DataFusionError::SchemaError(schema, _) => of_schema(schema),
        DataFusionError::External(source) => match source.downcast_ref::<SqlError>() {
            Some(own) => own.clone(),
            None => phrases::translated(&source.to_string()),
        },
        DataFusionError::NotImplemented(what) => {
            SqlError { kind: SqlErrorKind::Unsupported, ..phrases::translated(what) }
        }
        DataFusionError::Plan(what) => of_plan(what),
        other => phrases::translated(&other.strip_backtrace()),
    };
    let help = error.help.map(|help| help.replace(MARK, ""));
    let error = SqlError { message: error.message.replace(MARK, ""), help, ..error };
    match span {
        Some(span) => error.at(span),
        None => error,
    }
}

fn of_plan(what: &str) -> SqlError {
    let Some(name) = what.strip_prefix("Invalid function '").and_then(|rest| rest.split('\'').next()) else {
        return phrases::translated(what);
    };
    let error = SqlError::new(SqlErrorKind::Name, format!("there is no function '{name}'"));
    let near = what.split("Did you mean '").nth(1).and_then(|rest| rest.split('\'').next());
    let upper = name.to_uppercase();
    // A name that is wholly another is no slip of the keyboard.
    match near.map(str::to_uppercase).and_then(|near| nearest(&upper, [near.as_str()]).map(str::to_owned)) {
        Some(near) => error.help(format!("did you mean '{near}'?")),
        None if phrases::WINDOW_FUNCTIONS.contains(&upper.as_str()) => {
            semantic(format!("{upper} stands before OVER"))
                .help(format!("write {upper}(...) OVER (PARTITION BY ... ORDER BY ...)"))
        }
        None => error.help("SHOW FUNCTIONS lists all that there are"),
    }
}

fn of_schema(error: &SchemaError) -> SqlError {
    let named = |message: String| SqlError::new(SqlErrorKind::Name, message);
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let error = named(format!("there is no column '{}' here", shown(field)));
            // Tables that the optimizer has made are no names of the query.
            let is_made = |c: &&Column| c.relation.as_ref().is_some_and(|t| t.table().starts_with("__"));
            let valid_fields: Vec<Column> = valid_fields.iter().filter(|c| !is_made(c)).cloned().collect();
            match (mend_of(field, &valid_fields), valid_fields.is_empty()) {
                (Some(mend), _) => error.help(mend),
                (None, true) => error.help("nothing that has columns stands before it"),
                (None, false) => {
                    let listed = valid_fields.iter().take(LISTED).map(shown).collect::<Vec<_>>().join(", ");
                    let more = if valid_fields.len() > LISTED { ", ..." } else { "" };
                    error.help(format!("the columns are {listed}{more}"))
                }
            }
        }
        SchemaError::AmbiguousReference { field } => {
            named(format!("column '{}' may be that of more than one table", field.name))
                .help("write the name or alias of the table before it")
        }
        SchemaError::DuplicateQualifiedField { name, .. }
        | SchemaError::DuplicateUnqualifiedField { name } => named(format!("there are two columns '{name}'"))
            .help("give one of them, or its table, another name with AS"),
    }
}

/// What the column was perhaps meant to be.
fn mend_of(field: &Column, known: &[Column]) -> Option<String> {
    // The same name in another table: the qualifier is what is wrong.
    if let Some(same) = known.iter().find(|c| c.name == field.name && field.relation.is_some()) {
        return Some(format!("did you mean '{}'?", shown(same)));
    }
    let beside = known.iter().filter(|c| field.relation.is_none() || c.relation == field.relation);
    let near = nearest(&field.name, beside.map(|c| c.name.as_str()))?;
    (near != field.name).then(|| format!("did you mean '{near}'?"))
}

fn shown(column: &Column) -> String {
    match &column.relation {
        Some(relation) => format!("{}.{}", relation.table(), column.name),
        None => column.name.clone(),
    }
}

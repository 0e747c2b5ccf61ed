//! Errors of planning as errors of the text.

use datafusion_common::{Column, DataFusionError, SchemaError};
use flugs_sql_parser::{Location, Span, SqlError, SqlErrorKind};
use flugs_table::nearest;
use flugs_types::Error;

/// The result of planning.
pub type PlanResult<T> = std::result::Result<T, SqlError>;

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
        Some((message, mend)) => SqlError::new(SqlErrorKind::Semantic, message).help(mend),
        None => SqlError::new(SqlErrorKind::Semantic, text),
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
            None => match source.downcast_ref::<Error>() {
                Some(_) => SqlError::new(SqlErrorKind::Semantic, source.to_string()),
                None => semantic(source.to_string()),
            },
        },
        DataFusionError::NotImplemented(what) => unsupported(first_line(what)),
        DataFusionError::Plan(what) => of_plan(what),
        other => semantic(first_line(&other.strip_backtrace())),
    };
    match span {
        Some(span) => error.at(span),
        None => error,
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut line = line.trim_end_matches('.').to_owned();
    // The words of a sentence in the middle of ours.
    for prefix in ["Error during planning: ", "This feature is not implemented: ", "Schema error: "] {
        if let Some(rest) = line.strip_prefix(prefix) {
            line = rest.to_owned();
        }
    }
    line
}

fn of_plan(what: &str) -> SqlError {
    let line = first_line(what);
    if let Some(name) = line.strip_prefix("Invalid function '").and_then(|rest| rest.split('\'').next()) {
        let error = SqlError::new(SqlErrorKind::Name, format!("there is no function '{name}'"));
        let near = what.split("Did you mean '").nth(1).and_then(|rest| rest.split('\'').next());
        return match near {
            Some(near) => error.help(format!("did you mean '{}'?", near.to_uppercase())),
            None => error,
        };
    }
    semantic(line)
}

fn of_schema(error: &SchemaError) -> SqlError {
    let named = |message: String| SqlError::new(SqlErrorKind::Name, message);
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let error = named(format!("there is no column '{}' here", shown(field)));
            let known: Vec<String> = valid_fields.iter().map(|c| c.name.clone()).collect();
            let names = known.iter().map(String::as_str);
            match nearest(&field.name, names) {
                Some(near) if near != field.name => error.help(format!("did you mean '{near}'?")),
                _ if known.is_empty() => error,
                _ => {
                    let listed = valid_fields.iter().take(20).map(shown).collect::<Vec<_>>().join(", ");
                    error.help(format!("the columns are {listed}"))
                }
            }
        }
        SchemaError::AmbiguousReference { field } => {
            named(format!("column '{}' may be that of more than one table", field.name))
                .help("write the name or alias of the table before it")
        }
        SchemaError::DuplicateQualifiedField { name, .. }
        | SchemaError::DuplicateUnqualifiedField { name } => {
            named(format!("there are two columns '{name}'")).help("give one of them another name with AS")
        }
    }
}

fn shown(column: &Column) -> String {
    match &column.relation {
        Some(relation) => format!("{}.{}", relation.table(), column.name),
        None => column.name.clone(),
    }
}

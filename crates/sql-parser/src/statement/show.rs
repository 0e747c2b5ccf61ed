//! `SHOW`.

use super::{name, partition};
use crate::ast::show::{LikeFilter, Show, ShowObject};
use crate::cursor::{Step, accept, at_words, fail, here, identifier, string};
use crate::words;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

/// The words that may follow `SHOW`.
#[rustfmt::skip]
const OBJECTS: &[&str] = &[
    "CATALOGS", "COLUMNS", "CREATE", "CURRENT", "DATABASES", "FUNCTIONS", "JARS", "JOBS", "MODULES",
    "PARTITIONS", "PROCEDURES", "TABLES", "VIEWS",
];

pub(super) fn show(p: &mut Parser) -> Step<Show> {
    p.advance_token();
    let (object, takes_from) = object(p)?;
    let from = match takes_from && (accept(p, &["FROM"]) || accept(p, &["IN"])) {
        true => Some(name(p, "the name of a catalog or database")?),
        false => None,
    };
    Ok(Show { object, from, filter: filter(p)? })
}

/// What is shown, and whether `FROM` may follow.
fn object(p: &mut Parser) -> Step<(ShowObject, bool)> {
    let span = here(p);
    Ok(match () {
        () if accept(p, &["CATALOGS"]) => (ShowObject::Catalogs, false),
        () if accept(p, &["CURRENT", "CATALOG"]) => (ShowObject::CurrentCatalog, false),
        () if accept(p, &["CURRENT", "DATABASE"]) => (ShowObject::CurrentDatabase, false),
        () if accept(p, &["DATABASES"]) => (ShowObject::Databases, true),
        () if accept(p, &["TABLES"]) => (ShowObject::Tables, true),
        () if accept(p, &["VIEWS"]) => (ShowObject::Views, true),
        () if accept(p, &["USER", "FUNCTIONS"]) => (ShowObject::Functions { user: true }, true),
        () if accept(p, &["FUNCTIONS"]) => (ShowObject::Functions { user: false }, true),
        () if accept(p, &["COLUMNS"]) => {
            if !accept(p, &["FROM"]) && !accept(p, &["IN"]) {
                return p.expected_ref("FROM and the name of a table", p.peek_token_ref());
            }
            (ShowObject::Columns(name(p, "the name of a table")?), false)
        }
        () if accept(p, &["PARTITIONS"]) => {
            let table = name(p, "the name of a table")?;
            (ShowObject::Partitions(table, partition(p)?), false)
        }
        () if accept(p, &["CREATE", "TABLE"]) => {
            (ShowObject::CreateTable(name(p, "the name of a table")?), false)
        }
        () if accept(p, &["CREATE", "VIEW"]) => {
            (ShowObject::CreateView(name(p, "the name of a view")?), false)
        }
        () if accept(p, &["CREATE", "CATALOG"]) => {
            (ShowObject::CreateCatalog(identifier(p, "the name of a catalog")?), false)
        }
        () if accept(p, &["FULL", "MODULES"]) => (ShowObject::Modules { full: true }, false),
        () if accept(p, &["MODULES"]) => (ShowObject::Modules { full: false }, false),
        () if accept(p, &["JOBS"]) => (ShowObject::Jobs, false),
        () if accept(p, &["JARS"]) => (ShowObject::Jars, false),
        () if accept(p, &["PROCEDURES"]) => (ShowObject::Procedures, true),
        () if at_words(p, &["CREATE"]) || at_words(p, &["CURRENT"]) => {
            let (word, what) = match at_words(p, &["CREATE"]) {
                true => ("CREATE", "TABLE, VIEW or CATALOG"),
                false => ("CURRENT", "CATALOG or DATABASE"),
            };
            accept(p, &[word]);
            return p.expected_ref(what, p.peek_token_ref());
        }
        () => {
            let token = p.peek_token_ref().token.to_string();
            return match words::nearest(&token, OBJECTS.iter().copied()) {
                Some(near) => {
                    Err(fail(format!("there is no SHOW {token}"), span, format!("did you mean `{near}`?")))
                }
                None => p.expected_ref(
                    "CATALOGS, DATABASES, TABLES, VIEWS, FUNCTIONS or COLUMNS",
                    p.peek_token_ref(),
                ),
            };
        }
    })
}

fn filter(p: &mut Parser) -> Step<Option<LikeFilter>> {
    let negated = accept(p, &["NOT"]);
    let ignore_case = accept(p, &["ILIKE"]);
    if !ignore_case && !accept(p, &["LIKE"]) {
        return match negated {
            true => p.expected_ref("LIKE or ILIKE", p.peek_token_ref()),
            false => Ok(None),
        };
    }
    if let Token::Word(word) = &p.peek_token_ref().token {
        return Err(fail("the pattern is a string", here(p), format!("write it as '{}'", word.value)));
    }
    Ok(Some(LikeFilter { pattern: string(p, "the pattern")?, negated, ignore_case }))
}

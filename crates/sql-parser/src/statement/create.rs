//! `CREATE`.

use super::table::{Parentheses, distribution, parentheses, set_once};
use super::{Scope, comment, if_not_exists, name, options, with_options};
use crate::ast::Statement;
use crate::ast::create::{
    CreateCatalog, CreateDatabase, CreateFunction, CreateTable, CreateView, FunctionLanguage, Like,
    LikeBehaviour, LikeOption, LikeTarget, Resource, ResourceKind, TableSpec,
};
use crate::cursor::{Step, accept, at, expect, fail, here, identifier, identifiers, string};
use crate::diagnostic::SqlError;
use crate::{mistake, words};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

/// What stands between `CREATE` and the kind of object.
#[derive(Clone, Copy)]
struct Manner {
    or_replace: bool,
    temporary: bool,
    system: bool,
}

pub(super) fn create(s: &Scope<'_>, p: &mut Parser) -> Step<Statement> {
    let start = here(p);
    let or_replace = match accept(p, &["REPLACE"]) {
        true => true,
        false => {
            expect(p, &["CREATE"])?;
            accept(p, &["OR", "REPLACE"])
        }
    };
    let temporary = accept(p, &["TEMPORARY"]);
    let manner = Manner { or_replace, temporary, system: temporary && accept(p, &["SYSTEM"]) };
    let span = here(p);
    let statement = match () {
        () if accept(p, &["TABLE"]) => Statement::CreateTable(Box::new(table(s, p, manner)?)),
        () if accept(p, &["VIEW"]) => Statement::CreateView(view(s, p, manner)?),
        () if accept(p, &["FUNCTION"]) => Statement::CreateFunction(create_function(p, manner)?),
        () if accept(p, &["CATALOG"]) => Statement::CreateCatalog(catalog(p)?),
        () if accept(p, &["DATABASE"]) => Statement::CreateDatabase(database(p)?),
        () => return unknown_kind(p),
    };
    let fits = match &statement {
        Statement::CreateTable(table) if or_replace && table.query.is_none() => {
            Err(("REPLACE TABLE misses its AS query", "drop the table first, or write AS SELECT ..."))
        }
        Statement::CreateFunction(_) if or_replace => {
            Err(("CREATE OR REPLACE FUNCTION is not supported", "drop it first"))
        }
        Statement::CreateCatalog(_) | Statement::CreateDatabase(_) if or_replace || temporary => {
            Err(("catalogs and databases are neither temporary nor replaced", "remove the word before it"))
        }
        Statement::CreateTable(_) | Statement::CreateView(_) if manner.system => {
            Err(("only functions are SYSTEM", "remove SYSTEM"))
        }
        _ => Ok(statement),
    };
    fits.map_err(|(message, help)| fail(message, start.union(&span), help))
}

fn unknown_kind(p: &mut Parser) -> Step<Statement> {
    const KINDS: &[&str] = &["TABLE", "VIEW", "FUNCTION", "CATALOG", "DATABASE", "TEMPORARY"];
    let token = p.peek_token_ref().clone();
    let word = token.token.to_string();
    let absent = ["MATERIALIZED", "MODEL", "CONNECTION"].iter().find(|kind| at(p, kind));
    if let Some(kind) = absent {
        let error = SqlError::unsupported(format!("CREATE {kind} is not supported")).at(token.span);
        return Err(mistake::relay(match *kind {
            "MATERIALIZED" => error.help("write CREATE TABLE and INSERT INTO it, or CREATE VIEW"),
            _ => error,
        }));
    }
    match words::nearest(&word, KINDS.iter().copied()) {
        Some(near) => {
            Err(fail(format!("there is no CREATE {word}"), token.span, format!("did you mean `{near}`?")))
        }
        None => p.expected("TABLE, VIEW, FUNCTION, DATABASE or CATALOG", token),
    }
}

fn table(s: &Scope<'_>, p: &mut Parser, manner: Manner) -> Step<CreateTable> {
    let if_not_exists = if_not_exists(p)?;
    let name = name(p, "the name of the table")?;
    let (spec, column_order) = match p.peek_token_ref().token {
        Token::LParen => match parentheses(s, p)? {
            Parentheses::Spec(spec) => (spec, vec![]),
            Parentheses::Order(order) => (TableSpec::default(), order),
        },
        _ => (TableSpec::default(), vec![]),
    };
    let order_span = column_order.first().map(|ident| (ident.value.clone(), ident.span));
    let mut table = CreateTable {
        name,
        temporary: manner.temporary,
        if_not_exists,
        or_replace: manner.or_replace,
        spec,
        column_order,
        comment: None,
        distribution: None,
        partitioned_by: vec![],
        options: vec![],
        like: None,
        query: None,
    };
    clauses(s, p, &mut table)?;
    match order_span {
        Some((column, span)) if table.query.is_none() => {
            Err(fail(format!("the column `{column}` has no type"), span, "write the type behind its name"))
        }
        _ => Ok(table),
    }
}

/// What stands behind the parentheses, in Flink's order.
fn clauses(s: &Scope<'_>, p: &mut Parser, table: &mut CreateTable) -> Step<()> {
    let mut with = None;
    loop {
        let span = here(p);
        match () {
            () if at(p, "COMMENT") => {
                let text = comment(p)?.unwrap_or_default();
                set_once(&mut table.comment, text, span, "COMMENT")?;
            }
            () if accept(p, &["DISTRIBUTED"]) => {
                set_once(&mut table.distribution, distribution(p)?, span, "DISTRIBUTED")?
            }
            () if accept(p, &["PARTITIONED", "BY"]) => {
                table.partitioned_by = identifiers(p, "the name of a column")?
            }
            () if accept(p, &["WITH"]) => set_once(&mut with, options(p)?, span, "WITH")?,
            () if accept(p, &["LIKE"]) => set_once(&mut table.like, like(p)?, span, "LIKE")?,
            () if at(p, "AS") && table.query.is_none() => {
                p.advance_token();
                table.query = Some(s.query(p)?);
            }
            () => break,
        }
    }
    table.options = with.unwrap_or_default();
    match &p.peek_token_ref().token {
        Token::EOF | Token::SemiColon => Ok(()),
        Token::RParen => p.expected_ref("end of statement", p.peek_token_ref()),
        _ => p.expected_ref("WITH, PARTITIONED BY, LIKE, AS or the end of the statement", p.peek_token_ref()),
    }
}

fn like(p: &mut Parser) -> Step<Like> {
    let table = name(p, "the name of a table")?;
    let mut like = Like { table, options: vec![] };
    if !p.consume_token(&Token::LParen) {
        return Ok(like);
    }
    while !p.consume_token(&Token::RParen) {
        like.options.push(LikeOption { behaviour: behaviour(p)?, target: target(p)? });
        let _ = p.consume_token(&Token::Comma);
    }
    Ok(like)
}

fn behaviour(p: &mut Parser) -> Step<LikeBehaviour> {
    match () {
        () if accept(p, &["INCLUDING"]) => Ok(LikeBehaviour::Including),
        () if accept(p, &["EXCLUDING"]) => Ok(LikeBehaviour::Excluding),
        () if accept(p, &["OVERWRITING"]) => Ok(LikeBehaviour::Overwriting),
        () => p.expected_ref("INCLUDING, EXCLUDING or OVERWRITING", p.peek_token_ref()),
    }
}

fn target(p: &mut Parser) -> Step<LikeTarget> {
    let targets = [
        ("ALL", LikeTarget::All),
        ("CONSTRAINTS", LikeTarget::Constraints),
        ("DISTRIBUTION", LikeTarget::Distribution),
        ("GENERATED", LikeTarget::Generated),
        ("METADATA", LikeTarget::Metadata),
        ("OPTIONS", LikeTarget::Options),
        ("PARTITIONS", LikeTarget::Partitions),
        ("WATERMARKS", LikeTarget::Watermarks),
    ];
    match targets.into_iter().find(|(word, _)| accept(p, &[word])) {
        Some((_, target)) => Ok(target),
        None => {
            let expected =
                "ALL, CONSTRAINTS, DISTRIBUTION, GENERATED, METADATA, OPTIONS, PARTITIONS or WATERMARKS";
            p.expected_ref(expected, p.peek_token_ref())
        }
    }
}

fn view(s: &Scope<'_>, p: &mut Parser, manner: Manner) -> Step<CreateView> {
    let if_not_exists = if_not_exists(p)?;
    let name = name(p, "the name of the view")?;
    let columns = match p.consume_token(&Token::LParen) {
        true => {
            let columns =
                p.parse_comma_separated(|p| Ok((identifier(p, "the name of a column")?, comment(p)?)))?;
            p.expect_token(&Token::RParen)?;
            columns
        }
        false => vec![],
    };
    let comment = comment(p)?;
    if !accept(p, &["AS"]) {
        return Err(fail("the view misses its AS", here(p), "write CREATE VIEW v AS SELECT ..."));
    }
    let query = s.query(p)?;
    let Manner { or_replace, temporary, .. } = manner;
    Ok(CreateView { name, temporary, if_not_exists, or_replace, columns, comment, query })
}

fn create_function(p: &mut Parser, manner: Manner) -> Step<CreateFunction> {
    let if_not_exists = if_not_exists(p)?;
    let name = name(p, "the name of the function")?;
    expect(p, &["AS"])?;
    let class = string(p, "the name of the class")?;
    let language = language(p)?;
    let mut resources = Vec::new();
    if accept(p, &["USING"]) {
        resources = p.parse_comma_separated(resource)?;
    }
    let options = with_options(p)?;
    let Manner { temporary, system, .. } = manner;
    Ok(CreateFunction { name, temporary, system, if_not_exists, class, language, resources, options })
}

/// `LANGUAGE l`.
pub(super) fn language(p: &mut Parser) -> Step<Option<FunctionLanguage>> {
    if !accept(p, &["LANGUAGE"]) {
        return Ok(None);
    }
    let token = p.next_token();
    let Token::Word(word) = &token.token else { return p.expected("JAVA, SCALA or PYTHON", token) };
    Ok(Some(match word.value.to_ascii_uppercase().as_str() {
        "JAVA" => FunctionLanguage::Java,
        "SCALA" => FunctionLanguage::Scala,
        "PYTHON" => FunctionLanguage::Python,
        other => FunctionLanguage::Other(other.to_string()),
    }))
}

fn resource(p: &mut Parser) -> Step<Resource> {
    let kinds = [
        ("JAR", ResourceKind::Jar),
        ("FILE", ResourceKind::File),
        ("ARCHIVE", ResourceKind::Archive),
        ("ARTIFACT", ResourceKind::Artifact),
    ];
    match kinds.into_iter().find(|(word, _)| accept(p, &[word])) {
        Some((_, kind)) => Ok(Resource { kind, uri: string(p, "the address of the file")? }),
        None => p.expected_ref("JAR, FILE, ARCHIVE or ARTIFACT", p.peek_token_ref()),
    }
}

fn catalog(p: &mut Parser) -> Step<CreateCatalog> {
    let if_not_exists = if_not_exists(p)?;
    let name = identifier(p, "the name of the catalog")?;
    Ok(CreateCatalog { name, if_not_exists, comment: comment(p)?, options: with_options(p)? })
}

fn database(p: &mut Parser) -> Step<CreateDatabase> {
    let if_not_exists = if_not_exists(p)?;
    let name = name(p, "the name of the database")?;
    Ok(CreateDatabase { name, if_not_exists, comment: comment(p)?, options: with_options(p)? })
}

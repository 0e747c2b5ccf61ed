//! `ALTER`.

use super::create::language;
use super::table::{Entry, distribution, entry, more, set_once};
use super::{Scope, if_exists, if_not_exists, name, option_keys, options, partition, with_options};
use crate::ast::Statement;
use crate::ast::alter::{
    AddOrModify, AlterCatalog, AlterDatabase, AlterFunction, AlterTable, AlterTableAction, AlterView,
    AlterViewAction, CatalogAction, ColumnPosition, PositionedColumn,
};
use crate::ast::create::PrimaryKey;
use crate::cursor::{Step, accept, at, at_nth, expect, here, identifier, identifiers, string};
use sqlparser::ast::Ident;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

pub(super) fn alter(s: &Scope<'_>, p: &mut Parser) -> Step<Statement> {
    p.advance_token();
    let temporary = accept(p, &["TEMPORARY"]);
    let system = temporary && accept(p, &["SYSTEM"]);
    if temporary && !at(p, "FUNCTION") {
        return p.expected_ref("FUNCTION", p.peek_token_ref());
    }
    match () {
        () if accept(p, &["TABLE"]) => table(s, p).map(Statement::AlterTable),
        () if accept(p, &["VIEW"]) => view(s, p).map(Statement::AlterView),
        () if accept(p, &["FUNCTION"]) => function(p, temporary, system).map(Statement::AlterFunction),
        () if accept(p, &["CATALOG"]) => catalog(p).map(Statement::AlterCatalog),
        () if accept(p, &["DATABASE"]) => {
            let name = name(p, "the name of a database")?;
            expect(p, &["SET"])?;
            Ok(Statement::AlterDatabase(AlterDatabase { name, options: options(p)? }))
        }
        () => p.expected_ref("TABLE, VIEW, FUNCTION, DATABASE or CATALOG", p.peek_token_ref()),
    }
}

fn view(s: &Scope<'_>, p: &mut Parser) -> Step<AlterView> {
    let view = name(p, "the name of a view")?;
    let action = match () {
        () if accept(p, &["RENAME", "TO"]) => AlterViewAction::Rename(name(p, "the new name of the view")?),
        () if accept(p, &["AS"]) => AlterViewAction::As(s.query(p)?),
        () => return p.expected_ref("RENAME TO or AS", p.peek_token_ref()),
    };
    Ok(AlterView { name: view, action })
}

fn function(p: &mut Parser, temporary: bool, system: bool) -> Step<AlterFunction> {
    let if_exists = if_exists(p)?;
    let name = name(p, "the name of a function")?;
    expect(p, &["AS"])?;
    let class = string(p, "the name of the class")?;
    Ok(AlterFunction { name, temporary, system, if_exists, class, language: language(p)? })
}

fn catalog(p: &mut Parser) -> Step<AlterCatalog> {
    let name = identifier(p, "the name of a catalog")?;
    let action = match () {
        () if accept(p, &["SET"]) => CatalogAction::SetOptions(options(p)?),
        () if accept(p, &["RESET"]) => CatalogAction::ResetOptions(option_keys(p)?),
        () if accept(p, &["COMMENT"]) => CatalogAction::Comment(string(p, "the comment")?),
        () => return p.expected_ref("SET, RESET or COMMENT", p.peek_token_ref()),
    };
    Ok(AlterCatalog { name, action })
}

fn table(s: &Scope<'_>, p: &mut Parser) -> Step<AlterTable> {
    let if_exists = if_exists(p)?;
    let name = name(p, "the name of a table")?;
    let action = match () {
        () if accept(p, &["RENAME"]) => rename(p)?,
        () if accept(p, &["SET"]) => AlterTableAction::SetOptions(options(p)?),
        () if accept(p, &["RESET"]) => AlterTableAction::ResetOptions(option_keys(p)?),
        () if accept(p, &["ADD"]) => match at(p, "PARTITION") || (at(p, "IF") && at_nth(p, 3, "PARTITION")) {
            true => add_partitions(p)?,
            false => AlterTableAction::Add(changes(s, p)?),
        },
        () if accept(p, &["MODIFY"]) => AlterTableAction::Modify(changes(s, p)?),
        () if accept(p, &["DROP"]) => drop(p)?,
        () => return p.expected_ref("RENAME, SET, RESET, ADD, MODIFY or DROP", p.peek_token_ref()),
    };
    Ok(AlterTable { name, if_exists, action })
}

fn rename(p: &mut Parser) -> Step<AlterTableAction> {
    if accept(p, &["TO"]) {
        return name(p, "the new name of the table").map(AlterTableAction::Rename);
    }
    let _ = accept(p, &["COLUMN"]);
    let from = identifier(p, "TO or the name of a column")?;
    expect(p, &["TO"])?;
    Ok(AlterTableAction::RenameColumn { from, to: identifier(p, "the new name of the column")? })
}

fn add_partitions(p: &mut Parser) -> Step<AlterTableAction> {
    let if_not_exists = if_not_exists(p)?;
    let mut partitions = Vec::new();
    while at(p, "PARTITION") {
        let entries = partition(p)?;
        partitions.push((entries, with_options(p)?));
    }
    Ok(AlterTableAction::AddPartitions { if_not_exists, partitions })
}

fn drop(p: &mut Parser) -> Step<AlterTableAction> {
    Ok(match () {
        () if accept(p, &["PRIMARY", "KEY"]) => AlterTableAction::DropPrimaryKey,
        () if accept(p, &["CONSTRAINT"]) => {
            AlterTableAction::DropConstraint(identifier(p, "the name of the constraint")?)
        }
        () if at(p, "WATERMARK") && p.peek_nth_token_ref(1).token == Token::EOF => {
            p.advance_token();
            AlterTableAction::DropWatermark
        }
        () if at(p, "DISTRIBUTION") && p.peek_nth_token_ref(1).token == Token::EOF => {
            p.advance_token();
            AlterTableAction::DropDistribution
        }
        () if at(p, "PARTITION") || (at(p, "IF") && at_nth(p, 2, "PARTITION")) => {
            let if_exists = if_exists(p)?;
            let partitions = p.parse_comma_separated(partition)?;
            AlterTableAction::DropPartitions { if_exists, partitions }
        }
        () if p.peek_token_ref().token == Token::LParen => {
            AlterTableAction::DropColumns(identifiers(p, "the name of a column")?)
        }
        () => {
            let _ = accept(p, &["COLUMN"]);
            AlterTableAction::DropColumns(vec![identifier(p, "the name of a column")?])
        }
    })
}

/// What `ADD` or `MODIFY` names: one entry, or several in parentheses.
fn changes(s: &Scope<'_>, p: &mut Parser) -> Step<AddOrModify> {
    let mut changes = AddOrModify::default();
    if accept(p, &["DISTRIBUTION"]) {
        changes.distribution = Some(distribution(p)?);
        return Ok(changes);
    }
    if !p.consume_token(&Token::LParen) {
        let _ = accept(p, &["COLUMN"]);
        change(s, p, &mut changes)?;
        return Ok(changes);
    }
    loop {
        change(s, p, &mut changes)?;
        if !more(p)? {
            return Ok(changes);
        }
    }
}

fn change(s: &Scope<'_>, p: &mut Parser, changes: &mut AddOrModify) -> Step<()> {
    let span = here(p);
    match entry(s, p)? {
        Entry::Column(column, key) => {
            let position = position(p)?;
            changes.columns.push(PositionedColumn { column, position });
            match key {
                Some(key) => set_once::<PrimaryKey>(&mut changes.primary_key, key, span, "primary key"),
                None => Ok(()),
            }
        }
        Entry::Watermark(watermark) => set_once(&mut changes.watermark, watermark, span, "watermark"),
        Entry::PrimaryKey(key) => set_once(&mut changes.primary_key, key, span, "primary key"),
    }
}

fn position(p: &mut Parser) -> Step<Option<ColumnPosition>> {
    match () {
        () if accept(p, &["FIRST"]) => Ok(Some(ColumnPosition::First)),
        () if accept(p, &["AFTER"]) => {
            let column: Ident = identifier(p, "the name of a column")?;
            Ok(Some(ColumnPosition::After(column)))
        }
        () => Ok(None),
    }
}

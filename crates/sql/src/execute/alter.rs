//! `ALTER` statements.

use super::Executed;
use crate::environment::SqlEnvironment;
use crate::failure::{Outcome, placed, semantic};
use crate::result::TableResult;
use flugs_sql_parser::{
    AddOrModify, AlterCatalog, AlterDatabase, AlterFunction, AlterTable, AlterTableAction, AlterView,
    AlterViewAction, ColumnPosition, CreateView, Ident, Name, Query, Span, SqlError, SqlErrorKind, TableSpec,
};
use flugs_sql_plan::Planner;
use flugs_sql_plan::catalog::{CatalogObject, CatalogTable, ColumnKind, ObjectPath};
use flugs_table::nearest;

impl SqlEnvironment {
    pub(super) fn alter_table(&mut self, alter: &AlterTable) -> Executed {
        let path = self.path_of(&alter.name)?;
        if alter.if_exists && self.catalogs.object(&path).is_err() {
            return Ok(TableResult::ok());
        }
        let object = self.catalogs.object(&path).map_err(|e| placed(e, alter.name.span()))?.clone();
        let CatalogObject::Table(table) = object.as_ref() else {
            let error = semantic(format!("'{path}' is a view")).at(alter.name.span());
            return Err(error.help("write ALTER VIEW").into());
        };
        if let AlterTableAction::Rename(to) = &alter.action {
            self.rename(&path, to, CatalogObject::Table(table.clone()))?;
            return Ok(TableResult::ok());
        }
        let mut changed = table.clone();
        let planner = self.planner()?;
        change(&planner, &mut changed, &alter.action, alter.name.span())?;
        planner.settle_table(&path, &mut changed, &[])?;
        planner.check_table(&path, &changed)?;
        self.catalogs.alter_object(&path, CatalogObject::Table(changed))?;
        Ok(TableResult::ok())
    }

    pub(super) fn alter_view(&mut self, alter: &AlterView) -> Executed {
        let path = self.path_of(&alter.name)?;
        let object = self.catalogs.object(&path).map_err(|e| placed(e, alter.name.span()))?.clone();
        let CatalogObject::View(view) = object.as_ref() else {
            let error = semantic(format!("'{path}' is a table")).at(alter.name.span());
            return Err(error.help("write ALTER TABLE").into());
        };
        match &alter.action {
            AlterViewAction::Rename(to) => self.rename(&path, to, CatalogObject::View(view.clone()))?,
            AlterViewAction::As(query) => {
                let comment = view.comment.clone();
                let new = self.planner()?.declared_view(&redeclared(&alter.name, comment, query))?;
                self.catalogs.alter_object(&path, CatalogObject::View(new))?;
            }
        }
        Ok(TableResult::ok())
    }

    /// Gives a table or view another name in its database.
    fn rename(&mut self, from: &ObjectPath, to: &Name, object: CatalogObject) -> Outcome<()> {
        let target = match to.0.len() {
            1 => ObjectPath { name: to.object().to_owned(), ..from.clone() },
            _ => self.path_of(to)?,
        };
        if !target.is_beside(from) {
            let error = semantic(format!("'{target}' is in another database than '{from}'")).at(to.span());
            return Err(error.help("a table keeps its database").into());
        }
        let temporary = self.catalogs.is_temporary(from);
        self.catalogs.create_object(target, object, temporary, false).map_err(|e| placed(e, to.span()))?;
        self.catalogs.drop_object(from, temporary)?;
        Ok(())
    }

    pub(super) fn alter_function(&mut self, alter: &AlterFunction) -> Executed {
        if !super::create::is_rust(alter.language.as_ref()) {
            return Err(SqlError::unsupported("functions of other languages are not supported")
                .at(alter.name.span())
                .into());
        }
        let parts: Vec<String> = alter.name.parts().map(str::to_owned).collect();
        if self.catalogs.function(&parts).is_none() {
            if alter.if_exists {
                return Ok(TableResult::ok());
            }
            return Err(semantic(format!("there is no function {} of the session's own", alter.name))
                .at(alter.name.span())
                .into());
        }
        let function = self.registered(&alter.class, alter.name.span())?;
        let path = self.path_of(&alter.name)?;
        match alter.system {
            true => self.catalogs.create_system_function(alter.name.object(), function, true)?,
            false => self.catalogs.create_function(path, function, alter.temporary, true)?,
        }
        Ok(TableResult::ok())
    }

    pub(super) fn alter_catalog(&mut self, alter: AlterCatalog) -> Executed {
        self.catalogs.catalog(&alter.name.value).map_err(|e| placed(e, alter.name.span))?;
        Err(SqlError::unsupported("a catalog in memory has nothing to be altered").at(alter.name.span).into())
    }

    pub(super) fn alter_database(&mut self, alter: AlterDatabase) -> Executed {
        let (catalog, name) = self.database_of(&alter.name)?;
        let database =
            self.catalogs.database_mut(&catalog, &name).map_err(|e| placed(e, alter.name.span()))?;
        database.properties.extend(super::create::properties(&alter.options));
        Ok(TableResult::ok())
    }
}

/// `ALTER VIEW v AS query` as the statement that makes it.
fn redeclared(name: &Name, comment: Option<String>, query: &Query) -> CreateView {
    CreateView {
        name: name.clone(),
        temporary: false,
        if_not_exists: false,
        or_replace: true,
        columns: Vec::new(),
        comment,
        query: query.clone(),
    }
}

/// Makes of a table what an action says.
fn change(planner: &Planner, table: &mut CatalogTable, action: &AlterTableAction, at: Span) -> Outcome<()> {
    match action {
        AlterTableAction::Rename(_) => {}
        AlterTableAction::RenameColumn { from, to } => rename_column(table, from, to)?,
        AlterTableAction::SetOptions(options) => {
            options.iter().for_each(|o| {
                table.options.set(o.key.clone(), o.value.clone());
            });
        }
        AlterTableAction::ResetOptions(keys) => {
            if keys.iter().any(|key| key == "connector") {
                return Err(semantic("a table keeps its connector").at(at).into());
            }
            keys.iter().for_each(|key| {
                table.options.remove(key);
            });
        }
        AlterTableAction::Add(add) => add_to(planner, table, add, at)?,
        AlterTableAction::Modify(modify) => modify_in(planner, table, modify, at)?,
        AlterTableAction::DropColumns(columns) => {
            columns.iter().try_for_each(|column| drop_column(table, column))?;
        }
        AlterTableAction::DropPrimaryKey => {
            if table.primary_key.is_empty() {
                return Err(semantic("the table has no primary key").at(at).into());
            }
            table.primary_key.clear();
            table.constraint = None;
        }
        AlterTableAction::DropConstraint(name) => {
            if table.constraint.as_deref() != Some(name.value.as_str()) {
                return Err(semantic(format!("the table has no constraint '{}'", name.value))
                    .at(name.span)
                    .into());
            }
            table.primary_key.clear();
            table.constraint = None;
        }
        AlterTableAction::DropWatermark => {
            if table.watermark.take().is_none() {
                return Err(semantic("the table has no watermark").at(at).into());
            }
        }
        AlterTableAction::DropDistribution => {
            return Err(semantic("the table has no distribution").at(at).into());
        }
        AlterTableAction::AddPartitions { .. } | AlterTableAction::DropPartitions { .. } => {
            return Err(SqlError::unsupported("partitions come and go with the rows").at(at).into());
        }
    }
    Ok(())
}

fn position(table: &CatalogTable, column: &Ident) -> Result<usize, SqlError> {
    table.columns.iter().position(|c| c.name == column.value).ok_or_else(|| {
        let error = SqlError::new(SqlErrorKind::Name, format!("the table has no column '{}'", column.value))
            .at(column.span);
        match nearest(&column.value, table.columns.iter().map(|c| c.name.as_str())) {
            Some(near) => error.help(format!("did you mean '{near}'?")),
            None => error,
        }
    })
}

/// What uses a column beside rows: nothing else may lose it.
fn user_of(table: &CatalogTable, column: &str) -> Option<String> {
    let uses = |expression: &str| {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        expression.match_indices(column).any(|(at, _)| {
            !expression[..at].ends_with(word) && !expression[at + column.len()..].starts_with(word)
        })
    };
    let computed = table
        .columns
        .iter()
        .find(|c| matches!(&c.kind, ColumnKind::Computed(text) if c.name != column && uses(text)));
    if let Some(computed) = computed {
        return Some(format!("the computed column '{}'", computed.name));
    }
    if table.watermark.as_ref().is_some_and(|w| w.column == column || uses(&w.expression)) {
        return Some("the watermark".to_owned());
    }
    if table.primary_key.iter().any(|key| key == column) {
        return Some("the primary key".to_owned());
    }
    table.partition_keys.iter().any(|key| key == column).then(|| "PARTITIONED BY".to_owned())
}

fn rename_column(table: &mut CatalogTable, from: &Ident, to: &Ident) -> Outcome<()> {
    let at = position(table, from)?;
    if table.column(&to.value).is_some() {
        return Err(semantic(format!("the table has a column '{}' already", to.value)).at(to.span).into());
    }
    if let Some(user) = user_of(table, &from.value).filter(|user| user != "the primary key") {
        return Err(semantic(format!("{user} uses column '{}'", from.value)).at(from.span).into());
    }
    table.primary_key.iter_mut().filter(|key| **key == from.value).for_each(|key| *key = to.value.clone());
    table.columns[at].name = to.value.clone();
    Ok(())
}

fn drop_column(table: &mut CatalogTable, column: &Ident) -> Outcome<()> {
    let at = position(table, column)?;
    if let Some(user) = user_of(table, &column.value) {
        return Err(semantic(format!("{user} uses column '{}'", column.value)).at(column.span).into());
    }
    table.columns.remove(at);
    Ok(())
}

fn spec_of(given: &AddOrModify) -> TableSpec {
    TableSpec {
        columns: given.columns.iter().map(|c| c.column.clone()).collect(),
        watermark: given.watermark.clone(),
        primary_key: given.primary_key.clone(),
    }
}

fn add_to(planner: &Planner, table: &mut CatalogTable, add: &AddOrModify, at: Span) -> Outcome<()> {
    if add.watermark.is_some() && table.watermark.is_some() {
        return Err(semantic("the table has a watermark already").at(at).help("write MODIFY").into());
    }
    if add.primary_key.is_some() && !table.primary_key.is_empty() {
        return Err(semantic("the table has a primary key already").at(at).help("write MODIFY").into());
    }
    distribution(add, at)?;
    planner.add_spec(table, &spec_of(add), None)?;
    place(table, add)
}

fn modify_in(planner: &Planner, table: &mut CatalogTable, modify: &AddOrModify, at: Span) -> Outcome<()> {
    if modify.watermark.is_some() && table.watermark.is_none() {
        return Err(semantic("the table has no watermark").at(at).help("write ADD").into());
    }
    if modify.primary_key.is_some() && table.primary_key.is_empty() {
        return Err(semantic("the table has no primary key").at(at).help("write ADD").into());
    }
    distribution(modify, at)?;
    // A column is modified in its place: taken out, declared anew, and put back.
    let mut places = Vec::new();
    for given in &modify.columns {
        let from = position(table, &given.column.name)?;
        places.push(from);
        let old = table.columns.remove(from);
        let spec = TableSpec { columns: vec![given.column.clone()], watermark: None, primary_key: None };
        planner.add_spec(table, &spec, None)?;
        if let Some(mut new) = table.columns.pop() {
            new.comment = new.comment.or(old.comment);
            table.columns.insert(from.min(table.columns.len()), new);
        }
    }
    let rest = TableSpec { columns: Vec::new(), ..spec_of(modify) };
    planner.add_spec(table, &rest, None)?;
    place(table, modify)
}

fn distribution(given: &AddOrModify, at: Span) -> Result<(), SqlError> {
    match given.distribution {
        Some(_) => Err(SqlError::unsupported("DISTRIBUTED BY").at(at)),
        None => Ok(()),
    }
}

/// Puts columns where the statement says.
fn place(table: &mut CatalogTable, given: &AddOrModify) -> Outcome<()> {
    for column in &given.columns {
        let Some(wanted) = &column.position else { continue };
        let from = position(table, &column.column.name)?;
        let moved = table.columns.remove(from);
        let to = match wanted {
            ColumnPosition::First => 0,
            ColumnPosition::After(other) => position(table, other)? + 1,
        };
        table.columns.insert(to, moved);
    }
    Ok(())
}

//! Tables and views as they are declared: from statements to what a catalog keeps.

use crate::catalog::{
    CatalogColumn, CatalogObject, CatalogTable, CatalogView, ColumnKind, ObjectPath, TableKind, Watermark,
};
use crate::error::{PlanResult, find, lower, semantic, unsupported};
use crate::planner::{OutputColumn, Planner};
use flugs_sql_parser::{
    Column, ColumnKind as ParsedKind, CreateTable, CreateView, Ident, Like, LikeBehaviour, LikeTarget, Name,
    SqlError, SqlErrorKind, TableSpec,
};
use flugs_sql_types::{LogicalType, SqlType};
use flugs_table::{Options, nearest};
use std::collections::HashSet;

impl Planner {
    /// The full path of a name.
    pub fn path(&self, name: &Name) -> PlanResult<ObjectPath> {
        let parts: Vec<String> = name.parts().map(str::to_owned).collect();
        self.catalogs().resolve(&parts).map_err(|e| lower(e).at(name.span()))
    }

    /// The table of a `CREATE TABLE`.
    pub fn declared_table(&self, create: &CreateTable) -> PlanResult<CatalogTable> {
        let path = self.path(&create.name)?;
        if create.distribution.is_some() {
            return Err(unsupported("DISTRIBUTED BY").at(create.name.span()).help("leave it out"));
        }
        let mut table = CatalogTable {
            columns: Vec::new(),
            watermark: None,
            primary_key: Vec::new(),
            constraint: None,
            partition_keys: create.partitioned_by.iter().map(|i| i.value.clone()).collect(),
            options: create.options.iter().map(|o| (o.key.clone(), o.value.clone())).collect(),
            comment: create.comment.clone(),
            kind: TableKind::Connector,
            current: self.catalogs().current().clone(),
        };
        if let Some(query) = &create.query {
            let columns = self.columns(query)?;
            table.columns = ordered(&columns, &create.column_order)?;
        }
        if let Some(like) = &create.like {
            self.take_over(&mut table, like)?;
        }
        self.add_spec(&mut table, &create.spec, create.like.as_ref())?;
        self.settle_table(&path, &mut table, &create.partitioned_by)
            .and_then(|()| self.check_table(&path, &table))
            .map_err(|e| in_declaration(e, create))?;
        Ok(table)
    }

    /// The view of a `CREATE VIEW`.
    pub fn declared_view(&self, create: &CreateView) -> PlanResult<CatalogView> {
        let path = self.path(&create.name)?;
        let mut view = CatalogView {
            query: create.query.text.clone(),
            column_names: create.columns.iter().map(|(name, _)| name.value.clone()).collect(),
            columns: Vec::new(),
            comment: create.comment.clone(),
            current: self.catalogs().current().clone(),
        };
        let of_query = self.columns(&create.query)?;
        if !view.column_names.is_empty() && view.column_names.len() != of_query.len() {
            return Err(semantic(format!(
                "view '{path}' names {} columns, and its query gives {}",
                view.column_names.len(),
                of_query.len()
            ))
            .at(create.name.span())
            .help("name all of the query's columns, or none"));
        }
        let mut seen = HashSet::new();
        for (i, column) in of_query.into_iter().enumerate() {
            let name = view.column_names.get(i).cloned().unwrap_or(column.name);
            if !seen.insert(name.clone()) {
                return Err(semantic(format!("view '{path}' has two columns '{name}'"))
                    .at(create.query.span)
                    .help("give one of them another name with AS"));
            }
            view.columns.push((name, column.sql_type));
        }
        // Where the query gave no names, the view's columns are those that were shown.
        if view.column_names.is_empty() && view.columns.iter().any(|(name, _)| name.starts_with("EXPR$")) {
            view.column_names = view.columns.iter().map(|(name, _)| name.clone()).collect();
        }
        Ok(view)
    }

    /// Adds columns, watermark and key to a table.
    pub fn add_spec(
        &self,
        table: &mut CatalogTable,
        spec: &TableSpec,
        like: Option<&Like>,
    ) -> PlanResult<()> {
        for column in &spec.columns {
            self.add_column(table, column, like)?;
        }
        if let Some(watermark) = &spec.watermark {
            if watermark.column.0.len() > 1 {
                return Err(unsupported("a watermark for a field of a row")
                    .at(watermark.column.span())
                    .help("declare a computed column of the field, and the watermark for that"));
            }
            table.watermark = Some(Watermark {
                column: watermark.column.object().to_owned(),
                expression: watermark.expression.text.clone(),
            });
            if table.column(watermark.column.object()).is_none() {
                return Err(no_column(table, watermark.column.object()).at(watermark.column.span()));
            }
        }
        if let Some(key) = &spec.primary_key {
            for column in &key.columns {
                let Some(at) = table.columns.iter().position(|c| c.name == column.value) else {
                    return Err(no_column(table, &column.value).at(column.span));
                };
                if table.columns[at].kind != ColumnKind::Physical {
                    return Err(semantic(format!("column '{column}' of the primary key is not stored"))
                        .help("a primary key is of columns that the table stores")
                        .at(column.span));
                }
                table.columns[at].sql_type.nullable = false;
            }
            table.primary_key = key.columns.iter().map(|c| c.value.clone()).collect();
            table.constraint = key.name.as_ref().map(|n| n.value.clone());
        }
        Ok(())
    }

    fn add_column(&self, table: &mut CatalogTable, column: &Column, like: Option<&Like>) -> PlanResult<()> {
        let name = column.name.value.clone();
        let (kind, sql_type) = match &column.kind {
            ParsedKind::Physical(sql_type) => (ColumnKind::Physical, sql_type.clone()),
            // The type is found when all columns are known.
            ParsedKind::Computed(e) => (ColumnKind::Computed(e.text.clone()), LogicalType::Null.nullable()),
            ParsedKind::Metadata { sql_type, key, is_virtual } => {
                let key = key.clone().unwrap_or_else(|| name.clone());
                (ColumnKind::Metadata { key, is_virtual: *is_virtual }, sql_type.clone())
            }
        };
        let new = CatalogColumn { name: name.clone(), sql_type, kind, comment: column.comment.clone() };
        match table.columns.iter().position(|c| c.name == name) {
            // Of a query's column the declaration says the type.
            Some(at)
                if table.columns[at].kind == ColumnKind::Physical
                    && new.kind == ColumnKind::Physical
                    && like.is_none() =>
            {
                if table.columns[at].comment.is_some() || new.sql_type == table.columns[at].sql_type {
                    return Err(twice(&name).at(column.name.span));
                }
                table.columns[at] = new;
            }
            Some(at) if like.is_some_and(|l| overwrites(l, &table.columns[at].kind)) => {
                table.columns[at] = new
            }
            Some(_) => return Err(twice(&name).at(column.name.span)),
            None => table.columns.push(new),
        }
        Ok(())
    }

    fn take_over(&self, table: &mut CatalogTable, like: &Like) -> PlanResult<()> {
        let path = self.path(&like.table)?;
        let object = self.catalogs().object(&path).map_err(|e| lower(e).at(like.table.span()))?.clone();
        let CatalogObject::Table(base) = object.as_ref() else {
            return Err(semantic(format!("'{path}' is a view"))
                .at(like.table.span())
                .help("LIKE takes a table"));
        };
        let how = |target| behaviour(like, target);
        let excluded = |target| how(target) == LikeBehaviour::Excluding;
        for column in &base.columns {
            let target = match column.kind {
                ColumnKind::Physical => None,
                ColumnKind::Computed(_) => Some(LikeTarget::Generated),
                ColumnKind::Metadata { .. } => Some(LikeTarget::Metadata),
            };
            if !target.is_some_and(excluded) {
                table.columns.push(column.clone());
            }
        }
        if !excluded(LikeTarget::Watermarks) {
            table.watermark = base.watermark.clone();
        }
        if !excluded(LikeTarget::Constraints) {
            table.primary_key = base.primary_key.clone();
            table.constraint = base.constraint.clone();
        }
        if !excluded(LikeTarget::Partitions) && table.partition_keys.is_empty() {
            table.partition_keys = base.partition_keys.clone();
        }
        match how(LikeTarget::Options) {
            LikeBehaviour::Excluding => {}
            LikeBehaviour::Overwriting => table.options = base.options.overlaid(&table.options),
            LikeBehaviour::Including => {
                if let Some((key, _)) = table.options.iter().find(|(key, _)| base.options.get(key).is_some())
                {
                    return Err(semantic(format!("option '{key}' is given, and '{path}' has it, too"))
                        .at(like.table.span())
                        .help("write LIKE ... (OVERWRITING OPTIONS)"));
                }
                table.options = base.options.overlaid(&table.options);
            }
        }
        table.current = base.current.clone();
        Ok(())
    }

    /// Types computed columns and checks what is declared.
    pub fn settle_table(
        &self,
        path: &ObjectPath,
        table: &mut CatalogTable,
        partitions: &[Ident],
    ) -> PlanResult<()> {
        if table.columns.is_empty() {
            return Err(semantic(format!("table '{path}' has no columns"))
                .help("write CREATE TABLE t (name TYPE, ...) WITH (...)"));
        }
        for key in partitions {
            if !table.columns.iter().any(|c| c.name == key.value && c.kind == ColumnKind::Physical) {
                return Err(no_column(table, &key.value).at(key.span));
            }
        }
        for at in 0..table.columns.len() {
            if let ColumnKind::Computed(text) = table.columns[at].kind.clone() {
                table.columns[at].sql_type = self.computed_type(table, &text)?;
            }
        }
        if let Some(watermark) = &table.watermark {
            let sql_type = table.column(&watermark.column).map(|c| &c.sql_type);
            check_rowtime(&watermark.column, sql_type)?;
        }
        Ok(())
    }
}

/// What is wrong with a declaration, at the part of it that the message names.
fn in_declaration(e: SqlError, create: &CreateTable) -> SqlError {
    let watermark = create.spec.watermark.as_ref();
    let expression = watermark.map(|w| &w.expression).filter(|_| e.message.contains("the watermark "));
    let in_watermark = expression.map(|of| find(&e.message, &of.text, of.span).unwrap_or(of.span));
    let mut computed = create.spec.columns.iter().filter_map(|column| match &column.kind {
        ParsedKind::Computed(expression) => find(&e.message, &expression.text, expression.span),
        _ => None,
    });
    let of_watermark = watermark.filter(|w| e.message.contains(&format!("'{}'", w.column.object())));
    let place = in_watermark.or_else(|| computed.next()).or(of_watermark.map(|w| w.column.span()));
    e.at(place.unwrap_or(create.name.span()))
}

fn check_rowtime(column: &str, sql_type: Option<&SqlType>) -> PlanResult<()> {
    match sql_type.map(|t| &t.kind) {
        Some(LogicalType::Timestamp(0..=3) | LogicalType::TimestampLtz(0..=3)) => Ok(()),
        Some(other) => Err(SqlError::new(
            SqlErrorKind::Type,
            format!("the row-time column '{column}' is {other}: a watermark is for TIMESTAMP(p) or TIMESTAMP_LTZ(p), p from 0 to 3"),
        )
        .help(format!("declare `{column}` TIMESTAMP(3)"))),
        None => Err(semantic(format!("there is no column '{column}' to declare a watermark for"))),
    }
}

fn twice(name: &str) -> SqlError {
    SqlError::new(SqlErrorKind::Name, format!("column '{name}' is declared twice"))
}

fn no_column(table: &CatalogTable, name: &str) -> SqlError {
    let error = SqlError::new(SqlErrorKind::Name, format!("the table has no column '{name}'"));
    match nearest(name, table.columns.iter().map(|c| c.name.as_str())) {
        Some(near) => error.help(format!("did you mean '{near}'?")),
        None => error,
    }
}

/// The columns of a query as those of a table, in the order that is asked for.
fn ordered(columns: &[OutputColumn], order: &[Ident]) -> PlanResult<Vec<CatalogColumn>> {
    let physical = |c: &OutputColumn| CatalogColumn {
        name: c.name.clone(),
        sql_type: c.sql_type.clone(),
        kind: ColumnKind::Physical,
        comment: None,
    };
    if order.is_empty() {
        return Ok(columns.iter().map(physical).collect());
    }
    if order.len() != columns.len() {
        return Err(semantic(format!(
            "{} columns are named, and the query gives {}",
            order.len(),
            columns.len()
        )));
    }
    order
        .iter()
        .map(|ident| {
            let found = columns.iter().find(|c| c.name == ident.value);
            found.map(physical).ok_or_else(|| {
                SqlError::new(SqlErrorKind::Name, format!("the query gives no column '{}'", ident.value))
                    .at(ident.span)
            })
        })
        .collect()
}

/// What is done with a part of the other table. As in Flink, all is taken over unless said, watermarks and computed columns too,
/// and options that clash are overwritten.
fn behaviour(like: &Like, target: LikeTarget) -> LikeBehaviour {
    let of = |wanted: LikeTarget| like.options.iter().rev().find(|o| o.target == wanted).map(|o| o.behaviour);
    of(target).or_else(|| of(LikeTarget::All)).unwrap_or(match target {
        LikeTarget::Options => LikeBehaviour::Overwriting,
        _ => LikeBehaviour::Including,
    })
}

fn overwrites(like: &Like, kind: &ColumnKind) -> bool {
    let target = match kind {
        ColumnKind::Physical => return false,
        ColumnKind::Computed(_) => LikeTarget::Generated,
        ColumnKind::Metadata { .. } => LikeTarget::Metadata,
    };
    behaviour(like, target) == LikeBehaviour::Overwriting
}

/// The options of a statement.
pub fn options_of(entries: &[flugs_sql_parser::OptionEntry]) -> Options {
    entries.iter().map(|o| (o.key.clone(), o.value.clone())).collect()
}

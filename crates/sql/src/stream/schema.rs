//! What is said of a stream that becomes a table, beside its rows.

use flugs_sql_plan::catalog::{CatalogColumn, CatalogTable, ColumnKind, Current, TableKind, Watermark};
use flugs_sql_plan::{ROWTIME_KEY, SOURCE_WATERMARK};
use flugs_sql_types::{LogicalType, RowField, SqlType};
use flugs_table::{ChangelogMode, Options, nearest};
use flugs_types::{Error, Result};

/// What a table of a stream has beside the columns of its rows, as `CREATE TABLE` would say it.
#[derive(Debug, Clone, Default)]
pub struct StreamSchema {
    pub(super) name: Option<String>,
    columns: Vec<CatalogColumn>,
    rowtime: Option<String>,
    primary_key: Vec<String>,
}

impl StreamSchema {
    /// The columns of the rows alone.
    pub fn new() -> Self {
        StreamSchema::default()
    }

    /// Makes the table a temporary one of this name, which statements can read. Otherwise they read it where a view is made of it
    /// ([`create_temporary_view`](crate::SqlEnvironment::create_temporary_view)), and state of operators behind it is
    /// found again only while the program makes tables of its streams in the same order.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Adds a column of the rows' event times, of type `TIMESTAMP_LTZ(3)`: a row-time attribute, with the stream's watermark. A row
    /// without an event time fails the job.
    #[must_use]
    pub fn rowtime(mut self, column: impl Into<String>) -> Self {
        let name = column.into();
        let kind = ColumnKind::Metadata { key: ROWTIME_KEY.to_owned(), is_virtual: true };
        self.rowtime = Some(name.clone());
        self.with(name, LogicalType::TimestampLtz(3).not_null(), kind)
    }

    /// Adds a column of processing time: `PROCTIME()`.
    #[must_use]
    pub fn proctime(self, column: impl Into<String>) -> Self {
        self.computed(column, "PROCTIME()")
    }

    /// Adds a column that is computed of those before it.
    #[must_use]
    pub fn computed(self, column: impl Into<String>, expression: impl Into<String>) -> Self {
        // Its type is found by planning.
        self.with(column.into(), LogicalType::Null.nullable(), ColumnKind::Computed(expression.into()))
    }

    /// Names the columns that are unique in the table, which is not checked.
    #[must_use]
    pub fn primary_key(mut self, columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.primary_key = columns.into_iter().map(Into::into).collect();
        self
    }

    fn with(mut self, name: String, sql_type: SqlType, kind: ColumnKind) -> Self {
        self.columns.push(CatalogColumn { name, sql_type, kind, comment: None });
        self
    }

    /// The table of rows with these columns.
    pub(super) fn table(
        self,
        fields: Vec<RowField>,
        mode: ChangelogMode,
        kind: TableKind,
        current: Current,
    ) -> Result<CatalogTable> {
        let physical = |field: RowField| CatalogColumn {
            name: field.name,
            sql_type: field.sql_type,
            kind: ColumnKind::Physical,
            comment: field.comment,
        };
        let mut columns: Vec<CatalogColumn> = fields.into_iter().map(physical).collect();
        for key in &self.primary_key {
            let column = columns.iter_mut().find(|column| column.name == *key);
            match column {
                Some(column) => column.sql_type.nullable = false,
                None => {
                    let error = Error::job(format!("the rows have no column '{key}' of the primary key"));
                    return Err(match nearest(key, columns.iter().map(|c| c.name.as_str())) {
                        Some(near) => error.mend(format!("did you mean '{near}'?")),
                        None => error,
                    });
                }
            }
        }
        if mode == ChangelogMode::Upsert && self.primary_key.is_empty() {
            return Err(Error::job("a stream of upserts has no primary key")
                .mend("name it: StreamSchema::new().primary_key([\"id\"])"));
        }
        columns.extend(self.columns);
        for (at, column) in columns.iter().enumerate() {
            if columns[..at].iter().any(|other| other.name == column.name) {
                return Err(Error::job(format!("the table would have two columns '{}'", column.name))
                    .mend("give the column of time another name than the rows' columns have"));
            }
        }
        let watermark =
            self.rowtime.map(|column| Watermark { column, expression: SOURCE_WATERMARK.to_owned() });
        Ok(CatalogTable {
            columns,
            watermark,
            primary_key: self.primary_key,
            constraint: None,
            partition_keys: Vec::new(),
            options: Options::new(),
            comment: None,
            kind,
            current,
        })
    }
}

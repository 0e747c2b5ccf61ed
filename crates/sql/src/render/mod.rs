//! Rows as text: as Flink's client prints them, as JSON, as CSV.

mod csv;
mod json;

use arrow::array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::Field;
use flugs_sql_functions::cast::to_display_string;
use flugs_sql_functions::temporal::Zone;
use flugs_sql_plan::OutputColumn;
use flugs_sql_types::to_field;
use flugs_types::Result;

/// What NULL looks like in tables.
pub const NULL: &str = "<NULL>";

/// Writes rows of some columns as text.
pub struct RowFormat {
    fields: Vec<Field>,
    zone: Zone,
}

impl RowFormat {
    /// Of these columns. Points in time are written as they are in `zone`.
    pub fn new(columns: &[OutputColumn], zone: Zone) -> Self {
        RowFormat { fields: columns.iter().map(|c| to_field(&c.name, &c.sql_type)).collect(), zone }
    }

    /// The names of the columns.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.fields.iter().map(|field| field.name().as_str())
    }

    /// The cells of a batch, column by column; NULL stays NULL.
    pub fn cells(&self, rows: &RecordBatch) -> Result<Vec<StringArray>> {
        let column = |(field, array): (&Field, &ArrayRef)| to_display_string(array, field, &self.zone);
        self.fields.iter().zip(rows.columns()).map(column).collect()
    }

    /// The rows of a batch, each as its cells; NULL is [`NULL`].
    pub fn text_rows(&self, rows: &RecordBatch) -> Result<Vec<Vec<String>>> {
        let cells = self.cells(rows)?;
        let cell = |column: &StringArray, row: usize| match column.is_valid(row) {
            true => column.value(row).to_owned(),
            false => NULL.to_owned(),
        };
        Ok((0..rows.num_rows()).map(|row| cells.iter().map(|column| cell(column, row)).collect()).collect())
    }

    /// The rows of a batch, each as a JSON object, whose keys are the names of the columns.
    ///
    /// Numbers, decimals among them, are numbers; truth values `true` and `false`; dates and times texts; bytes in Base64; arrays are
    /// arrays, rows objects, maps objects by the text of the key; `NaN` and infinities texts.
    pub fn json_rows(&self, rows: &RecordBatch) -> Result<Vec<String>> {
        json::rows(&self.fields, rows, &self.zone)
    }

    /// The rows of a batch, each as a line of CSV without a line's end; NULL is an empty cell, an empty text `""`.
    pub fn csv_rows(&self, rows: &RecordBatch) -> Result<Vec<String>> {
        let cells = self.cells(rows)?;
        let cell =
            |column: &StringArray, row: usize| column.is_valid(row).then(|| column.value(row).to_owned());
        let line = |row| csv::line(cells.iter().map(|column| cell(column, row)));
        Ok((0..rows.num_rows()).map(line).collect())
    }

    /// The names of the columns as a line of CSV.
    pub fn csv_header(&self) -> String {
        csv::line(self.names().map(|name| Some(name.to_owned())))
    }
}

//! Records of fields to columns.

use super::super::build::{Builder, TimeStyle, Values, builders, finish, shown};
use super::CsvOptions;
use super::fields::{Dialect, Field, Fields};
use arrow::datatypes::{Field as ArrowField, FieldRef, Schema, SchemaRef};
use flugs_batch::ChangeBatch;
use flugs_table::{BytesAt, DecodeFailure, FieldPath, FormatContext, RecordDecoder, select};
use flugs_types::{Error, Result};
use std::sync::Arc;

/// The decoder of the format.
pub(super) struct CsvRecords {
    options: CsvOptions,
    dialect: Dialect,
    /// How many fields a record has.
    width: usize,
    /// For each field the column that it becomes, if any.
    targets: Vec<Option<usize>>,
    builders: Vec<Builder>,
    /// Of the columns that are built.
    built: SchemaRef,
    /// What is selected of these, where that is not all of them in order.
    selection: Option<(Vec<FieldPath>, SchemaRef)>,
    rows: usize,
}

impl CsvRecords {
    pub(super) fn new(context: FormatContext<'_>, options: CsvOptions) -> Result<Self> {
        let physical = context.physical.fields();
        let mut targets = vec![None; physical.len()];
        let mut fields: Vec<FieldRef> = Vec::new();
        for (path, asked) in context.columns.iter().zip(context.schema.fields()) {
            let (first, is_whole) = (path.0.first().map_or("", String::as_str), path.0.len() == 1);
            let position = context
                .physical
                .index_of(first)
                .map_err(|_| Error::bug(format!("table {} has no column {first}", context.table)))?;
            if targets[position].is_none() {
                targets[position] = Some(fields.len());
                let of = if is_whole { asked } else { &physical[position] };
                fields.push(Arc::new(ArrowField::clone(of).with_name(first)));
            }
        }
        let is_all = context.columns.len() == fields.len() && context.columns.iter().all(|c| c.0.len() == 1);
        let selection = (!is_all).then(|| (context.columns.to_vec(), context.schema.clone()));
        let built = if is_all { context.schema.clone() } else { Arc::new(Schema::new(fields)) };
        Ok(CsvRecords {
            dialect: Dialect { delimiter: options.delimiter, quote: options.quote, escape: options.escape },
            width: physical.len(),
            targets,
            builders: builders(&built)?,
            built,
            selection,
            options,
            rows: 0,
        })
    }

    /// Adds a record as a row; what became NULL in it because it could not be read.
    fn add(&mut self, record: &str) -> Result<Option<String>, String> {
        let mut ignored: Option<String> = None;
        let mut fields = Fields::new(self.dialect, record);
        let mut position = 0;
        while let Some(field) = fields.next() {
            let field = field.map_err(|(message, at)| format!("{message} (column {})", at + 1))?;
            let target = *self
                .targets
                .get(position)
                .ok_or_else(|| format!("a record of {} fields expected, more found", self.width))?;
            position += 1;
            let Some(target) = target else { continue };
            let builder = &mut self.builders[target];
            let Err(error) = push(builder, &field, &self.options) else { continue };
            let error = format!("{error} (field `{}`, number {position})", builder.field().name());
            if !self.options.ignore_errors || !builder.field().is_nullable() {
                return Err(error);
            }
            builder.truncate(self.rows);
            builder.push_nothing();
            match &mut ignored {
                Some(all) => *all = format!("{all}; {error}"),
                None => ignored = Some(format!("read as NULL: {error}")),
            }
        }
        debug_assert!(fields.is_done());
        if position < self.width {
            let error = format!("a record of {} fields expected, {position} found", self.width);
            if !self.options.ignore_errors {
                return Err(error);
            }
            for builder in self.builders.iter_mut().filter(|builder| builder.len() == self.rows) {
                builder.push_null()?;
            }
            ignored.get_or_insert(error);
        }
        Ok(ignored)
    }
}

fn push(builder: &mut Builder, field: &Field<'_>, options: &CsvOptions) -> Result<(), String> {
    let text = &*field.text;
    if options.null.as_deref() == Some(text) {
        return builder.push_null();
    }
    let is_string = matches!(builder.values, Values::Text(_) | Values::Bytes(_));
    if text.is_empty() && !is_string {
        return builder.push_null();
    }
    match &mut builder.values {
        Values::List { ends, items } => {
            for element in text.split(options.array_delimiter.as_str()) {
                element_of(items, element, options)?;
            }
            ends.push(i32::try_from(items.len()).map_err(|_| "too many elements".to_owned())?);
        }
        Values::Row(fields) => {
            let mut elements = text.split(options.array_delimiter.as_str());
            for field in &mut *fields {
                let element = elements.next().ok_or_else(|| too_few(text))?;
                element_of(field, element, options)
                    .map_err(|e| format!("{e} in '{}'", field.field().name()))?;
            }
            if elements.next().is_some() {
                return Err(format!("a ROW of {} fields expected, '{}' found", fields.len(), shown(text)));
            }
        }
        Values::Map { .. } => return Err("a MAP cannot be read from CSV".to_owned()),
        _ => return builder.push_parsed(text, TimeStyle::SQL),
    }
    builder.pushed();
    Ok(())
}

fn too_few(text: &str) -> String {
    format!("more elements expected than there are in '{}'", shown(text))
}

fn element_of(to: &mut Builder, element: &str, options: &CsvOptions) -> Result<(), String> {
    match to.values {
        Values::List { .. } | Values::Row(_) => {
            Err("an ARRAY or ROW inside of another cannot be read from CSV".to_owned())
        }
        _ => {
            let field = Field { text: element.into(), is_quoted: false };
            push(to, &field, options)
        }
    }
}

impl RecordDecoder for CsvRecords {
    fn decode(&mut self, records: &[BytesAt<'_>]) -> Result<(ChangeBatch, Vec<DecodeFailure>)> {
        let mut failures = Vec::new();
        for (record, bytes) in records.iter().enumerate() {
            if bytes.is_empty() || (self.options.allow_comments && bytes.starts_with(b"#")) {
                continue;
            }
            let text = std::str::from_utf8(bytes).map_err(|e| {
                let at = e.valid_up_to();
                format!("UTF-8 expected, byte 0x{:02x} found (column {})", bytes[at], at + 1)
            });
            match text.and_then(|text| self.add(text)) {
                Ok(ignored) => {
                    self.rows += 1;
                    failures.extend(ignored.map(|message| DecodeFailure { record, message, has_row: true }));
                }
                Err(message) => {
                    self.builders.iter_mut().for_each(|builder| builder.truncate(self.rows));
                    failures.push(DecodeFailure { record, message, has_row: false });
                }
            }
        }
        let rows = std::mem::take(&mut self.rows);
        let batch = finish(&mut self.builders, &self.built, rows)?;
        let batch = match &self.selection {
            Some((paths, schema)) => select(&batch, paths, schema)?,
            None => batch,
        };
        Ok((ChangeBatch::inserts(batch), failures))
    }

    fn ignores_failures(&self) -> bool {
        self.options.ignore_errors
    }
}

//! JSON objects to columns.

use super::super::build::{Builder, Values, builders, finish};
use super::super::scan::{Scanner, Value, Wrong, compact, wrong};
use super::JsonOptions;
use arrow::datatypes::SchemaRef;
use flugs_batch::ChangeBatch;
use flugs_table::{BytesAt, DecodeFailure, FieldPath, FormatContext, RecordDecoder};
use flugs_types::Result;

/// Which members of an object are read, and to where.
struct Shape {
    members: Vec<Member>,
    /// The member after the one that was met last: objects mostly have their members in one order.
    guess: usize,
}

struct Member {
    key: String,
    /// Columns that take its value.
    columns: Vec<usize>,
    /// Columns that take fields of its value.
    inner: Shape,
    seen: bool,
}

impl Shape {
    /// For columns at these paths.
    fn new(paths: &[FieldPath]) -> Self {
        let mut shape = Shape { members: Vec::new(), guess: 0 };
        for (column, path) in paths.iter().enumerate() {
            shape.add(&path.0, column);
        }
        shape
    }

    fn add(&mut self, path: &[String], column: usize) {
        let Some((first, rest)) = path.split_first() else { return };
        let at = self.members.iter().position(|member| member.key == *first).unwrap_or_else(|| {
            let inner = Shape { members: Vec::new(), guess: 0 };
            self.members.push(Member { key: first.clone(), columns: Vec::new(), inner, seen: false });
            self.members.len() - 1
        });
        match rest {
            [] => self.members[at].columns.push(column),
            _ => self.members[at].inner.add(rest, column),
        }
    }

    #[inline]
    fn find(&mut self, key: &str) -> Option<usize> {
        let found = match self.members.get(self.guess) {
            Some(member) if member.key == key => self.guess,
            _ => self.members.iter().position(|member| member.key == key)?,
        };
        self.guess = found + 1;
        Some(found)
    }

    fn forget(&mut self) {
        self.guess = 0;
        for member in &mut self.members {
            member.seen = false;
            member.inner.forget();
        }
    }

    /// The first member that was not met, by its path.
    fn missing(&self) -> Option<String> {
        self.members.iter().find_map(|member| match member.seen {
            false => Some(member.key.clone()),
            // Below a NULL nothing is missing; then none of the fields was met.
            true if member.inner.members.iter().all(|inner| !inner.seen) => None,
            true => member.inner.missing().map(|inner| format!("{}.{inner}", member.key)),
        })
    }
}

/// Decodes objects into the columns of a table.
pub(in super::super) struct Records {
    columns: Columns,
    shape: Shape,
    schema: SchemaRef,
    rows: usize,
}

/// The columns, and how values are read into them.
struct Columns {
    builders: Vec<Builder>,
    options: JsonOptions,
    /// What became NULL because it could not be read.
    ignored: Vec<String>,
}

impl Records {
    pub(in super::super) fn new(context: FormatContext<'_>, options: JsonOptions) -> Result<Self> {
        Ok(Records {
            columns: Columns { builders: builders(context.schema)?, options, ignored: Vec::new() },
            shape: Shape::new(context.columns),
            schema: context.schema.clone(),
            rows: 0,
        })
    }

    pub(in super::super) fn ignores_errors(&self) -> bool {
        self.columns.options.ignore_errors
    }

    /// How many rows there are.
    pub(in super::super) fn rows(&self) -> usize {
        self.rows
    }

    /// Takes back the rows behind the first so many.
    pub(in super::super) fn truncate(&mut self, rows: usize) {
        self.rows = rows;
        self.columns.builders.iter_mut().for_each(|builder| builder.truncate(rows));
    }

    /// Adds the object that follows as a row. After an error there is no row, and the place of the scanner means nothing.
    pub(in super::super) fn add(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Wrong> {
        let rows = self.rows;
        self.columns.ignored.clear();
        self.shape.forget();
        let added = self.columns.record(scanner, &mut self.shape, rows);
        match added.and_then(|()| self.fill(scanner)) {
            Ok(()) => self.rows += 1,
            Err(e) => {
                self.truncate(rows);
                return Err(e);
            }
        }
        Ok(())
    }

    /// Puts NULL into the columns that got no value.
    fn fill(&mut self, scanner: &Scanner<'_>) -> Result<(), Wrong> {
        if self.columns.options.fail_on_missing
            && let Some(path) = self.shape.missing()
        {
            return Err(wrong(format!("field '{path}' is missing"), scanner.at.saturating_sub(1)));
        }
        for builder in &mut self.columns.builders {
            if builder.len() == self.rows {
                let name = builder.field().name().clone();
                builder.push_null().map_err(|e| wrong(e, scanner.at.saturating_sub(1)).within(&name))?;
            }
        }
        Ok(())
    }

    /// What became NULL in the last row because it could not be read.
    pub(in super::super) fn take_ignored(&mut self) -> Option<String> {
        let ignored = std::mem::take(&mut self.columns.ignored);
        (!ignored.is_empty()).then(|| format!("read as NULL: {}", ignored.join("; ")))
    }

    /// The rows so far; then there are none.
    pub(in super::super) fn finish(&mut self) -> Result<arrow::array::RecordBatch> {
        let rows = std::mem::take(&mut self.rows);
        finish(&mut self.columns.builders, &self.schema, rows)
    }
}

impl Columns {
    fn record(&mut self, scanner: &mut Scanner<'_>, shape: &mut Shape, rows: usize) -> Result<(), Wrong> {
        let start = scanner.at;
        match scanner.value()? {
            Value::Object => self.members(scanner, shape, rows),
            _ => Err(wrong("a JSON object expected", start)),
        }
    }

    fn members(&mut self, scanner: &mut Scanner<'_>, shape: &mut Shape, rows: usize) -> Result<(), Wrong> {
        shape.guess = 0;
        let mut is_first = true;
        while let Some(key) = scanner.next_key(&mut is_first)? {
            let Some(at) = shape.find(&key) else {
                scanner.skip()?;
                continue;
            };
            let member = &mut shape.members[at];
            member.seen = true;
            match (&member.columns[..], member.inner.members.is_empty()) {
                (&[column], true) => self.column(scanner, column, rows)?,
                _ => self.shared(scanner, member, rows)?,
            }
        }
        Ok(())
    }

    /// A value into its column. Of a key that comes twice the last counts.
    fn column(&mut self, scanner: &mut Scanner<'_>, column: usize, rows: usize) -> Result<(), Wrong> {
        let Columns { builders, options, ignored } = self;
        let builder = &mut builders[column];
        builder.truncate(rows);
        Reading { options, ignored }.field(scanner, builder)
    }

    /// A value of which several columns take something.
    fn shared(&mut self, scanner: &mut Scanner<'_>, member: &mut Member, rows: usize) -> Result<(), Wrong> {
        let start = scanner.at;
        for i in 0..member.columns.len() {
            scanner.at = start;
            self.column(scanner, member.columns[i], rows)?;
        }
        if member.inner.members.is_empty() {
            return Ok(());
        }
        scanner.at = start;
        match scanner.value()? {
            Value::Null => Ok(()),
            Value::Object => {
                self.members(scanner, &mut member.inner, rows).map_err(|e| e.within(&member.key))
            }
            _ if self.options.ignore_errors => {
                self.ignored.push(format!("field `{}`: an object expected", member.key));
                scanner.at = start;
                scanner.skip().map(drop)
            }
            _ => Err(wrong("an object expected", start).within(&member.key)),
        }
    }
}

/// How values are read.
struct Reading<'r> {
    options: &'r JsonOptions,
    ignored: &'r mut Vec<String>,
}

impl Reading<'_> {
    /// A value by name: where errors are ignored, NULL in place of what cannot be read.
    fn field(&mut self, scanner: &mut Scanner<'_>, to: &mut Builder) -> Result<(), Wrong> {
        let (start, before) = (scanner.at, to.len());
        let Err(error) = self.value(scanner, to) else { return Ok(()) };
        let error = error.within(to.field().name());
        if !self.options.ignore_errors || !to.field().is_nullable() {
            return Err(error);
        }
        to.truncate(before);
        scanner.at = start;
        scanner.skip()?;
        to.push_nothing();
        self.ignored.push(error.to_string());
        Ok(())
    }

    #[inline]
    fn value(&mut self, scanner: &mut Scanner<'_>, to: &mut Builder) -> Result<(), Wrong> {
        let start = scanner.at;
        let style = self.options.time_style;
        let at_start = |message: String| wrong(message, start);
        match scanner.value()? {
            Value::Null => to.push_null().map_err(at_start),
            Value::Text(text) => to.push_parsed(&text, style).map_err(at_start),
            Value::Number(text) => number(text, to).map_err(at_start),
            Value::Bool(value) => match &mut to.values {
                Values::Boolean(values) => {
                    values.push(value);
                    to.pushed();
                    Ok(())
                }
                _ => to.push_parsed(if value { "true" } else { "false" }, style).map_err(at_start),
            },
            Value::Array if matches!(to.values, Values::List { .. }) => self.list(scanner, to),
            Value::Object if matches!(to.values, Values::Row(_)) => self.row(scanner, to),
            Value::Object if matches!(to.values, Values::Map { .. }) => self.map(scanner, to),
            Value::Array | Value::Object if matches!(to.values, Values::Text(_)) => {
                scanner.at = start;
                let json = scanner.skip()?;
                to.push_text(&compact(json)).map_err(at_start)
            }
            Value::Array => Err(at_start(format!("{} expected, an array found", to.expected()))),
            Value::Object => Err(at_start(format!("{} expected, an object found", to.expected()))),
        }
    }

    fn list(&mut self, scanner: &mut Scanner<'_>, to: &mut Builder) -> Result<(), Wrong> {
        let Values::List { ends, items } = &mut to.values else { return Ok(()) };
        let mut is_first = true;
        while scanner.next_element(&mut is_first)? {
            self.field(scanner, items)?;
        }
        ends.push(offset(items.len(), scanner.at)?);
        to.pushed();
        Ok(())
    }

    fn map(&mut self, scanner: &mut Scanner<'_>, to: &mut Builder) -> Result<(), Wrong> {
        let Values::Map { ends, keys, values } = &mut to.values else { return Ok(()) };
        if !matches!(keys.values, Values::Text(_)) {
            return Err(wrong("only maps with STRING keys can be read from JSON", scanner.at));
        }
        let start = ends.last().map_or(0, |end| *end as usize);
        let mut is_first = true;
        while let Some(key) = scanner.next_key(&mut is_first)? {
            keys.push_text(&key).map_err(|e| wrong(e, scanner.at))?;
            self.field(scanner, values)?;
        }
        ends.push(offset(keys.len(), scanner.at)?);
        debug_assert!(keys.len() >= start && keys.len() == values.len());
        to.pushed();
        Ok(())
    }

    fn row(&mut self, scanner: &mut Scanner<'_>, to: &mut Builder) -> Result<(), Wrong> {
        let before = to.len();
        let Values::Row(fields) = &mut to.values else { return Ok(()) };
        let (mut is_first, mut guess) = (true, 0);
        while let Some(key) = scanner.next_key(&mut is_first)? {
            let is_it = |field: &Builder| *field.field().name() == *key;
            let found = match fields.get(guess) {
                Some(field) if is_it(field) => Some(guess),
                _ => fields.iter().position(is_it),
            };
            match found {
                Some(at) => {
                    guess = at + 1;
                    fields[at].truncate(before);
                    self.field(scanner, &mut fields[at])?;
                }
                None => drop(scanner.skip()?),
            }
        }
        for field in fields.iter_mut().filter(|field| field.len() == before) {
            let name = field.field().name().clone();
            let at = scanner.at.saturating_sub(1);
            if self.options.fail_on_missing {
                return Err(wrong(format!("field '{name}' is missing"), at));
            }
            field.push_null().map_err(|e| wrong(e, at).within(&name))?;
        }
        to.pushed();
        Ok(())
    }
}

fn offset(len: usize, at: usize) -> Result<i32, Wrong> {
    i32::try_from(len).map_err(|_| wrong("the elements of a batch are more than two billion", at))
}

/// A number into a column of any type that takes its text.
#[inline]
fn number(text: &str, to: &mut Builder) -> Result<(), String> {
    if matches!(to.values, Values::Int32(_) | Values::Int64(_)) {
        return match text.parse::<i64>() {
            Ok(value) => to.push_integer(value),
            // What stands behind the point is cut off, as in Flink.
            Err(_) if text.contains(['.', 'e', 'E']) => to.push_integer(whole_part(text)?),
            Err(_) => Err(format!("{text} is out of the range of {}", to.expected())),
        };
    }
    to.push_parsed(text, super::super::build::TimeStyle::SQL)
}

fn whole_part(text: &str) -> Result<i64, String> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let value: f64 = text.parse().map_err(|_| format!("a number expected, {text} found"))?;
    if (-LIMIT..LIMIT).contains(&value) { Ok(value as i64) } else { Err(format!("{text} is out of range")) }
}

/// The decoder of the format.
pub(super) struct JsonRecords(Records);

impl JsonRecords {
    pub(super) fn new(records: Records) -> Self {
        JsonRecords(records)
    }
}

impl RecordDecoder for JsonRecords {
    fn decode(&mut self, records: &[BytesAt<'_>]) -> Result<(ChangeBatch, Vec<DecodeFailure>)> {
        let mut failures = Vec::new();
        for (record, bytes) in records.iter().enumerate() {
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let rows = self.0.rows();
            let added = Scanner::new(bytes).and_then(|mut scanner| {
                self.0.add(&mut scanner)?;
                scanner.end()
            });
            match added {
                Ok(()) => {
                    let ignored = self.0.take_ignored();
                    failures.extend(ignored.map(|message| DecodeFailure { record, message, has_row: true }));
                }
                Err(e) => {
                    self.0.truncate(rows);
                    failures.push(DecodeFailure { record, message: e.to_string(), has_row: false });
                }
            }
        }
        Ok((ChangeBatch::inserts(self.0.finish()?), failures))
    }

    fn ignores_failures(&self) -> bool {
        self.0.ignores_errors()
    }
}

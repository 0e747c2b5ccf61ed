//! `datagen`: random rows and sequences.

mod fields;
mod options;
#[cfg(test)]
mod tests;

use crate::refusal;
use arrow::array::{RecordBatch, RecordBatchOptions};
use fields::FieldGenerator;
use flugs_batch::ChangeBatch;
use flugs_connector::{Boundedness, Draw, GeneratorSource};
use flugs_sql_types::to_schema;
use flugs_table::{
    LookupSource, OptionSpec, ScanRequest, TableContext, TableFactory, TableScan, TableSink, TableSource,
    select_column,
};
use flugs_types::{Clock, Error, Result, SystemClock, Timestamp};
use options::{OPTIONS, Settings};
use std::ops::Range;
use std::sync::Arc;

/// At most so many rows in a batch.
const BATCH_ROWS: u32 = 4096;

/// Makes the tables of `'connector' = 'datagen'`.
///
/// | option | default | |
/// | --- | --- | --- |
/// | `rows-per-second` | `10000` | over all readers together |
/// | `number-of-rows` | no end | how many rows there are |
/// | `scan.parallelism` | the job's | how many readers there are |
/// | `seed` | none | another seed, other rows; with one, the present of dates and times is 2020-01-01 |
/// | `fields.#.kind` | `random` | `random` or `sequence` |
/// | `fields.#.min`, `.max` | those of the type | bounds of random numbers, both included |
/// | `fields.#.max-past` | `0` | random timestamps are at most so far in the past |
/// | `fields.#.length` | `100`, collections 3 | of random strings, bytes and collections; `CHAR(n)` and `BINARY(n)` have `n` |
/// | `fields.#.var-len` | `false` | random strings and bytes are of any length up to that |
/// | `fields.#.start`, `.end` | | of a sequence, both included: the table ends with its shortest sequence |
/// | `fields.#.null-rate` | `0` | how often a value is NULL |
///
/// `#` is the name of a column; `a.b` is the field `b` of the `ROW` `a`, `a.element` an element of the `ARRAY` or `MULTISET` `a`, `a.key`
/// and `a.value` those of the `MAP` `a`. `DATE` and `TIME` are those of now, in UTC. A row depends on the seed and its
/// number alone, so neither the parallelism nor restarts change the rows.
#[derive(Debug, Clone, Copy)]
pub struct DatagenTables;

impl TableFactory for DatagenTables {
    fn identifier(&self) -> &'static str {
        "datagen"
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn source(&self, table: TableContext<'_>) -> Result<Box<dyn TableSource>> {
        let settings = Settings::of(table.options).map_err(|e| e.at(format!("table {}", table.name)))?;
        let schema = to_schema(table.schema.columns.iter().map(|c| (c.name.as_str(), &c.sql_type)));
        let fields = schema.fields().iter().map(|field| {
            FieldGenerator::new(field.name(), field, table.options)
                .map_err(|e| e.at(format!("table {}, column {}", table.name, field.name())))
        });
        let fields = fields.collect::<Result<Vec<_>>>()?;
        let mut known = Vec::new();
        fields.iter().for_each(|field| field.keys(field.name(), &mut known));
        for (key, _) in table.options.iter().filter(|(key, _)| key.starts_with("fields.")) {
            if !known.iter().any(|known| known == key) {
                return Err(unknown(key, &known).at(format!("table {}", table.name)));
            }
        }
        let shortest = fields.iter().filter_map(FieldGenerator::rows).min();
        let count = settings.count.into_iter().chain(shortest).min();
        Ok(Box::new(Datagen { settings, fields: fields.into(), count }))
    }

    fn sink(&self, table: TableContext<'_>) -> Result<Box<dyn TableSink>> {
        Err(refusal::write("datagen", table))
    }

    fn lookup(&self, table: TableContext<'_>, _keys: &[usize]) -> Result<Box<dyn LookupSource>> {
        Err(refusal::look_up("datagen", table))
    }
}

/// An option of a column that there is not, or that says nothing about values of its type and kind.
fn unknown(key: &str, known: &[String]) -> Error {
    let error = Error::job(format!("option '{key}' says nothing about a column of this table"));
    let field = key.rsplit_once('.').map_or(key, |(field, _)| field);
    let of_field = |known: &&String| known.rsplit_once('.').is_some_and(|(of, _)| of == field);
    let listed: Vec<&str> = match known.iter().any(|known| of_field(&known)) {
        true => known.iter().filter(of_field).map(String::as_str).collect(),
        false => known.iter().map(String::as_str).collect(),
    };
    error.mend(format!("known options: {}", listed.join(", ")))
}

struct Datagen {
    settings: Settings,
    fields: Arc<[FieldGenerator]>,
    count: Option<u64>,
}

impl TableSource for Datagen {
    fn boundedness(&self) -> Boundedness {
        if self.count.is_some() { Boundedness::Bounded } else { Boundedness::Unbounded }
    }

    fn rows(&self) -> Option<u64> {
        self.count
    }

    fn parallelism(&self) -> Option<u32> {
        self.settings.parallelism
    }

    fn scan(&self, request: &ScanRequest) -> Result<TableScan> {
        let fields = self.fields.clone();
        let columns = request.columns.iter().map(|path| {
            let place =
                fields.iter().position(|field| Some(field.name()) == path.0.first().map(String::as_str));
            place
                .map(|place| (place, path.clone()))
                .ok_or_else(|| Error::bug(format!("a datagen table has no column {}", path.0.join("."))))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let (schema, seed) = (request.schema.clone(), self.settings.seed);
        let source = GeneratorSource::chunks(self.count, BATCH_ROWS, move |ranges, out| {
            let rows: u64 = ranges.iter().map(|range| range.end - range.start).sum();
            let now = if seed.is_some() { options::FIXED_NOW } else { SystemClock.now() };
            let column = |(place, path): &(usize, flugs_table::FieldPath)| {
                let field = &fields[*place];
                let column = field.column(draws(seed.unwrap_or(0), *place, ranges), now)?;
                let whole = RecordBatch::try_from_iter_with_nullable([(field.name(), column, true)]);
                select_column(&whole.map_err(|e| Error::bug("a column is none").caused_by(e))?, path)
            };
            let columns = columns.iter().map(column).collect::<Result<Vec<_>>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(rows as usize));
            let batch = RecordBatch::try_new_with_options(schema.clone(), columns, &options)
                .map_err(|e| Error::job("NULLs were generated for a column that is NOT NULL").caused_by(e))?;
            out.push(ChangeBatch::inserts(batch), Timestamp::MIN);
            Ok(())
        });
        Ok(Box::new(source.rate(self.settings.rows_per_second)))
    }
}

/// The random numbers of a column in each row.
fn draws(seed: u64, column: usize, ranges: &[Range<u64>]) -> Vec<Draw> {
    // Columns must not be shifted copies of each other, so each has a seed that is drawn itself.
    let seed = Draw::of(seed, column as u64).bits();
    ranges.iter().flat_map(|range| range.clone().map(|index| Draw::of(seed, index))).collect()
}

//! Which columns are made, of which kinds of events.

use super::columns::{Columns, Run};
use super::kind::{Content, Kind};
use super::texts::SharedTexts;
use super::{auction, bid, person};
use crate::generator::Generator;
use arrow::array::{
    ArrayRef, BooleanBufferBuilder, Int32Array, RecordBatch, RecordBatchOptions, StructArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Fields, SchemaRef};
use flugs_batch::ChangeBatch;
use flugs_table::{FieldPath, Literal, Predicate, PredicateOp};
use flugs_types::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

const EVENT_TYPE: &str = "event_type";

/// A column of the batches.
enum Column {
    EventType,
    /// Some fields of a kind as one struct.
    Whole(Kind, Vec<usize>, Fields),
    Field(Kind, usize),
}

/// What a scan makes of events.
pub(super) struct Projection {
    schema: SchemaRef,
    columns: Vec<Column>,
    kinds: Vec<Kind>,
    /// For each kind which fields are asked for.
    wanted: [Vec<bool>; 3],
}

impl Projection {
    pub(super) fn new(paths: &[FieldPath], schema: SchemaRef, predicates: &[Predicate]) -> Result<Self> {
        let mut wanted = Kind::ALL.map(|kind| vec![false; kind.fields().len()]);
        let mut columns = Vec::with_capacity(paths.len());
        for (path, field) in paths.iter().zip(schema.fields()) {
            let column = resolve(path, field.data_type())?;
            match &column {
                Column::EventType => {}
                Column::Whole(kind, fields, _) => {
                    fields.iter().for_each(|&field| wanted[*kind as usize][field] = true);
                }
                Column::Field(kind, field) => wanted[*kind as usize][*field] = true,
            }
            columns.push(column);
        }
        if columns.len() != schema.fields().len() {
            return Err(Error::job("a nexmark table has no metadata columns"));
        }
        let needed = |kind: &Kind| predicates.iter().all(|predicate| may_pass(*kind, predicate));
        let kinds = Kind::ALL.into_iter().filter(needed).collect();
        Ok(Projection { schema, columns, kinds, wanted })
    }

    /// Whether only events that pass this predicate are made: one about the kind of event.
    pub(super) fn applies(predicate: &Predicate) -> bool {
        let ints = predicate.literals.iter().all(|literal| matches!(literal, Literal::Int(_)));
        predicate.path.0 == [EVENT_TYPE] && ints
    }

    /// How many rows a cycle of 50 events gives.
    pub(super) fn rows_per_cycle(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.ids()).map(|ids| ids.end - ids.start).sum()
    }

    /// The rows of events by number. `None` where there is none.
    pub(super) fn batch(
        &self,
        generator: &Generator,
        texts: &SharedTexts,
        ranges: &[Range<u64>],
    ) -> Result<Option<ChangeBatch>> {
        let runs = self.runs(generator, ranges);
        let rows = runs.last().map_or(0, |run| run.rows().end);
        if rows == 0 {
            return Ok(None);
        }
        let mut of_kinds = Kind::ALL.map(|kind| Columns::new(kind, &self.wanted[kind as usize], rows));
        for run in &runs {
            let out = &mut of_kinds[run.kind as usize];
            match run.kind {
                Kind::Person => person::fill(run, generator, texts, out),
                Kind::Auction => auction::fill(run, generator, texts, out),
                Kind::Bid => bid::fill(run, generator, texts, out),
            }
        }
        let mut nulls = [const { None }; 3];
        let mut arrays = [const { Vec::new() }; 3];
        for (kind, columns) in Kind::ALL.into_iter().zip(of_kinds) {
            let at = kind as usize;
            if self.wanted[at].contains(&true) {
                nulls[at] = self.nulls_of(kind, &runs, rows);
                arrays[at] = columns.finish(kind, texts, nulls[at].as_ref());
            }
        }
        let columns: Result<Vec<_>> =
            self.columns.iter().map(|column| column.array(&runs, rows, &arrays, &nulls)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns?, &options);
        Ok(Some(ChangeBatch::inserts(batch.map_err(does_not_fit)?)))
    }

    /// Where the rows of the needed kinds are, in the order of their numbers.
    fn runs(&self, generator: &Generator, ranges: &[Range<u64>]) -> Vec<Run> {
        let (mut runs, mut row) = (Vec::new(), 0);
        for range in ranges {
            let mut index = range.start;
            while index < range.end && !self.kinds.is_empty() {
                let mut next = index;
                for &kind in &self.kinds {
                    let (ids, behind) = generator.run_of(&kind.ids(), index, range.end);
                    next = behind;
                    if !ids.is_empty() {
                        let run = Run { kind, ids, row };
                        row = run.rows().end;
                        runs.push(run);
                    }
                }
                index = next;
            }
        }
        runs
    }

    /// Which rows are of other kinds; `None` where all are of this one.
    fn nulls_of(&self, kind: Kind, runs: &[Run], rows: usize) -> Option<NullBuffer> {
        if self.kinds == [kind] {
            return None;
        }
        let mut valid = BooleanBufferBuilder::new(rows);
        runs.iter().for_each(|run| valid.append_n(run.len(), run.kind == kind));
        Some(NullBuffer::new(valid.finish()))
    }
}

impl Column {
    fn array(
        &self,
        runs: &[Run],
        rows: usize,
        arrays: &[Vec<Option<ArrayRef>>; 3],
        nulls: &[Option<NullBuffer>; 3],
    ) -> Result<ArrayRef> {
        let made = |kind: Kind, field: usize| {
            let array = arrays[kind as usize].get(field).and_then(Clone::clone);
            array.ok_or_else(|| Error::bug("a column that is asked for was not made"))
        };
        Ok(match self {
            Column::EventType => {
                let mut types = vec![0; rows];
                runs.iter().for_each(|run| types[run.rows()].fill(run.kind as i32));
                Arc::new(Int32Array::from(types))
            }
            Column::Field(kind, field) => made(*kind, *field)?,
            Column::Whole(kind, fields, types) => {
                let columns = fields.iter().map(|&field| made(*kind, field)).collect::<Result<_>>()?;
                let nulls = nulls[*kind as usize].clone();
                Arc::new(StructArray::try_new(types.clone(), columns, nulls).map_err(does_not_fit)?)
            }
        })
    }
}

fn does_not_fit(error: arrow::error::ArrowError) -> Error {
    Error::job("the columns of the nexmark table cannot be NOT NULL: events of other kinds have none")
        .mend("declare them without NOT NULL")
        .caused_by(error)
}

fn resolve(path: &FieldPath, data_type: &DataType) -> Result<Column> {
    let shown = path.0.join(".");
    let wrong_type = |expected: &dyn std::fmt::Display| {
        Error::job(format!(
            "column '{shown}' of a nexmark table is {expected}, but is declared as {data_type}"
        ))
    };
    match path.0.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [EVENT_TYPE] if *data_type == DataType::Int32 => Ok(Column::EventType),
        [EVENT_TYPE] => Err(wrong_type(&"INT")),
        [column] => {
            let kind = kind_of(column)?;
            let DataType::Struct(fields) = data_type else { return Err(wrong_type(&"a ROW")) };
            let places = fields.iter().map(|field| field_of(kind, field.name(), field.data_type()));
            let places = places.collect::<Result<Vec<_>>>()?;
            Ok(Column::Whole(kind, places, fields.clone()))
        }
        [column, field] => {
            let kind = kind_of(column)?;
            Ok(Column::Field(kind, field_of(kind, field, data_type)?))
        }
        _ => Err(Error::job(format!("a nexmark table has no column '{shown}'"))),
    }
}

fn kind_of(column: &str) -> Result<Kind> {
    Kind::of_name(column).ok_or_else(|| {
        Error::job(format!("a nexmark table has no column '{column}'"))
            .mend("its columns are event_type, person, auction and bid")
    })
}

fn field_of(kind: Kind, name: &str, data_type: &DataType) -> Result<usize> {
    let of_kind = || kind.fields().iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let place = kind.fields().iter().position(|(known, _)| *known == name).ok_or_else(|| {
        Error::job(format!("column '{}' of a nexmark table has no field '{name}'", kind.name()))
            .mend(format!("its fields are {}", of_kind()))
    })?;
    let expected = kind.fields()[place].1;
    if *data_type == expected.data_type() {
        return Ok(place);
    }
    let sql = match expected {
        Content::Long => "BIGINT",
        Content::Time => "TIMESTAMP(3)",
        Content::Text => "STRING",
    };
    Err(Error::job(format!(
        "field '{}.{name}' of a nexmark table is {sql}, but is declared as {data_type}",
        kind.name()
    )))
}

/// Whether events of a kind can pass: a field of another kind is NULL, and so is a comparison with it.
fn may_pass(kind: Kind, predicate: &Predicate) -> bool {
    match predicate.path.0.iter().map(String::as_str).next() {
        Some(EVENT_TYPE) => predicate.literals.iter().any(|literal| match literal {
            Literal::Int(n) => {
                let number = kind as i64;
                match predicate.op {
                    PredicateOp::Eq => number == *n,
                    PredicateOp::Lt => number < *n,
                    PredicateOp::LtEq => number <= *n,
                    PredicateOp::Gt => number > *n,
                    PredicateOp::GtEq => number >= *n,
                }
            }
            _ => true,
        }),
        Some(column) => Kind::of_name(column).is_none_or(|of| of == kind),
        None => true,
    }
}

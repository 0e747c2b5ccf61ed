//! Rust rows become columns.

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, TimestampMillisecondArray};
use arrow::datatypes::{Schema, SchemaRef};
use flugs_batch::{ChangeBatch, Record, Records};
use flugs_sql_types::{LTZ, SqlRow, to_field};
use flugs_table::{ChangelogMode, FieldPath, select_column};
use flugs_task::{Operator, Output, Progress};
use flugs_types::{Error, Result, RowKind, Timestamp};
use std::sync::Arc;

/// The milliseconds of event time are these microseconds.
const MILLI: i64 = 1_000;

/// What a [`FromRecords`] makes of rows.
#[derive(Debug, Clone)]
pub struct FromRecordsSpec {
    /// The columns of the rows, or fields in them.
    pub columns: Vec<FieldPath>,
    /// Whether the event time of each row stands behind them.
    pub rowtime: bool,
    /// Names and types of all these.
    pub schema: SchemaRef,
    /// Which kinds of changes may come.
    pub mode: ChangelogMode,
}

/// Makes change batches of records `E`, each of which is a row `R` and what it does to the table.
pub struct FromRecords<E, R> {
    spec: FromRecordsSpec,
    /// Names and types of all columns of a row.
    row: SchemaRef,
    parts: fn(E) -> (RowKind, R),
}

impl<E, R: SqlRow> FromRecords<E, R> {
    /// An operator that takes records apart by `parts`.
    pub fn new(spec: FromRecordsSpec, parts: fn(E) -> (RowKind, R)) -> Self {
        let fields = R::fields().into_iter().map(|f| to_field(&f.name, &f.sql_type));
        FromRecords { spec, row: Arc::new(Schema::new(fields.collect::<Vec<_>>())), parts }
    }

    fn kind(&self, kind: RowKind) -> Result<RowKind> {
        if self.spec.mode.has(kind) {
            return Ok(kind);
        }
        Err(Error::data(format!("a stream of {} gave a {kind}", described(self.spec.mode)))
            .mend("name the changelog mode that it has where it becomes a table"))
    }

    fn event_times(times: &[Timestamp]) -> Result<ArrayRef> {
        let millis = |time: &Timestamp| {
            match *time {
            Timestamp::MIN => Err(Error::data("a row of a stream that becomes a table has no event time").mend(
                "give the stream event times (assign_timestamps_and_watermarks), or leave the row-time column out",
            )),
            time => Ok(time.0.div_euclid(MILLI)),
        }
        };
        let millis = times.iter().map(millis).collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(TimestampMillisecondArray::from(millis).with_timezone(LTZ)))
    }

    fn batch(&self, records: Records<E>) -> Result<ChangeBatch> {
        let length = records.values.len();
        let (mut kinds, mut rows) = (Vec::with_capacity(length), Vec::with_capacity(length));
        for record in records.values {
            let (kind, row) = (self.parts)(record);
            kinds.push(self.kind(kind)?);
            rows.push(Some(row));
        }
        let misfit = |e| Error::bug("rows do not fit their columns").caused_by(e);
        let of_length = RecordBatchOptions::new().with_row_count(Some(length));
        let rows = RecordBatch::try_new_with_options(self.row.clone(), R::columns(rows)?, &of_length)
            .map_err(misfit)?;
        let columns = self.spec.columns.iter().map(|path| select_column(&rows, path));
        let mut columns = columns.collect::<Result<Vec<_>>>()?;
        if self.spec.rowtime {
            columns.push(Self::event_times(&records.times)?);
        }
        let rows = RecordBatch::try_new_with_options(self.spec.schema.clone(), columns, &of_length);
        ChangeBatch::new(rows.map_err(misfit)?, &kinds)
    }
}

fn described(mode: ChangelogMode) -> &'static str {
    match mode {
        ChangelogMode::Append => "inserts alone",
        ChangelogMode::Upsert => "upserts",
        ChangelogMode::Retract => "changes",
    }
}

impl<E: Record, R: SqlRow> Operator for FromRecords<E, R> {
    type In = Records<E>;
    type Out = ChangeBatch;

    fn process(&mut self, records: Records<E>, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if !records.is_empty() {
            let _ = out.push(self.batch(records)?)?;
        }
        Ok(Progress::Done)
    }

    fn advance(&mut self, watermark: Timestamp, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        let _ = out.watermark(if self.spec.rowtime { of_milliseconds(watermark) } else { watermark })?;
        Ok(Progress::Done)
    }

    fn forwards_watermarks(&self) -> bool {
        false
    }
}

/// The watermark of rows whose times are cut to milliseconds: before the millisecond in which a row can still follow.
pub(super) fn of_milliseconds(watermark: Timestamp) -> Timestamp {
    match watermark {
        Timestamp::MAX | Timestamp::MIN => watermark,
        Timestamp(micros) => Timestamp((micros + 1).div_euclid(MILLI) * MILLI - 1),
    }
}

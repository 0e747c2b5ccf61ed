//! Between connectors and operators of SQL: batches out of records, records of batches, event time out of columns.

use crate::failure::evaluate;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::{cast, max};
use arrow::datatypes::{
    DataType, Field, Schema, SchemaRef, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use datafusion_physical_expr::PhysicalExpr;
use flugs_batch::{Batch, ChangeBatch, Records};
use flugs_task::{Operator, Output, Progress, WatermarkGenerator, WatermarkStrategy};
use flugs_types::{Error, Result, Timestamp};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Stands behind a SQL source, whose every record is a batch, and hands on the batches.
#[derive(Default)]
pub struct Unbatch {
    waiting: VecDeque<ChangeBatch>,
}

impl Unbatch {
    /// Nothing is waiting.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Operator for Unbatch {
    type In = Records<ChangeBatch>;
    type Out = ChangeBatch;

    fn process(&mut self, batches: Records<ChangeBatch>, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        self.waiting.extend(batches.values.into_iter().filter(|batch| !batch.is_empty()));
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        while let Some(batch) = self.waiting.pop_front() {
            let _ = out.push(batch)?;
            if !out.is_ready() && !self.waiting.is_empty() {
                return Ok(Progress::More);
            }
        }
        Ok(Progress::Done)
    }
}

/// Stands before a SQL sink and makes each batch a record, without an event time.
pub struct Rebatch;

impl Operator for Rebatch {
    type In = ChangeBatch;
    type Out = Records<ChangeBatch>;

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<Records<ChangeBatch>>) -> Result<Progress> {
        if !batch.is_empty() {
            let _ = out.push(Records::untimed(vec![batch]))?;
        }
        Ok(Progress::Done)
    }
}

/// Where an error of a watermark expression waits until a [`RowtimeCheck`] of the same job reports it: what makes watermarks
/// cannot. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct WatermarkFaults(Arc<Mutex<Option<Error>>>);

impl WatermarkFaults {
    fn put(&self, error: Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The watermarks of `WATERMARK FOR c AS expr`: in each split the highest value that the expression has had, over the source's
/// columns.
///
/// As in Flink (`WatermarkAssignerOperator`), nothing is subtracted: after a watermark `t` a row of time `t` is late, and rows
/// whose expression is NULL change nothing. (The one millisecond less of `forBoundedOutOfOrderness` is of the DataStream API; in SQL
/// it is written out: `c - INTERVAL '0.001' SECOND`.) Fractions of a microsecond are cut off.
pub fn watermark_strategy(
    expr: Arc<dyn PhysicalExpr>,
    faults: &WatermarkFaults,
) -> WatermarkStrategy<ChangeBatch> {
    let faults = faults.clone();
    WatermarkStrategy::generator(move || HighestValue {
        expr: expr.clone(),
        faults: faults.clone(),
        watermark: Timestamp::MIN,
    })
}

struct HighestValue {
    expr: Arc<dyn PhysicalExpr>,
    faults: WatermarkFaults,
    watermark: Timestamp,
}

impl WatermarkGenerator<ChangeBatch> for HighestValue {
    fn observe(&mut self, batches: &Records<ChangeBatch>) -> Timestamp {
        for batch in &batches.values {
            match highest(&self.expr, batch.rows()) {
                Ok(highest) => self.watermark = self.watermark.max(highest.unwrap_or(Timestamp::MIN)),
                Err(error) => self.faults.put(error),
            }
        }
        self.watermark
    }
}

fn highest(expr: &Arc<dyn PhysicalExpr>, rows: &RecordBatch) -> Result<Option<Timestamp>> {
    highest_time(&evaluate(expr, rows)?)
}

/// The latest of a column of timestamps, but for NULLs; fractions of a microsecond are cut off.
pub fn highest_time(values: &ArrayRef) -> Result<Option<Timestamp>> {
    Ok(match values.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => {
            max(values.as_primitive::<TimestampSecondType>()).map(Timestamp::from_secs)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            max(values.as_primitive::<TimestampMillisecondType>()).map(Timestamp::from_millis)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            max(values.as_primitive::<TimestampMicrosecondType>()).map(Timestamp)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            max(values.as_primitive::<TimestampNanosecondType>()).map(|t| Timestamp(t.div_euclid(1000)))
        }
        other => return Err(Error::bug(format!("{other} is no type of a time attribute"))),
    })
}

/// What a [`RowtimeCheck`] looks at.
#[derive(Debug, Clone)]
pub struct RowtimeSpec {
    /// The column that is the row-time attribute.
    pub column: usize,
    /// The columns that come in.
    pub schema: SchemaRef,
    /// Where the table's watermark expression reports that it failed.
    pub faults: WatermarkFaults,
}

impl RowtimeSpec {
    /// The columns that go out: the attribute is of milliseconds and never NULL.
    pub fn output_schema(&self) -> SchemaRef {
        let fields = self.schema.fields().iter().enumerate().map(|(i, field)| match (i, field.data_type()) {
            (i, DataType::Timestamp(_, zone)) if i == self.column => {
                let millis = DataType::Timestamp(TimeUnit::Millisecond, zone.clone());
                let same = *field.data_type() == millis;
                let checked = Field::new(field.name(), millis, false);
                // What a note says about another precision holds no longer.
                Arc::new(if same { checked.with_metadata(field.metadata().clone()) } else { checked })
            }
            _ => field.clone(),
        });
        Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), self.schema.metadata().clone()))
    }
}

/// Stands behind a source with a row-time attribute: a NULL there ends the job, as in Flink, and times of finer precision are cut
/// to milliseconds. Also reports the errors of the watermark expression.
pub struct RowtimeCheck {
    spec: RowtimeSpec,
    output: SchemaRef,
}

impl RowtimeCheck {
    /// A check of this column.
    pub fn new(spec: RowtimeSpec) -> Self {
        let output = spec.output_schema();
        RowtimeCheck { spec, output }
    }

    fn check(&self, batch: &ChangeBatch) -> Result<ChangeBatch> {
        let column = self.spec.column;
        let times = batch.column(column);
        if times.null_count() > 0 {
            let name = self.spec.schema.field(column).name();
            return Err(Error::data(format!("the row-time attribute '{name}' is NULL in a row")).mend(
                "filter such rows out before the watermark, or define the attribute as COALESCE(...)",
            ));
        }
        let mut columns = batch.rows().columns().to_vec();
        let wanted = self.output.field(column).data_type();
        if times.data_type() != wanted {
            // Arrow divides towards zero; a time before 1970 is cut to the millisecond it is in.
            columns[column] = match times.data_type() {
                DataType::Timestamp(TimeUnit::Microsecond, _) => {
                    floored(times.as_primitive::<TimestampMicrosecondType>().values(), 1000, wanted)
                }
                DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                    floored(times.as_primitive::<TimestampNanosecondType>().values(), 1_000_000, wanted)
                }
                _ => cast(times, wanted).map_err(|e| Error::bug("a row-time attribute").caused_by(e))?,
            };
        }
        let rows = RecordBatch::try_new(self.output.clone(), columns)
            .map_err(|e| Error::bug("the source gives other columns than were planned").caused_by(e))?;
        batch.with_rows(rows)
    }
}

fn floored(times: &[i64], units_of_a_milli: i64, wanted: &DataType) -> ArrayRef {
    let millis = times.iter().map(|time| time.div_euclid(units_of_a_milli));
    let array = arrow::array::PrimitiveArray::<TimestampMillisecondType>::from_iter_values(millis);
    Arc::new(array.with_data_type(wanted.clone()))
}

impl Operator for RowtimeCheck {
    type In = ChangeBatch;
    type Out = ChangeBatch;

    fn process(&mut self, batch: ChangeBatch, out: &mut Output<ChangeBatch>) -> Result<Progress> {
        if let Some(error) = self.spec.faults.take() {
            return Err(error);
        }
        let _ = out.push(self.check(&batch)?)?;
        Ok(Progress::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Driver, changes, schema, text};
    use arrow::array::{TimestampMicrosecondArray, TimestampNanosecondArray};
    use datafusion_expr::Operator as Op;
    use datafusion_physical_expr::expressions::{binary, cast, col, lit};
    use flugs_types::ErrorKind;

    #[test]
    fn batches_are_unpacked_and_packed() {
        let schema = schema("a BIGINT");
        let batch = |v: i64| changes(&schema, &format!("+I | {v}"));
        let empty = ChangeBatch::default();
        for refusing in [false, true] {
            let mut driver = Driver::with(Unbatch::new(), refusing, None).unwrap();
            driver.push(Records::untimed(vec![batch(1), empty.clone(), batch(2), batch(3)])).unwrap();
            assert_eq!(driver.take_text(), "+I | 1\n+I | 2\n+I | 3");
        }
        let mut driver = Driver::new(Rebatch).unwrap();
        driver.push(batch(7)).unwrap();
        driver.push(empty).unwrap();
        let records = driver.take();
        assert_eq!(records.len(), 1);
        assert_eq!(text(&records[0].values[0]), "+I | 7");
    }

    #[test]
    fn a_watermark_is_the_highest_value_and_never_falls() {
        let schema = schema("t TIMESTAMP(3)");
        let faults = WatermarkFaults::default();
        let strategy = watermark_strategy(col("t", &schema).unwrap(), &faults);
        let mut generator = strategy.new_generator().unwrap();
        let mut observe = |rows: &str| generator.observe(&Records::untimed(vec![changes(&schema, rows)]));
        assert_eq!(observe("+I | NULL"), Timestamp::MIN);
        assert_eq!(observe("+I | 5\n+I | 7\n+I | NULL\n+I | 6"), Timestamp::from_millis(7));
        assert_eq!(observe("+I | 3"), Timestamp::from_millis(7));
        assert_eq!(strategy.new_generator().unwrap().observe(&Records::new()), Timestamp::MIN);
    }

    #[test]
    fn a_failing_watermark_expression_ends_the_job() {
        let input = schema("t TIMESTAMP(3), a BIGINT, b BIGINT");
        let ratio = binary(col("a", &input).unwrap(), Op::Divide, col("b", &input).unwrap(), &input).unwrap();
        let to = input.field(0).data_type().clone();
        let faults = WatermarkFaults::default();
        let strategy = watermark_strategy(cast(ratio, &input, to).unwrap(), &faults);
        let batch = changes(&input, "+I | 1 | 1 | 0");
        strategy.new_generator().unwrap().observe(&Records::untimed(vec![batch.clone()]));
        let spec = RowtimeSpec { column: 0, schema: input, faults };
        let error = Driver::new(RowtimeCheck::new(spec)).unwrap().push(batch).unwrap_err();
        assert!(error.to_string().contains("division by zero: a / b"), "{error}");
        assert_eq!(
            highest(&lit(1i64), &RecordBatch::new_empty(schema(""))).unwrap_err().kind(),
            ErrorKind::Bug
        );
    }

    #[test]
    fn row_times_are_milliseconds_and_not_null() {
        let input = schema("a BIGINT, t TIMESTAMP(3)");
        let check = |schema: &SchemaRef| {
            RowtimeCheck::new(RowtimeSpec {
                column: 1,
                schema: schema.clone(),
                faults: WatermarkFaults::default(),
            })
        };
        let mut driver = Driver::new(check(&input)).unwrap();
        driver.push(changes(&input, "+I | 1 | 5\n-D | NULL | 6")).unwrap();
        assert_eq!(driver.take_text(), "+I | 1 | 5\n-D | NULL | 6");
        let error = driver.push(changes(&input, "+I | 1 | NULL")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Data);
        assert!(error.message().contains("'t' is NULL"));
        let a: ArrayRef = Arc::new(arrow::array::Int64Array::from(vec![1, 2]));
        let micros: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1999, -1]));
        let nanos: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![1_999_999, -1]));
        for times in [micros, nanos] {
            let rows = RecordBatch::try_from_iter([("a", a.clone()), ("t", times)]).unwrap();
            let checked = check(&rows.schema()).check(&ChangeBatch::inserts(rows)).unwrap();
            assert_eq!(text(&checked), "+I | 1 | 1\n+I | 2 | -1");
            assert!(!checked.schema().field(1).is_nullable());
        }
    }
}

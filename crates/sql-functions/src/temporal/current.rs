//! What time it is: the clock's time and the watermark.
//!
//! A batch of rows has one time: the clock is read once for each call. In batch mode the planner replaces the calls by
//! [`current_value`] at the query's start.

use super::civil::DAY_MS;
use super::{Zone, session_zone};
use crate::registry::{Category, FunctionRegistry};
use crate::support::{Call, Definition, Parameter, Types};
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::ScalarUDF;
use flugs_sql_types::{LTZ, LogicalType};
use flugs_types::{Clock, Timestamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

struct Current {
    name: &'static str,
    aliases: &'static [&'static str],
    usage: &'static str,
    text: &'static str,
    kind: LogicalType,
}

fn functions() -> [Current; 7] {
    let current = |name, aliases, usage, text, kind| Current { name, aliases, usage, text, kind };
    [
        current(
            "LOCALTIME",
            &["CURRENT_TIME"],
            "LOCALTIME",
            "The time of day in the session's time zone.",
            LogicalType::Time(0),
        ),
        current(
            "LOCALTIMESTAMP",
            &[],
            "LOCALTIMESTAMP",
            "The date and time in the session's time zone, as TIMESTAMP(3).",
            LogicalType::Timestamp(3),
        ),
        current(
            "CURRENT_DATE",
            &[],
            "CURRENT_DATE",
            "The date in the session's time zone.",
            LogicalType::Date,
        ),
        current(
            "CURRENT_TIMESTAMP",
            &[],
            "CURRENT_TIMESTAMP",
            "The present time, as TIMESTAMP_LTZ(3).",
            LogicalType::TimestampLtz(3),
        ),
        current(
            "NOW",
            &[],
            "NOW()",
            "The present time; the same as CURRENT_TIMESTAMP.",
            LogicalType::TimestampLtz(3),
        ),
        current(
            "CURRENT_ROW_TIMESTAMP",
            &[],
            "CURRENT_ROW_TIMESTAMP()",
            "The present time, also in batch mode that of each row.",
            LogicalType::TimestampLtz(3),
        ),
        current(
            "PROCTIME",
            &[],
            "PROCTIME()",
            "The processing time: a time attribute that windows and joins know.",
            LogicalType::TimestampLtz(3),
        ),
    ]
}

pub(super) fn register(registry: &mut FunctionRegistry, clock: &Arc<dyn Clock>) {
    for Current { name, aliases, usage, text, kind } in functions() {
        let clock = clock.clone();
        let body = move |call: &Call<'_>| -> Result<ArrayRef> {
            let zone = session_zone(call)?;
            value_at(name, clock.now(), &zone).to_array_of_size(call.rows)
        };
        let definition = Definition::new(Category::Temporal, name, usage, text, body);
        registry.define(definition.aliases(aliases).returns(kind).not_null().volatile());
    }
    registry.define(watermark_function(WatermarkCell::default()));
}

/// What `name`, one of the functions of the present time, gives at a time; none for other functions, and for
/// `CURRENT_ROW_TIMESTAMP` and `PROCTIME`, which are the time of each row in every mode.
pub fn current_value(name: &str, now: Timestamp, zone: &Zone) -> Option<ScalarValue> {
    let name = name.to_ascii_uppercase();
    match name.as_str() {
        "LOCALTIME" | "CURRENT_TIME" | "LOCALTIMESTAMP" | "CURRENT_DATE" | "CURRENT_TIMESTAMP" | "NOW" => {
            Some(value_at(&name, now, zone))
        }
        _ => None,
    }
}

fn value_at(name: &str, now: Timestamp, zone: &Zone) -> ScalarValue {
    let millis = now.as_millis();
    let local = millis.saturating_add(i64::from(zone.offset_at(millis.div_euclid(1000))) * 1000);
    match name {
        "LOCALTIME" | "CURRENT_TIME" => {
            let of_day = local.rem_euclid(DAY_MS);
            ScalarValue::Time32Millisecond(Some((of_day - of_day % 1000) as i32))
        }
        "LOCALTIMESTAMP" => ScalarValue::TimestampMillisecond(Some(local), None),
        "CURRENT_DATE" => ScalarValue::Date32(Some(local.div_euclid(DAY_MS) as i32)),
        _ => ScalarValue::TimestampMillisecond(Some(millis), Some(LTZ.into())),
    }
}

/// The watermark of an operator, as its expressions see it. Clones share it.
#[derive(Debug, Clone)]
pub struct WatermarkCell(Arc<AtomicI64>);

impl Default for WatermarkCell {
    fn default() -> Self {
        WatermarkCell(Arc::new(AtomicI64::new(Timestamp::MIN.0)))
    }
}

impl WatermarkCell {
    /// Sets the watermark; [`Timestamp::MIN`] is none.
    pub fn set(&self, watermark: Timestamp) {
        self.0.store(watermark.0, Ordering::Relaxed);
    }

    /// The watermark; none before the first one.
    pub fn get(&self) -> Option<Timestamp> {
        let watermark = Timestamp(self.0.load(Ordering::Relaxed));
        (watermark != Timestamp::MIN).then_some(watermark)
    }
}

/// `CURRENT_WATERMARK(rowtime)` of an operator that keeps its watermark in `cell`. The planner finds the function of the
/// registry, which always gives NULL, and puts this one in its place.
pub fn current_watermark(cell: WatermarkCell) -> ScalarUDF {
    watermark_function(cell).into_udf()
}

fn watermark_function(cell: WatermarkCell) -> Definition {
    let body = move |call: &Call<'_>| -> Result<ArrayRef> {
        let watermark = cell.get().map(Timestamp::as_millis);
        let zone = match call.data_type() {
            DataType::Timestamp(_, zone) => zone.clone(),
            _ => None,
        };
        ScalarValue::TimestampMillisecond(watermark, zone).to_array_of_size(call.rows)
    };
    Definition::new(
        Category::Temporal,
        "CURRENT_WATERMARK",
        "CURRENT_WATERMARK(rowtime)",
        "The watermark of the operator that asks; NULL before the first one.",
        body,
    )
    .takes(&[ROWTIME])
    .returns_by(|types: &Types<'_>| {
        Ok(match types.kind(0) {
            LogicalType::TimestampLtz(_) => LogicalType::TimestampLtz(3),
            _ => LogicalType::Timestamp(3),
        })
    })
    .nullable()
    .volatile()
}

const ROWTIME: Parameter = Parameter::Other("a column of row time", |given| match given {
    DataType::Timestamp(..) => Some(given.clone()),
    _ => None,
});

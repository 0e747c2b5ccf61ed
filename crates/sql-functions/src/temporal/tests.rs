//! Expected values are Flink's documentation's, or worked out by hand with a calendar.

use super::{WatermarkCell, Zone, current_value, current_watermark, parse_date, parse_time, parse_timestamp};
use crate::registry::FunctionRegistry;
use crate::support::testing::evaluate_udf;
use arrow::array::{ArrayRef, AsArray, Int64Array, TimestampMillisecondArray};
use arrow::datatypes::{DataType, Field, FieldRef, IntervalMonthDayNano, TimeUnit};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs};
use flugs_types::{ManualClock, Timestamp};
use proptest::prelude::*;
use std::sync::Arc;

fn text(value: &str) -> ScalarValue {
    ScalarValue::Utf8View(Some(value.to_owned()))
}

fn long(value: i64) -> ScalarValue {
    ScalarValue::Int64(Some(value))
}

fn int(value: i32) -> ScalarValue {
    ScalarValue::Int32(Some(value))
}

fn date(value: &str) -> ScalarValue {
    ScalarValue::Date32(Some(parse_date(value).unwrap()))
}

fn time(value: &str) -> ScalarValue {
    ScalarValue::Time32Millisecond(Some(parse_time(value).unwrap()))
}

fn millis(value: &str) -> i64 {
    let parsed = parse_timestamp(value).unwrap();
    parsed.seconds * 1000 + i64::from(parsed.nanos) / 1_000_000
}

/// `TIMESTAMP(3)`.
fn ts(value: &str) -> ScalarValue {
    ScalarValue::TimestampMillisecond(Some(millis(value)), None)
}

/// `TIMESTAMP_LTZ(3)` of a time in UTC.
fn utc(value: &str) -> ScalarValue {
    ScalarValue::TimestampMillisecond(Some(millis(value)), Some("+00:00".into()))
}

fn days(days: i32) -> ScalarValue {
    ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano::new(0, days, 0)))
}

fn hours(hours: i64) -> ScalarValue {
    ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano::new(0, 0, hours * 3_600_000_000_000)))
}

fn months(months: i32) -> ScalarValue {
    ScalarValue::IntervalYearMonth(Some(months))
}

fn call_in(zone: &str, name: &str, arguments: &[ScalarValue]) -> Result<ScalarValue> {
    let registry = FunctionRegistry::builtin();
    evaluate_udf(registry.scalar(name).unwrap_or_else(|| panic!("no function {name}")), arguments, zone)
}

fn call(name: &str, arguments: &[ScalarValue]) -> ScalarValue {
    call_in("UTC", name, arguments).unwrap_or_else(|e| panic!("{name}({arguments:?}): {e}"))
}

#[test]
fn fields_of_dates_and_times() {
    let day = "1994-09-27";
    let at = "1994-09-27 13:14:15.678";
    let cases = [
        ("year", date(day), 1994),
        ("quarter", date(day), 3),
        ("month", date(day), 9),
        ("week", date(day), 39),
        ("dayofyear", date(day), 270),
        ("dayofmonth", date(day), 27),
        ("dayofweek", date(day), 3),
        ("hour", ts(at), 13),
        ("minute", ts(at), 14),
        ("second", ts(at), 15),
        ("hour", time("13:14:15"), 13),
        ("hour", date(day), 0),
        // Before 1970, too, hours count from midnight.
        ("hour", ts("1969-12-31 23:59:58.999"), 23),
        ("second", ts("1969-12-31 23:59:58.999"), 58),
        ("year", ts("0001-01-01 00:00:00"), 1),
        ("year", ts("0000-12-31 23:59:59"), 0),
    ];
    for (name, argument, expected) in cases {
        assert_eq!(call(name, std::slice::from_ref(&argument)), long(expected), "{name}({argument})");
    }
    let units = [
        ("MILLENNIUM", 2),
        ("century", 20),
        ("DECADE", 199),
        ("ISOYEAR", 1994),
        ("DOW", 3),
        ("ISODOW", 2),
        ("DOY", 270),
        ("MILLISECOND", 678),
        ("MICROSECOND", 678_000),
        ("NANOSECOND", 678_000_000),
        ("EPOCH", 780_671_655),
    ];
    for (unit, expected) in units {
        assert_eq!(call("extract", &[text(unit), ts(at)]), long(expected), "{unit}");
    }
    assert_eq!(call("extract", &[text("EPOCH"), date("1969-12-31")]), long(-86_400));
    let micros = ScalarValue::TimestampMicrosecond(Some(-1), None);
    assert_eq!(call("extract", &[text("MICROSECOND"), micros.clone()]), long(999_999));
    assert_eq!(call("extract", &[text("MILLISECOND"), micros]), long(999));
    assert_eq!(call("hour", &[ScalarValue::Null]), ScalarValue::Int64(None));
    assert!(call_in("UTC", "extract", &[text("FORTNIGHT"), ts(at)]).is_err());
    assert!(call_in("UTC", "hour", &[text("13:14:15")]).is_err());
}

#[test]
fn fields_of_intervals() {
    let cases = [
        ("YEAR", months(30), 2),
        ("MONTH", months(-30), -6),
        ("DAY", days(3), 3),
        ("HOUR", hours(50), 2),
        ("EPOCH", hours(-1), -3600),
    ];
    for (unit, interval, expected) in cases {
        assert_eq!(call("extract", &[text(unit), interval]), long(expected), "{unit}");
    }
}

#[test]
fn fields_of_instants_are_those_of_the_sessions_zone() {
    let summer = utc("2021-07-01 22:30:00");
    assert_eq!(call_in("Europe/Berlin", "hour", std::slice::from_ref(&summer)).unwrap(), long(0));
    assert_eq!(call_in("Europe/Berlin", "dayofmonth", std::slice::from_ref(&summer)).unwrap(), long(2));
    assert_eq!(call_in("Asia/Kathmandu", "minute", std::slice::from_ref(&summer)).unwrap(), long(15));
    let epoch = call_in("Europe/Berlin", "extract", &[text("EPOCH"), summer]).unwrap();
    assert_eq!(epoch, long(1_625_178_600));
    assert!(call_in("Europe/Nowhere", "hour", &[utc("2021-07-01 00:00:00")]).is_err());
}

#[test]
fn floors_and_ceilings() {
    let at = "2018-03-20 06:44:31.500";
    let cases = [
        ("MILLENNIUM", "2001-01-01", "3001-01-01"),
        ("CENTURY", "2001-01-01", "2101-01-01"),
        ("DECADE", "2010-01-01", "2020-01-01"),
        ("YEAR", "2018-01-01", "2019-01-01"),
        ("QUARTER", "2018-01-01", "2018-04-01"),
        ("MONTH", "2018-03-01", "2018-04-01"),
        ("WEEK", "2018-03-18", "2018-03-25"),
        ("DAY", "2018-03-20", "2018-03-21"),
        ("HOUR", "2018-03-20 06:00:00", "2018-03-20 07:00:00"),
        ("MINUTE", "2018-03-20 06:44:00", "2018-03-20 06:45:00"),
        ("SECOND", "2018-03-20 06:44:31", "2018-03-20 06:44:32"),
        ("MILLISECOND", at, at),
        ("MICROSECOND", at, at),
    ];
    for (unit, floor, ceil) in cases {
        assert_eq!(call("floor_to", &[ts(at), text(unit)]), ts(floor), "{unit}");
        assert_eq!(call("ceil_to", &[ts(at), text(unit)]), ts(ceil), "{unit}");
        // What is at the start of a unit stays.
        assert_eq!(call("ceil_to", &[ts(floor), text(unit)]), ts(floor), "{unit}");
    }
    assert_eq!(call("floor_to", &[ts("1969-12-31 23:30:00"), text("MONTH")]), ts("1969-12-01"));
    assert_eq!(call("floor_to", &[ts("1969-12-31 23:30:00"), text("HOUR")]), ts("1969-12-31 23:00:00"));
    assert_eq!(call("floor_to", &[time("12:44:31"), text("MINUTE")]), time("12:44:00"));
    assert_eq!(call("ceil_to", &[time("12:44:31"), text("MINUTE")]), time("12:45:00"));
    assert_eq!(call("ceil_to", &[time("23:44:31"), text("HOUR")]), time("00:00:00"));
    assert_eq!(call("floor_to", &[date("2018-03-20"), text("MONTH")]), date("2018-03-01"));
    assert_eq!(call("ceil_to", &[date("2018-12-02"), text("YEAR")]), date("2019-01-01"));
    assert_eq!(call("floor_to", &[date("2018-12-02"), text("HOUR")]), date("2018-12-02"));
    assert_eq!(
        call("floor_to", &[ts(at), ScalarValue::Utf8View(None)]),
        ScalarValue::TimestampMillisecond(None, None)
    );
    assert!(call_in("UTC", "floor_to", &[ts(at), text("DOW")]).is_err());
}

#[test]
fn local_days_have_23_to_25_hours() {
    let berlin =
        |name: &str, at: &str, unit: &str| call_in("Europe/Berlin", name, &[utc(at), text(unit)]).unwrap();
    // 2021-03-28 is 23 hours long, from 23:00 to 22:00 UTC.
    assert_eq!(berlin("floor_to", "2021-03-28 12:00:00", "DAY"), utc("2021-03-27 23:00:00"));
    assert_eq!(berlin("ceil_to", "2021-03-28 12:00:00", "DAY"), utc("2021-03-28 22:00:00"));
    // 2021-10-31 is 25 hours long, from 22:00 to 23:00 UTC.
    assert_eq!(berlin("floor_to", "2021-10-31 22:30:00", "DAY"), utc("2021-10-30 22:00:00"));
    assert_eq!(berlin("ceil_to", "2021-10-31 22:30:00", "DAY"), utc("2021-10-31 23:00:00"));
    assert_eq!(berlin("floor_to", "2021-10-31 22:30:00", "MONTH"), utc("2021-09-30 22:00:00"));
    assert_eq!(berlin("floor_to", "2021-10-31 00:30:00", "HOUR"), utc("2021-10-31 00:00:00"));
    // Hours begin at a quarter in Kathmandu.
    let nepal = call_in("Asia/Kathmandu", "floor_to", &[utc("2021-01-01 00:30:00"), text("HOUR")]).unwrap();
    assert_eq!(nepal, utc("2021-01-01 00:15:00"));
    // Midnight of 2018-11-04 was left out in Sao Paulo: the day began at 01:00, 03:00 UTC.
    let brazil =
        call_in("America/Sao_Paulo", "floor_to", &[utc("2018-11-04 12:00:00"), text("DAY")]).unwrap();
    assert_eq!(brazil, utc("2018-11-04 03:00:00"));
}

/// A call with constants only, whose type may depend on their values.
fn planned(name: &str, arguments: &[ScalarValue]) -> Result<ScalarValue> {
    let registry = FunctionRegistry::builtin();
    let function = registry.scalar(name).unwrap();
    let fields: Vec<FieldRef> =
        arguments.iter().map(|a| Arc::new(Field::new("a", a.data_type(), true))).collect();
    let constants: Vec<Option<&ScalarValue>> = arguments.iter().map(Some).collect();
    let return_field = function
        .return_field_from_args(ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &constants })?;
    let result = function.invoke_with_args(ScalarFunctionArgs {
        args: arguments.iter().cloned().map(ColumnarValue::Scalar).collect(),
        arg_fields: fields,
        number_rows: 1,
        return_field: return_field.clone(),
        config_options: Arc::new(ConfigOptions::default()),
    })?;
    assert_eq!(result.data_type(), *return_field.data_type());
    ScalarValue::try_from_array(&result.into_array(1)?, 0)
}

#[test]
fn units_are_added() {
    let cases = [
        ("YEAR", 1, ts("2020-02-29 10:00:00"), ts("2021-02-28 10:00:00")),
        ("QUARTER", -1, ts("2020-05-31 10:00:00"), ts("2020-02-29 10:00:00")),
        ("MONTH", 1, ts("2021-01-31 23:59:59.999"), ts("2021-02-28 23:59:59.999")),
        ("WEEK", 2, ts("2021-01-01 00:00:00"), ts("2021-01-15 00:00:00")),
        ("DAY", -1, ts("1970-01-01 12:00:00"), ts("1969-12-31 12:00:00")),
        ("SQL_TSI_HOUR", 25, ts("2021-01-01 00:00:00"), ts("2021-01-02 01:00:00")),
        ("MINUTE", 1, ts("2021-01-01 00:00:00"), ts("2021-01-01 00:01:00")),
        ("second", -1, ts("2021-01-01 00:00:00"), ts("2020-12-31 23:59:59")),
        ("MILLISECOND", 5, ts("2021-01-01 00:00:00"), ts("2021-01-01 00:00:00.005")),
        ("DAY", 1, date("2020-02-28"), date("2020-02-29")),
        ("MONTH", 1, date("2020-01-31"), date("2020-02-29")),
        ("HOUR", 1, time("23:30:00"), time("00:30:00")),
        ("DAY", 1, utc("2021-03-27 12:00:00"), utc("2021-03-28 12:00:00")),
    ];
    for (unit, count, at, expected) in cases {
        assert_eq!(call("timestampadd", &[text(unit), int(count), at]), expected, "{unit}");
    }
    let hour_later = planned("timestampadd", &[text("HOUR"), int(1), date("2016-06-15")]).unwrap();
    assert_eq!(hour_later, ts("2016-06-15 01:00:00"));
    let micro = planned("timestampadd", &[text("MICROSECOND"), int(1), ts("1970-01-01 00:00:00")]).unwrap();
    assert_eq!(micro, ScalarValue::TimestampMicrosecond(Some(1), None));
    assert!(call_in("UTC", "timestampadd", &[text("DAY"), long(i64::MAX), ts("2021-01-01")]).is_err());
    assert!(planned("timestampadd", &[text("DOW"), int(1), ts("2021-01-01")]).is_err());
    assert_eq!(
        call("timestampadd", &[text("DAY"), ScalarValue::Int32(None), date("2021-01-01")]),
        ScalarValue::Date32(None)
    );
}

#[test]
fn whole_units_lie_between() {
    let cases = [
        ("SECOND", "2003-01-02 10:00:00", "2003-01-03 10:00:00", 86_400),
        ("MINUTE", "2003-01-02 10:00:00", "2003-01-02 11:59:59", 119),
        ("HOUR", "2003-01-02 10:00:00", "2003-01-02 10:59:59.999", 0),
        ("DAY", "2003-01-02 10:00:00", "2003-01-01 10:00:01", 0),
        ("DAY", "1969-12-31 10:00:00", "1970-01-02 10:00:00", 2),
        ("WEEK", "2003-01-01 00:00:00", "2003-01-15 00:00:00", 2),
        ("MONTH", "2018-07-03 11:11:11", "2018-09-05 11:11:11", 2),
        ("MONTH", "2018-07-05 11:11:12", "2018-09-05 11:11:11", 1),
        ("MONTH", "2021-01-31 00:00:00", "2021-02-28 00:00:00", 1),
        ("MONTH", "2018-09-05 11:11:11", "2018-07-03 11:11:11", -2),
        ("QUARTER", "2018-01-01 00:00:00", "2018-12-31 00:00:00", 3),
        ("YEAR", "2016-02-29 00:00:00", "2020-02-28 00:00:00", 3),
        ("YEAR", "1968-02-29 00:00:00", "1972-02-29 00:00:00", 4),
        ("MILLISECOND", "2003-01-01 00:00:00", "2003-01-01 00:00:01.5", 1500),
        ("MICROSECOND", "2003-01-01 00:00:00", "2003-01-01 00:00:00.001", 1000),
    ];
    for (unit, from, to, expected) in cases {
        assert_eq!(
            call("timestampdiff", &[text(unit), ts(from), ts(to)]),
            int(expected),
            "{unit} {from} {to}"
        );
    }
    let days = call("timestampdiff", &[text("DAY"), date("2016-06-15"), ts("2016-06-16 01:00:00")]);
    assert_eq!(days, int(1));
    assert_eq!(call("timestampdiff", &[text("HOUR"), time("10:00:00"), time("12:30:00")]), int(2));
    assert_eq!(
        call("timestampdiff", &[text("DAY"), ScalarValue::Null, date("2016-06-15")]),
        ScalarValue::Int32(None)
    );
    assert!(call_in("UTC", "timestampdiff", &[text("DAY"), ts("2016-06-15"), utc("2016-06-15")]).is_err());
}

#[test]
fn datetimes_move_by_intervals() {
    let cases = [
        ("datetime_add", ts("2020-01-31 10:00:00"), months(1), ts("2020-02-29 10:00:00")),
        ("datetime_sub", ts("2020-03-31 10:00:00"), months(1), ts("2020-02-29 10:00:00")),
        ("datetime_sub", ts("1970-01-01 00:00:00"), hours(1), ts("1969-12-31 23:00:00")),
        ("datetime_add", date("2020-02-28"), days(2), date("2020-03-01")),
        ("datetime_add", date("2020-02-29"), months(12), date("2021-02-28")),
        ("datetime_add", time("23:00:00"), hours(2), time("01:00:00")),
        ("datetime_sub", time("01:00:00"), hours(2), time("23:00:00")),
        ("datetime_add", utc("2021-03-27 23:00:00"), days(1), utc("2021-03-28 23:00:00")),
    ];
    for (name, at, by, expected) in cases {
        assert_eq!(call(name, &[at.clone(), by.clone()]), expected, "{name} {at} {by}");
    }
    let later = planned("datetime_add", &[date("2020-02-28"), hours(1)]).unwrap();
    assert_eq!(later, ts("2020-02-28 01:00:00"));
}

#[test]
fn periods_overlap() {
    let cases = [
        ([time("02:55:00"), hours(1), time("03:30:00"), hours(2)], true),
        ([time("09:00:00"), time("10:00:00"), time("10:15:00"), hours(3)], false),
        ([time("09:00:00"), time("10:00:00"), time("10:00:00"), time("11:00:00")], true),
        ([date("2011-03-10"), days(10), date("2011-03-19"), days(10)], true),
        ([date("2011-03-10"), days(5), date("2011-03-16"), days(10)], false),
        // The ends may stand in any order.
        ([ts("2011-03-10 05:02:02"), ts("2011-03-01 00:00:00"), ts("2011-03-05 00:00:00"), months(1)], true),
    ];
    for (arguments, expected) in cases {
        assert_eq!(call("overlaps", &arguments), ScalarValue::Boolean(Some(expected)), "{arguments:?}");
    }
    let unknown = call("overlaps", &[date("2011-03-10"), days(5), ScalarValue::Null, days(1)]);
    assert_eq!(unknown, ScalarValue::Boolean(None));
}

#[test]
fn timestamps_are_formatted() {
    let at = ts("2024-03-05 15:04:09.078");
    let cases = [
        ("yyyy-MM-dd HH:mm:ss", "2024-03-05 15:04:09"),
        ("yyyy/M/d H:m:s.SSS", "2024/3/5 15:4:9.078"),
        ("yy MMM dd, EEE", "24 Mar 05, Tue"),
        ("EEEE, d MMMM uuuu G", "Tuesday, 5 March 2024 AD"),
        ("hh:mm a 'o''clock'", "03:04 PM o'clock"),
        ("K k DDD D", "3 15 065 65"),
        ("Q QQQ QQQQ e", "1 Q1 1st quarter 3"),
        ("SSSSSS n A", "078000 78000000 54249078"),
        ("yyyy[-MM]", "2024-03"),
        ("YYYY-'W'ww W F", "2024-W10 2 1"),
        ("''", "'"),
        ("", ""),
        ("年yyyy", "年2024"),
    ];
    for (pattern, expected) in cases {
        assert_eq!(call("date_format", &[at.clone(), text(pattern)]), text(expected), "{pattern}");
    }
    assert_eq!(
        call("date_format", &[ts("1969-12-31 23:59:59.9"), text("yyyy HH:mm:ss.S")]),
        text("1969 23:59:59.9")
    );
    assert_eq!(call("date_format", &[ts("0000-01-01"), text("yyyy uuuu G")]), text("0001 0000 BC"));
    assert_eq!(call("date_format", &[date("2024-03-05"), text("MM.yyyy")]), text("03.2024"));
    assert_eq!(call("date_format", &[text("2024-03-05 15:04:09"), text("HHmm SSS u")]), text("1504 000 2"));
    assert_eq!(call("date_format", &[text("soon"), text("HHmm")]), ScalarValue::Utf8View(None));
    assert_eq!(call("date_format", &[ScalarValue::Null, text("HHmm")]), ScalarValue::Utf8View(None));
    assert_eq!(call("date_format", &[at.clone(), ScalarValue::Utf8View(None)]), ScalarValue::Utf8View(None));
    for wrong in ["yyyy-bb", "'open", "HH:mm X", "]", "{yyyy}", "SSSSSSSSSS"] {
        assert!(call_in("UTC", "date_format", &[at.clone(), text(wrong)]).is_err(), "{wrong}");
    }
}

#[test]
fn instants_are_formatted_in_the_sessions_zone() {
    let at = utc("2021-10-31 00:30:00");
    let format =
        |zone: &str, pattern: &str| call_in(zone, "date_format", &[at.clone(), text(pattern)]).unwrap();
    assert_eq!(format("Europe/Berlin", "yyyy-MM-dd HH:mm z"), text("2021-10-31 02:30 CEST"));
    assert_eq!(
        format("Europe/Berlin", "Z X XX XXX xxx O VV"),
        text("+0200 +02 +0200 +02:00 +02:00 GMT+2 Europe/Berlin")
    );
    assert_eq!(format("UTC", "X ZZZZ ZZZZZ xxx"), text("Z GMT Z +00:00"));
    assert_eq!(format("-03:30", "X O"), text("-0330 GMT-3:30"));
}

#[test]
fn each_row_is_formatted_as_if_alone() {
    let registry = FunctionRegistry::builtin();
    let function = registry.scalar("date_format").unwrap();
    // Around the hour that comes twice, back and forth, with NULLs.
    let values: Vec<Option<i64>> = (0..4000)
        .map(|i| (i % 17 != 0).then(|| 1_635_640_000_000 + (i * 7919 % 9000) * 1000 + i % 3))
        .collect();
    let column: ArrayRef = Arc::new(TimestampMillisecondArray::from(values.clone()).with_timezone("+00:00"));
    for pattern in ["HH:mm", "yyyy-MM-dd HH:mm:ss.SSS z", "EEEE", "x"] {
        let args = vec![ColumnarValue::Array(column.clone()), ColumnarValue::Scalar(text(pattern))];
        let fields: Vec<FieldRef> =
            args.iter().map(|a| Arc::new(Field::new("a", a.data_type(), true))).collect();
        let mut options = ConfigOptions::default();
        options.execution.time_zone = Some("Europe/Berlin".to_owned());
        let result = function.invoke_with_args(ScalarFunctionArgs {
            args,
            arg_fields: fields,
            number_rows: values.len(),
            return_field: Arc::new(Field::new("a", DataType::Utf8View, true)),
            config_options: Arc::new(options),
        });
        let result = result.unwrap().into_array(values.len()).unwrap();
        for (row, value) in values.iter().enumerate().step_by(13) {
            let alone = ScalarValue::TimestampMillisecond(*value, Some("+00:00".into()));
            let alone = call_in("Europe/Berlin", "date_format", &[alone, text(pattern)]).unwrap();
            assert_eq!(ScalarValue::try_from_array(&result, row).unwrap(), alone, "{pattern} {value:?}");
        }
    }
}

#[test]
fn unix_times() {
    assert_eq!(call("from_unixtime", &[long(44)]), text("1970-01-01 00:00:44"));
    assert_eq!(call_in("Asia/Tokyo", "from_unixtime", &[long(44)]).unwrap(), text("1970-01-01 09:00:44"));
    assert_eq!(call("from_unixtime", &[int(-1), text("yyyy HH:mm:ss.SSS")]), text("1969 23:59:59.000"));
    assert_eq!(call("from_unixtime", &[ScalarValue::Null]), ScalarValue::Utf8View(None));
    let cases = [
        ("1970-01-01 08:00:01.001", "yyyy-MM-dd HH:mm:ss.SSS", 25_201),
        ("1970-01-01 08:00:01.001 +0800", "yyyy-MM-dd HH:mm:ss.SSS X", 1),
        ("1970-01-01 08:00:01.001 +0800", "yyyy-MM-dd HH:mm:ss.SSS", 25_201),
        ("1970-01-01 08:00:01.001", "yyyy-MM-dd HH:mm:ss.SSS X", i64::MIN),
        ("2021-03-28 02:30:00", "yyyy-MM-dd HH:mm:ss", 1_616_895_000),
        ("2021-10-31 02:30:00", "yyyy-MM-dd HH:mm:ss", 1_635_640_200),
        ("1969-12-31", "yyyy-MM-dd", -90_000),
    ];
    for (value, pattern, expected) in cases {
        let seconds = call_in("Europe/Berlin", "unix_timestamp", &[text(value), text(pattern)]).unwrap();
        assert_eq!(seconds, long(expected), "{value} {pattern}");
    }
    assert_eq!(call("unix_timestamp", &[text("1970-01-01 00:01:00")]), long(60));
    assert_eq!(call("unix_timestamp", &[ScalarValue::Utf8View(None)]), ScalarValue::Int64(None));
}

#[test]
fn texts_become_dates() {
    let cases = [
        ("2020-02-29", Some("2020-02-29")),
        ("2020-2-9", Some("2020-02-09")),
        ("2020-02-29 10:00:00", Some("2020-02-29")),
        ("2020-02", Some("2020-02-01")),
        ("2020", Some("2020-01-01")),
        ("2021-02-29", None),
        ("10000-01-01", None),
        ("tomorrow", None),
        ("", None),
    ];
    for (value, expected) in cases {
        let expected = expected.map_or(ScalarValue::Date32(None), date);
        assert_eq!(call("to_date", &[text(value)]), expected, "{value}");
    }
    let cases = [
        ("29/02/2020", "dd/MM/yyyy", Some("2020-02-29")),
        ("20200229", "yyyyMMdd", Some("2020-02-29")),
        // Leniently, values out of range count on.
        ("2020-13-01", "yyyy-MM-dd", Some("2021-01-01")),
        ("5 Mar 24", "d MMM yy", Some("2024-03-05")),
        ("2020-061", "yyyy-DDD", Some("2020-03-01")),
        ("x", "yyyy", None),
    ];
    for (value, pattern, expected) in cases {
        let expected = expected.map_or(ScalarValue::Date32(None), date);
        assert_eq!(call("to_date", &[text(value), text(pattern)]), expected, "{value} {pattern}");
    }
}

#[test]
fn texts_become_timestamps() {
    let none = ScalarValue::TimestampMillisecond(None, None);
    let cases = [
        ("2020-02-29 13:14:15", Some("2020-02-29 13:14:15")),
        ("2020-2-9 3:4:5.6789", Some("2020-02-09 03:04:05.678")),
        ("2020-02-29", Some("2020-02-29")),
        ("2020-02-30 00:00:00", None),
        ("2020-02-29 13:14", None),
        ("20200229", None),
    ];
    for (value, expected) in cases {
        assert_eq!(call("to_timestamp", &[text(value)]), expected.map_or(none.clone(), ts), "{value}");
    }
    let cases = [
        ("29.02.2020 01:02 PM", "dd.MM.yyyy hh:mm a", Some("2020-02-29 13:02:00")),
        ("20200229131415123", "yyyyMMddHHmmssSSS", Some("2020-02-29 13:14:15.123")),
        // A day behind the end of its month is its last.
        ("2021-02-31", "yyyy-MM-dd", Some("2021-02-28")),
        ("2020-01-01 24:00:00", "yyyy-MM-dd HH:mm:ss", Some("2020-01-02")),
        ("2020-01", "yyyy-MM[-dd]", Some("2020-01-01")),
        ("13:14", "HH:mm", Some("1970-01-01 13:14:00")),
        // Where the pattern does not fit, the form of SQL is tried.
        ("1999-9-10 05:20:10", "yyyy-MM-dd HH:mm:ss", Some("1999-09-10 05:20:10")),
        ("2020-01-01 10:00:00 rest", "yyyy-MM-dd HH:mm:ss", None),
        ("2020-13-01 10:00:00", "yyyy-MM-dd HH:mm:ss", None),
    ];
    for (value, pattern, expected) in cases {
        let result = call("to_timestamp", &[text(value), text(pattern)]);
        assert_eq!(result, expected.map_or(none.clone(), ts), "{value} {pattern}");
    }
    assert!(call_in("UTC", "to_timestamp", &[text("2020"), text("bbbb")]).is_err());
}

#[test]
fn numbers_and_texts_become_instants() {
    let none = ScalarValue::TimestampMillisecond(None, Some("+00:00".into()));
    let cases = [
        (vec![int(100), int(0)], Some("1970-01-01 00:01:40")),
        (vec![long(100), int(3)], Some("1970-01-01 00:00:00.1")),
        (vec![long(-1000)], Some("1969-12-31 23:59:59")),
        (vec![ScalarValue::Float64(Some(1.5)), int(0)], Some("1970-01-01 00:00:01.5")),
        (vec![ScalarValue::Decimal128(Some(15), 3, 1), int(0)], Some("1970-01-01 00:00:01")),
        (vec![long(253_402_300_800), int(0)], None),
        (vec![long(i64::MAX), int(0)], None),
        (vec![ScalarValue::Int64(None), int(3)], None),
        (vec![text("2023-01-01 00:00:00")], Some("2023-01-01")),
        (vec![text("01/02/2023 20"), text("dd/MM/yyyy HH")], Some("2023-02-01 20:00:00")),
        (
            vec![text("2023-07-01 12:00"), text("yyyy-MM-dd HH:mm"), text("Europe/Berlin")],
            Some("2023-07-01 10:00:00"),
        ),
        (vec![text("never")], None),
    ];
    for (arguments, expected) in cases {
        let result = call_in("Asia/Tokyo", "to_timestamp_ltz", &arguments).unwrap();
        assert_eq!(result, expected.map_or(none.clone(), utc), "{arguments:?}");
    }
    assert!(call_in("UTC", "to_timestamp_ltz", &[long(1), int(6)]).is_err());
    assert!(call_in("UTC", "to_timestamp_ltz", &[long(1), text("yyyy")]).is_err());
}

#[test]
fn local_times_change_zones() {
    let cases = [
        ("1970-01-01 00:00:00", "UTC", "America/Los_Angeles", Some("1969-12-31 16:00:00")),
        ("1970-01-01 00:00:00", "GMT-08:00", "PST", Some("1970-01-01 00:00:00")),
        ("2021-03-28 01:30:00", "UTC", "Europe/Berlin", Some("2021-03-28 03:30:00")),
        ("yesterday", "UTC", "UTC", None),
    ];
    for (value, from, to, expected) in cases {
        let expected = expected.map_or(ScalarValue::Utf8View(None), text);
        assert_eq!(call("convert_tz", &[text(value), text(from), text(to)]), expected, "{value}");
    }
    assert!(call_in("UTC", "convert_tz", &[text("1970-01-01 00:00:00"), text("Mars"), text("UTC")]).is_err());
}

#[test]
fn the_clock_tells_the_time() {
    let now = Timestamp::from_millis(millis("2021-06-30 22:30:15.789"));
    let registry = FunctionRegistry::with_clock(Arc::new(ManualClock::new(now)));
    let cases = [
        ("current_timestamp", utc("2021-06-30 22:30:15.789")),
        ("now", utc("2021-06-30 22:30:15.789")),
        ("current_row_timestamp", utc("2021-06-30 22:30:15.789")),
        ("proctime", utc("2021-06-30 22:30:15.789")),
        ("localtimestamp", ts("2021-07-01 00:30:15.789")),
        ("current_date", date("2021-07-01")),
        ("localtime", time("00:30:15")),
        ("current_time", time("00:30:15")),
        ("unix_timestamp", long(millis("2021-06-30 22:30:15") / 1000)),
    ];
    let berlin = Zone::parse("Europe/Berlin").unwrap();
    for (name, expected) in cases {
        let result = evaluate_udf(registry.scalar(name).unwrap(), &[], "Europe/Berlin").unwrap();
        assert_eq!(result, expected, "{name}");
        if let Some(folded) = current_value(name, now, &berlin) {
            assert_eq!(folded, expected, "{name}");
        }
    }
    assert!(current_value("proctime", now, &berlin).is_none());
}

#[test]
fn the_watermark_is_null_before_the_first() {
    let cell = WatermarkCell::default();
    let function = current_watermark(cell.clone());
    let rowtime = [utc("2021-01-01 00:00:00")];
    assert_eq!(
        evaluate_udf(&function, &rowtime, "UTC").unwrap(),
        ScalarValue::TimestampMillisecond(None, Some("+00:00".into()))
    );
    cell.set(Timestamp(1_999));
    assert_eq!(
        evaluate_udf(&function, &rowtime, "UTC").unwrap(),
        ScalarValue::TimestampMillisecond(Some(1), Some("+00:00".into()))
    );
}

#[test]
fn types_keep_what_they_can() {
    use crate::support::testing::type_of;
    use flugs_sql_types::LogicalType as T;
    use flugs_sql_types::LogicalType::{BigInt, Date, Timestamp, TimestampLtz};
    let of = |name: &str, kinds: &[flugs_sql_types::SqlType]| type_of(name, kinds).unwrap().to_string();
    assert_eq!(of("year", &[Date.not_null()]), "BIGINT NOT NULL");
    assert_eq!(of("floor_to", &[Timestamp(6).nullable(), T::STRING.not_null()]), "TIMESTAMP(6)");
    assert_eq!(
        of("timestampdiff", &[T::STRING.not_null(), Timestamp(3).not_null(), Timestamp(3).not_null()]),
        "INT NOT NULL"
    );
    assert_eq!(of("current_watermark", &[TimestampLtz(9).not_null()]), "TIMESTAMP_LTZ(3)");
    assert_eq!(of("proctime", &[]), "TIMESTAMP_LTZ(3) NOT NULL");
    assert_eq!(of("localtime", &[]), "TIME(0) NOT NULL");
    assert_eq!(of("from_unixtime", &[BigInt.not_null()]), "STRING NOT NULL");
    assert_eq!(of("to_timestamp", &[T::STRING.not_null()]), "TIMESTAMP(3)");
    assert_eq!(of("date_format", &[Timestamp(3).not_null(), T::STRING.not_null()]), "STRING NOT NULL");
    assert_eq!(of("date_format", &[T::STRING.not_null(), T::STRING.not_null()]), "STRING");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn no_time_and_no_pattern_panics(value in any::<i64>(), pattern in "[a-zA-Z' :\\[\\]]{0,8}", input in "\\PC{0,12}") {
        let at = ScalarValue::TimestampMillisecond(Some(value), Some("+00:00".into()));
        for unit in ["YEAR", "MONTH", "WEEK", "DAY", "HOUR", "SECOND"] {
            let _ = call_in("Europe/Berlin", "floor_to", &[at.clone(), text(unit)]);
            let _ = call_in("Europe/Berlin", "extract", &[text(unit), at.clone()]);
            let _ = call_in("UTC", "timestampadd", &[text(unit), long(value), at.clone()]);
        }
        let _ = planned("date_format", &[at, text(&pattern)]);
        let _ = planned("to_timestamp", &[text(&input), text(&pattern)]);
        let _ = planned("to_date", &[text(&input), text(&pattern)]);
        let _ = planned("unix_timestamp", &[text(&input), text(&pattern)]);
        let _ = planned("from_unixtime", &[long(value)]);
    }

    #[test]
    fn formatted_timestamps_read_back(value in -60_000_000_000_000i64..250_000_000_000_000) {
        let at = ScalarValue::TimestampMillisecond(Some(value), None);
        let pattern = text("uuuu-MM-dd'T'HH:mm:ss.SSS");
        let formatted = call("date_format", &[at.clone(), pattern.clone()]);
        prop_assert_eq!(call("to_timestamp", &[formatted, pattern]), at);
    }
}

#[test]
fn columns_of_hours() {
    let registry = FunctionRegistry::builtin();
    let column: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![Some(-1), None, Some(3_600_000)]));
    let result = registry.scalar("hour").unwrap().invoke_with_args(ScalarFunctionArgs {
        args: vec![ColumnarValue::Array(column)],
        arg_fields: vec![Arc::new(Field::new("a", DataType::Timestamp(TimeUnit::Millisecond, None), true))],
        number_rows: 3,
        return_field: Arc::new(Field::new("a", DataType::Int64, true)),
        config_options: Arc::new(ConfigOptions::default()),
    });
    let result = result.unwrap().into_array(3).unwrap();
    assert_eq!(result.as_primitive(), &Int64Array::from(vec![Some(23), None, Some(1)]));
}

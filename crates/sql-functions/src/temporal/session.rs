//! Which calls give something else in another session's time zone.

use arrow::datatypes::DataType;

/// What asks for the clock of the session's zone, or takes and gives local time as text.
const ALWAYS: [&str; 4] = ["CURRENT_DATE", "FROM_UNIXTIME", "LOCALTIME", "LOCALTIMESTAMP"];

/// What looks at the local time of points in time.
const OF_INSTANTS: [&str; 14] = [
    "CEIL_TO",
    "DATE_FORMAT",
    "DAYOFMONTH",
    "DAYOFWEEK",
    "DAYOFYEAR",
    "EXTRACT",
    "FLOOR_TO",
    "HOUR",
    "MINUTE",
    "MONTH",
    "QUARTER",
    "SECOND",
    "WEEK",
    "YEAR",
];

/// Whether a built-in function gives something else for these arguments in another zone.
pub fn depends_on_zone(name: &str, arguments: &[DataType], result: &DataType) -> bool {
    let name = name.to_ascii_uppercase();
    let instants = || arguments.iter().any(is_instant);
    match name.as_str() {
        "CAST" | "TRY_CAST" => arguments.iter().any(|from| casts(from, result)),
        "UNIX_TIMESTAMP" => !arguments.is_empty(),
        name => ALWAYS.contains(&name) || (OF_INSTANTS.contains(&name) && instants()),
    }
}

fn is_instant(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, Some(_)))
}

/// Whether a point in time becomes something local, or the other way round.
fn casts(from: &DataType, to: &DataType) -> bool {
    match (is_instant(from), is_instant(to)) {
        (true, true) => false,
        (true, false) => !to.is_numeric(),
        (false, true) => !from.is_numeric(),
        (false, false) => holds_instants(from) || holds_instants(to),
    }
}

fn holds_instants(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => fields.iter().any(|field| holds_instants(field.data_type())),
        DataType::List(item) | DataType::Map(item, _) => holds_instants(item.data_type()),
        other => is_instant(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{Field, TimeUnit};

    #[test]
    fn local_time_of_instants_alone() {
        let local = DataType::Timestamp(TimeUnit::Millisecond, None);
        let instant = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
        let row = DataType::Struct(vec![Field::new("t", instant.clone(), true)].into());
        let (text, number) = (DataType::Utf8View, DataType::Int64);
        let one = |name: &str, from: &DataType, to: &DataType| {
            depends_on_zone(name, std::slice::from_ref(from), to)
        };
        assert!(one("DATE_FORMAT", &instant, &text) && !one("date_format", &local, &text));
        assert!(one("cast", &instant, &text) && one("TRY_CAST", &text, &instant) && one("CAST", &row, &text));
        assert!(
            !one("CAST", &instant, &instant)
                && !one("CAST", &local, &text)
                && !one("CAST", &instant, &number)
        );
        assert!(one("HOUR", &instant, &number) && !one("TO_TIMESTAMP_LTZ", &number, &instant));
        assert!(one("UNIX_TIMESTAMP", &text, &number) && !depends_on_zone("UNIX_TIMESTAMP", &[], &number));
    }
}

//! Arrow's types and literals in a message as SQL writes them.

/// The message with every type and literal of Arrow's replaced.
pub(super) fn in_sql(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut within_word = false;
    while let Some(c) = rest.chars().next() {
        if !within_word
            && c.is_ascii_uppercase()
            && let Some((sql, behind)) = one(rest, 0)
        {
            out.push_str(&sql);
            rest = behind;
            continue;
        }
        within_word = c.is_alphanumeric() || c == '_';
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// Types that have no arguments.
const PLAIN: [(&str, &str); 24] = [
    ("Boolean", "BOOLEAN"),
    ("Int8", "TINYINT"),
    ("Int16", "SMALLINT"),
    ("Int32", "INT"),
    ("Int64", "BIGINT"),
    ("UInt8", "SMALLINT"),
    ("UInt16", "INT"),
    ("UInt32", "BIGINT"),
    ("UInt64", "BIGINT"),
    ("Float32", "FLOAT"),
    ("Float64", "DOUBLE"),
    ("Utf8View", "STRING"),
    ("LargeUtf8", "STRING"),
    ("Utf8", "STRING"),
    ("BinaryView", "BYTES"),
    ("LargeBinary", "BYTES"),
    ("Binary", "BYTES"),
    ("Date32", "DATE"),
    ("Date64", "DATE"),
    ("Null", "NULL"),
    ("IntervalYearMonth", "INTERVAL"),
    ("IntervalDayTime", "INTERVAL"),
    ("IntervalMonthDayNano", "INTERVAL"),
    ("Struct()", "ROW<>"),
];

/// How deep types are nested in a message before it is left as it is.
const DEPTH: usize = 32;

/// The type or literal at the start of a text, and what stands behind it.
fn one(text: &str, depth: usize) -> Option<(String, &str)> {
    if depth > DEPTH {
        return None;
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (word, behind) = text.split_at(end);
    if let Some((_, sql)) = PLAIN.iter().find(|(arrow, _)| *arrow == word) {
        // `Int64(1)` and `Utf8("a")` are literals.
        return Some(match inside(behind) {
            Some((literal, behind)) if sql == &"STRING" => {
                (format!("'{}'", literal.trim_matches('"').replace('\'', "''")), behind)
            }
            Some((literal, behind)) if sql == &"INTERVAL" => {
                (if literal == "NULL" { literal } else { "INTERVAL" }.to_owned(), behind)
            }
            Some((literal, behind)) => (literal.trim_matches('"').to_owned(), behind),
            None => ((*sql).to_owned(), behind),
        });
    }
    let (arguments, behind) = inside(behind)?;
    let sql = match word {
        "Decimal128" | "Decimal256" => match arguments.starts_with("Some") || arguments == "None" {
            true => "a DECIMAL".to_owned(),
            false => format!("DECIMAL({arguments})"),
        },
        "Timestamp" => timestamp(arguments)?,
        "Time32" | "Time64" => "TIME".to_owned(),
        "Interval" | "Duration" => "INTERVAL".to_owned(),
        "List" | "LargeList" | "FixedSizeList" => format!("ARRAY<{}>", element(arguments, depth)?),
        "Map" => {
            let entries = arguments.strip_prefix("\"entries\": ")?;
            let entries = entries.strip_prefix("non-null ").unwrap_or(entries).strip_prefix("Struct")?;
            let (fields, _) = inside(entries)?;
            let of = |(_, sql): (String, String)| sql.trim_end_matches(" NOT NULL").to_owned();
            let types: Vec<String> = self::fields(fields, depth)?.into_iter().map(of).collect();
            format!("MAP<{}>", types.join(", "))
        }
        "Struct" => {
            let fields = self::fields(arguments, depth)?;
            let fields: Vec<String> = fields.into_iter().map(|(name, sql)| format!("{name} {sql}")).collect();
            format!("ROW<{}>", fields.join(", "))
        }
        _ => return None,
    };
    Some((sql, behind))
}

/// What stands in the parentheses at the start of a text, and what behind them.
fn inside(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('(')?;
    let (mut open, mut quoted) = (1, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' if !quoted => open += 1,
            ')' if !quoted => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some((&text[..at], &text[at + 1..]));
        }
    }
    None
}

fn timestamp(arguments: &str) -> Option<String> {
    let (unit, zone) = arguments.split_once(", ").unwrap_or((arguments, "None"));
    let digits = match unit {
        "s" | "Second" => 0,
        "ms" | "Millisecond" => 3,
        "µs" | "Microsecond" => 6,
        "ns" | "Nanosecond" => 9,
        _ => return None,
    };
    Some(match zone {
        "None" => format!("TIMESTAMP({digits})"),
        _ => format!("TIMESTAMP_LTZ({digits})"),
    })
}

fn element(text: &str, depth: usize) -> Option<String> {
    let text = text.strip_prefix("non-null ").unwrap_or(text);
    one(text, depth + 1).map(|(sql, _)| sql)
}

/// Fields as Arrow writes them: `"name": non-null Type, ...`.
fn fields(mut text: &str, depth: usize) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    while let Some(rest) = text.strip_prefix('"') {
        let (name, rest) = rest.split_once("\": ")?;
        let (not_null, rest) = match rest.strip_prefix("non-null ") {
            Some(rest) => (" NOT NULL", rest),
            None => ("", rest),
        };
        let (sql, behind) = one(rest, depth + 1)?;
        found.push((name.to_owned(), format!("{sql}{not_null}")));
        text = behind.strip_prefix(", ").unwrap_or(behind);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::in_sql;

    #[test]
    fn types_are_those_of_sql() {
        assert_eq!(in_sql("Int64 + Utf8View"), "BIGINT + STRING");
        assert_eq!(in_sql("Decimal128(10, 2) > Boolean"), "DECIMAL(10, 2) > BOOLEAN");
        assert_eq!(in_sql("List(Utf8View), List(non-null Int32)"), "ARRAY<STRING>, ARRAY<INT>");
        assert_eq!(
            in_sql("Timestamp(ms) and Timestamp(ns, \"+00:00\")"),
            "TIMESTAMP(3) and TIMESTAMP_LTZ(9)"
        );
        assert_eq!(
            in_sql("Struct(\"a\": Utf8View, \"b\": non-null List(Int32)) x"),
            "ROW<a STRING, b ARRAY<INT> NOT NULL> x"
        );
        let map = "Map(\"entries\": non-null Struct(\"key\": non-null Utf8View, \"value\": Int32), unsorted)";
        assert_eq!(in_sql(map), "MAP<STRING, INT>");
    }

    #[test]
    fn literals_are_those_of_sql() {
        assert_eq!(in_sql("a > CAST(Int64(1) AS Int32)"), "a > CAST(1 AS INT)");
        assert_eq!(in_sql("Utf8(\"it's\") = Boolean(true)"), "'it''s' = true");
        assert_eq!(in_sql("IntervalMonthDayNano(\"IntervalMonthDayNano { months: 0 }\")"), "INTERVAL");
    }

    #[test]
    fn what_is_no_type_stays() {
        for text in ["myInt64", "Int64s", "List", "Map(x)", "Timestamp(", "Struct(\"a\"", "", "é Binarys"] {
            assert_eq!(in_sql(text), text);
        }
        let deep = format!("{}Int32{}", "List(".repeat(100), ")".repeat(100));
        assert!(in_sql(&deep).contains("List("));
    }
}

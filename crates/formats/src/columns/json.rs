//! The format `json`.
//!
//! | option | default | |
//! | --- | --- | --- |
//! | `json.fail-on-missing-field` | `false` | a field that is not there is an error instead of NULL |
//! | `json.ignore-parse-errors` | `false` | fields that cannot be read become NULL, records that cannot be read are skipped; both are counted |
//! | `json.timestamp-format.standard` | `SQL` | `SQL`: `2013-01-31 10:00:00.123`, `ISO-8601`: `2013-01-31T10:00:00.123` |
//! | `json.map-null-key.mode` | `FAIL` | what is done on writing with a NULL key of a map: `FAIL`, `DROP` it, or write the `LITERAL` |
//! | `json.map-null-key.literal` | `null` | what is written for a NULL key with `LITERAL` |
//! | `json.encode.decimal-as-plain-number` | `false` | decimals are written without an exponent |
//! | `json.encode.ignore-null-fields` | `false` | fields that are NULL are not written |
//! | `json.decode.json-parser.enabled` | `true` | taken for compatibility; there is one decoder |
//!
//! Values are read as leniently as in Flink: numbers and truth values also from text, text also from anything. A `STRING` takes
//! an object or array as its JSON text. Only the fields that are asked for are built; the rest is passed over.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub(super) use decode::Records;
pub(super) use encode::RowWriter;

use super::build::TimeStyle;
use decode::JsonRecords;
use encode::JsonEncoder;
use flugs_table::{
    FormatContext, FormatFactory, OptionKind, OptionSpec, Options, RecordDecoder, RecordEncoder,
};
use flugs_types::{Error, Result};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "fail-on-missing-field",
        kind: OptionKind::Boolean,
        default: Some("false"),
        doc: "whether a field that is not there is an error instead of NULL",
    },
    OptionSpec {
        key: "ignore-parse-errors",
        kind: OptionKind::Boolean,
        default: Some("false"),
        doc: "whether fields that cannot be read become NULL and records that cannot be read are skipped",
    },
    OptionSpec {
        key: "timestamp-format.standard",
        kind: OptionKind::Enum(&["SQL", "ISO-8601"]),
        default: Some("SQL"),
        doc: "how timestamps are written and read",
    },
    OptionSpec {
        key: "map-null-key.mode",
        kind: OptionKind::Enum(&["FAIL", "DROP", "LITERAL"]),
        default: Some("FAIL"),
        doc: "what is done on writing with a NULL key of a map",
    },
    OptionSpec {
        key: "map-null-key.literal",
        kind: OptionKind::String,
        default: Some("null"),
        doc: "what is written for a NULL key of a map with the mode LITERAL",
    },
    OptionSpec {
        key: "encode.decimal-as-plain-number",
        kind: OptionKind::Boolean,
        default: Some("false"),
        doc: "whether decimals are written without an exponent",
    },
    OptionSpec {
        key: "encode.ignore-null-fields",
        kind: OptionKind::Boolean,
        default: Some("false"),
        doc: "whether fields that are NULL are left out on writing",
    },
    OptionSpec {
        key: "decode.json-parser.enabled",
        kind: OptionKind::Boolean,
        default: Some("true"),
        doc: "without effect: there is one decoder",
    },
];

/// The format of `'format' = 'json'`.
#[derive(Debug, Clone, Copy)]
pub struct JsonFormat;

/// What the options say.
#[derive(Debug, Clone)]
pub(super) struct JsonOptions {
    pub(super) fail_on_missing: bool,
    pub(super) ignore_errors: bool,
    pub(super) time_style: TimeStyle,
    pub(super) null_keys: NullKeys,
    pub(super) plain_decimals: bool,
    pub(super) skip_nulls: bool,
}

/// What is done with a NULL key of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NullKeys {
    Fail,
    Drop,
    Literal(String),
}

impl JsonOptions {
    /// Of the format with this name before its options.
    pub(super) fn of(name: &str, options: &Options) -> Result<Self> {
        let key = |option: &str| format!("{name}.{option}");
        let flag = |option: &str| Ok::<_, Error>(options.boolean(&key(option))?.unwrap_or(false));
        let word = |option: &str| options.get(&key(option)).map(str::to_ascii_uppercase);
        let read = JsonOptions {
            fail_on_missing: flag("fail-on-missing-field")?,
            ignore_errors: flag("ignore-parse-errors")?,
            time_style: match word("timestamp-format.standard").as_deref() {
                Some("ISO-8601") => TimeStyle::ISO,
                _ => TimeStyle::SQL,
            },
            null_keys: match word("map-null-key.mode").as_deref() {
                Some("DROP") => NullKeys::Drop,
                Some("LITERAL") => {
                    NullKeys::Literal(options.get(&key("map-null-key.literal")).unwrap_or("null").to_owned())
                }
                _ => NullKeys::Fail,
            },
            plain_decimals: flag("encode.decimal-as-plain-number")?,
            skip_nulls: flag("encode.ignore-null-fields")?,
        };
        if read.fail_on_missing && read.ignore_errors {
            return Err(Error::job(format!(
                "'{name}.fail-on-missing-field' and '{name}.ignore-parse-errors' cannot both be true"
            )));
        }
        Ok(read)
    }
}

impl FormatFactory for JsonFormat {
    fn identifier(&self) -> &'static str {
        "json"
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn decoder(&self, context: FormatContext<'_>) -> Result<Box<dyn RecordDecoder>> {
        let options = JsonOptions::of(self.identifier(), context.options)?;
        Ok(Box::new(JsonRecords::new(Records::new(context, options)?)))
    }

    fn encoder(&self, context: FormatContext<'_>) -> Result<Box<dyn RecordEncoder>> {
        let options = JsonOptions::of(self.identifier(), context.options)?;
        Ok(Box::new(JsonEncoder::new(RowWriter::new(options), context.schema)))
    }
}

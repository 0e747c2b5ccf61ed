//! The format `csv`.
//!
//! | option | default | |
//! | --- | --- | --- |
//! | `csv.field-delimiter` | `,` | between fields; one letter of ASCII, also `\t` or `U&'\0009'` |
//! | `csv.disable-quote-character` | `false` | no letter quotes; then fields have no line breaks, and files are read in parallel ranges |
//! | `csv.quote-character` | `"` | encloses fields |
//! | `csv.allow-comments` | `false` | lines that begin with `#` are passed over |
//! | `csv.ignore-parse-errors` | `false` | fields that cannot be read become NULL, records that cannot be read are skipped; both are counted |
//! | `csv.array-element-delimiter` | `;` | between the elements of an `ARRAY` and the fields of a `ROW` |
//! | `csv.escape-character` | none | what follows it stands for itself |
//! | `csv.null-literal` | none | a field that is NULL |
//! | `csv.write-bigdecimal-in-scientific-notation` | `true` | decimals may be written with an exponent |
//!
//! Fields go by position. An empty field is NULL, but for the types of strings and bytes. `MAP`s cannot be written or read.
//! Written fields are in quotes where Flink (that is, Jackson) puts them: where they are longer than 24 letters or have one that is
//! at or below the greater of delimiter and quote.

mod decode;
mod encode;
mod fields;
#[cfg(test)]
mod tests;

use decode::CsvRecords;
use encode::CsvLines;
use flugs_table::{
    FormatContext, FormatFactory, OptionKind, OptionSpec, Options, RecordDecoder, RecordEncoder,
    RecordFraming,
};
use flugs_types::{Error, Result};

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "field-delimiter",
        kind: OptionKind::String,
        default: Some(","),
        doc: "between fields",
    },
    OptionSpec {
        key: "disable-quote-character",
        kind: OptionKind::Boolean,
        default: Some("false"),
        doc: "whether no letter quotes",
    },
    OptionSpec {
        key: "quote-character",
        kind: OptionKind::String,
        default: Some("\""),
        doc: "encloses fields",
    },
    OptionSpec {
        key: "allow-comments",
        kind: OptionKind::Boolean,
        default: Some("false"),
        doc: "whether lines that begin with # are passed over",
    },
    OptionSpec {
        key: "ignore-parse-errors",
        kind: OptionKind::Boolean,
        default: Some("false"),
        doc: "whether fields that cannot be read become NULL and records that cannot be read are skipped",
    },
    OptionSpec {
        key: "array-element-delimiter",
        kind: OptionKind::String,
        default: Some(";"),
        doc: "between the elements of an ARRAY and the fields of a ROW",
    },
    OptionSpec {
        key: "escape-character",
        kind: OptionKind::String,
        default: None,
        doc: "what follows it stands for itself",
    },
    OptionSpec { key: "null-literal", kind: OptionKind::String, default: None, doc: "a field that is NULL" },
    OptionSpec {
        key: "write-bigdecimal-in-scientific-notation",
        kind: OptionKind::Boolean,
        default: Some("true"),
        doc: "whether decimals may be written with an exponent",
    },
];

/// The format of `'format' = 'csv'`.
#[derive(Debug, Clone, Copy)]
pub struct CsvFormat;

/// What the options say.
#[derive(Debug, Clone)]
struct CsvOptions {
    delimiter: u8,
    quote: Option<u8>,
    allow_comments: bool,
    ignore_errors: bool,
    array_delimiter: String,
    escape: Option<u8>,
    null: Option<String>,
    plain_decimals: bool,
}

impl CsvOptions {
    fn of(options: &Options) -> Result<Self> {
        let flag = |key: &str| Ok::<_, Error>(options.boolean(key)?.unwrap_or(false));
        let quote = letter(options, "csv.quote-character")?;
        let read = CsvOptions {
            delimiter: letter(options, "csv.field-delimiter")?.unwrap_or(b','),
            quote: if flag("csv.disable-quote-character")? { None } else { Some(quote.unwrap_or(b'"')) },
            allow_comments: flag("csv.allow-comments")?,
            ignore_errors: flag("csv.ignore-parse-errors")?,
            array_delimiter: options.get("csv.array-element-delimiter").unwrap_or(";").to_owned(),
            escape: letter(options, "csv.escape-character")?,
            null: options.get("csv.null-literal").map(str::to_owned),
            plain_decimals: options.boolean("csv.write-bigdecimal-in-scientific-notation")? == Some(false),
        };
        if read.quote.is_none() && quote.is_some() {
            return Err(Error::job(
                "'csv.quote-character' cannot be given with 'csv.disable-quote-character' = 'true'",
            ));
        }
        if read.array_delimiter.is_empty() {
            return Err(Error::job("'csv.array-element-delimiter' cannot be empty"));
        }
        Ok(read)
    }
}

/// The value of an option that is one letter.
fn letter(options: &Options, key: &str) -> Result<Option<u8>> {
    let Some(text) = options.get(key) else { return Ok(None) };
    let unescaped = match text {
        "\\t" => "\t",
        "\\\\" => "\\",
        other => other,
    };
    match unescaped.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r') => Ok(Some(*byte)),
        _ => Err(Error::job(format!(
            "option '{key}' has the value '{text}', and one letter of ASCII was expected"
        ))),
    }
}

impl FormatFactory for CsvFormat {
    fn identifier(&self) -> &'static str {
        "csv"
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn framing(&self, options: &Options) -> Result<RecordFraming> {
        let options = CsvOptions::of(options)?;
        Ok(match options.quote {
            // Where an escape may hide a quote, the ends of fields cannot be told by quotes alone: then a record is a line.
            Some(quote) if options.escape.is_none() => {
                RecordFraming::QuotedLines { delimiter: options.delimiter, quote }
            }
            _ => RecordFraming::Lines,
        })
    }

    fn decoder(&self, context: FormatContext<'_>) -> Result<Box<dyn RecordDecoder>> {
        Ok(Box::new(CsvRecords::new(context, CsvOptions::of(context.options)?)?))
    }

    fn encoder(&self, context: FormatContext<'_>) -> Result<Box<dyn RecordEncoder>> {
        Ok(Box::new(CsvLines::new(CsvOptions::of(context.options)?)))
    }
}

//! The format `debezium-json`: changes as Debezium writes them.
//!
//! | option | default | |
//! | --- | --- | --- |
//! | `debezium-json.schema-include` | `false` | messages are in an envelope with their schema: the change is its `payload` |
//! | `debezium-json.ignore-parse-errors` | `false` | as for `json` |
//! | `debezium-json.timestamp-format.standard` | `SQL` | as for `json` |
//! | `debezium-json.map-null-key.mode`, `.map-null-key.literal` | `FAIL`, `null` | as for `json` |
//! | `debezium-json.encode.decimal-as-plain-number` | `false` | as for `json` |
//! | `debezium-json.encode.ignore-null-fields` | `false` | as for `json` |
//!
//! `c` and `r` are read as `+I`, `u` as `-U` and `+U`, `d` as `-D`. Written are, as in Flink, `c` for `+I` and `+U`, and `d` for `-U`
//! and `-D`. An empty message (a tombstone) is passed over.

use super::json::{JsonOptions, Records, RowWriter};
use super::scan::{Scanner, Value, Wrong, wrong};
use super::view::View;
use flugs_batch::{Batch, ChangeBatch};
use flugs_table::{
    BytesAt, ChangelogMode, DecodeFailure, FormatContext, FormatFactory, OptionKind, OptionSpec,
    RecordDecoder, RecordEncoder,
};
use flugs_types::{Error, Result, RowKind};

const NAME: &str = "debezium-json";

const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "schema-include",
        kind: OptionKind::Boolean,
        default: Some("false"),
        doc: "whether messages are in an envelope with their schema",
    },
    OptionSpec {
        key: "ignore-parse-errors",
        kind: OptionKind::Boolean,
        default: Some("false"),
        doc: "whether fields that cannot be read become NULL and messages that cannot be read are skipped",
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
];

/// The format of `'format' = 'debezium-json'`.
#[derive(Debug, Clone, Copy)]
pub struct DebeziumFormat;

impl FormatFactory for DebeziumFormat {
    fn identifier(&self) -> &'static str {
        NAME
    }

    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }

    fn changelog_mode(&self) -> ChangelogMode {
        ChangelogMode::Retract
    }

    fn decoder(&self, context: FormatContext<'_>) -> Result<Box<dyn RecordDecoder>> {
        let options = JsonOptions::of(NAME, context.options)?;
        let has_schema = context.options.boolean("debezium-json.schema-include")?.unwrap_or(false);
        Ok(Box::new(Decoder { rows: Records::new(context, options)?, has_schema, kinds: Vec::new() }))
    }

    fn encoder(&self, context: FormatContext<'_>) -> Result<Box<dyn RecordEncoder>> {
        if context.options.boolean("debezium-json.schema-include")? == Some(true) {
            return Err(Error::job("the format debezium-json cannot write messages with their schema")
                .mend("set 'debezium-json.schema-include' to 'false'"));
        }
        Ok(Box::new(Encoder {
            writer: RowWriter::new(JsonOptions::of(NAME, context.options)?),
            names: context.schema.fields().iter().map(|field| field.name().clone()).collect(),
            lines: String::new(),
        }))
    }
}

struct Decoder {
    rows: Records,
    has_schema: bool,
    kinds: Vec<RowKind>,
}

/// A part of a message and where it begins.
type Part<'a> = Option<(&'a str, usize)>;

/// The parts of a message that say what changed.
#[derive(Default)]
struct Change<'a> {
    before: Part<'a>,
    after: Part<'a>,
    op: Part<'a>,
}

impl<'a> Change<'a> {
    /// Reads the object that follows.
    fn read(scanner: &mut Scanner<'a>, has_schema: bool) -> Result<Self, Wrong> {
        let start = scanner.at;
        if scanner.value()? != Value::Object {
            return Err(wrong("a JSON object expected", start));
        }
        let (mut change, mut payload, mut is_first) = (Change::default(), false, true);
        while let Some(key) = scanner.next_key(&mut is_first)? {
            if has_schema && key == "payload" {
                payload = true;
                change = Change::read(scanner, false)?;
                continue;
            }
            let text = scanner.skip()?;
            let part = (text != "null").then(|| (text, scanner.at - text.len()));
            match &*key {
                "before" if !has_schema => change.before = part,
                "after" if !has_schema => change.after = part,
                "op" if !has_schema => change.op = part,
                _ => {}
            }
        }
        if has_schema && !payload {
            return Err(wrong("field 'payload' is missing", scanner.at - 1));
        }
        Ok(change)
    }
}

impl Decoder {
    fn change(&mut self, bytes: &[u8]) -> Result<(), Wrong> {
        use RowKind::{Delete, Insert, UpdateAfter, UpdateBefore};
        let mut scanner = Scanner::new(bytes)?;
        let change = Change::read(&mut scanner, self.has_schema)?;
        scanner.end()?;
        let (op, at) = change.op.ok_or_else(|| wrong("field 'op' is missing", scanner.at - 1))?;
        let missing = |what: &str| {
            wrong(format!("field '{what}' expected with the op {op}; is the whole row logged?"), at)
        };
        let before = || change.before.ok_or_else(|| missing("before"));
        let after = || change.after.ok_or_else(|| missing("after"));
        match op {
            "\"c\"" | "\"r\"" => self.row(Insert, after()?),
            "\"u\"" => {
                self.row(UpdateBefore, before()?)?;
                self.row(UpdateAfter, after()?)
            }
            "\"d\"" => self.row(Delete, before()?),
            _ => Err(wrong(format!("the op \"c\", \"r\", \"u\" or \"d\" expected, {op} found"), at)),
        }
    }

    fn row(&mut self, kind: RowKind, (text, at): (&str, usize)) -> Result<(), Wrong> {
        let within = |mut e: Wrong| {
            e.at += at;
            e
        };
        self.rows.add(&mut Scanner::of_text(text)).map_err(within)?;
        self.kinds.push(kind);
        Ok(())
    }
}

impl RecordDecoder for Decoder {
    fn decode(&mut self, records: &[BytesAt<'_>]) -> Result<(ChangeBatch, Vec<DecodeFailure>)> {
        let mut failures = Vec::new();
        for (record, bytes) in records.iter().enumerate() {
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let rows = self.rows.rows();
            match self.change(bytes) {
                Ok(()) => {
                    let ignored = self.rows.take_ignored();
                    failures.extend(ignored.map(|message| DecodeFailure { record, message, has_row: true }));
                }
                Err(e) => {
                    self.rows.truncate(rows);
                    self.kinds.truncate(rows);
                    failures.push(DecodeFailure { record, message: e.to_string(), has_row: false });
                }
            }
        }
        let batch = ChangeBatch::new(self.rows.finish()?, &std::mem::take(&mut self.kinds))?;
        Ok((batch, failures))
    }

    fn ignores_failures(&self) -> bool {
        self.rows.ignores_errors()
    }
}

struct Encoder {
    writer: RowWriter,
    names: Vec<String>,
    /// Kept for its capacity.
    lines: String,
}

impl RecordEncoder for Encoder {
    fn changelog_mode(&self) -> ChangelogMode {
        ChangelogMode::Retract
    }

    fn encode(&mut self, batch: &ChangeBatch, out: &mut Vec<u8>) -> Result<()> {
        self.lines.clear();
        let views = View::all(batch.rows());
        for row in 0..batch.len() {
            let is_addition = batch.kind(row).is_addition();
            self.lines.push_str(if is_addition { "{\"before\":null,\"after\":" } else { "{\"before\":" });
            let fields = self.names.iter().map(String::as_str).zip(&views);
            self.writer.object(&mut self.lines, fields, row)?;
            self.lines.push_str(if is_addition {
                ",\"op\":\"c\"}\n"
            } else {
                ",\"after\":null,\"op\":\"d\"}\n"
            });
        }
        out.extend_from_slice(self.lines.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests;

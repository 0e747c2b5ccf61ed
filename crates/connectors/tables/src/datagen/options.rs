//! The options of `datagen` tables.

use flugs_table::{OptionKind, OptionSpec, Options};
use flugs_types::{Error, Result, Timestamp};

/// The present of tables with a seed: 2020-01-01T00:00:00Z.
pub(super) const FIXED_NOW: Timestamp = Timestamp::from_secs(1_577_836_800);

const fn spec(
    key: &'static str,
    kind: OptionKind,
    default: Option<&'static str>,
    doc: &'static str,
) -> OptionSpec {
    OptionSpec { key, kind, default, doc }
}

pub(super) const OPTIONS: &[OptionSpec] = &[
    spec("rows-per-second", OptionKind::Double, Some("10000"), "rows a second, over all readers together"),
    spec("number-of-rows", OptionKind::Integer, None, "how many rows there are"),
    spec("scan.parallelism", OptionKind::Integer, None, "how many readers there are"),
    spec("seed", OptionKind::Integer, None, "another seed, other rows"),
    spec("fields.#.kind", OptionKind::Enum(&["random", "sequence"]), Some("random"), "how values are made"),
    spec("fields.#.min", OptionKind::String, None, "the least random value"),
    spec("fields.#.max", OptionKind::String, None, "the greatest random value"),
    spec("fields.#.max-past", OptionKind::Duration, Some("0"), "random timestamps are at most so far past"),
    spec("fields.#.length", OptionKind::Integer, None, "the length of strings, bytes and collections"),
    spec("fields.#.var-len", OptionKind::Boolean, Some("false"), "whether that is the greatest length"),
    spec("fields.#.start", OptionKind::String, None, "the first value of a sequence"),
    spec("fields.#.end", OptionKind::String, None, "the last value of a sequence"),
    spec("fields.#.null-rate", OptionKind::Double, Some("0"), "how often a value is NULL"),
];

/// What is said of the whole table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) rows_per_second: f64,
    pub(super) count: Option<u64>,
    pub(super) parallelism: Option<u32>,
    pub(super) seed: Option<u64>,
}

impl Settings {
    pub(super) fn of(options: &Options) -> Result<Self> {
        let rows_per_second = options.double("rows-per-second")?.unwrap_or(10_000.0);
        if !(rows_per_second > 0.0 && rows_per_second.is_finite()) {
            return Err(Error::job(format!("option 'rows-per-second' cannot be {rows_per_second}"))
                .mend("give a positive number"));
        }
        Ok(Settings {
            rows_per_second,
            count: options.integer("number-of-rows")?,
            parallelism: options.integer("scan.parallelism")?,
            seed: options.integer::<i64>("seed")?.map(|seed| seed as u64),
        })
    }
}

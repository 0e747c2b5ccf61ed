//! Timestamps in records as RFC 3339 text: `#[serde(with = "flugs::formats::rfc3339")]`.

use flugs_types::Timestamp;
use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};
use std::fmt;

/// Writes `2013-01-01T10:00:00Z`.
///
/// # Errors
/// The serializer's own.
pub fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

/// Reads what [`Timestamp`]'s `FromStr` reads.
///
/// # Errors
/// Where the value is no text or the text no time.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    deserializer.deserialize_str(Text)
}

struct Text;

impl Visitor<'_> for Text {
    type Value = Timestamp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an RFC 3339 time such as 2013-01-01T10:00:00Z")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Timestamp, E> {
        text.parse().map_err(E::custom)
    }
}

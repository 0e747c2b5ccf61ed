//! From the bytes of stored values to the values of the table that opens them.
//!
//! Types evolve as [`Transcoder`] says. Besides, a state may have got or lost its time to live since it was
//! stored: values then get a touch at no known time, or lose theirs.

use crate::ttl::{UNKNOWN, timed_schema};
use flugs_batch::Data;
use flugs_batch::data::{DecodeError, Incompatible, Reader, Schema, Transcoder};

/// How the values of one stored schema are read as another; `None`: as they are.
pub(crate) struct Evolution(Option<Steps>);

enum Steps {
    /// By the rules of types.
    Types(Transcoder),
    /// The value gets a touch.
    Stamp(Box<Steps>),
    /// The value loses its touch.
    Unstamp(Box<Steps>),
    /// Each of the elements, which take at least so many bytes.
    Elements(Box<Steps>, usize),
    /// The key and the value of each entry, which take at least so many bytes.
    Entries(Box<Steps>, Box<Steps>, usize),
}

impl Evolution {
    /// From values of the schema `stored` to values of the schema `wanted`; refused where the one cannot become the other.
    pub(crate) fn new(stored: &Schema, wanted: &Schema) -> Result<Self, Incompatible> {
        let steps = Steps::plan(stored, wanted)?;
        let changes = !matches!(&steps, Steps::Types(types) if types.is_identity());
        Ok(Evolution(changes.then_some(steps)))
    }

    /// Reads one value. `scratch` is a buffer for its bytes, overwritten at will.
    pub(crate) fn decode<T: Data>(
        &self,
        input: &mut Reader<'_>,
        scratch: &mut Vec<u8>,
    ) -> Result<T, DecodeError> {
        match &self.0 {
            None => T::decode(input),
            Some(steps) => {
                scratch.clear();
                steps.apply(input, scratch)?;
                T::from_bytes(scratch)
            }
        }
    }
}

impl Steps {
    fn plan(stored: &Schema, wanted: &Schema) -> Result<Steps, Incompatible> {
        let gains_or_loses = |s: &Schema, w: &Schema| timed_schema(s).is_some() != timed_schema(w).is_some();
        Ok(match (stored, wanted) {
            _ if gains_or_loses(stored, wanted) => match (timed_schema(stored), timed_schema(wanted)) {
                (Some(inner), _) => Steps::Unstamp(Box::new(Steps::plan(inner, wanted)?)),
                (_, Some(inner)) => Steps::Stamp(Box::new(Steps::plan(stored, inner)?)),
                (None, None) => Steps::Types(Transcoder::new(stored, wanted)?),
            },
            (Schema::List(s), Schema::List(w)) if gains_or_loses(s, w) => {
                Steps::Elements(Box::new(Steps::plan(s, w)?), s.min_bytes())
            }
            (Schema::Map(key_s, s), Schema::Map(key_w, w)) if gains_or_loses(s, w) => Steps::Entries(
                Box::new(Steps::Types(Transcoder::new(key_s, key_w)?)),
                Box::new(Steps::plan(s, w)?),
                key_s.min_bytes().saturating_add(s.min_bytes()),
            ),
            _ => Steps::Types(Transcoder::new(stored, wanted)?),
        })
    }

    fn apply(&self, input: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), DecodeError> {
        match self {
            Steps::Types(types) => types.apply(input, out),
            Steps::Stamp(value) => {
                UNKNOWN.encode(out);
                value.apply(input, out)
            }
            Steps::Unstamp(value) => {
                input.take(size_of_val(&UNKNOWN.0))?;
                value.apply(input, out)
            }
            Steps::Elements(element, bytes_min) => {
                let n = input.length(*bytes_min)?;
                (n as u32).encode(out);
                (0..n).try_for_each(|_| element.apply(input, out))
            }
            Steps::Entries(key, value, bytes_min) => {
                let n = input.length(*bytes_min)?;
                (n as u32).encode(out);
                (0..n).try_for_each(|_| {
                    key.apply(input, out)?;
                    value.apply(input, out)
                })
            }
        }
    }
}

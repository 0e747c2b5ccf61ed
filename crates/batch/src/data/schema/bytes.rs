//! A schema as bytes: a version, then the tree in pre-order, one tag byte for each node. It stands beside the state
//! that it describes, so a version is never reused and old ones stay readable.

use super::{Field, FieldDefault, Schema, Variant};
use crate::data::{Data, DecodeError, Reader};

/// The version that is written.
const VERSION: u8 = 1;

/// How deep a schema may nest, written or read.
const DEPTH_MAX: usize = 128;

/// What is written of a schema.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    /// All of it.
    Whole,
    /// What the bytes of values depend on: no names of types, no defaults.
    Layout,
}

impl Schema {
    /// Appends the schema's own bytes.
    ///
    /// # Panics
    /// On a schema that is nested deeper than 128 levels: it could not be read back.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        put(self, Extent::Whole, 0, out);
    }

    /// Reads what [`encode`](Schema::encode) wrote, in this or an earlier version. Never panics, whatever the bytes are.
    pub fn decode(input: &mut Reader<'_>) -> Result<Schema, DecodeError> {
        let [version] = input.array()?;
        if version != VERSION {
            return Err(DecodeError(format!(
                "schemas of format {version} are unknown, {VERSION} is the latest known"
            )));
        }
        get(input, Place::default())
    }

    /// A stable hash of everything that the bytes of values depend on, and of the names of fields and variants. Names of types
    /// and defaults of fields do not count.
    pub fn fingerprint(&self) -> u64 {
        let mut bytes = Vec::new();
        put(self, Extent::Layout, 0, &mut bytes);
        flugs_types::hash_bytes(&bytes)
    }
}

fn put(schema: &Schema, extent: Extent, depth: usize, out: &mut Vec<u8>) {
    assert!(depth < DEPTH_MAX, "a type nests deeper than {DEPTH_MAX} levels");
    let put = |inner: &Schema, out: &mut Vec<u8>| put(inner, extent, depth + 1, out);
    match schema {
        Schema::Unit => out.push(0),
        Schema::Bool => out.push(1),
        Schema::Int(bits) => out.extend([2, *bits]),
        Schema::UInt(bits) => out.extend([3, *bits]),
        Schema::Float(bits) => out.extend([4, *bits]),
        Schema::Char => out.push(5),
        Schema::String => out.push(6),
        Schema::Timestamp => out.push(7),
        Schema::Duration => out.push(8),
        Schema::Option(inner) => {
            out.push(9);
            put(inner, out);
        }
        Schema::List(inner) => {
            out.push(10);
            put(inner, out);
        }
        Schema::Array(n, inner) => {
            out.push(11);
            n.encode(out);
            put(inner, out);
        }
        Schema::Map(key, value) => {
            out.push(12);
            put(key, out);
            put(value, out);
        }
        Schema::Tuple(elements) => {
            out.push(13);
            put_count(elements.len(), out);
            elements.iter().for_each(|e| put(e, out));
        }
        Schema::Struct { name, fields } => {
            out.push(14);
            put_name(name, extent, out);
            put_fields(fields, extent, depth, out);
        }
        Schema::Enum { name, variants } => {
            out.push(15);
            put_name(name, extent, out);
            put_count(variants.len(), out);
            for variant in variants {
                variant.name.encode(out);
                put_fields(&variant.fields, extent, depth, out);
            }
        }
        Schema::Opaque(name) => {
            out.push(16);
            name.encode(out);
        }
        Schema::Set(inner) => {
            out.push(17);
            put(inner, out);
        }
        Schema::Recursive(up) => {
            out.push(18);
            up.encode(out);
        }
    }
}

fn put_count(n: usize, out: &mut Vec<u8>) {
    u32::try_from(n).expect("a type has fewer than 2^32 parts").encode(out);
}

fn put_name(name: &String, extent: Extent, out: &mut Vec<u8>) {
    if extent == Extent::Whole {
        name.encode(out);
    }
}

fn put_fields(fields: &[Field], extent: Extent, depth: usize, out: &mut Vec<u8>) {
    put_count(fields.len(), out);
    for field in fields {
        field.name.encode(out);
        put(&field.schema, extent, depth + 1, out);
        if extent == Extent::Whole {
            let default = match &field.default {
                FieldDefault::Required => None,
                FieldDefault::Bytes(bytes) => Some(bytes.clone()),
            };
            default.encode(out);
        }
    }
}

/// Where a node stands.
#[derive(Clone, Copy, Default)]
struct Place {
    depth: usize,
    /// How many structs and enums are around it.
    open: u32,
    /// How many of them hold it bare: a reference to one of these would be a type of infinite size.
    bare: u32,
}

impl Place {
    fn down(self) -> Self {
        Place { depth: self.depth + 1, ..self }
    }

    /// Behind something that a value may do without, or that takes bytes of its own.
    fn guarded(self) -> Self {
        Place { bare: 0, ..self.down() }
    }

    fn in_struct(self) -> Self {
        Place { open: self.open + 1, bare: self.bare + 1, ..self.down() }
    }

    fn in_enum(self) -> Self {
        Place { open: self.open + 1, ..self.guarded() }
    }
}

fn get(input: &mut Reader<'_>, place: Place) -> Result<Schema, DecodeError> {
    if place.depth >= DEPTH_MAX {
        return Err(DecodeError(format!("a schema nests deeper than {DEPTH_MAX} levels")));
    }
    let inner = |input: &mut Reader<'_>| get(input, place.guarded()).map(Box::new);
    let [tag] = input.array()?;
    Ok(match tag {
        0 => Schema::Unit,
        1 => Schema::Bool,
        2 => Schema::Int(bits(input, &[8, 16, 32, 64, 128])?),
        3 => Schema::UInt(bits(input, &[8, 16, 32, 64, 128])?),
        4 => Schema::Float(bits(input, &[32, 64])?),
        5 => Schema::Char,
        6 => Schema::String,
        7 => Schema::Timestamp,
        8 => Schema::Duration,
        9 => Schema::Option(inner(input)?),
        10 => Schema::List(inner(input)?),
        11 => Schema::Array(u32::decode(input)?, Box::new(get(input, place.down())?)),
        12 => Schema::Map(inner(input)?, inner(input)?),
        13 => Schema::Tuple(many(input, 1, |input| get(input, place.down()))?),
        14 => Schema::Struct { name: String::decode(input)?, fields: get_fields(input, place.in_struct())? },
        15 => Schema::Enum {
            name: String::decode(input)?,
            variants: many(input, 8, |input| {
                Ok(Variant { name: String::decode(input)?, fields: get_fields(input, place.in_enum())? })
            })?,
        },
        16 => Schema::Opaque(String::decode(input)?),
        17 => Schema::Set(inner(input)?),
        18 => match u32::decode(input)? {
            up if (place.bare..place.open).contains(&up) => Schema::Recursive(up),
            up => {
                return Err(DecodeError(format!(
                    "a schema refers to the type {up} levels up, which it cannot hold"
                )));
            }
        },
        other => return Err(DecodeError(format!("a schema has an unknown part {other}"))),
    })
}

fn bits(input: &mut Reader<'_>, allowed: &[u8]) -> Result<u8, DecodeError> {
    let [bits] = input.array()?;
    if allowed.contains(&bits) { Ok(bits) } else { Err(DecodeError(format!("a number has {bits} bits"))) }
}

/// A count and as many parts of at least `bytes_min` bytes. No room is reserved: parts are far larger than their bytes.
fn many<T>(
    input: &mut Reader<'_>,
    bytes_min: usize,
    part: impl Fn(&mut Reader<'_>) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    let n = input.length(bytes_min)?;
    let mut parts = Vec::new();
    for _ in 0..n {
        parts.push(part(input)?);
    }
    Ok(parts)
}

fn get_fields(input: &mut Reader<'_>, place: Place) -> Result<Vec<Field>, DecodeError> {
    many(input, 6, |input| {
        let name = String::decode(input)?;
        let schema = get(input, place)?;
        let default = match Option::<Vec<u8>>::decode(input)? {
            None => FieldDefault::Required,
            Some(bytes) => FieldDefault::Bytes(bytes),
        };
        Ok(Field { name, schema, default })
    })
}

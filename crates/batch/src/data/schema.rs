//! What encoded bytes mean.

/// The shape of a type: enough to read its bytes without the type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schema {
    /// `()`: no bytes.
    Unit,
    /// One byte, 0 or 1.
    Bool,
    /// A signed integer of this many bits (8, 16, 32, 64, 128).
    Int(u8),
    /// An unsigned integer of this many bits (8, 16, 32, 64, 128).
    UInt(u8),
    /// A float of this many bits (32, 64).
    Float(u8),
    /// A `char` as `u32`.
    Char,
    /// UTF-8 with a `u32` length before it.
    String,
    /// A point in time: `i64` microseconds.
    Timestamp,
    /// A span of time: `u64` seconds, `u32` nanoseconds.
    Duration,
    /// A tag byte, then the value if it is 1.
    Option(Box<Schema>),
    /// A `u32` length, then the elements.
    List(Box<Schema>),
    /// A fixed number of elements, without a length.
    Array(u32, Box<Schema>),
    /// A `u32` length, then keys and values in turn.
    Map(Box<Schema>, Box<Schema>),
    /// The elements one after the other.
    Tuple(Vec<Schema>),
    /// A struct's fields in order of declaration.
    Struct {
        /// The type's name, for messages only: a renamed type still fits.
        name: String,
        /// The fields.
        fields: Vec<Field>,
    },
    /// A `u32` ordinal, then the variant's fields.
    Enum {
        /// The type's name, for messages only.
        name: String,
        /// The variants by ordinal.
        variants: Vec<Variant>,
    },
    /// An opaque type that names its own encoding; fits only itself.
    Opaque(String),
}

/// A named field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name, by which fields of two schemas are matched.
    pub name: String,
    /// Its shape.
    pub schema: Schema,
    /// What it is where the writer did not have it.
    pub default: FieldDefault,
}

/// What a field is where the writer did not have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldDefault {
    /// It has none: bytes without the field do not fit.
    Required,
    /// These encoded bytes.
    Bytes(Vec<u8>),
}

/// A variant of an enum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Its name, by which variants of two schemas are matched.
    pub name: String,
    /// Its fields; those of a tuple variant are named `0`, `1`, ...
    pub fields: Vec<Field>,
}

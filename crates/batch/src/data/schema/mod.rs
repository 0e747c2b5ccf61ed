//! What encoded bytes mean.
//!
//! A schema is a finite tree. A type that contains itself refers back to the enclosing struct or enum by
//! [`Schema::Recursive`]; [`Nesting`] finds these while a schema is built.

mod bytes;
mod text;

use super::Data;
use std::any::TypeId;

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
    /// A `u32` length, then the elements, none of them twice.
    Set(Box<Schema>),
    /// A `u32` length, then keys and values in turn, no key twice.
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
    /// The struct or enum that many levels up around this place, 0 being the nearest one.
    Recursive(u32),
    /// An opaque type that names its own encoding; fits only itself. A `u32` length in bytes, then what only the
    /// type can read.
    Opaque(String),
}

impl Schema {
    /// The fewest bytes that a value takes.
    pub fn min_bytes(&self) -> usize {
        let all =
            |fields: &[Field]| fields.iter().fold(0usize, |n, f| n.saturating_add(f.schema.min_bytes()));
        match self {
            Schema::Unit | Schema::Recursive(_) => 0,
            Schema::Bool | Schema::Option(_) => 1,
            Schema::Int(bits) | Schema::UInt(bits) | Schema::Float(bits) => usize::from(bits / 8),
            Schema::Char | Schema::String | Schema::Opaque(_) => 4,
            Schema::List(_) | Schema::Set(_) | Schema::Map(..) => 4,
            Schema::Timestamp => 8,
            Schema::Duration => 12,
            Schema::Array(n, element) => element.min_bytes().saturating_mul(*n as usize),
            Schema::Tuple(elements) => elements.iter().fold(0, |n, e| n.saturating_add(e.min_bytes())),
            Schema::Struct { fields, .. } => all(fields),
            Schema::Enum { variants, .. } => {
                4usize.saturating_add(variants.iter().map(|v| all(&v.fields)).min().unwrap_or(0))
            }
        }
    }
}

/// The structs and enums that are being described, from the outside in.
#[derive(Debug, Default)]
pub struct Nesting {
    open: Vec<TypeId>,
}

impl Nesting {
    /// The schema of the struct or enum `T`: what `describe` gives, or a reference where `T` is being described
    /// already. Each struct and enum schema must be made through here, as references count them.
    pub fn enter<T: 'static>(&mut self, describe: impl FnOnce(&mut Nesting) -> Schema) -> Schema {
        let id = TypeId::of::<T>();
        if let Some(up) = self.open.iter().rev().position(|open| *open == id) {
            return Schema::Recursive(up as u32);
        }
        self.open.push(id);
        let schema = describe(self);
        self.open.pop();
        schema
    }
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

impl Field {
    /// A field of type `T`, which has a default where its type knows one.
    pub fn of<T: Data>(name: &str, nesting: &mut Nesting) -> Field {
        let default = T::default_bytes().map_or(FieldDefault::Required, FieldDefault::Bytes);
        Field { name: name.to_owned(), schema: T::describe(nesting), default }
    }

    /// A field of type `T`, which is `T::default()` where the writer did not have it.
    pub fn with_default<T: Data + Default>(name: &str, nesting: &mut Nesting) -> Field {
        let default = FieldDefault::Bytes(T::default().to_bytes());
        Field { name: name.to_owned(), schema: T::describe(nesting), default }
    }
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

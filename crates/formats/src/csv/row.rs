//! From values to records.
//!
//! A record is flat: a struct, tuple or sequence of scalars, or one scalar. The same walk over a value gives
//! the header, by writing the names of a struct's fields instead of their values.

use super::Dialect;
use crate::Encode;
use flugs_types::Result;
use serde::ser::{self, Impossible, Serialize, Serializer};
use std::fmt;
use std::io::Write as _;

/// Writes CSV records.
#[derive(Debug)]
pub struct CsvEncoder {
    dialect: Dialect,
    header: bool,
}

impl CsvEncoder {
    pub(super) fn new(dialect: Dialect, header: bool) -> Self {
        CsvEncoder { dialect, header }
    }

    fn record<T: Serialize>(&self, value: &T, part: Part, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let mut row = Row { dialect: &self.dialect, out, fields: 0, part };
        if let Err(e) = value.serialize(&mut row) {
            out.truncate(start);
            return Err(flugs_types::Error::job(format!("a row cannot be written as CSV: {}", e.0)));
        }
        // An empty line would be no record.
        if out.len() == start
            && let Some(quote) = self.dialect.quote
        {
            out.extend_from_slice(&[quote, quote]);
        }
        out.push(b'\n');
        Ok(())
    }
}

impl<T: Serialize> Encode<T> for CsvEncoder {
    fn header(&mut self, first: &T, out: &mut Vec<u8>) -> Result<()> {
        if self.header { self.record(first, Part::Names, out) } else { Ok(()) }
    }

    fn encode(&mut self, value: &T, out: &mut Vec<u8>) -> Result<()> {
        self.record(value, Part::Values, out)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Names,
    Values,
}

/// Why a value is no record.
#[derive(Debug)]
struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl ser::Error for Error {
    fn custom<M: fmt::Display>(message: M) -> Self {
        Error(message.to_string())
    }
}

struct Row<'a> {
    dialect: &'a Dialect,
    out: &'a mut Vec<u8>,
    fields: usize,
    part: Part,
}

impl Row<'_> {
    fn delimit(&mut self) {
        if self.fields > 0 {
            self.out.push(self.dialect.delimiter);
        }
        self.fields += 1;
    }

    fn null(&mut self) -> Result<(), Error> {
        self.delimit();
        self.out.extend_from_slice(&self.dialect.null);
        Ok(())
    }

    fn text(&mut self, text: &[u8]) -> Result<(), Error> {
        self.delimit();
        let special =
            |b: u8| b == self.dialect.delimiter || b == b'\n' || b == b'\r' || Some(b) == self.dialect.quote;
        let is_null = !self.dialect.null.is_empty() && text == &*self.dialect.null;
        if !is_null && !text.iter().any(|&b| special(b)) {
            self.out.extend_from_slice(text);
            return Ok(());
        }
        let Some(quote) = self.dialect.quote else {
            return Err(Error(format!(
                "field {} needs quotes, but the format has none: '{}'",
                self.fields,
                String::from_utf8_lossy(&text[..text.len().min(40)])
            )));
        };
        self.out.push(quote);
        for &byte in text {
            if byte == quote {
                self.out.push(quote);
            }
            self.out.push(byte);
        }
        self.out.push(quote);
        Ok(())
    }

    /// Quoted like text where it must be: the delimiter may be a `-` or a `.`.
    fn display(&mut self, value: impl fmt::Display) -> Result<(), Error> {
        let mut text = [0u8; 64];
        let mut rest = &mut text[..];
        if write!(rest, "{value}").is_ok() {
            let used = 64 - rest.len();
            return self.text(&text[..used]);
        }
        self.text(value.to_string().as_bytes())
    }

    /// A record of one scalar.
    fn whole(&mut self, value: impl fmt::Display) -> Result<(), Error> {
        match self.part {
            Part::Names => Err(no_names()),
            Part::Values => self.display(value),
        }
    }

    fn named(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        match self.part {
            Part::Names => self.text(name.as_bytes()),
            Part::Values => value.serialize(Field(self)),
        }
    }

    fn unnamed(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        match self.part {
            Part::Names => Err(no_names()),
            Part::Values => value.serialize(Field(self)),
        }
    }
}

fn no_names() -> Error {
    Error("this type has no field names for a header: write a struct, or use `.headerless()`".to_owned())
}

fn nested(what: &str) -> Error {
    Error(format!("a field is {what}, but CSV is flat: flatten the row first, or write JSON"))
}

macro_rules! scalars {
    ($how:path => $($method:ident: $t:ty),* $(,)?) => {$(
        fn $method(self, value: $t) -> Result<(), Error> {
            $how(self, value)
        }
    )*};
}

/// A whole record.
impl<'r, 'a> Serializer for &'r mut Row<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Impossible<(), Error>;

    scalars! { Row::whole =>
        serialize_bool: bool, serialize_char: char, serialize_f32: f32, serialize_f64: f64,
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.unnamed(value)
    }
    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        match self.part {
            Part::Names => Err(no_names()),
            Part::Values => self.text(value),
        }
    }
    fn serialize_none(self) -> Result<(), Error> {
        match self.part {
            Part::Names => Err(no_names()),
            Part::Values => self.null(),
        }
    }
    fn serialize_some<V: Serialize + ?Sized>(self, value: &V) -> Result<(), Error> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<(), Error> {
        self.serialize_none()
    }
    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        self.serialize_none()
    }
    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.unnamed(variant)
    }
    fn serialize_newtype_struct<V: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &V,
    ) -> Result<(), Error> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<V: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _value: &V,
    ) -> Result<(), Error> {
        Err(nested("an enum with data"))
    }
    fn serialize_seq(self, _len: Option<usize>) -> Result<Self, Error> {
        Ok(self)
    }
    fn serialize_tuple(self, _len: usize) -> Result<Self, Error> {
        Ok(self)
    }
    fn serialize_tuple_struct(self, _name: &'static str, _len: usize) -> Result<Self, Error> {
        Ok(self)
    }
    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        Err(nested("an enum with data"))
    }
    fn serialize_map(self, _len: Option<usize>) -> Result<Self::SerializeMap, Error> {
        Err(nested("a map"))
    }
    fn serialize_struct(self, _name: &'static str, _len: usize) -> Result<Self, Error> {
        Ok(self)
    }
    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        Err(nested("an enum with data"))
    }
}

impl ser::SerializeSeq for &mut Row<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_element<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Error> {
        self.unnamed(value)
    }
    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

impl ser::SerializeTuple for &mut Row<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_element<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Error> {
        self.unnamed(value)
    }
    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

impl ser::SerializeTupleStruct for &mut Row<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_field<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<(), Error> {
        self.unnamed(value)
    }
    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

impl ser::SerializeStruct for &mut Row<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_field<V: Serialize + ?Sized>(&mut self, name: &'static str, value: &V) -> Result<(), Error> {
        self.named(name, value)
    }
    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

/// One field of a record.
struct Field<'r, 'a>(&'r mut Row<'a>);

impl Field<'_, '_> {
    fn display(self, value: impl fmt::Display) -> Result<(), Error> {
        self.0.display(value)
    }
}

impl Serializer for Field<'_, '_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Impossible<(), Error>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStruct = Impossible<(), Error>;
    type SerializeStructVariant = Impossible<(), Error>;

    scalars! { Field::display =>
        serialize_bool: bool, serialize_char: char, serialize_f32: f32, serialize_f64: f64,
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.0.text(value.as_bytes())
    }
    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.0.text(value)
    }
    fn serialize_none(self) -> Result<(), Error> {
        self.0.null()
    }
    fn serialize_some<V: Serialize + ?Sized>(self, value: &V) -> Result<(), Error> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<(), Error> {
        self.0.null()
    }
    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        self.0.null()
    }
    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.0.text(variant.as_bytes())
    }
    fn serialize_newtype_struct<V: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &V,
    ) -> Result<(), Error> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<V: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _value: &V,
    ) -> Result<(), Error> {
        Err(nested("an enum with data"))
    }
    fn serialize_seq(self, _len: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        Err(nested("a sequence"))
    }
    fn serialize_tuple(self, _len: usize) -> Result<Self::SerializeTuple, Error> {
        Err(nested("a tuple"))
    }
    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeTupleStruct, Error> {
        Err(nested("a tuple"))
    }
    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        Err(nested("an enum with data"))
    }
    fn serialize_map(self, _len: Option<usize>) -> Result<Self::SerializeMap, Error> {
        Err(nested("a map"))
    }
    fn serialize_struct(self, _name: &'static str, _len: usize) -> Result<Self::SerializeStruct, Error> {
        Err(nested("a struct"))
    }
    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        _len: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        Err(nested("an enum with data"))
    }
}

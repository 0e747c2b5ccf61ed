//! A schema in readable form: what an error prints when a snapshot does not fit a job.

use super::{Field, FieldDefault, Schema};
use std::fmt::{self, Display, Formatter};

/// One line for simple types; a struct's fields and an enum's variants stand on lines of their own.
impl Display for Schema {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Printer { names: Vec::new(), indent: 0 }.schema(self, f)
    }
}

struct Printer<'s> {
    /// The structs and enums around the current place.
    names: Vec<&'s str>,
    indent: usize,
}

impl<'s> Printer<'s> {
    fn schema(&mut self, schema: &'s Schema, f: &mut Formatter<'_>) -> fmt::Result {
        match schema {
            Schema::Unit => f.write_str("()"),
            Schema::Bool => f.write_str("bool"),
            Schema::Int(bits) => write!(f, "i{bits}"),
            Schema::UInt(bits) => write!(f, "u{bits}"),
            Schema::Float(bits) => write!(f, "f{bits}"),
            Schema::Char => f.write_str("char"),
            Schema::String => f.write_str("string"),
            Schema::Timestamp => f.write_str("timestamp"),
            Schema::Duration => f.write_str("duration"),
            Schema::Option(inner) => self.around("option<", [&**inner], ">", f),
            Schema::List(inner) => self.around("list<", [&**inner], ">", f),
            Schema::Set(inner) => self.around("set<", [&**inner], ">", f),
            Schema::Array(n, inner) => self.around("[", [&**inner], &format!("; {n}]"), f),
            Schema::Map(key, value) => self.around("map<", [&**key, &**value], ">", f),
            Schema::Tuple(elements) if elements.len() == 1 => self.around("(", elements, ",)", f),
            Schema::Tuple(elements) => self.around("(", elements, ")", f),
            Schema::Struct { name, fields } => {
                write!(f, "struct {name}")?;
                self.names.push(name);
                self.fields(fields, f)?;
                self.names.pop();
                Ok(())
            }
            Schema::Enum { name, variants } => {
                write!(f, "enum {name}")?;
                self.names.push(name);
                self.block(variants, f, |printer, variant, f| {
                    f.write_str(&variant.name)?;
                    if variant.fields.is_empty() { Ok(()) } else { printer.fields(&variant.fields, f) }
                })?;
                self.names.pop();
                Ok(())
            }
            Schema::Recursive(up) => match self.names.iter().rev().nth(*up as usize) {
                Some(name) => write!(f, "{name} (the one around it)"),
                None => f.write_str("(a type around it)"),
            },
            Schema::Opaque(name) => write!(f, "opaque {name}"),
        }
    }

    fn around(
        &mut self,
        open: &str,
        inner: impl IntoIterator<Item = &'s Schema>,
        close: &str,
        f: &mut Formatter<'_>,
    ) -> fmt::Result {
        f.write_str(open)?;
        for (i, schema) in inner.into_iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            self.schema(schema, f)?;
        }
        f.write_str(close)
    }

    fn fields(&mut self, fields: &'s [Field], f: &mut Formatter<'_>) -> fmt::Result {
        self.block(fields, f, |printer, field, f| {
            write!(f, "{}: ", field.name)?;
            printer.schema(&field.schema, f)?;
            let known = matches!(field.schema, Schema::Option(_) | Schema::Unit);
            if !known && field.default != FieldDefault::Required {
                f.write_str(" (has a default)")
            } else {
                Ok(())
            }
        })
    }

    /// ` { ... }` with one item a line.
    fn block<T>(
        &mut self,
        items: &'s [T],
        f: &mut Formatter<'_>,
        item: impl Fn(&mut Self, &'s T, &mut Formatter<'_>) -> fmt::Result,
    ) -> fmt::Result {
        if items.is_empty() {
            return f.write_str(" {}");
        }
        f.write_str(" {\n")?;
        self.indent += 1;
        for one in items {
            write!(f, "{:1$}", "", 2 * self.indent)?;
            item(self, one, f)?;
            f.write_str("\n")?;
        }
        self.indent -= 1;
        write!(f, "{:1$}}}", "", 2 * self.indent)
    }
}

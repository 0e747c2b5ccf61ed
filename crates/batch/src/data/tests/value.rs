//! The twin: values as plain trees, written and converted in the most obvious way.

use crate::data::{Field, FieldDefault, Schema, Variant};

/// A stream of random numbers from a seed (an xorshift).
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Dice(seed | 1)
    }

    pub(super) fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        ((self.roll() >> 33) as usize) % n
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Nothing,
    Bits(u128),
    F32(f32),
    F64(f64),
    Text(String),
    Span(u64, u32),
    Maybe(Option<Box<Value>>),
    Many(Vec<Value>),
    Named(Vec<(String, Value)>),
    Case(String, Vec<(String, Value)>),
    /// Bytes that are written as they are.
    Raw(Vec<u8>),
}

const BITS: [u8; 5] = [8, 16, 32, 64, 128];

/// A random schema without references.
pub(super) fn random_schema(dice: &mut Dice, depth: usize) -> Schema {
    let inner = |dice: &mut Dice| Box::new(random_schema(dice, depth - 1));
    match dice.below(if depth == 0 { 10 } else { 18 }) {
        0 => Schema::Unit,
        1 => Schema::Bool,
        2 => Schema::Int(dice.pick(&BITS)),
        3 => Schema::UInt(dice.pick(&BITS)),
        4 => Schema::Float(dice.pick(&[32, 64])),
        5 => Schema::Char,
        6 => Schema::String,
        7 => Schema::Timestamp,
        8 => Schema::Duration,
        9 => Schema::Opaque(format!("o{}", dice.below(3))),
        10 => Schema::Option(inner(dice)),
        11 => Schema::List(inner(dice)),
        12 => Schema::Set(inner(dice)),
        13 => Schema::Array(dice.below(4) as u32, inner(dice)),
        14 => Schema::Map(inner(dice), inner(dice)),
        15 => Schema::Tuple((0..dice.below(4)).map(|_| random_schema(dice, depth - 1)).collect()),
        16 => Schema::Struct { name: "S".into(), fields: random_fields(dice, depth - 1) },
        _ => Schema::Enum {
            name: "E".into(),
            variants: (0..=dice.below(3)).map(|i| random_variant(dice, depth, i)).collect(),
        },
    }
}

fn random_fields(dice: &mut Dice, depth: usize) -> Vec<Field> {
    let field = |dice: &mut Dice, i: usize| Field {
        name: format!("f{i}"),
        schema: random_schema(dice, depth),
        default: FieldDefault::Required,
    };
    (0..dice.below(6)).map(|i| field(dice, i)).collect()
}

fn random_variant(dice: &mut Dice, depth: usize, i: usize) -> Variant {
    Variant { name: format!("V{i}"), fields: random_fields(dice, depth - 1) }
}

pub(super) fn random_value(dice: &mut Dice, schema: &Schema) -> Value {
    let bits = |dice: &mut Dice, n: u8| {
        let all = u128::from(dice.roll()) << 64 | u128::from(dice.roll());
        Value::Bits(all >> (128 - u32::from(n)))
    };
    match schema {
        Schema::Unit => Value::Nothing,
        Schema::Bool => bits(dice, 1),
        Schema::Int(n) | Schema::UInt(n) => bits(dice, *n),
        Schema::Float(32) => Value::F32(dice.roll() as f32 / 3.0),
        Schema::Float(_) => Value::F64(dice.roll() as f64 / 7.0),
        Schema::Char => Value::Bits(u128::from(u32::from(dice.pick(&['a', 'é', '\u{10ffff}'])))),
        Schema::String => Value::Text("añ€".repeat(dice.below(4))),
        Schema::Timestamp => bits(dice, 64),
        Schema::Duration => Value::Span(dice.roll(), dice.below(1_000_000_000) as u32),
        Schema::Opaque(_) => {
            let n = dice.below(6) as u32;
            Value::Raw(n.to_le_bytes().into_iter().chain((0..n).map(|i| i as u8)).collect())
        }
        Schema::Option(inner) if dice.one_in(3) => Value::Maybe(Some(Box::new(random_value(dice, inner)))),
        Schema::Option(_) => Value::Maybe(None),
        Schema::List(inner) | Schema::Set(inner) => {
            Value::Many((0..dice.below(4)).map(|_| random_value(dice, inner)).collect())
        }
        Schema::Array(n, inner) => Value::Many((0..*n).map(|_| random_value(dice, inner)).collect()),
        Schema::Map(k, v) => {
            let pairs = 0..dice.below(4);
            Value::Many(
                pairs.map(|_| Value::Many(vec![random_value(dice, k), random_value(dice, v)])).collect(),
            )
        }
        Schema::Tuple(parts) => Value::Many(parts.iter().map(|p| random_value(dice, p)).collect()),
        Schema::Struct { fields, .. } => Value::Named(random_named(dice, fields)),
        Schema::Enum { variants, .. } => {
            let variant = &variants[dice.below(variants.len())];
            Value::Case(variant.name.clone(), random_named(dice, &variant.fields))
        }
        Schema::Recursive(_) => unreachable!("the twin knows no references"),
    }
}

fn random_named(dice: &mut Dice, fields: &[Field]) -> Vec<(String, Value)> {
    fields.iter().map(|f| (f.name.clone(), random_value(dice, &f.schema))).collect()
}

/// The documented layout.
pub(super) fn write(value: &Value, schema: &Schema, out: &mut Vec<u8>) {
    match (value, schema) {
        (Value::Raw(bytes), _) => out.extend(bytes),
        (Value::Nothing, Schema::Unit) => {}
        (Value::Bits(bits), Schema::Bool) => out.push(*bits as u8),
        (Value::Bits(bits), Schema::Char) => out.extend((*bits as u32).to_le_bytes()),
        (Value::Bits(bits), Schema::Timestamp) => out.extend((*bits as u64).to_le_bytes()),
        (Value::Bits(bits), Schema::Int(n) | Schema::UInt(n)) => {
            out.extend(&bits.to_le_bytes()[..usize::from(n / 8)]);
        }
        (Value::F32(x), Schema::Float(32)) => out.extend(x.to_bits().to_le_bytes()),
        (Value::F64(x), Schema::Float(64)) => out.extend(x.to_bits().to_le_bytes()),
        (Value::Text(text), Schema::String) => {
            out.extend((text.len() as u32).to_le_bytes());
            out.extend(text.bytes());
        }
        (Value::Span(secs, nanos), Schema::Duration) => {
            out.extend(secs.to_le_bytes());
            out.extend(nanos.to_le_bytes());
        }
        (Value::Maybe(None), Schema::Option(_)) => out.push(0),
        (Value::Maybe(Some(value)), Schema::Option(inner)) => {
            out.push(1);
            write(value, inner, out);
        }
        (Value::Many(values), Schema::List(inner) | Schema::Set(inner)) => {
            out.extend((values.len() as u32).to_le_bytes());
            values.iter().for_each(|v| write(v, inner, out));
        }
        (Value::Many(values), Schema::Array(_, inner)) => values.iter().for_each(|v| write(v, inner, out)),
        (Value::Many(pairs), Schema::Map(k, v)) => {
            out.extend((pairs.len() as u32).to_le_bytes());
            let pair = Schema::Tuple(vec![(**k).clone(), (**v).clone()]);
            pairs.iter().for_each(|p| write(p, &pair, out));
        }
        (Value::Many(values), Schema::Tuple(parts)) => {
            values.iter().zip(parts).for_each(|(v, p)| write(v, p, out));
        }
        (Value::Named(values), Schema::Struct { fields, .. }) => write_named(values, fields, out),
        (Value::Case(name, values), Schema::Enum { variants, .. }) => {
            let i = variants.iter().position(|v| v.name == *name).expect("the variant exists");
            out.extend((i as u32).to_le_bytes());
            write_named(values, &variants[i].fields, out);
        }
        (value, schema) => panic!("{value:?} is no {schema}"),
    }
}

fn write_named(values: &[(String, Value)], fields: &[Field], out: &mut Vec<u8>) {
    for field in fields {
        let (_, value) = values.iter().find(|(name, _)| *name == field.name).expect("the field exists");
        write(value, &field.schema, out);
    }
}

/// What a value of `writer` is under `reader`, which it fits.
pub(super) fn convert(value: &Value, writer: &Schema, reader: &Schema) -> Value {
    match (value, writer, reader) {
        (Value::Maybe(value), Schema::Option(a), Schema::Option(b)) => {
            Value::Maybe(value.as_ref().map(|v| Box::new(convert(v, a, b))))
        }
        (value, writer, Schema::Option(b)) => Value::Maybe(Some(Box::new(convert(value, writer, b)))),
        // The sign goes into all bits above the writer's width.
        (Value::Bits(bits), Schema::Int(n), Schema::Int(_)) => {
            let above = 128 - u32::from(*n);
            Value::Bits((((bits << above) as i128) >> above) as u128)
        }
        (Value::F32(x), Schema::Float(32), Schema::Float(64)) => Value::F64(f64::from(*x)),
        (Value::Many(values), Schema::List(a), Schema::List(b))
        | (Value::Many(values), Schema::Set(a), Schema::Set(b))
        | (Value::Many(values), Schema::Array(_, a), Schema::Array(_, b)) => {
            Value::Many(values.iter().map(|v| convert(v, a, b)).collect())
        }
        (Value::Many(pairs), Schema::Map(k, v), Schema::Map(l, u)) => {
            let old = Schema::Tuple(vec![(**k).clone(), (**v).clone()]);
            let new = Schema::Tuple(vec![(**l).clone(), (**u).clone()]);
            Value::Many(pairs.iter().map(|p| convert(p, &old, &new)).collect())
        }
        (Value::Many(values), Schema::Tuple(a), Schema::Tuple(b)) => {
            Value::Many(values.iter().zip(a).zip(b).map(|((v, a), b)| convert(v, a, b)).collect())
        }
        (Value::Named(values), Schema::Struct { fields: a, .. }, Schema::Struct { fields: b, .. }) => {
            Value::Named(convert_named(values, a, b))
        }
        (Value::Case(name, values), Schema::Enum { variants: a, .. }, Schema::Enum { variants: b, .. }) => {
            let fields = |variants: &[Variant]| {
                variants.iter().find(|v| v.name == *name).expect("exists").fields.clone()
            };
            Value::Case(name.clone(), convert_named(values, &fields(a), &fields(b)))
        }
        (value, _, _) => value.clone(),
    }
}

fn convert_named(values: &[(String, Value)], old: &[Field], new: &[Field]) -> Vec<(String, Value)> {
    let value = |field: &Field| match values.iter().find(|(name, _)| *name == field.name) {
        Some((_, value)) => {
            let before = old.iter().find(|f| f.name == field.name).expect("the value has a field");
            convert(value, &before.schema, &field.schema)
        }
        None => match &field.default {
            FieldDefault::Bytes(bytes) => Value::Raw(bytes.clone()),
            FieldDefault::Required => panic!("no value for {}", field.name),
        },
    };
    new.iter().map(|f| (f.name.clone(), value(f))).collect()
}

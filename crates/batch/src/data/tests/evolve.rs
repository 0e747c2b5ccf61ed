//! Transcoding compared with the twin, and with damaged schemas and bytes.

use super::value::{Dice, convert, random_schema, random_value, write};
use crate::data::{Field, FieldDefault, Reader, Schema, Transcoder, Variant};
use proptest::prelude::*;

/// A later version of a schema.
struct Later<'d> {
    dice: &'d mut Dice,
    /// Whether changes that do not fit may be made; rare, so that few of them meet in one schema.
    may_break: bool,
    fits: bool,
}

impl Later<'_> {
    fn breaks(&mut self) -> bool {
        let breaks = self.may_break && self.dice.one_in(12);
        self.fits &= !breaks;
        breaks
    }

    fn of(&mut self, schema: &Schema, in_key: bool) -> Schema {
        if self.breaks() {
            return Schema::Opaque("quite another".into());
        }
        if self.dice.one_in(8) {
            return Schema::Option(Box::new(self.of(schema, in_key)));
        }
        let wider = self.dice.one_in(2);
        match schema {
            Schema::Int(n) if *n < 128 && wider => Schema::Int(n * 2),
            Schema::UInt(n) if *n < 128 && wider => {
                if self.dice.one_in(2) {
                    Schema::UInt(n * 2)
                } else {
                    Schema::Int(n * 2)
                }
            }
            Schema::Float(32) if wider => Schema::Float(64),
            Schema::Option(a) => Schema::Option(Box::new(self.of(a, in_key))),
            Schema::List(a) => Schema::List(Box::new(self.of(a, in_key))),
            Schema::Set(a) => Schema::Set(Box::new(self.of(a, true))),
            Schema::Array(n, a) => {
                let n = if self.breaks() { n + 1 } else { *n };
                Schema::Array(n, Box::new(self.of(a, in_key)))
            }
            Schema::Map(k, v) => Schema::Map(Box::new(self.of(k, true)), Box::new(self.of(v, in_key))),
            Schema::Tuple(parts) => Schema::Tuple(parts.iter().map(|p| self.of(p, in_key)).collect()),
            Schema::Struct { fields, .. } => {
                Schema::Struct { name: "Renamed".into(), fields: self.fields(fields, in_key) }
            }
            Schema::Enum { name, variants } => {
                let mut later: Vec<Variant> = Vec::new();
                for v in variants {
                    if !self.breaks() {
                        later.push(Variant { name: v.name.clone(), fields: self.fields(&v.fields, in_key) });
                    }
                }
                later.push(Variant { name: "New".into(), fields: vec![] });
                self.dice.shuffle(&mut later);
                Schema::Enum { name: name.clone(), variants: later }
            }
            other => other.clone(),
        }
    }

    fn fields(&mut self, fields: &[Field], in_key: bool) -> Vec<Field> {
        let mut later = Vec::new();
        for field in fields {
            if self.dice.one_in(5) && (!in_key || self.may_break) {
                self.fits &= !in_key;
                continue;
            }
            later.push(Field { schema: self.of(&field.schema, in_key), ..field.clone() });
        }
        if self.dice.one_in(3) {
            let schema = random_schema(self.dice, 1);
            let mut bytes = Vec::new();
            write(&random_value(self.dice, &schema), &schema, &mut bytes);
            later.push(Field { name: "added".into(), schema, default: FieldDefault::Bytes(bytes) });
        }
        if self.breaks() {
            later.push(Field { name: "must".into(), schema: Schema::Bool, default: FieldDefault::Required });
        }
        if self.dice.one_in(2) {
            self.dice.shuffle(&mut later);
        }
        later
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn transcoding_does_what_the_twin_does(seed: u64) {
        let dice = &mut Dice::new(seed);
        let writer = random_schema(dice, 4);
        let mut later = Later { dice, may_break: seed % 4 == 0, fits: true };
        let reader = later.of(&writer, false);
        let fits = later.fits;
        let transcoder = Transcoder::new(&writer, &reader);
        prop_assert_eq!(transcoder.is_ok(), fits, "{} {}", writer, reader);
        let Ok(transcoder) = transcoder else { return Ok(()) };
        for _ in 0..3 {
            let value = random_value(dice, &writer);
            let (mut bytes, mut expected, mut out) = (vec![], vec![1, 2], vec![1, 2]);
            write(&value, &writer, &mut bytes);
            write(&convert(&value, &writer, &reader), &reader, &mut expected);
            prop_assert!(bytes.len() >= writer.min_bytes());
            let mut input = Reader::new(&bytes);
            transcoder.apply(&mut input, &mut out).expect("a whole value");
            prop_assert_eq!(input.remaining(), 0);
            if transcoder.is_identity() {
                prop_assert_eq!(&out[2..], &bytes[..]);
            }
            prop_assert_eq!(&out, &expected, "{} {}", writer, reader);
            for cut in 0..bytes.len().min(40) {
                let mut out = vec![1];
                prop_assert!(transcoder.apply(&mut Reader::new(&bytes[..cut]), &mut out).is_err());
                prop_assert_eq!(&out, &[1]);
            }
        }
    }

    #[test]
    fn equal_schemas_are_an_identity(seed: u64) {
        let dice = &mut Dice::new(seed);
        let schema = random_schema(dice, 4);
        prop_assert!(Transcoder::new(&schema, &schema).expect("fits itself").is_identity());
        let mut bytes = vec![];
        schema.encode(&mut bytes);
        let mut input = Reader::new(&bytes);
        prop_assert_eq!(Schema::decode(&mut input), Ok(schema));
        prop_assert_eq!(input.remaining(), 0);
        for cut in 0..bytes.len() {
            prop_assert!(Schema::decode(&mut Reader::new(&bytes[..cut])).is_err());
        }
    }

    #[test]
    fn damage_ends_in_errors(seed: u64, junk in prop::collection::vec(any::<u8>(), 0..200)) {
        let dice = &mut Dice::new(seed);
        let healthy = random_schema(dice, 3);
        let mut bytes = vec![];
        healthy.encode(&mut bytes);
        for _ in 0..=dice.below(3) {
            let i = dice.below(bytes.len());
            bytes[i] = dice.below(20) as u8;
        }
        let Ok(damaged) = Schema::decode(&mut Reader::new(&bytes)) else { return Ok(()) };
        let _ = (damaged.to_string(), damaged.min_bytes(), damaged.fingerprint());
        let wrapped = Schema::Option(Box::new(damaged.clone()));
        for reader in [&damaged, &wrapped, &healthy] {
            if let Ok(transcoder) = Transcoder::new(&damaged, reader) {
                let mut out = vec![];
                let _ = transcoder.apply(&mut Reader::new(&junk), &mut out);
                prop_assert!(out.len() < 100_000);
            }
        }
    }
}

fn node(fields: Vec<Schema>) -> Schema {
    let field = |(i, schema): (usize, Schema)| Field {
        name: format!("{i}"),
        schema,
        default: FieldDefault::Required,
    };
    Schema::Struct { name: "N".into(), fields: fields.into_iter().enumerate().map(field).collect() }
}

#[test]
fn references_resolve_from_either_side() {
    let list = |schema| Schema::List(Box::new(schema));
    let knot = node(vec![Schema::UInt(8), list(Schema::Recursive(0))]);
    // The same type, unrolled by one level.
    let unrolled = node(vec![Schema::UInt(8), list(node(vec![Schema::UInt(8), list(Schema::Recursive(1))]))]);
    let wider = node(vec![Schema::UInt(16), list(Schema::Recursive(0))]);
    assert!(Transcoder::new(&knot, &unrolled).expect("equal types").is_identity());
    assert!(Transcoder::new(&unrolled, &knot).expect("equal types").is_identity());
    let transcoder = Transcoder::new(&unrolled, &wider).expect("wider");
    let mut out = vec![];
    let bytes = [7, 1, 0, 0, 0, 8, 1, 0, 0, 0, 9, 0, 0, 0, 0];
    transcoder.apply(&mut Reader::new(&bytes), &mut out).expect("a whole value");
    assert_eq!(out, [7, 0, 1, 0, 0, 0, 8, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0]);
    assert!(Transcoder::new(&wider, &knot).is_err());
}

#[test]
fn schemas_of_infinite_size_are_damage() {
    let infinite = [
        node(vec![Schema::Recursive(0)]),
        node(vec![Schema::Array(2, Box::new(Schema::Tuple(vec![Schema::Recursive(0)])))]),
        node(vec![node(vec![Schema::Recursive(1)])]),
        Schema::List(Box::new(Schema::Recursive(0))),
    ];
    for schema in infinite {
        let mut bytes = vec![];
        schema.encode(&mut bytes);
        assert!(Schema::decode(&mut Reader::new(&bytes)).is_err(), "{schema}");
    }
    let deep = [&[1u8][..], &[9; 100_000]].concat();
    assert!(Schema::decode(&mut Reader::new(&deep)).is_err());
    assert!(Schema::decode(&mut Reader::new(&[2, 0])).is_err(), "an unknown version");
}

/// State files hold these bytes: they must stay readable for ever.
#[test]
fn schemas_of_version_1_are_read() {
    let bytes = [
        1, 14, 1, 0, 0, 0, b'S', 2, 0, 0, 0, // version, struct S, 2 fields
        1, 0, 0, 0, b'a', 12, 3, 32, 17, 9, 2, 64, 0, // a: map<u32, set<option<i64>>>, required
        1, 0, 0, 0, b'b', 15, 1, 0, 0, 0, b'E', 1, 0, 0, 0, // b: enum E, 1 variant
        1, 0, 0, 0, b'V', 3, 0, 0, 0, // V, 3 fields
        1, 0, 0, 0, b'0', 10, 18, 1, 0, 0, 0, 0, // 0: list of the struct two levels up
        1, 0, 0, 0, b'1', 13, 8, 0, 0, 0, 0, 1, 4, 64, 5, 6, 7, 8, 16, 1, 0, 0, 0, b'o',
        0, // 1: a tuple
        1, 0, 0, 0, b'2', 11, 3, 0, 0, 0, 3, 8, 0, // 2: [u8; 3]
        1, 2, 0, 0, 0, 0, 0, // b's default
    ];
    let schema = Schema::decode(&mut Reader::new(&bytes)).expect("version 1");
    let expected = "\
struct S {
  a: map<u32, set<option<i64>>>
  b: enum E {
    V {
      0: list<S (the one around it)>
      1: ((), bool, f64, char, string, timestamp, duration, opaque o)
      2: [u8; 3]
    }
  } (has a default)
}";
    assert_eq!(schema.to_string(), expected);
    let mut again = vec![];
    schema.encode(&mut again);
    assert_eq!(again, bytes);
    let layout = [
        14, 2, 0, 0, 0, // a struct of 2 fields
        1, 0, 0, 0, b'a', 12, 3, 32, 17, 9, 2, 64, // a
        1, 0, 0, 0, b'b', 15, 1, 0, 0, 0, // b
        1, 0, 0, 0, b'V', 3, 0, 0, 0, // V
        1, 0, 0, 0, b'0', 10, 18, 1, 0, 0, 0, // 0
        1, 0, 0, 0, b'1', 13, 8, 0, 0, 0, 0, 1, 4, 64, 5, 6, 7, 8, 16, 1, 0, 0, 0, b'o', // 1
        1, 0, 0, 0, b'2', 11, 3, 0, 0, 0, 3, 8, // 2
    ];
    assert_eq!(schema.fingerprint(), flugs_types::hash_bytes(&layout));
}

/// Each schema here announces 2^32 - 1 elements that take no bytes; a loop over them would be seen.
#[test]
fn empty_elements_cost_nothing() {
    let array = |n, schema| Schema::Array(n, Box::new(schema));
    let list = Schema::List(Box::new(Schema::Bool));
    for element in
        [Schema::Unit, array(0, list), array(u32::MAX, node(vec![Schema::Unit])), Schema::Tuple(vec![])]
    {
        let schema = array(u32::MAX, array(u32::MAX, element));
        let transcoder = Transcoder::new(&schema, &schema).expect("fits itself");
        let mut out = vec![];
        transcoder.apply(&mut Reader::new(&[]), &mut out).expect("no bytes are a value");
        assert!(out.is_empty());
    }
}

//! The layout and the schema text of each shape of type.

use flugs_batch::data::{Data as _, DecodeError, NESTING_MAX, Reader, Schema};
use flugs_derive::Data;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::marker::PhantomData;

#[derive(Debug, Clone, PartialEq, Data)]
#[data(crate = "flugs_batch")]
struct Order {
    id: u64,
    lines: Vec<Line>,
    note: Option<String>,
    #[data(default)]
    r#type: u8,
}

#[derive(Debug, Clone, PartialEq, Data)]
#[data(crate = "flugs_batch")]
enum Line {
    Article { name: String, price: f64 },
    Discount(f64, bool),
    Gift,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Data)]
#[data(crate = "flugs_batch")]
struct Id(u32);

#[derive(Debug, Clone, PartialEq, Data)]
#[data(crate = "flugs_batch")]
struct Nothing;

#[derive(Debug, Clone, PartialEq, Data)]
#[data(crate = "::flugs_batch")]
struct Pair<K: Ord, V = u8, const N: usize = 2>
where
    V: PartialEq,
{
    first: BTreeMap<K, V>,
    second: [V; N],
    marker: PhantomData<V>,
}

#[derive(Debug, Clone, PartialEq, Data)]
#[data(crate = "flugs_batch")]
struct Tree {
    name: String,
    children: Vec<Tree>,
}

#[derive(Debug, Clone, PartialEq, Data)]
#[data(crate = "flugs_batch")]
enum Expression {
    Number(i64),
    Sum(Box<Expression>, Box<Expression>),
    Call { arguments: Vec<Argument> },
}

#[derive(Debug, Clone, PartialEq, Data)]
#[data(crate = "flugs_batch")]
struct Argument {
    value: Expression,
    next: Option<Box<Argument>>,
}

/// A type without values, which must compile all the same.
#[derive(Debug, Clone, PartialEq, Data)]
#[data(crate = "flugs_batch")]
enum Never {}

fn round_trip<T: flugs_batch::Data + PartialEq + Debug>(value: &T) -> Vec<u8> {
    let bytes = value.to_bytes();
    assert_eq!(T::from_bytes(&bytes).as_ref(), Ok(value));
    assert!(bytes.len() >= T::BYTES_MIN && bytes.len() >= T::schema().min_bytes());
    for cut in 0..bytes.len() {
        assert!(T::from_bytes(&bytes[..cut]).is_err());
    }
    bytes
}

fn order() -> Order {
    let lines =
        vec![Line::Article { name: "ink".into(), price: 1.5 }, Line::Discount(-0.5, true), Line::Gift];
    Order { id: 7, lines, note: Some("é".into()), r#type: 9 }
}

#[test]
fn the_layout_is_the_documented_one() {
    let mut expected = vec![7, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0];
    expected.extend([0, 0, 0, 0, 3, 0, 0, 0, b'i', b'n', b'k']);
    expected.extend(1.5f64.to_bits().to_le_bytes());
    expected.extend([1, 0, 0, 0]);
    expected.extend((-0.5f64).to_bits().to_le_bytes());
    expected.extend([1, 2, 0, 0, 0]);
    expected.extend([1, 2, 0, 0, 0, 0xc3, 0xa9, 9]);
    assert_eq!(round_trip(&order()), expected);
    assert_eq!(round_trip(&Id(258)), [2, 1, 0, 0]);
    assert_eq!(round_trip(&Nothing), [0u8; 0]);
    let pair = Pair { first: BTreeMap::from([(Id(1), 5u16)]), second: [6, 7, 8], marker: PhantomData };
    assert_eq!(round_trip(&pair), [1, 0, 0, 0, 1, 0, 0, 0, 5, 0, 6, 0, 7, 0, 8, 0]);
}

#[test]
fn heap_bytes_are_those_of_the_fields() {
    let lines = order().lines;
    assert_eq!(lines[0].heap_bytes(), 3);
    assert_eq!(lines[2].heap_bytes(), 0);
    assert_eq!(order().heap_bytes(), 3 * size_of::<Line>() + 3 + 2);
}

#[test]
fn a_schema_reads_like_a_type() {
    let expected = "\
struct Order {
  id: u64
  lines: list<enum Line {
    Article {
      name: string
      price: f64
    }
    Discount {
      0: f64
      1: bool
    }
    Gift
  }>
  note: option<string>
  type: u8 (has a default)
}";
    assert_eq!(Order::schema().to_string(), expected);
    assert_eq!(Nothing::schema().to_string(), "struct Nothing {}");
    assert_eq!(
        <Pair<u8>>::schema().to_string(),
        "struct Pair {\n  first: map<u8, u8>\n  second: [u8; 2]\n  marker: ()\n}"
    );
}

#[test]
fn schemas_have_bytes_of_their_own() {
    for schema in [
        Order::schema(),
        Nothing::schema(),
        <Pair<i8, i32, 0>>::schema(),
        Tree::schema(),
        Expression::schema(),
        Argument::schema(),
        Never::schema(),
    ] {
        let mut bytes = Vec::new();
        schema.encode(&mut bytes);
        assert_eq!(Schema::decode(&mut Reader::new(&bytes)), Ok(schema));
    }
}

#[test]
fn types_that_contain_themselves() {
    let leaf = |name: &str| Tree { name: name.into(), children: vec![] };
    round_trip(&Tree { name: "root".into(), children: vec![leaf("a"), leaf("b")] });
    assert_eq!(
        Tree::schema().to_string(),
        "struct Tree {\n  name: string\n  children: list<Tree (the one around it)>\n}"
    );
    let number = |n| Box::new(Expression::Number(n));
    let first = Argument { value: Expression::Number(1), next: None };
    let second = Argument { value: Expression::Sum(number(2), number(3)), next: Some(Box::new(first)) };
    round_trip(&Expression::Call { arguments: vec![second] });
}

#[test]
fn damaged_depth_does_not_exhaust_the_stack() {
    // Each level: an empty name and one child.
    let bytes: Vec<u8> = [0u8, 0, 0, 0, 1, 0, 0, 0].repeat(100_000);
    let refused = Tree::from_bytes(&bytes).expect_err("nested too deep");
    assert_eq!(refused, DecodeError::new(format!("the value nests deeper than {NESTING_MAX} levels")));

    let mut tree = Tree { name: String::new(), children: vec![] };
    for _ in 1..NESTING_MAX {
        tree = Tree { name: String::new(), children: vec![tree] };
    }
    round_trip(&tree);
}

#[test]
fn ordinals_without_a_variant_are_refused() {
    let refused = Line::from_bytes(&[3, 0, 0, 0]).expect_err("three variants");
    assert_eq!(refused.to_string(), "enum Line has no variant number 3");
    assert!(Never::from_bytes(&[0, 0, 0, 0]).is_err());
}

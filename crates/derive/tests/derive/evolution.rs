//! Old state read by new types.

use flugs_batch::Data as Encoded;
use flugs_batch::data::{Reader, Transcoder};
use flugs_derive::Data;
use std::collections::{BTreeMap, BTreeSet};

mod old {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Data)]
    #[data(crate = "flugs_batch")]
    pub(super) struct Order {
        pub(super) id: u32,
        pub(super) customer: String,
        pub(super) price: f32,
        pub(super) lines: Vec<Line>,
        pub(super) state: State,
    }

    #[derive(Debug, Clone, PartialEq, Data)]
    #[data(crate = "flugs_batch")]
    pub(super) struct Line {
        pub(super) article: u16,
        pub(super) tags: Vec<String>,
    }

    #[derive(Debug, Clone, PartialEq, Data)]
    #[data(crate = "flugs_batch")]
    pub(super) enum State {
        Open,
        Sent { parcel: i16, by: String },
    }

    #[derive(Debug, Clone, PartialEq, Data)]
    #[data(crate = "flugs_batch")]
    pub(super) struct Tree {
        pub(super) weight: i8,
        pub(super) children: Vec<Tree>,
    }
}

mod new {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Data)]
    #[data(crate = "flugs_batch")]
    pub(super) struct Purchase {
        pub(super) state: Progress,
        pub(super) lines: Vec<Item>,
        #[data(default)]
        pub(super) retries: u16,
        pub(super) price: f64,
        pub(super) id: i64,
        pub(super) note: Option<String>,
    }

    #[derive(Debug, Clone, PartialEq, Data)]
    #[data(crate = "flugs_batch")]
    pub(super) struct Item {
        pub(super) tags: Vec<String>,
        pub(super) article: Option<u128>,
    }

    #[derive(Debug, Clone, PartialEq, Data)]
    #[data(crate = "flugs_batch")]
    pub(super) enum Progress {
        Cancelled(String),
        Sent { parcel: i32 },
        Open,
    }

    #[derive(Debug, Clone, PartialEq, Data)]
    #[data(crate = "flugs_batch")]
    pub(super) struct Tree {
        pub(super) children: Vec<Tree>,
        pub(super) weight: i64,
        pub(super) label: Option<char>,
    }
}

fn transcoder<Old: Encoded, New: Encoded>() -> Transcoder {
    Transcoder::new(&Old::schema(), &New::schema()).expect("the schemas fit")
}

fn read_as<Old: Encoded, New: Encoded>(value: &Old) -> New {
    let bytes = value.to_bytes();
    let (mut input, mut out) = (Reader::new(&bytes), vec![0xaa]);
    transcoder::<Old, New>().apply(&mut input, &mut out).expect("a whole value");
    assert_eq!(input.remaining(), 0);
    New::from_bytes(&out[1..]).expect("a value of the new type")
}

/// The place and the reason of a misfit.
fn misfit<Old: Encoded, New: Encoded>() -> (String, String) {
    let e = Transcoder::new(&Old::schema(), &New::schema()).expect_err("the schemas do not fit");
    (e.path().to_owned(), e.reason().to_owned())
}

#[test]
fn fields_come_go_move_and_widen() {
    let line = old::Line { article: 65_535, tags: vec!["a".into(), String::new()] };
    let order = old::Order {
        id: u32::MAX,
        customer: "gone".into(),
        price: 0.1,
        lines: vec![line],
        state: old::State::Sent { parcel: -2, by: "post".into() },
    };
    let item = new::Item { tags: vec!["a".into(), String::new()], article: Some(65_535) };
    let expected = new::Purchase {
        state: new::Progress::Sent { parcel: -2 },
        lines: vec![item],
        retries: 0,
        price: f64::from(0.1f32),
        id: 4_294_967_295,
        note: None,
    };
    assert_eq!(read_as::<_, new::Purchase>(&order), expected);
    assert_eq!(read_as::<_, new::Progress>(&old::State::Open), new::Progress::Open);
}

#[test]
fn types_that_contain_themselves_evolve_too() {
    let tree = old::Tree {
        weight: -1,
        children: vec![
            old::Tree { weight: 2, children: vec![old::Tree { weight: 3, children: vec![] }] },
            old::Tree { weight: 4, children: vec![] },
        ],
    };
    let node = |weight, children| new::Tree { children, weight, label: None };
    let expected = node(-1, vec![node(2, vec![node(3, vec![])]), node(4, vec![])]);
    assert_eq!(read_as::<_, new::Tree>(&tree), expected);

    // Bytes that nest for ever end in an error, not in an overflow, and leave the output as it was.
    let bytes = [1u8, 1, 0, 0, 0].repeat(100_000);
    let mut out = vec![5];
    assert!(transcoder::<old::Tree, new::Tree>().apply(&mut Reader::new(&bytes), &mut out).is_err());
    assert_eq!(out, [5]);
}

#[test]
fn a_removed_field_of_a_type_that_contains_itself_is_passed_over() {
    #[derive(Clone, Data)]
    #[data(crate = "flugs_batch")]
    struct Before {
        tree: Option<Box<old::Tree>>,
        n: u8,
    }
    #[derive(Debug, Clone, PartialEq, Data)]
    #[data(crate = "flugs_batch")]
    struct After {
        n: u8,
    }
    let tree = old::Tree { weight: 1, children: vec![old::Tree { weight: 2, children: vec![] }] };
    assert_eq!(read_as::<_, After>(&Before { tree: Some(Box::new(tree)), n: 3 }), After { n: 3 });
}

#[test]
fn other_names_of_types_change_nothing() {
    #[derive(Clone, Data)]
    #[data(crate = "flugs_batch")]
    struct Node {
        weight: i8,
        children: Vec<Node>,
    }
    assert!(transcoder::<old::Tree, Node>().is_identity());
    assert_eq!(old::Tree::schema().fingerprint(), Node::schema().fingerprint());
    assert_ne!(old::Tree::schema().fingerprint(), new::Tree::schema().fingerprint());
    assert!(!transcoder::<old::Tree, new::Tree>().is_identity());
    assert!(transcoder::<old::Order, old::Order>().is_identity());
}

#[test]
fn misfits_name_the_field() {
    #[derive(Clone, Data)]
    #[data(crate = "flugs_batch")]
    struct Line {
        price: f64,
    }
    #[derive(Clone, Data)]
    #[data(crate = "flugs_batch")]
    struct CheaperLine {
        price: f32,
    }
    #[derive(Clone, Data)]
    #[data(crate = "flugs_batch")]
    struct Holder<L> {
        order: BTreeMap<String, Vec<L>>,
    }
    #[derive(Clone, Data)]
    #[data(crate = "flugs_batch")]
    struct MoreOrder {
        order: BTreeMap<String, Vec<Line>>,
        total: f64,
    }
    type Before = Holder<Line>;
    let (path, reason) = misfit::<Before, Holder<CheaperLine>>();
    assert_eq!(path, "order[][].price");
    assert_eq!(reason, "the snapshot has f64, the job wants f32");
    assert_eq!(
        misfit::<Before, MoreOrder>(),
        ("total".into(), "the snapshot has no such field, and it has no #[data(default)]".into())
    );
    let (path, reason) = misfit::<new::Purchase, old::Order>();
    assert_eq!(path, "state");
    assert_eq!(reason, "the job has no variant Cancelled, which the snapshot may hold");

    let e = Transcoder::new(&Line::schema(), &u8::schema()).expect_err("a struct is no number");
    assert_eq!(
        e.to_string(),
        "the snapshot has struct Line, the job wants u8\n\
         the snapshot has\nstruct Line {\n  price: f64\n}\nthe job wants\nu8"
    );
    assert_eq!(flugs_types::Error::from(e).kind(), flugs_types::ErrorKind::State);
}

#[test]
fn keys_do_not_lose_fields() {
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Data)]
    #[data(crate = "flugs_batch")]
    struct Long {
        a: u8,
        b: u8,
    }
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Data)]
    #[data(crate = "flugs_batch")]
    struct Short {
        a: u8,
    }
    assert_eq!(misfit::<BTreeSet<Long>, BTreeSet<Short>>().0, "[].b");
    assert_eq!(misfit::<BTreeMap<Long, u8>, BTreeMap<Short, u8>>().0, "[key].b");
    let kept: BTreeMap<u8, Short> = read_as(&BTreeMap::from([(1u8, Long { a: 2, b: 3 })]));
    assert_eq!(kept, BTreeMap::from([(1, Short { a: 2 })]));
    let wider: BTreeMap<i16, Long> = read_as(&BTreeMap::from([(200u8, Long { a: 2, b: 3 })]));
    assert_eq!(wider, BTreeMap::from([(200, Long { a: 2, b: 3 })]));
}

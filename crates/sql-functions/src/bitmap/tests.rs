use crate::support::testing::evaluate;
use arrow::array::{Int32Array, ListArray};
use arrow::datatypes::{DataType, Int32Type};
use datafusion_common::ScalarValue;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

fn ints(values: &[Option<i32>]) -> ScalarValue {
    ScalarValue::List(Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([Some(values.to_vec())])))
}

fn build(values: &[i32]) -> ScalarValue {
    call("bitmap_build", &[ints(&values.iter().map(|v| Some(*v)).collect::<Vec<_>>())])
}

fn call(name: &str, arguments: &[ScalarValue]) -> ScalarValue {
    evaluate(name, arguments).unwrap_or_else(|e| panic!("{name}({arguments:?}): {e}"))
}

fn text(value: &str) -> ScalarValue {
    ScalarValue::Utf8View(Some(value.to_owned()))
}

fn shown(bitmap: ScalarValue) -> ScalarValue {
    call("bitmap_to_string", &[bitmap])
}

#[test]
fn bitmaps_are_sets() {
    let (a, b) = (build(&[5, 1, 3, 1]), build(&[3, 4]));
    assert_eq!(shown(a.clone()), text("{1,3,5}"));
    assert_eq!(shown(call("bitmap_and", &[a.clone(), b.clone()])), text("{3}"));
    assert_eq!(shown(call("bitmap_or", &[a.clone(), b.clone()])), text("{1,3,4,5}"));
    assert_eq!(shown(call("bitmap_xor", &[a.clone(), b.clone()])), text("{1,4,5}"));
    assert_eq!(shown(call("bitmap_andnot", &[a.clone(), b])), text("{1,5}"));
    assert_eq!(call("bitmap_cardinality", std::slice::from_ref(&a)), ScalarValue::Int64(Some(3)));
    assert_eq!(shown(build(&[])), text("{}"));
    assert_eq!(shown(build(&[-1, 0])), text("{0,4294967295}"));
    assert_eq!(shown(call("bitmap_build", &[ints(&[Some(2), None])])), text("{2}"));
    let array = call("bitmap_to_array", &[build(&[-1, 7])]);
    let ScalarValue::List(array) = array else { panic!("{array}") };
    assert_eq!(array.values().as_ref(), &Int32Array::from(vec![7, -1]) as &dyn arrow::array::Array);
}

#[test]
fn bitmaps_have_the_portable_format() {
    // The format's example: cookie 12346 without runs, one container with key 0 and three values in an array.
    let bytes = [0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0x10, 0, 0, 0, 1, 0, 3, 0, 5, 0];
    let bytes = ScalarValue::Binary(Some(bytes.to_vec()));
    assert_eq!(build(&[1, 3, 5]), bytes);
    assert_eq!(call("bitmap_from_bytes", std::slice::from_ref(&bytes)), bytes);
    assert_eq!(call("bitmap_to_bytes", std::slice::from_ref(&bytes)), bytes);
    for wrong in [vec![], vec![1, 2, 3], vec![0x3a, 0x30, 0, 0, 0, 0, 0, 0, 9]] {
        assert!(evaluate("bitmap_from_bytes", &[ScalarValue::Binary(Some(wrong))]).is_err());
    }
}

#[test]
fn null_gives_null() {
    let null = ScalarValue::Binary(None);
    for name in ["bitmap_and", "bitmap_or", "bitmap_xor", "bitmap_andnot"] {
        assert_eq!(call(name, &[null.clone(), build(&[1])]), null);
    }
    assert_eq!(call("bitmap_cardinality", &[ScalarValue::Null]), ScalarValue::Int64(None));
    assert_eq!(call("bitmap_build", &[ScalarValue::Null]), null);
    assert_eq!(shown(null), ScalarValue::Utf8View(None));
    assert!(
        evaluate(
            "bitmap_build",
            &[ScalarValue::List(ScalarValue::new_list(&[text("a")], &DataType::Utf8View, true))]
        )
        .is_err()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn bitmaps_are_what_sets_are(a in prop::collection::btree_set(0..200_000i32, 0..50), b in prop::collection::btree_set(0..200_000i32, 0..50)) {
        let all = |set: &BTreeSet<i32>| build(&set.iter().copied().collect::<Vec<_>>());
        let (x, y) = (all(&a), all(&b));
        prop_assert_eq!(call("bitmap_and", &[x.clone(), y.clone()]), all(&a.intersection(&b).copied().collect()));
        prop_assert_eq!(call("bitmap_or", &[x.clone(), y.clone()]), all(&a.union(&b).copied().collect()));
        prop_assert_eq!(call("bitmap_andnot", &[x, y]), all(&a.difference(&b).copied().collect()));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = evaluate("bitmap_cardinality", &[ScalarValue::Binary(Some(bytes))]);
    }
}

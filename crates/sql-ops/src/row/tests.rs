use super::*;
use arrow::array::{Array, Int32Builder};
use arrow::array::{
    ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
    Int8Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, IntervalYearMonthArray, ListBuilder,
    MapBuilder, MapFieldNames, NullArray, StringViewArray, StringViewBuilder, StructArray,
    Time32MillisecondArray, TimestampMicrosecondArray, TimestampMillisecondArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, IntervalMonthDayNano};
use flugs_batch::Data;
use flugs_types::{ErrorKind, hash_key};
use proptest::prelude::*;
use std::cmp::Ordering;
use std::sync::Arc;

fn encoded(columns: &[ArrayRef]) -> (RowCodec, EncodedRows) {
    let types: Vec<DataType> = columns.iter().map(|c| c.data_type().clone()).collect();
    let codec = RowCodec::new(&types).unwrap();
    let rows = codec.encode(columns, columns[0].len()).unwrap();
    (codec, rows)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn list(rows: &[Option<Vec<Option<String>>>]) -> ArrayRef {
    let mut builder = ListBuilder::new(StringViewBuilder::new());
    for row in rows {
        match row {
            Some(items) => {
                items.iter().for_each(|item| builder.values().append_option(item.as_deref()));
                builder.append(true);
            }
            None => builder.append(false),
        }
    }
    Arc::new(builder.finish())
}

type MapRows = Vec<Option<Vec<(String, Option<i32>)>>>;

fn map(rows: &MapRows) -> ArrayRef {
    let names = MapFieldNames { entry: "entries".into(), key: "key".into(), value: "value".into() };
    let mut builder = MapBuilder::new(Some(names), StringViewBuilder::new(), Int32Builder::new());
    for row in rows {
        for (key, value) in row.iter().flatten() {
            builder.keys().append_value(key);
            builder.values().append_option(*value);
        }
        builder.append(row.is_some()).unwrap();
    }
    Arc::new(builder.finish())
}

fn row_of(fields: Vec<(&str, ArrayRef)>, valid: Vec<bool>) -> ArrayRef {
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) =
        fields.into_iter().map(|(n, c)| (Field::new(n, c.data_type().clone(), true), c)).unzip();
    Arc::new(StructArray::try_new(fields.into(), columns, Some(NullBuffer::from(valid))).unwrap())
}

/// One column of each type: two values and a NULL.
fn every_type() -> Vec<ArrayRef> {
    let some = |items: &[&str]| Some(items.iter().map(|i| Some((*i).to_owned())).collect::<Vec<_>>());
    let interval = |months, days, nanos| Some(IntervalMonthDayNano::new(months, days, nanos));
    vec![
        Arc::new(NullArray::new(3)),
        Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
        Arc::new(Int8Array::from(vec![Some(-1), None, Some(1)])),
        Arc::new(Int32Array::from(vec![Some(258), None, Some(-2)])),
        Arc::new(Int64Array::from(vec![Some(1), None, Some(i64::MIN)])),
        Arc::new(Float32Array::from(vec![Some(1.5), None, Some(-1.5)])),
        Arc::new(Float64Array::from(vec![Some(0.0), None, Some(f64::NEG_INFINITY)])),
        Arc::new(
            Decimal128Array::from(vec![Some(12345), None, Some(-1)]).with_precision_and_scale(10, 2).unwrap(),
        ),
        Arc::new(Date32Array::from(vec![Some(1), None, Some(-1)])),
        Arc::new(Time32MillisecondArray::from(vec![Some(1), None, Some(0)])),
        Arc::new(TimestampMillisecondArray::from(vec![Some(1), None, Some(0)]).with_timezone("+00:00")),
        Arc::new(TimestampMicrosecondArray::from(vec![Some(1), None, Some(0)])),
        Arc::new(IntervalYearMonthArray::from(vec![Some(13), None, Some(-1)])),
        Arc::new(IntervalMonthDayNanoArray::from(vec![interval(1, 2, 3), None, interval(0, -1, -5)])),
        Arc::new(StringViewArray::from(vec![Some("a\0b\u{1}"), None, Some("")])),
        Arc::new(BinaryArray::from(vec![Some(&b"\x00\xff"[..]), None, Some(b"x")])),
        list(&[some(&["a", ""]), None, Some(vec![None])]),
        map(&vec![Some(vec![("k".into(), Some(1)), ("l".into(), None)]), None, Some(vec![])]),
        row_of(
            vec![
                ("a", Arc::new(Int32Array::from(vec![Some(1), Some(7), None]))),
                ("b", list(&[some(&["x"]), some(&["hidden"]), None])),
            ],
            vec![true, false, true],
        ),
    ]
}

#[test]
fn the_bytes_of_version_1() {
    let columns = every_type();
    let expected = [
        ["00", "00", "00"],
        ["0101", "0000", "0100"],
        ["017f", "0000", "0181"],
        ["0180000102", "0000000000", "017ffffffe"],
        ["018000000000000001", "000000000000000000", "010000000000000000"],
        ["01bfc00000", "0000000000", "01403fffff"],
        ["018000000000000000", "000000000000000000", "01000fffffffffffff"],
        [
            "0180000000000000000000000000003039",
            "0000000000000000000000000000000000",
            "017fffffffffffffffffffffffffffffff",
        ],
        ["0180000001", "0000000000", "017fffffff"],
        ["0180000001", "0000000000", "0180000000"],
        ["018000000000000001", "000000000000000000", "018000000000000000"],
        ["018000000000000001", "000000000000000000", "018000000000000000"],
        ["018000000d", "0000000000", "017fffffff"],
        ["0180000001", "00", "0180000000"],
        ["0161010162010200", "00", "0100"],
        ["010101ff00", "00", "017800"],
        ["01 01 016100 01 0100 00", "00", "01010000"],
        ["01", "00", "0100"],
        ["01", "00", "01"],
    ];
    for (column, expected) in columns.iter().zip(expected) {
        let (codec, rows) = encoded(std::slice::from_ref(column));
        let long =
            matches!(column.data_type(), DataType::Interval(_) | DataType::Map(..) | DataType::Struct(_));
        for (row, expected) in rows.iter().zip(expected) {
            let expected = expected.replace(' ', "");
            if long {
                assert!(hex(row).starts_with(&expected), "{}: {}", column.data_type(), hex(row));
            } else {
                assert_eq!(hex(row), expected, "{}", column.data_type());
            }
        }
        assert_eq!(&codec.decode(rows.iter()).unwrap()[0], column);
    }
    let whole = |i: usize| (0..3).map(|row| hex(encoded(&columns[i..=i]).1.row(row))).collect::<Vec<_>>();
    let nanos = |n: i128| format!("{:032x}", (n as u128) ^ (1 << 127));
    assert_eq!(whole(13)[0], format!("0180000001{}", nanos(172_800_000_000_003)));
    assert_eq!(whole(13)[1], "00".repeat(21));
    assert_eq!(whole(13)[2], format!("0180000000{}", nanos(-86_400_000_000_005)));
    assert_eq!(whole(17)[0], "01 01 016b00 0180000001 01 016c00 0000000000 00".replace(' ', ""));
    assert_eq!(whole(17)[2], "0100");
    assert_eq!(whole(18)[0], "01 0180000001 01 01 017800 00".replace(' ', ""));
    assert_eq!(whole(18)[2], "01 0000000000 00".replace(' ', ""));
    assert_eq!(RowBytes::schema(), flugs_batch::data::Schema::Opaque("sql.row/1".into()));
}

#[test]
fn all_types_in_one_row_come_back_in_every_order() {
    let columns = every_type();
    let types: Vec<DataType> = columns.iter().map(|c| c.data_type().clone()).collect();
    for (descending, nulls_first) in [(false, true), (false, false), (true, true), (true, false)] {
        let options = vec![SortOptions { descending, nulls_first }; types.len()];
        let codec = RowCodec::ordered(&types, &options).unwrap();
        let rows = codec.encode(&columns, 3).unwrap();
        assert_eq!(codec.decode(rows.iter()).unwrap(), columns);
        assert_eq!(
            codec.decode([rows.row(2)]).unwrap()[4].as_primitive::<arrow::datatypes::Int64Type>().value(0),
            i64::MIN
        );
        let sliced: Vec<ArrayRef> = columns.iter().map(|c| c.slice(1, 2)).collect();
        let again = codec.encode(&sliced, 2).unwrap();
        assert_eq!((again.row(0), again.row(1)), (rows.row(1), rows.row(2)));
    }
}

#[test]
fn equal_values_have_equal_bytes() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![
        0.0,
        -0.0,
        f64::NAN,
        -f64::NAN,
        f64::from_bits(0x7ff0_0000_0000_0001),
    ]));
    let (_, rows) = encoded(&[floats]);
    assert_eq!(rows.row(0), rows.row(1));
    assert_eq!(rows.row(2), rows.row(3));
    assert_eq!(rows.row(2), rows.row(4));
    let (_, rows) = encoded(&[map(&vec![
        Some(vec![("a".into(), Some(1)), ("b".into(), None)]),
        Some(vec![("b".into(), None), ("a".into(), Some(1))]),
    ])]);
    assert_eq!(rows.row(0), rows.row(1));
    let day = IntervalMonthDayNano::new(0, 1, 0);
    let hours = IntervalMonthDayNano::new(0, 0, 86_400_000_000_000);
    let (_, rows) = encoded(&[Arc::new(IntervalMonthDayNanoArray::from(vec![day, hours]))]);
    assert_eq!(rows.row(0), rows.row(1));
}

#[test]
fn nulls_and_hashes_are_known() {
    let a: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
    let b: ArrayRef = Arc::new(StringViewArray::from(vec![Some("x"), Some("y"), None]));
    let (_, rows) = encoded(&[a, b]);
    assert_eq!((0..3).map(|i| rows.has_null(i)).collect::<Vec<_>>(), [false, true, true]);
    for i in 0..3 {
        assert_eq!(rows.hash(i), hash_key(&rows.to_key(i)));
        assert_eq!(rows.hash(i), row_hash(rows.row(i)));
    }
    let none = RowCodec::new(&[]).unwrap().encode(&[], 2).unwrap();
    assert_eq!((none.len(), none.row(1), none.hash(0)), (2, &b""[..], hash_key(&RowBytes::default())));
    assert_eq!(RowCodec::new(&[]).unwrap().decode(none.iter()).unwrap().len(), 0);
}

#[test]
fn other_columns_than_the_codec_has_are_a_bug_and_other_types_are_refused() {
    let codec = RowCodec::new(&[DataType::Int64]).unwrap();
    let short: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    assert_eq!(codec.encode(&[short], 1).unwrap_err().kind(), ErrorKind::Bug);
    assert_eq!(codec.encode(&[], 1).unwrap_err().kind(), ErrorKind::Bug);
    assert!(RowCodec::new(&[DataType::Float16]).unwrap_err().to_string().contains("Float16"));
}

#[test]
fn row_bytes_are_bytes_of_any_length() {
    assert_eq!(size_of::<RowBytes>(), 24);
    let all: Vec<u8> = (1..=60).collect();
    let mut before = RowBytes::default();
    for n in 1..=60 {
        let bytes = RowBytes::new(&all[..n]);
        assert_eq!(bytes.as_slice(), &all[..n]);
        assert_eq!(bytes, RowBytes::from(all[..n].to_vec()));
        assert_eq!(hash_key(&bytes), row_hash(&all[..n]));
        assert_eq!(before.cmp(&bytes), Ordering::Less);
        assert_eq!(RowBytes::from_bytes(&bytes.to_bytes()).unwrap(), bytes);
        assert_ne!(RowBytes::new(&[&all[..n], &[0]].concat()), bytes);
        before = bytes;
    }
    assert!(RowBytes::from_bytes(&[255, 255, 255, 255, 1]).is_err());
}

type Row = (Option<i64>, Option<f64>, Option<String>, Option<Vec<Option<String>>>);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let text = || prop_oneof![Just(String::new()), "[\u{0}\u{1}\u{2}ab]{0,3}", "[a-z]{20,30}"];
    let float = prop_oneof![any::<f64>(), Just(0.0), Just(-0.0), Just(f64::NAN)];
    let row = (
        proptest::option::of(prop_oneof![any::<i64>(), -2..3i64]),
        proptest::option::of(float),
        proptest::option::of(text()),
        proptest::option::of(proptest::collection::vec(proptest::option::of(text()), 0..3)),
    );
    proptest::collection::vec(row, 1..12)
}

fn columns(rows: &[Row]) -> Vec<ArrayRef> {
    let texts: Vec<Option<&str>> = rows.iter().map(|r| r.2.as_deref()).collect();
    vec![
        Arc::new(Int64Array::from(rows.iter().map(|r| r.0).collect::<Vec<_>>())),
        Arc::new(Float64Array::from(rows.iter().map(|r| r.1).collect::<Vec<_>>())),
        Arc::new(StringViewArray::from(texts)),
        list(&rows.iter().map(|r| r.3.clone()).collect::<Vec<_>>()),
    ]
}

fn floats(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        _ => a.partial_cmp(&b).unwrap(),
    }
}

/// The order of SQL for one column.
fn by<T>(a: &Option<T>, b: &Option<T>, o: SortOptions, cmp: impl Fn(&T, &T) -> Ordering) -> Ordering {
    let null = if o.nulls_first { Ordering::Less } else { Ordering::Greater };
    match (a, b) {
        (None, None) => Ordering::Equal,
        (None, _) => null,
        (_, None) => null.reverse(),
        (Some(a), Some(b)) if o.descending => cmp(a, b).reverse(),
        (Some(a), Some(b)) => cmp(a, b),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn bytes_compare_as_rows_do_and_come_back(
        rows in rows(),
        flags in proptest::collection::vec(any::<(bool, bool)>(), 4),
    ) {
        let options: Vec<SortOptions> =
            flags.iter().map(|(descending, nulls_first)| SortOptions { descending: *descending, nulls_first: *nulls_first }).collect();
        let columns = columns(&rows);
        let types: Vec<DataType> = columns.iter().map(|c| c.data_type().clone()).collect();
        let codec = RowCodec::ordered(&types, &options).unwrap();
        let encoded = codec.encode(&columns, rows.len()).unwrap();
        for (i, a) in rows.iter().enumerate() {
            for (j, b) in rows.iter().enumerate() {
                let expected = by(&a.0, &b.0, options[0], Ord::cmp)
                    .then(by(&a.1, &b.1, options[1], |a, b| floats(*a, *b)))
                    .then(by(&a.2, &b.2, options[2], Ord::cmp))
                    .then(by(&a.3, &b.3, options[3], Ord::cmp));
                prop_assert_eq!(encoded.row(i).cmp(encoded.row(j)), expected);
                prop_assert_eq!(encoded.to_key(i).cmp(&encoded.to_key(j)), expected);
            }
        }
        let back = codec.decode(encoded.iter()).unwrap();
        prop_assert_eq!(&back[0], &columns[0]);
        prop_assert_eq!(&back[2], &columns[2]);
        prop_assert_eq!(&back[3], &columns[3]);
        let back = back[1].as_primitive::<arrow::datatypes::Float64Type>();
        for (i, row) in rows.iter().enumerate() {
            prop_assert_eq!(back.is_valid(i), row.1.is_some());
            prop_assert!(row.1.is_none_or(|v| floats(v, back.value(i)) == Ordering::Equal));
        }
        // Reused memory gives the same.
        let mut again = codec.encode(&columns, rows.len()).unwrap();
        let _ = again.hashes();
        let sliced: Vec<ArrayRef> = columns.iter().map(|c| c.slice(0, 1)).collect();
        codec.encode_into(&sliced, 1, &mut again).unwrap();
        prop_assert_eq!((again.len(), again.row(0), again.hash(0)), (1, encoded.row(0), encoded.hash(0)));
    }

    #[test]
    fn damaged_rows_are_errors(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>(), descending: bool) {
        let columns = every_type();
        let types: Vec<DataType> = columns.iter().map(|c| c.data_type().clone()).collect();
        let codec = RowCodec::ordered(&types, &vec![SortOptions { descending, nulls_first: true }; types.len()]).unwrap();
        let rows = codec.encode(&columns, 3).unwrap();
        for row in rows.iter() {
            let mut bytes = row.to_vec();
            prop_assert!(codec.decode([&bytes[..cut.index(bytes.len())]]).is_err());
            let at = at.index(bytes.len());
            bytes[at] = byte;
            // Another value, or an error of state; no panic.
            if let Err(e) = codec.decode([&bytes[..]]) {
                prop_assert_eq!(e.kind(), ErrorKind::State);
            }
        }
    }
}

#[test]
fn bytes_are_the_same_in_all_lengths() {
    for n in 0..40 {
        let bytes: Vec<u8> = (0..n).collect();
        assert!(same_bytes(&bytes, &bytes.clone()), "{n}");
        assert!(!same_bytes(&bytes, &[&bytes[..], &[0]].concat()), "{n}");
        for at in 0..usize::from(n) {
            let mut other = bytes.clone();
            other[at] ^= 0x80;
            assert!(!same_bytes(&bytes, &other), "{n}, {at}");
        }
    }
}

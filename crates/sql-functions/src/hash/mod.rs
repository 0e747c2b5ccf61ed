//! Checksums, in hexadecimal digits.

use crate::registry::{Category, FunctionRegistry};
use crate::support::{Call, Column, Definition, Parameter, data_error};
use arrow::array::{ArrayRef, BinaryArray, StringViewArray};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use flugs_sql_types::LogicalType;
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};

type Checksum = fn(&[u8], &mut String);

pub(crate) fn register(registry: &mut FunctionRegistry) {
    let functions: [(&str, &'static str, u32, Checksum); 6] = [
        ("MD5", "MD5(string)", 32, checksum::<Md5>),
        ("SHA1", "SHA1(string)", 40, checksum::<Sha1>),
        ("SHA224", "SHA224(string)", 56, checksum::<Sha224>),
        ("SHA256", "SHA256(string)", 64, checksum::<Sha256>),
        ("SHA384", "SHA384(string)", 96, checksum::<Sha384>),
        ("SHA512", "SHA512(string)", 128, checksum::<Sha512>),
    ];
    for (name, usage, digits, checksum) in functions {
        let text = "The checksum of a string or bytes in hexadecimal digits.";
        registry.define(
            Definition::new(Category::Hash, name, usage, text, move |call: &Call<'_>| {
                each(call, |_| Ok(Some(checksum)))
            })
            .takes(&[Parameter::StringOrBytes])
            .returns(LogicalType::Char(digits)),
        );
    }
    registry.define(
        Definition::new(
            Category::Hash,
            "SHA2",
            "SHA2(string, bits)",
            "The SHA-2 checksum of a string or bytes with 224, 256, 384 or 512 bits in hexadecimal digits.",
            |call| {
                let bits = call.ints(1);
                each(call, |row| bits.get(row).map(sha2_of).transpose())
            },
        )
        .takes(&[Parameter::StringOrBytes, Parameter::Int])
        .returns(LogicalType::VarChar(128)),
    );
}

fn sha2_of(bits: i32) -> Result<Checksum> {
    match bits {
        224 => Ok(checksum::<Sha224>),
        256 => Ok(checksum::<Sha256>),
        384 => Ok(checksum::<Sha384>),
        512 => Ok(checksum::<Sha512>),
        _ => Err(data_error(format!("SHA2 has 224, 256, 384 or 512 bits, not {bits}"))),
    }
}

fn checksum<D: Digest>(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in D::digest(bytes) {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

enum Source<'a> {
    Text(Column<'a, StringViewArray>),
    Bytes(Column<'a, BinaryArray>),
}

fn each(call: &Call<'_>, of_row: impl Fn(usize) -> Result<Option<Checksum>>) -> Result<ArrayRef> {
    let source = match call.type_of(0) {
        DataType::Binary => Source::Bytes(call.bytes(0)),
        _ => Source::Text(call.strings(0)),
    };
    let mut digits = String::new();
    call.texts(|row, out| {
        let bytes = match &source {
            Source::Text(texts) => texts.get(row).map(str::as_bytes),
            Source::Bytes(bytes) => bytes.get(row),
        };
        let (Some(bytes), Some(checksum)) = (bytes, of_row(row)?) else { return Ok(false) };
        digits.clear();
        checksum(bytes, &mut digits);
        out.push_str(&digits);
        Ok(true)
    })
}

#[cfg(test)]
mod tests {
    use crate::support::testing::{evaluate, text, texts_of};
    use datafusion_common::ScalarValue;

    #[test]
    fn checksums_are_flinks() {
        for (name, expected) in [
            ("MD5", "5d41402abc4b2a76b9719d911017c592"),
            ("SHA1", "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"),
            ("SHA224", "ea09ae9cc6768c50fcee903ed054556e5bfc8347907f12598aa24193"),
            ("SHA256", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"),
            (
                "SHA384",
                "59e1748777448c69de6b800d7a33bbfb9ff1b463e44354c3553bcdb9c666fa90125a3c79f90397bdf5f6a13de828684f",
            ),
        ] {
            assert_eq!(texts_of(name, &[text("hello")]), Some(expected.to_owned()), "{name}");
            let bytes = ScalarValue::Binary(Some(b"hello".to_vec()));
            assert_eq!(texts_of(name, &[bytes]), Some(expected.to_owned()), "{name} of bytes");
            assert_eq!(texts_of(name, &[ScalarValue::Null]), None, "{name}");
        }
        assert_eq!(texts_of("MD5", &[text("")]).as_deref(), Some("d41d8cd98f00b204e9800998ecf8427e"));
        let sha512 = texts_of("SHA512", &[text("hello")]).unwrap();
        assert_eq!((sha512.len(), &sha512[..16]), (128, "9b71d224bd62f378"));
        let of_bits = |bits| evaluate("SHA2", &[text("hello"), ScalarValue::Int32(bits)]);
        assert_eq!(of_bits(Some(224)).unwrap(), evaluate("SHA224", &[text("hello")]).unwrap());
        assert_eq!(of_bits(Some(512)).unwrap(), evaluate("SHA512", &[text("hello")]).unwrap());
        assert!(of_bits(None).unwrap().is_null());
        assert!(of_bits(Some(1)).unwrap_err().to_string().contains("not 1"));
    }
}

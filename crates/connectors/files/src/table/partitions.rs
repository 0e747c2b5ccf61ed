//! Partitions: columns whose values stand in the names of folders, `key=value`.

use arrow::array::ArrayRef;
use arrow::datatypes::FieldRef;
use flugs_formats::columns::parse_value;
use flugs_table::{Literal, Predicate, PredicateOp};
use flugs_types::{Error, Result};
use std::fmt::Write as _;

/// The partition columns of a table.
#[derive(Debug, Clone)]
pub(super) struct Partitions {
    keys: Vec<FieldRef>,
    /// The name of NULL.
    default_name: String,
}

impl Partitions {
    pub(super) fn new(keys: Vec<FieldRef>, default_name: String) -> Self {
        Partitions { keys, default_name }
    }

    pub(super) fn keys(&self) -> &[FieldRef] {
        &self.keys
    }

    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.keys.iter().position(|key| key.name() == name)
    }

    /// The values in a path, in the order of the keys; none inside for NULL. `None` where one is missing.
    fn values(&self, path: &str) -> Option<Vec<Option<String>>> {
        self.keys.iter().map(|key| self.value(path, key.name())).collect()
    }

    fn value(&self, path: &str, key: &str) -> Option<Option<String>> {
        let (folders, _) = path.rsplit_once('/')?;
        let value = folders.rsplit('/').find_map(|folder| {
            let (name, value) = folder.split_once('=')?;
            (unescape(name) == key).then(|| unescape(value))
        })?;
        Some(Some(value).filter(|value| *value != self.default_name))
    }

    /// The values in a path as columns of one row.
    pub(super) fn columns(&self, path: &str) -> Result<Vec<ArrayRef>> {
        let values = self.values(path).ok_or_else(|| {
            let keys: Vec<&str> = self.keys.iter().map(|key| key.name().as_str()).collect();
            Error::data(format!("{path} is in no folder of each of the partition keys {}", keys.join(", ")))
                .mend("files of a partitioned table stand in folders such as key=value")
        })?;
        self.keys
            .iter()
            .zip(values)
            .map(|(key, value)| parse_value(key, value.as_deref()).map_err(|e| e.at(path.to_owned())))
            .collect()
    }

    /// The folder of a partition, relative to the table's. `values` has one for each key, none for NULL.
    pub(super) fn folder(&self, values: &[Option<String>]) -> String {
        let mut folder = String::new();
        for (key, value) in self.keys.iter().zip(values) {
            if !folder.is_empty() {
                folder.push('/');
            }
            escape(&mut folder, key.name());
            folder.push('=');
            match value.as_deref() {
                None | Some("") => escape(&mut folder, &self.default_name),
                Some(value) => escape(&mut folder, value),
            }
        }
        folder
    }

    /// Whether rows of a file may pass, as far as its partition says.
    pub(super) fn may_pass(&self, path: &str, predicates: &[Predicate]) -> bool {
        predicates.iter().all(|predicate| {
            let [key] = &predicate.path.0[..] else { return true };
            if self.position(key).is_none() {
                return true;
            }
            match self.value(path, key) {
                // A file that is in no such folder is to be told, not to be passed over.
                None => true,
                Some(None) => false,
                Some(Some(value)) => {
                    predicate.literals.iter().any(|literal| passes(&value, predicate.op, literal))
                }
            }
        })
    }
}

/// Whether the value in a name passes; true where that cannot be told.
fn passes(value: &str, op: PredicateOp, literal: &Literal) -> bool {
    let order = match literal {
        Literal::Int(n) => value.parse::<i64>().ok().map(|value| value.cmp(n)),
        Literal::String(text) => Some(value.cmp(text)),
        Literal::Boolean(truth) => value.parse::<bool>().ok().map(|value| value.cmp(truth)),
        Literal::Double(_) | Literal::Timestamp(_) => None,
    };
    order.is_none_or(|order| match op {
        PredicateOp::Eq => order.is_eq(),
        PredicateOp::Lt => order.is_lt(),
        PredicateOp::LtEq => order.is_le(),
        PredicateOp::Gt => order.is_gt(),
        PredicateOp::GtEq => order.is_ge(),
    })
}

/// The letters that Flink and Hive escape in names of partitions.
fn is_special(letter: char) -> bool {
    letter.is_ascii_control() || "\"#%'*/:=?\\{[]}^".contains(letter)
}

fn escape(out: &mut String, name: &str) {
    for (i, letter) in name.chars().enumerate() {
        // A name of dots alone would lead out of the folder, and one that begins with a dot hides.
        if is_special(letter) || (i == 0 && letter == '.') {
            // A string takes everything.
            let _ = write!(out, "%{:02X}", letter as u32);
        } else {
            out.push(letter);
        }
    }
}

fn unescape(name: &str) -> String {
    let (mut out, mut rest) = (Vec::with_capacity(name.len()), name.as_bytes());
    while let Some((&byte, behind)) = rest.split_first() {
        let code = behind.get(..2).filter(|_| byte == b'%').and_then(|digits| {
            let digits =
                std::str::from_utf8(digits).ok().filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
            u8::from_str_radix(digits, 16).ok()
        });
        out.push(code.unwrap_or(byte));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{DataType, Field};
    use flugs_table::FieldPath;
    use std::sync::Arc;

    fn partitions() -> Partitions {
        let key = |name: &str, data_type| Arc::new(Field::new(name, data_type, true));
        Partitions::new(vec![key("dt", DataType::Utf8View), key("n", DataType::Int32)], "none".to_owned())
    }

    #[test]
    fn folders_are_named_as_in_flink_and_read_back() {
        let partitions = partitions();
        for (dt, n, want) in [
            (Some("2013-01-01"), Some("7"), "dt=2013-01-01/n=7"),
            (Some("a/b:c d"), None, "dt=a%2Fb%3Ac d/n=none"),
            (Some(".."), Some("\u{fc}%"), "dt=%2E./n=\u{fc}%25"),
            (Some(""), Some("1"), "dt=none/n=1"),
        ] {
            let values = [dt.map(str::to_owned), n.map(str::to_owned)];
            let folder = partitions.folder(&values);
            assert_eq!(folder, want);
            let read = partitions.values(&format!("/t/{folder}/part-1")).unwrap();
            assert_eq!(read, values.map(|value| value.filter(|value| !value.is_empty())));
        }
        assert_eq!(partitions.values("/t/dt=1/x"), None);
        assert!(partitions.columns("/t/dt=1/n=x/f").unwrap_err().to_string().contains("INT expected"));
    }

    #[test]
    fn conditions_leave_partitions_out() {
        let partitions = partitions();
        let on = |key: &str, op, literals: &[Literal]| {
            let path = FieldPath(vec![key.to_owned()]);
            let predicate = Predicate { path, op, literals: literals.to_vec() };
            partitions.may_pass("/t/dt=b/n=7/part-1", std::slice::from_ref(&predicate))
        };
        use PredicateOp::{Eq, Gt, LtEq};
        assert!(on("n", Eq, &[Literal::Int(6), Literal::Int(7)]) && !on("n", Eq, &[Literal::Int(6)]));
        assert!(on("n", LtEq, &[Literal::Int(7)]) && !on("n", Gt, &[Literal::Int(10)]));
        assert!(
            on("dt", Gt, &[Literal::String("a".into())]) && !on("dt", Eq, &[Literal::String("a".into())])
        );
        assert!(on("other", Eq, &[Literal::Int(1)]));
    }
}

//! Changelogs folded into the tables that they describe.

use super::table::rows_text;
use arrow::array::RecordBatch;
use flugs_batch::{Batch, ChangeBatch};
use flugs_types::RowKind;
use std::collections::BTreeMap;

/// Rows as text, without their kind, and how often each is there.
pub type Folded = BTreeMap<String, i64>;

/// Folds changes of all four kinds: a multiset of rows. `-U` and `-D` of a row that is not there, and a `-U` that stands at the end of a
/// batch or before anything but `+U`, are errors.
pub fn fold<'a>(batches: impl IntoIterator<Item = &'a ChangeBatch>) -> Result<Folded, String> {
    fold_rows(batches, true)
}

/// The same; `pairs` says whether a `-U` must stand right before a `+U`. Cut into single rows it does not.
pub(super) fn fold_rows<'a>(
    batches: impl IntoIterator<Item = &'a ChangeBatch>,
    pairs: bool,
) -> Result<Folded, String> {
    let mut rows = Folded::new();
    for batch in batches {
        for (i, line) in rows_text(batch).into_iter().enumerate() {
            let row = line[2..].trim_start_matches([' ', '|']).to_owned();
            if pairs
                && batch.kind(i) == RowKind::UpdateBefore
                && (i + 1 == batch.len() || batch.kind(i + 1) != RowKind::UpdateAfter)
            {
                return Err(format!("no +U stands behind {line}"));
            }
            let count = rows.entry(row.clone()).or_default();
            *count += if batch.kind(i).is_addition() { 1 } else { -1 };
            match *count {
                0 => drop(rows.remove(&row)),
                ..0 => return Err(format!("{line}: no such row is there; there are {rows:?}")),
                _ => {}
            }
        }
    }
    Ok(rows)
}

/// Folds changes by key (`+I`, `+U` and `-D`; a `-U` is an error): the last row of each key. A `-D` of a key that is not there, and a `+I`
/// of one that is, are errors.
pub fn fold_by_key<'a>(
    batches: impl IntoIterator<Item = &'a ChangeBatch>,
    keys: &[usize],
) -> Result<Folded, String> {
    let mut rows: BTreeMap<String, String> = BTreeMap::new();
    for batch in batches {
        let of_keys: RecordBatch = batch.rows().project(keys).map_err(|e| e.to_string())?;
        let keys = rows_text(&ChangeBatch::inserts(of_keys));
        for (i, (line, key)) in rows_text(batch).into_iter().zip(keys).enumerate() {
            let row = line[2..].trim_start_matches([' ', '|']).to_owned();
            let before = match batch.kind(i) {
                RowKind::UpdateBefore => return Err(format!("{line} in a changelog without -U")),
                RowKind::Delete => rows.remove(&key),
                RowKind::Insert | RowKind::UpdateAfter => rows.insert(key, row),
            };
            if before.is_some() != (batch.kind(i) != RowKind::Insert) {
                return Err(format!("{line}: the key had the row {before:?}"));
            }
        }
    }
    let mut folded = Folded::new();
    rows.into_values().for_each(|row| *folded.entry(row).or_default() += 1);
    Ok(folded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{changes, schema};

    #[test]
    fn changelogs_fold_into_tables_and_wrong_ones_are_found() {
        let schema = schema("k INT, v INT");
        let batch = |text: &str| changes(&schema, text);
        let good = [batch("+I | 1 | 1\n+I | 1 | 1"), batch("-U | 1 | 1\n+U | 1 | 2\n-D | 1 | 1\n+I | 2 | 0")];
        let expected = Folded::from([("1 | 2".into(), 1), ("2 | 0".into(), 1)]);
        assert_eq!(fold(&good), Ok(expected.clone()));
        assert!(fold(&[batch("-D | 1 | 1")]).is_err());
        assert!(fold(&[batch("+I | 1 | 1\n-U | 1 | 1")]).is_err());
        let upserts = [batch("+I | 1 | 1\n+U | 1 | 2\n+I | 3 | 0"), batch("-D | 3 | 7\n+I | 2 | 0")];
        assert_eq!(fold_by_key(&upserts, &[0]), Ok(expected));
        assert!(fold_by_key(&[batch("+U | 1 | 1")], &[0]).is_err());
        assert!(fold_by_key(&[batch("-U | 1 | 1\n+U | 1 | 1")], &[0]).is_err());
    }
}

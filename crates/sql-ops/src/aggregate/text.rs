//! Texts that are put together as they come: a change costs what it adds, whatever is there already.

use super::accumulate::Selection;
use super::layout::Slot;
use super::state::{States, Varying};
use super::varying::logged;
use arrow::array::{ArrayRef, AsArray, StringViewArray, StringViewBuilder};
use flugs_types::{Error, Result};
use std::borrow::Cow;
use std::sync::Arc;

fn separator(slot: &Slot) -> Result<&str> {
    slot.separator.as_deref().ok_or_else(|| Error::bug("texts are put together by a separator"))
}

/// Puts a text behind those that are there.
fn append(to: &mut Varying, separator: &str, text: &str) {
    match to {
        Varying::Text(all) => {
            all.push_str(separator);
            all.push_str(text);
        }
        to => *to = Varying::Text(text.to_owned()),
    }
}

/// The text of an accumulator; `None` of one over no texts. What an older job has stored is a log of texts.
fn text<'a>(slot: &Slot, from: &'a Varying) -> Result<Option<Cow<'a, str>>> {
    match from {
        Varying::Text(text) => Ok(Some(Cow::Borrowed(text))),
        Varying::Log(log) => {
            let codec =
                slot.codec.as_ref().ok_or_else(|| Error::bug("an accumulator of rows has a codec"))?;
            let columns = codec.decode(logged(log))?;
            let texts: &StringViewArray = columns[0].as_string_view();
            Ok(Some(Cow::Owned(texts.iter().flatten().collect::<Vec<_>>().join(separator(slot)?))))
        }
        _ => Ok(None),
    }
}

/// The accumulator as a text.
fn settle(slot: &Slot, to: &mut Varying) -> Result<()> {
    if let Varying::Log(_) = to {
        let all = text(slot, to)?.map(Cow::into_owned);
        *to = all.map_or(Varying::Empty, Varying::Text);
    }
    Ok(())
}

/// Lets one accumulator of each group take the selected rows.
pub(super) fn accumulate(
    slot: &Slot,
    columns: &[ArrayRef],
    selection: &Selection<'_>,
    states: &mut States,
) -> Result<()> {
    let texts = columns.get(slot.args[0]).and_then(|column| column.as_string_view_opt());
    let texts = texts.ok_or_else(|| Error::bug("texts that are put together are a column of texts"))?;
    let (separator, mut settled) = (separator(slot)?, Ok(()));
    selection.each(|row, group, _| {
        let to = states.varying_mut(group, slot.at);
        if let Err(e) = settle(slot, to) {
            settled = Err(e);
        }
        append(to, separator, texts.value(row));
    });
    settled
}

/// Puts one accumulator behind another.
pub(super) fn merge(slot: &Slot, added: Varying, to: &mut Varying) -> Result<()> {
    settle(slot, to)?;
    if let Some(added) = text(slot, &added)? {
        append(to, separator(slot)?, &added);
    }
    Ok(())
}

/// The texts of all groups.
pub(super) fn values(slot: &Slot, states: &States) -> Result<ArrayRef> {
    let mut all = StringViewBuilder::with_capacity(states.len());
    for group in 0..states.len() {
        all.append_option(text(slot, states.varying(group, slot.at))?);
    }
    Ok(Arc::new(all.finish()))
}

#[cfg(test)]
mod tests {
    use super::super::{AggState, AggregateCall, Aggregator, AggregatorOptions, States};
    use super::super::{state::Varying, varying::log};
    use crate::row::RowCodec;
    use crate::testing::{changes, schema};
    use arrow::array::{ArrayRef, AsArray, StringViewArray};
    use arrow::datatypes::DataType;
    use flugs_batch::Batch;
    use flugs_sql_types::AggregateKind;
    use std::sync::Arc;

    /// What jobs have stored that kept the texts one by one goes on.
    #[test]
    fn a_log_of_texts_becomes_a_text() {
        let columns = schema("s STRING");
        let kind = AggregateKind::Listagg { separator: "; ".to_owned() };
        let call = AggregateCall::new(kind, vec![0], "all", columns.fields()).unwrap();
        let aggregator = Aggregator::new(&[call], columns.fields(), AggregatorOptions::default()).unwrap();
        let codec = RowCodec::new(&[DataType::Utf8View]).unwrap();
        let mut stored = Varying::Empty;
        for text in ["a", "", "b"] {
            let column: ArrayRef = Arc::new(StringViewArray::from(vec![text]));
            log(&mut stored, codec.encode(&[column], 1).unwrap().row(0));
        }
        let mut states = aggregator.states();
        states.load(&mut AggState::of(&[], vec![stored.clone()]));
        let shown =
            |states: &States| aggregator.values(states).unwrap()[0].as_string_view().value(0).to_owned();
        assert_eq!(shown(&states), "a; ; b");
        let batch = changes(&columns, "+I | c\n+I | NULL\n+I | d");
        aggregator.update(&batch, &vec![0; batch.len()], &mut states).unwrap();
        assert_eq!(shown(&states), "a; ; b; c; d");
        let mut more = aggregator.states();
        more.load(&mut AggState::of(&[], vec![stored]));
        aggregator.merge(&mut more, &[0], &mut states).unwrap();
        assert_eq!(shown(&states), "a; ; b; c; d; a; ; b");
    }
}

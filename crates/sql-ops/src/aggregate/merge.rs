//! Accumulators of one group into those of another: the rows of the second come after those of the first.

use super::accumulate::{add_floats, best_wide, wide_of};
use super::layout::{Op, Slot};
use super::state::{States, Varying};
use super::{text, user, varying, wide};
use flugs_types::Result;

/// Adds one accumulator of group `from` of `source` to that of group `to` of `states`.
pub(super) fn merge(
    slot: &Slot,
    source: &mut States,
    from: usize,
    states: &mut States,
    to: usize,
) -> Result<()> {
    if slot.op.is_varying() {
        let added = std::mem::take(source.varying_mut(from, slot.at));
        return merge_varying(slot, added, states.varying_mut(to, slot.at));
    }
    let n = slot.op.words();
    let added = &source.words(from)[slot.at..][..n];
    let words = &mut states.words_mut(to)[slot.at..][..n];
    match slot.op {
        Op::Count | Op::SumInt => {
            words.iter_mut().zip(added).for_each(|(word, added)| *word = word.wrapping_add(*added));
        }
        Op::SumFloat { single } => {
            words[0] = add_floats(f64::from_bits(words[0]), f64::from_bits(added[0]), single).to_bits();
            words[1] = words[1].wrapping_add(added[1]);
        }
        Op::SumWide => {
            wide::add_words(&mut words[..3], [added[0], added[1], added[2]]);
            words[3] = words[3].wrapping_add(added[3]);
        }
        Op::Best { max } if added[1] != 0 && (words[1] == 0 || (added[0] > words[0]) == max) => {
            words.copy_from_slice(added);
        }
        Op::BestWide { max } if added[2] != 0 => best_wide(words, wide_of(added), max),
        Op::Moments => merge_moments(words, added),
        _ => {}
    }
    Ok(())
}

/// Chan's formula; it holds for a count below zero too, of rows that are taken back.
fn merge_moments(words: &mut [u64], added: &[u64]) {
    let (n, m) = (words[0] as i64, added[0] as i64);
    let all = n.wrapping_add(m);
    if m == 0 {
        return;
    }
    if n == 0 {
        return words.copy_from_slice(added);
    }
    if all == 0 {
        return words.fill(0);
    }
    let (mean, squares) = (f64::from_bits(words[1]), f64::from_bits(words[2]));
    let (mean_added, squares_added) = (f64::from_bits(added[1]), f64::from_bits(added[2]));
    let distance = mean_added - mean;
    let weight = m as f64 / all as f64;
    words[0] = all as u64;
    words[1] = (mean + distance * weight).to_bits();
    words[2] = (squares + squares_added + distance * distance * n as f64 * weight).to_bits();
}

fn merge_varying(slot: &Slot, added: Varying, to: &mut Varying) -> Result<()> {
    match (slot.op, added) {
        (_, Varying::Empty) => {}
        (_, added) if *to == Varying::Empty => *to = added,
        (Op::Text, added) => text::merge(slot, added, to)?,
        (Op::User, added) => user::merge(slot, &added, to)?,
        (Op::BestRow { max }, Varying::Row(row)) => varying::best(to, &row, max),
        (Op::First, _) => {}
        (Op::Last, added) => *to = added,
        (_, Varying::Log(added)) => {
            if let Varying::Log(log) = to {
                log.extend_from_slice(&added);
            }
        }
        (_, Varying::Counts(counts)) => {
            counts.iter().for_each(|(row, count)| varying::count(to, row, *count));
        }
        (_, Varying::Ordered { rows, .. }) => {
            for (place, row) in rows {
                let key = &place[..place.len().saturating_sub(size_of::<u64>())];
                varying::insert_ordered(to, key, &row);
            }
        }
        _ => {}
    }
    Ok(())
}

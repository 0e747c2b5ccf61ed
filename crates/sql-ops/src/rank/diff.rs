//! What a bundle has changed in a partition's ranks.

use crate::rank::outgoing::Outgoing;
use crate::rank::partition::{NEW, Ranked};
use crate::rank::spec::RankKind;
use crate::row::RowBytes;
use flugs_types::RowKind;
use std::collections::BTreeMap;

/// Which rows come out, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) kind: RankKind,
    pub(super) start: u64,
    pub(super) end: u64,
    /// Whether the rank is a column.
    pub(super) ranked: bool,
    /// Whether rows have a unique key.
    pub(super) by_key: bool,
    pub(super) update_before: bool,
}

/// A row at the start of the bundle, and where it is now.
struct Old<'a> {
    row: &'a Ranked,
    now: Option<usize>,
}

impl Rules {
    /// Whether an update is of whatever row has a rank, and not of a row whatever its rank is.
    fn is_of_ranks(&self) -> bool {
        self.kind == RankKind::RowNumber && (self.ranked || self.end == 1)
    }

    fn shows(&self, rank: u64) -> bool {
        (self.start..=self.end).contains(&rank)
    }

    /// Gives the changes from the rows at the start of the bundle (those of `front` with a former place, and `gone`) to `front`.
    pub(super) fn changes(&self, front: &[Ranked], gone: &[Ranked], out: &mut Outgoing) {
        let stayed = front.iter().enumerate().filter(|(_, row)| row.was != NEW);
        let mut old: Vec<Old<'_>> = stayed.map(|(now, row)| Old { row, now: Some(now) }).collect();
        old.extend(gone.iter().map(|row| Old { row, now: None }));
        if !gone.is_empty() || self.by_key {
            old.sort_unstable_by_key(|old| old.row.was);
        }
        match self.is_of_ranks() {
            true => self.changes_of_ranks(&old, front, out),
            false => self.changes_of_rows(old, front, out),
        }
    }

    fn changes_of_ranks(&self, old: &[Old<'_>], front: &[Ranked], out: &mut Outgoing) {
        let end = usize::try_from(self.end).unwrap_or(usize::MAX).min(old.len().max(front.len()));
        let start = usize::try_from(self.start - 1).unwrap_or(usize::MAX);
        for at in start..end {
            let rank = at as u64 + 1;
            match (old.get(at), front.get(at)) {
                (Some(old), Some(new)) => {
                    if old.now != Some(at) {
                        self.update((old.row.row.bytes(), rank), (new.row.bytes(), rank), out);
                    }
                }
                (Some(old), None) => out.push(RowKind::Delete, old.row.row.bytes(), rank),
                (None, Some(new)) => out.push(RowKind::Insert, new.row.bytes(), rank),
                (None, None) => return,
            }
        }
    }

    fn changes_of_rows(&self, mut old: Vec<Old<'_>>, front: &[Ranked], out: &mut Outgoing) {
        let old_ranks = self.ranks(old.iter().map(|old| &old.row.order));
        let new_ranks = self.ranks(front.iter().map(|row| &row.order));
        self.find_again(&mut old, front);
        let mut before: Vec<Option<usize>> = vec![None; front.len()];
        for (at, old) in old.iter().enumerate() {
            let shown_now = old.now.filter(|now| self.shows(new_ranks[*now]));
            match shown_now {
                Some(now) => before[now] = Some(at).filter(|_| self.shows(old_ranks[at])),
                None if self.shows(old_ranks[at]) => {
                    out.push(RowKind::Delete, old.row.row.bytes(), old_ranks[at]);
                }
                None => {}
            }
        }
        for (now, row) in front.iter().enumerate().filter(|(now, _)| self.shows(new_ranks[*now])) {
            let new = (row.row.bytes(), new_ranks[now]);
            match before[now] {
                Some(at) => self.update((old[at].row.row.bytes(), old_ranks[at]), new, out),
                None => out.push(RowKind::Insert, new.0, new.1),
            }
        }
    }

    fn update(&self, old: (&[u8], u64), new: (&[u8], u64), out: &mut Outgoing) {
        if old.0 == new.0 && (old.1 == new.1 || !self.ranked) {
            return;
        }
        if self.update_before {
            out.push(RowKind::UpdateBefore, old.0, old.1);
        }
        out.push(RowKind::UpdateAfter, new.0, new.1);
    }

    /// Rows that are gone and came again: those with the same unique key, or that are equal.
    fn find_again(&self, old: &mut [Old<'_>], front: &[Ranked]) {
        let is_new = |(_, row): &(usize, &Ranked)| row.was == NEW;
        if old.iter().all(|old| old.now.is_some()) || !front.iter().enumerate().any(|row| is_new(&row)) {
            return;
        }
        fn name(row: &Ranked, by_key: bool) -> &[u8] {
            if by_key { &row.key } else { row.row.bytes() }
        }
        let mut new: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
        for (now, row) in front.iter().enumerate().filter(is_new).rev() {
            new.entry(name(row, self.by_key)).or_default().push(now);
        }
        for old in old.iter_mut().filter(|old| old.now.is_none()) {
            old.now = new.get_mut(name(old.row, self.by_key)).and_then(Vec::pop);
        }
    }

    /// The ranks of rows with these orders, which stand in order.
    fn ranks<'a>(&self, orders: impl Iterator<Item = &'a RowBytes>) -> Vec<u64> {
        let mut ranks = Vec::with_capacity(orders.size_hint().0);
        let mut last: Option<&RowBytes> = None;
        for order in orders {
            let rank = match (self.kind, ranks.last()) {
                (RankKind::Rank | RankKind::DenseRank, Some(rank)) if last == Some(order) => *rank,
                (RankKind::DenseRank, Some(rank)) => rank + 1,
                _ => ranks.len() as u64 + 1,
            };
            ranks.push(rank);
            last = Some(order);
        }
        ranks
    }

    /// Takes all rows back that come out of `front`.
    pub(super) fn take_back(&self, front: &[Ranked], out: &mut Outgoing) {
        let ranks = self.ranks(front.iter().map(|row| &row.order));
        for (row, rank) in front.iter().zip(ranks).filter(|(_, rank)| self.shows(*rank)) {
            out.push(RowKind::Delete, row.row.bytes(), rank);
        }
    }
}

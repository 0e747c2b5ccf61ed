//! The rows of one partition in order: those with a rank that counts, and those behind them where they may move up.

use crate::rank::spec::RankKind;
use crate::row::{EncodedRows, RowBytes};
use flugs_batch::Data;
use flugs_batch::data::{DecodeError, Reader, Schema};
use flugs_types::Timestamp;
use std::collections::BTreeMap;

/// The place that a row did not have at the start of the bundle.
pub(super) const NEW: u32 = u32::MAX;

/// Up to which rank rows are kept in front.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub(super) kind: RankKind,
    pub(super) end: usize,
}

/// A row's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Payload {
    /// They are here.
    Stored(RowBytes),
    /// They are those of this one of the bundle's rows that are encoded at its end. No snapshot begins within a bundle, so none has
    /// such a row.
    Pending(u32),
}

impl Payload {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Payload::Stored(row) => row,
            Payload::Pending(_) => &[],
        }
    }
}

/// A row and its place.
#[derive(Debug, Clone)]
pub(super) struct Ranked {
    /// What it is ordered by ...
    pub(super) order: RowBytes,
    /// ... and then by: how many came before it.
    pub(super) seq: u64,
    /// Its unique key, where rows have one.
    pub(super) key: RowBytes,
    pub(super) row: Payload,
    /// Its place in front at the start of the bundle.
    pub(super) was: u32,
}

/// Rows behind those in front.
type Rest = BTreeMap<(RowBytes, u64), RowBytes>;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct Partition {
    /// In order.
    pub(super) front: Vec<Ranked>,
    rest: Rest,
    /// How many rows have come.
    next: u64,
    /// When it changed last; only kept where it can expire.
    pub(super) touched: Timestamp,
    /// The order of the last row in front, where no further rank counts.
    bound: Option<RowBytes>,
    /// The place in the bundle's list of partitions that have changed, and 1; 0 where it has not.
    pub(super) mark: u32,
}

impl Partition {
    pub(super) fn is_empty(&self) -> bool {
        self.front.is_empty() && self.rest.is_empty()
    }

    /// Whether a row that comes now with this order would have no rank that counts.
    #[inline(always)]
    pub(super) fn loses(&self, limit: Limit, order: &[u8]) -> bool {
        match &self.bound {
            // Behind its equals a row has a higher number, but the same rank.
            Some(bound) if limit.kind == RankKind::RowNumber => order >= bound.as_slice(),
            Some(bound) => order > bound.as_slice(),
            None => false,
        }
    }

    /// A bundle changes it, as the one with this place in its list.
    pub(super) fn begin(&mut self, place: usize) {
        self.mark = place as u32 + 1;
        for (was, ranked) in self.front.iter_mut().enumerate() {
            ranked.was = was as u32;
        }
    }

    /// Puts a row behind its equals; rows that have no rank any more are dropped.
    pub(super) fn insert(
        &mut self,
        limit: Limit,
        order: &[u8],
        key: RowBytes,
        row: Payload,
        gone: &mut Vec<Ranked>,
    ) {
        self.place(order, key, row);
        while self.front.last().is_some_and(|_| self.last_rank(limit.kind) > limit.end) {
            gone.extend(self.front.pop().filter(|ranked| ranked.was != NEW));
        }
        self.set_bound(limit);
    }

    /// Puts a row in the place of the one with its unique key, if that is in front: where their order is equal at its very place.
    pub(super) fn replace(
        &mut self,
        limit: Limit,
        order: &[u8],
        key: RowBytes,
        row: Payload,
        gone: &mut Vec<Ranked>,
    ) {
        if let Some(at) = self.front.iter().position(|ranked| ranked.key == key) {
            if self.front[at].order.as_slice() == order {
                let old = &mut self.front[at];
                let new = Ranked { order: old.order.clone(), seq: old.seq, key, row, was: NEW };
                gone.extend(Some(std::mem::replace(old, new)).filter(|ranked| ranked.was != NEW));
                return;
            }
            gone.extend(Some(self.front.remove(at)).filter(|ranked| ranked.was != NEW));
        }
        self.insert(limit, order, key, row, gone);
    }

    /// Puts a row behind its equals; rows that have no rank any more wait behind.
    pub(super) fn insert_kept(&mut self, limit: Limit, order: &[u8], row: RowBytes, gone: &mut Vec<Ranked>) {
        let behind = self.rest.first_key_value().is_some_and(|((first, _), _)| first.as_slice() <= order);
        if behind {
            self.rest.insert((RowBytes::new(order), self.next), row);
            self.next += 1;
            // Of equal rank with the last one in front.
            self.promote(limit);
            return;
        }
        self.place(order, RowBytes::default(), Payload::Stored(row));
        while self.front.last().is_some_and(|_| self.last_rank(limit.kind) > limit.end) {
            let Some(last) = self.front.pop() else { break };
            self.rest.insert((last.order.clone(), last.seq), RowBytes::new(last.row.bytes()));
            gone.extend(Some(last).filter(|ranked| ranked.was != NEW));
        }
    }

    /// Takes the first of the rows that are equal to this one away, if there is one; rows from behind move up.
    pub(super) fn remove(&mut self, limit: Limit, order: &[u8], row: &[u8], gone: &mut Vec<Ranked>) {
        let from = self.front.partition_point(|ranked| ranked.order.as_slice() < order);
        let equals = self.front[from..].iter().take_while(|ranked| ranked.order.as_slice() == order);
        if let Some(at) = equals.into_iter().position(|ranked| ranked.row.bytes() == row) {
            gone.extend(Some(self.front.remove(from + at)).filter(|ranked| ranked.was != NEW));
            self.promote(limit);
            return;
        }
        let order = RowBytes::new(order);
        let equals = self.rest.range((order.clone(), 0)..=(order, u64::MAX));
        let found = equals.into_iter().find(|(_, stored)| stored.as_slice() == row);
        if let Some(place) = found.map(|(place, _)| place.clone()) {
            self.rest.remove(&place);
        }
    }

    /// Stores the bytes of rows that are pending.
    pub(super) fn store_pending(&mut self, rows: &EncodedRows) {
        for ranked in &mut self.front {
            if let Payload::Pending(row) = ranked.row {
                ranked.row = Payload::Stored(rows.to_key(row as usize));
            }
        }
    }

    /// Lets go of all rows; those that were in front at the start of the bundle are gone.
    pub(super) fn clear(&mut self, gone: &mut Vec<Ranked>) {
        gone.extend(self.front.drain(..).filter(|ranked| ranked.was != NEW));
        self.rest.clear();
        self.bound = None;
    }

    fn place(&mut self, order: &[u8], key: RowBytes, row: Payload) {
        let at = self.front.partition_point(|ranked| ranked.order.as_slice() <= order);
        let seq = self.next;
        self.next += 1;
        if self.front.capacity() == 0 {
            // Many partitions have one row.
            self.front.reserve_exact(1);
        }
        self.front.insert(at, Ranked { order: RowBytes::new(order), seq, key, row, was: NEW });
    }

    fn promote(&mut self, limit: Limit) {
        while let Some(first) = self.rest.first_entry() {
            let rank = match (self.front.last(), limit.kind) {
                (Some(last), RankKind::Rank) if last.order == first.key().0 => {
                    last_rank(&self.front, limit.kind)
                }
                (Some(last), RankKind::DenseRank) => {
                    last_rank(&self.front, limit.kind) + usize::from(last.order != first.key().0)
                }
                _ => self.front.len() + 1,
            };
            if rank > limit.end {
                return;
            }
            let ((order, seq), row) = first.remove_entry();
            let (key, row) = (RowBytes::default(), Payload::Stored(row));
            self.front.push(Ranked { order, seq, key, row, was: NEW });
        }
    }

    fn last_rank(&self, kind: RankKind) -> usize {
        last_rank(&self.front, kind)
    }

    /// Notes which rows will lose. After a restore it is not known.
    pub(super) fn set_bound(&mut self, limit: Limit) {
        let full = match limit.kind {
            RankKind::RowNumber | RankKind::Rank => self.front.len() >= limit.end,
            RankKind::DenseRank => self.last_rank(limit.kind) >= limit.end,
        };
        let bound = if full { self.front.last().map(|last| &last.order) } else { None };
        if self.bound.as_ref() != bound {
            self.bound = bound.cloned();
        }
    }
}

/// The rank of the last of these rows; 0 where there is none.
fn last_rank(front: &[Ranked], kind: RankKind) -> usize {
    let Some(last) = front.last() else { return 0 };
    match kind {
        RankKind::RowNumber => front.len(),
        RankKind::Rank => front.partition_point(|ranked| ranked.order < last.order) + 1,
        RankKind::DenseRank => front.windows(2).filter(|pair| pair[0].order != pair[1].order).count() + 1,
    }
}

/// What a restored partition needs not is not written: places in a bundle, and the bound, which is found again.
type Written = (Vec<(RowBytes, u64, RowBytes, RowBytes)>, Vec<(RowBytes, u64, RowBytes)>, u64, Timestamp);

impl Data for Partition {
    const BYTES_MIN: usize = 4 + 4 + 8 + 8;

    fn schema() -> Schema {
        Written::schema()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        length(self.front.len()).encode(out);
        for ranked in &self.front {
            ranked.order.encode(out);
            ranked.seq.encode(out);
            ranked.key.encode(out);
            match &ranked.row {
                Payload::Stored(row) => row.encode(out),
                Payload::Pending(_) => RowBytes::default().encode(out),
            }
        }
        length(self.rest.len()).encode(out);
        for ((order, seq), row) in &self.rest {
            order.encode(out);
            seq.encode(out);
            row.encode(out);
        }
        self.next.encode(out);
        self.touched.encode(out);
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (front, rest, next, touched) = Written::decode(input)?;
        let front: Vec<Ranked> = front
            .into_iter()
            .map(|(order, seq, key, row)| Ranked { order, seq, key, row: Payload::Stored(row), was: NEW })
            .collect();
        if !front.is_sorted_by(|a, b| (&a.order, a.seq) < (&b.order, b.seq)) {
            return Err(DecodeError::new("the rows of a partition are not in order"));
        }
        let rest = rest.into_iter().map(|(order, seq, row)| ((order, seq), row)).collect();
        Ok(Partition { front, rest, next, touched, bound: None, mark: 0 })
    }

    fn heap_bytes(&self) -> usize {
        let of_front =
            |ranked: &Ranked| ranked.order.heap_bytes() + ranked.key.heap_bytes() + ranked.row.bytes().len();
        let of_rest = |((order, _), row): (&(RowBytes, u64), &RowBytes)| {
            size_of::<((RowBytes, u64), RowBytes)>() + order.heap_bytes() + row.heap_bytes()
        };
        self.front.capacity() * size_of::<Ranked>()
            + self.front.iter().map(of_front).sum::<usize>()
            + self.rest.iter().map(of_rest).sum::<usize>()
    }
}

fn length(n: usize) -> u32 {
    u32::try_from(n).expect("a partition has fewer than 2^32 rows")
}

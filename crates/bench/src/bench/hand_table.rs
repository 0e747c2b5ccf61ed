//! The table of the hand-written loops: as fast as the machine is known to allow, and nothing else.

use flugs_types::prefetch;

/// Keys that are fetched together before the first is read.
const GROUP: usize = 64;
const SLOTS_MIN: usize = 1 << 12;
/// Tables up to this size lie in the processor's caches: fetching ahead would only cost.
const PLAIN_BYTES_MAX: usize = 256 << 10;

/// Open addressing with linear probing over (key, number) slots of 16 bytes, at most 5/8 full. Key 0 marks a
/// free slot, so callers shift keys by one.
pub(crate) struct HandTable {
    slots: Vec<(u64, u64)>,
    len: usize,
}

impl Default for HandTable {
    fn default() -> Self {
        HandTable { slots: vec![(0, 0); SLOTS_MIN], len: 0 }
    }
}

/// One folded 64x64 to 128 bit product.
#[inline(always)]
pub(crate) fn fold(x: u64) -> u64 {
    let product = u128::from(x ^ 0x9e37_79b9_7f4a_7c15) * u128::from(0xa076_1d64_78bd_642f_u64);
    (product >> 64) as u64 ^ product as u64
}

impl HandTable {
    #[inline(always)]
    fn home(&self, key: u64) -> usize {
        (fold(key) >> 8) as usize & (self.slots.len() - 1)
    }

    /// The place of the key, or the free one where it belongs: below the number of slots.
    #[inline(always)]
    fn find(&self, mut at: usize, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        loop {
            // SAFETY: there is a slot at least, and a power of two of them, so what is masked is below their number.
            let held = unsafe { self.slots.get_unchecked(at & mask) }.0;
            if held == key || held == 0 {
                return at & mask;
            }
            at += 1;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let double = vec![(0, 0); self.slots.len() * 2];
        for slot in std::mem::replace(&mut self.slots, double) {
            if slot.0 != 0 {
                let at = self.find(self.home(slot.0), slot.0);
                self.slots[at] = slot;
            }
        }
    }

    /// Calls `f` with the number of each row's key, in order; a new key's is 0.
    #[inline(always)]
    pub(crate) fn each(
        &mut self,
        rows: usize,
        key: impl Fn(usize) -> u64,
        mut f: impl FnMut(usize, &mut u64),
    ) {
        for start in (0..rows).step_by(GROUP) {
            let n = GROUP.min(rows - start);
            while (self.len + n) * 8 > self.slots.len() * 5 {
                self.grow();
            }
            if self.slots.len() * size_of::<(u64, u64)>() <= PLAIN_BYTES_MAX {
                for row in start..start + n {
                    let key = key(row);
                    f(row, self.number(self.home(key), key));
                }
                continue;
            }
            let mut homes = [(0, 0); GROUP];
            for (i, home) in homes[..n].iter_mut().enumerate() {
                let key = key(start + i);
                *home = (self.home(key), key);
                prefetch(&self.slots[home.0]);
            }
            for (i, &(home, key)) in homes[..n].iter().enumerate() {
                f(start + i, self.number(home, key));
            }
        }
    }

    #[inline(always)]
    fn number(&mut self, home: usize, key: u64) -> &mut u64 {
        let at = self.find(home, key);
        // SAFETY: `find` gives places below the number of slots.
        let slot = unsafe { self.slots.get_unchecked_mut(at) };
        if slot.0 == 0 {
            slot.0 = key;
            self.len += 1;
        }
        &mut slot.1
    }

    /// Keys and numbers in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.slots.iter().copied().filter(|slot| slot.0 != 0)
    }

    /// Forgets all keys and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.slots.fill((0, 0));
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::mix;
    use std::collections::HashMap;

    #[test]
    fn sums_as_a_map_does() {
        // Grows beyond the size up to which rows are looked up one by one.
        let keys: Vec<u64> = (0..60_000).map(|i| mix(i) % 20_000 + 1).collect();
        let (mut table, mut map) = (HandTable::default(), HashMap::new());
        table.each(keys.len(), |i| keys[i], |i, n| *n += i as u64);
        keys.iter().enumerate().for_each(|(i, key)| *map.entry(*key).or_insert(0) += i as u64);
        assert_eq!(table.iter().collect::<HashMap<_, _>>(), map);
        table.clear();
        assert_eq!(table.iter().count(), 0);
    }
}

//! The state of one key, for as long as a function works on that key.

use crate::cell::StateCell;
use crate::store::KeyedStore;
use crate::ttl::StateTime;
use flugs_batch::Key;
use flugs_types::{Timestamp, hash_key};
use std::any::Any;

/// The state of one key at one instant. Handles ([`ValueState`](crate::ValueState) and the others) read and write through it.
pub struct KeyedAccess<'a, K> {
    store: &'a mut KeyedStore<K>,
    key: &'a K,
    hash: u64,
    time: StateTime,
}

impl<'a, K: Key> KeyedAccess<'a, K> {
    /// The state of `key` under this watermark and this time of the machine.
    pub fn new(
        store: &'a mut KeyedStore<K>,
        key: &'a K,
        watermark: Timestamp,
        processing_time: Timestamp,
    ) -> Self {
        Self::with_hash(store, key, hash_key(key), StateTime { watermark, processing_time })
    }

    /// Likewise, where the key's hash (`hash_key(key)`) is known.
    #[inline]
    pub fn with_hash(store: &'a mut KeyedStore<K>, key: &'a K, hash: u64, time: StateTime) -> Self {
        debug_assert_eq!(hash, hash_key(key));
        KeyedAccess { store, key, hash, time }
    }

    /// The key.
    pub fn key(&self) -> &'a K {
        self.key
    }

    /// The key's hash.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The clocks by which state lives.
    pub fn time(&self) -> StateTime {
        self.time
    }

    /// The cell behind a handle, the key's hash, the key and the clocks.
    #[inline]
    pub(crate) fn cell<C: StateCell<K>>(&mut self, index: u32) -> (&mut C, u64, &'a K, StateTime) {
        let cell = self.store.cell_mut(index) as &mut dyn Any;
        let cell = cell.downcast_mut().expect("a state handle is used with the store that made it");
        (cell, self.hash, self.key, self.time)
    }
}

//! A store in memory.

use crate::BlobStore;
use bytes::Bytes;
use flugs_types::Result;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A [`BlobStore`] in memory, for embedded jobs and tests. Clones share the content.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore(Arc<Mutex<BTreeMap<String, Bytes>>>);

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    // Each call leaves the map whole, so that what a panicking thread left behind can be used.
    fn blobs(&self) -> MutexGuard<'_, BTreeMap<String, Bytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BlobStore for MemoryStore {
    fn put(&self, path: &str, bytes: Bytes) -> Result<()> {
        self.blobs().insert(path.to_owned(), bytes);
        Ok(())
    }

    fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool> {
        let mut blobs = self.blobs();
        if blobs.contains_key(path) {
            return Ok(false);
        }
        blobs.insert(path.to_owned(), bytes);
        Ok(true)
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        Ok(self.blobs().get(path).cloned())
    }

    fn list(&self, prefix: &str) -> Result<Vec<String>> {
        let folder = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let blobs = self.blobs();
        Ok(blobs
            .range(folder.clone()..)
            .map(|(p, _)| p)
            .take_while(|p| p.starts_with(&folder))
            .cloned()
            .collect())
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.blobs().remove(path);
        Ok(())
    }

    fn describe(&self) -> String {
        "memory://".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_does_what_the_trait_says() {
        let store = MemoryStore::new();
        let one = Bytes::from_static(b"1");
        assert!(store.put_if_absent("a/b", one.clone()).unwrap());
        assert!(!store.put_if_absent("a/b", Bytes::new()).unwrap());
        assert_eq!(store.get("a/b").unwrap(), Some(one));
        store.put("a/b", Bytes::new()).unwrap();
        for path in ["a/c/d", "ab/c", "a.b", "a"] {
            store.put(path, Bytes::new()).unwrap();
        }
        assert_eq!(store.list("a").unwrap(), ["a/b", "a/c/d"], "below the folder, and sorted");
        assert_eq!(store.list("").unwrap().len(), 5);
        assert!(store.list("nowhere").unwrap().is_empty());
        let clone = store.clone();
        clone.delete("a/b").unwrap();
        clone.delete("a/b").unwrap();
        assert_eq!(store.get("a/b").unwrap(), None);
    }
}

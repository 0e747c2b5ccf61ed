//! What the place of checkpoints must be able to do.

use bytes::Bytes;
use flugs_types::Result;
use std::sync::Arc;

/// A store of immutable blobs under `/`-separated relative paths. Calls may block: they are made on
/// background threads only. Implementations stand at the rim (object stores, memory, the simulator).
pub trait BlobStore: Send + Sync + 'static {
    /// Writes a blob, replacing what was there.
    fn put(&self, path: &str, bytes: Bytes) -> Result<()>;

    /// Writes a blob only if there is none under this path; says whether it did. Atomic: of two calls for one path,
    /// by whatever process, one at most is told `true`, and no reader ever sees half a blob.
    fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool>;

    /// Begins a blob that comes in parts, replacing what was there. It is not there before the upload is finished, and
    /// never where it is dropped before.
    ///
    /// The default keeps the parts in memory.
    fn upload(self: Arc<Self>, path: &str) -> Result<Box<dyn BlobUpload>> {
        Ok(Box::new(Gathered { store: self, path: path.to_owned(), bytes: Vec::new() }))
    }

    /// Reads a blob; `None` where there is none.
    fn get(&self, path: &str) -> Result<Option<Bytes>>;

    /// The paths below a folder (`prefix` without a trailing `/`), at any depth, sorted; none where the folder is absent.
    fn list(&self, prefix: &str) -> Result<Vec<String>>;

    /// Removes a blob; it is no error where there is none.
    fn delete(&self, path: &str) -> Result<()>;

    /// Where this is, for messages (`file:///var/checkpoints`).
    fn describe(&self) -> String;
}

/// A blob that comes in parts.
pub trait BlobUpload: Send {
    /// Appends a part. Parts of some MiB are best. The bytes are not kept.
    fn write(&mut self, part: Bytes) -> Result<()>;

    /// Makes the blob be there.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Parts that become one [`put`](BlobStore::put).
struct Gathered<S: ?Sized> {
    store: Arc<S>,
    path: String,
    bytes: Vec<u8>,
}

impl<S: BlobStore + ?Sized> BlobUpload for Gathered<S> {
    fn write(&mut self, part: Bytes) -> Result<()> {
        self.bytes.extend_from_slice(&part);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.store.put(&self.path, Bytes::from(self.bytes))
    }
}

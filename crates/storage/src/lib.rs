//! Checkpoint stores over the `object_store` crate: local folders now, and any object store it knows.
//!
//! The only crate that knows `object_store`. Calls block and are made on background threads. A store that needs an async
//! runtime for its I/O (the clouds) brings its own; local files and memory need none.
//!
//! What a process that is killed while it uploads leaves is no blob and is not removed: in a folder a file whose name ends in
//! `#` and a number, to be deleted while no job runs; in a cloud's store parts of an upload, which a rule of the bucket
//! for incomplete uploads removes.

use bytes::Bytes;
use flugs_checkpoint::{BlobStore, BlobUpload};
use flugs_types::{Error, ErrorKind, Result};
use futures::TryStreamExt;
use futures::executor::block_on;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutOptions};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Blobs in an object store.
pub struct ObjectBlobs {
    store: Arc<dyn ObjectStore>,
    /// Where blobs are files: they are synced to the disk, which `object_store` leaves out.
    folder: Option<PathBuf>,
    place: String,
}

impl ObjectBlobs {
    /// Blobs as files below a folder, which is made where it is absent. Every blob is on the disk when its call returns.
    pub fn folder(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let unusable = |e: io::Error| {
            Error::environment("the checkpoint folder cannot be used")
                .at(path.display().to_string())
                .mend("make it a folder that this process may read and write")
                .caused_by(e)
        };
        std::fs::create_dir_all(&path).map_err(unusable)?;
        let folder = path.canonicalize().map_err(unusable)?;
        let store = LocalFileSystem::new_with_prefix(&folder).map_err(|e| unusable(io::Error::other(e)))?;
        let place = format!("file://{}", folder.display());
        Ok(ObjectBlobs { store: Arc::new(store), folder: Some(folder), place })
    }

    /// Blobs in any store; `place` names it in messages.
    pub fn new(store: Arc<dyn ObjectStore>, place: impl Into<String>) -> Self {
        ObjectBlobs { store, folder: None, place: place.into() }
    }

    fn error(&self, what: &str, path: &str, error: object_store::Error) -> Error {
        let at = format!("{path} in {}", self.place);
        let message = format!("a blob could not be {what}");
        if matches!(error, object_store::Error::InvalidPath { .. }) {
            return Error::environment(message)
                .at(at)
                .caused_by(error)
                .mend("a file lies there that has no name of a blob: move it away");
        }
        match io_kind(&error) {
            Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
                Error::environment(message).mend("the disk of the checkpoint store is full: make room there")
            }
            Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {
                Error::environment(message).mend("let this process read and write there")
            }
            Some(io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory | io::ErrorKind::AlreadyExists) => {
                Error::environment(message).mend(
                    "a file stands where a folder is to be, or the other way round: move away what is not a checkpoint's",
                )
            }
            _ => Error::new(ErrorKind::Transient, message)
                .mend("see that the checkpoint store can be reached and is whole"),
        }
        .at(at)
        .caused_by(error)
    }

    fn sync(&self, path: &str) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let file = folder.join(path);
        let synced = File::open(&file).and_then(|f| f.sync_all()).and_then(|()| match file.parent() {
            Some(parent) => File::open(parent)?.sync_all(),
            None => Ok(()),
        });
        synced.map_err(|e| {
            Error::environment("a blob could not be brought to the disk")
                .at(file.display().to_string())
                .mend("see that the disk of the checkpoint store is whole and has room")
                .caused_by(e)
        })
    }

    fn write(&self, path: &str, bytes: Bytes, mode: PutMode) -> Result<bool> {
        let options = PutOptions { mode, ..PutOptions::default() };
        match block_on(self.store.put_opts(&Path::from(path), bytes.into(), options)) {
            Ok(_) => self.sync(path).map(|()| true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(e) => Err(self.error("written", path, e)),
        }
    }
}

/// The kind of the input/output error at the bottom of an error.
fn io_kind(error: &object_store::Error) -> Option<io::ErrorKind> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(e) = cause {
        if let Some(io) = e.downcast_ref::<io::Error>() {
            return Some(io.kind());
        }
        cause = e.source();
    }
    None
}

/// A blob that goes to the store part by part.
struct Upload {
    blobs: Arc<ObjectBlobs>,
    path: String,
    parts: Box<dyn MultipartUpload>,
}

impl BlobUpload for Upload {
    fn write(&mut self, part: Bytes) -> Result<()> {
        block_on(self.parts.put_part(part.into())).map_err(|e| self.blobs.error("written", &self.path, e))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        block_on(self.parts.complete()).map_err(|e| self.blobs.error("written", &self.path, e))?;
        self.blobs.sync(&self.path)
    }
}

impl BlobStore for ObjectBlobs {
    fn put(&self, path: &str, bytes: Bytes) -> Result<()> {
        self.write(path, bytes, PutMode::Overwrite).map(|_| ())
    }

    fn put_if_absent(&self, path: &str, bytes: Bytes) -> Result<bool> {
        self.write(path, bytes, PutMode::Create)
    }

    fn upload(self: Arc<Self>, path: &str) -> Result<Box<dyn BlobUpload>> {
        let begun = block_on(self.store.put_multipart(&Path::from(path)));
        let parts = begun.map_err(|e| self.error("written", path, e))?;
        Ok(Box::new(Upload { blobs: self, path: path.to_owned(), parts }))
    }

    fn get(&self, path: &str) -> Result<Option<Bytes>> {
        let read = block_on(async { self.store.get(&Path::from(path)).await?.bytes().await });
        match read {
            Ok(bytes) => Ok(Some(bytes)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(e) => Err(self.error("read", path, e)),
        }
    }

    fn list(&self, prefix: &str) -> Result<Vec<String>> {
        let objects = block_on(self.store.list(Some(&Path::from(prefix))).try_collect::<Vec<_>>());
        let mut paths = match objects {
            Ok(objects) => objects.into_iter().map(|o| o.location.to_string()).collect::<Vec<_>>(),
            Err(object_store::Error::NotFound { .. }) => Vec::new(),
            Err(e) => return Err(self.error("listed", prefix, e)),
        };
        paths.sort_unstable();
        Ok(paths)
    }

    fn delete(&self, path: &str) -> Result<()> {
        match block_on(self.store.delete(&Path::from(path))) {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
            Err(e) => return Err(self.error("deleted", path, e)),
        }
        if let Some(folder) = &self.folder
            && let Some(parent) = folder.join(path).parent()
        {
            // A folder that is now empty goes too; one that is not stays.
            let _ = std::fs::remove_dir(parent);
        }
        Ok(())
    }

    fn describe(&self) -> String {
        self.place.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;

    fn contract<S: BlobStore>(store: S) {
        let store = Arc::new(store);
        let mut upload = store.clone().upload("u/v").unwrap();
        upload.write(Bytes::from("12")).unwrap();
        upload.write(Bytes::from("3")).unwrap();
        assert_eq!(store.get("u/v").unwrap(), None);
        drop(upload);
        assert_eq!(store.list("u").unwrap(), Vec::<String>::new(), "one that is dropped leaves nothing");
        let mut upload = store.clone().upload("u/v").unwrap();
        upload.write(Bytes::from("12")).unwrap();
        upload.write(Bytes::from("3")).unwrap();
        upload.finish().unwrap();
        assert_eq!(store.get("u/v").unwrap(), Some(Bytes::from("123")));

        assert_eq!(store.get("a/b").unwrap(), None);
        assert_eq!(store.list("a").unwrap(), Vec::<String>::new());
        assert!(store.put_if_absent("a/b", Bytes::from("1")).unwrap());
        assert!(!store.put_if_absent("a/b", Bytes::from("2")).unwrap());
        assert_eq!(store.get("a/b").unwrap(), Some(Bytes::from("1")));
        store.put("a/b", Bytes::from("3")).unwrap();
        store.put("a/c/d", Bytes::from("4")).unwrap();
        store.put("ab/e", Bytes::from("5")).unwrap();
        assert_eq!(store.get("a/b").unwrap(), Some(Bytes::from("3")));
        assert_eq!(store.list("a").unwrap(), ["a/b", "a/c/d"]);
        store.delete("a/b").unwrap();
        store.delete("a/b").unwrap();
        assert_eq!(store.list("a").unwrap(), ["a/c/d"]);
    }

    #[test]
    fn a_folder_and_memory_keep_the_contract() {
        let folder = tempfile::tempdir().unwrap();
        contract(ObjectBlobs::folder(folder.path().join("new/one")).unwrap());
        contract(ObjectBlobs::new(Arc::new(InMemory::new()), "memory"));
        contract(flugs_checkpoint::MemoryStore::default());
    }

    #[test]
    fn of_many_that_create_one_blob_one_wins() {
        let folder = tempfile::tempdir().unwrap();
        let store = ObjectBlobs::folder(folder.path()).unwrap();
        let won: usize = std::thread::scope(|s| {
            let racers: Vec<_> = (0..8)
                .map(|i| {
                    s.spawn({
                        let store = &store;
                        move || store.put_if_absent("x", Bytes::from(vec![i; 9999])).unwrap()
                    })
                })
                .collect();
            racers.into_iter().map(|r| usize::from(r.join().unwrap())).sum()
        });
        assert_eq!(won, 1);
    }

    #[test]
    fn a_folder_that_is_a_file_is_a_clear_error() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        let error = ObjectBlobs::folder(folder.path().join("file")).err().unwrap().to_string();
        assert!(error.contains("checkpoint folder") && error.contains("make it a folder"), "{error}");
    }
}

//! The checkpoint protocol, manifests, retention and redistribution of state.

mod store;
pub use store::BlobStore;

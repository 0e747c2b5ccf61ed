//! Uids for nodes to which the user gave none.

//! The derive macro of flugs_batch::Data.

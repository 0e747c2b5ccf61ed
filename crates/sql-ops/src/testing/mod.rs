//! For tests of operators and plans: batches as small text tables, operators driven by hand and replayed in every way that must
//! not change what they give, changelogs folded into tables.
//!
//! What is here panics where a test is written wrongly.

mod driver;
mod fold;
mod replay;
mod table;

pub use driver::{Driver, DriverOptions, Snapshot};
pub use fold::{Folded, fold, fold_by_key};
pub use replay::{Compare, Step, TestBatch, replay};
pub use table::{changes, rows_text, schema, text};

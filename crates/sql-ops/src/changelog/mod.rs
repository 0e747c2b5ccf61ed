//! Changelogs from one mode to another: normalization by key, retractions made and left out.
//!
//! [`ChangelogNormalize`] makes changes of all kinds out of changes by key; [`DropUpdateBefore`] leaves `-U` out;
//! [`SinkMaterialize`] makes changes by a sink's key out of changes by another; [`Settle`] makes inserts of what stays when its time is
//! over; [`InputChecker`] finds changelogs that make no sense.

mod checker;
mod drop_before;
mod keyed_rows;
mod materialize;
mod normalize;
mod settle;

pub use checker::{InputChecker, InputCheckerSpec};
pub use drop_before::DropUpdateBefore;
pub use materialize::{SinkMaterialize, SinkMaterializeSpec};
pub use normalize::{ChangelogNormalize, ChangelogNormalizeSpec};
pub use settle::{Settle, SettleSpec};

#[cfg(test)]
mod tests;

//! Changelogs from one mode to another: normalization by key, retractions made and left out.
//!
//! [`ChangelogNormalize`] makes changes of all kinds out of changes by key; [`DropUpdateBefore`] leaves `-U` out;
//! [`SinkMaterialize`] makes changes by a sink's key out of changes by another; [`InputChecker`] finds changelogs that make no sense.

mod checker;
mod drop_before;
mod keyed_rows;
mod materialize;
mod normalize;

pub use checker::{InputChecker, InputCheckerSpec};
pub use drop_before::DropUpdateBefore;
pub use materialize::{SinkMaterialize, SinkMaterializeSpec};
pub use normalize::{ChangelogNormalize, ChangelogNormalizeSpec};

#[cfg(test)]
mod tests;

//! Handles: small tokens by which functions name their keyed states.
//!
//! A handle is minted by [`KeyedStore`](crate::KeyedStore) when the operator opens and holds nothing but a number. The state it
//! names is that of the key of the [`KeyedAccess`](crate::KeyedAccess) it is used with.

mod fold;
mod list;
mod map;
mod value;

pub(crate) use fold::{Aggregate, AggregateCell, ReduceCell};
pub use fold::{AggregatingState, ReducingState};
pub(crate) use list::ListCell;
pub use list::ListState;
pub(crate) use map::MapCell;
pub use map::MapState;
pub(crate) use value::ValueCell;
pub use value::ValueState;

/// What all handles are.
pub trait Handle: Copy {
    /// The number of the state in its store.
    fn index(&self) -> u32;
}

/// A handle type: a number that is `Copy` whatever its parameters are.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident<$($param:ident),+>) => {
        $(#[$doc])*
        pub struct $name<$($param),+> {
            index: u32,
            types: std::marker::PhantomData<fn() -> ($($param,)+)>,
        }

        impl<$($param),+> $name<$($param),+> {
            pub(crate) fn new(index: u32) -> Self {
                $name { index, types: std::marker::PhantomData }
            }
        }

        impl<$($param),+> Clone for $name<$($param),+> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($param),+> Copy for $name<$($param),+> {}

        impl<$($param),+> crate::handles::Handle for $name<$($param),+> {
            fn index(&self) -> u32 {
                self.index
            }
        }
    };
}
use handle;

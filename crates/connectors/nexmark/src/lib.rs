//! The Nexmark event generator as a source: persons, auctions and bids of an online auction.
//!
//! Every event is a function of a seed and its number alone, so neither parallelism nor restarts change the
//! data. The rules are those of the published Beam/Nexmark generator; random numbers, their order and so every
//! bit of every field are those of the generator that the reference figures for Flink were measured with.
//!
//! A job that needs few columns makes only those: see [`NexmarkSource::bids`].

mod event;
mod generator;
mod options;
mod pools;
mod price;
mod random;
mod raw;
mod source;
#[cfg(feature = "table")]
pub mod table;
mod text;

pub use event::{Auction, Bid, Event, Person};
pub use generator::Generator;
pub use options::NexmarkOptions;
pub use random::Letters;
pub use raw::{AuctionTexts, PersonDetails, RawAuction, RawBid, RawEvent, RawPerson};
pub use source::NexmarkSource;
pub use text::Text;

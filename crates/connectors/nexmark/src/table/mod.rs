//! The SQL connector `nexmark`: events as columns.
//!
//! | column | type |
//! | --- | --- |
//! | `event_type` | `INT`: 0 person, 1 auction, 2 bid |
//! | `person` | `ROW<id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING, dateTime TIMESTAMP(3), extra STRING>` |
//! | `auction` | `ROW<id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, dateTime TIMESTAMP(3), expires TIMESTAMP(3), seller BIGINT, category BIGINT, extra STRING>` |
//! | `bid` | `ROW<auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP(3), extra STRING>` |
//!
//! A table may declare fewer columns and fields. The options are those of [`NexmarkOptions`](crate::NexmarkOptions).
//!
//! Only the fields that a query needs are computed, and where its conditions need only some kinds of events, rows of the
//! others are not made; positions count all events, so the query may change after a restore. Each reader advances through
//! whole cycles of 50 events, so the event time of the rows that are made is never more than a cycle behind.

mod auction;
mod bid;
mod columns;
mod factory;
mod kind;
mod person;
mod projection;
mod source;
#[cfg(test)]
mod tests;
mod texts;

pub use factory::NexmarkTables;

use flugs_table::Registry;

/// Adds the connector.
pub fn register(registry: &mut Registry) {
    registry.add_connector(NexmarkTables);
}

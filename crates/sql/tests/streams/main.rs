//! One job from streams to SQL and back: rows, changes, event time, checkpoints. All values by hand.
#![allow(clippy::unwrap_used, reason = "what a test cannot set up fails it")]

mod changes;
mod functions;
mod recovery;
mod refusals;
mod rows;
mod waiting;

use flugs_api::Environment;
use flugs_derive::{Data, SqlRow};
use flugs_sql::SqlEnvironment;
use flugs_sql_types as types;
use flugs_table::Registry;
use flugs_types::Timestamp;

/// What most tests read.
#[derive(Debug, Clone, PartialEq, Data, SqlRow)]
#[data(crate = "flugs_batch")]
#[sql(crate = "flugs_sql_types")]
struct Order {
    id: i64,
    customer: String,
    amount: f64,
}

fn order(id: i64, customer: &str, amount: f64) -> Order {
    Order { id, customer: customer.to_owned(), amount }
}

fn session(env: &Environment) -> SqlEnvironment {
    let mut registry = Registry::new();
    flugs_tables::register(&mut registry);
    SqlEnvironment::of_program(env, registry)
}

fn second(n: i64) -> Timestamp {
    Timestamp::from_secs(n)
}

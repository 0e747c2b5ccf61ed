//! Tables whose rows change.

use crate::{order, session};
use flugs_api::Environment;
use flugs_connector::MemorySink;
use flugs_sql::StreamSchema;
use flugs_table::ChangelogMode;
use flugs_types::RowKind;
use flugs_types::RowKind::{Delete, Insert, UpdateAfter, UpdateBefore};

type Count = (String, i64);

fn count(customer: &str, n: i64) -> Count {
    (customer.to_owned(), n)
}

#[test]
fn an_aggregate_is_a_stream_of_changes() {
    let env = Environment::new("changes");
    env.set_parallelism(1);
    let out = MemorySink::new();
    let mut sql = session(&env);
    let orders = ["ann", "bob", "ann"].map(|customer| order(0, customer, 1.0));
    // One row in each batch.
    let orders = env.from_collection(orders).map(|order| order).disable_chaining();
    sql.from_stream_with(&orders, StreamSchema::new().name("orders")).unwrap();
    let counts = sql.sql_query("SELECT customer, COUNT(*) FROM orders GROUP BY customer").unwrap();
    sql.to_changelog_stream::<Count>(&counts).unwrap().sink_to(out.clone(), "out");
    env.execute().unwrap();
    let mut folded: Vec<Count> = Vec::new();
    for (kind, row) in out.rows() {
        match kind {
            Insert | UpdateAfter => folded.push(row),
            UpdateBefore | Delete => {
                let at = folded.iter().position(|other| *other == row).expect("what is taken back was there");
                folded.remove(at);
            }
        }
    }
    folded.sort();
    assert_eq!(folded, [count("ann", 2), count("bob", 1)]);
}

/// The final table of a stream of changes, by SQL.
fn summed(changes: Vec<(RowKind, Count)>, mode: ChangelogMode) -> Vec<(RowKind, Count)> {
    let env = Environment::new("summed");
    env.set_parallelism(1);
    let out = MemorySink::new();
    let mut sql = session(&env);
    let stream = env.from_collection(changes);
    let schema = StreamSchema::new().name("counts").primary_key(["f0"]);
    sql.from_changelog_stream(&stream, schema, mode).unwrap();
    let sums = sql.sql_query("SELECT 'all', SUM(f1) FROM counts").unwrap();
    sql.to_changelog_stream::<(String, Option<i64>)>(&sums)
        .unwrap()
        .map(|(kind, (all, sum))| (kind, (all, sum.unwrap_or(-1))))
        .sink_to(out.clone(), "out");
    env.execute().unwrap();
    out.rows()
}

#[test]
fn changes_are_read_with_what_they_do() {
    let changes = vec![
        (Insert, count("a", 1)),
        (Insert, count("b", 10)),
        (UpdateBefore, count("a", 1)),
        (UpdateAfter, count("a", 5)),
        (Delete, count("b", 10)),
    ];
    let last = summed(changes, ChangelogMode::Retract).pop();
    assert_eq!(last.unwrap().1, count("all", 5));
}

#[test]
fn upserts_are_read_by_key() {
    let changes = vec![
        (Insert, count("a", 1)),
        (UpdateAfter, count("b", 10)),
        (UpdateAfter, count("a", 5)),
        // The value of a delete does not matter.
        (Delete, count("b", 0)),
    ];
    let last = summed(changes, ChangelogMode::Upsert).pop();
    assert_eq!(last.unwrap().1, count("all", 5));
}

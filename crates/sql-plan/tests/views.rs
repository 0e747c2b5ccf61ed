//! Views over views: each is bound once for a statement, and what they say is put together once.

mod support;

use flugs_sql_plan::{PlanConfig, explain};
use support::Session;

const TABLE: &str = "CREATE TABLE t (a INT, b STRING) WITH ('connector' = 'datagen');";

/// A session with so many views, each over the one before.
fn chain(length: usize, of: impl Fn(usize, &str) -> String) -> Session {
    let mut script = TABLE.to_owned();
    let mut below = "t".to_owned();
    for i in 0..length {
        script.push_str(&format!("CREATE VIEW v{i} AS {};\n", of(i, &below)));
        below = format!("v{i}");
    }
    Session::new(&script)
}

fn explained(session: &mut Session, script: &str) -> String {
    let plans = session.jobs(script).unwrap_or_else(|e| panic!("{}", e.render(script)));
    explain(&plans[0], &PlanConfig::default(), &[])
}

#[test]
fn a_long_chain_is_one_operator() {
    let mut session = chain(40, |i, below| format!("SELECT a, b FROM {below} WHERE MOD(a, {}) = 1", i + 2));
    let plan = explained(&mut session, "SELECT a FROM v39;");
    assert_eq!(plan.matches("Calc(").count(), 1, "{plan}");
    // What the lower says comes first.
    let places: Vec<usize> =
        (0..40).map(|i| plan.find(&format!("MOD(a, {}) = 1", i + 2)).expect(&plan)).collect();
    assert!(places.is_sorted(), "{plan}");
}

#[test]
fn a_chain_of_joins_and_aggregates() {
    let mut session = chain(24, |i, below| match i % 3 {
        0 => format!("SELECT x.a, x.b FROM {below} AS x JOIN t AS y ON x.a = y.a"),
        1 => format!("SELECT COUNT(*) AS n, MAX(a) AS a, b FROM {below} GROUP BY b"),
        _ => format!("SELECT a, b FROM {below} WHERE n > {i}"),
    });
    let plan = explained(&mut session, "SELECT a FROM v23;");
    assert_eq!((plan.matches("+- Join(").count(), plan.matches("GroupAggregate(").count()), (8, 8), "{plan}");
}

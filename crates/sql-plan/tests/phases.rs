//! Which aggregates are computed in two phases.

mod support;

use flugs_sql_plan::{AggregatePhases, PlanConfig, RuntimeMode, explain};
use std::time::Duration;
use support::Session;

fn explained(query: &str, config: &PlanConfig) -> String {
    let mut session = Session::new(
        "CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');
         CREATE TABLE bounded WITH ('number-of-rows' = '5') LIKE t;",
    );
    session.config = config.clone();
    let plans = session.jobs(query).unwrap_or_else(|e| panic!("{}", e.render(query)));
    explain(&plans[0], config, &[])
}

fn config(phases: AggregatePhases, bundles: bool) -> PlanConfig {
    let mini_batch = bundles.then_some((1000, Duration::from_millis(100)));
    PlanConfig { parallelism: 2, aggregate_phases: phases, mini_batch, ..PlanConfig::default() }
}

fn is_two_phase(query: &str, config: &PlanConfig) -> bool {
    let plan = explained(query, config);
    let (local, global) = (plan.contains("+- Local"), plan.contains("+- Global"));
    assert_eq!(local, global, "{plan}");
    local
}

const GROUPS: &str = "SELECT k, COUNT(*), SUM(v) FROM t GROUP BY k";
const WINDOWS: &str = "SELECT window_start, k, COUNT(*) FROM
    TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, k";

#[test]
fn the_strategy_decides() {
    use AggregatePhases::{Auto, One, Two};
    for (phases, bundles, groups, windows) in [
        (Auto, false, false, true),
        (Auto, true, true, true),
        (One, true, false, false),
        (Two, false, true, true),
        (Two, true, true, true),
    ] {
        let config = config(phases, bundles);
        assert_eq!(is_two_phase(GROUPS, &config), groups, "{phases:?} {bundles}");
        assert_eq!(is_two_phase(WINDOWS, &config), windows, "{phases:?} {bundles}");
    }
}

#[test]
fn the_strategy_decides_in_batch_mode() {
    use AggregatePhases::{Auto, One, Two};
    let of = |phases| PlanConfig { mode: RuntimeMode::Batch, ..config(phases, false) };
    let groups = GROUPS.replace("FROM t", "FROM bounded");
    let lists = groups.replace("SUM(v)", "LISTAGG(k)");
    let windows = WINDOWS.replace("TABLE t", "TABLE bounded");
    for query in [&groups, &lists, &windows] {
        assert!(is_two_phase(query, &of(Auto)) && is_two_phase(query, &of(Two)), "{query}");
        assert!(!is_two_phase(query, &of(One)), "{query}");
    }
    assert!(!is_two_phase(&groups.replace("SUM(v)", "SUM(DISTINCT v)"), &of(Two)));
    assert!(!is_two_phase(&groups, &PlanConfig { parallelism: 1, ..of(Two) }));
}

#[test]
fn what_cannot_be_merged_is_in_one_phase() {
    let config = config(AggregatePhases::Two, true);
    assert!(!is_two_phase("SELECT k, COUNT(DISTINCT v) FROM t GROUP BY k", &config));
    // Of rows that are taken back: lists keep their order, variances cannot be less than nothing.
    let changing =
        "SELECT n, COUNT(*), LISTAGG(k) FROM (SELECT k, COUNT(DISTINCT v) AS n FROM t GROUP BY k) GROUP BY n";
    assert!(!is_two_phase(changing, &config));
    assert!(!is_two_phase(&changing.replace("LISTAGG(k)", "VAR_POP(n)"), &config));
    assert!(is_two_phase(&changing.replace("LISTAGG(k)", "MAX(k)"), &config));
    assert!(!is_two_phase(
        &WINDOWS.replace("TUMBLE(TABLE t, DESCRIPTOR(ts),", "TUMBLE(TABLE p, DESCRIPTOR(ps),").replace(
            "SELECT window_start",
            "WITH p AS (SELECT k, PROCTIME() AS ps FROM t) SELECT window_start"
        ),
        &config
    ));
    assert!(!is_two_phase(GROUPS, &PlanConfig { parallelism: 1, ..config }));
}

fn split(buckets: u32) -> PlanConfig {
    PlanConfig {
        distinct_buckets: std::num::NonZeroU32::new(buckets),
        ..config(AggregatePhases::Auto, false)
    }
}

#[test]
fn distinct_values_are_spread_over_buckets() {
    let plan = explained("SELECT k, COUNT(DISTINCT v), SUM(v) FROM t GROUP BY k", &split(1024));
    let of_both = "GroupAggregate(groupBy=[k], select=[COUNT(DISTINCT v) AS ";
    assert!(plan.contains(&format!("Final{of_both}")), "{plan}");
    assert!(plan.contains(&format!("+- Partial{of_both}")), "{plan}");
    assert!(plan.contains("buckets=[1024]"), "{plan}");
    // Nothing to be told apart, or nothing asked for.
    assert!(!explained(GROUPS, &split(1024)).contains("Final"));
    assert!(!explained("SELECT MAX(DISTINCT v) FROM t", &split(1024)).contains("Final"));
}

#[test]
fn what_cannot_be_spread_says_why() {
    let why = |query: &str, config: &PlanConfig| {
        let plan = explained(query, config);
        assert!(!plan.contains("Final"), "{plan}");
        let (_, why) = plan.split_once("notSplit=[").unwrap_or_else(|| panic!("{plan}"));
        why.split_once(']').map(|(why, _)| why.to_owned()).unwrap_or_default()
    };
    let lists = "SELECT COUNT(DISTINCT v), LISTAGG(k) FROM t";
    assert_eq!(why(lists, &split(8)), "LISTAGG keeps rows in order");
    let counts = "SELECT k, COUNT(DISTINCT v) FROM t GROUP BY k";
    let ttl = PlanConfig { state_ttl: Some(Duration::from_secs(60)), ..split(8) };
    assert_eq!(why(counts, &ttl), "values would expire by bucket, and count again in groups that live on");
}

//! Plans of whole queries.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use flugs_sql_functions::FunctionRegistry;
use flugs_sql_parser::{ExplainDetail, Insert, Statement, parse_script};
use flugs_sql_plan::catalog::{CatalogObject, Catalogs};
use flugs_sql_plan::plan::Plan;
use flugs_sql_plan::{PlanConfig, PlanResult, Planner, explain, explain_json};
use flugs_table::Registry;
use std::sync::Arc;

fn registry() -> Registry {
    let mut registry = Registry::new();
    flugs_nexmark::table::register(&mut registry);
    flugs_tables::register(&mut registry);
    flugs_files::table::register(&mut registry);
    flugs_formats::columns::register(&mut registry);
    registry
}

/// Declares what a script declares, and plans its inserts as one job.
fn planned(script: &str) -> PlanResult<Plan> {
    let (registry, functions) = (Arc::new(registry()), Arc::new(FunctionRegistry::builtin()));
    let mut catalogs = Catalogs::default();
    let mut inserts: Vec<Insert> = Vec::new();
    let config = PlanConfig { parallelism: 2, ..PlanConfig::default() };
    for parsed in parse_script(script)? {
        let planner =
            Planner::new(Arc::new(catalogs.clone()), functions.clone(), registry.clone(), config.clone());
        match parsed.statement {
            Statement::CreateTable(create) => {
                let table = planner.declared_table(&create)?;
                let path = planner.path(&create.name)?;
                catalogs.create_object(path, CatalogObject::Table(table), false, false).unwrap();
            }
            Statement::CreateView(create) => {
                let view = planner.declared_view(&create)?;
                let path = planner.path(&create.name)?;
                catalogs.create_object(path, CatalogObject::View(view), false, false).unwrap();
            }
            Statement::Insert(insert) => inserts.push(insert),
            other => panic!("{other:?}"),
        }
    }
    Planner::new(Arc::new(catalogs), functions, registry, config).inserts(&inserts)
}

fn nexmark(query: &str) -> String {
    let ddl = include_str!("../../connectors/nexmark/queries/ddl.sql")
        .replace("${EVENTS}", "1000")
        .replace("${RATE}", "100000");
    let path = format!("{}/../connectors/nexmark/queries/{query}.sql", env!("CARGO_MANIFEST_DIR"));
    format!("{ddl}\n{}", std::fs::read_to_string(path).unwrap())
}

/// Each session has hash tables of its own seeds, on which no plan depends.
#[test]
fn a_thousand_sessions_plan_a_query_alike() {
    let config = PlanConfig { parallelism: 2, ..PlanConfig::default() };
    let tables = "CREATE TABLE a (k INT, v INT, s STRING) WITH ('connector' = 'datagen');
                  CREATE TABLE b (k INT, w INT) WITH ('connector' = 'datagen');
                  CREATE TABLE target (k INT, n BIGINT) WITH ('connector' = 'blackhole');";
    let queries = [
        "SELECT a.k, COUNT(*) FROM a JOIN b ON a.k = b.k WHERE a.v > 1 AND b.w < 5 GROUP BY a.k",
        "SELECT k, COUNT(DISTINCT v) FILTER (WHERE s <> 'x') FROM a GROUP BY k UNION ALL SELECT k, MAX(w) FROM b GROUP BY k",
    ];
    for query in queries {
        let script = format!("{tables} INSERT INTO target {query}");
        let plan = || explain_json(&planned(&script).unwrap(), &config);
        let first = plan();
        assert!((1..500).all(|_| plan() == first), "{query} has several plans");
    }
}

/// The plans of all queries; `FLUGS_BLESS=1` writes them.
#[test]
fn nexmark_is_planned_like_this_each_time() {
    let config = PlanConfig { parallelism: 2, ..PlanConfig::default() };
    let details = [ExplainDetail::ChangelogMode];
    let mut text = String::new();
    // The side input of q13 is a file that is read when it is planned.
    for n in (0..=22).filter(|n| *n != 13) {
        let script = nexmark(&format!("q{n}"));
        let shown = || match planned(&script) {
            Ok(plan) => format!("{}{}", explain(&plan, &config, &details), explain_json(&plan, &config)),
            Err(e) => e.render(&script),
        };
        let first = shown();
        assert!((0..3).all(|_| shown() == first), "q{n} has several plans");
        text.push_str(&format!("-- q{n}\n{}\n", first.split("\n{\n").next().unwrap_or_default()));
    }
    let path = format!("{}/tests/nexmark-plans.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("FLUGS_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, expected, "look at the difference, then write the plans with FLUGS_BLESS=1");
}

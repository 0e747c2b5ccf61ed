//! Plans of whole queries.

use flugs_sql_functions::FunctionRegistry;
use flugs_sql_parser::{Insert, Statement, parse_script};
use flugs_sql_plan::catalog::{CatalogObject, Catalogs};
use flugs_sql_plan::plan::Plan;
use flugs_sql_plan::{PlanConfig, PlanResult, Planner, explain};
use flugs_table::Registry;
use std::sync::Arc;
use std::time::Instant;

fn registry() -> Registry {
    let mut registry = Registry::new();
    flugs_nexmark::table::register(&mut registry);
    flugs_tables::register(&mut registry);
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
    let ddl = include_str!("nexmark/ddl.sql").replace("${EVENTS}", "1000").replace("${RATE}", "100000");
    let path = format!("{}/tests/nexmark/{query}.sql", env!("CARGO_MANIFEST_DIR"));
    format!("{ddl}\n{}", std::fs::read_to_string(path).unwrap())
}

#[test]
fn nexmark_plans() {
    let config = PlanConfig { parallelism: 2, ..PlanConfig::default() };
    for n in 0..=22 {
        let query = format!("q{n}");
        let script = nexmark(&query);
        let start = Instant::now();
        match planned(&script) {
            Ok(plan) => println!(
                "---- {query} {:?}\n{}",
                start.elapsed(),
                explain(&plan, &config, &[flugs_sql_parser::ExplainDetail::ChangelogMode])
            ),
            Err(e) => println!("---- {query} FAILED\n{}", e.render(&script)),
        }
    }
}

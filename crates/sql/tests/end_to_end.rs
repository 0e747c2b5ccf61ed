//! Whole scripts, from text to rows.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use arrow::util::display::{ArrayFormatter, FormatOptions};
use flugs_sql::{Folded, SqlEnvironment};
use flugs_sql_plan::RuntimeMode;
use flugs_table::Registry;

fn environment() -> SqlEnvironment {
    let mut registry = Registry::new();
    flugs_nexmark::table::register(&mut registry);
    flugs_tables::register(&mut registry);
    flugs_files::table::register(&mut registry);
    flugs_formats::columns::register(&mut registry);
    SqlEnvironment::new(registry)
}

/// The final rows of the last query, as text.
fn rows(env: &mut SqlEnvironment, script: &str) -> Vec<String> {
    let mut lines = Vec::new();
    env.execute_script(script, |mut result| {
        let mut folded = Folded::new();
        while let Some(batch) = result.next_batch() {
            folded.add(&batch)?;
        }
        result.wait()?;
        lines.clear();
        let Some(rows) = folded.rows()? else { return Ok(()) };
        let options = FormatOptions::new().with_null("NULL");
        let columns: Vec<_> =
            rows.columns().iter().map(|c| ArrayFormatter::try_new(c, &options).unwrap()).collect();
        for row in 0..rows.num_rows() {
            lines.push(columns.iter().map(|c| c.value(row).to_string()).collect::<Vec<_>>().join("|"));
        }
        Ok(())
    })
    .unwrap_or_else(|e| panic!("{e}"));
    lines
}

#[test]
fn constants() {
    let mut env = environment();
    assert_eq!(rows(&mut env, "SELECT 1, 'a', 1 + 2 * 3, CAST('7' AS BIGINT)"), ["1|a|7|7"]);
    assert_eq!(
        rows(
            &mut env,
            "SELECT a, COUNT(*), SUM(b) FROM (VALUES (1, 10), (2, 20), (1, 5)) AS t(a, b) GROUP BY a"
        ),
        ["1|2|15", "2|1|20"]
    );
}

/// The rows of a query of Nexmark, whose script writes them to a sink.
fn nexmark(query: &str, change: impl Fn(&mut SqlEnvironment)) -> Vec<String> {
    let mut env = environment();
    change(&mut env);
    let ddl = include_str!("../../connectors/nexmark/queries/ddl.sql");
    rows(&mut env, &ddl.replace("${EVENTS}", "10000").replace("${RATE}", "1000"));
    let path = format!("{}/../connectors/nexmark/queries/{query}.sql", env!("CARGO_MANIFEST_DIR"));
    let script = std::fs::read_to_string(path).unwrap();
    let (declared, selected) = script.split_once("INSERT INTO sink").unwrap();
    rows(&mut env, &format!("{declared}{selected}"))
}

#[test]
fn nexmark_gives_the_same_in_both_modes_at_any_parallelism() {
    // q10 writes files, q13 reads one, and windows of q12 depend on the clock.
    let queries = (0..=22).filter(|n| ![10, 12, 13].contains(n)).map(|n| format!("q{n}"));
    for query in queries {
        let streaming = nexmark(&query, |env| env.config_mut().parallelism = 2);
        assert!(!streaming.is_empty(), "{query}");
        let alone = nexmark(&query, |env| env.config_mut().parallelism = 1);
        assert_eq!(streaming, alone, "{query} at parallelism 2 and 1");
        let batch = nexmark(&query, |env| env.config_mut().mode = RuntimeMode::Batch);
        assert_eq!(streaming, batch, "{query} as a stream and as a batch");
    }
}
